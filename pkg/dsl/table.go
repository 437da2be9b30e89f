package dsl

import (
	"slices"
)

// The table of the language: every word, what may stand after it, whether it must be there, and what it means. The
// parser's checks, the JSON Schema (Schema) and the reference page (Reference) are all derived from it, so they agree.
//
// A shape is what may stand at one place (shape*.go); the words, family by family, in words_*.go.

// word is one key of a mapping.
type word struct {
	name     string
	value    shape
	required bool
	doc      string // a sentence or two for editors and the reference page
	example  string // its value in YAML
	fallback string // what holds where it is left out
	// reserved is set for a word of a later version: it is refused, and this says what to do instead.
	reserved string
	// only names the words of the same mapping beside one of which this one may stand; empty: beside any.
	only []string
}

// object is a mapping with a fixed set of words.
type object struct {
	name  string // of its definition in the schema, and of its section on the page
	doc   string
	words []word
	// one and most are sets of words that exclude each other; of the first exactly one must be there.
	one  []string
	most [][]string
	// pairs are words that need another one: {"on_dates", "cron"}.
	pairs [][2]string
	// hint says what to write where something else than a mapping stands.
	hint string
}

func (o *object) word(name string) *word {
	i := slices.IndexFunc(o.words, func(w word) bool { return w.name == name })
	if i < 0 {
		return nil
	}
	return &o.words[i]
}

func (o *object) label() string { return "a mapping" }

func (o *object) check(c *checker, n *node, pointer string) {
	if n.kind != kindObject {
		c.mismatch(n, pointer, o.label(), o.hint)
		return
	}
	if o.reserved() && !slices.ContainsFunc(n.entries, func(e entry) bool { return o.word(e.key.text) != nil }) {
		c.mismatch(n, pointer, "something else", o.hint)
		return
	}
	outer := c.word
	meant := map[string]bool{}
	for _, e := range n.entries {
		here := pointer + "/" + escape(e.key.text)
		c.word = outer
		switch w := o.word(e.key.text); {
		case w == nil:
			meant[c.unknown(o, n, e.key.text, here)] = true
		case w.reserved != "":
			c.sink.keyErrorf(here, "dsl/unsupported", w.reserved, "`%s` is reserved and not yet supported", w.name)
		case e.value.kind == kindNull && !takesNull(w.value):
			c.sink.keyErrorf(here, "dsl/type", "write "+w.name+": "+w.example, "`%s` has no value", w.name)
		default:
			c.word = w
			w.value.check(c, e.value, here)
		}
	}
	c.word = outer
	o.checkTogether(c, n, pointer, meant)
}

// reserved reports whether none of the words works yet.
func (o *object) reserved() bool {
	return !slices.ContainsFunc(o.words, func(w word) bool { return w.reserved == "" })
}

// checkTogether holds the words of one mapping against each other. meant are words that probably stand there misspelt.
func (o *object) checkTogether(c *checker, n *node, pointer string, meant map[string]bool) {
	for i := range o.words {
		w := &o.words[i]
		if w.required && !n.has(w.name) && !meant[w.name] {
			c.sink.keyErrorf(pointer, "dsl/missing", "add "+w.name+": "+w.example, "%s needs `%s`", c.about(pointer), w.name)
		}
		if len(w.only) > 0 && n.has(w.name) && !slices.ContainsFunc(w.only, n.has) && w.reserved == "" {
			instead := "take it out"
			if len(w.only) == 1 {
				instead = "add `" + w.only[0] + "`, or take it out"
			}
			c.sink.keyErrorf(pointer+"/"+escape(w.name), "dsl/misplaced", instead, "`%s` stands only beside %s", w.name, oneOf(w.only))
		}
	}
	if len(o.one) > 0 && !slices.ContainsFunc(o.one, n.has) && !o.stranger(n) {
		w := o.word(o.one[0])
		c.sink.keyErrorf(pointer, "dsl/missing", "add one of them, such as "+w.name+": "+w.example, "%s needs exactly one of %s", c.about(pointer), oneOf(o.one))
	}
	excluded := map[string]bool{}
	for _, set := range append([][]string{o.one}, o.most...) {
		c.exclude(n, pointer, set, excluded)
	}
	for _, pair := range o.pairs {
		if n.has(pair[0]) && !n.has(pair[1]) && !meant[pair[1]] && !excluded[pair[0]] {
			w := o.word(pair[1])
			c.sink.keyErrorf(pointer+"/"+escape(pair[0]), "dsl/missing", "add "+w.name+": "+w.example, "`%s` needs `%s` beside it", pair[0], pair[1])
		}
	}
}

// stranger reports whether a mapping holds a word that was refused: then a missing kind is probably that word.
func (o *object) stranger(n *node) bool {
	return slices.ContainsFunc(n.entries, func(e entry) bool {
		w := o.word(e.key.text)
		return w == nil || w.reserved != ""
	})
}

// exclude refuses the second and further words of a set, each once.
func (c *checker) exclude(n *node, pointer string, set []string, excluded map[string]bool) {
	first := ""
	for _, e := range n.entries {
		switch {
		case !slices.Contains(set, e.key.text):
		case first == "":
			first = e.key.text
		case excluded[e.key.text]:
		default:
			excluded[e.key.text] = true
			c.sink.keyErrorf(pointer+"/"+escape(e.key.text), "dsl/exclusive", "keep one of them", "`%s` and `%s` exclude each other", first, e.key.text)
		}
	}
}

func oneOf(words []string) string { return orList(quoted(words)) }
