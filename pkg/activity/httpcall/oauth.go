package httpcall

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/egress"
	"github.com/wovyr/wovyr/pkg/secret"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// oauth gets a token by the client credentials of OAuth 2 (RFC 6749, section 4.4).
type oauth struct {
	TokenURL     string                     `json:"token_url"`
	ClientID     string                     `json:"client_id"`
	ClientSecret string                     `json:"client_secret"`
	Scopes       []string                   `json:"scopes"`
	Params       map[string]json.RawMessage `json:"params"`
}

func (o *oauth) check() error {
	if o.ClientID == "" {
		return wrong("auth: oauth2: client_id is missing")
	}
	_, err := activity.ParseURL(o.TokenURL)
	return err
}

// maxTokens is how many tokens a worker keeps.
const maxTokens = 1024

// tokens are those that calls share until they expire or are refused.
type tokens struct {
	mu sync.Mutex
	by *lru.Cache[[sha256.Size]byte, *source]
}

// source gets the tokens of one client, one after the other.
type source struct {
	config clientcredentials.Config
	turn   chan struct{} // who holds its one element may look at the rest
	token  *oauth2.Token
	mask   *secret.Mask
}

func newTokens() *tokens {
	by, err := lru.New[[sha256.Size]byte, *source](maxTokens)
	if err != nil {
		panic(err) // the size is constant
	}
	return &tokens{by: by}
}

// of returns the source for what a step says; tenants share none.
func (ts *tokens) of(tenant string, b *block) (*source, error) {
	params, err := values("auth: oauth2: params", b.Auth.OAuth2.Params)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal([]any{tenant, b.Auth.OAuth2, b.TLS})
	if err != nil {
		return nil, wrong("auth: oauth2: %v", err)
	}
	key := sha256.Sum256(text)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if s, ok := ts.by.Get(key); ok {
		return s, nil
	}
	o := b.Auth.OAuth2
	s := &source{turn: make(chan struct{}, 1), config: clientcredentials.Config{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, TokenURL: o.TokenURL, Scopes: o.Scopes, EndpointParams: params,
	}}
	ts.by.Add(key, s)
	return s, nil
}

// take waits for the turn, which is given back by <-s.turn.
func (s *source) take(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// token gives the credentials of a step with oauth2, from the cache or from the server of tokens.
func (c *Caller) token(ctx context.Context, t *activity.Task, b *block) (credentials, error) {
	s, err := c.tokens.of(t.Tenant, b)
	if err != nil {
		return credentials{}, err
	}
	var there *egress.TLS
	if b.TLS != nil {
		there = &egress.TLS{CA: b.TLS.CA, Cert: b.TLS.Cert, Key: b.TLS.Key, MinVersion: b.TLS.MinVersion} // server_name is that of the API
	}
	transport, err := c.transport(there)
	if err != nil {
		return credentials{}, err
	}
	if err := s.take(ctx); err != nil {
		return credentials{}, err
	}
	defer func() { <-s.turn }()
	if !s.token.Valid() {
		client := &http.Client{
			Transport:     &hop{next: transport, breakers: c.breakers, tenant: t.Tenant},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		if s.token, err = s.config.Token(context.WithValue(ctx, oauth2.HTTPClient, client)); err != nil {
			s.token = nil
			return credentials{}, tokenError(s.config.TokenURL, err)
		}
		s.mask = secret.NewMask(secret.Value{Name: "oauth2 token", Text: s.token.AccessToken})
	}
	token, mask := s.token, s.mask
	return credentials{
		mask: mask,
		authorize: func(r *http.Request) error {
			token.SetAuthHeader(r)
			return nil
		},
		forget: func(ctx context.Context) {
			if s.take(ctx) != nil {
				return // the try that comes next ends with the context too
			}
			if s.token == token {
				s.token = nil
			}
			<-s.turn
		},
	}, nil
}

// unreached is that the server of tokens gave no answer: an error is to name its address, not that of the API.
type unreached struct {
	at string
	error
}

// Unwrap gives the failure of the connection.
func (e *unreached) Unwrap() error { return e.error }

// tokenError says why there is no token. What the server wrote may hold what it was sent, so only its code is shown.
func tokenError(at string, err error) error {
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, new(*url.Error)):
		return &unreached{at: hostOf(at), error: err}
	case !errors.As(err, &refused) || refused.Response == nil:
		return workflow.Errorf(CodeOAuth2, workflow.CategoryExternal, "%s gives no token: its answer is not one of OAuth 2", hostOf(at))
	}
	status := refused.Response.StatusCode
	e := workflow.Errorf(CodeOAuth2, workflow.CategoryActivity, "%s gives no token: it answered %s %s", hostOf(at), refused.Response.Status, refused.ErrorCode)
	if category, retryable := activity.StatusKind(status); status/100 != 2 {
		e.Category, e.Retryable = category, retryable
	}
	return activity.Later(e, activity.RetryAfter(refused.Response.Header))
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the server of tokens"
	}
	return u.Scheme + "://" + u.Host + u.EscapedPath()
}
