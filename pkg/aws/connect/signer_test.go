package connect_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/aws/connect"
	"github.com/wovyr/wovyr/pkg/client"
)

// roundTrip is a transport of one function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answers(status int, header http.Header, body string) *http.Response {
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), Header: header, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
}

// vectors are those of the Signature Version 4 Test Suite that AWS published: its example keys, 30 August 2015 12:36 UTC, us-east-1, service
// "service". Those of paths that no HTTP client sends as they stand are left out.
var vectors = []struct {
	name, method, target, token string
	header                      [][2]string
	signed, signature           string
}{
	{"get-vanilla", "GET", "/", "", nil, "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
	{"get-vanilla-empty-query-key", "GET", "/?Param1=value1", "", nil, "host;x-amz-date", "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
	{"get-vanilla-query-order-key-case", "GET", "/?Param2=value2&Param1=value1", "", nil, "host;x-amz-date", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
	{"get-vanilla-query-unreserved", "GET", "/?-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "", nil, "host;x-amz-date", "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
	{"get-vanilla-utf8-query", "GET", "/?ሴ=bar", "", nil, "host;x-amz-date", "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
	{"get-unreserved", "GET", "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "", nil, "host;x-amz-date", "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
	{"get-header-key-duplicate", "GET", "/", "", [][2]string{{"My-Header1", "value2"}, {"My-Header1", "value2"}, {"My-Header1", "value1"}}, "host;my-header1;x-amz-date", "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
	{"get-header-value-order", "GET", "/", "", [][2]string{{"My-Header1", "value4"}, {"My-Header1", "value1"}, {"My-Header1", "value3"}, {"My-Header1", "value2"}}, "host;my-header1;x-amz-date", "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"},
	{"get-header-value-trim", "GET", "/", "", [][2]string{{"My-Header1", " value1"}, {"My-Header2", ` "a   b   c"`}}, "host;my-header1;my-header2;x-amz-date", "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
	{"post-vanilla", "POST", "/", "", nil, "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
	{"post-vanilla-query", "POST", "/?Param1=value1", "", nil, "host;x-amz-date", "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"},
	{"post-header-value-case", "POST", "/", "", [][2]string{{"My-Header1", "VALUE1"}}, "host;my-header1;x-amz-date", "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"},
	{"post-sts-header-before", "POST", "/", "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==", nil, "host;x-amz-date;x-amz-security-token", "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"},
}

func TestSignerAgreesWithPublishedVectors(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			var got string
			s := &connect.Signer{
				Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", v.token), Region: "us-east-1", Service: "service",
				Now: func() time.Time { return time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC) },
				Next: roundTrip(func(r *http.Request) (*http.Response, error) {
					got = r.Header.Get("Authorization")
					return answers(200, nil, ""), nil
				}),
			}
			r, err := http.NewRequestWithContext(t.Context(), v.method, "https://example.amazonaws.com"+v.target, nil)
			require.NoError(t, err)
			for _, h := range v.header {
				r.Header.Add(h[0], h[1])
			}
			_, err = s.RoundTrip(r)
			require.NoError(t, err)
			require.Equal(t, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders="+v.signed+", Signature="+v.signature, got)
			require.Empty(t, r.Header.Get("Authorization"), "the request of the caller stays as it is")
		})
	}
}

// verify recomputes the signature of a request as it arrived, from the text of AWS's specification and with nothing of the SDK.
func verify(r *http.Request, secret string) error {
	text := r.Header.Get("Authorization")
	fields := map[string]string{}
	for part := range strings.SplitSeq(strings.TrimPrefix(text, "AWS4-HMAC-SHA256 "), ", ") {
		name, value, _ := strings.Cut(part, "=")
		fields[name] = value
	}
	scope := strings.Split(fields["Credential"], "/")
	if !strings.HasPrefix(text, "AWS4-HMAC-SHA256 ") || len(scope) != 5 {
		return fmt.Errorf("no signature: %q", text)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	raw, rawQuery, _ := strings.Cut(r.RequestURI, "?") // as it came over the wire
	var query []string
	for pair := range strings.SplitSeq(rawQuery, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, _ = url.QueryUnescape(name)
		value, _ = url.QueryUnescape(value)
		query = append(query, escaped(name, "")+"="+escaped(value, ""))
	}
	slices.Sort(query)
	var headers strings.Builder
	for name := range strings.SplitSeq(fields["SignedHeaders"], ";") {
		values := r.Header.Values(name)
		switch name {
		case "host":
			values = []string{r.Host}
		case "content-length":
			values = []string{fmt.Sprint(r.ContentLength)}
		}
		headers.WriteString(name + ":" + strings.Join(values, ",") + "\n")
	}
	canonical := strings.Join([]string{r.Method, escaped(raw, "/"), strings.Join(query, "&"), headers.String(), fields["SignedHeaders"], hexOf(body)}, "\n")
	toSign := strings.Join([]string{"AWS4-HMAC-SHA256", r.Header.Get("X-Amz-Date"), strings.Join(scope[1:], "/"), hexOf([]byte(canonical))}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range append(scope[1:], toSign) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	if want := hex.EncodeToString(key); fields["Signature"] != want {
		return fmt.Errorf("the signature is %s, and should be %s for\n%s", fields["Signature"], want, canonical)
	}
	return nil
}

// escaped escapes all but the unreserved characters of RFC 3986 and those given.
func escaped(text, keep string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~"+keep, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

func hexOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// verifying is a server that takes requests only if their signature is right, and remembers what was wrong.
func verifying(t *testing.T, secret string) (address string, wrong func() error) {
	var mu sync.Mutex
	var last error
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := verify(r, secret)
		mu.Lock()
		last = err
		mu.Unlock()
		if err != nil {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(s.Close)
	return s.URL, func() error {
		mu.Lock()
		defer mu.Unlock()
		return last
	}
}

// TestSignerIsUnderstoodByAnIndependentServer signs what the client sends, with names and data that need care.
func TestSignerIsUnderstoodByAnIndependentServer(t *testing.T) {
	address, wrong := verifying(t, "secret/+key")
	c := &client.Client{Server: address, HTTP: &http.Client{Transport: &connect.Signer{Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret/+key", "token=="), Region: "eu-north-1"}}}
	ctx := t.Context()
	name := rapid.StringMatching(`[ -~äß€/?#%+&=;:@$!*'(),]{1,30}`)
	rapid.Check(t, func(rt *rapid.T) {
		id, step, text := name.Draw(rt, "id"), name.Draw(rt, "step"), name.Draw(rt, "text")
		_, _ = c.Get(ctx, id)
		require.NoError(rt, wrong())
		_, _ = c.List(ctx, url.Values{"label": {text + "=" + id}, "workflow": {step}, "limit": {"5"}})
		require.NoError(rt, wrong())
		_ = c.Decide(ctx, id, step, client.Decision{Verdict: "approve", Comment: text})
		require.NoError(rt, wrong())
		_, _ = c.Deploy(ctx, text, []byte(text))
		require.NoError(rt, wrong())
	})

	t.Run("a change on the way is found", func(t *testing.T) {
		changed := &connect.Signer{Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret/+key", ""), Region: "eu-north-1",
			Next: roundTrip(func(r *http.Request) (*http.Response, error) {
				r.Body = io.NopCloser(strings.NewReader(`{"workflow":"other"}`))
				r.ContentLength = int64(len(`{"workflow":"other"}`))
				return http.DefaultTransport.RoundTrip(r)
			})}
		c := &client.Client{Server: address, HTTP: &http.Client{Transport: changed}}
		_, err := c.Start(ctx, client.StartRequest{Workflow: "order"})
		require.Error(t, err)
		require.ErrorContains(t, wrong(), "should be")
	})
}

// TestSignerRefuses lists what is not sent, and how a client says so.
func TestSignerRefuses(t *testing.T) {
	fine := credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "")
	none := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, errors.New("the session is over")
	})
	for name, c := range map[string]struct {
		signer *connect.Signer
		body   io.Reader
		says   string
	}{
		"no credentials":         {&connect.Signer{Region: "r"}, nil, "aws sso login"},
		"credentials that ended": {&connect.Signer{Region: "r", Credentials: none}, nil, "the session is over"},
		"a body too large":       {&connect.Signer{Region: "r", Credentials: fine}, bytes.NewReader(make([]byte, 10<<20+1)), "10 MB"},
		"a body that breaks off": {&connect.Signer{Region: "r", Credentials: fine}, io.MultiReader(strings.NewReader("{"), broken{}), "cut"},
	} {
		t.Run(name, func(t *testing.T) {
			c.signer.Next = roundTrip(func(*http.Request) (*http.Response, error) { t.Error("it was sent"); return nil, errors.New("sent") })
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.example/v1/executions", c.body)
			require.NoError(t, err)
			_, err = c.signer.RoundTrip(r)
			require.ErrorIs(t, err, client.ErrNotSent)
			require.ErrorContains(t, err, c.says)
		})
	}
	_, err := (&client.Client{Server: "https://api.example", HTTP: &http.Client{Transport: &connect.Signer{Credentials: none}}}).Get(t.Context(), "x")
	require.ErrorIs(t, err, client.ErrNotSent)
	require.NotErrorIs(t, err, client.ErrUnreachable, "a request that was not sent says nothing about the server")
	require.ErrorAs(t, err, new(*connect.CredentialsError))
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the line is cut") }
