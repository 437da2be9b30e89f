package dsl

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// value returns a node as canonical JSON.
func (n *node) value() workflow.Value {
	v, err := expr.Canonical(n.json(nil, plainText))
	if err != nil {
		panic("dsl: a document always has a JSON form: " + err.Error()) // text is UTF-8, numbers were checked by load
	}
	return v
}

// json appends a node as JSON, the keys of objects in byte order. text makes the JSON string of a text.
func (n *node) json(b []byte, text func(b []byte, s string) []byte) []byte {
	switch n.kind {
	case kindString:
		return text(b, n.text)
	case kindList:
		b = append(b, '[')
		for i, item := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.json(b, text)
		}
		return append(b, ']')
	case kindObject:
		b = append(b, '{')
		for i, e := range n.sorted() {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(plainText(b, e.key.text), ':')
			b = e.value.json(b, text)
		}
		return append(b, '}')
	case kindNull:
		return append(b, "null"...)
	}
	return append(b, n.text...)
}

// sorted returns the entries of a mapping in the order of canonical JSON.
func (n *node) sorted() []entry {
	byKey := func(a, b entry) int { return strings.Compare(a.key.text, b.key.text) }
	if slices.IsSortedFunc(n.entries, byKey) {
		return n.entries
	}
	entries := slices.Clone(n.entries)
	slices.SortFunc(entries, byKey)
	return entries
}

func plainText(b []byte, s string) []byte {
	quoted, _ := json.Marshal(s) // a string always has a JSON form
	return append(b, quoted...)
}

// verbatimText escapes ${, so that a template gives the text as it stands.
func verbatimText(b []byte, s string) []byte {
	return plainText(b, strings.ReplaceAll(s, "${", "$${"))
}

// template returns a node as a template, with the place of each string that holds an expression.
func (s *source) template(n *node) *workflow.Template {
	if n == nil {
		return nil
	}
	t := &workflow.Template{JSON: n.value(), At: n.at}
	t.Leaves = s.leaves(n, "", nil)
	return t
}

func (s *source) leaves(n *node, pointer string, leaves []workflow.LeafPosition) []workflow.LeafPosition {
	switch n.kind {
	case kindString:
		if holdsExpression(n.text) {
			leaves = append(leaves, workflow.LeafPosition{Pointer: pointer, At: s.place(n, 0)})
		}
	case kindList:
		for i, item := range n.items {
			leaves = s.leaves(item, pointer+"/"+strconv.Itoa(i), leaves)
		}
	case kindObject:
		for _, e := range n.sorted() {
			leaves = s.leaves(e.value, pointer+"/"+escape(e.key.text), leaves)
		}
	}
	return leaves
}

// holdsExpression reports whether a text has ${ that is not written $${.
func holdsExpression(text string) bool {
	for {
		i := strings.Index(text, "${")
		if i < 0 {
			return false
		}
		if i == 0 || text[i-1] != '$' {
			return true
		}
		text = text[i+2:]
	}
}

// bare returns the template of a place where a string is an expression even without braces.
func (s *source) bare(n *node) *workflow.Template {
	if n == nil || n.kind == kindList || n.kind == kindObject {
		return s.template(n)
	}
	x := s.expression(n)
	if x == nil {
		return nil
	}
	v, err := expr.Canonical(plainText(nil, "${"+x.Source+"}"))
	if err != nil {
		panic("dsl: a document always has a JSON form: " + err.Error())
	}
	at := x.At
	at.Column -= len("${") // so that the expression stands where the document has it
	return &workflow.Template{JSON: v, At: n.at, Leaves: []workflow.LeafPosition{{At: at}}}
}

// expression returns the expression of a node, with or without its braces, or nil where it is malformed.
func (s *source) expression(n *node) *workflow.Expr {
	if n == nil || n.kind == kindList || n.kind == kindObject || n.kind == kindNull {
		return nil
	}
	text, skip := n.text, 0
	if open := strings.Index(text, "${"); open >= 0 && strings.TrimSpace(text[:open]) == "" {
		inner, ok := expr.Braced(text)
		if !ok {
			return nil
		}
		skip = open + len("${")
		text = text[skip : skip+strings.Index(text[skip:], inner)+len(inner)]
	} else if bracesOutsideTexts(text) {
		return nil
	}
	trimmed := strings.TrimLeft(text, " \t\r\n")
	skip += len(text) - len(trimmed)
	trimmed = strings.TrimRight(trimmed, " \t\r\n")
	if trimmed == "" {
		return nil
	}
	return &workflow.Expr{Source: trimmed, At: s.place(n, skip)}
}

// place returns the place of a byte of a scalar's text.
func (s *source) place(n *node, offset int) workflow.Position {
	if n.style == stylePlain || n.style == styleSingle || n.style == styleDouble {
		at := n.at
		if n.style != stylePlain {
			at.Column++
		}
		// Mostly the document has the text as it stands, up to there and including that character.
		until := min(offset+1, len(n.text))
		begin := s.text.offset(at)
		if end := begin + until; end <= len(s.text.data) && s.text.data[begin:end] == n.text[:until] && !strings.ContainsAny(n.text[:until], "\\'\n") {
			at.Column += utf8.RuneCountInString(n.text[:offset])
			return at
		}
	}
	return s.text.places(n)[offset]
}
