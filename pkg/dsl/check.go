package dsl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// checker holds a document against the table of the language.
type checker struct {
	source *source
	sink   *sink
	// steps and nesting are counted against maxSteps and maxNesting.
	steps   int
	nesting int
	// schemas compiles the JSON Schemas of the document; compiled holds the outcome by canonical text.
	schemas  *jsonschema.Compiler
	compiled map[string]error
	// schemaNodes counts the values of all of them.
	schemaNodes int
	// word is the word whose value is being checked: its example is the way out where nothing better is known.
	word *word
}

// instead returns a suggestion, or the example of the word at hand.
func (c *checker) instead(suggestion string) string {
	if suggestion == "" && c.word != nil {
		return "write " + c.word.name + ": " + c.word.example
	}
	return suggestion
}

// mismatch reports a value of the wrong kind.
func (c *checker) mismatch(n *node, pointer, want, suggestion string) {
	c.sink.errorf(pointer, "dsl/type", c.instead(suggestion), "%s must be %s, not %s", c.about(pointer), want, c.shown(n))
}

// about names a place by its last word: "`timeout`", "entry 2 of `needs`", "step `charge`".
func (c *checker) about(pointer string) string {
	if pointer == "" {
		return "the document"
	}
	cut := strings.LastIndexByte(pointer, '/')
	parent, last := pointer[:cut], unescape(pointer[cut+1:])
	if parentNode := c.source.node(parent); parentNode != nil && parentNode.kind == kindList {
		if i, err := strconv.Atoi(last); err == nil {
			return fmt.Sprintf("entry %d of %s", i+1, c.about(parent))
		}
	}
	switch {
	case strings.HasSuffix(parent, "/steps"):
		return "step `" + clip(last) + "`"
	case strings.HasSuffix(parent, "/race"):
		return "branch `" + clip(last) + "`"
	}
	return "`" + clip(last) + "`"
}

// shown describes a value in a message.
func (c *checker) shown(n *node) string {
	switch n.kind {
	case kindNull, kindList, kindObject:
		return n.kind.String()
	case kindString:
		if n.text == "" {
			return "an empty text"
		}
		return fmt.Sprintf("%q", clip(n.text))
	}
	return n.kind.String() + " (" + clip(n.text) + ")"
}

// nearest returns the word with the fewest changes from a name, if there are few enough (one in three characters), or
// "". Separators and upper case do not count as changes: maxParallelism is max_parallelism.
func nearest(name string, words []string) string {
	folded := fold(name)
	if folded == "" || len(folded) > 64 {
		return ""
	}
	best, fewest := "", min(3, len(folded)/3)+1
	for _, w := range words {
		if d := distance(folded, fold(w), fewest); d < fewest {
			best, fewest = w, d
		}
	}
	return best
}

// Nearest is the word that was probably meant by a name which is none of them, or "".
func Nearest(name string, words []string) string { return nearest(name, words) }

func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r == '-' || r == ' ' || r == '.':
			return -1
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// distance is the number of insertions, deletions, changes and swaps of neighbours between two words (optimal string
// alignment), or more than limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// walkObjects calls visit for each mapping of the language once, in the order of the table.
func walkObjects(root shape, visit func(*object)) {
	seen := map[*object]bool{}
	var walk func(s shape)
	walk = func(s shape) {
		switch s := s.(type) {
		case *object:
			if seen[s] {
				return
			}
			seen[s] = true
			visit(s)
			for i := range s.words {
				walk(s.words[i].value)
			}
		case *list:
			walk(s.item)
		case branches:
			walk(s.item)
		case *dictionary:
			walk(s.value)
		case *variants:
			for _, v := range []shape{s.text, s.number, s.list, s.object} {
				if v != nil {
					walk(v)
				}
			}
		case body:
			walk(s.steps())
		case assignment:
			walk(reduceShape)
		}
	}
	walk(root)
}
