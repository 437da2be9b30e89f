package dsl

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// randomDocument draws a document that the table accepts.
func randomDocument(t *rapid.T) map[string]any {
	g := &generator{t: t, steps: 12}
	return g.object(workflowShape, 0).(map[string]any)
}

type generator struct {
	t     *rapid.T
	steps int // how many more to make
	names int
}

func (g *generator) maybe(label string, percent int) bool {
	return rapid.IntRange(0, 99).Draw(g.t, label) < percent
}

// object draws a mapping: the required words, one of each set that needs one, and some of the others.
func (g *generator) object(o *object, depth int) any {
	chosen := map[string]bool{}
	var choose func(name string)
	choose = func(name string) {
		for _, set := range append([][]string{o.one}, o.most...) {
			if slices.Contains(set, name) && slices.ContainsFunc(set, func(other string) bool { return chosen[other] }) {
				return
			}
		}
		w := o.word(name)
		if len(w.only) > 0 && !slices.ContainsFunc(w.only, func(other string) bool { return chosen[other] }) {
			return
		}
		chosen[name] = true
		for _, pair := range o.pairs {
			if pair[0] != name || chosen[pair[1]] {
				continue
			}
			if choose(pair[1]); !chosen[pair[1]] {
				delete(chosen, name)
			}
		}
	}
	if len(o.one) > 0 {
		choose(rapid.SampledFrom(o.one).Draw(g.t, "one of "+o.name))
	}
	for _, w := range o.words {
		if w.required {
			choose(w.name)
		}
	}
	for _, w := range o.words {
		if w.reserved == "" && !chosen[w.name] && !slices.Contains(o.one, w.name) && g.maybe(w.name, 25) {
			choose(w.name)
		}
	}
	made := map[string]any{}
	for _, w := range o.words {
		if chosen[w.name] {
			made[w.name] = g.word(&w, depth)
		}
	}
	return made
}

// word draws a value of a word: its example, or one built from the shape.
func (g *generator) word(w *word, depth int) any {
	if depth < 6 && g.maybe("built", 70) {
		if v, ok := g.shape(w.value, depth); ok {
			return v
		}
	}
	return plainOf(w.sample())
}

// shape draws a value of a shape that mappings are built of; false for any other.
func (g *generator) shape(s shape, depth int) (any, bool) {
	switch s := s.(type) {
	case *object:
		if s == itemsReadShape {
			return nil, false
		}
		return g.object(s, depth+1), true
	case branches:
		return g.branches(s.list, depth), true
	case *list:
		var items []any
		for range rapid.IntRange(max(1, s.min), max(2, s.min)).Draw(g.t, "items") {
			if item, ok := g.shape(s.item, depth); ok {
				items = append(items, item)
			}
		}
		return items, len(items) > 0
	case *dictionary:
		made := map[string]any{}
		for range rapid.IntRange(max(1, s.min), max(2, s.min)).Draw(g.t, "entries") {
			if value, ok := g.shape(s.value, depth); ok {
				made[g.name()] = value
			}
		}
		return made, len(made) >= max(1, s.min)
	case *variants:
		for _, v := range []shape{s.object, s.list} {
			if v != nil && s != itemsShape && s != needShape && g.maybe("variant", 50) {
				if made, ok := g.shape(v, depth); ok {
					return made, true
				}
			}
		}
	case body:
		made := map[string]any{}
		for range rapid.IntRange(1, 3).Draw(g.t, "steps") {
			if g.steps--; g.steps < 0 {
				break
			}
			made[g.name()] = g.object(stepShape, depth+1)
		}
		if len(made) == 0 {
			made[g.name()] = map[string]any{"value": 1}
		}
		return made, true
	}
	return nil, false
}

func (g *generator) branches(s *list, depth int) []any {
	var items []any
	for range rapid.IntRange(1, 3).Draw(g.t, "branches") {
		item := g.object(s.item.(*object), depth+1)
		items = append(items, item)
		if _, last := item.(map[string]any)["else"]; last {
			break
		}
	}
	return items
}

func (g *generator) name() string {
	g.names++
	return fmt.Sprintf("n%d", g.names)
}

func plainOf(n *node) any {
	var v any
	if err := json.Unmarshal(n.json(nil, plainText), &v); err != nil {
		panic(err)
	}
	return v
}

// place is one value in a document, which can be replaced or removed.
type place struct {
	holder any // map[string]any or []any
	key    string
	index  int
}

func placesOf(v any, all []place) []place {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = placesOf(v[key], append(all, place{holder: v, key: key}))
		}
	case []any:
		for i := range v {
			all = placesOf(v[i], append(all, place{holder: v, index: i}))
		}
	}
	return all
}

func (p place) set(v any) {
	switch holder := p.holder.(type) {
	case map[string]any:
		holder[p.key] = v
	case []any:
		holder[p.index] = v
	}
}

// mutate changes one place of a document.
func mutate(t *rapid.T, document map[string]any) {
	p := rapid.SampledFrom(placesOf(document, []place{})).Draw(t, "place")
	holder, mapping := p.holder.(map[string]any)
	switch change := rapid.IntRange(0, 3).Draw(t, "change"); {
	case change == 0 && mapping:
		delete(holder, p.key)
	case change == 1 && mapping:
		w := rapid.SampledFrom(allWords()).Draw(t, "word")
		holder[w.name] = plainOf(w.sample())
	case change == 2 && mapping:
		holder["no_such_word"] = 1
	default:
		p.set(rapid.SampledFrom([]any{nil, true, -1, 5, 2.5, "", "a text", "${ input.a }", "a ${ input.a } b", "30s", []any{}, []any{"a"}, []any{"a", "a"},
			[]any{map[string]any{}}, map[string]any{}, map[string]any{"a": 1}, map[string]any{"no name": "a"}}).Draw(t, "value"))
	}
}

func allWords() []*word {
	var all []*word
	walkObjects(workflowShape, func(o *object) {
		for i := range o.words {
			if o.words[i].reserved == "" {
				all = append(all, &o.words[i])
			}
		}
	})
	return all
}

func marshal(t require.TestingT, v any) []byte {
	data, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return data
}

// beyond are the codes of what the table, and so the schema, cannot say.
var beyond = []string{"dsl/conflict", "dsl/order", "dsl/schema", "dsl/key"}

// errorsOf are the errors that parse reports of what the schema can say too.
func errorsOf(data []byte) []string {
	k := newSink("random")
	parse("random", data, k)
	var all []string
	for _, d := range k.sorted() {
		if d.Severity == SeverityError && !slices.Contains(beyond, d.Code) {
			all = append(all, d.String()+" at "+d.Pointer)
		}
	}
	return all
}
