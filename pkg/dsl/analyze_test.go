package dsl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Documents of these tests leave out the first lines and carry marks: "#! unknown-step" at the end of a line says that this
// line has just this finding; two marks on a line stand for two findings. What has no mark has no finding.

const preamble = "dsl: wovyr/v1\nname: test\n"

var mark = regexp.MustCompile(`#! ([a-z -]+)$`)

// requireMarks compiles a document and compares its findings with its marks.
func requireMarks(t *testing.T, doc string) (*workflow.Definition, []Diagnostic) {
	t.Helper()
	data := []byte(preamble + strings.TrimLeft(doc, "\n"))
	var want, got []string
	for i, line := range strings.Split(string(data), "\n") {
		if m := mark.FindStringSubmatch(line); m != nil {
			for _, code := range strings.Fields(m[1]) {
				want = append(want, fmt.Sprintf("%d: dsl/%s", i+1, code))
			}
		}
	}
	def, found := Compile("test.yaml", data)
	for _, d := range found {
		got = append(got, fmt.Sprintf("%d: %s", d.Line, d.Code))
		require.NotEmpty(t, d.Suggestion, d)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		var all strings.Builder
		require.NoError(t, Render(&all, found, data))
		require.Equal(t, want, got, all.String())
	}
	return def, found
}

// rules are tables of documents by what they show.
func requireRules(t *testing.T, rules map[string]string) {
	for name, doc := range rules {
		t.Run(name, func(t *testing.T) { requireMarks(t, doc) })
	}
}

func TestNames(t *testing.T) {
	requireRules(t, map[string]string{
		"unknown needs": `
steps:
  a: { function: f, needs: [ b ] } #! unknown-step
  c: { function: f, needs: [ { d: failed }, a ] } #! unknown-step
`,
		"needs name steps of the same body": `
steps:
  a: { function: f }
  each:
    foreach:
      items: [ 1 ]
      steps:
        b: { function: f, needs: [ a ] } #! need-scope
        c: { function: f, needs: [ each ] } #! need-scope
        d: { function: f, needs: [ b, c ] }
  e: { function: f, needs: [ b ] } #! unknown-step
`,
		"then names steps of the same body": `
steps:
  a: { function: f }
  route: { switch: [ { when: input.x, then: [ a, nobody ] }, { else: route } ] } #! unknown-step cycle
  grp:
    group:
      steps:
        r: { match: input.x, cases: [ { like: 1, then: a }, { else: s } ] } #! pick-scope
        s: { function: f, on_error: [ { then: t }, ] }
        t: { function: f, on_error: u } #! unknown-step
`,
		"on_exit": `
on_exit: [ bye, nobody, last ] #! unknown-step
steps:
  a: { function: f, needs: [ bye ] } #! exit-order
  b: { function: f, with: { x: '${ steps.bye.output }' } } #! exit-order
  c: { switch: [ { when: input.x, then: bye } ] } #! exit-order
  bye: { function: f, needs: [ last, a ] } #! exit-order
  last: { function: f, with: { x: '${ steps.bye.output }', y: '${ steps.a.status }' } }
`,
		"a step of on_exit reads a later one": `
on_exit: [ bye, last ]
steps:
  a: { function: f }
  bye: { function: f, with: { x: '${ steps.last.output }' } } #! exit-order
  last: { function: f, on_error: bye } #! exit-order
`,
		"expressions read steps that they can see, local ones first": `
steps:
  a: { function: f }
  grp:
    group:
      steps:
        a: { function: f }
        b: { value: '${ steps.a.output }' }
        inner: { group: { steps: { c: { function: f, with: { x: '${ steps.b.output }', y: '${ steps.none.output }' } } } } } #! unknown-step
  d: { function: f, with: { x: '${ steps.b.output }' } } #! unknown-step
  e: { function: f, with: { x: '${ steps.grp.output.inner }' } }
  f: { function: f, with: { x: '${ steps }' } } #! dynamic-step
  g: { function: f, with: { x: '${ steps[input.x].output }' } } #! dynamic-step
`,
		"a step reads itself": `
steps:
  a: { function: f, with: { x: '${ steps.a.output }' } } #! cycle
  b:
    group:
      steps:
        c: { function: f, when: steps.b.status == 'failed' } #! cycle
`,
		"the item of a foreach": `
steps:
  a: { foreach: { items: '${ input.items }', as: steps, steps: { b: { function: f } } } } #! reserved-name
  c: { foreach: { items: '${ input.items }', as: i, steps: { d: { function: f, with: { x: '${ i.x + index }' } } } } }
  e: { function: f, with: { x: '${ i }', y: '${ index }' } } #! expression-name name-scope
`,
		"variables": `
vars: { n: 0 }
steps:
  a: { set: { n: 1, m: 2 } } #! unknown-var
  b: { value: '${ vars.k }', needs: [ a ] } #! expression-name
`,
	})
}

