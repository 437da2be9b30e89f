package dsl

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	slugs := map[string]*object{}
	walkObjects(workflowShape, func(o *object) {
		require.NotEmpty(t, o.doc, o.name)
		require.True(t, strings.HasSuffix(o.doc, "."), "%s: a doc is a sentence: %s", o.name, o.doc)
		require.Nil(t, slugs[o.slug()], "two mappings are called %s", o.name)
		slugs[o.slug()] = o
		names := map[string]bool{}
		for i := range o.words {
			w := &o.words[i]
			at := o.name + "." + w.name
			require.False(t, names[w.name], at)
			names[w.name] = true
			require.True(t, strings.HasSuffix(w.doc, "."), "%s: a doc is a sentence: %s", at, w.doc)
			require.NotContains(t, w.doc, "\n", at)
			if w.reserved != "" {
				continue
			}
			require.NotEmpty(t, w.example, at)
			require.Equal(t, kindString == w.sample().kind || takesNull(w.value) || w.sample().kind != kindNull, true, at)
			for _, other := range w.only {
				require.NotNil(t, o.word(other), "%s stands beside %s, which is no word there", at, other)
			}
		}
		for _, set := range append([][]string{o.one}, o.most...) {
			for _, name := range set {
				require.NotNil(t, o.word(name), "%s.%s", o.name, name)
			}
		}
		for _, pair := range o.pairs {
			require.NotNil(t, o.word(pair[0]), "%s.%s", o.name, pair[0])
			require.NotNil(t, o.word(pair[1]), "%s.%s", o.name, pair[1])
		}
	})
	require.Greater(t, len(slugs), 35)
}

// Patterns are read by editors (ECMA 262) as well as by Go.
func TestPatternsAreForEditorsToo(t *testing.T) {
	var pattern func(v any)
	pattern = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if p, ok := v["pattern"].(string); ok {
				_, err := regexp.Compile(p)
				require.NoError(t, err)
				require.NotContains(t, p, `(?`+"i")
				require.NotRegexp(t, `\\[AzQEpP]`, p, "not known to ECMA 262")
			}
			for _, each := range v {
				pattern(each)
			}
		case []any:
			for _, each := range v {
				pattern(each)
			}
		}
	}
	var schema any
	require.NoError(t, json.Unmarshal(Schema(), &schema))
	pattern(schema)
}

// Every word of the table changes the definition: none is accepted and then forgotten.
func TestEveryWordMatters(t *testing.T) {
	seen := map[*object]bool{}
	count := 0
	var visit func(s shape, wrap func(any) any)
	visit = func(s shape, wrap func(any) any) {
		switch s := s.(type) {
		case *object:
			if seen[s] || s.reserved() {
				return
			}
			seen[s] = true
			for i := range s.words {
				w := &s.words[i]
				if w.reserved != "" || w.name == "dsl" { // there is but one version of the language
					continue
				}
				count++
				around := leastAround(s, w.name)
				requireMatters(t, s, w, around, wrap)
				visit(w.value, func(v any) any {
					with := maps.Clone(around)
					with[w.name] = v
					return wrap(with)
				})
			}
		case *list:
			visit(s.item, func(v any) any { return wrap([]any{v}) })
		case branches:
			visit(s.item, func(v any) any { return wrap([]any{v}) })
		case *dictionary:
			visit(s.value, func(v any) any {
				if s == raceShape {
					return wrap(map[string]any{"a": v, "b": v})
				}
				return wrap(map[string]any{"a": v})
			})
		case *variants:
			for _, v := range []shape{s.list, s.object} {
				if v != nil {
					visit(v, wrap)
				}
			}
		case body:
			visit(stepShape, func(v any) any { return wrap(map[string]any{"a": v}) })
		case assignment:
			visit(reduceShape, wrap)
		}
	}
	visit(workflowShape, func(v any) any { return v })
	require.Greater(t, count, 200)
}

// leastAround is the least mapping in which a word may stand, without the word.
func leastAround(o *object, name string) map[string]any {
	made := map[string]any{}
	w := o.word(name)
	add := func(other string) {
		if other != name {
			made[other] = plainOf(o.word(other).sample())
		}
	}
	for _, each := range o.words {
		if each.required {
			add(each.name)
		}
	}
	if len(w.only) > 0 {
		add(w.only[0])
	}
	for _, pair := range o.pairs {
		if pair[0] == name || made[pair[0]] != nil {
			add(pair[1])
		}
	}
	if len(o.one) > 0 && !slices.Contains(o.one, name) && !slices.ContainsFunc(o.one, func(other string) bool { return made[other] != nil }) {
		for _, other := range o.one {
			if !slices.ContainsFunc(o.most, func(set []string) bool { return slices.Contains(set, other) && slices.Contains(set, name) }) && other != "match" {
				add(other)
				for _, pair := range o.pairs {
					if pair[0] == other {
						add(pair[1])
					}
				}
				break
			}
		}
	}
	return made
}

func requireMatters(t *testing.T, o *object, w *word, around map[string]any, wrap func(any) any) {
	without := definitionOf(t, wrap(around))
	values := []any{plainOf(w.sample()), true, false, "47s", "other", "X-Other"}
	if c, ok := w.value.(*choice); ok {
		for _, option := range c.options {
			values = append(values, option)
		}
	}
	var errors []string
	for _, v := range values {
		with := maps.Clone(around)
		with[w.name] = v
		data := marshal(t, wrap(with))
		if errors = errorsOf(data); len(errors) == 0 && definitionOf(t, wrap(with)) != without {
			return
		}
	}
	require.Fail(t, "the word changes nothing", "%s.%s in %s\nlast errors: %q", o.name, w.name, marshal(t, wrap(around)), errors)
}

var positions = regexp.MustCompile(`"at":\{"line":\d+,"column":-?\d+\}`)

// definitionOf is what parse makes of a document, without places.
func definitionOf(t *testing.T, document any) string {
	def, _ := parse("test", marshal(t, document), newSink("test"))
	form, err := json.Marshal(def)
	require.NoError(t, err)
	return positions.ReplaceAllString(string(form), "")
}

func TestNearest(t *testing.T) {
	words := []string{"timeout", "schedule_timeout", "retry", "max_parallelism", "when", "with", "on_error"}
	for name, want := range map[string]string{
		"tiemout": "timeout", "timeuot": "timeout", "time_out": "timeout", "Timeout": "timeout", "timeouts": "timeout",
		"maxParallelism": "max_parallelism", "max-parallelism": "max_parallelism", "onError": "on_error", "on_eror": "on_error",
		"retyr": "retry", "wen": "when", "wiht": "with", "": "", "banana": "", "x": "", "___": "", strings.Repeat("timeout", 20): "",
	} {
		require.Equal(t, want, nearest(name, words), name)
	}
}
