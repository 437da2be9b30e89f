package egress

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strings"

	"golang.org/x/net/idna"
)

// rule is one entry of an allow list: addresses, a name or all names below one; with a port, that port only.
type rule struct {
	prefix netip.Prefix // zero for names
	name   string       // lower case, without the star
	below  bool         // the name is that of a domain, whose names are meant
	port   string
}

// hostName is a name as DNS has it, in ASCII.
var hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$`)

// parseRule reads an entry: "10.0.0.5", "10.0.0.0/8", "fd00::/8", "api.corp.example", "*.corp.example", "localhost:9000", "[::1]:9000".
func parseRule(entry string) (rule, error) {
	wrong := func(why string) (rule, error) {
		return rule{}, fmt.Errorf("egress: allow: %q %s: write a host, *.domain, an address or a range such as 10.0.0.0/8; a host or an address may have a :port", entry, why)
	}
	if strings.Contains(entry, "://") {
		return wrong("is a URL")
	}
	if strings.Contains(entry, "/") {
		p, err := netip.ParsePrefix(entry)
		switch {
		case err != nil:
			return wrong("is no range of addresses")
		case p.Addr().Is4In6():
			return wrong("wraps IPv4 in IPv6")
		case p != p.Masked():
			return wrong("is not the first address of its range, which is " + p.Masked().String())
		}
		return rule{prefix: p}, nil
	}
	host, port := entry, ""
	if h, p, err := net.SplitHostPort(entry); err == nil {
		if _, err := net.LookupPort("tcp", p); err != nil || p == "" || p == "0" {
			return wrong("has no valid port")
		}
		host, port = h, p
	}
	if a, err := netip.ParseAddr(host); err == nil {
		a = plain(a)
		return rule{prefix: netip.PrefixFrom(a, a.BitLen()), port: port}, nil
	}
	name, below := strings.CutPrefix(canonicalName(host), "*.")
	if ascii, err := idna.Lookup.ToASCII(name); err == nil {
		name = ascii
	}
	switch {
	case !hostName.MatchString(name):
		return wrong("is no host")
	case numeric(name):
		return wrong("is no address as it is written today")
	}
	return rule{name: name, below: below, port: port}, nil
}

func canonicalName(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// numeric reports whether a host ends in a number: then it is an IPv4 address in a notation of old (017700000001, 2130706433, 0x7f.1), or none.
// Some resolvers read these as addresses, and nobody needs them.
func numeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// admits reports whether the rule allows an address that stands behind a name (or is the name itself).
func (r rule) admits(name string, a netip.Addr, port string) bool {
	if r.port != "" && r.port != port {
		return false
	}
	if r.prefix.IsValid() {
		if r.prefix.Contains(a) {
			return true
		}
		inner, leads := embedded(a)
		return leads && r.prefix.Contains(inner)
	}
	if r.below {
		return strings.HasSuffix(name, "."+r.name)
	}
	return name == r.name
}
