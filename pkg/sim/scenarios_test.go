package sim_test

import (
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
	children   []string
	outside    []sim.Outside
}

var cancel = sim.Outside{Within: 4 * time.Minute, OneIn: 3, Cancel: &workflow.Cancel{Origin: workflow.OriginUser, Mode: workflow.CancelImmediate}}

var documents = []document{
	{name: "chain", text: `
steps:
  a: { function: f }
  b: { needs: [a], function: f }
  c: { needs: [b], function: f, with: { fail: 2 }, retry: { attempts: 20, strategy: fixed, delay: 1s } }
  d: { needs: [c], function: f }`},
	{name: "diamond", outside: []sim.Outside{cancel}, text: `
steps:
  a: { function: f }
  b: { needs: [a], function: f }
  c: { needs: [a], function: f }
  d: { needs: [a], function: f }
  e: { needs: [b, c, d], function: f }`},
	{name: "any", text: `
steps:
  a: { function: f }
  b: { function: f }
  c: { needs: [a, b], join: any, cancel_rest: true, function: f }`},
	{name: "wait", outside: []sim.Outside{{Within: 10 * time.Minute, Event: &worker.Event{Type: "Paid"}}}, text: `
steps:
  a: { function: f }
  t: { needs: [a], timer: { for: 90s } }
  e: { needs: [t], event: { type: Paid, key: execution.id } }
  b: { needs: [e], function: f }`},
	{name: "events", outside: []sim.Outside{
		{Within: 10 * time.Minute, Event: &worker.Event{Type: "Part"}}, {Within: 10 * time.Minute, Event: &worker.Event{Type: "Part"}},
		{Within: 10 * time.Minute, Event: &worker.Event{Type: "Part"}}}, text: `
steps:
  one: { event: { type: Part, key: execution.id } }
  two: { needs: [one], event: { type: Part, key: execution.id } }
  b: { needs: [two], function: f }
  three: { needs: [b], event: { type: Part, key: execution.id } }`},
	{name: "signal", outside: []sim.Outside{{Within: 5 * time.Minute, Signal: &workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{Kind: "Go"}}}}, text: `
steps:
  a: { function: f }
  e: { needs: [a], event: { type: Go } }
  b: { needs: [e], function: f }`},
	{name: "human", outside: []sim.Outside{{Within: 5 * time.Minute, Decision: &workflow.TaskDecision{Step: "ok", Verdict: workflow.VerdictApprove, By: "ann"}}}, text: `
steps:
  a: { function: f }
  ok: { needs: [a], human: { title: Decide, notify: { function: f } } }
  b: { needs: [ok], function: f }`},
	{name: "race", outside: []sim.Outside{{Within: 2 * time.Minute, OneIn: 2, Event: &worker.Event{Type: "Paid"}}}, text: `
steps:
  first:
    race:
      paid: { steps: { p: { event: { type: Paid, key: execution.id } }, q: { needs: [p], function: f } } }
      late: { steps: { t: { timer: { for: 1m } }, u: { needs: [t], function: f, retry: { attempts: 50, strategy: fixed, delay: 1s } } } }
  b: { needs: [first], function: f }`},
	{name: "foreach", text: `
steps:
  each: { foreach: { items: '${ range(7) }', as: n, max_parallelism: 3, steps: { x: { function: f }, y: { needs: [x], function: f } } } }
  sum: { needs: [each], function: f }`},
	{name: "loop", text: `
steps:
  again: { loop: { until: iteration >= 3, max: 5, delay: 10s, steps: { x: { function: f } } } }
  z: { needs: [again], function: f }`},
	{name: "saga", text: `
on_failure: compensate
steps:
  a: { function: f, compensate: { function: undo, retry: { attempts: 50, strategy: fixed, delay: 1s } } }
  b: { needs: [a], function: f, compensate: { function: undo, retry: { attempts: 50, strategy: fixed, delay: 1s } } }
  c: { needs: [b], fail: { code: no.way } }`},
	{name: "parent", outside: []sim.Outside{cancel}, children: []string{`
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
	{name: "abandon", children: []string{`
dsl: wovyr/v1
name: loose
steps:
  x: { function: f }`}, text: `
steps:
  k: { workflow: { name: loose, wait: false, on_parent_close: abandon } }
  b: { needs: [k], function: f }`},
	{name: "late", text: `
steps:
  a: { function: f, schedule_timeout: 20s, on_error: [ { continue: late } ] }
  b: { needs: [a], function: f, timeout: 30s, on_error: [ { continue: slow } ] }
  c: { needs: [b], function: f }`},
	{name: "once", text: `
steps:
  a: { function: f, idempotent: false, on_error: [ { continue: unknown } ] }
  b: { needs: [a], function: f, idempotent: false, on_error: [ { continue: unknown } ] }
  c: { needs: [b], function: f, idempotent: true }`},
	{name: "bounded", text: `
limits: { timeout: 3m }
steps:
  a: { function: f }
  t: { needs: [a], timer: { for: 1h } }`},
	{name: "exit", outside: []sim.Outside{cancel}, text: `
on_exit: [bye]
steps:
  a: { function: f }
  b: { needs: [a], function: f }
  bye: { function: f }`},
}

func scenarios(t testing.TB, names ...string) []sim.Scenario {
	t.Helper()
	var out []sim.Scenario
	for _, d := range documents {
		if len(names) > 0 && !contains(names, d.name) {
			continue
		}
		s := sim.Scenario{Name: d.name, Input: workflow.Value("{}"), Outside: d.outside}
		for _, text := range append([]string{"dsl: wovyr/v1\nname: " + d.name + d.text}, d.children...) {
			def, diagnostics := dsl.Compile(d.name+".yaml", []byte(text))
			require.NotNil(t, def, "%s: %v", d.name, diagnostics)
			s.Definitions = append(s.Definitions, def)
		}
		out = append(out, s)
	}
	return out
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
