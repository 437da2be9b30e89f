package httpcall

import "io"

// OneValue is the reader that holds a body within its place.
func OneValue(r io.Reader) io.Reader { return &oneValue{from: r} }
