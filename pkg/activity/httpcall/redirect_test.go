package httpcall_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/httpcall"
)

// to redirects everything.
func to(location string, status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(status)
	}
}

// secrets are a call that proves itself in every way it can.
func secrets(url string) m {
	return m{"url": url, "method": "GET", "query": m{"api_key": "query-secret"}, "headers": m{"X-Api-Key": "header-secret", "Cookie": "cookie-secret", "Accept": "text/csv"},
		"auth": m{"bearer": "bearer-secret"}, "idempotency_key": "X-Key"}
}

// TestAnotherHostGetsNoCredentials: neither by a redirect, nor by one back and forth.
func TestAnotherHostGetsNoCredentials(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		other := newPeer(t, fine)
		for _, place := range []string{other.URL + "/there", strings.Replace(other.URL, "127.0.0.1", "localhost", 1)} {
			first := newPeer(t, to(place, status))
			out := call(t, caller(t, httpcall.Options{}), secrets(first.URL))
			require.Equal(t, m{"ok": true}, out.Body)
			r := other.one(t)
			require.Equal(t, "text/csv", r.Header.Get("Accept"))
			seen := fmt.Sprint(r.Header, r.RequestURI)
			require.NotContains(t, seen, "secret", place)
			for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "X-Key", "Referer"} {
				require.NotContains(t, r.Header, name)
			}
			at := first.one(t)
			require.Equal(t, "Bearer bearer-secret", at.Header.Get("Authorization"))
		}
	}
}

// TestBackAgain: whoever was sent away once gets nothing when another host sends the call back.
func TestBackAgain(t *testing.T) {
	var home *peer
	away := newPeer(t, func(w http.ResponseWriter, r *http.Request) { to(home.URL+"/back", 302)(w, r) })
	home = newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/back" {
			fine(w, r)
			return
		}
		to(away.URL, 302)(w, r)
	})
	call(t, caller(t, httpcall.Options{}), secrets(home.URL))
	back := home.asked()[1]
	require.NotContains(t, back.Header, "X-Api-Key")
	require.NotContains(t, back.Header, "Cookie")
	require.NotContains(t, back.Header, "Authorization")
}

// TestUpgradeKeepsCredentials: the same host by TLS, at the usual ports, is the same place for each kind of proof.
func TestUpgradeKeepsCredentials(t *testing.T) {
	secure := startPeer(t, fine, (*httptest.Server).StartTLS)
	plain := newPeer(t, to("https://example.com/there", 307))
	c := caller(t, httpcall.Options{})
	c.DialBy(func(ctx context.Context, network, address string) (net.Conn, error) {
		at := map[string]*peer{"example.com:80": plain, "example.com:443": secure}[address]
		return (&net.Dialer{}).DialContext(ctx, network, at.Listener.Addr().String())
	})
	target := secrets("http://example.com/")
	target["tls"] = m{"ca": pemOf(secure.Certificate().Raw)}
	call(t, c, target)
	for _, p := range []*peer{plain, secure} {
		r := p.one(t)
		require.Equal(t, "Bearer bearer-secret", r.Header.Get("Authorization"))
		require.Equal(t, "header-secret", r.Header.Get("X-Api-Key"))
	}
}

// TestSameHostKeepsCredentials and the body, where the status says so.
func TestSameHostKeepsCredentials(t *testing.T) {
	for status, method := range map[int]string{301: "GET", 302: "GET", 303: "GET", 307: "POST", 308: "POST"} {
		p := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/a" {
				to("/b?x=1", status)(w, r)
				return
			}
			fine(w, r)
		})
		target := secrets(p.URL + "/a")
		target["method"], target["body"] = "POST", m{"n": 1}
		call(t, caller(t, httpcall.Options{}), target)
		r := p.asked()[1]
		require.Equal(t, method, r.Method)
		require.Equal(t, "/b?x=1", r.RequestURI)
		require.Equal(t, "Bearer bearer-secret", r.Header.Get("Authorization"))
		require.Equal(t, "header-secret", r.Header.Get("X-Api-Key"))
		require.NotContains(t, r.Header, "Referer")
		want := ""
		if method == "POST" {
			want = `{"n":1}`
		}
		require.Equal(t, want, r.text())
	}
}

