package dsl

import (
	"strconv"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// nodeKind is the JSON type of a node. YAML's core schema decides it for plain scalars.
type nodeKind uint8

const (
	kindNull nodeKind = iota
	kindBool
	kindInt
	kindFloat
	kindString
	kindList
	kindObject
)

// String names the kind as messages do.
func (k nodeKind) String() string {
	return [...]string{"nothing", "a boolean", "a whole number", "a number", "text", "a list", "a mapping"}[k]
}

// style is how a scalar is written, which decides how its text maps to the document.
type style uint8

const (
	stylePlain style = iota
	styleSingle
	styleDouble
	styleLiteral
	styleFolded
)

// node is one value of the document. Aliases share the node of their anchor.
type node struct {
	kind  nodeKind
	style style
	// text is the text of a scalar: for numbers and booleans in JSON's spelling, for strings the string.
	text    string
	at      workflow.Position
	items   []*node
	entries []entry
	// index finds entries of a large mapping by key.
	index map[string]int
	// height and bytes are the depth and the size of the tree below, aliases expanded.
	height int
	bytes  int
}

// entry is one key and value of a mapping, in the order of the document.
type entry struct {
	key   *node // always a string
	value *node
}

// indexFrom is the number of entries from which a mapping gets an index.
const indexFrom = 16

// pairs returns the entries of a mapping; none for anything else, and for nil.
func (n *node) pairs() []entry {
	if n == nil {
		return nil
	}
	return n.entries
}

// list returns the items of a list; none for anything else, and for nil.
func (n *node) list() []*node {
	if n == nil {
		return nil
	}
	return n.items
}

// without returns a mapping without one key.
func (n *node) without(key string) *node {
	i := n.find(key)
	if i < 0 {
		return n
	}
	less := *n
	less.index = nil
	less.entries = append(append([]entry(nil), n.entries[:i]...), n.entries[i+1:]...)
	return &less
}

// get returns the value of a key, or nil; nil for anything but a mapping, and for nil.
func (n *node) get(key string) *node {
	if i := n.find(key); i >= 0 {
		return n.entries[i].value
	}
	return nil
}

// has reports whether a mapping has a key.
func (n *node) has(key string) bool { return n.find(key) >= 0 }

func (n *node) find(key string) int {
	if n == nil {
		return -1
	}
	if n.index != nil {
		if i, ok := n.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range n.entries {
		if n.entries[i].key.text == key {
			return i
		}
	}
	return -1
}

// put adds an entry that is not there yet.
func (n *node) put(e entry) {
	n.entries = append(n.entries, e)
	switch {
	case n.index != nil:
		n.index[e.key.text] = len(n.entries) - 1
	case len(n.entries) == indexFrom:
		n.index = make(map[string]int, 2*indexFrom)
		for i := range n.entries {
			n.index[n.entries[i].key.text] = i
		}
	}
}

// child follows one token of a JSON pointer: the value and, in a mapping, its key.
func (n *node) child(token string) (value, key *node) {
	switch n.kind {
	case kindObject:
		if i := n.find(token); i >= 0 {
			return n.entries[i].value, n.entries[i].key
		}
	case kindList:
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(n.items) {
			return n.items[i], nil
		}
	}
	return nil, nil
}
