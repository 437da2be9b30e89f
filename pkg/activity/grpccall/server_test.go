package grpccall_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// server is a gRPC server on this machine: the service of gRPC's own interoperability tests, whose body says what to do.
type server struct {
	pb.UnimplementedTestServiceServer
	address     string
	grpc        *grpc.Server
	connections atomic.Int64

	mu      sync.Mutex
	seen    metadata.MD // of the last call
	started chan struct{}
	ended   chan struct{} // a hanging call was given up
}

type counted struct {
	net.Listener
	n *atomic.Int64
}

// Accept implements net.Listener.
func (l counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.n.Add(1)
	}
	return c, err
}

func serve(t testing.TB, reflect bool, options ...grpc.ServerOption) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &server{address: listener.Addr().String(), grpc: grpc.NewServer(options...), started: make(chan struct{}, 64), ended: make(chan struct{}, 64)}
	pb.RegisterTestServiceServer(s.grpc, s)
	if reflect {
		reflection.Register(s.grpc)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.grpc.Serve(counted{listener, &s.connections}) }()
	t.Cleanup(func() { s.stop(); <-done })
	return s
}

func (s *server) stop() { s.grpc.Stop() }

func (s *server) note(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, _ = metadata.FromIncomingContext(ctx)
}

// got is the value of metadata in the last call.
func (s *server) got(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.seen.Get(name), "|")
}

func (s *server) hang(ctx context.Context) error {
	s.started <- struct{}{}
	<-ctx.Done()
	s.ended <- struct{}{}
	return ctx.Err()
}

// UnaryCall implements the service: with a status it fails, with the body "hang" it hangs, otherwise it answers with what it got.
func (s *server) UnaryCall(ctx context.Context, in *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	s.note(ctx)
	body := string(in.GetPayload().GetBody())
	if body == "hang" {
		return nil, s.hang(ctx)
	}
	if st := in.GetResponseStatus(); st.GetCode() != 0 {
		wait := int64(7)
		if _, text, ok := strings.Cut(body, "wait "); ok {
			wait, _ = strconv.ParseInt(text, 10, 64)
		}
		failed, err := status.New(codes.Code(st.GetCode()), st.GetMessage()).WithDetails(
			&errdetails.ErrorInfo{Reason: "TEST", Domain: body}, &errdetails.RetryInfo{RetryDelay: &durationpb.Duration{Seconds: wait}})
		if err != nil || body == "bare" {
			return nil, status.Error(codes.Code(st.GetCode()), st.GetMessage())
		}
		return nil, failed.Err()
	}
	return &pb.SimpleResponse{Payload: &pb.Payload{Body: append(in.GetPayload().GetBody(), make([]byte, in.GetResponseSize())...)}, Username: s.got("x-user")}, nil
}

// StreamingOutputCall implements the service: it sends what is asked for, or for ever.
func (s *server) StreamingOutputCall(in *pb.StreamingOutputCallRequest, out pb.TestService_StreamingOutputCallServer) error {
	s.note(out.Context())
	for i := 0; string(in.GetPayload().GetBody()) == "flood" || i < len(in.GetResponseParameters()); i++ {
		if err := out.Send(&pb.StreamingOutputCallResponse{Payload: &pb.Payload{Body: fmt.Append(nil, "message ", i)}}); err != nil {
			s.ended <- struct{}{}
			return err
		}
	}
	switch string(in.GetPayload().GetBody()) {
	case "hang":
		return s.hang(out.Context())
	case "fail":
		return status.Error(codes.Aborted, "in the middle")
	}
	return nil
}

// authority issues certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newAuthority(t testing.TB) *authority {
	a := &authority{}
	cert, key := a.issue(t, &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, Subject: pkix.Name{CommonName: "test"}})
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	require.NoError(t, err)
	a.cert, a.key, a.pem = pair.Leaf, pair.PrivateKey.(*ecdsa.PrivateKey), cert
	return a
}

// issue makes a certificate and its key, in PEM.
func (a *authority) issue(t testing.TB, template *x509.Certificate) (cert, key string) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := template, own
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &own.PublicKey, signer)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(own)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
}

// secure is the option of a server with TLS for a name; with clients, only those with a certificate of the authority may call.
func (a *authority) secure(t testing.TB, name string, clients bool) grpc.ServerOption {
	cert, key := a.issue(t, &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{name}})
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	require.NoError(t, err)
	config := &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: x509.NewCertPool()}
	config.ClientCAs.AddCert(a.cert)
	if clients {
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return grpc.Creds(credentials.NewTLS(config))
}

func base(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
