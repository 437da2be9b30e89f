package egress_test

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

// nameServer is a small DNS server on this machine. It answers each question with what answer says at that moment, never to be kept.
type nameServer struct {
	conn net.PacketConn

	mu     sync.Mutex
	answer func(name string) []netip.Addr
	asked  map[string]int
}

func newNameServer(t testing.TB, answer func(name string) []netip.Addr) *nameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &nameServer{conn: conn, answer: answer, asked: map[string]int{}}
	done := make(chan struct{})
	go func() { defer close(done); s.serve() }()
	t.Cleanup(func() { require.NoError(t, conn.Close()); <-done })
	return s
}

// resolver asks this server only.
func (s *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", s.conn.LocalAddr().String())
	}}
}

func (s *nameServer) serve() {
	packet := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(packet)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(packet[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		if out, err := s.reply(m); err == nil {
			_, _ = s.conn.WriteTo(out, from)
		}
	}
}

func (s *nameServer) reply(m dnsmessage.Message) ([]byte, error) {
	q := m.Questions[0]
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.answer(q.Name.String()) {
		head := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 0}
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			s.asked[q.Name.String()]++
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: a.As4()}})
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	return m.Pack()
}
