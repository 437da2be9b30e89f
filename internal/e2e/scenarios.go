package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/client"
)

var scenarios = []scenario{
	{"control flow", true, controlFlow},
	{"retries and a compensation", true, saga},
	{"timer, event and person", true, waits},
	{"a child, and a child that fails", true, children},
	{"cancel", true, cancels},
	{"errors that are caught", false, caught},
	{"race", false, race},
	{"a rejected task", false, rejected},
	{"events that came early", false, early},
	{"large values", false, large},
	{"many at once", false, many},
	{"a wide foreach", false, wide},
	{"go on as new", false, goesOn},
	{"redrive", false, redrive},
	{"the same key twice", false, sameKey},
	{"time limit of a workflow", false, timeLimit},
	{"lists", false, lists},
}

func controlFlow(s *story) {
	w := s.named("flow")
	s.deploy(`
dsl: wovyr/v1
name: ` + w + `
vars: { sum: 0 }
output: '${ {"route": steps.join.output, "sum": vars.sum, "squares": steps.each.output, "pages": steps.poll.output, "group": steps.block.output.b.n} }'
steps:
  route: { switch: [ { when: input.total > 1000, then: big }, { else: small } ] }
  big: { function: std.echo, with: { size: big } }
  small: { function: std.echo, with: { size: small } }
  skipped: { when: input.total < 0, function: std.echo }
  join: { needs: [ { big: ended }, { small: ended } ], value: '${ steps.big.status + "/" + steps.small.status + "/" + steps.skipped.status }' }
  each: { foreach: { items: '${ range(5) }', as: i, max_parallelism: 2, collect: steps.sq.output.v, steps: { sq: { function: std.echo, with: { v: '${ i * i }' } } } } }
  poll: { loop: { until: steps.page.output.n == 3, max: 10, collect: steps.page.output.n, steps: { page: { function: std.echo, with: { n: '${ iteration }' } } } } }
  block: { group: { steps: { a: { function: std.echo, with: { n: 1 } }, b: { needs: [ a ], function: std.echo, with: { n: '${ steps.a.output.n + 1 }' } } } } }
  add: { needs: [ each ], set: { sum: '${ sum(steps.each.output) }' } }
`)
	id := s.start(w, `{"total": 1200}`)
	s.output(s.ended(id, "completed"), `{"route":"completed/skipped/skipped","sum":30,"squares":[0,1,4,9,16],"pages":[1,2,3],"group":2}`)
	s.verified(id)
}

func saga(s *story) {
	w := s.named("saga")
	s.deploy(`
dsl: wovyr/v1
name: ` + w + `
on_failure: compensate
on_exit: [ tell ]
steps:
  reserve: { function: std.echo, with: { id: r1 }, compensate: { function: std.echo, with: { release: '${ output.id }' } } }
  charge:
    needs: [ reserve ]
    function: std.fail
    with: { code: bank.busy, category: external, message: busy, retryable: true, times: 2 }
    retry: { attempts: 5, strategy: fixed, delay: 500ms }
    compensate: { function: std.echo, with: { refund: true } }
  ship: { needs: [ charge ], function: std.fail, with: { code: carrier.refused, message: no, retryable: false } }
  tell: { function: std.echo, with: { outcome: '${ execution.outcome }' } }
`)
	id := s.start(w, `{}`)
	e := s.ended(id, "compensated")
	require.Equal(s, "carrier.refused", e.Error.Code)
	attempts := 0
	for _, event := range s.history(id) {
		if event.Type == "ActivityStarted" && event.Step == "charge" {
			attempts++
		}
	}
	require.Equal(s, 3, attempts)
	s.verified(id)
}

