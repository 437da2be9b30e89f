package dsl

import (
	"slices"
	"strconv"
	"strings"
)

// How the parts of a JSON Schema lead to each other. Some hold for the same value as the schema that they stand in, others for a part of it.
var (
	sameValue     = []string{"not", "if", "then", "else"}
	sameValueList = []string{"allOf", "anyOf", "oneOf"}
	sameValueMap  = []string{"dependentSchemas"}
	partOfIt      = []string{"additionalProperties", "items", "additionalItems", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems", "contentSchema"}
	partOfItList  = []string{"prefixItems", "items"}
	partOfItMap   = []string{"properties", "patternProperties", "$defs", "definitions"}
)

// endless refuses references that come back to where they started for the same value: no check with such a schema ends. One that comes back for
// a part of the value, such as the next node of a list, does.
func endless(n *node, pointer string, c *checker) bool {
	f := &refFinder{root: n, state: map[*node]visit{}, anchors: map[string]*node{}}
	if !f.collect(n) {
		return false
	}
	todo, seen := []placedNode{{n, pointer}}, map[*node]bool{}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		if seen[at.node] {
			continue
		}
		seen[at.node] = true
		if f.cycle(at.node) {
			c.sink.errorf(at.pointer, "dsl/schema", "let it come back below `properties` or `items`, for a part of the value", "the JSON Schema refers to itself for the same value, without end")
			return true
		}
		todo = append(todo, below(at, sameValue, sameValueList, sameValueMap)...)
		todo = append(todo, below(at, partOfIt, partOfItList, partOfItMap)...)
	}
	return false
}

// placedNode is a schema with its place in the document.
type placedNode struct {
	node    *node
	pointer string
}

// below are the schemas under some words of a schema.
func below(at placedNode, single, lists, maps []string) (out []placedNode) {
	for _, e := range at.node.entries {
		here := at.pointer + "/" + escape(e.key.text)
		if slices.Contains(single, e.key.text) && e.value.kind == kindObject {
			out = append(out, placedNode{e.value, here})
		}
		if slices.Contains(lists, e.key.text) && e.value.kind == kindList {
			for i, item := range e.value.items {
				out = append(out, placedNode{item, here + "/" + strconv.Itoa(i)})
			}
		}
		if slices.Contains(maps, e.key.text) && e.value.kind == kindObject {
			for _, part := range e.value.entries {
				out = append(out, placedNode{part.value, here + "/" + escape(part.key.text)})
			}
		}
	}
	return out
}

// visit is how far the search has come at a schema.
type visit uint8

const (
	visitOpen visit = 1 + iota // it is on the way that is being followed
	visitDone
)

type refFinder struct {
	root    *node
	state   map[*node]visit
	anchors map[string]*node
}

// collect finds the anchors of a schema, and reports whether there is a reference at all.
func (f *refFinder) collect(n *node) (refers bool) {
	for _, e := range n.entries {
		switch e.key.text {
		case "$anchor", "$dynamicAnchor":
			f.anchors[e.value.text] = n
		case "$ref", "$dynamicRef":
			refers = true
		}
		refers = f.collect(e.value) || refers
	}
	for _, item := range n.items {
		refers = f.collect(item) || refers
	}
	return refers
}

// cycle reports whether a schema leads back to itself for the same value.
func (f *refFinder) cycle(n *node) bool {
	switch f.state[n] {
	case visitOpen:
		return true
	case visitDone:
		return false
	}
	f.state[n] = visitOpen
	for _, e := range n.entries {
		if (e.key.text == "$ref" || e.key.text == "$dynamicRef") && e.value.kind == kindString {
			if target := f.target(e.value.text); target != nil && f.cycle(target) {
				return true
			}
		}
	}
	for _, next := range below(placedNode{node: n}, sameValue, sameValueList, sameValueMap) {
		if f.cycle(next.node) {
			return true
		}
	}
	f.state[n] = visitDone
	return false
}

// target is what a reference leads to, or nil.
func (f *refFinder) target(ref string) *node {
	fragment := unpercent(strings.TrimPrefix(ref, "#"))
	if fragment != "" && fragment[0] != '/' {
		return f.anchors[fragment]
	}
	n := f.root
	for _, token := range strings.Split(fragment, "/")[1:] {
		if n, _ = n.child(unescape(token)); n == nil {
			return nil
		}
	}
	return n
}

// unpercent undoes the percent signs of a URI's fragment (RFC 6901 §6); what is no escape stays.
func unpercent(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if c, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
