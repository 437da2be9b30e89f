package egress

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPublic(t *testing.T) {
	for _, a := range []string{"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0",
		"172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "192.31.196.1", "192.52.193.1", "192.175.48.1",
		"2606:4700:4700::1111", "2001:4860:4860::8888", "2620:4f:8000::1", "2a00::1", "64:ff9b::8.8.8.8", "::ffff:8.8.8.8", "2606:4700::5efe:8.8.8.8"} {
		require.Empty(t, closed(netip.MustParseAddr(a)), a)
	}
}

// TestClosedAgainstTheStandardLibrary: what netip calls anything but global unicast is closed, and a wrapper changes nothing.
func TestClosedAgainstTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a netip.Addr
		if rapid.Bool().Draw(t, "four") {
			b := rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address")
			if p := rapid.IntRange(-1, len(closed4)-1).Draw(t, "block"); p >= 0 {
				b = within(closed4[p].prefix, b)
				require.NotEmpty(t, closed(netip.AddrFrom4([4]byte(b))))
			}
			a = netip.AddrFrom4([4]byte(b))
			require.Equal(t, closed(a), closed(netip.AddrFrom16(a.As16())), "mapped")
			wrapped := nat64.Addr().As16()
			copy(wrapped[12:], b)
			require.Equal(t, closed(a), closed(netip.AddrFrom16(wrapped)), "NAT64")
			for _, prefix := range []string{"::", "2002::", "2001::", "fe80::", "64:ff9b:1::"} {
				wrapped := netip.MustParseAddr(prefix).As16()
				copy(wrapped[12:], b)
				require.NotEmpty(t, closed(netip.AddrFrom16(wrapped)), prefix)
			}
		} else {
			b := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "address")
			if p := rapid.IntRange(-1, len(closed6)-1).Draw(t, "block"); p >= 0 {
				b = within(closed6[p].prefix, b)
				require.NotEmpty(t, closed(netip.AddrFrom16([16]byte(b))))
			}
			a = netip.AddrFrom16([16]byte(b))
			require.Equal(t, closed(a), closed(a.WithZone("eth0")), "zone")
		}
		if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() {
			require.NotEmpty(t, closed(a), a)
		}
	})
}

// within puts the first bits of a prefix before the rest of an address.
func within(p netip.Prefix, b []byte) []byte {
	out := p.Addr().AsSlice()
	for i := p.Bits(); i < len(out)*8; i++ {
		out[i/8] |= b[i/8] & (0x80 >> (i % 8))
	}
	return out
}
