package httpcall

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/egress"
	"github.com/wovyr/wovyr/pkg/secret"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Limits of calls.
const (
	// DefaultRedirects is how many redirects are followed where a step does not say, MaxRedirects the most that it can say.
	DefaultRedirects = 10
	MaxRedirects     = 20
	// MaxSilence is how long nothing may come from the other side of a call without a timeout.
	MaxSilence = 5 * time.Minute

	maxHeaderBytes = 256 << 10 // of an answer
	maxErrorBody   = 64 << 10  // bytes read of an answer that is no success
	maxInMemory    = 1 << 20   // bytes of an answer in memory; a longer one is streamed
	maxTransports  = 64        // sets of TLS options whose connections are kept
)

// Options are the choices of a Caller.
type Options struct {
	// Guard says which addresses may be called; nil: public ones only.
	Guard *egress.Guard
	// Breaker says when a destination is left alone for a while; the zero value is DefaultBreaker.
	Breaker Breaker
}

// Caller calls REST APIs. It is safe for concurrent use.
type Caller struct {
	guard    *egress.Guard
	plain    *http.Transport
	withTLS  *lru.Cache[[sha256.Size]byte, *http.Transport]
	breakers *breakers
	tokens   *tokens
	// dial connects in the guard's place, in tests.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// New returns a caller that has no connections yet.
func New(o Options) *Caller {
	if o.Breaker == (Breaker{}) {
		o.Breaker = DefaultBreaker()
	}
	withTLS, err := lru.NewWithEvict(maxTransports, func(_ [sha256.Size]byte, t *http.Transport) { t.CloseIdleConnections() })
	if err != nil {
		panic(err) // the size is constant
	}
	c := &Caller{guard: o.Guard, withTLS: withTLS, breakers: newBreakers(o.Breaker), tokens: newTokens()}
	c.plain = c.newTransport()
	return c
}

// Kind is what a registry takes.
func (c *Caller) Kind() activity.Kind {
	return activity.Kind{Name: workflow.KindHTTP, Target: targetSchema, Output: outputSchema, Activity: c}
}

// CloseIdleConnections closes the connections that are kept for later calls.
func (c *Caller) CloseIdleConnections() {
	c.plain.CloseIdleConnections()
	for _, t := range c.withTLS.Values() {
		t.CloseIdleConnections()
	}
}

func (c *Caller) newTransport() *http.Transport {
	t := c.guard.Transport()
	t.MaxResponseHeaderBytes = maxHeaderBytes
	if c.dial != nil {
		t.DialContext = c.dial
	}
	return t
}

// transport returns the one for a set of TLS options, so that connections are used again, and never under another certificate.
func (c *Caller) transport(o *egress.TLS) (*http.Transport, error) {
	if o == nil || *o == (egress.TLS{}) {
		return c.plain, nil
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, activity.NewError(activity.CodeInput, "tls: %v", err)
	}
	key := sha256.Sum256(text)
	if t, ok := c.withTLS.Get(key); ok {
		return t, nil
	}
	config, err := o.Config()
	if err != nil {
		return nil, err
	}
	t := c.newTransport()
	t.TLSClientConfig = config
	if there, ok, _ := c.withTLS.PeekOrAdd(key, t); ok {
		return there, nil
	}
	return t, nil
}

// Run implements activity.Activity.
func (c *Caller) Run(ctx context.Context, t *activity.Task) (activity.Result, error) {
	b, err := parse(ctx, t)
	if err != nil {
		return activity.Result{}, err
	}
	watched, quiet := watchSilence(ctx)
	res, cred, err := c.send(watched, t, b)
	if err != nil {
		quiet.stop()
		return activity.Result{}, cred.maskError(failure(ctx, watched, b, err))
	}
	res.Body = &body{ReadCloser: res.Body, quiet: quiet, fail: func(err error) error { return failure(ctx, watched, b, err) }}
	out, err := answer(b, res, func(text string) string {
		if t.Mask != nil {
			text = t.Mask().String(text)
		}
		return cred.mask.String(text)
	})
	if err != nil || out.Stream == nil {
		_ = res.Body.Close() // what was wanted of it has been read
	}
	if err != nil {
		return activity.Result{}, cred.maskError(err)
	}
	return cred.maskResult(out), nil
}

// answer is the output for an answer that counts as a success, or the error. Errors cut texts, and half a secret is none that a mask knows,
// so safe is to mask them before.
func answer(b *block, res *http.Response, safe func(string) string) (activity.Result, error) {
	if !b.succeeds(res.StatusCode) {
		return activity.Result{}, refused(b, res, safe)
	}
	return output(b, res, safe)
}

// send makes the request, with a fresh token if the one that was kept is refused.
func (c *Caller) send(ctx context.Context, t *activity.Task, b *block) (*http.Response, credentials, error) {
	transport, err := c.transport(b.TLS)
	if err != nil {
		return nil, credentials{}, err
	}
	for try := 1; ; try++ {
		cred, err := c.credentials(ctx, t, b)
		if err != nil {
			return nil, credentials{}, err
		}
		req, err := b.request(ctx, t)
		if err != nil {
			return nil, cred, err
		}
		client := &http.Client{
			Transport:     &hop{next: transport, breakers: c.breakers, tenant: t.Tenant, home: req.URL, authorize: cred.authorize},
			CheckRedirect: b.redirect,
		}
		res, err := client.Do(req)
		if err != nil || res.StatusCode != http.StatusUnauthorized || cred.forget == nil || try > 1 {
			return res, cred, err
		}
		cred.forget(ctx)
		_, _ = io.CopyN(io.Discard, res.Body, maxErrorBody) // so that the connection can be used again
		_ = res.Body.Close()
	}
}

// credentials are what one try of a call proves itself with.
type credentials struct {
	// authorize adds them to a request to the origin that the step names; nil: there are none.
	authorize func(*http.Request) error
	// forget lets the next try have fresh ones, unless the context ends first; nil: there are no fresher ones.
	forget func(context.Context)
	mask   *secret.Mask
}

// maskError and maskResult keep what the worker does not know as a secret, a token, out of what is left behind.
func (c credentials) maskError(err error) error {
	typed := (*activity.Error)(nil)
	if c.mask == nil || !errors.As(err, &typed) {
		return err
	}
	safe := c.mask.Error(typed)
	if later := (*activity.RetryAfterError)(nil); errors.As(err, &later) {
		return &activity.RetryAfterError{Err: safe, After: later.After}
	}
	return safe
}

func (c credentials) maskResult(res activity.Result) activity.Result {
	if c.mask == nil {
		return res
	}
	res.Output = c.mask.JSON(res.Output)
	if res.Stream != nil {
		res.Stream = c.mask.Reader(res.Stream)
	}
	return res
}
