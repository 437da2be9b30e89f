package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// flows are documents with how they end when every activity answers as the mocks say (by default with its input).
var flows = []struct {
	name, doc, input string
	fail             map[string]int // functions that fail their first attempts
	want             string
	calls            []string
}{
	{name: "parallel and join", doc: `
steps:
  a: { function: f, with: 1 }
  b: { function: f, with: 2 }
  c: { value: '${ steps.a.output + steps.b.output }' }
`, want: `Completed completed {"c":3}`},
	{name: "when skips one step alone", doc: `
steps:
  a: { function: f, when: input.no }
  b: { needs: [ a ], function: f, with: { a: '${ steps.a.output }', s: '${ steps.a.status }' } }
`, input: `{"no":false}`, want: `Completed completed {"b":{"a":null,"s":"skipped"}}`, calls: []string{"b"}},
	{name: "switch and dead paths", doc: `
steps:
  route: { switch: [ { when: input.n > 1, then: big }, { else: small } ] }
  big: { function: f, with: big }
  small: { function: f, with: small }
  more: { needs: [ small ], function: f }
  merge: { needs: [ big, more ], value: '${ steps.big.output }' }
`, input: `{"n":2}`, want: `Completed completed {"merge":"big"}`, calls: []string{"big"}},
	{name: "no branch fits", doc: `
steps:
  route: { switch: [ { when: input.n > 1, then: big } ] }
  big: { function: f, with: big }
  merge: { needs: [ big ], value: 1 }
`, input: `{"n":0}`, want: `Completed completed {"merge":null}`},
	{name: "match binds", doc: `
steps:
  kind:
    match: input.doc
    cases:
      - { like: { type: invoice, total: '${ value > 1000 }', id: $id }, then: big }
      - { like: { type: 'rec*' }, then: receipt }
      - { else: other }
  big: { function: f, with: big }
  receipt: { function: f, with: receipt }
  other: { function: f, with: other }
output: '${ [steps.big.output, steps.receipt.output, steps.other.output] }'
`, input: `{"doc":{"type":"receipt"}}`, want: `Completed completed [null,"receipt",null]`, calls: []string{"receipt"}},
	{name: "retry until it works", doc: `
steps:
  a: { function: f, retry: { attempts: 4, delay: 1s } }
`, fail: map[string]int{"f": 3}, want: `Completed completed {"a":"ok"}`, calls: []string{"a", "a", "a", "a"}},
	{name: "retries used up", doc: `
steps:
  a: { function: f, retry: { attempts: 2, delay: 1s } }
  b: { function: f, needs: [ a ] }
`, fail: map[string]int{"f": 9}, want: `Failed failed http.503`, calls: []string{"a", "a"}},
	{name: "caught with a value", doc: `
steps:
  a: { function: f, retry: { attempts: 1 }, on_error: [ { match: 'error.code == "http.503"', continue: { ok: false } } ] }
  b: { value: '${ [steps.a.output, steps.a.status, steps.a.error.code] }' }
`, fail: map[string]int{"f": 9}, want: `Completed completed {"b":[{"ok":false},"caught","http.503"]}`},
	{name: "caught by a step", doc: `
steps:
  a: { function: f, retry: { attempts: 1 }, on_error: [ { then: other } ] }
  other: { function: g, with: '${ steps.a.error.code }' }
  b: { function: h, with: '${ steps.a.output }' }
`, fail: map[string]int{"f": 9}, want: `Completed completed {"b":"http.503"}`, calls: []string{"a", "other", "b"}},
	{name: "stand-ins of stand-ins", doc: `
steps:
  a: { function: f, retry: { attempts: 1 }, on_error: [ { then: h } ] }
  h: { function: f, retry: { attempts: 1 }, on_error: [ { then: [ i, j ] } ] }
  i: { timer: { for: 1h } }
  j: { needs: [ i ], function: g, with: 1 }
  c: { value: '${ steps.a.output.j }' }
`, fail: map[string]int{"f": 9}, want: `Completed completed {"c":1}`},
	{name: "previous outside of the body", doc: `
steps:
  l: { loop: { max: 5, until: 'previous.?a.output.orValue(0) == 2', collect: '${ previous.?a.output.orValue(null) }', steps: { a: { value: '${ iteration }' } } } }
`, want: `Completed completed {"l":[null,1,2]}`},
	{name: "no error, nobody stands in", doc: `
steps:
  a: { function: h, with: 7, on_error: [ { then: other } ] }
  other: { function: g }
  b: { function: h, with: '${ steps.a.output }' }
`, want: `Completed completed {"b":7}`, calls: []string{"a", "b"}},
	{name: "need on failure", doc: `
steps:
  a: { function: f, retry: { attempts: 1 } }
  oops: { needs: [ { a: failed } ], function: g, with: '${ steps.a.error.code }' }
  fine: { needs: [ { a: ended } ], function: g, with: 1 }
`, fail: map[string]int{"f": 9}, want: `Completed completed {"fine":1,"oops":"http.503"}`},
	{name: "need on failure that does not come", doc: `
steps:
  a: { function: g }
  oops: { needs: [ { a: failed } ], function: g }
  fine: { needs: [ { a: ended } ], function: g, with: 1 }
`, want: `Completed completed {"fine":1,"oops":null}`, calls: []string{"a", "fine"}},
	{name: "join any with the rest cancelled", doc: `
steps:
  a: { function: g, with: a }
  b: { timer: { for: 1d } }
  c: { needs: [ a, b ], join: any, cancel_rest: true, value: '${ [steps.a.output, steps.b.status] }' }
`, want: `Completed completed {"c":["a","cancelled"]}`},
	{name: "join unreachable", doc: `
steps:
  a: { function: f, retry: { attempts: 1 } }
  b: { function: f, retry: { attempts: 1 } }
  c: { needs: [ a, b ], join: any, function: g }
`, fail: map[string]int{"f": 9}, want: `Failed failed join.unreachable`},
	{name: "join unreachable, caught", doc: `
steps:
  a: { function: f, retry: { attempts: 1 } }
  b: { function: f, retry: { attempts: 1 } }
  c: { needs: [ a, b ], join: any, function: g, on_error: [ { continue: none } ] }
`, fail: map[string]int{"f": 9}, want: `Completed completed {"c":"none"}`},
	{name: "join of two, computed", doc: `
steps:
  a: { function: g, with: a }
  b: { function: f, retry: { attempts: 1 } }
  c: { function: g, with: c }
  d: { needs: [ a, b, c ], join: '${ input.n }', value: done }
`, input: `{"n":2}`, fail: map[string]int{"f": 9}, want: `Completed completed {"d":"done"}`},
	{name: "vars and set", doc: `
vars: { n: '${ input.n }', list: [] }
steps:
  a: { set: { n: '${ vars.n + 1 }', list: { value: '${ vars.n }', reduce: append } } }
  b: { needs: [ a ], value: '${ [vars.n, vars.list] }' }
`, input: `{"n":4}`, want: `Completed completed {"b":[5,[4]]}`},
	{name: "fail and details", doc: `
steps:
  a: { fail: { code: order.invalid, message: 'no ${ input.x }', details: { x: 1 } } }
`, input: `{"x":"y"}`, want: `Failed failed order.invalid`},
	{name: "expression error fails the step", doc: `
steps:
  a: { function: g, with: '${ input.missing.field }', on_error: [ { continue: caught } ] }
`, want: `Completed completed {"a":"caught"}`},
	{name: "output that cannot be evaluated", doc: `
output: '${ input.missing.x }'
steps:
  a: { function: g }
`, want: `Failed failed expression.missing`},
	{name: "group", doc: `
steps:
  g: { group: { steps: { a: { function: g, with: 1 }, b: { needs: [ a ], function: g, with: '${ steps.a.output + input.n }' } } } }
  after: { value: '${ [steps.g.output.b, dyn(steps.g.output).a] }' }
`, input: `{"n":5}`, want: `Completed completed {"after":[6,1]}`, calls: []string{"g/a", "g/b"}},
	{name: "group fails, caught", doc: `
steps:
  g: { group: { steps: { a: { function: f, retry: { attempts: 1 } }, b: { timer: { for: 1d } } } }, on_error: [ { continue: no } ] }
`, fail: map[string]int{"f": 9}, want: `Completed completed {"g":"no"}`},
	{name: "foreach", doc: `
steps:
  each: { foreach: { items: '${ input.items }', as: x, collect: steps.sq.output, steps: { sq: { function: g, with: '${ x * x + index }' } } } }
`, input: `{"items":[1,2,3]}`, want: `Completed completed {"each":[1,5,11]}`, calls: []string{"each/0/sq", "each/1/sq", "each/2/sq"}},
	{name: "foreach of nothing", doc: `
steps:
  each: { foreach: { items: '${ input.items }', steps: { sq: { function: g } } } }
`, input: `{"items":[]}`, want: `Completed completed {"each":[]}`},
	{name: "foreach in groups of two, tolerant", doc: `
steps:
  each: { foreach: { items: [1,2,3,4], max_parallelism: 2, tolerate_failures: 1, steps: { sq: { when: item != 2, function: g, with: '${ item }' }, bad: { needs: [ sq ], when: item == 3, fail: { code: x.y } }, end: { needs: [ sq ], value: '${ item }' } }, collect: steps.end.output } }
`, want: `Completed completed {"each":[1,2,4]}`},
	{name: "foreach not tolerant", doc: `
steps:
  each: { foreach: { items: [1,2,3,4], steps: { bad: { when: item == 3, fail: { code: x.y } } } } }
`, want: `Failed failed x.y`},
	{name: "foreach until", doc: `
steps:
  each: { foreach: { items: [1,2,3,4], max_parallelism: 1, until: collected.size() >= 2, steps: { sq: { function: g, with: '${ item }' } } } }
`, want: `Completed completed {"each":[1,2]}`, calls: []string{"each/0/sq", "each/1/sq"}},
	{name: "loop with previous", doc: `
steps:
  poll: { loop: { until: steps.check.output >= 3, max: 10, delay: 10s, collect: steps.check.output, steps: { check: { function: g, with: '${ previous.?check.output.orValue(0) + 1 }' } } } }
`, want: `Completed completed {"poll":[1,2,3]}`, calls: []string{"poll/1/check", "poll/2/check", "poll/3/check"}},
	{name: "loop with while", doc: `
vars: { n: 2 }
steps:
  l: { loop: { while: vars.n > 0, max: 10, delay: 1m, steps: { down: { set: { n: '${ vars.n - 1 }' } } } } }
  end: { needs: [ l ], value: '${ vars.n }' }
`, want: `Completed completed {"end":0}`},
	{name: "loop reaches max", doc: `
steps:
  l: { loop: { until: false, max: 3, steps: { a: { value: '${ iteration }' } } } }
`, want: `Failed failed loop.max`},
	{name: "loop stops at max", doc: `
steps:
  l: { loop: { until: false, max: 3, on_max: stop, steps: { a: { value: '${ iteration }' } } } }
`, want: `Completed completed {"l":{"a":3}}`},
	{name: "race", doc: `
steps:
  first: { race: { quick: { steps: { p: { function: g, with: 1 } } }, late: { steps: { t: { timer: { for: 3d } } } } } }
`, want: `Completed completed {"first":{"output":1,"winner":"quick"}}`},
	{name: "race all failed", doc: `
steps:
  first: { race: { a: { steps: { p: { fail: { code: a.b } } } }, b: { steps: { q: { fail: { code: c.d } } } } } }
`, want: `Failed failed race.all_failed`},
	{name: "race where one fails", doc: `
steps:
  first: { race: { a: { steps: { p: { fail: { code: a.b } } } }, late: { steps: { t: { timer: { for: 3d } } } } } }
`, want: `Completed completed {"first":{"output":null,"winner":"late"}}`},
	{name: "nested", doc: `
steps:
  all: { foreach: { items: [1,2], as: x, collect: steps.inner.output, steps: { inner: { foreach: { items: [10,20], as: y, steps: { s: { function: g, with: '${ x * y + index }' } } } } } } }
`, want: `Completed completed {"all":[[10,21],[20,41]]}`},
	{name: "timer", doc: `
steps:
  t: { timer: { for: 2h } }
  u: { needs: [ t ], timer: { until: '2026-03-01T08:00:00Z' } }
  c: { needs: [ u ], timer: { cron: '0 9 * * MON', timezone: Europe/Stockholm } }
  end: { needs: [ c ], value: '${ format_time(steps.c.completed_at, "2006-01-02T15:04:05Z", "UTC") }' }
`, want: `Completed completed {"end":"2026-03-02T08:00:00Z"}`},
	{name: "on_exit after success and failure", doc: `
on_exit: [ bye, log ]
steps:
  a: { function: f, retry: { attempts: 1 } }
  b: { needs: [ a ], function: g }
  bye: { function: g, with: { o: '${ execution.outcome }', s: '${ steps.b.status }', f: '${ execution.failures.map(x, x.step) }' } }
  log: { fail: { code: ignored.code } }
`, fail: map[string]int{"f": 9}, want: `Failed failed http.503`, calls: []string{"a", "bye"}},
	{name: "on_exit with conditions", doc: `
on_exit: [ good, bad, last ]
steps:
  a: { function: f, retry: { attempts: 1 } }
  good: { needs: [ { a: completed } ], function: g }
  bad: { needs: [ { a: failed } ], function: g }
  last: { needs: [ a ], group: { steps: { x: { function: g, with: '${ steps.bad.status }' }, y: { needs: [ x ], function: g } } } }
`, fail: map[string]int{"f": 9}, want: `Failed failed http.503`, calls: []string{"a", "bad", "last/x", "last/y"}},
	{name: "compensation in reverse", doc: `
on_failure: compensate
steps:
  a: { function: g, with: 1, compensate: { function: u, with: '${ output }' } }
  b: { needs: [ a ], function: g, with: 2, compensate: { function: u, with: '${ output + steps.a.output }' } }
  c: { needs: [ b ], function: f, retry: { attempts: 1 }, compensate: { function: u, on: attempted } }
`, fail: map[string]int{"f": 9}, want: `Completed failed compensated http.503`, calls: []string{"a", "b", "c", "c!undo", "b!undo", "a!undo"}},
	{name: "compensation inside a foreach", doc: `
on_failure: compensate
steps:
  each: { foreach: { items: [1,2], max_parallelism: 1, steps: { a: { function: g, with: '${ item }', compensate: { function: u, with: '${ output + item }' } } } } }
  bad: { needs: [ each ], fail: { code: x.y } }
`, want: `Completed failed compensated x.y`, calls: []string{"each/0/a", "each/1/a", "each/1/a!undo", "each/0/a!undo"}},
	{name: "a group's compensation stands for those inside", doc: `
on_failure: compensate
steps:
  g: { group: { steps: { a: { function: g, compensate: { function: u } } } }, compensate: { function: u, with: whole } }
  bad: { needs: [ g ], fail: { code: x.y } }
`, want: `Completed failed compensated x.y`, calls: []string{"g/a", "g!undo"}},
	{name: "nothing to undo", doc: `
on_failure: compensate
steps:
  bad: { fail: { code: x.y } }
`, want: `Failed failed x.y`},
	{name: "limits.retries", doc: `
limits: { retries: 1 }
steps:
  a: { function: f, retry: { attempts: 5, delay: 1s } }
`, fail: map[string]int{"f": 9}, want: `Failed failed limits.retries`},
	{name: "workflow timeout", doc: `
limits: { timeout: 1h }
steps:
  a: { timer: { for: 2h } }
`, want: `Failed timed_out timeout.workflow`},
	{name: "wait timeout", doc: `
steps:
  a: { event: { type: Paid, timeout: 1h }, on_error: [ { match: 'error.code == "timeout.wait"', continue: late } ] }
`, want: `Completed completed {"a":"late"}`},
	{name: "timeouts of steps that wait", doc: `
steps:
  a: { timer: { for: 2h }, timeout: 1h, on_error: [ { continue: '${ error.code }' } ] }
  b: { timer: { for: 2h }, wait_timeout: 1h, on_error: [ { continue: '${ error.code }' } ] }
  c: { workflow: { name: other }, wait_timeout: 1h, on_error: [ { continue: '${ error.code }' } ] }
  d: { workflow: { name: other }, timeout: 1h, on_error: [ { continue: '${ error.code }' } ] }
  e: { human: { title: x }, timeout: 1h, on_error: [ { continue: '${ error.code }' } ] }
`, want: `Completed completed {"a":"timeout.activity","b":"timeout.wait","c":"timeout.wait","d":"timeout.activity","e":"timeout.activity"}`},
	{name: "group timeout", doc: `
steps:
  g: { group: { steps: { t: { timer: { for: 2h } }, u: { event: { type: X } } } }, timeout: 1h, on_error: [ { continue: late } ] }
`, want: `Completed completed {"g":"late"}`},
	{name: "max_parallelism", doc: `
limits: { max_parallelism: 2 }
steps:
  a: { function: g, with: 1 }
  b: { function: g, with: 1 }
  c: { function: g, with: 1 }
  d: { function: g, with: 1 }
  e: { value: '${ steps.a.output + steps.b.output + steps.c.output + steps.d.output }' }
`, want: `Completed completed {"e":4}`},
	{name: "emit", doc: `
steps:
  e: { emit: { type: Shipped, key: input.id, data: { n: 1 } } }
`, input: `{"id":7}`, want: `Completed completed {"e":null}`},
	{name: "keys and types that no store takes", doc: `
steps:
  a: { emit: { type: X, key: input.long }, on_error: [ { continue: '${ error.code }' } ] }
  b: { event: { type: X, key: input.long }, on_error: [ { continue: '${ error.code }' } ] }
  c: { emit: { type: '${ input.long }' }, on_error: [ { continue: '${ error.code }' } ] }
`, input: `{"long":"` + strings.Repeat("x", MaxName+1) + `"}`, want: `Completed completed {"a":"event.key","b":"event.key","c":"event.type"}`},
	{name: "continue as new", doc: `
steps:
  a: { function: g }
  c: { needs: [ a ], continue_as_new: { input: { n: '${ input.n + 1 }' } } }
  t: { timer: { for: 1d } }
`, input: `{"n":1}`, want: `Completed completed`},
	{name: "retried picks", doc: `
steps:
  s: { switch: [ { when: true, then: [ a, b ] }, { else: c } ] }
  a: { function: g, with: 1 }
  b: { function: g, with: 2 }
  c: { function: g, with: 3 }
`, want: `Completed completed {"a":1,"b":2,"c":null}`},
}

func TestFlows(t *testing.T) {
	for _, f := range flows {
		t.Run(f.name, func(t *testing.T) {
			r := &run{t: t, p: compile(t, f.doc), now: epoch, tries: map[string]int{}, mocks: map[string]func(workflow.RunActivity) workflow.ActivityResult{}}
			for name, times := range f.fail {
				r.failing(name, "http.503", times)
			}
			input := f.input
			if input == "" {
				input = "{}"
			}
			r.do(workflow.Start{Execution: "e1", Tenant: "acme", Workflow: "test", Definition: "1", Hash: "h", Input: workflow.Inline(workflow.Value(input))})
			r.work(100 * 24 * time.Hour)
			require.Equal(t, f.want, r.outcome(), r.story())
			if f.calls != nil {
				require.Equal(t, f.calls, r.calls, r.story())
			}
		})
	}
}
