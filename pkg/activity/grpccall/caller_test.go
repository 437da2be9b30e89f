package grpccall_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/activitytest"
	"github.com/wovyr/wovyr/pkg/activity/egress"
	"github.com/wovyr/wovyr/pkg/activity/grpccall"
	"github.com/wovyr/wovyr/pkg/workflow"
)

const service = "grpc.testing.TestService/"

func caller(t testing.TB, dir string) *grpccall.Caller {
	guard, err := egress.New("127.0.0.1")
	require.NoError(t, err)
	c := grpccall.New(grpccall.Options{Guard: guard, Dir: dir})
	t.Cleanup(c.Close)
	return c
}

// to is a target: a call of a method of a server.
func (s *server) to(method string, message any, more ...map[string]any) map[string]any {
	out := map[string]any{"target": s.address, "method": service + method, "plaintext": true, "message": message}
	for _, m := range more {
		for k, v := range m { // order-free: it becomes a map
			out[k] = v
		}
	}
	return out
}

func payload(body string) map[string]any {
	return map[string]any{"payload": map[string]any{"body": base(body)}}
}

func call(ctx context.Context, c *grpccall.Caller, target map[string]any) (string, error) {
	text, err := json.Marshal(target)
	if err != nil {
		return "", err
	}
	res, err := activity.Run(ctx, c, &activity.Task{IdempotencyKey: "exec-1/step", Target: activity.NewDocument(text)})
	return string(res.Output), err
}

func fails(t *testing.T, c *grpccall.Caller, target map[string]any) (*activity.Error, time.Duration) {
	t.Helper()
	out, err := call(t.Context(), c, target)
	require.Error(t, err, out)
	return activity.AsError(t.Context(), err)
}

func TestContract(t *testing.T) {
	activitytest.Run(t, func(t *testing.T) activitytest.Subject {
		s := serve(t, true)
		c := caller(t, "")
		leak := map[string]any{"payload": map[string]any{"body": base(activitytest.Secret)}}
		failing := map[string]any{"payload": leak["payload"], "responseStatus": map[string]any{"code": 5, "message": "no " + activitytest.Secret}}
		return activitytest.Subject{
			Kind:     c.Kind(),
			Succeeds: activitytest.Call{Target: s.to("UnaryCall", payload("abc")), Output: `{"payload":{"type":"COMPRESSABLE","body":"YWJj"},"username":"","oauthScope":"","serverId":"","grpclbRouteType":"GRPCLB_ROUTE_TYPE_UNKNOWN","hostname":""}`},
			Hangs:    activitytest.Call{Target: s.to("UnaryCall", payload("hang")), Started: s.started},
			Floods:   activitytest.Call{Target: s.to("StreamingOutputCall", payload("flood"))},
			Fails: []activitytest.Call{
				{Name: "status", Target: s.to("UnaryCall", map[string]any{"responseStatus": map[string]any{"code": 9, "message": "no"}}), Code: "grpc.failed_precondition"},
				{Name: "unavailable", Target: s.to("UnaryCall", map[string]any{"responseStatus": map[string]any{"code": 14, "message": "no"}}), Code: "grpc.unavailable", Retryable: true},
				{Name: "message", Target: s.to("UnaryCall", map[string]any{"pay": 1}), Code: activity.CodeInput},
				{Name: "method", Target: s.to("Unary", nil), Code: grpccall.CodeUnknownMethod},
				{Name: "too large a message", Target: s.to("UnaryCall", map[string]any{"responseSize": 17 << 20}), Code: activity.CodeOutput},
			},
			Leaks: []activitytest.Call{
				{Name: "echo", Target: s.to("UnaryCall", leak)},
				{Name: "error", Target: s.to("UnaryCall", failing)},
			},
			Key:   func() string { return s.got("idempotency-key") },
			Close: func() { c.Close(); s.stop() },
		}
	})
}

