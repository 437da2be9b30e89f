package mid

import _ "unsafe"

// want+2 linkname

//go:linkname nanotime runtime.nanotime
func nanotime() int64

// want+2 doc-comment "exported Undocumented"

func Undocumented() int64 { return nanotime() }

type hidden struct{}

func (hidden) Method() {}

// Generic is documented.
type Generic[T any] struct{ v T }

func (g *Generic[T]) Get() T { return g.v } // want doc-comment "exported Get"

type (
	Grouped struct{} // a comment at the end is one too

	// want+2 doc-comment "exported Bare"

	Bare struct{}
)

// want+2 doc-comment "exported Loose"

var Loose, hiddenToo = 1, 2