func TestBodiesStayAtTheirHost(t *testing.T) {
	other := newPeer(t, fine)
	for _, status := range []int{307, 308} {
		first := newPeer(t, to(other.URL, status))
		e, _ := fails(t, caller(t, httpcall.Options{}), m{"url": first.URL, "method": "POST", "form": m{"client_secret": "x"}})
		require.Equal(t, httpcall.CodeRedirects, e.Code)
		require.False(t, e.Retryable)
	}
	require.Empty(t, other.asked())
	first := newPeer(t, to(other.URL, 303))
	call(t, caller(t, httpcall.Options{}), m{"url": first.URL, "method": "POST", "form": m{"client_secret": "x"}})
	r := other.one(t)
	require.Equal(t, "GET", r.Method)
	require.Empty(t, r.text())
}

func TestRedirectsAreBounded(t *testing.T) {
	p := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		if n == 0 {
			fine(w, r)
			return
		}
		to(fmt.Sprintf("/?n=%d", n-1), 302)(w, r)
	})
	at := func(n int, words m) m {
		words["url"] = fmt.Sprintf("%s/?n=%d", p.URL, n)
		return words
	}
	c := caller(t, httpcall.Options{})
	call(t, c, at(10, m{}))
	e, _ := fails(t, c, at(11, m{}))
	require.Equal(t, httpcall.CodeRedirects, e.Code)
	call(t, c, at(20, m{"redirects": 20}))
	e, _ = fails(t, c, at(3, m{"redirects": 2}))
	require.Equal(t, httpcall.CodeRedirects, e.Code)
	out := call(t, c, at(1, m{"redirects": 0, "success": []any{302}}))
	require.Equal(t, "/?n=0", out.Headers["location"])
	e, _ = fails(t, c, at(1, m{"redirects": 0}))
	require.Equal(t, "http.302", e.Code)
	for _, n := range []any{-1, 21, "x", 1.5} {
		e, _ = fails(t, c, at(0, m{"redirects": n}))
		require.Equal(t, activity.CodeInput, e.Code)
	}
}

// TestRedirectsThatAreNone: other schemes, users in addresses, addresses that are none, and those that egress forbids.
func TestRedirectsThatAreNone(t *testing.T) {
	for location, code := range map[string]string{
		"file:///etc/passwd": httpcall.CodeRedirects, "gopher://127.0.0.1/": httpcall.CodeRedirects, "javascript:alert(1)": httpcall.CodeRedirects, "http://10.0.0.1/": "egress.forbidden",
		"http://169.254.169.254/latest": "egress.forbidden", "http://[::ffff:a9fe:a9fe]/": "egress.forbidden", "http://0xa9fea9fe/": "egress.forbidden", "http://\x7f/": httpcall.CodeRead,
	} {
		p := newPeer(t, to(location, 302))
		e, _ := fails(t, caller(t, httpcall.Options{}), m{"url": p.URL})
		require.Equal(t, code, e.Code, "%s: %v", location, e)
		require.Len(t, p.asked(), 1)
	}
	other := newPeer(t, fine)
	p := newPeer(t, to(strings.Replace(other.URL, "http://", "http://user:pass@", 1), 302))
	call(t, caller(t, httpcall.Options{}), m{"url": p.URL})
	require.Equal(t, "Basic dXNlcjpwYXNz", other.one(t).Header.Get("Authorization"), "that is the other side's own")
}

// TestUpgrade: the same host by TLS is the same place, any other port is not.
func TestUpgrade(t *testing.T) {
	secure := startPeer(t, fine, (*httptest.Server).StartTLS)
	p := newPeer(t, to(secure.URL, 307))
	target := secrets(p.URL)
	target["tls"] = m{"ca": pemOf(secure.Certificate().Raw)}
	call(t, caller(t, httpcall.Options{}), target)
	require.NotContains(t, secure.one(t).Header, "X-Api-Key")
	for _, x := range []struct {
		from, to string
		moved    bool
	}{
		{"http://a.example", "https://a.example/x", false}, {"http://a.example:80/", "https://A.example:443", false}, {"http://a.example", "http://a.example:80", false},
		{"https://a.example", "https://a.example.", false}, {"https://a.example", "http://a.example", true}, {"http://a.example:8080", "https://a.example", true},
		{"http://a.example", "https://a.example:8443", true}, {"http://a.example", "http://sub.a.example", true}, {"http://sub.a.example", "http://a.example", true},
	} {
		require.Equal(t, x.moved, httpcall.Moved(x.from, x.to), "%+v", x)
	}
}
