package egress_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity/egress"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// peer is an HTTP server on an address of this machine, which counts connections.
type peer struct {
	*httptest.Server
	connections atomic.Int64
}

func serve(t testing.TB, address string, h http.HandlerFunc) *peer {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	p := &peer{Server: httptest.NewUnstartedServer(h)}
	require.NoError(t, p.Listener.Close())
	p.Listener = listener
	p.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			p.connections.Add(1)
		}
	}
	p.Start()
	t.Cleanup(p.Close)
	return p
}

func (p *peer) port() string {
	_, port, _ := net.SplitHostPort(p.Listener.Addr().String())
	return port
}

func fine(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "reached") }

func guard(t testing.TB, allow ...string) *egress.Guard {
	t.Helper()
	g, err := egress.New(allow...)
	require.NoError(t, err)
	return g
}

// get calls a URL behind a guard with a connection of its own.
func get(g *egress.Guard, url string) error {
	transport := g.Transport()
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Get(url)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

func requireForbidden(t testing.TB, err error, why ...any) *workflow.Error {
	t.Helper()
	var typed *workflow.Error
	require.ErrorAs(t, err, &typed, why...)
	require.Equal(t, egress.CodeForbidden, typed.Code, why...)
	require.Equal(t, workflow.CategoryActivity, typed.Category)
	require.False(t, typed.Retryable)
	require.Contains(t, typed.Message, "wovyr.yaml")
	return typed
}

// hosts are ways to write an address that is not of the public internet.
var hosts = []string{
	// This machine, as it is written and as it once was.
	"127.0.0.1", "127.255.255.254", "127.0.0.1.", "127.1", "127.0.1", "0177.0.0.1", "017700000001", "2130706433", "0x7f000001", "0x7f.0.0.1",
	"0X7F.1", "0x7f.0x0.0x0.0x1", "00000000177.0.0.1", "127.000.000.001", "localhost", "LOCALHOST", "localhost.", "127。0。0。1", "①②⑦.⓪.⓪.①", "１２７.0.0.1",
	"user:password@127.0.0.1", "public.example@127.0.0.1",
	// Every address of this machine.
	"0.0.0.0", "0", "0x0", "[::]", "[0:0:0:0:0:0:0:0]",
	// IPv6, with IPv4 inside it in each way.
	"[::1]", "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::1%25lo]", "[::ffff:127.0.0.1]", "[::FFFF:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]",
	"[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::127.0.0.1]", "[2002:7f00:1::]", "[2002:7f00:1::1]",
	"[2001:0:4136:e378:8000:63bf:80ff:fffe]", "[2606:4700::5efe:127.0.0.1]", "[2606:4700::200:5efe:127.0.0.1]",
	"[fe80::1%25eth0]", "[fe80::5efe:127.0.0.1]", "[fc00::1]", "[fdff:ffff::1]", "[fec0::1]", "[ff02::1]", "[2001:db8::1]", "[3fff::1]", "[100::1]", "[4000::1]", "[5f00::1]",
	// Where clouds keep credentials.
	"169.254.169.254", "0xa9fea9fe", "2852039166", "0251.0376.0251.0376", "169.254.43518", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]",
	"[fd00:ec2::254]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "100.100.100.200", "169.254.170.2", "192.0.0.192",
	// The network around.
	"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.254", "192.168.0.1", "100.64.0.1", "198.18.0.1", "198.19.255.255", "192.0.2.1", "198.51.100.1", "203.0.113.1",
	"192.88.99.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "0.1.2.3",
}

// TestNothingClosedIsReached: no way to write an address gets a connection out of a guard.
func TestNothingClosedIsReached(t *testing.T) {
	p := serve(t, "127.0.0.1:0", fine)
	names := newNameServer(t, func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} })
	for _, g := range []*egress.Guard{nil, guard(t), {Resolver: names.resolver()}, guard(t, "*.corp.example", "192.0.2.77", "[::1]:1", "127.0.0.1:1")} {
		for _, host := range hosts {
			err := get(g, "http://"+host+":"+p.port()+"/")
			if notFound := (*net.DNSError)(nil); strings.HasPrefix(host, "localhost") && errors.As(err, &notFound) {
				continue // the machine does not know its own name in this form
			}
			requireForbidden(t, err, host)
		}
		for _, url := range []string{"http://%31%32%37.0.0.1:" + p.port(), "http://127.0.0.1:1@127.0.0.1:" + p.port(), "http:////127.0.0.1:" + p.port(), "http://127.0.0.1:" + p.port() + "#@public.example/", "file:///etc/passwd",
			"gopher://127.0.0.1:" + p.port(), "http://[::ffff:127.0.0.1%25x]:" + p.port(), "http://127.0.0.1\t:" + p.port(), "http://127.0.0.1%00.public.example:" + p.port()} {
			require.Error(t, get(g, url), url)
		}
	}
	require.Zero(t, p.connections.Load())
	require.NoError(t, get(guard(t, "127.0.0.1"), p.URL))
	require.EqualValues(t, 1, p.connections.Load())
}