func waits(s *story) {
	w, key := s.named("waits"), s.named("key")
	s.deploy(`
dsl: wovyr/v1
name: ` + w + `
output: '${ {"paid": steps.paid.output.data.sum, "by": steps.approve.output.answer.ok} }'
steps:
  nap: { timer: { for: 2s } }
  paid: { needs: [ nap ], event: { type: Paid, key: '${ input.key }', match: event.data.sum > 10 } }
  approve: { needs: [ paid ], human: { title: 'Send ${ input.key }?', form: { schema: { type: object, required: [ ok ] } } } }
`)
	id := s.start(w, fmt.Sprintf(`{"key":%q}`, key))
	s.until(id, "it waits for the event", func(e client.Execution) bool { return waitsFor(e, "event") })
	require.NoError(s, s.Client.Publish(s.ctx, client.Signal{ID: key + "/1", Type: "Paid", Key: key, Data: json.RawMessage(`{"sum":5}`)}))
	require.NoError(s, s.Client.Publish(s.ctx, client.Signal{ID: key + "/2", Type: "Paid", Key: key, Data: json.RawMessage(`{"sum":50}`)}))
	e := s.until(id, "it waits for a person", func(e client.Execution) bool { return len(e.Tasks) == 1 })
	require.Equal(s, "Send "+key+"?", e.Tasks[0].Title)
	require.NoError(s, s.Client.Decide(s.ctx, id, "approve", client.Decision{Verdict: "approve", Answer: json.RawMessage(`{"ok":true}`), By: "ann"}))
	s.output(s.ended(id, "completed"), `{"paid":50,"by":true}`)
	s.verified(id)
}

func waitsFor(e client.Execution, what string) bool {
	for _, reason := range e.Waiting {
		if strings.Contains(reason, what) {
			return true
		}
	}
	return false
}

func children(s *story) {
	parent, child := s.named("parent"), s.named("child")
	s.deploy(`
dsl: wovyr/v1
name: `+child+`
output: '${ {"twice": steps.a.output.n * 2} }'
steps:
  a: { function: std.echo, with: { n: '${ input.n }' } }
  check: { needs: [ a ], when: input.n < 0, fail: { code: negative, message: it is negative } }
`, `
dsl: wovyr/v1
name: `+parent+`
output: '${ {"good": steps.good.output.twice, "bad": steps.bad.output} }'
steps:
  good: { workflow: { name: `+child+`, with: { n: 21 } } }
  bad: { workflow: { name: `+child+`, with: { n: -1 } }, on_error: [ { match: error.code == "negative", continue: none } ] }
`)
	id := s.start(parent, `{}`)
	s.output(s.ended(id, "completed"), `{"good":42,"bad":"none"}`)
	s.verified(id)
	s.output(s.ended(id+"/good/1", "completed"), `{"twice":42}`) // an ID with slashes gets through every gateway
	s.verified(id + "/good/1")
}

func cancels(s *story) {
	w := s.named("cancelled")
	s.deploy(`
dsl: wovyr/v1
name: ` + w + `
steps:
  reserve: { function: std.echo, with: { id: 1 }, compensate: { function: std.echo, with: { undo: '${ output.id }' } } }
  wait: { needs: [ reserve ], timer: { for: 300d } }
`)
	plain, undone := s.start(w, `{}`), s.start(w, `{}`)
	for _, id := range []string{plain, undone} {
		s.until(id, "it waits for its timer", func(e client.Execution) bool { return e.Status == "waiting" })
	}
	require.NoError(s, s.Client.Cancel(s.ctx, plain, client.CancelRequest{Reason: "test"}))
	require.NoError(s, s.Client.Cancel(s.ctx, undone, client.CancelRequest{Mode: "compensated"}))
	s.ended(plain, "cancelled")
	s.ended(undone, "cancelled, compensated")
	s.verified(undone)
}

func caught(s *story) {
	w := s.named("caught")
	s.deploy(`
dsl: wovyr/v1
name: ` + w + `
output: '${ {"risky": steps.risky.output, "plan": steps.other.output.plan, "status": steps.fatal.status} }'
steps:
  risky: { function: std.fail, with: { code: card.declined, message: no, retryable: false }, on_error: [ { match: error.code == "card.declined", continue: { ok: false } } ] }
  fatal: { function: std.fail, with: { code: x.y, message: no, retryable: false }, on_error: [ { then: other } ] }
  other: { function: std.echo, with: { plan: b } }
`)
	id := s.start(w, `{}`)
	s.output(s.ended(id, "completed"), `{"risky":{"ok":false},"plan":"b","status":"caught"}`)
	s.verified(id)
}

