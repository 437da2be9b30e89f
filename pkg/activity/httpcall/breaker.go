package httpcall

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/sony/gobreaker/v2"

	"github.com/wovyr/wovyr/pkg/activity"
)

// Breaker says when a destination (scheme, host and port) is left alone: at least Share percent of at least Requests calls failed within
// Window. For Open nothing is sent to it; then one call tries whether it is back. Each tenant and each process has its own.
type Breaker struct {
	Requests, Share uint32
	Window, Open    time.Duration
}

// DefaultBreaker is that of workers.
func DefaultBreaker() Breaker {
	return Breaker{Requests: 10, Share: 60, Window: 30 * time.Second, Open: 15 * time.Second}
}

const (
	maxBreakers = 4096 // destinations that are watched
	buckets     = 10   // parts of the window
)

// breakers are those of a worker, by tenant and destination.
type breakers struct {
	settings Breaker
	mu       sync.Mutex
	by       *lru.Cache[string, *breaker]
}

type breaker struct {
	two *gobreaker.TwoStepCircuitBreaker[struct{}]
	// closes is when it lets a call through again, in nanoseconds of Unix time.
	closes atomic.Int64
}

func newBreakers(s Breaker) *breakers {
	by, err := lru.New[string, *breaker](maxBreakers)
	if err != nil {
		panic(err) // the size is constant
	}
	return &breakers{settings: s, by: by}
}

// What a call says about its destination.
var (
	errDown   = errors.New("httpcall: the destination is out of order")
	errNoSign = errors.New("httpcall: the call says nothing about the destination")
)

func (bs *breakers) of(key string) *breaker {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	if b, ok := bs.by.Get(key); ok {
		return b
	}
	b, s := &breaker{}, bs.settings
	b.two = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: 1, Interval: s.Window, BucketPeriod: s.Window / buckets, Timeout: s.Open,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.Requests >= s.Requests && uint64(c.TotalFailures)*100 >= uint64(s.Share)*uint64(c.Requests)
		},
		IsExcluded: func(err error) bool { return errors.Is(err, errNoSign) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				b.closes.Store(time.Now().Add(s.Open).UnixNano())
			}
		},
	})
	bs.by.Add(key, b)
	return b
}

// allow lets a call through, whose outcome done must get, or fails with http.circuit_open.
func (bs *breakers) allow(ctx context.Context, tenant, destination string) (done func(*http.Response, error), err error) {
	b := bs.of(tenant + " " + destination)
	report, err := b.two.Allow()
	if err == nil {
		return func(res *http.Response, err error) { report(sign(ctx, res, err)) }, nil
	}
	after := time.Until(time.Unix(0, b.closes.Load()))
	if errors.Is(err, gobreaker.ErrTooManyRequests) {
		after = bs.settings.Open / buckets // one call is finding out right now
	}
	return nil, &activity.RetryAfterError{After: max(after, time.Second),
		Err: activity.Unavailable(CodeCircuitOpen, "nothing is sent to %s for now: most of the last calls failed", destination)}
}

// sign is what the outcome of a call says about its destination.
func sign(ctx context.Context, res *http.Response, err error) error {
	switch {
	case err == nil && down(res.StatusCode):
		return errDown
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled) && !errors.Is(context.Cause(ctx), errSilent), errors.As(err, new(*activity.Error)):
		return errNoSign
	}
	return errDown
}

// down reports whether an answer says that its sender is out of order, and not that the request is wrong.
func down(status int) bool {
	return status >= 500 && status != http.StatusNotImplemented && status != http.StatusHTTPVersionNotSupported
}