func TestPlacesOfNames(t *testing.T) {
	requireRules(t, map[string]string{
		"secrets stand only where an activity reads its input": `
on_failure: compensate
output: '${ secrets.a }' #! name-scope
steps:
  a:
    function: { url: 'https://x.example/${ secrets.a }' } #! secret-in-url
    with: { x: '${ secrets.b }' }
    when: secrets.a == "" #! name-scope
    retry: { delay: '${ secrets.a }' } #! name-scope
    on_error: { continue: '${ secrets.a }' } #! name-scope
    compensate: { function: f, with: { x: '${ secrets.c }' } }
  b: { value: '${ secrets.a }' } #! name-scope
  c: { http: { url: 'https://x.example', headers: { a: 'Bearer ${ secrets.d }' }, query: { k: '${ secrets.e }' } } } #! secret-in-url
  d: { human: { title: x, timeout: 1d, notify: { function: f, with: { x: '${ secrets.f }' } } } }
  e: { workflow: { name: w, with: { x: '${ secrets.a }' } } } #! name-scope
`,
		"callback, task": `
limits: { timeout: 1d }
on_failure: compensate
steps:
  a: { function: f, callback: true, with: { url: '${ callback.url }', token: '${ callback.token }' } }
  b: { function: f, with: { url: '${ callback.url }' } } #! name-scope
  c: { function: f, callback: true, when: callback.url != "", compensate: { function: f, with: { x: '${ callback.url }' } } } #! name-scope name-scope
  d: { human: { title: '${ task.url }', notify: { function: f, with: { x: '${ task.url }' } } } } #! name-scope
`,
		"output and error": `
on_failure: compensate
steps:
  a:
    function: f
    with: { x: '${ output }', y: '${ error }' } #! name-scope name-scope
    retry: { attempts: '${ error.retryable ? 5 : 1 }', delay: '${ error.details.after }' }
    on_error: [ { match: error.code == 'x', continue: '${ error.message }' }, { match: output.x == 1, then: b } ] #! name-scope
    compensate: { function: f, with: { x: '${ output.id }', y: '${ error.code }' }, retry: { delay: '${ output.wait }' }, timeout: '${ output.long }' }
  b: { function: f, when: error.code == 'x' } #! name-scope
`,
		"event": `
triggers:
  - event: { type: A, match: event.data.x > 0 && input.x, input: '${ steps.a.output }' } #! name-scope name-scope
  - event: { type: A, match: event.date.x > 0 } #! expression-name
  - schedule: { every: 1h, input: '${ vars.x }' } #! name-scope
  - webhook: { path: /a, verify: { bearer: k }, input: '${ event.data }' }
steps:
  a: { event: { type: B, key: event.key, match: event.data.x == input.x, timeout: 1d } } #! name-scope
`,
		"what exists before the first step": `
vars: { a: '${ input.x }', b: '${ execution.id }', c: '${ vars.a }', d: '${ steps.s.output }' } #! name-scope name-scope
limits: { max_parallelism: '${ input.n }', retries: '${ vars.a }', timeout: '${ input.t }' } #! name-scope
steps:
  s: { value: '${ vars }' }
`,
		"how it ended": `
on_exit: [ bye ]
output: { x: '${ execution.outcome }' } #! name-scope
steps:
  a: { function: f, with: { x: '${ execution.started_at }', y: '${ execution.duration }' } } #! name-scope
  bye:
    group:
      steps:
        b: { function: f, when: "execution.outcome != 'completed' || execution.compensated", with: { f: '${ execution.failures[0].error.code }' } }
        c: { function: f, with: { f: '${ execution.failures[0].err }' } } #! expression-name
`,
		"loops": `
steps:
  a:
    loop:
      while: iteration < 5 && coalesce(previous.b.output.more, true)
      max: 10
      delay: '${ duration(string(iteration) + "s") }'
      collect: '${ steps.b.output }'
      steps:
        b: { function: f, with: { n: '${ iteration }', last: '${ previous.?b.output }', x: '${ previous.c }' } } #! unknown-step
        d: { function: f, when: previous.?e.output.orValue(0) > 1, with: { x: '${ previous }' } } #! dynamic-step
        e: { foreach: { items: [ 1 ], steps: { g: { function: f, with: { x: '${ previous.?b.output }', y: '${ iteration + index }' } } } } }
  k: { loop: { while: iteration < 3, max: 3, steps: { i: { loop: { while: iteration < 3, max: 3, steps: { l: { function: f } } } } } } }
  h: { loop: { while: steps.i.output.more, max: 3, steps: { i: { function: f } } } } #! unknown-step
  j: { function: f, with: { x: '${ iteration }', y: '${ previous.b }' } } #! name-scope name-scope
`,
		"foreach": `
steps:
  a:
    foreach:
      items: '${ input.items }'
      until: collected.size() > 3
      collect: '${ {"i": index, "of": item.id, "x": steps.b.output} }'
      max_parallelism: '${ input.n }'
      tolerate_failures: '${ input.n }'
      steps:
        b: { function: f, with: { x: '${ collected }' } } #! name-scope
  c: { function: f, with: { x: '${ collected }' } } #! name-scope
`,
		"match": `
steps:
  a:
    match: input.x
    cases:
      - { like: { id: $id, n: '${ value > input.n }' }, when: id != "" && value.n < 10, then: b }
      - { like: { n: 2 }, when: id != "", then: b } #! expression-name
      - { else: b }
  b: { function: f, with: { x: '${ value }' } } #! name-scope
`,
		"joins": `
steps:
  a: { function: f }
  b: { function: f }
  c: { function: f, needs: [ a, b ], join: '${ steps.a.output.n }' } #! join-reads
  d: { group: { steps: { e: { function: f }, g: { function: f, needs: [ e ], join: '${ steps.a.output.n }' } } } }
  h: { function: f, join: any } #! join-needs
  i: { function: f, needs: [ a, b ], join: 3 } #! join-count
  j: { function: f, needs: [ a ], join: any } #! join-count
  k: { function: f, needs: [ a, b ], join: 2 } #! join-count
  m: { function: f, needs: [ a, p ], join: 2 }
  p: { function: f, when: input.x }
  q: { switch: [ { when: input.x, then: r }, { else: s } ] }
  r: { function: f }
  s: { function: f }
  t: { function: f, needs: [ r, s ], join: 2 } #! join-count
  u: { function: f, needs: [ a, r, s ], join: 2 }
  v: { function: f, needs: [ w ], join: any } #! join-count
  w: { function: f, when: false } #! never-runs
  l: { function: f, needs: [ a ], join: 2, with: { x: '${ steps.b.output }', y: '${ steps.c.output }' } }
`,
	})
}