func race(s *story) {
	w := s.named("race")
	s.deploy(`
dsl: wovyr/v1
name: ` + w + `
output: '${ steps.first.output.winner }'
steps:
  first: { race: { paid: { steps: { p: { event: { type: Never, key: '${ execution.id }' } } } }, late: { steps: { t: { timer: { for: 2s } } } } } }
`)
	id := s.start(w, `{}`)
	s.output(s.ended(id, "completed"), `"late"`)
	s.verified(id)
}

func rejected(s *story) {
	w := s.named("rejected")
	s.deploy(`
dsl: wovyr/v1
name: ` + w + `
steps:
  approve: { human: { title: 'Agree?' } }
`)
	id := s.start(w, `{}`)
	s.until(id, "it waits for a person", func(e client.Execution) bool { return len(e.Tasks) == 1 })
	require.NoError(s, s.Client.Decide(s.ctx, id, "approve", client.Decision{Verdict: "reject", Comment: "no", By: "ann"}))
	require.Equal(s, "human.rejected", s.ended(id, "failed").Error.Code)
}

func early(s *story) {
	w, key := s.named("early"), s.named("key")
	s.deploy(`
dsl: wovyr/v1
name: ` + w + `
output: '${ [steps.one.output.data.n, steps.two.output.data.n] }'
steps:
  one: { event: { type: Counted, key: '${ input.key }' } }
  two: { needs: [ one ], event: { type: Counted, key: '${ input.key }' } }
`)
	for n := 1; n <= 2; n++ {
		require.NoError(s, s.Client.Publish(s.ctx, client.Signal{ID: fmt.Sprint(key, n), Type: "Counted", Key: key, Data: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}))
	}
	id := s.start(w, fmt.Sprintf(`{"key":%q}`, key))
	s.output(s.ended(id, "completed"), `[1,2]`)
	s.verified(id)
}

func large(s *story) {
	w := s.named("large")
	s.deploy(`
dsl: wovyr/v1
name: ` + w + `
output: '${ {"size": size(steps.b.output.text), "small": steps.b.output.small} }'
steps:
  a: { function: std.echo, with: { text: '${ input.text }', small: 7 } }
  b: { needs: [ a ], function: std.echo, with: { text: '${ steps.a.output.text }', small: '${ steps.a.output.small }' } }
`)
	id := s.start(w, `{"text":"`+strings.Repeat("x", 400<<10)+`"}`)
	e := s.until(id, "the execution ends", func(e client.Execution) bool { return !e.EndedAt.IsZero() })
	// A text of 400 KB is beyond what expressions may read of a value kept by reference: the error says so, and can be caught.
	if e.Outcome != "completed" {
		require.Equal(s, "payload.too_large", e.Error.Code)
	}
	s.verified(id)
}

func many(s *story) {
	w := s.named("many")
	s.deploy(`
dsl: wovyr/v1
name: ` + w + `
output: '${ steps.c.output.n }'
steps:
  a: { function: std.echo, with: { n: '${ input.n }' } }
  b: { needs: [ a ], function: std.echo, with: { n: '${ steps.a.output.n + 1 }' } }
  c: { needs: [ b ], function: std.echo, with: { n: '${ steps.b.output.n + 1 }' } }
`)
	var group sync.WaitGroup
	ids, refused := make([]string, 20), make([]error, 20)
	for i := range ids {
		group.Go(func() {
			r := client.StartRequest{Workflow: w, Key: fmt.Sprint(w, i), Input: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))}
			for range 3 { // a client that got no answer asks again with the same key
				e, err := s.Client.Start(s.ctx, r)
				if ids[i], refused[i] = e.ID, err; err == nil {
					return
				}
			}
		})
	}
	group.Wait()
	for i, id := range ids {
		require.NoError(s, refused[i])
		s.output(s.ended(id, "completed"), fmt.Sprint(i+2))
		s.verified(id)
	}
}

