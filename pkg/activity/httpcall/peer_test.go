package httpcall_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/egress"
	"github.com/wovyr/wovyr/pkg/activity/httpcall"
)

// peer is an HTTP server that keeps what it was asked.
type peer struct {
	*httptest.Server

	mu   sync.Mutex
	seen []seen
}

type seen struct {
	*http.Request
	body []byte
}

func (s seen) text() string { return string(s.body) }

func newPeer(t testing.TB, h http.HandlerFunc) *peer {
	return startPeer(t, h, (*httptest.Server).Start)
}

func startPeer(t testing.TB, h http.HandlerFunc, start func(*httptest.Server)) *peer {
	t.Helper()
	p := &peer{}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.mu.Lock()
		p.seen = append(p.seen, seen{r, body})
		p.mu.Unlock()
		h(w, r)
	}))
	start(p.Server)
	t.Cleanup(p.Close)
	return p
}

// asked returns what came since the last time.
func (p *peer) asked() []seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.seen
	p.seen = nil
	return out
}

func (p *peer) one(t testing.TB) seen {
	t.Helper()
	all := p.asked()
	require.Len(t, all, 1)
	return all[0]
}

func fine(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"ok":true}`)
}

// caller may call this machine.
func caller(t testing.TB, o httpcall.Options) *httpcall.Caller {
	t.Helper()
	guard, err := egress.New("127.0.0.0/8", "localhost")
	require.NoError(t, err)
	o.Guard = guard
	c := httpcall.New(o)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// m is an object of JSON.
type m = map[string]any

func task(t testing.TB, target m) *activity.Task {
	t.Helper()
	text, err := json.Marshal(target)
	require.NoError(t, err)
	return &activity.Task{Tenant: "acme", Execution: "exec-1", Step: "charge", Attempt: 1, IdempotencyKey: "exec-1/charge", Target: activity.NewDocument(text)}
}

// answer is an output.
type answer struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    any               `json:"body"`
}

// call makes a call that must succeed.
func call(t testing.TB, c *httpcall.Caller, target m) answer {
	t.Helper()
	out, err := try(t, c, target)
	require.NoError(t, err)
	return out
}

func try(t testing.TB, c *httpcall.Caller, target m) (answer, error) {
	t.Helper()
	res, err := activity.Run(t.Context(), c, task(t, target))
	if err != nil {
		return answer{}, err
	}
	text := []byte(res.Output)
	if res.Stream != nil {
		text, err = io.ReadAll(res.Stream)
		require.NoError(t, res.Stream.Close())
		if err != nil {
			return answer{}, err
		}
	}
	var out answer
	require.NoError(t, json.Unmarshal(text, &out), "%.300s", text)
	return out, nil
}

// fails makes a call that must fail.
func fails(t testing.TB, c *httpcall.Caller, target m) (*activity.Error, time.Duration) {
	t.Helper()
	out, err := try(t, c, target)
	require.Error(t, err, "%+v", out)
	return activity.AsError(context.Background(), err)
}
