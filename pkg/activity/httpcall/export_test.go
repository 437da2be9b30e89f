package httpcall

import (
	"context"
	"io"
	"net"
	"net/url"
)

// OneValue is the reader that holds a body within its place.
func OneValue(r io.Reader) io.Reader { return &oneValue{from: r} }

// Moved reports whether a redirect leads to another place.
func Moved(from, to string) bool {
	a, err := url.Parse(from)
	if err != nil {
		panic(err)
	}
	b, err := url.Parse(to)
	if err != nil {
		panic(err)
	}
	return moved(a, b)
}

// DialBy replaces the connections of a caller that has made none.
func (c *Caller) DialBy(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	c.dial = dial
	c.plain = c.newTransport()
}