func TestTypes(t *testing.T) {
	requireRules(t, map[string]string{
		"input": `
input:
  schema:
    type: object
    required: [ total ]
    properties: { total: { type: number }, vip: { type: boolean }, items: { type: array, items: { type: object, properties: { sku: { type: string } } } } }
steps:
  a: { function: f, when: input.total } #! expression-type
  b: { function: f, when: input.vip }
  c: { foreach: { items: '${ input.total }', steps: { d: { function: f } } } } #! expression-type
  e: { foreach: { items: '${ input.items }', as: it, steps: { d: { function: f, with: { s: '${ it.sku + 1 }', t: '${ it.sk }' } } } } } #! expression-type expression-name
  g: { function: f, timeout: '${ input.vip }', retry: { attempts: '${ input.items }' } } #! expression-type expression-type
  h: { timer: { until: '${ input.total }' } } #! expression-type
  i: { human: { title: '${ input.items }', assignees: '${ input.total }', timeout: 1d } } #! expression-type expression-type
`,
		"outputs": `
steps:
  fn: { function: f, output: { schema: { type: object, properties: { id: { type: string } } } } }
  any: { function: f }
  web: { http: { url: 'https://x.example' } }
  ask: { human: { title: x, timeout: 1d, on_reject: continue, form: { schema: { type: object, properties: { ok: { type: boolean } } } } } }
  ev: { event: { type: A, timeout: 1d, schema: { type: object, properties: { n: { type: integer } } } } }
  pick: { switch: [ { else: any } ] }
  kind: { match: steps.val.output, cases: [ { else: any } ] }
  start: { workflow: { name: w, wait: false } }
  val: { value: { n: 1, t: '${ steps.fn.output.id }' } }
  each: { foreach: { items: [ 1 ], collect: steps.v.output.n, steps: { v: { value: { n: '${ item + 1 }' } } } } }
  lp: { loop: { max: 2, on_max: stop, steps: { v: { value: { n: 1 } }, w: { value: '${ steps.v.output.n }' } } } }
  race: { race: { a: { steps: { x: { value: 1 } } }, b: { steps: { y: { value: 2 } } } } }
  grp: { group: { output: { total: '${ steps.v.output.n + 1 }' }, steps: { v: { value: { n: 1 } } } } }
  whole: { group: { steps: { v: { value: { n: 1 } }, w: { value: '${ steps.v.output.n }' } } } }
  good:
    value:
      - '${ steps.fn.output.id + "!" }'
      - '${ steps.whole.output.v.n + steps.whole.output.w + steps.lp.output.v.n }'
      - '${ steps.each.output.count + steps.each.output["failed"] + steps.each.output.ref.size() + steps.each.output.?count.orValue(1) }'
      - '${ steps.any.output.x.y }'
      - '${ steps.web.output.status == 200 && steps.web.output.body.x }'
      - '${ steps.ask.output.decision == "approved" && steps.ask.output.answer.ok && steps.ask.output.by != "" }'
      - '${ steps.ev.output.data.n + 1 }'
      - '${ "any" in steps.pick.output && steps.kind.output.n > 1 && steps.start.output.execution_id != "" }'
      - '${ steps.val.output.n + 1 }'
      - '${ steps.each.output[0] + 1 }'
      - '${ steps.lp.output.w + 1 }'
      - '${ steps.race.output.winner + "!" }'
      - '${ steps.grp.output.total + 1 }'
      - '${ steps.fn.status == "completed" && steps.fn.attempts > 1 && steps.fn.completed_at > steps.fn.started_at }'
  bad:
    value:
      - '${ steps.fn.output.idd }' #! expression-name
      - '${ steps.web.output.stat }' #! expression-name
      - '${ steps.ask.output.answer.okay }' #! expression-name
      - '${ steps.ev.output.data.n + "x" }' #! expression-type
      - '${ steps.pick.output.picked }' #! expression-type
      - '${ steps.kind.output.m }' #! expression-name
      - '${ steps.start.output.id }' #! expression-name
      - '${ steps.val.output.n + "x" }' #! expression-type
      - '${ steps.each.output + 1 }' #! expression-type
      - '${ steps.lp.output.x }' #! expression-name
      - '${ steps.whole.output.x }' #! expression-name
      - '${ steps.whole.output.v.m }' #! expression-name
      - '${ steps.each.output.counts }' #! expression-type
      - '${ steps.each.output["counts"] }' #! expression-type
      - '${ steps.each.output.ref + 1 }' #! expression-type
      - '${ steps.each.output[0].count }' #! expression-type
      - '${ steps.race.output.win }' #! expression-name
      - '${ steps.grp.output.v }' #! expression-name
      - '${ steps.fn.outputs }' #! expression-name
      - '${ steps.fn.error.kode }' #! expression-name no-error
  use: { function: f, with: { a: '${ steps.good.output }', b: '${ steps.bad.output }' } }
`,
		"a step that may be caught yields what stands in": `
steps:
  a: { value: { n: 1 }, on_error: { continue: { m: 2 } } }
  b: { function: f, with: { x: '${ steps.a.output.m }' } }
`,
		"variables keep the kind of their first value": `
vars: { n: 0, s: x, b: true, l: [], m: {}, any: null, from: '${ input.x }' }
steps:
  a: { set: { n: 1.5, s: y, b: false, l: [ 1 ], m: { k: 1 }, any: [ 1 ], from: 1 } }
  b: { needs: [ a ], set: { n: x } } #! var-type
  c: { needs: [ b ], set: { s: '${ 1 + 1 }' } } #! var-type
  d: { needs: [ c ], set: { l: { value: 1, reduce: append }, n: { value: 1, reduce: sum }, m: { value: { a: 1 }, reduce: merge } } }
  e: { needs: [ d ], set: { n: { value: 1, reduce: append }, s: { value: 1, reduce: sum }, l: { value: {}, reduce: merge } } } #! var-type var-type var-type
  g: { needs: [ e ], value: '${ vars.n + vars.s }' } #! expression-type
  h: { needs: [ e ], function: f, with: { x: '${ [vars.b, vars.m.q, vars.any.x, vars.from.y, vars.l[0], steps.g.output] }' } }
`,
		"expressions that always fail": `
steps:
  a: { function: f, when: '1 / 0 > 1' } #! expression-range
  b: { function: f, timeout: '${ "soon" }' } #! expression-range
  c: { value: '${ [1][5] }', when: input.x } #! expression-missing
  d: { function: f, with: { x: '${ steps.c.output }' } }
  e: { function: f, when: 'range(0, 3000).all(x, range(0, 3000).all(y, x + y >= 0))' } #! expression-cost
`,
		"syntax": `
steps:
  a: { function: f, when: 'input.x =' } #! expression-syntax
  b: { function: f, with: { x: '${ input. }' } } #! expression-syntax
  c: { match: input.x, cases: [ { like: { a: '${ value > }' }, then: b } ] } #! expression-syntax
  d: { match: input.x, cases: [ { like: { a: $input }, then: b } ] } #! expression-name
`,
	})
}

