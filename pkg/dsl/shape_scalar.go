package dsl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wovyr/wovyr/pkg/expr"
)

// scalar is one text, number or boolean.
type scalar struct {
	name string // "a duration"
	// kinds are the kinds of nodes accepted; empty: text only.
	kinds []nodeKind
	// dynamic accepts a string that is one expression; mixed also one with text around expressions.
	dynamic, mixed bool
	// problem says what is wrong with a fixed value and what to write instead; nil: nothing ever.
	problem func(value string) (wrong, instead string)
	// pattern is the ECMA 262 form of problem for the schema, as far as a pattern can say it.
	pattern  string
	min, max int // characters of a text; max 0: maxText
	// hint says what to write where another kind of value stands.
	hint string
	// verbatim keeps ${ as it stands: nothing in the text is an expression.
	verbatim bool
}

// maxText bounds texts that have no bound of their own, in characters.
const maxText = maxScalar

func (s *scalar) label() string {
	if s.dynamic && !s.mixed && s.name != "an expression" {
		return s.name + " or an expression"
	}
	return s.name
}

func (s *scalar) accepted() []nodeKind {
	if len(s.kinds) == 0 {
		return []nodeKind{kindString}
	}
	return s.kinds
}

func (s *scalar) check(c *checker, n *node, pointer string) {
	if n.kind == kindString && !s.verbatim && strings.Contains(n.text, "${") {
		switch {
		case s.mixed:
			return
		case s.dynamic:
			if _, ok := expr.Braced(n.text); !ok {
				c.sink.errorf(pointer, "dsl/expression", "write one expression: '${ … }'", "%s takes one expression without text around it", c.about(pointer))
			}
			return
		default:
			c.sink.errorf(pointer, "dsl/expression", "write a fixed value", "no expression can stand in %s", c.about(pointer))
			return
		}
	}
	if !slices.Contains(s.accepted(), n.kind) {
		hint := s.hint
		if hint == "" && n.kind != kindList && n.kind != kindObject && n.kind != kindNull {
			hint = "put it in quotes: '" + clip(n.text) + "'"
		}
		c.mismatch(n, pointer, s.label(), hint)
		return
	}
	length := utf8.RuneCountInString(n.text)
	most := s.max
	if most == 0 {
		most = maxText
	}
	switch {
	case n.kind != kindString:
	case length < s.min:
		c.sink.errorf(pointer, "dsl/value", c.instead(s.hint), "%s is empty", c.about(pointer))
		return
	case length > most:
		c.sink.errorf(pointer, "dsl/value", "shorten it", "%s has %d characters, more than %d", c.about(pointer), length, most)
		return
	}
	if s.problem == nil {
		return
	}
	if wrong, instead := s.problem(n.text); wrong != "" {
		c.sink.errorf(pointer, "dsl/value", instead, "%s: %s", c.about(pointer), wrong)
	}
}

// choice is one of a fixed set of words.
type choice struct {
	options []string
	// synonyms maps what people write by mistake to the right word.
	synonyms map[string]string
	dynamic  bool
}

func (s *choice) label() string {
	label := oneOf(s.options)
	if s.dynamic {
		label += ", or an expression"
	}
	return label
}

func (s *choice) check(c *checker, n *node, pointer string) {
	if s.dynamic && n.kind == kindString && strings.HasPrefix(n.text, "${") {
		if _, ok := expr.Braced(n.text); ok {
			return
		}
	}
	if n.kind != kindString || !slices.Contains(s.options, n.text) {
		instead := "write " + oneOf(s.options)
		if near := nearest(n.text, s.options); near != "" && n.kind == kindString {
			instead = "did you mean `" + near + "`?"
		} else if right := s.synonyms[n.text]; right != "" {
			instead = "write `" + right + "`"
		}
		c.sink.errorf(pointer, "dsl/value", instead, "%s must be %s, not %s", c.about(pointer), oneOf(s.options), c.shown(n))
	}
}

// truth is true or false.
type truth struct{}

func (truth) label() string { return "`true` or `false`" }

func (f truth) check(c *checker, n *node, pointer string) {
	if n.kind == kindBool {
		return
	}
	hint := "write true or false"
	switch strings.ToLower(n.text) {
	case "yes", "on", "y":
		hint = "write true: in YAML 1.2, " + n.text + " is a text"
	case "no", "off", "n":
		hint = "write false: in YAML 1.2, " + n.text + " is a text"
	case "true", "false":
		hint = "leave the quotes out"
	}
	c.mismatch(n, pointer, f.label(), hint)
}

// count is a whole number, or an expression that yields one.
type count struct {
	min, max int64
	fixed    bool // no expression
}

func (s *count) label() string {
	if s.fixed {
		return "a whole number"
	}
	return "a whole number or an expression"
}

func (s *count) check(c *checker, n *node, pointer string) {
	if !s.fixed && dynamic(c, n, pointer) {
		return
	}
	if n.kind != kindInt {
		hint := fmt.Sprintf("write a whole number from %d to %d", s.min, s.max)
		if !s.fixed {
			hint += ", or an expression in quotes: '${ … }'"
		}
		if n.kind == kindString && isDigits(n.text) {
			hint = "leave the quotes out"
		}
		c.mismatch(n, pointer, s.label(), hint)
		return
	}
	if i, _ := strconv.ParseInt(n.text, 10, 64); i < s.min || i > s.max {
		c.sink.errorf(pointer, "dsl/range", fmt.Sprintf("write a number from %d to %d", s.min, s.max), "%s is %d, which is not from %d to %d", c.about(pointer), i, s.min, s.max)
	}
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// number is a fixed number with or without a fraction.
type number struct {
	min, max float64
	dynamic  bool
}

func (s *number) label() string {
	label := fmt.Sprintf("a number from %v to %v", s.min, s.max)
	if s.dynamic {
		label += ", or an expression"
	}
	return label
}

func (s *number) check(c *checker, n *node, pointer string) {
	if s.dynamic && dynamic(c, n, pointer) {
		return
	}
	if n.kind != kindInt && n.kind != kindFloat {
		c.mismatch(n, pointer, s.label(), fmt.Sprintf("write a number from %v to %v", s.min, s.max))
		return
	}
	if f, _ := strconv.ParseFloat(n.text, 64); f < s.min || f > s.max {
		c.sink.errorf(pointer, "dsl/range", fmt.Sprintf("write a number from %v to %v", s.min, s.max), "%s is %s, which is not from %v to %v", c.about(pointer), n.text, s.min, s.max)
	}
}
