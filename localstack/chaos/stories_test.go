package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/client"
)

// look is the pause between two looks.
const look = 300 * time.Millisecond

// story is a workflow, and what happens to an execution of it from outside.
type story struct {
	name string
	// steps is the document without its name; URL stands for the address of the effects, CHILD for the name of the workflow "child".
	steps string
	// play does what others do to the execution; nil: nothing.
	play func(a *actor) error
	// outcome is how it must end, and output what with ("" for any).
	outcome, output string
	// effects is how many steps of it take effect, its children's and those that undo included.
	effects int
}

// retrying is the policy of a step whose server is busy now and then.
const retrying = `retry: { attempts: 40, strategy: fixed, delay: 300ms }`

var stories = []story{
	{name: "chain", effects: 5, outcome: "completed", output: `5`, steps: chain(5)},
	{name: "fan", effects: 6, outcome: "completed", output: `[0,1,2,3,4,5]`, steps: `
output: '${ steps.each.output }'
steps:
  each: { foreach: { items: '${ range(6) }', as: i, max_parallelism: 3, collect: steps.one.output.body.n, steps: { one: { http: { method: POST, url: 'URL/do', body: { n: '${ i }' } }, RETRY } } } }
`},
	{name: "join", effects: 4, outcome: "completed", output: `6`, steps: `
output: '${ steps.d.output.body.n }'
steps:
  a: { http: { method: POST, url: 'URL/do', body: { n: 1 } }, RETRY }
  b: { http: { method: POST, url: 'URL/do', body: { n: 2 } }, RETRY }
  c: { http: { method: POST, url: 'URL/do', body: { n: 3 } }, RETRY }
  d: { http: { method: POST, url: 'URL/do', body: { n: '${ steps.a.output.body.n + steps.b.output.body.n + steps.c.output.body.n }' } }, RETRY }
`},
	{name: "saga", effects: 4, outcome: "compensated", steps: `
on_failure: compensate
steps:
  reserve: { http: { method: POST, url: 'URL/do', body: { n: 1 } }, RETRY, compensate: { http: { method: POST, url: 'URL/do', body: { n: -1 } }, RETRY } }
  charge: { needs: [ reserve ], http: { method: POST, url: 'URL/busy', body: { n: 2 } }, RETRY, compensate: { http: { method: POST, url: 'URL/do', body: { n: -2 } }, RETRY } }
  ship: { needs: [ charge ], http: { method: POST, url: 'URL/refuse', body: { n: 3 } }, retry: { attempts: 40, strategy: fixed, delay: 300ms, not_on: [ http.422 ] } }
`},
	{name: "waits", effects: 1, outcome: "completed", output: `[50,true]`, play: waited, steps: `
output: '${ [steps.paid.output.data.sum, steps.approve.output.answer.ok] }'
steps:
  nap: { timer: { for: 2s } }
  paid: { needs: [ nap ], event: { type: Paid, key: '${ input.key }', match: event.data.sum > 10 } }
  work: { needs: [ paid ], http: { method: POST, url: 'URL/do', body: { n: 1 } }, RETRY }
  approve: { needs: [ work ], human: { title: 'Send it?', form: { schema: { type: object, required: [ ok ] } } } }
`},
	{name: "signalled", effects: 2, outcome: "completed", output: `7`, play: signalled, steps: `
output: '${ steps.go.output.data.n }'
steps:
  before: { http: { method: POST, url: 'URL/do', body: { n: 1 } }, RETRY }
  go: { needs: [ before ], event: { type: go } }
  after: { needs: [ go ], http: { method: POST, url: 'URL/do', body: { n: 1 } }, RETRY }
`},
	{name: "child", effects: 1, outcome: "completed", output: `8`, steps: `
output: '${ steps.work.output.body.n * 2 }'
steps:
  work: { http: { method: POST, url: 'URL/do', body: { n: '${ has(input.n) ? input.n : 4 }' } }, RETRY }
`},
	{name: "parent", effects: 2, outcome: "completed", output: `22`, steps: `
output: '${ steps.a.output + steps.b.output }'
steps:
  a: { workflow: { name: CHILD, with: { n: 5 } } }
  b: { workflow: { name: CHILD, with: { n: 6 } } }
`},
	{name: "callback", effects: 2, outcome: "completed", output: `9`, steps: `
output: '${ steps.call.output.n + steps.after.output.body.n }'
steps:
  call: { http: { method: POST, url: 'URL/call', body: { n: 4, callback: '${ callback.url }' } }, callback: true, timeout: 10m, RETRY }
  after: { needs: [ call ], http: { method: POST, url: 'URL/do', body: { n: 5 } }, RETRY }
`},
	{name: "race", effects: 1, outcome: "completed", output: `"late"`, steps: `
output: '${ steps.first.output.winner }'
steps:
  first: { race: { paid: { steps: { p: { event: { type: Never, key: '${ execution.id }' } } } }, late: { steps: { t: { timer: { for: 1s } }, w: { needs: [ t ], http: { method: POST, url: 'URL/do', body: { n: 1 } }, RETRY } } } } }
`},
	{name: "large", effects: 1, outcome: "completed", output: `300000`, steps: `
output: '${ size(input.text) }'
steps:
  a: { function: std.echo, with: { text: '${ input.text }', n: 1 }, RETRY }
  b: { needs: [ a ], http: { method: POST, url: 'URL/do', body: { n: '${ steps.a.output.n }' } }, RETRY }
`},
	{name: "cancelled", effects: 2, outcome: "cancelled, compensated", play: cancelled, steps: `
steps:
  reserve: { http: { method: POST, url: 'URL/do', body: { n: 1 } }, RETRY, compensate: { http: { method: POST, url: 'URL/do', body: { n: -1 } }, RETRY } }
  wait: { needs: [ reserve ], timer: { for: 7d } }
`},
	{name: "emitter", effects: 1, outcome: "completed", output: `3`, steps: `
output: '${ steps.hear.output.data.n }'
steps:
  work: { http: { method: POST, url: 'URL/do', body: { n: 3 } }, RETRY }
  tell: { emit: { type: Told, key: '${ execution.id }', data: { n: '${ steps.work.output.body.n }' } } }
  hear: { event: { type: Told, key: '${ execution.id }' } }
`},
	{name: "once", steps: `
steps:
  a: { http: { method: POST, url: 'URL/do', body: { n: 1 } }, idempotent: false, retry: { attempts: 1 } }
  b: { needs: [ a ], http: { method: POST, url: 'URL/do', body: { n: 1 } }, idempotent: false, retry: { attempts: 1 } }
`},
}

