package grpccall_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	pb "google.golang.org/grpc/interop/grpc_testing"
	reflectv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/grpccall"
)

// slow is a service that lets its callers wait before each of three messages.
type slow struct {
	pb.UnimplementedTestServiceServer
	pause time.Duration
}

func (s slow) wait(ctx context.Context) {
	select {
	case <-time.After(s.pause):
	case <-ctx.Done():
	}
}

// UnaryCall implements the service.
func (s slow) UnaryCall(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	s.wait(ctx)
	return &pb.SimpleResponse{}, ctx.Err()
}

// StreamingOutputCall implements the service.
func (s slow) StreamingOutputCall(_ *pb.StreamingOutputCallRequest, out pb.TestService_StreamingOutputCallServer) error {
	for range 3 {
		s.wait(out.Context())
		if err := out.Send(&pb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
	return nil
}

// TestSilence: a call without a timeout of which nothing is heard ends; a stream that goes on slowly does not, and a deadline is another's matter.
func TestSilence(t *testing.T) {
	dir := t.TempDir()
	descriptors(t, filepath.Join(dir, "test.binpb"))
	for name, x := range map[string]struct {
		method   string
		pause    time.Duration
		deadline time.Duration
		code     string
		took     time.Duration
	}{
		"no answer":     {method: "UnaryCall", pause: time.Hour, code: grpccall.CodeTimeout, took: grpccall.MaxSilence},
		"no message":    {method: "StreamingOutputCall", pause: time.Hour, code: grpccall.CodeTimeout, took: grpccall.MaxSilence},
		"slow":          {method: "StreamingOutputCall", pause: grpccall.MaxSilence - time.Second, took: 3 * (grpccall.MaxSilence - time.Second)},
		"with deadline": {method: "UnaryCall", pause: 30 * time.Minute, deadline: time.Hour, took: 30 * time.Minute},
		"deadline over": {method: "UnaryCall", pause: 2 * time.Hour, deadline: time.Hour, code: activity.CodeTimeout, took: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener := bufconn.Listen(1 << 20)
				server := grpc.NewServer()
				pb.RegisterTestServiceServer(server, slow{pause: x.pause})
				done := make(chan struct{})
				go func() { defer close(done); _ = server.Serve(listener) }()
				c := grpccall.New(grpccall.Options{Dir: dir})
				c.DialBy(func(ctx context.Context, _, _ string) (net.Conn, error) { return listener.DialContext(ctx) })
				defer func() { c.Close(); server.Stop(); <-done }()
				ctx := t.Context()
				if x.deadline > 0 {
					var stop context.CancelFunc
					ctx, stop = context.WithTimeout(ctx, x.deadline)
					defer stop()
				}
				start := time.Now()
				_, err := call(ctx, c, map[string]any{"target": "peer.example:80", "method": service + x.method, "plaintext": true, "descriptors": "test.binpb"})
				require.Equal(t, x.took, time.Since(start))
				if x.code == "" {
					require.NoError(t, err)
					return
				}
				e, _ := activity.AsError(ctx, err)
				require.Equal(t, x.code, e.Code, e.Message)
				require.True(t, e.Retryable)
			})
		})
	}
}

// wire is a connection that can be cut so that neither side hears of it, as when a machine loses its power.
type wire struct {
	net.Conn
	cut  chan struct{}
	ends *sync.Once
	over chan struct{} // this side closed it
}

// Read implements net.Conn.
func (w wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	select {
	case <-w.cut:
		<-w.over
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

// Write implements net.Conn.
func (w wire) Write(b []byte) (int, error) {
	select {
	case <-w.cut:
		return len(b), nil
	default:
		return w.Conn.Write(b)
	}
}

// Close implements net.Conn.
func (w wire) Close() error {
	w.ends.Do(func() { close(w.over) })
	return w.Conn.Close()
}

// TestDeadConnection: a step whose timeout is long learns within minutes that the other side is gone, for the pings of the connection are not
// answered; while they are, it waits.
func TestDeadConnection(t *testing.T) {
	dir := t.TempDir()
	descriptors(t, filepath.Join(dir, "test.binpb"))
	synctest.Test(t, func(t *testing.T) {
		listener := bufconn.Listen(1 << 20)
		server := grpc.NewServer()
		pb.RegisterTestServiceServer(server, slow{pause: 10 * time.Hour})
		done := make(chan struct{})
		go func() { defer close(done); _ = server.Serve(listener) }()
		cut := make(chan struct{})
		c := grpccall.New(grpccall.Options{Dir: dir})
		c.DialBy(func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := listener.DialContext(ctx)
			return wire{Conn: conn, cut: cut, ends: &sync.Once{}, over: make(chan struct{})}, err
		})
		defer func() { c.Close(); server.Stop(); <-done }()
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Hour)
		defer stop()
		const lives = time.Hour
		defer time.AfterFunc(lives, func() { close(cut) }).Stop()
		start := time.Now()
		_, err := call(ctx, c, map[string]any{"target": "peer.example:80", "method": service + "UnaryCall", "plaintext": true, "descriptors": "test.binpb"})
		e, _ := activity.AsError(ctx, err)
		require.Equal(t, "grpc.unavailable", e.Code, e.Message)
		require.True(t, e.Retryable)
		took := time.Since(start)
		require.Greater(t, took, lives)
		require.LessOrEqual(t, took, lives+2*grpccall.MaxSilence)
	})
}

// endless answers each question by reflection with a file that imports others: each one more, or the first many.
type endless struct {
	reflectv1.UnimplementedServerReflectionServer
	padding string
	wide    int
}

func (s endless) imports(n int) []string {
	if s.wide == 0 {
		return []string{fmt.Sprintf("%d.proto", n)}
	}
	var out []string
	for i := 0; n == 0 && i < s.wide; i++ {
		out = append(out, fmt.Sprintf("%d.proto", i))
	}
	return out
}

// ServerReflectionInfo implements the service.
func (s endless) ServerReflectionInfo(stream reflectv1.ServerReflection_ServerReflectionInfoServer) error {
	for n := 0; ; n++ {
		in, err := stream.Recv()
		if err != nil {
			return err
		}
		name := in.GetFileByFilename()
		if name == "" {
			name = "first.proto"
		}
		file, err := proto.Marshal(&descriptorpb.FileDescriptorProto{Name: &name, Dependency: s.imports(n), Options: &descriptorpb.FileOptions{GoPackage: &s.padding}})
		if err != nil {
			return err
		}
		answer := &reflectv1.FileDescriptorResponse{FileDescriptorProto: [][]byte{file}}
		if err := stream.Send(&reflectv1.ServerReflectionResponse{MessageResponse: &reflectv1.ServerReflectionResponse_FileDescriptorResponse{FileDescriptorResponse: answer}}); err != nil {
			return err
		}
	}
}

// TestReflectionIsBounded: a server that describes itself without end fills no memory, be it by many files or large ones.
func TestReflectionIsBounded(t *testing.T) {
	for name, says := range map[string]endless{"deep": {}, "wide": {wide: 5000}, "large": {padding: strings.Repeat("x", 1<<20)}} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		server := grpc.NewServer()
		reflectv1.RegisterServerReflectionServer(server, says)
		done := make(chan struct{})
		go func() { defer close(done); _ = server.Serve(listener) }()
		c := caller(t, "")
		e, _ := fails(t, c, map[string]any{"target": listener.Addr().String(), "method": service + "UnaryCall", "plaintext": true})
		require.Equal(t, grpccall.CodeDescriptors, e.Code, "%s: %s", name, e.Message)
		require.False(t, e.Retryable)
		server.Stop()
		<-done
	}
}
