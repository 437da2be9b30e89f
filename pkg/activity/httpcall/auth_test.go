package httpcall_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/httpcall"
	"github.com/wovyr/wovyr/pkg/workflow"
)

func TestBasicAndBearer(t *testing.T) {
	p := newPeer(t, fine)
	c := caller(t, httpcall.Options{})
	call(t, c, m{"url": p.URL, "auth": m{"basic": m{"user": "ann", "password": "pä:ss"}}})
	user, password, ok := p.one(t).BasicAuth()
	require.True(t, ok)
	require.Equal(t, []string{"ann", "pä:ss"}, []string{user, password})
	call(t, c, m{"url": p.URL, "auth": m{"bearer": "abc"}})
	require.Equal(t, "Bearer abc", p.one(t).Header.Get("Authorization"))
	for _, auth := range []m{{}, {"bearer": ""}, {"bearer": "a\r\nX-Evil: 1"}, {"bearer": "a\n"}, {"bearer": "a", "basic": m{}}, {"digest": m{}}, {"oauth2": m{}}, {"sigv4": m{}}} {
		e, _ := fails(t, c, m{"url": p.URL, "auth": auth})
		require.Equal(t, activity.CodeInput, e.Code, auth)
	}
	e, _ := fails(t, c, m{"url": p.URL, "auth": m{"bearer": "a"}, "headers": m{"authorization": "b"}})
	require.Equal(t, activity.CodeInput, e.Code)
	require.Empty(t, p.asked())
}

// issuer is a server of tokens (RFC 6749): it gives one after the other, and each is good until it is revoked.
type issuer struct {
	*peer
	given   atomic.Int64
	revoked atomic.Int64 // tokens up to this one are worth nothing
	expires int
	status  int
	answer  string
}

func newIssuer(t testing.TB) *issuer {
	i := &issuer{}
	i.peer = newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		w.Header().Set("Content-Type", "application/json")
		switch {
		case i.answer != "":
			w.WriteHeader(max(i.status, 200))
			_, _ = io.WriteString(w, i.answer)
		case r.FormValue("grant_type") != "client_credentials" || user != "shop" || password != "s3cret":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":"invalid_client"}`)
		default:
			_ = json.NewEncoder(w).Encode(m{"access_token": fmt.Sprintf("token-%d", i.given.Add(1)), "token_type": "bearer", "expires_in": i.expires})
		}
	})
	return i
}

// api takes tokens of the issuer.
func (i *issuer) api(w http.ResponseWriter, r *http.Request) {
	var n int64
	if _, err := fmt.Sscanf(r.Header.Get("Authorization"), "Bearer token-%d", &n); err != nil || n <= i.revoked.Load() || n > i.given.Load() {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	_, _ = fmt.Fprintf(w, "%q", r.Header.Get("Authorization"))
}

func (i *issuer) auth() m {
	return m{"oauth2": m{"token_url": i.URL + "/token", "client_id": "shop", "client_secret": "s3cret", "scopes": []string{"read", "write"}, "params": m{"audience": "x"}}}
}

func TestOAuth2(t *testing.T) {
	i := newIssuer(t)
	i.expires = 3600
	p := newPeer(t, i.api)
	c := caller(t, httpcall.Options{})
	target := m{"url": p.URL, "method": "POST", "body": m{"n": 1}, "auth": i.auth(), "response": "text"}
	out := call(t, c, target)
	require.Equal(t, `"Bearer [secret:oauth2 token]"`, out.Body, "a token that the other side writes is masked")
	r := i.one(t)
	require.NoError(t, r.ParseForm())
	require.Equal(t, "read write", r.PostForm.Get("scope"))
	require.Equal(t, "x", r.PostForm.Get("audience"))
	p.asked()

	for range 5 {
		call(t, c, target)
	}
	require.EqualValues(t, 1, i.given.Load(), "a token is kept")
	p.asked()

	i.revoked.Store(1)
	call(t, c, target)
	require.EqualValues(t, 2, i.given.Load(), "one that is refused is got anew")
	sent := p.asked()
	require.Len(t, sent, 2)
	require.Equal(t, `{"n":1}`, sent[1].text())

	i.revoked.Store(100)
	e, _ := fails(t, c, target)
	require.Equal(t, "http.401", e.Code)
	require.EqualValues(t, 3, i.given.Load(), "once")
	require.NotContains(t, e.Message+string(e.Details), "token-")

	other := task(t, target)
	other.Tenant = "other"
	_, err := c.Run(t.Context(), other)
	require.Error(t, err)
	require.EqualValues(t, 5, i.given.Load(), "tenants share no token")
}

// TestOAuth2Once: many calls at once ask for one token.
func TestOAuth2Once(t *testing.T) {
	i := newIssuer(t)
	p := newPeer(t, i.api)
	c := caller(t, httpcall.Options{})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			_, err := c.Run(t.Context(), task(t, m{"url": p.URL, "auth": i.auth()}))
			require.NoError(t, err)
		})
	}
	all.Wait()
	require.EqualValues(t, 1, i.given.Load())

	// All of them are refused, and one gets a new token for all.
	i.revoked.Store(1)
	for range 20 {
		all.Go(func() {
			_, err := c.Run(t.Context(), task(t, m{"url": p.URL, "auth": i.auth()}))
			require.NoError(t, err)
		})
	}
	all.Wait()
	require.EqualValues(t, 2, i.given.Load())
}

