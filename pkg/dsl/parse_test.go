package dsl

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// parsed reads a document that must be free of errors of syntax.
func parsed(t *testing.T, document string) *workflow.Definition {
	t.Helper()
	k := newSink("test.yaml")
	def, _ := parse("test.yaml", []byte(document), k)
	require.Empty(t, k.sorted(), document)
	return def
}

// step reads one step, given as the lines or the flow mapping after its name.
func stepOf(t *testing.T, step string) workflow.Step {
	t.Helper()
	return parsed(t, "dsl: wovyr/v1\nname: test\nsteps:\n  it: "+step+"\n").Body.Steps[0]
}

func formOf(t *testing.T, v any) string {
	t.Helper()
	form, err := json.Marshal(v)
	require.NoError(t, err)
	return strings.NewReplacer(",}", "}", "{,", "{", ",,", ",").Replace(positions.ReplaceAllString(string(form), ""))
}

func TestShortForms(t *testing.T) {
	for _, test := range []struct{ name, short, long string }{
		{"handler as a name", "{ value: 1, on_error: other }", "{ value: 1, on_error: [ { then: [ other ] } ] }"},
		{"handler as a mapping", "{ value: 1, on_error: { continue: null } }", "{ value: 1, on_error: [ { continue: null } ] }"},
		{"then as a name", "{ switch: [ { when: input.a, then: b }, { else: c } ] }", "{ switch: [ { when: input.a, then: [ b ] }, { else: [ c ] } ] }"},
		{"braces around a condition", "{ value: 1, when: '${ input.a > 1 }' }", "{ value: 1, when: input.a > 1 }"},
		{"braces around a key", "{ event: { type: a, key: '${input.id}' } }", "{ event: { type: a, key: input.id } }"},
		{"one pattern", "{ event: { type: a, key: input.id } }", "{ event: { any: [ { type: a, key: input.id } ] } }"},
		{"timeout of a task", "{ human: { title: a, timeout: 2d } }", "{ human: { title: a }, wait_timeout: 2d }"},
		{"timeout of a wait", "{ event: { type: a, timeout: 2d } }", "{ event: { type: a }, wait_timeout: 2d }"},
		{"join all", "{ value: 1, needs: [ a ] }", "{ value: 1, needs: [ a ], join: all }"},
		{"default end", "{ value: 1, needs: [ b, { a: failed } ] }", "{ value: 1, needs: [ { a: failed }, b ] }"},
		{"days", "{ timer: { for: 1d12h } }", "{ timer: { for: 36h } }"},
		{"minutes", "{ timer: { for: 1.5m } }", "{ timer: { for: 90s } }"},
		{"sizes", "{ function: f, limits: { max_memory: 1GiB } }", "{ function: f, limits: { max_memory: 1024MiB } }"},
		{"numbers", "{ loop: { max: 0x10, steps: { a: { value: 1 } } } }", "{ loop: { max: 16, steps: { a: { value: 1 } } } }"},
		{"retry of the language", "{ function: f, retry: {} }", "{ function: f, retry: { attempts: 3, strategy: exponential, delay: 1s, jitter: 0 } }"},
		{"child of the language", "{ workflow: { name: a } }", "{ workflow: { name: a, wait: true, on_parent_close: cancel } }"},
		{"task of the language", "{ human: { title: a } }", "{ human: { title: a, on_reject: fail, on_timeout: fail } }"},
		{"item of the language", "{ foreach: { items: [ 1 ], steps: { a: { value: 1 } } } }", "{ foreach: { items: [ 1 ], as: item, steps: { a: { value: 1 } } } }"},
		{"undo of the language", "{ function: f, compensate: { function: g } }", "{ function: f, compensate: { function: g, on: completed } }"},
		{"order of keys in a value", "{ value: { b: 1, a: 2.0 } }", "{ value: { a: 2.0, b: 1 } }"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, formOf(t, stepOf(t, test.long)), formOf(t, stepOf(t, test.short)))
		})
	}
}

