package httpcall_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/httpcall"
	"github.com/wovyr/wovyr/pkg/secret"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// said is an answer of the peer.
type said struct {
	status int
	kind   string
	body   string
}

// sayer is a peer that says what it is told to.
func sayer(t testing.TB) (*peer, func(said)) {
	var now said
	p := newPeer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		if now.kind != "" {
			w.Header().Set("Content-Type", now.kind)
		}
		if now.status == 0 {
			now.status = http.StatusOK
		}
		w.WriteHeader(now.status)
		_, _ = io.WriteString(w, now.body)
	})
	return p, func(s said) { now = s }
}

func TestAnswers(t *testing.T) {
	p, say := sayer(t)
	c := caller(t, httpcall.Options{})
	raw := "\x00\xff\xfe"
	for _, x := range []struct {
		response string
		said     said
		want     any
	}{
		{"", said{kind: "application/json", body: ` {"a": [1, null]} `}, m{"a": []any{1., nil}}},
		{"", said{kind: "application/json; charset=utf-8", body: `"x"`}, "x"},
		{"", said{kind: "application/vnd.api+json", body: `7`}, 7.},
		{"", said{kind: "application/json", body: "\ufeff{}"}, m{}},
		{"", said{kind: "application/json"}, nil},
		{"", said{kind: "text/plain", body: "hello ä"}, "hello ä"},
		{"", said{kind: "text/plain; charset=iso-8859-1", body: "h\xe9"}, "hé"},
		{"", said{kind: "text/plain; charset=utf-16le", body: "h\x00i\x00"}, "hi"},
		{"", said{kind: "text/plain; charset=nonsense", body: "h\xe9"}, "h\ufffd"},
		{"", said{kind: "application/xml", body: "<a/>"}, "<a/>"},
		{"", said{kind: "application/pdf", body: raw}, base64.StdEncoding.EncodeToString([]byte(raw))},
		{"", said{body: `{"a":1}`}, m{"a": 1.}},
		{"", said{body: "hello"}, "hello"},
		{"", said{body: raw + strings.Repeat("\xff", 8)}, base64.StdEncoding.EncodeToString([]byte(raw + strings.Repeat("\xff", 8)))},
		{"", said{kind: "not a type; ;", body: "hello"}, "hello"},
		{"auto", said{status: 204}, nil},
		{"json", said{status: 204}, nil},
		{"json", said{kind: "text/html", body: "[1]"}, []any{1.}},
		{"text", said{kind: "application/json", body: `{"a":1}`}, `{"a":1}`},
		{"text", said{}, ""},
		{"bytes", said{kind: "application/json", body: "abc"}, "YWJj"},
		{"bytes", said{}, ""},
	} {
		say(x.said)
		target := m{"url": p.URL}
		if x.response != "" {
			target["response"] = x.response
		}
		require.Equal(t, x.want, call(t, c, target).Body, "%+v", x)
	}
	for _, x := range []struct {
		response string
		said     said
	}{{"", said{kind: "application/json", body: "<html>"}}, {"json", said{body: "no"}}, {"json", said{}}, {"json", said{body: "1 2"}}, {"", said{kind: "application/json", body: `{"a":1},"status":500,"x":{}`}}} {
		say(x.said)
		e, _ := fails(t, c, m{"url": p.URL, "response": x.response})
		require.Equal(t, activity.CodeOutput, e.Code, "%+v", x)
		require.Contains(t, e.Message, "response: text")
	}
}

func TestHeadersOfAnswers(t *testing.T) {
	p := newPeer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["X-Many"] = []string{"1", "2"}
		w.Header()["Set-Cookie"] = []string{"a=1, x", "b=2"}
		w.Header().Set("X-Odd", "\xff\"")
		w.WriteHeader(201)
	})
	out := call(t, caller(t, httpcall.Options{}), m{"url": p.URL})
	require.Equal(t, 201, out.Status)
	require.Equal(t, "1, 2", out.Headers["x-many"])
	require.Equal(t, "a=1, x\nb=2", out.Headers["set-cookie"])
	require.Equal(t, "\ufffd\"", out.Headers["x-odd"])

	huge := newPeer(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Huge", strings.Repeat("x", 1<<20)) })
	e, _ := fails(t, caller(t, httpcall.Options{}), m{"url": huge.URL})
	require.Equal(t, httpcall.CodeRead, e.Code)
}

