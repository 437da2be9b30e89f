package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/sim"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// document is a workflow with what comes to it from outside.
type document struct {
	name, text string
	oneIn      int
	hangs      bool
	children   []string
	outside    []sim.Outside
	outcomes   []string
}

// patient is a retry policy that failures of the simulation do not exhaust.
const patient = `retry: { attempts: 50, strategy: fixed, delay: 1s }`

// operated skips a compensation that stopped because its worker was lost too often.
func operated(step string) sim.Outside {
	return sim.Outside{Within: time.Hour, Again: true, Move: &workflow.OperatorMove{Move: workflow.MoveRetry, Step: step}}
}

func cancel(mode workflow.CancelMode) sim.Outside {
	return sim.Outside{Within: 4 * time.Minute, OneIn: 3, Cancel: &workflow.Cancel{Origin: workflow.OriginUser, Mode: mode}}
}

func event(kind, key string) sim.Outside {
	return sim.Outside{Within: 10 * time.Minute, Event: &worker.Event{Type: kind, Key: key}}
}

func move(m workflow.Move, step string) sim.Outside {
	return sim.Outside{Within: 5 * time.Minute, OneIn: 2, Again: true, Move: &workflow.OperatorMove{Move: m, Step: step, Output: workflow.Inline(workflow.Value(`{}`))}}
}

// burst is one of several events that are sent at about the same time.
var burst = sim.Outside{Within: 20 * time.Second, Event: &worker.Event{Type: "Burst"}}

