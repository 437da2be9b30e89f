package httpcall_test

import (
	"encoding/base64"
	"io"
	"log"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/httpcall"
)

func TestMethods(t *testing.T) {
	p := newPeer(t, fine)
	c := caller(t, httpcall.Options{})
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		out := call(t, c, m{"method": method, "url": p.URL + "/a/b", "body": m{"n": 1}})
		r := p.one(t)
		require.Equal(t, method, r.Method)
		require.Equal(t, "/a/b", r.RequestURI)
		require.Equal(t, `{"n":1}`, r.text())
		if method == "HEAD" {
			require.Nil(t, out.Body)
		} else {
			require.Equal(t, m{"ok": true}, out.Body)
		}
		key := ""
		if method == "POST" || method == "PATCH" {
			key = "exec-1/charge"
		}
		require.Equal(t, key, r.Header.Get("Idempotency-Key"), method)
	}
	call(t, c, m{"url": p.URL})
	require.Equal(t, "GET", p.one(t).Method)
	for _, method := range []string{"", "get", "CONNECT", "TRACE", "BREW", "GET /x HTTP/1.1\r\nX: y"} {
		e, _ := fails(t, c, m{"method": method, "url": p.URL})
		require.Equal(t, activity.CodeInput, e.Code, method)
	}
	require.Empty(t, p.asked())
}

func TestQuery(t *testing.T) {
	p := newPeer(t, fine)
	c := caller(t, httpcall.Options{})
	for _, x := range []struct {
		url  string
		m    m
		want string
	}{
		{"/x", m{"b": 1, "a": "x y&z", "c": true, "d": 1.5, "e": nil, "f": []any{"1", 2, nil}}, "/x?a=x+y%26z&b=1&c=true&d=1.5&f=1&f=2"},
		{"/x?a=1", m{"a": 2}, "/x?a=1&a=2"},
		{"/x?a=1&", m{"b": "ä\r\nX-Evil: 1"}, "/x?a=1&b=%C3%A4%0D%0AX-Evil%3A+1"},
		{"/x?", m{}, "/x?"},
		{"/x#secret", m{"a": 1e21}, "/x?a=1000000000000000000000"},
	} {
		call(t, c, m{"url": p.URL + x.url, "query": x.m})
		require.Equal(t, x.want, p.one(t).RequestURI)
	}
	e, _ := fails(t, c, m{"url": p.URL, "query": m{"a": m{}}})
	require.Equal(t, activity.CodeInput, e.Code)
}

func TestBodies(t *testing.T) {
	p := newPeer(t, fine)
	c := caller(t, httpcall.Options{})
	raw := []byte{0, 1, 2, 0xff, 0xfe, '\n'}
	for _, x := range []struct {
		words      m
		kind, body string
	}{
		{m{}, "", ""},
		{m{"body": nil}, "", ""},
		{m{"body": m{"a": []any{1, "ä", nil}}}, "application/json", `{"a":[1,"ä",null]}`},
		{m{"body": []any{}}, "application/json", `[]`},
		{m{"body": 7}, "application/json", `7`},
		{m{"body": "hello, ä"}, "text/plain; charset=utf-8", "hello, ä"},
		{m{"body": ""}, "text/plain; charset=utf-8", ""},
		{m{"body": "<a/>", "headers": m{"content-type": "application/xml"}}, "application/xml", "<a/>"},
		{m{"form": m{"b": 2, "a": "x=y&z", "n": nil}}, "application/x-www-form-urlencoded", "a=x%3Dy%26z&b=2"},
		{m{"form": m{}}, "application/x-www-form-urlencoded", ""},
		{m{"bytes": base64.StdEncoding.EncodeToString(raw)}, "application/octet-stream", string(raw)},
		{m{"bytes": base64.RawURLEncoding.EncodeToString(raw), "headers": m{"Content-Type": "image/png"}}, "image/png", string(raw)},
	} {
		target := m{"url": p.URL, "method": "PUT"}
		for word, value := range x.words { // order-free: words are distinct
			target[word] = value
		}
		call(t, c, target)
		r := p.one(t)
		require.Equal(t, x.kind, r.Header.Get("Content-Type"), "%v", x.words)
		require.Equal(t, x.body, r.text(), "%v", x.words)
		require.EqualValues(t, len(x.body), r.ContentLength)
	}
	for _, words := range []m{{"bytes": "?"}, {"bytes": "abcde"}, {"form": m{"a": m{}}}, {"form": m{}, "body": 1}, {"bytes": "", "multipart": m{}}, {"multipart": m{"a": m{"x": 1}}}, {"multipart": m{"a": m{}}},
		{"multipart": m{"a": m{"text": "x", "bytes": "eA=="}}}, {"multipart": m{"a": m{"text": "x", "content_type": "a\r\nX: y"}}}, {"multipart": m{"a": m{"text": "x", "content_type": "none"}}},
		{"multipart": m{"a": []any{1}}}, {"multipart": m{"a": "b"}, "headers": m{"Content-Type": "text/plain"}}} {
		words["url"], words["method"] = p.URL, "POST"
		e, _ := fails(t, c, words)
		require.Equal(t, activity.CodeInput, e.Code, "%v", words)
	}
	require.Empty(t, p.asked())
}