// TestOAuth2Stays: a server of tokens that sends its callers elsewhere sends no secrets there.
func TestOAuth2Stays(t *testing.T) {
	other := newPeer(t, fine)
	for _, status := range []int{302, 307, 308} {
		i := newPeer(t, to(other.URL, status))
		auth := m{"oauth2": m{"token_url": i.URL, "client_id": "shop", "client_secret": "s3cret"}}
		e, _ := fails(t, caller(t, httpcall.Options{}), m{"url": other.URL, "auth": auth})
		require.Equal(t, httpcall.CodeOAuth2, e.Code)
	}
	require.Empty(t, other.asked())
}

func TestOAuth2Expires(t *testing.T) {
	i := newIssuer(t)
	i.expires = 1 // sooner than it could be used
	p := newPeer(t, i.api)
	c := caller(t, httpcall.Options{})
	for range 3 {
		call(t, c, m{"url": p.URL, "auth": i.auth()})
	}
	require.EqualValues(t, 3, i.given.Load())
}

func TestOAuth2Fails(t *testing.T) {
	p := newPeer(t, fine)
	for _, x := range []struct {
		status    int
		answer    string
		secret    string
		code      string
		retryable bool
	}{
		{secret: "wrong", code: httpcall.CodeOAuth2},
		{status: 400, answer: `{"error":"invalid_scope","error_description":"s3cret"}`, code: httpcall.CodeOAuth2},
		{status: 503, answer: `busy s3cret`, code: httpcall.CodeOAuth2, retryable: true},
		{answer: `{}`, code: httpcall.CodeOAuth2}, {answer: `no s3cret`, code: httpcall.CodeOAuth2}, {status: 302, answer: "x", code: httpcall.CodeOAuth2},
	} {
		i := newIssuer(t)
		i.status, i.answer = x.status, x.answer
		auth := i.auth()
		if x.secret != "" {
			auth["oauth2"].(m)["client_secret"] = x.secret
		}
		e, _ := fails(t, caller(t, httpcall.Options{}), m{"url": p.URL, "auth": auth})
		require.Equal(t, x.code, e.Code, "%+v: %v", x, e)
		require.Equal(t, x.retryable, e.Retryable, "%+v", x)
		require.Contains(t, e.Message, i.URL+"/token")
		require.NotContains(t, e.Message, "s3cret")
	}
	auth := m{"oauth2": m{"token_url": "http://127.0.0.1:1/", "client_id": "shop", "client_secret": "x"}}
	e, _ := fails(t, caller(t, httpcall.Options{}), m{"url": p.URL, "auth": auth})
	require.Equal(t, httpcall.CodeConnect, e.Code)
	require.Contains(t, e.Message, "http://127.0.0.1:1/", "the address that does not answer")
	require.NotContains(t, e.Message, p.URL)
	auth["oauth2"].(m)["token_url"] = "http://10.0.0.1/"
	e, _ = fails(t, caller(t, httpcall.Options{}), m{"url": p.URL, "auth": auth})
	require.Equal(t, "egress.forbidden", e.Code)
	require.Empty(t, p.asked())
}

