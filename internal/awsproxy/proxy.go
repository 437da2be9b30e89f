package awsproxy

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/url"
	"sync"
)

// Proxy is a proxy that listens.
type Proxy struct {
	// URL is its address, for AWS_ENDPOINT_URL.
	URL string

	target    *url.URL
	transport *http.Transport
	server    *http.Server

	mu    sync.Mutex
	calls map[Call]int
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

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // whoever called is gone
	}
	p.note(read(r, body))
	a, err := p.forward(r, body)
	if err != nil {
		panic(http.ErrAbortHandler) // the caller sees what the proxy saw: a connection that was cut
	}
	a.send(w)
}

func (p *Proxy) note(calls []Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range calls {
		p.calls[c]++
	}
}

// answer is a whole answer.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // whoever called may be gone
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
	return answer{in.StatusCode, in.Header, whole}, nil
}