func TestMultipart(t *testing.T) {
	p := newPeer(t, fine)
	odd := "a\"; filename=\"evil.sh\r\nX-Evil: 1\r\n\r\n--"
	call(t, caller(t, httpcall.Options{}), m{"url": p.URL, "method": "POST", "multipart": m{
		"note": "hello", "n": 7, "file": m{"filename": "ä.txt", "bytes": "aGVsbG8=", "content_type": "text/plain"}, "raw": m{"bytes": "AAE="}, odd: m{"text": odd, "filename": odd},
	}})
	r := p.one(t)
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	require.NoError(t, err)
	require.Equal(t, "multipart/form-data", kind)
	parts := multipart.NewReader(strings.NewReader(r.text()), params["boundary"])
	type part struct{ disposition, kind, text string }
	var got []part
	for {
		one, err := parts.NextPart()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		text, err := io.ReadAll(one)
		require.NoError(t, err)
		require.Len(t, one.Header, 1+min(1, len(one.Header.Get("Content-Type"))), "%v", one.Header)
		got = append(got, part{one.Header.Get("Content-Disposition"), one.Header.Get("Content-Type"), string(text)})
	}
	name := `a%22; filename=%22evil.sh%0D%0AX-Evil: 1%0D%0A%0D%0A--`
	require.Equal(t, []part{
		{`form-data; name="` + name + `"; filename="` + name + `"`, "application/octet-stream", odd},
		{`form-data; name="file"; filename="ä.txt"`, "text/plain", "hello"},
		{`form-data; name="n"`, "", "7"},
		{`form-data; name="note"`, "", "hello"},
		{`form-data; name="raw"`, "application/octet-stream", "\x00\x01"},
	}, got)
}

func TestHeaders(t *testing.T) {
	p := newPeer(t, fine)
	c := caller(t, httpcall.Options{})
	call(t, c, m{"url": p.URL, "headers": m{"x-one": "1", "X-Two": 2, "X-Three": true, "X-None": nil, "accept": "text/csv", "User-Agent": "shop/1", "X-Text": "ä\t~"}})
	h := p.one(t).Header
	require.Equal(t, "1", h.Get("X-One"))
	require.Equal(t, "2", h.Get("X-Two"))
	require.Equal(t, "true", h.Get("X-Three"))
	require.NotContains(t, h, "X-None")
	require.Equal(t, "text/csv", h.Get("Accept"))
	require.Equal(t, "shop/1", h.Get("User-Agent"))
	require.Equal(t, "ä\t~", h.Get("X-Text"))
	call(t, c, m{"url": p.URL})
	h = p.one(t).Header
	require.Equal(t, "Wovyr", h.Get("User-Agent"))
	require.Equal(t, "application/json, */*;q=0.8", h.Get("Accept"))

	for _, headers := range []m{
		{"X-A": "1\r\nX-Evil: 1"}, {"X-A": "1\nX-Evil: 1"}, {"X-A": "1\r"}, {"X-A": "\x00"}, {"X-A": "\x7f"}, {"X-A\r\nX-Evil": "1"}, {"X-A: 1\r\nX-Evil": "1"}, {"X A": "1"}, {"": "1"}, {"X-Ä": "1"}, {"X:": "1"},
		{"Host": "evil.example"}, {"host": "evil.example"}, {"Content-Length": "1"}, {"Transfer-Encoding": "chunked"}, {"transfer-encoding": "identity"}, {"Connection": "X-Key"}, {"Keep-Alive": "1"},
		{"Upgrade": "h2c"}, {"TE": "trailers"}, {"Trailer": "X"}, {"Expect": "100-continue"}, {"Proxy-Authorization": "x"}, {"proxy-connection": "x"},
		{"X-A": []any{"1"}}, {"X-A": m{}}, {"x-a": "1", "X-A": "2"},
	} {
		e, _ := fails(t, c, m{"url": p.URL, "headers": headers})
		require.Equal(t, activity.CodeInput, e.Code, "%v", headers)
	}
	require.Empty(t, p.asked())
}