// Each finding stands at the very characters that it is about.
func TestPlaces(t *testing.T) {
	tests := []struct{ name, line, marked string }{
		{"plain", `  a: { function: f, when: input.x > 0 && steps.b.output }`, "b"},
		{"quoted", `  a: { function: f, when: 'input.x > 0 && steps.b.output' }`, "b"},
		{"braces", `  a: { function: f, when: '${ steps.b.output }' }`, "b"},
		{"optional", `  a: { function: f, when: "steps.?b.output.orValue(true)" }`, "b"},
		{"by index", `  a: { function: f, when: 'steps["b"].output' }`, "b"},
		{"in a text", `  a: { function: f, with: { s: 'see ${ input.x } and ${ steps.b.output }' } }`, "b"},
		{"bare", `  a: { loop: { max: 3, on_max: stop, collect: steps.b.output, steps: { c: { function: f } } } }`, "b"},
		{"bare with braces", `  a: { loop: { max: 3, on_max: stop, collect: "${ steps.b.output }", steps: { c: { function: f } } } }`, "b"},
		{"key of an event", `  a: { event: { type: A, timeout: 1d, key: steps.b.output } }`, "b"},
		{"unicode", `  a: { function: f, when: '"åäö" == input.x || steps.b.output' }`, "b"},
		{"pattern", `  a: { match: input.x, cases: [ { like: { n: '${ value > steps.b.output }' }, then: c } ] }`, "b"},
		{"a name that is not there", `  a: { function: f, with: { x: [ 1, '${ [1].map(i, i + nope) }' ] } }`, "nope"},
		{"a field that is not there", `  a: { function: f, when: "execution.ide == 'x'" }`, "ide"},
		{"a type", `  a: { event: { type: A, timeout: 1d, match: "event.id + 1 > 2" } }`, "+"},
		{"bare type", `  a: { match: "'x' + 1", cases: [ { like: 1, then: c } ] }`, "+"},
		{"secrets", `  a: { value: '${ 1 } and ${ secrets.x }' }`, "secrets"},
		{"needs", `  a: { function: f, needs: [ c, { b: failed } ] }`, "b"},
		{"then", `  a: { switch: [ { else: [ c, b ] } ] }`, "b"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			doc := preamble + "steps:\n" + test.line + "\n  c: { function: f }\n"
			_, found := Compile("test.yaml", []byte(doc))
			found = slices.DeleteFunc(found, func(d Diagnostic) bool { return d.Severity == SeverityWarning })
			require.Len(t, found, 1)
			line := []rune(test.line)
			require.Equal(t, 4, found[0].Line)
			require.Equal(t, test.marked, string(line[found[0].Column-1:found[0].EndColumn-1]), found[0].String())
		})
	}
}

