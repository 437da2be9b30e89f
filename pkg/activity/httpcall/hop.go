package httpcall

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/wovyr/wovyr/pkg/activity"
)

// hop sends each request of a call, those after redirects too: it proves who calls to the place that the step names until
// a redirect leads elsewhere, and leaves destinations alone that are out of order. It is of one call, whose requests come one after the other.
type hop struct {
	next      http.RoundTripper
	breakers  *breakers
	tenant    string
	home      *url.URL // what the step names
	authorize func(*http.Request) error
	away      bool // a redirect led elsewhere: whoever sends the call back gets no proof, as the address may be of their making
}

// RoundTrip implements http.RoundTripper.
func (h *hop) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := h.roundTrip(req)
	if res == nil && req.Body != nil {
		_ = req.Body.Close()
	}
	return res, err
}

func (h *hop) roundTrip(req *http.Request) (*http.Response, error) {
	at := origin(req.URL)
	h.away = h.away || h.home != nil && moved(h.home, req.URL)
	if h.authorize != nil && !h.away {
		req = req.Clone(req.Context())
		if err := h.authorize(req); err != nil {
			return nil, err
		}
	}
	done, err := h.breakers.allow(req.Context(), h.tenant, at)
	if err != nil {
		return nil, err
	}
	res, err := h.next.RoundTrip(sentOnce(req))
	done(res, err)
	return res, err
}

// replayed are the headers by which net/http takes a request for one that it may send again by itself, when a connection that was used before ends without an
// answer.
var replayed = []string{"Idempotency-Key", "X-Idempotency-Key"}

// sentOnce keeps net/http from that: one attempt of a step is one request, so that a step with `idempotent: false` has at most one effect and the history of any
// other says how often it was asked for. The transport knows these headers by the letters of their names alone; to servers they are the same.
func sentOnce(req *http.Request) *http.Request {
	cloned := false
	for _, name := range replayed {
		values, there := req.Header[name]
		if !there {
			continue
		}
		if !cloned { // a transport must leave the request as it is
			req, cloned = req.Clone(req.Context()), true
		}
		delete(req.Header, name)
		req.Header[strings.ToLower(name)] = values
	}
	return req
}

// origin is where a URL leads: scheme, host and port.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), port)
}

// moved reports whether a URL leads elsewhere than another; the same host by TLS is the same place.
func moved(from, to *url.URL) bool {
	upgraded := from.Scheme == "http" && to.Scheme == "https" && strings.EqualFold(from.Hostname(), to.Hostname()) &&
		slices.Contains([]string{"", "80"}, from.Port()) && slices.Contains([]string{"", "443"}, to.Port())
	return origin(from) != origin(to) && !upgraded
}

// kept are the headers of a step that another host gets after a redirect; any other may be a credential.
var kept = []string{"Accept", "Accept-Language", "Content-Type", "User-Agent"}

// redirect decides about a redirect, as http.Client.CheckRedirect.
func (b *block) redirect(req *http.Request, via []*http.Request) error {
	switch limit := b.redirects(); {
	case limit == 0:
		return http.ErrUseLastResponse
	case len(via) > limit:
		return activity.NewError(CodeRedirects, "%s: there were more than %d redirects: raise redirects, or call the last address itself", b.where(), limit)
	case req.URL.Scheme != "http" && req.URL.Scheme != "https":
		return activity.NewError(CodeRedirects, "%s: a redirect leads to %s:, which is not HTTP", b.where(), req.URL.Scheme)
	}
	req.Header.Del("Referer") // it has the address, which may hold what is nobody else's business
	away := moved(via[0].URL, req.URL)
	for _, earlier := range via[1:] {
		away = away || moved(via[0].URL, earlier.URL)
	}
	if !away {
		return nil
	}
	if req.ContentLength != 0 {
		return activity.NewError(CodeRedirects, "%s: a redirect leads to another host, %s, which would get the body: call that one itself if it is meant", b.where(), req.URL.Host)
	}
	for name := range req.Header { // order-free: each by itself
		if !slices.Contains(kept, name) {
			delete(req.Header, name)
		}
	}
	return nil
}