// TestLargeAnswers: they come as a stream that says the same as a small one would, and hold no memory.
func TestLargeAnswers(t *testing.T) {
	p, say := sayer(t)
	c := caller(t, httpcall.Options{})
	text := strings.Repeat("ä€😀\"\\\x01<", 200_000)
	quoted, err := json.Marshal(text)
	require.NoError(t, err)
	for _, x := range []struct {
		response, kind, body string
		want                 any
	}{
		{"", "application/json", string(quoted), text},
		{"", "application/json", "\ufeff [" + string(quoted) + "]\n", []any{text}},
		{"text", "", text, text},
		{"", "text/plain; charset=iso-8859-1", strings.Repeat("\xe9", 2<<20), strings.Repeat("é", 2<<20)},
		{"", "text/plain", strings.Repeat("\xe4", 2<<20), strings.Repeat("\ufffd", 2<<20)},
		{"", "image/png", text + "x", base64.StdEncoding.EncodeToString([]byte(text + "x"))},
		{"", "image/png", text, base64.StdEncoding.EncodeToString([]byte(text))},
		{"", "", text, text},
		{"", "", "{" + text, "{" + text},
	} {
		say(said{kind: x.kind, body: x.body})
		res, err := c.Run(t.Context(), task(t, m{"url": p.URL, "response": x.response}))
		require.NoError(t, err)
		require.NotNil(t, res.Stream)
		var out answer
		require.NoError(t, json.NewDecoder(res.Stream).Decode(&out), "%s %s", x.response, x.kind)
		require.NoError(t, res.Stream.Close())
		require.True(t, reflect.DeepEqual(x.want, out.Body), "%s %s", x.response, x.kind)
	}
}

// TestSmuggling: a body that closes its value and goes on does not become another status.
func TestSmuggling(t *testing.T) {
	p, say := sayer(t)
	c := caller(t, httpcall.Options{})
	long := `"` + strings.Repeat("x", 2<<20) + `"`
	for _, body := range []string{long + `,"status":201`, long + `},{`, `{"a":` + long + `},"status":201,"x":{"a":1}`, `[` + long + `]]`, long + `"status"`, `1 ` + long, long + " 1", `{"a":` + long + `} {}`,
		`null,` + long, `,` + long, `:` + long, `}` + long} {
		say(said{kind: "application/json", body: body})
		e, _ := fails(t, c, m{"url": p.URL})
		require.Equal(t, activity.CodeOutput, e.Code)
	}
}

