package egress

import "net/netip"

// block is a range of addresses that is not of the public internet, with a name for people.
type block struct {
	prefix netip.Prefix
	name   string
}

// Reasons that an allowed name may have for all that: hosts of one's own stand there.
const (
	loopback = "loopback"
	private  = "private"
	shared   = "shared by carriers"
)

const metadata = "the metadata service of a cloud"

// closed4 are the IPv4 ranges that are not global unicast (the IANA registry of special purpose addresses), without the two anycast ones that
// are. The first that fits names the refusal.
var closed4 = []block{
	{netip.MustParsePrefix("169.254.169.254/32"), metadata},
	{netip.MustParsePrefix("100.100.100.200/32"), metadata},
	{netip.MustParsePrefix("127.0.0.0/8"), loopback},
	{netip.MustParsePrefix("10.0.0.0/8"), private},
	{netip.MustParsePrefix("172.16.0.0/12"), private},
	{netip.MustParsePrefix("192.168.0.0/16"), private},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("100.64.0.0/10"), shared},
	{netip.MustParsePrefix("0.0.0.0/8"), "this network"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved for protocols"},
	{netip.MustParsePrefix("192.0.2.0/24"), "for documentation"},
	{netip.MustParsePrefix("198.51.100.0/24"), "for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay"},
	{netip.MustParsePrefix("198.18.0.0/15"), "for benchmarks"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("255.255.255.255/32"), "broadcast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
}

// global6 is all that is given out for global unicast in IPv6; closed6 is what is none all the same, and names for the best known of the rest.
var (
	global6 = netip.MustParsePrefix("2000::/3")
	closed6 = []block{
		{netip.MustParsePrefix("fd00:ec2::/32"), metadata},
		{netip.MustParsePrefix("::1/128"), loopback},
		{netip.MustParsePrefix("::/128"), "unspecified"},
		{netip.MustParsePrefix("fc00::/7"), private},
		{netip.MustParsePrefix("fe80::/10"), "link-local"},
		{netip.MustParsePrefix("fec0::/10"), "site-local"},
		{netip.MustParsePrefix("ff00::/8"), "multicast"},
		{netip.MustParsePrefix("64:ff9b:1::/48"), "a private translation to IPv4"},
		{netip.MustParsePrefix("2001::/32"), "Teredo"},
		{netip.MustParsePrefix("2001::/23"), "reserved for protocols"},
		{netip.MustParsePrefix("2001:db8::/32"), "for documentation"},
		{netip.MustParsePrefix("3fff::/20"), "for documentation"},
		{netip.MustParsePrefix("2002::/16"), "6to4"},
	}
)

// nat64 is the well-known prefix of networks without IPv4 (RFC 6052): the last 32 bits are the IPv4 address that is reached.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// isatap marks the interface part of an address that tunnels to the IPv4 address in its last 32 bits (RFC 5214), but for the bit that
// tells private IPv4 addresses from public ones.
var isatap = [4]byte{0x00, 0x00, 0x5e, 0xfe}

// embedded returns the IPv4 address that an IPv6 address leads to, if it does.
func embedded(a netip.Addr) (netip.Addr, bool) {
	if a.Is4() {
		return a, false
	}
	b := a.As16()
	last := netip.AddrFrom4([4]byte(b[12:]))
	tunnel := [4]byte(b[8:12])
	tunnel[0] &^= 0x02
	return last, nat64.Contains(a) || tunnel == isatap
}

// plain is an address in its shortest form: IPv4 where IPv6 only wraps it, and without a zone.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// closed names the range that keeps an address from being of the public internet; "" is public.
func closed(a netip.Addr) string {
	a = plain(a)
	if a.Is4() {
		return nameIn(closed4, a)
	}
	inner, leads := embedded(a)
	if leads {
		if name := nameIn(closed4, inner); name != "" {
			return name
		}
	}
	if nat64.Contains(a) {
		return ""
	}
	if name := nameIn(closed6, a); name != "" {
		return name
	}
	if !global6.Contains(a) {
		return "reserved"
	}
	return ""
}

func nameIn(blocks []block, a netip.Addr) string {
	for _, b := range blocks {
		if b.prefix.Contains(a) {
			return b.name
		}
	}
	return ""
}
