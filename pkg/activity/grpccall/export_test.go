package grpccall

import (
	"context"
	"net"
)

// DialBy replaces the connections of a caller that has made none.
func (c *Caller) DialBy(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	c.connections.dial = dial
}
