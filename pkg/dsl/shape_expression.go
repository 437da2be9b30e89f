package dsl

import (
	"slices"
	"strconv"
	"strings"

	"github.com/wovyr/wovyr/pkg/expr"
)

// dynamic reports whether a value is a string with expressions in it, and refuses text around the one expression.
func dynamic(c *checker, n *node, pointer string) bool {
	if n.kind != kindString || !strings.Contains(n.text, "${") {
		return false
	}
	if _, ok := expr.Braced(n.text); !ok {
		c.sink.errorf(pointer, "dsl/expression", "write one expression: '${ … }'", "%s takes one expression without text around it", c.about(pointer))
	}
	return true
}

// expression is a place where only an expression can stand, so its braces may be left out.
type expression struct{}

func (expression) label() string { return "an expression" }

func (e expression) check(c *checker, n *node, pointer string) {
	if n.kind == kindList || n.kind == kindObject || n.kind == kindNull {
		c.mismatch(n, pointer, e.label(), "write an expression, such as input.total > 1000")
		return
	}
	checkExpression(c, n, pointer)
}

func checkExpression(c *checker, n *node, pointer string) {
	if strings.TrimSpace(n.text) == "" {
		c.sink.errorf(pointer, "dsl/expression", "write an expression, such as input.total > 1000", "%s is empty", c.about(pointer))
		return
	}
	if !strings.Contains(n.text, "${") {
		return
	}
	inner, ok := expr.Braced(n.text)
	switch {
	case !ok && bracesOutsideTexts(n.text):
		c.sink.errorf(pointer, "dsl/expression", "leave the braces out and put text in quotes, as in \"order-\" + input.id", "%s takes one expression without text around it", c.about(pointer))
	case ok && strings.TrimSpace(inner) == "":
		c.sink.errorf(pointer, "dsl/expression", "write an expression, such as input.total > 1000", "%s is empty", c.about(pointer))
	}
}

// bracesOutsideTexts reports whether ${ stands in an expression outside of its texts.
func bracesOutsideTexts(source string) bool {
	quote := byte(0)
	for i := 0; i < len(source); i++ {
		switch c := source[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && strings.HasPrefix(source[i:], "${"):
			return true
		}
	}
	return false
}

// anything is a JSON value whose strings may hold expressions.
type anything struct {
	// bare means that a string is an expression even without braces.
	bare bool
	name string
}

func (s *anything) label() string {
	if s.name != "" {
		return s.name
	}
	if s.bare {
		return "an expression, or a value with expressions in it"
	}
	return "any value, with expressions in it"
}

func (s *anything) check(c *checker, n *node, pointer string) {
	if s.bare && n.kind == kindString {
		checkExpression(c, n, pointer)
	}
	if n.dynamicKeys() {
		c.fixedKeys(n, pointer)
	}
}

func dynamicKey(key string) bool {
	return strings.Contains(key, "${") && strings.Contains(strings.ReplaceAll(key, "$${", ""), "${")
}

// dynamicKeys reports whether a key somewhere in a value looks like an expression.
func (n *node) dynamicKeys() bool {
	return slices.ContainsFunc(n.items, (*node).dynamicKeys) ||
		slices.ContainsFunc(n.entries, func(e entry) bool { return dynamicKey(e.key.text) || e.value.dynamicKeys() })
}

// fixedKeys warns of keys of a value that look like expressions.
func (c *checker) fixedKeys(n *node, pointer string) {
	for i, item := range n.items {
		c.fixedKeys(item, pointer+"/"+strconv.Itoa(i))
	}
	for _, e := range n.entries {
		here := pointer + "/" + escape(e.key.text)
		if dynamicKey(e.key.text) {
			c.sink.keyWarnf(here, "dsl/expression-key", "make the whole map by one expression, as in '${ {input.key: 1} }'",
				"a key is fixed: the expression in %q stays as it stands", clip(e.key.text))
		}
		c.fixedKeys(e.value, here)
	}
}