func TestStream(t *testing.T) {
	s, c := serve(t, true), caller(t, "")
	out, err := call(t.Context(), c, s.to("StreamingOutputCall", map[string]any{"responseParameters": []any{map[string]any{}, map[string]any{}}}))
	require.NoError(t, err)
	require.JSONEq(t, `[{"payload":{"type":"COMPRESSABLE","body":"`+base("message 0")+`"},"peerSocketAddress":""},{"payload":{"type":"COMPRESSABLE","body":"`+base("message 1")+`"},"peerSocketAddress":""}]`, out)
	out, err = call(t.Context(), c, s.to("StreamingOutputCall", nil))
	require.NoError(t, err)
	require.Equal(t, `[]`, out)
	e, _ := fails(t, c, s.to("StreamingOutputCall", payload("fail")))
	require.Equal(t, "grpc.aborted", e.Code)

	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-s.started; cancel() }()
	_, err = call(ctx, c, s.to("StreamingOutputCall", payload("hang")))
	require.ErrorIs(t, err, context.Canceled)
	<-s.ended // the server hears of it
	e, _ = fails(t, c, s.to("StreamingOutputCall", payload("flood")))
	require.Equal(t, activity.CodeOutput, e.Code)
	<-s.ended

	e, _ = fails(t, c, s.to("StreamingInputCall", nil))
	require.Equal(t, activity.CodeInput, e.Code)
	require.Contains(t, e.Message, "only unary and server-streaming")
}

// TestStatuses: each status of gRPC is an error of its own.
func TestStatuses(t *testing.T) {
	s, c := serve(t, true), caller(t, "")
	names := map[codes.Code]string{}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		e, after := fails(t, c, s.to("UnaryCall", map[string]any{"responseStatus": map[string]any{"code": code, "message": "because"}}))
		require.Contains(t, e.Message, "because")
		require.Regexp(t, `^grpc\.[a-z_]+$`, e.Code)
		require.Equal(t, 7*time.Second, after, "the server says when to come again")
		require.NotContains(t, names, code)
		names[code] = e.Code
		// A caller's mistake is not tried again, a fault of the other side is, unless data is lost.
		require.Equal(t, e.Category == workflow.CategoryExternal && code != codes.DataLoss, e.Retryable, e.Code)
		var d struct {
			Status  string
			Number  codes.Code
			Details []map[string]any
		}
		require.NoError(t, json.Unmarshal(e.Details, &d))
		require.Equal(t, code, d.Number)
		require.Equal(t, e.Code, "grpc."+d.Status)
		require.Equal(t, "TEST", d.Details[0]["reason"])
	}
	require.Equal(t, "grpc.not_found", names[codes.NotFound])
	e, after := fails(t, c, s.to("UnaryCall", map[string]any{"responseStatus": map[string]any{"code": 99}, "payload": payload("bare")["payload"]}))
	require.Equal(t, "grpc.unknown", e.Code)
	require.Zero(t, after)
	require.NotEmpty(t, e.Message)
}

// TestRetryDelayIsBounded: nobody can put a step to sleep for years.
func TestRetryDelayIsBounded(t *testing.T) {
	s, c := serve(t, true), caller(t, "")
	for wait, want := range map[string]time.Duration{"90": 90 * time.Second, "86401": activity.MaxRetryAfter, "9223372036854775807": activity.MaxRetryAfter, "-5": 0, "-9223372036854775808": 0} {
		_, after := fails(t, c, s.to("UnaryCall", map[string]any{"responseStatus": map[string]any{"code": codes.Unavailable}, "payload": payload("wait " + wait)["payload"]}))
		require.Equal(t, want, after, wait)
	}
}

func TestMetadata(t *testing.T) {
	s, c := serve(t, true), caller(t, "")
	_, err := call(t.Context(), c, s.to("UnaryCall", nil, map[string]any{"metadata": map[string]any{"X-User": "ann", "n": 7, "b": true, "none": nil, "x-bin": base("\x00\xff")}}))
	require.NoError(t, err)
	for name, want := range map[string]string{"x-user": "ann", "n": "7", "b": "true", "none": "", "x-bin": "\x00\xff", "idempotency-key": "exec-1/step"} {
		require.Equal(t, want, s.got(name), name)
	}
	_, err = call(t.Context(), c, s.to("UnaryCall", nil, map[string]any{"metadata": map[string]any{"Idempotency-Key": "mine"}}))
	require.NoError(t, err)
	require.Equal(t, "mine", s.got("idempotency-key"))
	for _, number := range []string{"9007199254740993", "12345678901234567890", "0.1", "1e400", "-0"} {
		_, err = call(t.Context(), c, s.to("UnaryCall", nil, map[string]any{"metadata": map[string]any{"n": json.Number(number)}}))
		require.NoError(t, err)
		require.Equal(t, number, s.got("n"), "as it is written")
	}
	for name, value := range map[string]any{"grpc-timeout": "1S", "content-type": "x", "te": "x", "user-agent": "x", ":authority": "x", "a b": "x", "a": "x\r\nb: c", "u": "ä", "x-bin": "no base64!"} {
		e, _ := fails(t, c, s.to("UnaryCall", nil, map[string]any{"metadata": map[string]any{name: value}}))
		require.Equal(t, activity.CodeInput, e.Code, name)
	}
}

