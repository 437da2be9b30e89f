package httpcall

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/egress"
)

// block is what a step says under `http`, expressions filled in (docs/language.md, `http`).
type block struct {
	Method         string                     `json:"method"`
	URL            string                     `json:"url"`
	Query          map[string]json.RawMessage `json:"query"`
	Headers        map[string]json.RawMessage `json:"headers"`
	Body           json.RawMessage            `json:"body"`
	Form           map[string]json.RawMessage `json:"form"`
	Multipart      map[string]json.RawMessage `json:"multipart"`
	Bytes          *string                    `json:"bytes"`
	Success        []json.RawMessage          `json:"success"`
	Response       string                     `json:"response"`
	IdempotencyKey *string                    `json:"idempotency_key"`
	Redirects      *int                       `json:"redirects"`
	Auth           *auth                      `json:"auth"`
	TLS            *egress.TLS                `json:"tls"`

	url *url.URL
}

// defaultKeyHeader carries the idempotency key where a step names no other header.
const defaultKeyHeader = "Idempotency-Key"

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// wrong is the error for a block that can never work.
func wrong(format string, args ...any) error {
	return activity.NewError(activity.CodeInput, format, args...)
}

// parse reads the block of a task and checks what no expression should have come to.
func parse(ctx context.Context, t *activity.Task) (*block, error) {
	b := &block{Method: http.MethodGet}
	if err := t.Target.Decode(ctx, b); err != nil {
		return nil, err
	}
	if !slices.Contains(methods, b.Method) {
		return nil, wrong("method: %q is none of %s", b.Method, strings.Join(methods, ", "))
	}
	u, err := activity.ParseURL(b.URL)
	if err != nil {
		return nil, err
	}
	b.url = u
	if n := b.redirects(); n < 0 || n > MaxRedirects {
		return nil, wrong("redirects: %d is not from 0 to %d", n, MaxRedirects)
	}
	for _, s := range b.Success {
		if _, _, err := statusRange(s); err != nil {
			return nil, err
		}
	}
	if !slices.Contains([]string{"", readAuto, readJSON, readText, readBytes}, b.Response) {
		return nil, wrong("response: %q is none of auto, json, text, bytes", b.Response)
	}
	return b, b.Auth.check()
}

func (b *block) redirects() int {
	if b.Redirects == nil {
		return DefaultRedirects
	}
	return *b.Redirects
}

// where names the call in errors: without the query, which may hold what is nobody else's business.
func (b *block) where() string {
	return b.Method + " " + b.url.Scheme + "://" + b.url.Host + b.url.EscapedPath()
}

// succeeds reports whether a status counts as success.
func (b *block) succeeds(status int) bool {
	if len(b.Success) == 0 {
		return status/100 == 2
	}
	return slices.ContainsFunc(b.Success, func(s json.RawMessage) bool {
		first, last, err := statusRange(s)
		return err == nil && first <= status && status <= last
	})
}

// statusRange reads 404, "404" or "4xx".
func statusRange(text json.RawMessage) (first, last int, err error) {
	word := strings.Trim(string(text), `"`)
	if class, ok := strings.CutSuffix(word, "xx"); ok && len(class) == 1 && class[0] >= '1' && class[0] <= '5' {
		first = int(class[0]-'0') * 100
		return first, first + 99, nil
	}
	if n, err := strconv.Atoi(word); err == nil && n >= 100 && n <= 599 {
		return n, n, nil
	}
	return 0, 0, wrong("success: %.40s is no status: write a code such as 404, or a class such as 2xx", text)
}

// request builds the request of one try.
func (b *block) request(ctx context.Context, t *activity.Task) (*http.Request, error) {
	u := *b.url
	query, err := values("query", b.Query)
	if err != nil {
		return nil, err
	}
	if more := query.Encode(); more != "" {
		u.RawQuery = strings.TrimPrefix(strings.TrimSuffix(u.RawQuery, "&")+"&"+more, "&")
	}
	c, err := b.content()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, b.Method, u.String(), c.reader())
	if err != nil {
		return nil, wrong("url: it is no address: write https://host/path, and put values with odd characters into query")
	}
	if err := b.addHeaders(req.Header, c); err != nil {
		return nil, err
	}
	return req, b.addKey(req.Header, t.IdempotencyKey)
}

// refusedHeaders are decided by the connection or by another word of the block.
var refusedHeaders = map[string]string{
	"Host":              "the host stands in url",
	"Content-Length":    "it is computed",
	"Transfer-Encoding": "it is the connection's",
	"Connection":        "it is the connection's",
	"Keep-Alive":        "it is the connection's",
	"Upgrade":           "it is the connection's",
	"Te":                "it is the connection's",
	"Trailer":           "it is the connection's",
	"Expect":            "it is the connection's",
}

func (b *block) addHeaders(h http.Header, c content) error {
	names := make(map[string]bool, len(b.Headers))
	for _, name := range sortedKeys(b.Headers) {
		value, there, err := scalarText("headers: "+quoted(name), b.Headers[name])
		if err != nil {
			return err
		}
		key := http.CanonicalHeaderKey(name)
		why, refused := refusedHeaders[key]
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return wrong("headers: %s is no name of a header", quoted(name))
		case refused:
			return wrong("headers: %s: %s, so leave it out", name, why)
		case strings.HasPrefix(key, "Proxy-"):
			return wrong("headers: %s is for proxies, and none is used", name)
		case names[key]:
			return wrong("headers: %s stands there twice", key)
		case !httpguts.ValidHeaderFieldValue(value):
			return wrong("headers: the value of %s has a line break or another control character", name)
		case key == "Authorization" && b.Auth != nil:
			return wrong("headers: Authorization: auth makes it, so leave one of the two out")
		case key == "Content-Type" && b.Multipart != nil:
			return wrong("headers: Content-Type: multipart makes it, so leave it out")
		}
		if names[key] = true; there {
			h.Set(key, value)
		}
	}
	defaultHeader(h, "User-Agent", "Wovyr")
	if b.Response == "" || b.Response == readAuto || b.Response == readJSON {
		defaultHeader(h, "Accept", "application/json, */*;q=0.8")
	}
	if c.kind != "" {
		defaultHeader(h, "Content-Type", c.kind)
	}
	return nil
}

// addKey passes the idempotency key on: in the header that the step names, or in the usual one where a repetition could do harm.
func (b *block) addKey(h http.Header, key string) error {
	name := defaultKeyHeader
	switch {
	case b.IdempotencyKey != nil:
		name = *b.IdempotencyKey
	case b.Method != http.MethodPost && b.Method != http.MethodPatch:
		return nil
	}
	if _, refused := refusedHeaders[http.CanonicalHeaderKey(name)]; refused || !httpguts.ValidHeaderFieldName(name) {
		return wrong("idempotency_key: %s is no header that can carry it: write a name such as %s", quoted(name), defaultKeyHeader)
	}
	defaultHeader(h, name, plainASCII(key))
	return nil
}

// plainASCII makes a key fit for any header: the names of steps in it are the user's.
func plainASCII(key string) string {
	if httpguts.ValidHeaderFieldValue(key) && strings.IndexFunc(key, func(r rune) bool { return r > 0x7e }) < 0 {
		return key
	}
	return url.PathEscape(key)
}

func defaultHeader(h http.Header, name, value string) {
	if _, there := h[http.CanonicalHeaderKey(name)]; !there {
		h.Set(name, value)
	}
}