func TestPartsOfSteps(t *testing.T) {
	for _, test := range []struct {
		name, step string
		part       func(workflow.Step) any
		want       string
	}{
		{"a tolerance in percent", "{ foreach: { items: [ 1 ], tolerate_failures: 5%, steps: { a: { value: 1 } } } }",
			func(s workflow.Step) any { return s.Foreach.TolerateFailures }, `{"percent":5}`},
		{"a tolerance as a number", "{ foreach: { items: [ 1 ], tolerate_failures: 5, steps: { a: { value: 1 } } } }",
			func(s workflow.Step) any { return s.Foreach.TolerateFailures }, `{"count":{"n":5}}`},
		{"a tolerance as an expression", "{ foreach: { items: [ 1 ], tolerate_failures: '${ input.n }', steps: { a: { value: 1 } } } }",
			func(s workflow.Step) any { return s.Foreach.TolerateFailures }, `{"count":{"from":{"expr":"input.n"}}}`},
		{"a join of some", "{ value: 1, needs: [ a, b ], join: 2, cancel_rest: true }", func(s workflow.Step) any { return s.Join }, `{"mode":"count","count":{"n":2},"cancel_rest":true}`},
		{"a join of any", "{ value: 1, needs: [ a, b ], join: any }", func(s workflow.Step) any { return s.Join }, `{"mode":"any"}`},
		{"a join by expression", "{ value: 1, needs: [ a, b ], join: '${ input.n }' }", func(s workflow.Step) any { return s.Join }, `{"mode":"count","count":{"from":{"expr":"input.n"}}}`},
		{"a duration by expression", "{ timer: { for: '${ input.wait }' } }", func(s workflow.Step) any { return s.Timer }, `{"for":{"from":{"expr":"input.wait"}}}`},
		{"a function by name", "{ function: a.b }", func(s workflow.Step) any { return s.Call }, `{"name":"a.b","target":{"json":"a.b"}}`},
		{"a function by expression", "{ function: '${ input.f }' }", func(s workflow.Step) any { return s.Call },
			`{"target":{"json":"${ input.f }","leaves":[{"pointer":""}]}}`},
		{"a function by ARN", "{ function: { arn: 'arn:aws:lambda:eu-north-1:123456789012:function:price' } }", func(s workflow.Step) any { return s.Call },
			`{"target":{"json":{"arn":"arn:aws:lambda:eu-north-1:123456789012:function:price"}}}`},
		{"an output schema", "{ function: f, output: { schema: { type: object } } }", func(s workflow.Step) any { return s.Call.Output }, `{"type":"object"}`},
		{"an answer's schema is not in the target", "{ ai: { prompt: a, output: { schema: { const: '${ x' } } } }", func(s workflow.Step) any { return s.Call },
			`{"target":{"json":{"prompt":"a"}},"output":{"const":"${ x"}}`},
		{"a script as it stands", "{ script: { js: 'return `${input.a}`' }, with: { a: 1 } }", func(s workflow.Step) any { return s.Call },
			"{\"target\":{\"json\":{\"js\":\"return `$${input.a}`\"}},\"with\":{\"json\":{\"a\":1}}}"},
		{"a plain set", "{ set: { a: { value: 1 } } }", func(s workflow.Step) any { return s.Set }, `{"assign":[{"var":"a","value":{"json":{"value":1}}}]}`},
		{"a reduced set", "{ set: { b: { value: 1, reduce: sum }, a: null } }", func(s workflow.Step) any { return s.Set },
			`{"assign":[{"var":"b","value":{"json":1},"reduce":"sum"},{"var":"a","value":{"json":null}}]}`},
		{"a continue with null", "{ value: 1, on_error: [ { continue: null } ] }", func(s workflow.Step) any { return s.OnError }, `[{"continue":{"json":null}}]`},
		{"a null value", "{ value: null }", func(s workflow.Step) any { return s.Value }, `{"json":null}`},
		{"a key", "{ emit: { type: a, key: input.id } }", func(s workflow.Step) any { return s.Emit.Key }, `{"json":"${input.id}","leaves":[{"pointer":""}]}`},
		{"a key as a boolean", "{ emit: { type: a, key: true } }", func(s workflow.Step) any { return s.Emit.Key }, `{"json":"${true}","leaves":[{"pointer":""}]}`},
		{"a collected object", "{ loop: { max: 1, collect: { a: '${ b }', c: d }, steps: { a: { value: 1 } } } }", func(s workflow.Step) any { return s.Loop.Collect },
			`{"json":{"a":"${ b }","c":"d"},"leaves":[{"pointer":"/a"}]}`},
		{"a condition as a boolean", "{ value: 1, when: false }", func(s workflow.Step) any { return s.When }, `{"expr":"false"}`},
		{"texts that hold expressions", "{ value: [ 'a ${ b }', '$${ b }', '$', '$$${ b }', { 'x/y': '${b}' } ] }", func(s workflow.Step) any { return s.Value.Leaves },
			`[{"pointer":"/0"},{"pointer":"/4/x~1y"}]`},
		{"allowed names, sorted", "{ workflow: { name: '${ input.w }', allow: [ b, a ] } }", func(s workflow.Step) any { return s.Child.Allow }, `["a","b"]`},
		{"a version by number", "{ workflow: { name: a, version: 3 } }", func(s workflow.Step) any { return s.Child.Version }, `{"json":3}`},
		{"a compensation by a child", "{ function: f, compensate: { workflow: { name: a }, on: attempted } }", func(s workflow.Step) any { return s.Compensate },
			`{"kind":"workflow","child":{"name":{"json":"a"},"wait":true,"on_parent_close":"cancel"},"attempted":true}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, formOf(t, test.part(stepOf(t, test.step))))
		})
	}
}

func TestDefaultsGoToActivities(t *testing.T) {
	def := parsed(t, `
dsl: wovyr/v1
name: test
defaults: { timeout: 30s, retry: { attempts: 5 } }
steps:
  plain:   { function: f }
  own:     { function: f, timeout: 1m, retry: { delay: 2s } }
  timer:   { timer: { for: 1s } }
  child:   { workflow: { name: a } }
  each:    { foreach: { items: [ 1 ], steps: { inner: { http: { url: 'https://a.example' } } } } }
`)
	steps := map[string]workflow.Step{}
	for _, s := range append(def.Body.Steps, def.Body.Steps[4].Foreach.Body.Steps...) {
		steps[s.Name] = s
	}
	require.EqualValues(t, 30e9, steps["plain"].Timeout.Fixed)
	require.EqualValues(t, 5, steps["plain"].Retry.Attempts.Fixed)
	require.EqualValues(t, 60e9, steps["own"].Timeout.Fixed)
	require.EqualValues(t, 3, steps["own"].Retry.Attempts.Fixed, "a policy is taken as a whole")
	require.EqualValues(t, 2e9, steps["own"].Retry.Delay.Fixed)
	for _, name := range []string{"timer", "child", "each"} {
		require.Nil(t, steps[name].Timeout, name)
		require.Nil(t, steps[name].Retry, name)
	}
	require.EqualValues(t, 30e9, steps["inner"].Timeout.Fixed)
}

func TestPlacesOfExpressions(t *testing.T) {
	def := parsed(t, strings.Join([]string{
		"dsl: wovyr/v1",
		"name: test",
		"steps:",
		"  a:",
		"    when: '${  input.a }'",
		"    value: { b: 'x ${ y }', a: \"${ z }\" }",
		"  b:",
		"    when: >",
		"      input.a",
		"    value: 1",
		"  c: { event: { type: x, key: input.id } }",
	}, "\n"))
	require.Equal(t, workflow.Position{Line: 5, Column: 16}, def.Body.Steps[0].When.At)
	require.Equal(t, "input.a", def.Body.Steps[0].When.Source)
	require.Equal(t, workflow.Position{Line: 4, Column: 3}, def.Body.Steps[0].At)
	require.Equal(t, workflow.Position{Line: 6, Column: 12}, def.Body.Steps[0].Value.At)
	require.Equal(t, []workflow.LeafPosition{
		{Pointer: "/a", At: workflow.Position{Line: 6, Column: 33}},
		{Pointer: "/b", At: workflow.Position{Line: 6, Column: 18}},
	}, def.Body.Steps[0].Value.Leaves)
	require.Equal(t, workflow.Position{Line: 9, Column: 7}, def.Body.Steps[1].When.At)
	key := def.Body.Steps[2].Event.Any[0].Key
	require.Equal(t, workflow.Position{Line: 11, Column: 31}, key.At)
	require.Equal(t, workflow.Position{Line: 11, Column: 29}, key.Leaves[0].At, "where ${ would stand, so that the expression is in its place")
}

// parse goes on after every error, so that one pass finds all of them and names stay known.
func TestAllErrorsInOnePass(t *testing.T) {
	k := newSink("test.yaml")
	def, _ := parse("test.yaml", []byte(`
dsl: wovyr/v2
name: "a name"
lables: { a: 1 }
steps:
  one: { functoin: f, timeout: 30 }
  two:
  three: [ 1 ]
  four: { http: { url: 1 }, retry: { attempts: 0, strategy: quadratic } }
  five: { foreach: { items: input.items, steps: { inner: { timer: { for: soon } } } } }
`), k)
	var codes []string
	for _, d := range k.sorted() {
		codes = append(codes, strings.TrimPrefix(d.Code, "dsl/")+" "+d.Pointer)
		require.NotEmpty(t, d.Suggestion, d)
		require.NotZero(t, d.Line, d)
	}
	require.Equal(t, []string{
		"value /dsl", "value /name", "unknown-word /lables",
		"unknown-word /steps/one/functoin", "type /steps/one/timeout", "type /steps/two", "type /steps/three",
		"type /steps/four/http/url", "range /steps/four/retry/attempts", "value /steps/four/retry/strategy",
		"value /steps/five/foreach/items", "value /steps/five/foreach/steps/inner/timer/for",
	}, codes)
	var names []string
	for _, s := range def.Body.Steps {
		names = append(names, s.Name+" "+string(s.Kind))
	}
	require.Equal(t, []string{"one ", "two ", "three ", "four http", "five foreach"}, names)
}

func TestDiagnosticsAreBounded(t *testing.T) {
	k := newSink("test.yaml")
	parse("test.yaml", []byte("dsl: wovyr/v1\nname: a\nsteps: { a: { value: 1 } }\n"+strings.Repeat("\n", 3)+manyWords(5_000)), k)
	list := k.sorted()
	require.Len(t, list, maxDiagnostics+1)
	require.Equal(t, "dsl/too-many", list[maxDiagnostics].Code)
	require.Equal(t, "4800 more findings are not shown", list[maxDiagnostics].Message)
	require.True(t, k.failed())
}

func manyWords(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("word")
		b.WriteString(strings.Repeat("x", i%7))
		b.WriteString(string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676)) + ": 1\n")
	}
	return b.String()
}

func TestHash(t *testing.T) {
	a, diagnostics := Compile("a.yaml", []byte("dsl: wovyr/v1\nname: a\nsteps: { a: { value: 1 } }\n"))
	require.Empty(t, diagnostics)
	b, _ := Compile("b.yaml", []byte("dsl: wovyr/v1\nname: a\nsteps: { a: { value: 1 } } # the same\n"))
	c, _ := Compile("a.yaml", []byte("dsl: wovyr/v1\nname: a\nsteps: { a: { value: 2 } }\n"))
	require.Equal(t, Hash(a), Hash(b))
	require.NotEqual(t, Hash(a), Hash(c))
	require.Len(t, Hash(a), 64)
}

// TestHashIsOfTheContent: what nobody runs is no part of it, whatever the document; everything else is.
func TestHashIsOfTheContent(t *testing.T) {
	for _, file := range documentsIn(t, "valid") {
		def, _, data := compileFile(t, file)
		before := "# a comment\n\n"
		if data[0] == '{' {
			before = "\n\n" // JSON has no comments
		}
		moved, found := Compile("moved.yaml", append([]byte(before), bytes.ReplaceAll(data, []byte("\nsteps:"), []byte("\n\n# more\nsteps:"))...))
		require.NotNil(t, moved, "%s: %v", file, found)
		require.NotEqual(t, def.Body.Steps[0].At, moved.Body.Steps[0].At)
		require.Equal(t, Hash(def), Hash(moved), file)
		form, err := json.Marshal(def)
		require.NoError(t, err)
		Hash(def)
		same, err := json.Marshal(def)
		require.NoError(t, err)
		require.Equal(t, string(form), string(same), "the definition keeps its places")
	}
	hashes := map[string]string{}
	for _, with := range []string{"{ at: { line: 1, column: 2 } }", "{ at: { line: 2, column: 2 } }", "{}", "1", "'1'", "'${ input.at }'", "'${ input.at2 }'", "[ 1 ]", "null"} {
		def, found := Compile("a.yaml", []byte(preamble+"steps: { a: { function: f, with: "+with+" } }\n"))
		require.NotNil(t, def, "%v", found)
		require.Empty(t, hashes[Hash(def)], "%s is as %s", with, hashes[Hash(def)])
		hashes[Hash(def)] = with
	}
}

func TestJSONSchemasInDocuments(t *testing.T) {
	for schema, want := range map[string]string{
		"{ type: strng }":                         "dsl/schema /input/schema/type",
		"{ properties: [ a ] }":                   "dsl/schema /input/schema/properties",
		"{ required: a }":                         "dsl/schema /input/schema/required",
		"{ properties: { a: { minimum: x } } }":   "dsl/schema /input/schema/properties/a/minimum",
		"{ $ref: 'https://example.com/s.json' }":  "dsl/schema /input/schema/$ref",
		"{ $ref: 'file:///etc/passwd' }":          "dsl/schema /input/schema/$ref",
		"{ items: { $ref: other.json } }":         "dsl/schema /input/schema/items/$ref",
		"{ $ref: '#/$defs/none' }":                "dsl/schema /input/schema/$ref",
		"{ $id: 'https://example.com/s' }":        "dsl/schema /input/schema/$id",
		"{ $schema: 'https://example.com/meta' }": "dsl/schema /input/schema",
		"{ pattern: '(?=x)' }":                    "dsl/schema /input/schema/pattern",
		"text":                                    "dsl/type /input/schema",
		"[ 1 ]":                                   "dsl/type /input/schema",
		"{ type: object }":                        "",
		"true":                                    "",
		"{ $defs: { a: { type: string } }, items: { $ref: '#/$defs/a' } }": "",
		"{ properties: { $ref: { type: string } } }":                       "",
		"{ $ref: '#' }":                                                                  "dsl/schema /input/schema",
		"{ properties: { a: { $ref: '#' } } }":                                           "",
		"{ items: { anyOf: [ { type: string }, { $ref: '#' } ] } }":                      "",
		"{ anyOf: [ { type: string }, { $ref: '#' } ] }":                                 "dsl/schema /input/schema",
		"{ $ref: '#/$defs/a', $defs: { a: { not: { $ref: '#' } } } }":                    "dsl/schema /input/schema",
		"{ $ref: '#/%24defs/a', $defs: { a: { $ref: '#/%24defs/a' } } }":                 "dsl/schema /input/schema",
		"{ $ref: '#a', $defs: { x: { $anchor: a, $ref: '#a' } } }":                       "dsl/schema /input/schema",
		"{ $ref: '#a', $defs: { x: { $anchor: a, items: { $ref: '#' } } } }":             "",
		"{ properties: { a: { dependentSchemas: { b: { $ref: '#/properties/a' } } } } }": "dsl/schema /input/schema/properties/a",
		"{ default: { $ref: '#' }, enum: [ { $ref: '#' } ] }":                            "",
		"{ $schema: 'http://json-schema.org/draft-07/schema#', type: object }":           "",
	} {
		t.Run(schema, func(t *testing.T) {
			k := newSink("test.yaml")
			parse("test.yaml", []byte("dsl: wovyr/v1\nname: a\nsteps: { a: { value: 1 } }\ninput: { schema: "+schema+" }\n"), k)
			got := ""
			for _, d := range k.sorted() {
				got += d.Code + " " + d.Pointer
			}
			require.Equal(t, want, got, "%v", k.sorted())
		})
	}
}