func TestTLS(t *testing.T) {
	a, stranger := newAuthority(t), newAuthority(t)
	c := caller(t, "")
	cert, key := a.issue(t, &x509.Certificate{SerialNumber: big.NewInt(3)})
	foreign, foreignKey := stranger.issue(t, &x509.Certificate{SerialNumber: big.NewInt(3)})
	plain, mutual := serve(t, true, a.secure(t, "stock.test", false)), serve(t, true, a.secure(t, "stock.test", true))
	with := func(s *server, options map[string]any) map[string]any {
		return s.to("UnaryCall", payload("x"), map[string]any{"plaintext": false, "tls": options})
	}
	for name, target := range map[string]map[string]any{
		"server": with(plain, map[string]any{"ca": a.pem, "server_name": "stock.test"}),
		"1.3":    with(plain, map[string]any{"ca": a.pem, "server_name": "stock.test", "min_version": "1.3"}),
		"mutual": with(mutual, map[string]any{"ca": a.pem, "server_name": "stock.test", "cert": cert, "key": key}),
	} {
		_, err := call(t.Context(), c, target)
		require.NoError(t, err, name)
	}
	for name, refused := range map[string]struct {
		target map[string]any
		code   string
	}{
		"unknown authority":     {with(plain, map[string]any{"ca": stranger.pem, "server_name": "stock.test"}), "grpc.unavailable"},
		"system's authorities":  {with(plain, nil), "grpc.unavailable"},
		"other name":            {with(plain, map[string]any{"ca": a.pem, "server_name": "other.test"}), "grpc.unavailable"},
		"no client certificate": {with(mutual, map[string]any{"ca": a.pem, "server_name": "stock.test"}), "grpc.unavailable"},
		"foreign certificate":   {with(mutual, map[string]any{"ca": a.pem, "server_name": "stock.test", "cert": foreign, "key": foreignKey}), "grpc.unavailable"},
		"no pair":               {with(mutual, map[string]any{"ca": a.pem, "cert": cert, "key": foreignKey}), activity.CodeInput},
		"no certificate":        {with(plain, map[string]any{"ca": "x"}), activity.CodeInput},
		"old version":           {with(plain, map[string]any{"min_version": "1.0"}), activity.CodeInput},
		"plaintext to TLS":      {plain.to("UnaryCall", nil), "grpc.unavailable"},
		"both":                  {plain.to("UnaryCall", nil, map[string]any{"tls": map[string]any{"ca": a.pem}}), activity.CodeInput},
	} {
		e, _ := fails(t, c, refused.target)
		require.Equal(t, refused.code, e.Code, "%s: %s", name, e.Message)
	}
}

// TestOtherLanguage: where one side speaks TLS and the other does not, the error says what to write.
func TestOtherLanguage(t *testing.T) {
	secure, plain := serve(t, true, newAuthority(t).secure(t, "stock.test", false)), serve(t, true)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and ends them
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := silent.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	defer func() { silent.Close(); <-done }()
	web := httptest.NewUnstartedServer(http.NotFoundHandler()) // of HTTP/1.1
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.StartTLS()
	defer web.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}))
	on := func(address string, plaintext bool, options ...map[string]any) map[string]any {
		s := &server{address: address}
		return s.to("UnaryCall", nil, append(options, map[string]any{"plaintext": plaintext})...)
	}
	for name, x := range map[string]struct {
		target map[string]any
		hint   string
	}{
		"TLS to plaintext":             {on(plain.address, false), "the server speaks no TLS: write plaintext: true"},
		"plaintext to TLS":             {on(secure.address, true), "leave out plaintext: true if it speaks TLS"},
		"plaintext to a web server":    {on(web.Listener.Addr().String(), true), "leave out plaintext: true if it speaks TLS"},
		"plaintext to one that closes": {on(silent.Addr().String(), true), "leave out plaintext: true if it speaks TLS"},
		"TLS to HTTP/1.1":              {on(web.Listener.Addr().String(), false, map[string]any{"tls": map[string]any{"ca": ca}}), "not HTTP/2"},
	} {
		e, _ := fails(t, caller(t, ""), x.target)
		require.Equal(t, "grpc.unavailable", e.Code, "%s: %s", name, e.Message)
		require.Contains(t, e.Message, x.hint, name)
		require.True(t, e.Retryable, name)
	}
	e, _ := fails(t, caller(t, ""), on(secure.address, false))
	require.NotContains(t, e.Message, "plaintext", "a certificate that is not trusted is another matter")
	plain.stop()
	e, _ = fails(t, caller(t, ""), on(plain.address, true))
	require.NotContains(t, e.Message, "TLS", "nobody is there")
}

