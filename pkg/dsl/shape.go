package dsl

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wovyr/wovyr/pkg/expr"
)

// shape is what may stand at one place of a document.
type shape interface {
	// check reports what is wrong with a value.
	check(c *checker, n *node, pointer string)
	// schema returns the JSON Schema of the place; named shapes become definitions of d.
	schema(d *definitions) map[string]any
	// label names the shape in messages and on the reference page: "a duration".
	label() string
}

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
		c.sink.errorf(pointer, "dsl/value", s.hint, "%s is empty", c.about(pointer))
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

// list is a list of one shape.
type list struct {
	item     shape
	min, max int
	what     string // "step names"
	dynamic  bool   // an expression may stand for the whole list
	unique   bool
	hint     string
}

func (s *list) label() string {
	label := "a list of " + s.what
	if s.dynamic {
		label += ", or an expression"
	}
	return label
}

func (s *list) check(c *checker, n *node, pointer string) {
	if s.dynamic && dynamic(c, n, pointer) {
		return
	}
	if n.kind != kindList {
		hint := s.hint
		if hint == "" && n.kind != kindObject && n.kind != kindNull && !strings.ContainsAny(n.text, "\n${") {
			hint = "write [ " + clip(n.text) + " ]"
		}
		c.mismatch(n, pointer, s.label(), hint)
		return
	}
	if len(n.items) < s.min {
		c.sink.errorf(pointer, "dsl/range", c.instead(""), "%s needs at least %s", c.about(pointer), plural(s.min, "entry", "entries"))
	}
	if len(n.items) > s.max {
		c.sink.errorf(pointer, "dsl/limit", "shorten the list, or split the workflow", "%s has %d entries, more than %d", c.about(pointer), len(n.items), s.max)
		return
	}
	seen := map[string]bool{}
	for i, item := range n.items {
		here := pointer + "/" + strconv.Itoa(i)
		if item.kind == kindNull && !takesNull(s.item) {
			c.sink.errorf(here, "dsl/type", "remove it", "%s is empty", c.about(here))
			continue
		}
		s.item.check(c, item, here)
		if s.unique && item.kind == kindString {
			if seen[item.text] {
				c.sink.errorf(here, "dsl/duplicate", "keep one of the two", "%s stands twice in the list", c.shown(item))
			}
			seen[item.text] = true
		}
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// dictionary is a mapping whose keys are names that the author gives.
type dictionary struct {
	key      *names
	value    shape
	min, max int
	what     string // "steps by name"
}

// names are keys that the author gives.
type names struct {
	what    string // "a step name"
	pattern *regexp.Regexp
	rule    string // "letters, digits and _, not starting with a digit"
	max     int
	// reserved says why a name that fits the pattern is refused all the same.
	reserved func(name string) string
	taken    []string // the reserved names, for the schema
}

func (s *dictionary) label() string { return "a mapping of " + s.what }

func (s *dictionary) check(c *checker, n *node, pointer string) {
	if n.kind != kindObject {
		c.mismatch(n, pointer, s.label(), "")
		return
	}
	if len(n.entries) < s.min {
		c.sink.keyErrorf(pointer, "dsl/range", c.instead(""), "%s needs at least %s", c.about(pointer), plural(s.min, "entry", "entries"))
	}
	if len(n.entries) > s.max {
		instead := "take some out"
		if s.max == 1 {
			instead = "write one mapping for each: [ { a: … }, { b: … } ]"
		}
		c.sink.keyErrorf(pointer, "dsl/limit", instead, "%s has %d entries, more than %d", c.about(pointer), len(n.entries), s.max)
		return
	}
	for _, e := range n.entries {
		here := pointer + "/" + escape(e.key.text)
		if wrong, instead := s.key.problem(e.key.text); wrong != "" {
			c.sink.keyErrorf(here, "dsl/name", instead, "%s", wrong)
		}
		if e.value.kind == kindNull && !takesNull(s.value) {
			c.sink.keyErrorf(here, "dsl/type", s.hintOf(e.key.text), "%s has no value", c.about(here))
			continue
		}
		s.value.check(c, e.value, here)
	}
}

// hintOf says what to write for an entry that has no value.
func (s *dictionary) hintOf(name string) string {
	if o, ok := s.value.(*object); ok && o.hint != "" {
		return o.hint
	}
	return "write a value, or take `" + clip(name) + "` out"
}

// problem says what is wrong with a name and what to write instead.
func (s *names) problem(name string) (wrong, instead string) {
	if len(name) > s.max {
		return fmt.Sprintf("%q is longer than %d characters", clip(name), s.max), "shorten it"
	}
	if !s.pattern.MatchString(name) {
		return fmt.Sprintf("%q is not %s: %s", clip(name), s.what, s.rule), s.repair(name)
	}
	if s.reserved != nil {
		if why := s.reserved(name); why != "" {
			return fmt.Sprintf("%q is not %s: %s", name, s.what, why), "write " + name + "_1 or another name"
		}
	}
	return "", ""
}

var notIdentifier = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// repair makes the nearest name that fits, for a suggestion.
func (s *names) repair(name string) string {
	fixed := strings.Trim(notIdentifier.ReplaceAllString(name, "_"), "_")
	if !s.pattern.MatchString("a_b") {
		fixed = strings.ReplaceAll(fixed, "_", "-")
	}
	if fixed != "" && fixed[0] >= '0' && fixed[0] <= '9' {
		fixed = "_" + fixed
	}
	if fixed == "" || !s.pattern.MatchString(fixed) {
		return "write a name such as charge_card"
	}
	return "write " + fixed
}

// variants is a place that takes different kinds of value.
type variants struct {
	text   shape // for strings, and for numbers and booleans where none below is set
	number shape
	list   shape
	object shape
	name   string
	hint   string
}

func (s *variants) label() string {
	if s.name != "" {
		return s.name
	}
	var labels []string
	for _, v := range []shape{s.text, s.number, s.list, s.object} {
		if v != nil {
			labels = append(labels, v.label())
		}
	}
	return strings.Join(labels, ", or ")
}

func (s *variants) check(c *checker, n *node, pointer string) {
	pick := s.text
	switch n.kind {
	case kindList:
		pick = s.list
	case kindObject:
		pick = s.object
	case kindInt, kindFloat:
		if s.number != nil {
			pick = s.number
		}
	}
	if pick == nil || n.kind == kindNull {
		c.mismatch(n, pointer, s.label(), s.hint)
		return
	}
	pick.check(c, n, pointer)
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