// TestOneValue compares with encoding/json: what passes within an object leaves the object what it was.
func TestOneValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.SampledFrom([]string{`{`, `}`, `[`, `]`, `,`, `:`, `"`, `\`, `"a"`, `1`, `null`, ` `, "\n", `"status":0`, `{"a":1}`, `"\""`})).Draw(t, "pieces")
		text := strings.Join(pieces, "")
		out, err := io.ReadAll(httpcall.OneValue(strings.NewReader(text)))
		if json.Valid([]byte(text)) {
			require.NoError(t, err)
			require.Equal(t, text, string(out))
			return
		}
		if err != nil {
			return
		}
		var whole struct{ A, B, Status any }
		if json.Unmarshal([]byte(`{"status":1,"a":`+text+`,"b":2}`), &whole) == nil {
			require.Equal(t, []any{1., 2.}, []any{whole.Status, whole.B}, "%s", text)
		}
	})
}

func TestSuccess(t *testing.T) {
	p, say := sayer(t)
	c := caller(t, httpcall.Options{})
	for _, x := range []struct {
		success []any
		status  int
		fine    bool
	}{
		{nil, 200, true}, {nil, 299, true}, {nil, 304, false}, {nil, 404, false}, {[]any{200}, 201, false}, {[]any{"2xx", 404}, 404, true}, {[]any{"404"}, 200, false}, {[]any{"4xx", "5xx"}, 503, true},
	} {
		say(said{status: x.status})
		target := m{"url": p.URL, "redirects": 0}
		if x.success != nil {
			target["success"] = x.success
		}
		out, err := try(t, c, target)
		if !x.fine {
			typed, _ := activity.AsError(t.Context(), err)
			require.Equal(t, fmt.Sprintf("http.%d", x.status), typed.Code)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, x.status, out.Status)
	}
	for _, word := range []any{99, 600, "ok", "6xx", "2x", nil, m{}, "", 2.5} {
		e, _ := fails(t, c, m{"url": p.URL, "success": []any{word}})
		require.Equal(t, activity.CodeInput, e.Code, word)
	}
}

func TestStatuses(t *testing.T) {
	p, say := sayer(t)
	for status, want := range map[int]struct {
		category  workflow.Category
		retryable bool
	}{
		400: {workflow.CategoryActivity, false}, 401: {workflow.CategoryActivity, false}, 404: {workflow.CategoryActivity, false}, 409: {workflow.CategoryActivity, false}, 422: {workflow.CategoryActivity, false},
		408: {workflow.CategoryExternal, true}, 425: {workflow.CategoryExternal, true}, 429: {workflow.CategoryExternal, true},
		500: {workflow.CategoryExternal, true}, 502: {workflow.CategoryExternal, true}, 503: {workflow.CategoryExternal, true}, 504: {workflow.CategoryExternal, true},
		501: {workflow.CategoryExternal, false}, 505: {workflow.CategoryExternal, false}, 599: {workflow.CategoryExternal, true}, 304: {workflow.CategoryActivity, false},
	} {
		say(said{status: status, kind: "application/json", body: `{"code":"card_declined"}`})
		e, _ := fails(t, caller(t, httpcall.Options{}), m{"url": p.URL + "/charges?key=1", "method": "POST"})
		require.Equal(t, fmt.Sprintf("http.%d", status), e.Code)
		require.Equal(t, want.category, e.Category, status)
		require.Equal(t, want.retryable, e.Retryable, status)
		require.Contains(t, e.Message, "POST "+p.URL+"/charges: "+strconv.Itoa(status))
		require.NotContains(t, e.Message, "key=1")
		var d answer
		require.NoError(t, json.Unmarshal(e.Details, &d))
		require.Equal(t, status, d.Status)
		if status != 304 {
			require.Equal(t, m{"code": "card_declined"}, d.Body)
			require.Equal(t, "application/json", d.Headers["content-type"])
		}
	}
}

// TestDetailsAreBounded: whatever the other side writes, an error stays small and is JSON.
func TestDetailsAreBounded(t *testing.T) {
	p, say := sayer(t)
	for _, body := range []string{"", "prose", "<html>\xff\x00", strings.Repeat("x", 1<<20), `"` + strings.Repeat("x", 1<<20) + `"`, strings.Repeat("\xff", 1<<16), strings.Repeat("\x01", 1<<16), "[" + strings.Repeat("1,", 1<<13) + "1]"} {
		say(said{status: 500, body: body})
		e, _ := fails(t, caller(t, httpcall.Options{}), m{"url": p.URL})
		require.Equal(t, "http.500", e.Code)
		require.Less(t, len(e.Details), activity.MaxErrorText)
		require.NotEmpty(t, e.Details)
		require.True(t, json.Valid(e.Details))
		require.Less(t, len(e.Message), 2000)
	}
}

// TestNoHalfSecrets: where an error cuts what the other side wrote, no part of a secret is left that a mask would not know.
func TestNoHalfSecrets(t *testing.T) {
	const key = "sesame-open-the-door-of-the-cave"
	p, say := sayer(t)
	mask := secret.NewMask(secret.Value{Name: "key", Text: key})
	for n := range 400 {
		say(said{status: []int{500, 200}[n%2], kind: []string{"text/plain", "application/json"}[n%2], body: strings.Repeat("x", n) + key + strings.Repeat("y", 3<<10-n-len(key)-n%40) + key + "z"})
		k := task(t, m{"url": p.URL})
		k.Mask = func() *secret.Mask { return mask }
		_, err := activity.Run(t.Context(), caller(t, httpcall.Options{}), k)
		typed, _ := activity.AsError(t.Context(), err)
		require.NotContains(t, typed.Message+string(typed.Details), "sesame", n)
	}
}

func TestRetryAfter(t *testing.T) {
	var set func(h http.Header)
	p := newPeer(t, func(w http.ResponseWriter, _ *http.Request) {
		set(w.Header())
		w.WriteHeader(http.StatusTooManyRequests)
	})
	day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	date := day.Format(http.TimeFormat)
	for _, x := range []struct {
		after string
		want  time.Duration
	}{
		{"", 0}, {"7", 7 * time.Second}, {" 7 ", 7 * time.Second}, {"0", 0}, {"-3", 0}, {"soon", 0}, {"1e3", 0}, {"99999999999999999", 24 * time.Hour}, {"999999999999999999999999", 24 * time.Hour},
		{day.Add(90 * time.Second).Format(http.TimeFormat), 90 * time.Second},
		{day.Add(90 * time.Second).Format(time.RFC850), 90 * time.Second},
		{day.Add(-time.Minute).Format(http.TimeFormat), 0},
		{day.Add(1000 * time.Hour).Format(http.TimeFormat), 24 * time.Hour},
	} {
		set = func(h http.Header) { h.Set("Retry-After", x.after); h.Set("Date", date) }
		e, after := fails(t, caller(t, httpcall.Options{}), m{"url": p.URL})
		require.Equal(t, "http.429", e.Code)
		require.Equal(t, x.want, after, x.after)
	}
	set = func(h http.Header) {
		h.Set("Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		h["Date"] = nil // the clock of this machine counts
	}
	_, after := fails(t, caller(t, httpcall.Options{}), m{"url": p.URL})
	require.InDelta(t, time.Hour, after, float64(time.Minute))
}

// TestFaults are those of connections.
func TestFaults(t *testing.T) {
	hijack := func(write string) *peer {
		return newPeer(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, write)
				_ = conn.Close()
			}
		})
	}
	for name, write := range map[string]string{
		"nothing": "", "no HTTP": "SSH-2.0-OpenSSH\r\n", "half a head": "HTTP/1.1 200 OK\r\nContent-Le", "odd status": "HTTP/1.1 2OO OK\r\n\r\n", "two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"half a body": "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "broken chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "cut chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
		"broken gzip": "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", "no header": "HTTP/1.1 200 OK\r\nX A\r\n\r\n",
	} {
		e, _ := fails(t, caller(t, httpcall.Options{}), m{"url": hijack(write).URL})
		require.Equal(t, httpcall.CodeRead, e.Code, "%s: %v", name, e)
		require.Equal(t, workflow.CategoryExternal, e.Category)
		require.True(t, e.Retryable)
	}
	cut := hijack("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3000000\r\n\r\n" + strings.Repeat("x", 2_000_000))
	e, _ := fails(t, caller(t, httpcall.Options{}), m{"url": cut.URL})
	require.Equal(t, httpcall.CodeRead, e.Code, "in the middle of a stream")
	e, _ = fails(t, caller(t, httpcall.Options{}), m{"url": "http://no-such-host.invalid/"})
	require.Equal(t, httpcall.CodeDNS, e.Code)
	e, _ = fails(t, httpcall.New(httpcall.Options{}), m{"url": "http://169.254.169.254/latest/meta-data/"})
	require.Equal(t, "egress.forbidden", e.Code)
}

// TestBombs: what unpacks to much more than it was is bounded like everything.
func TestBombs(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(`"`))
	require.NoError(t, err)
	for range 64 {
		_, err = z.Write(bytes.Repeat([]byte("x"), 1<<20))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	require.Less(t, packed.Len(), 1<<20)
	p := newPeer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	})
	k := task(t, m{"url": p.URL})
	k.MaxOutput = 8 << 20
	res, err := activity.Run(t.Context(), caller(t, httpcall.Options{}), k)
	require.NoError(t, err)
	n, err := io.Copy(io.Discard, res.Stream)
	require.LessOrEqual(t, n, int64(8<<20))
	typed, _ := activity.AsError(context.Background(), err)
	require.Equal(t, activity.CodeOutput, typed.Code)
	require.NoError(t, res.Stream.Close())
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	p := newPeer(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RemoteAddr) })
	c := caller(t, httpcall.Options{})
	first := call(t, c, m{"url": p.URL}).Body
	for range 5 {
		require.Equal(t, first, call(t, c, m{"url": p.URL, "method": "POST", "body": m{}}).Body)
	}
}
