package dsl

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

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
