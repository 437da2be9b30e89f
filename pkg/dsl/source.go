package dsl

import (
	"sort"
	"strconv"
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// source is one document as a tree of nodes that know their places.
type source struct {
	file string
	root *node
	text *sheet
	// shifts are the places behind which a line is longer than the YAML library saw it; see prepared.
	shifts []workflow.Position
	// scalars are all scalar nodes in the order of the document, for looking a place up; made on first use.
	scalars []located
}

type located struct {
	node    *node
	pointer string
}

// at returns the position of the value at a JSON pointer ("/steps/charge/needs/1"), or of the nearest enclosing
// value that exists.
func (s *source) at(pointer string) workflow.Position {
	at, _ := s.span(pointer, false)
	return at
}

// keyAt returns the position of the key of the mapping entry at a JSON pointer; for anything else it is at.
func (s *source) keyAt(pointer string) workflow.Position {
	at, _ := s.span(pointer, true)
	return at
}

// node returns the value at a JSON pointer, or nil. It walks the tree: the cost is the depth.
func (s *source) node(pointer string) *node {
	n, _, whole := s.walk(pointer)
	if !whole {
		return nil
	}
	return n
}

// inside returns the place of the character that stands offset bytes after the place at, in the text of the scalar
// that at lies in (escapes, folded lines and block scalars are followed back to the document). Where at lies in no
// scalar it returns at.
func (s *source) inside(at workflow.Position, offset int) workflow.Position {
	i := s.scalarAt(at)
	if i < 0 {
		return at
	}
	places := s.text.places(s.scalars[i].node)
	nearest := places[max(sort.Search(len(places), func(j int) bool { return before(at, places[j]) })-1, 0)]
	base := sort.Search(len(places), func(j int) bool { return !before(places[j], nearest) }) // its first byte
	return places[min(max(base+offset, 0), len(places)-1)]
}

// pointerAt returns the JSON pointer of the scalar in which a place lies, or "".
func (s *source) pointerAt(at workflow.Position) string {
	if i := s.scalarAt(at); i >= 0 {
		return s.scalars[i].pointer
	}
	return ""
}

func before(a, b workflow.Position) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column
}

// scalarAt finds the last scalar (key or value) that starts at or before a place.
func (s *source) scalarAt(at workflow.Position) int {
	if s.scalars == nil {
		s.collect(s.root, "")
		sort.SliceStable(s.scalars, func(i, j int) bool { return before(s.scalars[i].node.at, s.scalars[j].node.at) })
	}
	return sort.Search(len(s.scalars), func(i int) bool { return before(at, s.scalars[i].node.at) }) - 1
}

func (s *source) collect(n *node, pointer string) {
	switch n.kind {
	case kindObject:
		for _, e := range n.entries {
			here := pointer + "/" + escape(e.key.text)
			s.scalars = append(s.scalars, located{e.key, here})
			s.collect(e.value, here)
		}
	case kindList:
		for i, item := range n.items {
			s.collect(item, pointer+"/"+strconv.Itoa(i))
		}
	default:
		s.scalars = append(s.scalars, located{n, pointer})
	}
}

// span returns a place and the column after it on the same line (0: unknown).
func (s *source) span(pointer string, key bool) (workflow.Position, int) {
	n, k, whole := s.walk(pointer)
	if key && whole && k != nil {
		n = k
	}
	return n.at, s.text.endColumn(n)
}

// walk follows a pointer as far as it goes: the value reached, its key if it is a mapping entry, and whether the
// whole pointer was followed.
func (s *source) walk(pointer string) (n, key *node, whole bool) {
	n = s.root
	for pointer != "" {
		token, rest := pointer[1:], ""
		if i := strings.IndexByte(token, '/'); i >= 0 {
			token, rest = token[:i], token[i:]
		}
		next, k := n.child(unescape(token))
		if next == nil {
			return n, key, false
		}
		n, key, pointer = next, k, rest
	}
	return n, key, true
}

// escape makes one token of a JSON pointer (RFC 6901 §3).
func escape(token string) string {
	if !strings.ContainsAny(token, "~/") {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}

func unescape(token string) string {
	if !strings.Contains(token, "~") {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}