// verify checks a signature as AWS describes it: "Create a signed AWS API request", from what came over the wire.
func verify(r seen, secretKey string) error {
	var scope, signed, signature string
	for _, field := range strings.Split(strings.TrimPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 "), ", ") {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "Credential":
			_, scope, _ = strings.Cut(value, "/")
		case "SignedHeaders":
			signed = value
		case "Signature":
			signature = value
		}
	}
	parts := strings.Split(scope, "/")
	if len(parts) != 4 {
		return fmt.Errorf("no scope in %q", r.Header.Get("Authorization"))
	}
	sum := func(b []byte) string { h := sha256.Sum256(b); return hex.EncodeToString(h[:]) }
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	query := strings.Split(r.URL.RawQuery, "&")
	slices.Sort(query)
	path := r.URL.EscapedPath()
	if parts[2] != "s3" {
		path = strings.ReplaceAll(path, "%", "%25")
	}
	canonical := r.Method + "\n" + path + "\n" + strings.ReplaceAll(strings.Join(query, "&"), "+", "%20") + "\n"
	for _, name := range strings.Split(signed, ";") {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = fmt.Sprint(r.ContentLength)
		}
		canonical += name + ":" + strings.TrimSpace(value) + "\n"
	}
	canonical += "\n" + signed + "\n" + sum(r.body)
	key := mac(mac(mac(mac([]byte("AWS4"+secretKey), parts[0]), parts[1]), parts[2]), parts[3])
	want := hex.EncodeToString(mac(key, "AWS4-HMAC-SHA256\n"+r.Header.Get("X-Amz-Date")+"\n"+scope+"\n"+sum([]byte(canonical))))
	if want != signature {
		return fmt.Errorf("the signature is %s, not %s, of:\n%s", signature, want, canonical)
	}
	return nil
}

func TestSigV4(t *testing.T) {
	p := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			to("/second path?b=2", http.StatusTemporaryRedirect)(w, r)
			return
		}
		fine(w, r)
	})
	c := caller(t, httpcall.Options{})
	for _, service := range []string{"execute-api", "s3"} {
		keys := m{"service": service, "region": "eu-north-1", "access_key": "AKID", "secret_key": "SECRET", "session_token": "SESSION"}
		call(t, c, m{"url": p.URL + "/first", "method": "PUT", "query": m{"z": "1 2", "a": "ä/"}, "headers": m{"X-Thing": "  a  b "}, "body": m{"n": 1}, "auth": m{"sigv4": keys}})
		sent := p.asked()
		require.Len(t, sent, 2, "a redirect at the same place is signed anew")
		for _, r := range sent {
			require.Contains(t, r.Header.Get("Authorization"), "Credential=AKID/")
			require.Contains(t, r.Header.Get("Authorization"), "/eu-north-1/"+service+"/aws4_request")
			require.Equal(t, "SESSION", r.Header.Get("X-Amz-Security-Token"))
			r.Header.Set("X-Thing", "a b") // runs of blanks count once
			require.NoError(t, verify(r, "SECRET"))
			require.Error(t, verify(r, "OTHER"))
			at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
			require.NoError(t, err)
			require.WithinDuration(t, time.Now(), at, 5*time.Minute)
		}
	}
	for word, value := range map[string]string{"service": "", "region": "a\nb", "access_key": "", "secret_key": "", "session_token": "\r"} {
		keys := m{"service": "s3", "region": "r", "access_key": "a", "secret_key": "s"}
		keys[word] = value
		e, _ := fails(t, c, m{"url": p.URL, "auth": m{"sigv4": keys}})
		require.Equal(t, activity.CodeInput, e.Code, word)
		require.Equal(t, workflow.CategoryActivity, e.Category)
	}
}
