package aws

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Ask hands an input to an execution: when it returns nil, the input is safe in the inbox (commit protocol, point 5).
func (p *Platform) Ask(ctx context.Context, s eventstore.Stream, in workflow.Input) error {
	return p.inbox.Send(ctx, worker.Message{ID: p.Worker.Entropy.ID(), Stream: s, Input: in})
}

// Tokens returns the tokens of this deployment, whose key is read when it is needed first.
func (p *Platform) Tokens(ctx context.Context) (worker.Tokens, error) { return p.tokens.get(ctx) }

// Caller is who sent a request, as API Gateway has made sure.
type Caller struct {
	// Tenant is whose executions the caller sees.
	Tenant string
	// Principal is who it is: the ARN of an IAM user or of a role's session, or the subject of a token. It is empty on routes that anybody may
	// call, whose requests prove themselves.
	Principal string
}

// HTTP makes a Lambda handler of an HTTP handler, behind an HTTP API (payload format 2.0) or a REST API: whichever the event is of. handler is
// called for each request with its caller.
func (p *Platform) HTTP(handler func(Caller) http.Handler) func(ctx context.Context, event json.RawMessage) (any, error) {
	return func(ctx context.Context, event json.RawMessage) (any, error) {
		var form struct {
			Version string `json:"version"`
		}
		if err := json.Unmarshal(event, &form); err != nil {
			return nil, fmt.Errorf("aws: the api function got an event that is none: %w", err)
		}
		if form.Version == "2.0" {
			return p.httpAPI(ctx, event, handler)
		}
		return p.restAPI(ctx, event, handler)
	}
}

func (p *Platform) httpAPI(ctx context.Context, event json.RawMessage, handler func(Caller) http.Handler) (any, error) {
	var e events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(event, &e); err != nil {
		return nil, fmt.Errorf("aws: the api function got a request that is none: %w", err)
	}
	path := e.RawPath
	if stage := e.RequestContext.Stage; stage != "" && stage != "$default" {
		path = strings.TrimPrefix(path, "/"+stage)
	}
	header := http.Header{}
	for name, value := range e.Headers { // order-free: a map again
		header.Set(name, value)
	}
	var claims map[string]string
	var principal string
	switch a := e.RequestContext.Authorizer; {
	case a == nil:
	case a.JWT != nil:
		claims, principal = a.JWT.Claims, a.JWT.Claims["sub"]
	case a.IAM != nil:
		principal = a.IAM.UserARN
	}
	tenant, path, ok := p.tenant(path, claims)
	if !ok {
		return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusForbidden, Headers: problemHeader, Body: noTenant}, nil
	}
	r, err := request(ctx, e.RequestContext.HTTP.Method, path, e.RawQueryString, header, e.Body, e.IsBase64Encoded)
	if err != nil {
		return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusBadRequest, Body: err.Error()}, nil
	}
	w := serve(handler(Caller{Tenant: tenant, Principal: principal}), r)
	body, encoded := bodyOf(w)
	return events.APIGatewayV2HTTPResponse{StatusCode: w.status, Headers: plainHeader(w.Header()), Body: body, IsBase64Encoded: encoded}, nil
}

func (p *Platform) restAPI(ctx context.Context, event json.RawMessage, handler func(Caller) http.Handler) (any, error) {
	var e events.APIGatewayProxyRequest
	if err := json.Unmarshal(event, &e); err != nil {
		return nil, fmt.Errorf("aws: the api function got a request that is none: %w", err)
	}
	header := http.Header{}
	for name, value := range e.Headers { // order-free: a map again
		header.Set(name, value)
	}
	for name, values := range e.MultiValueHeaders { // order-free: a map again
		header[http.CanonicalHeaderKey(name)] = values
	}
	query := url.Values(e.MultiValueQueryStringParameters).Encode()
	tenant, path, ok := p.tenant(e.Path, nil)
	if !ok {
		return events.APIGatewayProxyResponse{StatusCode: http.StatusForbidden, Headers: problemHeader, Body: noTenant}, nil
	}
	r, err := request(ctx, e.HTTPMethod, path, query, header, e.Body, e.IsBase64Encoded)
	if err != nil {
		return events.APIGatewayProxyResponse{StatusCode: http.StatusBadRequest, Body: err.Error()}, nil
	}
	w := serve(handler(Caller{Tenant: tenant, Principal: e.RequestContext.Identity.UserArn}), r)
	body, encoded := bodyOf(w)
	return events.APIGatewayProxyResponse{StatusCode: w.status, Headers: plainHeader(w.Header()), Body: body, IsBase64Encoded: encoded}, nil
}

// noTenant is the answer to a caller whose token names no tenant although tenants are told apart by it.
const noTenant = `{"status":403,"code":"tenant","title":"your token names no tenant"}`

var problemHeader = map[string]string{"Content-Type": "application/problem+json"}

// MaxAnswer is the most bytes of an answer's body as it stands in the answer of the function, which is JSON and may have 6 MB: the rest of it is
// status and headers.
const MaxAnswer = 6_000_000

// Where the paths begin of requests that nobody has let in, for they prove themselves.
const (
	// callbacks: the token says which execution, of which tenant, is answered.
	callbacks = "/v1/callbacks/"
	// hooks: where tenants are told apart, the tenant comes next, and then the path that the workflow's trigger has behind /hooks.
	hooks = "/hooks/"
)

// tenant is whose the caller is, and the path of his request as the API knows it.
func (p *Platform) tenant(path string, claims map[string]string) (tenant, plain string, ok bool) {
	if p.config.TenantClaim == "" || strings.HasPrefix(path, callbacks) {
		return p.config.Tenant, path, true
	}
	if rest, hook := strings.CutPrefix(path, hooks); hook {
		tenant, rest, ok = strings.Cut(rest, "/")
		if name, err := url.PathUnescape(tenant); err == nil {
			tenant = name
		}
		return tenant, hooks + rest, ok && tenant != ""
	}
	tenant = claims[p.config.TenantClaim]
	return tenant, path, tenant != ""
}

func request(ctx context.Context, method, path, query string, header http.Header, body string, encoded bool) (*http.Request, error) {
	text := []byte(body)
	if encoded {
		var err error
		if text, err = base64.StdEncoding.DecodeString(body); err != nil {
			return nil, fmt.Errorf("the body is not base64: %w", err)
		}
	}
	u := &url.URL{Path: "/", RawQuery: query}
	// REST APIs send the path as it came, HTTP APIs with its escapes undone: then what is no escape is what it looks like.
	u.Path, u.RawPath = path, ""
	if plain, err := url.PathUnescape(path); err == nil {
		u.Path, u.RawPath = plain, path
	}
	r, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("the request: %w", err)
	}
	r.Header, r.Host, r.RequestURI = header, header.Get("Host"), u.RequestURI()
	return r, nil
}

// serve lets a handler answer into memory: API Gateway takes an answer as a whole.
func serve(h http.Handler, r *http.Request) *recorder {
	w := &recorder{status: http.StatusOK, header: http.Header{}}
	h.ServeHTTP(w, r)
	return w
}

// recorder keeps an answer.
type recorder struct {
	status int
	header http.Header
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) { r.status = status }

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

func bodyOf(w *recorder) (string, bool) {
	if b := w.body.Bytes(); !utf8.Valid(b) {
		return base64.StdEncoding.EncodeToString(b), true
	}
	return w.body.String(), false
}

func plainHeader(h http.Header) map[string]string {
	out := map[string]string{}
	for name := range h { // order-free: a map again
		out[name] = strings.Join(h.Values(name), ", ")
	}
	return out
}
