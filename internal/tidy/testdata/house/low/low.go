package low

import (
	_ "example.com/house/mid" // want arrow "low may not import mid"
	_ "net/http"
)

// Low is documented.
func Low() {}

// Thing is documented.
type Thing struct{}

// Do is documented.
func (t *Thing) Do() {}

// A group needs one comment.
const (
	A = iota
	B
)