// TestConnectionsAreKept: many calls, one connection; after the server is back, calls reach it again.
func TestConnectionsAreKept(t *testing.T) {
	s, c := serve(t, true), caller(t, "")
	for range 20 {
		_, err := call(t.Context(), c, s.to("UnaryCall", payload("x")))
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, s.connections.Load())
	s.stop()
	e, _ := fails(t, c, s.to("UnaryCall", payload("x")))
	require.Equal(t, "grpc.unavailable", e.Code)
	require.True(t, e.Retryable)
}

func TestGuard(t *testing.T) {
	s := serve(t, true)
	strict := grpccall.New(grpccall.Options{})
	defer strict.Close()
	_, port, err := net.SplitHostPort(s.address)
	require.NoError(t, err)
	for _, host := range []string{"127.0.0.1", "localhost", "169.254.169.254", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433", "10.0.0.1", "[fd00::1]"} {
		target := s.to("UnaryCall", nil)
		target["target"] = host + ":" + port
		e, _ := fails(t, strict, target)
		require.Equal(t, egress.CodeForbidden, e.Code, "%s: %s", host, e.Message)
		require.False(t, e.Retryable)
	}
	for _, odd := range []string{"unix:///run/socket", "dns:///x:1", "passthrough:///x:1", "x", ":443", "x:0", "x:http", "x:99999", "a/b:1", "a b:1", ""} {
		target := s.to("UnaryCall", nil)
		target["target"] = odd
		e, _ := fails(t, strict, target)
		require.Equal(t, activity.CodeInput, e.Code, odd)
	}
	require.Zero(t, s.connections.Load())
}

// descriptors writes the descriptor set of the service, as protoc does.
func descriptors(t *testing.T, file string) {
	set := &descriptorpb.FileDescriptorSet{}
	seen := map[string]bool{}
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
	add(pb.File_grpc_testing_test_proto)
	text, err := proto.Marshal(set)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text, 0o600))
}

func TestDescriptorSet(t *testing.T) {
	dir := t.TempDir()
	descriptors(t, filepath.Join(dir, "test.binpb"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prose.binpb"), []byte("hello"), 0o600))
	s, c := serve(t, false), caller(t, dir)
	use := func(file string) map[string]any {
		return s.to("UnaryCall", payload("abc"), map[string]any{"descriptors": file})
	}
	out, err := call(t.Context(), c, use("test.binpb"))
	require.NoError(t, err)
	require.Contains(t, out, `"body":"YWJj"`)

	for _, file := range []string{"missing.binpb", "prose.binpb", "../test.binpb", "/etc/passwd"} {
		e, _ := fails(t, c, use(file))
		require.Equal(t, grpccall.CodeDescriptors, e.Code, file)
	}
	target := use("test.binpb")
	target["method"] = "grpc.testing.Nothing/Do"
	e, _ := fails(t, c, target)
	require.Equal(t, grpccall.CodeUnknownMethod, e.Code)

	e, _ = fails(t, c, s.to("UnaryCall", nil))
	require.Equal(t, grpccall.CodeUnknownMethod, e.Code)
	require.Contains(t, e.Message, "does not answer by reflection")
}

func TestUnknown(t *testing.T) {
	s, c := serve(t, true), caller(t, "")
	target := s.to("UnaryCall", nil)
	target["method"] = "grpc.testing.Nothing/Do"
	e, _ := fails(t, c, target)
	require.Equal(t, grpccall.CodeUnknownMethod, e.Code, e.Message)
	e, _ = fails(t, c, s.to("Unary", nil))
	require.Contains(t, e.Message, "UnaryCall", "the error lists what there is")
	e, _ = fails(t, c, s.to("UnaryCall", map[string]any{"payload": 7}))
	require.Equal(t, activity.CodeInput, e.Code)
	require.Contains(t, e.Message, "grpc.testing.SimpleRequest")
}
