package awsproxy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// Proxy is a proxy that listens.
type Proxy struct {
	// URL is its address, for AWS_ENDPOINT_URL.
	URL string

	target    *url.URL
	transport *http.Transport
	server    *http.Server

	mu     sync.Mutex
	calls  map[Call]int
	faults *Faults
}

// Start starts a proxy on 127.0.0.1 before the emulator at an address. Close ends it.
func Start(target string) (*Proxy, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("awsproxy: address of the emulator: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("awsproxy: %w", err)
	}
	p := &Proxy{URL: "http://" + l.Addr().String(), target: to, calls: map[Call]int{},
		transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}
	p.server = &http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0)} // a connection that is cut on purpose is nothing to tell
	go func() { _ = p.server.Serve(l) }()
	return p, nil
}

// Close ends the proxy, and all connections.
func (p *Proxy) Close() {
	_ = p.server.Close()
	p.transport.CloseIdleConnections()
}

// Calls returns what was called so far and how often.
func (p *Proxy) Calls() map[Call]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.calls)
}

// Suffer lets requests suffer faults from now on; nil: no more.
func (p *Proxy) Suffer(f *Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = f
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // whoever called is gone
	}
	calls := read(r, body)
	faults := p.note(calls)
	var c Call
	if len(calls) > 0 {
		c = calls[0]
	}
	v := faults.of(c)
	a, err := p.carry(r, body, c, v)
	if v.fault == Killed && !errors.Is(err, errCut) {
		faults.missed(Killed)
	}
	if err != nil {
		panic(http.ErrAbortHandler) // the caller sees what the proxy saw: a connection that was cut
	}
	a.send(w)
}

var errCut = errors.New("awsproxy: the connection is cut")

// carry hands on a request, with what it is to suffer.
func (p *Proxy) carry(r *http.Request, body []byte, c Call, v verdict) (answer, error) {
	forward := func(body []byte) (answer, error) { return p.forward(r, body) }
	switch v.fault {
	case Throttled:
		return refuse(c, throttling, v.dice), nil
	case Failed:
		return refuse(c, failing, v.dice), nil
	case FailedAfter:
		if _, err := forward(body); err != nil {
			return answer{}, err
		}
		return refuse(c, failing, v.dice), nil
	case Unsent:
		return answer{}, errCut
	case Lost:
		_, err := forward(body)
		return answer{}, cmp.Or(err, errCut)
	case Cut:
		a, err := forward(body)
		a.cut = true
		return a, err
	case Slow:
		hold(r, v.hold)
		return forward(body)
	case Stuck:
		if v.dice.IntN(2) == 0 {
			if _, err := forward(body); err != nil {
				return answer{}, err
			}
		}
		hold(r, 4*v.hold)
		return answer{}, errCut
	case Partial:
		return partial(c, body, v.dice, forward)
	case Twice:
		a, err := forward(body)
		if err == nil && a.status == http.StatusOK {
			_, err = forward(again(c, body, v.dice))
		}
		return a, err
	case Late:
		return forward(late(c, body, v.dice))
	case Killed:
		return p.carryAndKill(r, v, func() (answer, error) { return forward(body) })
	}
	return forward(body)
}

// carryAndKill kills the process that called, before its call or after. If it is not found, the call passes.
func (p *Proxy) carryAndKill(r *http.Request, v verdict, forward func() (answer, error)) (answer, error) {
	if v.dice.IntN(2) == 0 {
		if p.kill(r.RemoteAddr) {
			return answer{}, errCut
		}
		return forward()
	}
	a, err := forward()
	if p.kill(r.RemoteAddr) {
		return answer{}, errCut
	}
	return a, err
}

// hold waits, at most until the caller has gone.
func hold(r *http.Request, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}

// note counts calls, and returns the faults of now.
func (p *Proxy) note(calls []Call) *Faults {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range calls {
		p.calls[c]++
	}
	return p.faults
}

// answer is a whole answer.
type answer struct {
	status int
	header http.Header
	body   []byte
	// cut says that the connection is cut in the middle of the body.
	cut bool
}

func (a answer) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	if a.cut {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)+1))
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // whoever called may be gone
	if a.cut {
		_ = http.NewResponseController(w).Flush() // else nothing of it would go out
		panic(http.ErrAbortHandler)
	}
}

// forward hands a request to the emulator.
func (p *Proxy) forward(r *http.Request, body []byte) (answer, error) {
	u := *r.URL
	u.Scheme, u.Host = p.target.Scheme, p.target.Host
	out, err := http.NewRequestWithContext(r.Context(), r.Method, u.String(), bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	out.URL, out.Header, out.Host = &u, r.Header.Clone(), p.target.Host
	in, err := p.transport.RoundTrip(out)
	if err != nil {
		return answer{}, err
	}
	defer in.Body.Close()
	whole, err := io.ReadAll(in.Body)
	if err != nil {
		return answer{}, err
	}
	in.Header.Del("Transfer-Encoding")
	return answer{status: in.StatusCode, header: in.Header, body: whole}, nil
}