func wide(s *story) {
	w := s.named("wide")
	s.deploy(`
dsl: wovyr/v1
name: ` + w + `
output: '${ {"n": steps.each.output.size()} }'
steps:
  each: { foreach: { items: '${ range(60) }', as: i, tolerate_failures: 100%, steps: { one: { function: std.echo, with: { v: '${ i }' } } } } }
`)
	id := s.start(w, `{}`)
	s.output(s.ended(id, "completed"), `{"n":60}`)
	s.verified(id)
}

func goesOn(s *story) {
	w := s.named("goes-on")
	s.deploy(`
dsl: wovyr/v1
name: ` + w + `
output: '${ input.n }'
steps:
  work: { function: std.echo, with: { n: '${ input.n }' } }
  again: { needs: [ work ], when: input.n < 2, continue_as_new: { input: { n: '${ input.n + 1 }' } } }
`)
	id := s.start(w, `{"n":0}`)
	for range 2 {
		e := s.until(id, "another goes on for it", func(e client.Execution) bool { return e.Next != "" })
		id = e.Next
	}
	s.output(s.ended(id, "completed"), `2`)
}

func redrive(s *story) {
	w := s.named("redriven")
	document := func(code string) string {
		return `
dsl: wovyr/v1
name: ` + w + `
output: '${ steps.b.output }'
steps:
  a: { function: std.echo, with: { n: 1 } }
  b: { needs: [ a ], ` + code + ` }
`
	}
	s.deploy(document(`function: std.fail, with: { code: broken, message: no, retryable: false }`))
	id := s.start(w, `{}`)
	s.ended(id, "failed")
	s.deploy(document(`function: std.echo, with: { mended: true }`))
	next, err := s.Client.Redrive(s.ctx, id, client.RedriveRequest{Version: "2", By: "ann"})
	require.NoError(s, err)
	s.output(s.ended(next.ID, "completed"), `{"mended":true}`)
	again, err := s.Client.Get(s.ctx, next.ID)
	require.NoError(s, err)
	require.Equal(s, id, again.RedriveOf)
	s.verified(next.ID)
}

func sameKey(s *story) {
	w, key := s.named("same-key"), s.named("key")
	s.deploy(`
dsl: wovyr/v1
name: ` + w + `
steps: { a: { function: std.echo } }
`)
	first, err := s.Client.Start(s.ctx, client.StartRequest{Workflow: w, Key: key})
	require.NoError(s, err)
	second, err := s.Client.Start(s.ctx, client.StartRequest{Workflow: w, Key: key})
	require.NoError(s, err)
	require.Equal(s, first.ID, second.ID)
	_, err = s.Client.Start(s.ctx, client.StartRequest{Workflow: w, Key: key, Input: json.RawMessage(`{"other":1}`)})
	var problem *client.Problem
	require.ErrorAs(s, err, &problem)
	require.Equal(s, 409, problem.Status)
}

func timeLimit(s *story) {
	w := s.named("limited")
	s.deploy(`
dsl: wovyr/v1
name: ` + w + `
limits: { timeout: 3s }
steps: { wait: { event: { type: Never, key: '${ execution.id }' } } }
`)
	id := s.start(w, `{}`)
	require.Equal(s, "timeout.workflow", s.ended(id, "timed_out").Error.Code)
}

func lists(s *story) {
	w := s.named("listed")
	s.deploy(`
dsl: wovyr/v1
name: ` + w + `
steps: { a: { function: std.echo } }
`)
	want := map[string]bool{}
	for range 3 {
		id := s.start(w, `{}`)
		s.ended(id, "completed")
		want[id] = true
	}
	s.until(anyOf(want), "lists show all of them as completed", func(client.Execution) bool {
		page, err := s.Client.List(s.ctx, map[string][]string{"workflow": {w}, "status": {"completed"}})
		return err == nil && len(page.Items) == len(want)
	})
}

func anyOf(set map[string]bool) string {
	for id := range set {
		return id
	}
	return ""
}
