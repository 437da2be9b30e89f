package httpcall_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/httpcall"
	"github.com/wovyr/wovyr/pkg/workflow"
)

func pemOf(der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// authority signs certificates.
type authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	n    int64
}

func newAuthority(t testing.TB) *authority {
	a := &authority{t: t}
	a.cert, a.key, _ = a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func (a *authority) issue(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey, tls.Certificate) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	a.n++
	template.SerialNumber = big.NewInt(a.n)
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	require.NoError(a.t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	return cert, key, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (a *authority) server(names []string, ips []net.IP, after time.Time) tls.Certificate {
	template := &x509.Certificate{DNSNames: names, IPAddresses: ips, NotAfter: after, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	_, _, pair := a.issue(template)
	return pair
}

// client returns certificate and key as texts.
func (a *authority) client(name string) (cert, key string) {
	c, k, _ := a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	der, err := x509.MarshalPKCS8PrivateKey(k)
	require.NoError(a.t, err)
	return pemOf(c.Raw), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func securePeer(t testing.TB, config *tls.Config, h http.HandlerFunc) *peer {
	return startPeer(t, h, func(s *httptest.Server) { s.TLS = config; s.EnableHTTP2 = true; s.StartTLS() })
}

var here = []net.IP{net.IPv4(127, 0, 0, 1)}

func TestAuthorities(t *testing.T) {
	a, b := newAuthority(t), newAuthority(t)
	p := securePeer(t, &tls.Config{Certificates: []tls.Certificate{a.server(nil, here, time.Time{})}}, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) })
	c := caller(t, httpcall.Options{})
	require.Equal(t, "HTTP/2.0", call(t, c, m{"url": p.URL, "tls": m{"ca": pemOf(a.cert.Raw)}}).Body)
	for _, ca := range []m{nil, {"ca": pemOf(b.cert.Raw)}} {
		e, _ := fails(t, c, m{"url": p.URL, "tls": ca})
		require.Equal(t, httpcall.CodeTLS, e.Code)
		require.Equal(t, workflow.CategoryExternal, e.Category)
		require.False(t, e.Retryable)
	}
	expired := securePeer(t, &tls.Config{Certificates: []tls.Certificate{a.server(nil, here, time.Now().Add(-time.Minute))}}, fine)
	e, _ := fails(t, c, m{"url": expired.URL, "tls": m{"ca": pemOf(a.cert.Raw)}})
	require.Equal(t, httpcall.CodeTLS, e.Code)
	for _, url := range []string{"http" + p.URL[5:], "https" + newPeer(t, fine).URL[4:]} {
		_, err := try(t, c, m{"url": url, "tls": m{"ca": pemOf(a.cert.Raw)}})
		require.Error(t, err, "one side speaks TLS and the other does not: %s", url)
	}
}

func TestServerName(t *testing.T) {
	a := newAuthority(t)
	p := securePeer(t, &tls.Config{Certificates: []tls.Certificate{a.server([]string{"api.internal.example"}, nil, time.Time{})}}, fine)
	c := caller(t, httpcall.Options{})
	call(t, c, m{"url": p.URL, "tls": m{"ca": pemOf(a.cert.Raw), "server_name": "api.internal.example"}})
	require.Equal(t, "api.internal.example", p.one(t).TLS.ServerName)
	for _, name := range []string{"", "other.example"} {
		e, _ := fails(t, c, m{"url": p.URL, "tls": m{"ca": pemOf(a.cert.Raw), "server_name": name}})
		require.Equal(t, httpcall.CodeTLS, e.Code)
	}
}

func TestVersions(t *testing.T) {
	a := newAuthority(t)
	for _, x := range []struct {
		most uint16
		min  string
		fine bool
	}{{tls.VersionTLS11, "", false}, {tls.VersionTLS12, "", true}, {tls.VersionTLS12, "1.2", true}, {tls.VersionTLS12, "1.3", false}, {tls.VersionTLS13, "1.3", true}} {
		p := securePeer(t, &tls.Config{Certificates: []tls.Certificate{a.server(nil, here, time.Time{})}, MinVersion: tls.VersionTLS10, MaxVersion: x.most}, fine)
		target := m{"url": p.URL, "tls": m{"ca": pemOf(a.cert.Raw), "min_version": x.min}}
		if x.fine {
			call(t, caller(t, httpcall.Options{}), target)
			continue
		}
		e, _ := fails(t, caller(t, httpcall.Options{}), target)
		require.Equal(t, httpcall.CodeTLS, e.Code, "%+v", x)
	}
}

// TestClientCertificates: each call shows its own, and connections are not shared between them.
func TestClientCertificates(t *testing.T) {
	a, b := newAuthority(t), newAuthority(t)
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	p := securePeer(t, &tls.Config{Certificates: []tls.Certificate{a.server(nil, here, time.Time{})}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool},
		func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName+" "+r.RemoteAddr)
		})
	c := caller(t, httpcall.Options{})
	seen := map[string]any{}
	for range 2 {
		for _, name := range []string{"ann", "bob"} {
			cert, key := a.client(name)
			if text, ok := seen[name]; ok {
				cert, key = text.([2]string)[0], text.([2]string)[1]
			}
			seen[name] = [2]string{cert, key}
			first := call(t, c, m{"url": p.URL, "tls": m{"ca": pemOf(a.cert.Raw), "cert": cert, "key": key}}).Body
			require.Contains(t, first, name)
			require.Equal(t, first, call(t, c, m{"url": p.URL, "tls": m{"ca": pemOf(a.cert.Raw), "cert": cert, "key": key}}).Body, "the connection is used again")
		}
	}
	stranger, strangersKey := b.client("eve")
	for _, pair := range []m{{"ca": pemOf(a.cert.Raw)}, {"ca": pemOf(a.cert.Raw), "cert": stranger, "key": strangersKey}} {
		e, _ := fails(t, c, m{"url": p.URL, "tls": pair})
		// With TLS 1.3 the other side may hang up while the request is still on its way.
		require.Contains(t, []string{httpcall.CodeTLS, httpcall.CodeRead}, e.Code, e.Message)
	}
}

func TestTLSOptionsThatAreNone(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.client("ann")
	other, _ := a.client("bob")
	c := caller(t, httpcall.Options{})
	for _, o := range []m{{"ca": "no certificate"}, {"cert": cert}, {"key": key}, {"cert": other, "key": key}, {"cert": key, "key": cert}, {"min_version": "1.1"}, {"min_version": "TLS1.3"}, {"insecure": true}} {
		e, _ := fails(t, c, m{"url": "https://127.0.0.1:1", "tls": o})
		require.Equal(t, activity.CodeInput, e.Code, "%v", o)
		require.NotContains(t, e.Message, "BEGIN PRIVATE")
		require.NotContains(t, e.Message, key[40:60])
	}
}