// TestAnAttemptIsOneRequest cuts a connection that was used before when a request has arrived: nothing sends it again but the step's own retry.
func TestAnAttemptIsOneRequest(t *testing.T) {
	for _, header := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		cut := false
		p := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
			if cut {
				panic(http.ErrAbortHandler)
			}
			fine(w, r)
		})
		p.Config.ErrorLog = log.New(io.Discard, "", 0)
		c := caller(t, httpcall.Options{})
		target := m{"url": p.URL, "method": "POST", "idempotency_key": header, "body": m{"n": 1}}
		call(t, c, target)
		require.Equal(t, "exec-1/charge", p.one(t).Header.Get(header))
		cut = true
		e, _ := fails(t, c, target)
		require.True(t, e.Retryable)
		require.Equal(t, "exec-1/charge", p.one(t).Header.Get(header))
	}
}

func TestIdempotencyKey(t *testing.T) {
	p := newPeer(t, fine)
	c := caller(t, httpcall.Options{})
	send := func(words m, key string) http.Header {
		words["url"] = p.URL
		k := task(t, words)
		k.IdempotencyKey = key
		_, err := c.Run(t.Context(), k)
		require.NoError(t, err)
		return p.one(t).Header
	}
	require.Equal(t, "k", send(m{"method": "PUT", "idempotency_key": "X-Request-Id"}, "k").Get("X-Request-Id"))
	require.NotContains(t, send(m{"method": "POST", "idempotency_key": "X-Request-Id"}, "k"), "Idempotency-Key")
	require.Equal(t, "own", send(m{"method": "POST", "headers": m{"Idempotency-Key": "own"}}, "k").Get("Idempotency-Key"))
	require.Equal(t, "each%2F%C3%A4%0A%2F1", send(m{"method": "POST"}, "each/ä\n/1").Get("Idempotency-Key"))
	for _, name := range []string{"", "Host", "a b", "X\r\nY"} {
		e, _ := fails(t, c, m{"url": p.URL, "method": "POST", "idempotency_key": name})
		require.Equal(t, activity.CodeInput, e.Code, name)
	}
}

// TestAddresses: what data makes of an address stays an address, and never becomes another request.
func TestAddresses(t *testing.T) {
	p := newPeer(t, fine)
	c := caller(t, httpcall.Options{})
	for path, want := range map[string]string{
		"/a b":              "/a%20b",
		"/ä":                "/%C3%A4",
		"/%2e%2e/x":         "/%2e%2e/x",
		"//double":          "//double",
		"":                  "/",
		"?only=query":       "/?only=query",
		"/x%0d%0aX-Evil:1":  "/x%0d%0aX-Evil:1",
		"/\"<>^`{|}":        "/%22%3C%3E%5E%60%7B%7C%7D",
		"/x?a=\" HTTP/1.1":  "/x?a=%22%20HTTP/1.1",
		"/;jsessionid=1?a;": "/;jsessionid=1?a;",
	} {
		require.Equal(t, m{"ok": true}, call(t, c, m{"url": p.URL + path}).Body)
		require.Equal(t, want, p.one(t).RequestURI, path)
	}
	for _, url := range []string{"", "x", "/x", "//127.0.0.1/x", "ftp://127.0.0.1/", "file:///etc/passwd", "http:127.0.0.1", "http://", "http:///x", "http://user:pass@127.0.0.1/", "http://127.0.0.1:99999/",
		"http://127.0.0.1:0/", "http://127.0.0.1/\r\nX-Evil: 1", "http://127.0.0.1/\x00", "http://[::1", "http://a b/", "javascript:1", "http://127.0.0.1:port/"} {
		e, _ := fails(t, c, m{"url": url})
		require.Equal(t, activity.CodeInput, e.Code, url)
		require.False(t, e.Retryable)
	}
}