var documents = []document{
	{name: "chain", outcomes: []string{"completed", "failed"}, text: `
steps:
  a: { function: f }
  b: { needs: [a], function: f }
  c: { needs: [b], function: f, with: { fail: 2 }, retry: { attempts: 20, strategy: fixed, delay: 1s } }
  d: { needs: [c], function: f }`},
	{name: "classes", outcomes: []string{"completed", "failed"}, text: `
steps:
  a: { function: second }
  b: { needs: [a], function: outside }
  c: { needs: [b], function: f }
  d: { needs: [b], function: outside, ` + patient + ` }
  e: { needs: [c, d], function: second }`},
	{name: "diamond", outside: []sim.Outside{cancel(workflow.CancelImmediate)}, text: `
steps:
  a: { function: f }
  b: { needs: [a], function: f }
  c: { needs: [a], function: f }
  d: { needs: [a], function: outside }
  e: { needs: [b, c, d], function: f }`},
	{name: "any", text: `
steps:
  a: { function: f }
  b: { function: f }
  c: { needs: [a, b], join: any, cancel_rest: true, function: f }`},
	{name: "wait", outside: []sim.Outside{event("Paid", "")}, text: `
steps:
  a: { function: f }
  t: { needs: [a], timer: { for: 90s } }
  e: { needs: [t], event: { type: Paid, key: execution.id } }
  b: { needs: [e], function: f }`},
	{name: "rush", outside: []sim.Outside{{Within: 4 * time.Second, Event: &worker.Event{Type: "Soon"}}}, text: `
steps:
  a: { function: f }
  e: { needs: [a], event: { type: Soon, key: execution.id } }`},
	{name: "timers", text: `
steps:
  a: { function: f, ` + patient + ` }
  b: { function: f, ` + patient + ` }
  s: { needs: [a], timer: { for: 5m } }
  l: { needs: [b], timer: { for: 2h } }`},
	{name: "events", outside: []sim.Outside{event("Part", ""), event("Part", ""), event("Part", "")}, text: `
steps:
  one: { event: { type: Part, key: execution.id } }
  two: { needs: [one], event: { type: Part, key: execution.id } }
  b: { needs: [two], function: f }
  three: { needs: [b], event: { type: Part, key: execution.id } }`},
	{name: "emits", outcomes: []string{"completed", "failed"}, children: []string{`
dsl: wovyr/v1
name: listener
steps:
  first: { event: { type: Ping, key: execution.correlation_id } }
  x: { needs: [first], function: f, ` + patient + ` }
  second: { needs: [x], event: { type: Ping, key: execution.correlation_id } }`}, text: `
steps:
  k: { workflow: { name: listener } }
  a: { function: f, ` + patient + ` }
  p: { needs: [a], emit: { type: Ping, key: execution.id, data: { n: 1 } } }
  w: { needs: [a], event: { type: Ping, key: execution.id } }
  b: { needs: [p], function: outside, ` + patient + ` }
  q: { needs: [b], emit: { type: Ping, key: execution.id, data: { n: 2 } } }
  c: { needs: [w, q, k], function: f, ` + patient + ` }`},
	// What it emits starts another workflow, once: it hears from that, and then nothing more.
	{name: "triggers", outcomes: []string{"completed"}, children: []string{`
dsl: wovyr/v1
name: triggered
triggers: [ { event: { type: Ask, match: event.data.n == 1, input: { of: '${ event.key }', n: '${ event.data.n }' } } } ]
steps:
  x: { function: f, ` + patient + ` }
  tell: { needs: [ { x: ended } ], emit: { type: Answer, key: input.of, data: { n: '${ input.n }' } } }`}, text: `
steps:
  ask: { emit: { type: Ask, key: execution.id, data: { n: 1 } } }
  beside: { emit: { type: Ask, key: execution.id, data: { n: 2 } } }
  one: { needs: [ask], event: { type: Answer, key: execution.id } }
  more: { needs: [one], race: { again: { steps: { e: { event: { type: Answer, key: execution.id } } } }, late: { steps: { t: { timer: { for: 2h } } } } } }
  twice: { needs: [more], when: steps.more.output.winner == "again", fail: { code: twice } }`},
	{name: "anykey", outside: []sim.Outside{event("Loose", ""), event("Loose", ""), event("Loose", "")}, text: `
steps:
  one: { event: { type: Loose } }
  a: { needs: [one], function: f }
  two: { needs: [a], event: { type: Loose, key: execution.id } }`},
	{name: "burst", outside: []sim.Outside{burst, burst, burst, burst}, text: `
steps:
  one: { event: { type: Burst } }
  two: { needs: [one], event: { type: Burst, key: execution.id } }
  three: { needs: [two], event: { type: Burst, key: execution.id } }
  four: { needs: [three], event: { type: Burst, key: execution.id } }`},
	{name: "matched", outside: []sim.Outside{event("Kind", "shared"), event("Kind", "")}, text: `
steps:
  a: { function: f }
  e: { needs: [a], event: { type: Kind, match: event.key == execution.id } }
  b: { needs: [e], function: f }`},
	{name: "signal", outside: []sim.Outside{{Within: 5 * time.Minute, Signal: &workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{Kind: "Go"}}}}, text: `
steps:
  a: { function: f }
  e: { needs: [a], event: { type: Go } }
  b: { needs: [e], function: f }`},
	{name: "human", outside: []sim.Outside{{Within: 5 * time.Minute, Again: true, Decision: &workflow.TaskDecision{Step: "ok", Verdict: workflow.VerdictApprove, By: "ann"}}}, text: `
steps:
  a: { function: f }
  ok: { needs: [a], human: { title: Decide, assignees: ['user:ann'], notify: { function: f }, remind: [1m, 3m], escalate: [ { after: 2m, to: 'user:bob' } ], timeout: 20m, on_timeout: continue } }
  b: { needs: [ok], function: f }`},
	{name: "race", outside: []sim.Outside{{Within: 2 * time.Minute, OneIn: 2, Event: &worker.Event{Type: "Paid"}}, cancel(workflow.CancelImmediate)}, text: `
steps:
  first:
    race:
      paid: { steps: { p: { event: { type: Paid, key: execution.id, timeout: 3h } }, q: { needs: [p], function: f } } } # for late may lose its worker too often
      late: { steps: { t: { timer: { for: 1m } }, u: { needs: [t], function: f, ` + patient + ` } } }
  b: { needs: [first], function: f }`},
	{name: "foreach", text: `
steps:
  each: { foreach: { items: '${ range(7) }', as: n, max_parallelism: 3, steps: { x: { function: f }, y: { needs: [x], function: f } } } }
  sum: { needs: [each], function: f }`},
	{name: "until", text: `
steps:
  each: { foreach: { items: '${ range(9) }', as: n, max_parallelism: 4, until: collected.size() >= 3, collect: n, steps: { x: { function: f, ` + patient + ` } } } }
  sum: { needs: [each], function: f }`},
	{name: "loop", text: `
steps:
  again: { loop: { until: iteration >= 3, max: 5, delay: 10s, steps: { x: { function: f } } } }
  z: { needs: [again], function: f }`},
	{name: "nested", outside: []sim.Outside{cancel(workflow.CancelCompensated)}, text: `
on_failure: compensate
steps:
  block:
    group:
      steps:
        poll:
          loop:
            until: iteration >= 2
            max: 3
            steps:
              each:
                foreach:
                  items: '${ range(2) }'
                  as: n
                  steps:
                    quick:
                      race:
                        one: { steps: { x: { function: f } } }
                        two: { steps: { t: { timer: { for: 20s } } } }
                    y: { needs: [quick], function: f, compensate: { function: f, ` + patient + ` } }
        side: { function: f }
  z: { needs: [block], function: f }`},
	{name: "bulky", oneIn: 3, text: `
steps:
  a: { value: '${ range(20000) }' }
  b: { needs: [a], value: '${ range(20000) }' }
  c: { needs: [b], value: '${ range(20000) }' }
  d: { needs: [c], function: f, ` + patient + ` }
  e: { needs: [d], value: '${ steps.a.output.size() + steps.b.output.size() + steps.c.output.size() }' }`},
	{name: "wide", oneIn: 100, text: `
steps:
  each: { foreach: { items: '${ range(256) }', as: n, steps: { x: { value: '${ n }' }, y: { needs: [x], function: often, idempotent: true, ` + patient + ` } } } }
  z: { needs: [each], function: f }`},
	{name: "shards", oneIn: 80, outcomes: []string{"completed", "failed", "cancelled"}, outside: []sim.Outside{cancel(workflow.CancelImmediate)}, text: `
steps:
  each: { foreach: { items: '${ range(260) }', as: n, steps: { x: { function: often, idempotent: true, ` + patient + ` } } } }
  z: { needs: [each], function: f }`},
	{name: "unshard", oneIn: 100, outcomes: []string{"compensated", "failed"}, text: `
on_failure: compensate
steps:
  each: { foreach: { items: '${ range(258) }', as: n, steps: { x: { function: often, idempotent: true, ` + patient + `, compensate: { function: f, ` + patient + ` } } } } }
  z: { needs: [each], fail: { code: no.way } }`},
	{name: "saga", outcomes: []string{"compensated", "failed"}, outside: []sim.Outside{operated("a!undo"), operated("b!undo")}, text: `
on_failure: compensate
steps:
  a: { function: f, compensate: { function: f, ` + patient + ` } }
  b: { needs: [a], function: f, compensate: { function: f, ` + patient + ` } }
  c: { needs: [b], fail: { code: no.way } }`},
	{name: "family", outside: []sim.Outside{cancel(workflow.CancelCompensated)}, children: []string{`
dsl: wovyr/v1
name: member
on_failure: compensate
steps:
  x: { function: f, compensate: { function: f, ` + patient + ` } }
  y: { needs: [x], function: f }`, `
dsl: wovyr/v1
name: unmember
steps:
  x: { function: f, ` + patient + ` }`}, text: `
on_failure: compensate
steps:
  k: { workflow: { name: member }, compensate: { workflow: { name: unmember }, ` + patient + ` } }
  l: { needs: [k], workflow: { name: member }, compensate: { function: f, ` + patient + ` } }
  m: { needs: [l], function: f, with: { never: true } }`},
	{name: "parcels", outcomes: []string{"completed", "failed"}, outside: []sim.Outside{event("Fetch", "")}, children: []string{`
dsl: wovyr/v1
name: carrier
input: { schema: { type: object } }
steps:
  x: { function: f, with: { bulk: 2000, box: '${ input.box }' }, ` + patient + ` }
output: '${ {"box": input.box, "x": steps.x.output} }'`}, text: `
steps:
  a: { function: f, with: { bulk: 3000 }, ` + patient + ` }
  b: { needs: [a], function: outside, with: { bulk: 1500, carried: '${ steps.a.output }' }, ` + patient + ` }
  k: { needs: [b], workflow: { name: carrier, with: { box: '${ steps.a.output }' } } }
  p: { needs: [a], emit: { type: Sent, key: execution.id, data: '${ steps.a.output }' } }
  w: { needs: [a], event: { type: Sent, key: execution.id } }
  c: { needs: [k, w], function: f, with: { back: '${ steps.k.output }', came: '${ steps.w.output }' }, ` + patient + ` }
  each: { needs: [c], foreach: { items: '${ range(3) }', as: n, steps: { y: { function: f, with: { bulk: 2000, box: '${ steps.a.output }' }, ` + patient + ` } } } }
output: '${ steps.k.output }'`},
	{name: "taken", outcomes: []string{"failed"}, outside: []sim.Outside{{Within: time.Minute, Redrive: true}, {Within: 5 * time.Minute, Redrive: true}}, text: `
steps:
  a: { function: f, with: { bulk: 3000 }, ` + patient + ` }
  b: { needs: [a], function: f, with: { bulk: 2000, carried: '${ steps.a.output }' }, ` + patient + ` }
  c: { needs: [b], function: f, with: { never: true, carried: '${ steps.b.output }' } }`},
	{name: "volumes", outcomes: []string{"completed", "failed"}, text: `
input: { schema: { type: object } }
steps:
  a: { function: f, with: { bulk: 2000, carried: '${ input.?box.orValue(null) }' }, ` + patient + ` }
  more: { needs: [a], when: 'input.?n.orValue(0) < 2', continue_as_new: { input: { n: '${ input.?n.orValue(0) + 1 }', box: '${ steps.a.output }' } } }
  z: { needs: [more], function: f, with: { carried: '${ input.?box.orValue(null) }' }, ` + patient + ` }`},
	{name: "giveup", outside: []sim.Outside{{Within: time.Hour, Again: true, Move: &workflow.OperatorMove{Move: workflow.MoveFail, Step: "b"}},
		{Within: time.Hour, Again: true, Move: &workflow.OperatorMove{Move: workflow.MoveFail, Step: "c"}}, operated("a")}, text: `
on_failure: pause
steps:
  a: { function: f, ` + patient + ` }
  b: { needs: [a], function: f, with: { never: true }, on_error: [ { match: error.code == "sim.never", continue: none } ] }
  c: { needs: [a], function: f, with: { never: true } }
  d: { needs: [b], function: f, ` + patient + ` }`},
	{name: "parent", outside: []sim.Outside{cancel(workflow.CancelImmediate)}, children: []string{`
dsl: wovyr/v1
name: child
steps:
  x: { function: f }
  y: { needs: [x], function: f }`}, text: `
steps:
  a: { function: f }
  k: { needs: [a], workflow: { name: child } }
  l: { needs: [a], workflow: { name: child } }
  b: { needs: [k, l], function: f }`},
	{name: "graceful", outside: []sim.Outside{cancel(workflow.CancelGraceful), cancel(workflow.CancelImmediate)}, children: []string{`
dsl: wovyr/v1
name: gentle
steps:
  x: { function: f }
  t: { needs: [x], timer: { for: 2m } }
  y: { needs: [t], function: f }`}, text: `
steps:
  a: { function: f }
  k: { needs: [a], workflow: { name: gentle } }
  b: { needs: [k], function: f }`},
	{name: "abandon", children: []string{`
dsl: wovyr/v1
name: loose
steps:
  x: { function: f }
  t: { needs: [x], timer: { for: 1m } }`}, text: `
steps:
  k: { workflow: { name: loose, wait: false, on_parent_close: abandon } }
  l: { workflow: { name: loose, wait: false } }
  b: { needs: [k, l], function: f }`},
	{name: "orphan", text: `
steps:
  k: { workflow: { name: nobody }, on_error: [ { match: error.code == "workflow.unknown", continue: none } ] }
  b: { needs: [k], function: f }`},
	{name: "pages", outcomes: []string{"completed", "failed"}, text: `
input: { schema: { type: object } }
steps:
  a: { function: f, ` + patient + ` }
  more: { needs: [a], when: 'input.?n.orValue(0) < 2', continue_as_new: { input: { n: '${ input.?n.orValue(0) + 1 }' } } }
  z: { needs: [more], function: f, ` + patient + ` }`},
	{name: "late", text: `
steps:
  a: { function: f, schedule_timeout: 20s, on_error: [ { continue: late } ] }
  b: { needs: [a], function: f, timeout: 30s, on_error: [ { continue: slow } ] }
  c: { needs: [b], function: f }`},
	{name: "hangs", hangs: true, text: `
steps:
  a: { function: f, timeout: 45s, with: { hang: true }, ` + patient + `, on_error: [ { continue: slow } ] }
  b: { needs: [a], function: f, heartbeat: 15s, with: { beat: 5 }, ` + patient + ` }
  c: { needs: [b], function: f, heartbeat: 15s, with: { beat: 5, hang: true }, ` + patient + ` }
  d: { needs: [c], function: f }`},
	{name: "once", text: `
steps:
  a: { function: once, idempotent: false, on_error: [ { continue: unknown } ] }
  b: { needs: [a], function: once, idempotent: false, on_error: [ { continue: unknown } ] }
  c: { needs: [b], function: often, idempotent: true }`},
	{name: "only", text: `
steps:
  a: { function: outside, idempotent: false, on_error: [ { continue: unknown } ] }
  b: { needs: [a], function: outside, idempotent: false, on_error: [ { continue: unknown } ] }`},
	{name: "bounded", text: `
limits: { timeout: 3m }
steps:
  a: { function: f }
  t: { needs: [a], timer: { for: 1h } }`},
	{name: "exit", outside: []sim.Outside{cancel(workflow.CancelImmediate), cancel(workflow.CancelGraceful)}, text: `
on_exit: [bye, ciao]
steps:
  a: { function: f }
  b: { needs: [a], function: f }
  bye: { function: f }
  ciao: { function: outside }`},
	{name: "pause", outside: []sim.Outside{move(workflow.MoveRetry, "b"), move(workflow.MoveComplete, "b"), move(workflow.MoveSkip, "b"), move(workflow.MoveResume, ""),
		{Within: time.Hour, Again: true, Move: &workflow.OperatorMove{Move: workflow.MoveComplete, Step: "b"}},
		{Within: time.Hour, Again: true, Move: &workflow.OperatorMove{Move: workflow.MoveResume}}}, text: `
on_failure: pause
steps:
  a: { function: f, ` + patient + ` }
  b: { needs: [a], function: f, with: { never: true } }
  c: { needs: [b], function: f, ` + patient + ` }`},
	{name: "stuck", outside: []sim.Outside{{Within: 10 * time.Minute, Again: true, Move: &workflow.OperatorMove{Move: workflow.MoveSkip, Step: "a!undo"}}}, text: `
on_failure: compensate
steps:
  a: { function: f, compensate: { function: f, with: { never: true } } }
  b: { needs: [a], fail: { code: no.way } }`},
	{name: "redrive", outcomes: []string{"failed"}, outside: []sim.Outside{{Within: time.Minute, Redrive: true}, {Within: 5 * time.Minute, OneIn: 3, Redrive: true}}, text: `
steps:
  a: { function: f }
  b: { needs: [a], function: f }
  c: { needs: [b], fail: { code: no.way } }`},
	{name: "callback", text: `
steps:
  a: { function: f, callback: true, wait_timeout: 10m, with: { token: '${ callback.token }' }, ` + patient + ` }
  b: { needs: [a], function: outside, callback: true, with: { token: '${ callback.token }' }, ` + patient + ` }
  c: { needs: [b], function: f }`},
	{name: "agent", outside: []sim.Outside{cancel(workflow.CancelImmediate)}, text: `
steps:
  a: { ai: { model: default, prompt: think, tools: [f] }, ` + patient + ` }
  b: { needs: [a], function: f }`},
	{name: "slots", text: `
limits: { max_parallelism: 2 }
steps:
  a: { function: f }
  b: { function: outside }
  c: { function: second }
  d: { function: f, with: { fail: 1 }, ` + patient + ` }
  e: { needs: [a, b, c, d], join: 3, function: f }`},
}

func scenarios(t testing.TB, names ...string) []sim.Scenario {
	t.Helper()
	var out []sim.Scenario
	for _, d := range documents {
		if len(names) > 0 && !slices.Contains(names, d.name) {
			continue
		}
		s := sim.Scenario{Name: d.name, Input: workflow.Value("{}"), Outside: d.outside, OneIn: d.oneIn, Hangs: d.hangs, Outcomes: d.outcomes}
		for _, text := range append([]string{"dsl: wovyr/v1\nname: " + d.name + d.text}, d.children...) {
			def, diagnostics := dsl.Compile(d.name+".yaml", []byte(text))
			require.NotNil(t, def, "%s: %v", d.name, diagnostics)
			s.Definitions = append(s.Definitions, def)
		}
		out = append(out, s)
	}
	return out
}
