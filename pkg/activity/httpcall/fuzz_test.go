package httpcall_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/httpcall"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// onTheWire sends one call to a listener and returns every byte that came.
func onTheWire(t testing.TB, target string) (wire []byte, err error) {
	c := httpcall.New(httpcall.Options{})
	here, there := net.Pipe()
	dialed := false
	c.DialBy(func(context.Context, string, string) (net.Conn, error) {
		if dialed {
			return nil, io.ErrClosedPipe
		}
		dialed = true
		return here, nil
	})
	got := make(chan []byte)
	go func() {
		var all bytes.Buffer
		r := bufio.NewReader(io.TeeReader(there, &all))
		if req, err := http.ReadRequest(r); err == nil {
			_, _ = io.Copy(io.Discard, req.Body)
			_, _ = io.WriteString(there, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
		} else {
			_ = there.Close()
		}
		_, _ = io.Copy(io.Discard, r) // whatever comes behind the request
		got <- all.Bytes()
	}()
	_, err = c.Run(t.Context(), &activity.Task{Tenant: "t", IdempotencyKey: "key", Target: activity.NewDocument([]byte(target))})
	_ = here.Close()
	_ = there.Close()
	wire = <-got
	return wire, err
}

// FuzzRequest: whatever data makes of the parts of a step, what goes over the wire is one request, with the headers and the body that were
// meant, and no more.
func FuzzRequest(f *testing.F) {
	for _, s := range [][5]string{
		{"/x", "a=1", "X-A", "1", "hello"},
		{"/x\r\nX-Evil: 1", "a\r\n", "X-A: 1\r\nX-Evil", "1\r\nX-Evil: 1\r\n\r\nGET /evil HTTP/1.1\r\n\r\n", "\r\n\r\nGET /evil HTTP/1.1\r\n\r\n"},
		{"?q#f", "&=?#", "Content-Length", "0", "x"},
		{"/%0d%0a", "%0d%0a", "Transfer-Encoding", "chunked", "0\r\n\r\n"},
		{"/\x00", "\x00", "X-\x00", "\x00", "\x00"},
		{"@evil.example/", "é", "X-É", "é", "é"},
		{"/\xff", "\xff", "X", "\xff", "\xff"},
		{"/", "", "x-trailer", "\u2028", "--boundary"},
	} {
		for kind := range byte(4) {
			f.Add(kind, s[0], s[1], s[2], s[3], s[4])
		}
	}
	f.Fuzz(func(t *testing.T, kind byte, path, query, header, value, body string) {
		target := m{"url": "http://peer.example/" + path, "method": "POST", "query": m{query: query}, "headers": m{header: value}}
		switch kind % 4 {
		case 0:
			target["body"] = body
		case 1:
			target["form"] = m{query: body}
		case 2:
			target["multipart"] = m{query: m{"text": body, "filename": value}}
		case 3:
			target["body"] = m{query: body}
		}
		text, err := json.Marshal(target)
		require.NoError(t, err)
		wire, err := onTheWire(t, string(text))
		if typed := (*activity.Error)(nil); err != nil && len(wire) == 0 {
			require.ErrorAs(t, err, &typed)
			require.Contains(t, []string{activity.CodeInput, "http.dns", "http.connect", "http.read", "http.tls", "egress.forbidden"}, typed.Code)
			return
		}
		r := bufio.NewReader(bytes.NewReader(wire))
		req, err := http.ReadRequest(r)
		require.NoError(t, err, "%q", wire)
		sent, err := io.ReadAll(req.Body)
		require.NoError(t, err, "%q", wire)
		_, err = r.ReadByte()
		require.Equal(t, io.EOF, err, "something came behind the request: %q", wire)
		require.Equal(t, "POST", req.Method)
		require.Equal(t, "peer.example", strings.TrimSuffix(strings.SplitN(req.Host, ":", 2)[0], "."), "%q", wire)
		names := []string{"User-Agent", "Accept", "Content-Type", "Idempotency-Key", "Accept-Encoding", "Content-Length", http.CanonicalHeaderKey(header)}
		for name, values := range req.Header { // order-free: each by itself
			require.Contains(t, names, name, "%q", wire)
			require.Len(t, values, 1)
		}
		require.Len(t, req.URL.Query()[valid(query)], 1+min(1, strings.Count(path, "?")*len(queryOf(path)[valid(query)])), "%q", wire)
		if kind%4 == 0 {
			require.Equal(t, valid(body), string(sent))
		}
	})
}

// valid is a text as JSON carries it.
func valid(s string) string {
	var out string
	b, _ := json.Marshal(s)
	_ = json.Unmarshal(b, &out)
	return out
}

func queryOf(path string) map[string][]string {
	req, err := http.NewRequest(http.MethodGet, "http://peer.example/"+valid(path), nil)
	if err != nil {
		return nil
	}
	return req.URL.Query()
}

// FuzzBlock: no JSON makes a call panic, and what is refused is refused for good, unless it was sent.
func FuzzBlock(f *testing.F) {
	for _, text := range []string{
		`{"url":"http://10.0.0.1/","method":"POST","body":{"a":[1,null]},"success":["2xx",404],"response":"json","redirects":3}`,
		`{"url":"http://10.0.0.1/","auth":{"oauth2":{"token_url":"http://10.0.0.1/","client_id":"a","client_secret":"b","params":{"a":1}}}}`,
		`{"url":"http://10.0.0.1/","auth":{"sigv4":{"service":"s3","region":"r","access_key":"a","secret_key":"b"}},"bytes":"AA=="}`,
		`{"url":"https://10.0.0.1/","tls":{"ca":"x","cert":"y","key":"z","min_version":"1.3","server_name":"a"}}`,
		`{"url":"http://10.0.0.1/","multipart":{"a":{"text":1,"bytes":null},"b":true},"query":{"a":[1,[2]]},"headers":{"A":null}}`,
		`{"url":"http://10.0.0.1/","form":{"a":1e999999999}}`, `{"URL":"x","url":null,"auth":null,"tls":null,"success":null}`, `null`, `[]`, ``,
	} {
		f.Add([]byte(text))
	}
	c := httpcall.New(httpcall.Options{})
	c.DialBy(func(context.Context, string, string) (net.Conn, error) { return nil, io.ErrUnexpectedEOF })
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := c.Run(t.Context(), &activity.Task{Tenant: string(text[:min(8, len(text))]), IdempotencyKey: "key", Target: activity.NewDocument(text)})
		typed, _ := activity.AsError(t.Context(), err)
		require.True(t, slices.Contains([]workflow.Category{workflow.CategoryActivity, workflow.CategoryExternal}, typed.Category), "%v", err)
		require.NotEqual(t, activity.CodeError, typed.Code)
	})
}
