package httpcall_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/httpcall"
)

// inMemory lets a caller and a server of this process talk without a network, so that time can be virtual.
func inMemory(t *testing.T, c *httpcall.Caller, h http.HandlerFunc) {
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	c.DialBy(func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		l.conns <- there
		return here, nil
	})
	t.Cleanup(func() { c.CloseIdleConnections(); _ = server.Close(); <-done })
}

type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { close(l.closed); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// TestSilence: a call without a timeout of which nothing is heard ends; one that goes on slowly does not, and a deadline is another's matter.
func TestSilence(t *testing.T) {
	for name, x := range map[string]struct {
		first, next time.Duration // between bytes
		deadline    time.Duration
		code        string
		took        time.Duration
	}{
		"no answer":     {first: time.Hour, code: httpcall.CodeTimeout, took: httpcall.MaxSilence},
		"answer stops":  {next: time.Hour, code: httpcall.CodeTimeout, took: httpcall.MaxSilence},
		"slow":          {first: httpcall.MaxSilence - time.Second, next: httpcall.MaxSilence - time.Second, took: 4 * (httpcall.MaxSilence - time.Second)},
		"with deadline": {first: 30 * time.Minute, deadline: time.Hour, took: 30 * time.Minute},
		"deadline over": {first: 2 * time.Hour, deadline: time.Hour, code: activity.CodeTimeout, took: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := httpcall.New(httpcall.Options{})
				inMemory(t, c, func(w http.ResponseWriter, r *http.Request) {
					pause := func(d time.Duration) {
						select {
						case <-time.After(d):
						case <-r.Context().Done():
						}
					}
					pause(x.first)
					for i := range 4 {
						if i > 0 {
							pause(x.next)
						}
						_, _ = io.WriteString(w, "x")
						w.(http.Flusher).Flush()
					}
				})
				ctx := t.Context()
				if x.deadline > 0 {
					var stop context.CancelFunc
					ctx, stop = context.WithTimeout(ctx, x.deadline)
					defer stop()
				}
				start := time.Now()
				_, err := c.Run(ctx, task(t, m{"url": "http://peer.example/"}))
				require.Equal(t, x.took, time.Since(start))
				if x.code == "" {
					require.NoError(t, err)
					return
				}
				typed, _ := activity.AsError(ctx, err)
				require.Equal(t, x.code, typed.Code)
				require.True(t, typed.Retryable)
			})
		})
	}
}

// TestBreakerRests as long as it says, and forgets failures that are older than its window.
func TestBreakerRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := httpcall.New(httpcall.Options{})
		inMemory(t, c, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
		b := httpcall.DefaultBreaker()
		code := func() (string, time.Duration) {
			_, err := c.Run(t.Context(), task(t, m{"url": "http://peer.example/"}))
			typed, after := activity.AsError(t.Context(), err)
			return typed.Code, after
		}
		for range 3 * int(b.Requests) { // one failure a window is no outage
			got, _ := code()
			require.Equal(t, "http.500", got)
			<-time.After(b.Window)
		}
		for range b.Requests {
			got, _ := code()
			require.Equal(t, "http.500", got)
		}
		<-time.After(b.Open / 3)
		got, after := code()
		require.Equal(t, httpcall.CodeCircuitOpen, got)
		require.Equal(t, b.Open-b.Open/3, after, "it says when it is worth trying")
		<-time.After(after + 1)
		got, _ = code()
		require.Equal(t, "http.500", got, "one trial")
		got, after = code()
		require.Equal(t, httpcall.CodeCircuitOpen, got)
		require.Equal(t, b.Open, after)
	})
}

// TestForgettingEnds: a call whose token is refused while another call waits for a new one ends with its context.
func TestForgettingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := httpcall.New(httpcall.Options{})
		refuse, answer := make(chan struct{}), make(chan struct{})
		var asked atomic.Int64
		inMemory(t, c, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/token" {
				<-refuse
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			if asked.Add(1) > 1 {
				<-answer
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"access_token":"abcdefgh","token_type":"bearer","expires_in":1}`)
		})
		target := m{"url": "http://api.example/", "auth": m{"oauth2": m{"token_url": "http://issuer.example/token", "client_id": "shop", "client_secret": "s3cret"}}}
		var ended [2]atomic.Bool
		var cancel [2]context.CancelFunc
		for i := range ended { // the first is at the API, the second waits for its token
			ctx, stop := context.WithCancel(t.Context())
			cancel[i] = stop
			go func() {
				_, err := c.Run(ctx, task(t, target))
				if errors.Is(err, context.Canceled) {
					ended[i].Store(true)
				}
			}()
			synctest.Wait()
		}
		close(refuse)
		synctest.Wait() // the first has been refused
		cancel[0]()
		synctest.Wait()
		first, second := ended[0].Load(), ended[1].Load()
		cancel[1]()
		close(answer)
		require.True(t, first)
		require.False(t, second)
	})
}