// TestOnlyTCP: a path of a socket is no address.
func TestOnlyTCP(t *testing.T) {
	for _, network := range []string{"unix", "udp", "ip4:icmp", "unixgram"} {
		_, err := guard(t, "0.0.0.0/0", "::/0").DialContext(context.Background(), network, "127.0.0.1:1")
		requireForbidden(t, err, network)
	}
}

// TestRebinding: a name that resolves to an address that may be called, and then to one that may not.
func TestRebinding(t *testing.T) {
	allowed := serve(t, "127.0.0.2:0", fine)
	secret := serve(t, "127.0.0.1:"+allowed.port(), fine)
	flip := false
	names := newNameServer(t, func(string) []netip.Addr {
		at := "127.0.0.2"
		if flip {
			at = "127.0.0.1"
		}
		return []netip.Addr{netip.MustParseAddr(at)}
	})
	g := guard(t, "127.0.0.2")
	g.Resolver = names.resolver()
	url := "http://rebind.attacker.example:" + allowed.port() + "/"
	transport := g.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	for i := range 20 {
		names.mu.Lock()
		flip = i%2 == 1
		names.mu.Unlock()
		transport.CloseIdleConnections()
		res, err := (&http.Client{Transport: transport}).Get(url)
		if i%2 == 0 {
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			continue
		}
		e := requireForbidden(t, err)
		require.JSONEq(t, `{"host": "rebind.attacker.example", "port": "`+allowed.port()+`", "address": "127.0.0.1", "reason": "loopback"}`, string(e.Details))
	}
	names.mu.Lock()
	defer names.mu.Unlock()
	require.Equal(t, 20, names.asked["rebind.attacker.example."], "each connection resolves once")
	require.EqualValues(t, 10, allowed.connections.Load())
	require.Zero(t, secret.connections.Load())
}

// TestManyAnswers: of several addresses of a name only those that may be called are tried.
func TestManyAnswers(t *testing.T) {
	allowed := serve(t, "127.0.0.2:0", fine)
	secret := serve(t, "127.0.0.1:"+allowed.port(), fine)
	for _, answers := range [][]string{{"127.0.0.1", "127.0.0.2"}, {"127.0.0.2", "127.0.0.1"}, {"::1", "127.0.0.1", "127.0.0.2", "10.0.0.1"}} {
		g := guard(t, "127.0.0.2")
		g.Resolver = newNameServer(t, func(string) (out []netip.Addr) {
			for _, a := range answers {
				out = append(out, netip.MustParseAddr(a))
			}
			return out
		}).resolver()
		require.NoError(t, get(g, "http://both.example:"+allowed.port()), answers)
	}
	require.Zero(t, secret.connections.Load())
}

// TestRedirects: each hop is a connection, and each connection is looked at.
func TestRedirects(t *testing.T) {
	secret := serve(t, "127.0.0.1:0", fine)
	names := newNameServer(t, func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} })
	for _, host := range append([]string{"127.0.0.1:" + secret.port()}, hosts...) {
		front := serve(t, "127.0.0.2:0", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://"+host+"/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		})
		g := guard(t, "127.0.0.2")
		g.Resolver = names.resolver()
		requireForbidden(t, get(g, front.URL), host)
		require.EqualValues(t, 1, front.connections.Load())
	}
	require.Zero(t, secret.connections.Load())
}

