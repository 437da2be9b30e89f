package egress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// CodeForbidden is the code of the error for an address that may not be called.
const CodeForbidden = "egress.forbidden"

// Times of connections.
const (
	connectTimeout = 10 * time.Second
	keepAlive      = 30 * time.Second
	idleTimeout    = 90 * time.Second
	maxIdlePerHost = 32
)

// Guard decides where connections may go. A nil Guard allows the public internet only. It is safe for concurrent use.
type Guard struct {
	// Resolver looks names up; nil is that of the system.
	Resolver *net.Resolver

	rules []rule
	// connecting is called with an address that is allowed, before the connection; tests stop there.
	connecting func(a netip.Addr) error
}

// New returns a guard that allows the public internet and what the entries name: a host, all hosts below a domain (*.corp.example), an
// address or a range of addresses; hosts and addresses with a port, if only that is meant.
//
// An allowed name may resolve to a private address, but never to a link-local one (where clouds have their metadata) or to one that is no
// host's: those must be named as addresses.
func New(allow ...string) (*Guard, error) { return (*Guard)(nil).With(allow...) }

// With returns a guard that allows more.
func (g *Guard) With(allow ...string) (*Guard, error) {
	out := &Guard{}
	if g != nil {
		*out = *g
		out.rules = slices.Clone(g.rules)
	}
	for _, entry := range allow {
		r, err := parseRule(entry)
		if err != nil {
			return nil, err
		}
		out.rules = append(out.rules, r)
	}
	return out, nil
}

// DialContext connects as net.Dialer does, to an address that the guard allows. It resolves the name itself, and looks at each address at
// the moment of connecting. The error for one that is not allowed is a *workflow.Error, egress.forbidden.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, forbidden(address, "", "", "no connection of TCP but of "+network)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("egress: dial: %w", err)
	}
	if _, err := netip.ParseAddr(host); err != nil && numeric(canonicalName(host)) {
		return nil, forbidden(host, port, "", "an address in a notation of old")
	}
	d := net.Dialer{Timeout: connectTimeout, KeepAlive: keepAlive}
	if g != nil {
		d.Resolver = g.Resolver
	}
	d.ControlContext = func(_ context.Context, _, at string, _ syscall.RawConn) error { return g.check(host, port, at) }
	conn, err := d.DialContext(ctx, network, address)
	if refused := (*workflow.Error)(nil); errors.As(err, &refused) {
		return nil, refused
	}
	return conn, err
}

// check judges the address that a connection is about to be made to.
func (g *Guard) check(host, port, at string) error {
	ap, err := netip.ParseAddrPort(at)
	if err != nil {
		return forbidden(host, port, at, "no address")
	}
	a := plain(ap.Addr())
	why := closed(a)
	if why != "" && !g.admits(host, port, a, why) {
		return forbidden(host, port, a.String(), why)
	}
	if g != nil && g.connecting != nil {
		return g.connecting(a)
	}
	return nil
}

// admits reports whether the operator allows an address that is closed to all others, for why.
func (g *Guard) admits(host, port string, a netip.Addr, why string) bool {
	if g == nil {
		return false
	}
	hosts := why == loopback || why == private || why == shared
	name := canonicalName(host)
	return slices.ContainsFunc(g.rules, func(r rule) bool {
		return r.admits(name, a, port) && (hosts || r.prefix.IsValid())
	})
}

// forbidden is the error for a call of host and port (empty: it has none), which is at an address (empty: it was not looked up).
func forbidden(host, port, address, why string) error {
	called := host
	if port != "" {
		called = net.JoinHostPort(host, port)
	}
	where := called
	if address != "" && address != host {
		where = fmt.Sprintf("%s (%s)", called, address)
	}
	e := workflow.Errorf(CodeForbidden, workflow.CategoryActivity, "%s may not be called: it is %s, and only the public internet may be%s",
		where, why, remedy(host, port, address, why))
	parts := map[string]string{"host": host, "address": address, "reason": why}
	if port != "" {
		parts["port"] = port
	}
	details, err := json.Marshal(parts)
	if err == nil {
		e.Details = details
	}
	return e
}

// remedy is the line of wovyr.yaml that allows the call, or where to write it if that cannot be told. A name serves only where names may lead.
func remedy(host, port, address, why string) string {
	entry := host
	if byName := why == loopback || why == private || why == shared; !byName || numeric(canonicalName(host)) {
		entry = address
	}
	entry = net.JoinHostPort(entry, port)
	if _, err := parseRule(entry); err != nil || port == "" || strings.HasPrefix(entry, ":") {
		return "; if this is meant, add its address to egress: { allow: [ … ] } in wovyr.yaml"
	}
	return fmt.Sprintf("; if this is meant, write egress: { allow: [ %q ] } in wovyr.yaml", entry)
}

// Transport returns a new transport whose connections the guard looks at: HTTP/1.1 and HTTP/2, connections kept, no proxy.
func (g *Guard) Transport() *http.Transport {
	return &http.Transport{
		Proxy:                 nil, // a proxy would connect in the guard's place
		DialContext:           g.DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          4 * maxIdlePerHost,
		MaxIdleConnsPerHost:   maxIdlePerHost,
		IdleConnTimeout:       idleTimeout,
		TLSHandshakeTimeout:   connectTimeout,
		ExpectContinueTimeout: time.Second,
	}
}
