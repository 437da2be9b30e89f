package httpcall_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/httpcall"
	"github.com/wovyr/wovyr/pkg/workflow"
)

func longBreaker() httpcall.Breaker {
	return httpcall.Breaker{Requests: 10, Share: 60, Window: time.Hour, Open: time.Hour}
}

// TestOutage: of a thousand calls to a destination that is out of order, it sees ten.
func TestOutage(t *testing.T) {
	p := newPeer(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	c := caller(t, httpcall.Options{Breaker: longBreaker()})
	open := 0
	for range 1000 {
		e, after := fails(t, c, m{"url": p.URL})
		require.True(t, e.Retryable)
		require.Equal(t, workflow.CategoryExternal, e.Category)
		if e.Code == "http.503" {
			continue
		}
		open++
		require.Equal(t, httpcall.CodeCircuitOpen, e.Code)
		require.Greater(t, after, 50*time.Minute)
		require.LessOrEqual(t, after, time.Hour)
	}
	require.Len(t, p.asked(), 10)
	require.Equal(t, 990, open)

	other := newPeer(t, fine)
	call(t, c, m{"url": other.URL}) // another destination
	k := task(t, m{"url": p.URL})
	k.Tenant = "other"
	_, err := c.Run(t.Context(), k)
	require.ErrorContains(t, err, "http.503", "another tenant")
}

// TestBackInOrder: after the rest one call tries, and a success lets all through again.
func TestBackInOrder(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	p := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		fine(w, r)
	})
	b := longBreaker()
	b.Open = time.Nanosecond
	c := caller(t, httpcall.Options{Breaker: b})
	for range 12 {
		e, _ := fails(t, c, m{"url": p.URL})
		require.Equal(t, "http.502", e.Code)
	}
	require.Len(t, p.asked(), 12, "the trials that failed are among them")
	broken.Store(false)
	for range 20 {
		call(t, c, m{"url": p.URL})
	}
}

// TestOneTrial: while one call finds out, the others are held back.
func TestOneTrial(t *testing.T) {
	var hold atomic.Bool
	started, finish := make(chan struct{}), make(chan struct{})
	p := newPeer(t, func(w http.ResponseWriter, _ *http.Request) {
		if hold.Load() {
			started <- struct{}{}
			<-finish
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
	})
	b := longBreaker()
	b.Open = time.Nanosecond
	c := caller(t, httpcall.Options{Breaker: b})
	for range 10 {
		fails(t, c, m{"url": p.URL})
	}
	hold.Store(true)
	tried := make(chan error)
	go func() {
		_, err := c.Run(t.Context(), task(t, m{"url": p.URL}))
		tried <- err
	}()
	<-started
	e, after := fails(t, c, m{"url": p.URL})
	require.Equal(t, httpcall.CodeCircuitOpen, e.Code)
	require.Equal(t, time.Second, after)
	finish <- struct{}{}
	require.NoError(t, <-tried)
	hold.Store(false)
	e, _ = fails(t, c, m{"url": p.URL})
	require.Equal(t, "http.500", e.Code)
}

// TestWhatIsNoOutage: requests that are wrong, calls that were cancelled, addresses that are forbidden.
func TestWhatIsNoOutage(t *testing.T) {
	var status atomic.Int64
	p := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		if n := status.Load(); n > 0 {
			w.WriteHeader(int(n))
			return
		}
		<-r.Context().Done()
	})
	c := caller(t, httpcall.Options{Breaker: longBreaker()})
	for _, n := range []int64{400, 401, 404, 409, 429, 501, 505} {
		status.Store(n)
		for range 15 {
			e, _ := fails(t, c, m{"url": p.URL})
			require.NotEqual(t, httpcall.CodeCircuitOpen, e.Code)
		}
	}
	status.Store(0)
	c = caller(t, httpcall.Options{Breaker: longBreaker()})
	for range 15 {
		ctx, cancel := context.WithCancel(t.Context())
		k := task(t, m{"url": p.URL})
		go cancel()
		_, err := c.Run(ctx, k)
		require.ErrorIs(t, err, context.Canceled)
	}
	status.Store(200)
	call(t, c, m{"url": p.URL})
	for range 15 {
		e, _ := fails(t, c, m{"url": "http://10.0.0.1/"})
		require.Equal(t, "egress.forbidden", e.Code)
	}
}

// TestNobodyThere: connections that are refused and time that runs out are an outage too, and so is a server of tokens.
func TestNobodyThere(t *testing.T) {
	c := caller(t, httpcall.Options{Breaker: longBreaker()})
	codes := map[string]int{}
	for range 30 {
		e, _ := fails(t, c, m{"url": "http://127.0.0.1:1/"})
		codes[e.Code]++
	}
	require.Equal(t, map[string]int{httpcall.CodeConnect: 10, httpcall.CodeCircuitOpen: 20}, codes)

	hang := newPeer(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	clear(codes)
	for range 12 {
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := c.Run(ctx, task(t, m{"url": hang.URL}))
		typed, _ := activity.AsError(ctx, err)
		codes[typed.Code]++
		stop()
	}
	require.Equal(t, map[string]int{activity.CodeTimeout: 10, httpcall.CodeCircuitOpen: 2}, codes)

	issuer := newIssuer(t)
	issuer.status, issuer.answer = 503, "busy"
	clear(codes)
	for range 30 {
		e, _ := fails(t, c, m{"url": hang.URL + "/api", "auth": issuer.auth()})
		codes[e.Code]++
	}
	require.Equal(t, 10, len(issuer.asked()))
	require.Positive(t, codes[httpcall.CodeCircuitOpen])
}