// TestAllow: what an entry opens, and what it does not.
func TestAllow(t *testing.T) {
	p := serve(t, "127.0.0.1:0", fine)
	port := p.port()
	at := map[string][]netip.Addr{
		"api.corp.example.":          {netip.MustParseAddr("127.0.0.1")},
		"api.xn--bcher-kva.example.": {netip.MustParseAddr("127.0.0.1")},
		"api.bucher.example.":        {netip.MustParseAddr("127.0.0.1")},
		"corp.example.":              {netip.MustParseAddr("127.0.0.1")},
		"evilcorp.example.":          {netip.MustParseAddr("127.0.0.1")},
		"meta.corp.example.":         {netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("100.100.100.200")},
		"odd.corp.example.":          {netip.MustParseAddr("0.0.0.0"), netip.MustParseAddr("224.0.0.1"), netip.MustParseAddr("::"), netip.MustParseAddr("fe80::1"), netip.MustParseAddr("192.0.2.1")},
	}
	names := newNameServer(t, func(name string) []netip.Addr { return at[strings.ToLower(name)] })
	cases := []struct {
		allow, host string
		reached     bool
	}{
		{"127.0.0.1", "127.0.0.1", true},
		{"127.0.0.1:" + port, "127.0.0.1", true},
		{"127.0.0.1:1", "127.0.0.1", false},
		{"127.0.0.0/8", "127.0.0.1", true},
		{"127.0.0.2", "127.0.0.1", false},
		{"::ffff:127.0.0.1", "127.0.0.1", true},
		{"127.0.0.1", "[::ffff:127.0.0.1]", true},
		{"0.0.0.0/0", "127.0.0.1", true},
		{"::/0", "127.0.0.1", false},
		{"127.0.0.1", "api.corp.example", true},
		{"api.corp.example", "api.corp.example", true},
		{"API.corp.example.", "api.CORP.example.", true},
		{"api.corp.example:" + port, "api.corp.example", true},
		{"api.corp.example:1", "api.corp.example", false},
		{"*.corp.example", "api.corp.example", true},
		{"*.corp.example:" + port, "api.corp.example", true},
		{"*.corp.example", "corp.example", false},
		{"*.corp.example", "evilcorp.example", false},
		{"corp.example", "api.corp.example", false},
		{"*.corp.example", "127.0.0.1", false},
		{"*.corp.example", "meta.corp.example", false},
		{"*.corp.example", "odd.corp.example", false},
		{"*.Bücher.example", "api.bücher.example", true},
		{"*.Bücher.example", "api.bucher.example", false},
		{"localhost", "localhost", true},
		{"localhost", "127.0.0.1", false},
	}
	for _, c := range cases {
		g := guard(t, c.allow)
		if c.host != "localhost" {
			g.Resolver = names.resolver()
		}
		err := get(g, "http://"+c.host+":"+port)
		if c.reached {
			require.NoError(t, err, "%+v", c)
		} else {
			requireForbidden(t, err, "%+v", c)
		}
	}
}

func TestAllowIsRefused(t *testing.T) {
	for _, entry := range []string{"", "*", "*.", "a..b", "http://127.0.0.1", "10.0.0.1/8", "10.0.0.0/33", "::ffff:10.0.0.0/104", "a b", "bü cher.example", "a.*.example", "①②⑦.1", "2130706433", "0x7f.1",
		"127.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:99999", "a:b:c", "-a.example", "[::1", "10.0.0.0/8:80"} {
		_, err := egress.New(entry)
		require.ErrorContains(t, err, "write a host, *.domain, an address or a range", entry)
	}
}

// TestProxiesOfTheEnvironment are not asked: they would connect in the guard's place. It needs a process of its own, as net/http reads the
// environment once.
func TestProxiesOfTheEnvironment(t *testing.T) {
	if os.Getenv("WOVYR_TEST_PROXY") != "" {
		requireForbidden(t, get(guard(t, "127.0.0.1"), "http://10.0.0.1/"))
		requireForbidden(t, get(guard(t, "127.0.0.1"), "https://10.0.0.1/"))
		return
	}
	proxy := serve(t, "127.0.0.1:0", fine)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run=^TestProxiesOfTheEnvironment$")
	cmd.Env = append(os.Environ(), "WOVYR_TEST_PROXY=1")
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		cmd.Env = append(cmd.Env, name+"="+proxy.URL)
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Zero(t, proxy.connections.Load())
}

// FuzzHost lets every name resolve to this machine: whatever a URL says, nothing but public addresses is about to be called.
func FuzzHost(f *testing.F) {
	for _, host := range hosts {
		f.Add(host)
	}
	f.Add("8.8.8.8#@127.0.0.1")
	f.Add("①.1.1.1")
	names := newNameServer(f, func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} })
	g := &egress.Guard{Resolver: names.resolver()}
	stop := errors.New("stopped before the connection")
	g.StopBefore(func(a netip.Addr) error {
		if !a.IsGlobalUnicast() || a.IsPrivate() || a.Is4In6() {
			panic(a)
		}
		return stop
	})
	f.Fuzz(func(t *testing.T, host string) {
		require.Error(t, get(g, "http://"+host+":80/"))
		_, err := g.DialContext(context.Background(), "tcp", net.JoinHostPort(host, "80"))
		require.Error(t, err)
	})
}