func TestPlacesInBlocks(t *testing.T) {
	_, found := requireMarks(t, `
steps:
  a:
    function: f
    with:
      literal: |
        first ${ input.a }
        second ${ input.b +
           nope } #! expression-name
      folded: >-
        first
        ${ nope2 } #! expression-name
`)
	require.Equal(t, []int{12, 12}, []int{found[0].Column, found[1].Column})
	_, found = Compile("test.yaml", []byte(preamble+"steps:\n  a:\n    function: f\n    when: >\n      input.a &&\n      steps.c.output\n"))
	require.Len(t, found, 1)
	require.Equal(t, [3]int{8, 13, 14}, [3]int{found[0].Line, found[0].Column, found[0].EndColumn})
}

func TestMessages(t *testing.T) {
	tests := []struct{ doc, want string }{
		{`steps: { reserve: { function: f }, ship: { function: f, needs: [ reserv ] } }`,
			"there is no step `reserv` here; did you mean `reserve`?"},
		{`steps: { ship: { function: f, needs: [ x ] } }`,
			"there is no step `x` here; the only step here is `ship`"},
		{`steps: { g: { group: { steps: { x: { function: f } } } }, a: { value: '${ steps.x.output }' } }`,
			"there is no step `x` here; it stands inside `g`; outside of a body, only the output of the whole can be used: `g`"},
		{`steps: { l: { loop: { max: 2, while: steps.x.output, steps: { x: { function: f } } } } }`,
			"`while` is tested before the body runs, so there is no steps.x yet; read the iteration before: previous.?x.output"},
		{"vars: { total: 0 }\nsteps: { a: { set: { totl: 1 } } }",
			"there is no variable `totl`; did you mean `total`?"},
		{`steps: { a: { set: { total: 1 } } }`,
			"there is no variable `total`; declare it: vars: { total: null }"},
		{"vars: { x: 0, y: 0 }\nsteps: { a: { set: { total: 1 } } }",
			"there is no variable `total`; the variables are `x` and `y`; declare others under `vars`"},
		{`steps: { a: { function: f, when: secrets.x == 'y' } }`,
			"`secrets` exists only where an activity reads its input, so that the value reaches no history; " +
				"hand it to the call that needs it, as in headers: { Authorization: 'Bearer ${ secrets.pay }' }"},
		{`steps: { a: { function: f, needs: [ b ] }, b: { function: f, with: { x: '${ steps.c.output }' } }, c: { group: { steps: { d: { function: f, when: steps.a.output } } } } }`,
			"steps wait for each other: a → b → c → a; `a` needs `b` (3:37), `b` reads steps.c (3:83), `d` inside `c` reads steps.a (3:153); " +
				"take one of these out; what should run again stands in a loop"},
		{`steps: { a: { switch: [ { else: b } ] }, b: { function: f }, c: { function: f, needs: [ b ], on_error: d }, d: { function: f }, e: { function: f, needs: [ c ] }, f: { value: '${ steps.e.output }' }, g: { switch: [ { when: steps.f.output, then: d } ] } }`,
			"steps wait for each other: d → g → f → e → d; `d` runs if `g` picks it (3:239), `g` reads steps.f (3:229), `f` reads steps.e (3:185), " +
				"`e` needs `c` (3:156), `d` may stand in for `c` (3:104); take one of these out; what should run again stands in a loop"},
		{"vars: { n: 0 }\nsteps: { a: { set: { n: 1 } }, b: { set: { n: 2 } } }",
			"`b` and `a` could write vars.n at the same time; write needs: [ … ], so that one of the two comes first, or say at both how to combine: n: { value: …, reduce: sum }"},
		{"vars: { n: [] }\nsteps: { a: { foreach: { items: [ 1 ], steps: { b: { set: { n: [ 2 ] } } } } } }",
			"`a.b` could write vars.n for several items at the same time; write n: { value: …, reduce: append }, or max_parallelism: 1 at `a`"},
	}
	for _, test := range tests {
		t.Run(test.want, func(t *testing.T) {
			_, found := Compile("test.yaml", []byte(preamble+test.doc))
			var got []string
			for _, d := range found {
				if d.Severity == SeverityError {
					got = append(got, d.Message+"; "+d.Suggestion)
				}
			}
			require.Equal(t, []string{test.want}, got)
		})
	}
}