func chain(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "output: '${ steps.s%d.output.body.n }'\nsteps:\n", n)
	for i := 1; i <= n; i++ {
		needs := ""
		if i > 1 {
			needs = fmt.Sprintf("needs: [ s%d ], ", i-1)
		}
		fmt.Fprintf(&b, "  s%d: { %shttp: { method: POST, url: 'URL/do', body: { n: %d } }, RETRY }\n", i, needs, i)
	}
	return b.String()
}

// actor plays what happens to one execution from outside. Everything that it asks for it asks for again until it is taken.
type actor struct {
	ctx   context.Context
	api   *client.Client
	story story
	key   string
	id    string
}

// insist repeats a call until it succeeds. A conflict means that it has succeeded before.
func (a *actor) insist(what string, call func() error) error {
	again := time.NewTicker(look)
	defer again.Stop()
	for {
		err := call()
		var p *client.Problem
		if err == nil || errors.As(err, &p) && p.Status == 409 {
			return nil
		}
		select {
		case <-a.ctx.Done():
			return fmt.Errorf("%s: %w, at last %w", what, a.ctx.Err(), err)
		case <-again.C:
		}
	}
}

// until looks at the execution until it is as wanted, or has ended.
func (a *actor) until(what string, wanted func(e client.Execution) bool) (e client.Execution, err error) {
	err = a.insist(what, func() error {
		var err error
		if e, err = a.api.Get(a.ctx, a.id); err != nil {
			return err
		}
		if !wanted(e) && !e.Ended() {
			return fmt.Errorf("it is %s, %v", e.Status, e.Waiting)
		}
		return nil
	})
	return e, err
}

// start starts the execution: several times if need be, and it is the same one each time.
func (a *actor) start() error {
	input := `{}`
	switch a.story.name {
	case "waits":
		input = fmt.Sprintf(`{"key":%q}`, a.key)
	case "large":
		input = `{"text":"` + strings.Repeat("x", 300_000) + `"}`
	}
	return a.insist("start "+a.key, func() error {
		e, err := a.api.Start(a.ctx, client.StartRequest{Workflow: a.workflow(a.story.name), Key: a.key, Input: json.RawMessage(input)})
		if err != nil {
			return err
		}
		a.id = e.ID
		return nil
	})
}

// workflow is what a story's workflow is called in this run.
func (a *actor) workflow(story string) string { return workflowName(a.key, story) }

func workflowName(key, story string) string {
	run, _, _ := strings.Cut(key, "/")
	return story + "-" + run
}

func waited(a *actor) error {
	for i, sum := range []int{5, 50} { // before anybody waits, or after
		s := client.Signal{ID: fmt.Sprint(a.key, "/", i), Type: "Paid", Key: a.key, Data: json.RawMessage(fmt.Sprintf(`{"sum":%d}`, sum))}
		if err := a.insist("publish", func() error { return a.api.Publish(a.ctx, s) }); err != nil {
			return err
		}
	}
	if _, err := a.until("a task is open", func(e client.Execution) bool { return len(e.Tasks) == 1 }); err != nil {
		return err
	}
	d := client.Decision{ID: a.key + "/decision", Verdict: "approve", Answer: json.RawMessage(`{"ok":true}`), By: "ann"}
	return a.insist("decide", func() error { return a.api.Decide(a.ctx, a.id, "approve", d) })
}

func signalled(a *actor) error {
	s := client.Signal{ID: a.key + "/go", Type: "go", Data: json.RawMessage(`{"n":7}`)}
	return a.insist("signal", func() error { return a.api.Signal(a.ctx, a.id, s) })
}

func cancelled(a *actor) error {
	if _, err := a.until("it waits for its timer", func(e client.Execution) bool { return strings.Contains(strings.Join(e.Waiting, ","), "timer") }); err != nil {
		return err
	}
	r := client.CancelRequest{ID: a.key + "/cancel", Mode: "compensated"}
	return a.insist("cancel", func() error { return a.api.Cancel(a.ctx, a.id, r) })
}
