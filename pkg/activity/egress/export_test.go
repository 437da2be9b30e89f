package egress

import "net/netip"

// StopBefore lets no connection be made: f gets the address of each that would be, and its error ends it.
func (g *Guard) StopBefore(f func(a netip.Addr) error) { g.connecting = f }
