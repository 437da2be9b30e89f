package dsl

// shape is what may stand at one place of a document.
type shape interface {
	// check reports what is wrong with a value.
	check(c *checker, n *node, pointer string)
	// schema returns the JSON Schema of the place; named shapes become definitions of d.
	schema(d *definitions) map[string]any
	// label names the shape in messages and on the reference page: "a duration".
	label() string
}

// takesNull reports whether nothing at all may stand at a place.
func takesNull(s shape) bool {
	switch s := s.(type) {
	case *anything:
		return !s.bare
	case assignment:
		return true
	}
	return false
}
