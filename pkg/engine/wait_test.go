package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

func signal(id, kind, key, data string) workflow.ExternalEvent {
	return workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: id, Kind: kind, Key: key, Data: workflow.Inline(workflow.Value(data))}}
}

func command[C workflow.Command](t *testing.T, r *run) C {
	t.Helper()
	for _, c := range Outstanding(r.p, r.s) {
		if c, ok := c.(C); ok {
			return c
		}
	}
	var none C
	t.Fatalf("no %s outstanding:\n%s", none.CommandType(), r.story())
	return none
}

func TestEventsEarlyAndLate(t *testing.T) {
	r := begin(t, `
steps:
  a: { event: { type: Paid, key: input.id, match: event.data.n > 1 } }
  b: { needs: [ a ], event: { type: Paid, key: input.id } }
output: '${ [steps.a.output.data.n, steps.b.output.data.n, steps.b.output.id] }'
`, `{"id":"k"}`)
	require.Equal(t, "Waiting", r.s.Status.String())
	r.do(signal("s1", "Paid", "k", `{"n":1}`)) // does not fit a, is kept
	require.Equal(t, []string{"EventReceived"}, r.events())
	r.do(signal("s0", "Paid", "other", `{"n":5}`))
	r.do(signal("s2", "Paid", "k", `{"n":2}`)) // fits a; b takes the one that was kept
	require.Equal(t, `Completed completed [2,1,"s1"]`, r.outcome())
	_, err := r.try(signal("s3", "Paid", "k", `{"n":1}`))
	require.ErrorContains(t, err, "has ended")
	_, err = r.try(signal("s1", "Paid", "k", `{"n":1}`))
	require.NoError(t, err)
}

func TestNumberedEvents(t *testing.T) {
	r := begin(t, `
steps:
  a: { event: { type: Paid, key: '"k"', match: 'event.data > 1' } }
  b: { needs: [ a ], event: { type: Paid, key: '"k"' } }
`, "")
	numbered := func(id string, n uint64, data string) workflow.ExternalEvent {
		e := signal(id, "Paid", "k", data)
		e.Number = n
		return e
	}
	r.do(numbered("n1", 1, "1"))
	require.Empty(t, r.events(), "it lies in the event store")
	r.do(numbered("n2", 2, "2"))
	require.Equal(t, "EventReceived a", r.events()[0])
	require.Equal(t, []uint64{2}, command[workflow.AwaitEvent](t, r).After)
	r.do(numbered("n1", 1, "1"))
	require.Empty(t, r.events(), "passed over")
	r.do(numbered("n3", 3, "3"))
	require.Equal(t, "Completed", r.s.Status.String())
}

func TestEventLostInARaceStays(t *testing.T) {
	r := begin(t, `
steps:
  first: { race: { ev: { steps: { e: { event: { type: A } } } }, t: { steps: { w: { timer: { for: 1h } } } } } }
  b: { needs: [ first ], event: { type: A } }
`, "")
	r.now += int64(2 * time.Hour)
	r.do(workflow.Tick{})
	r.do(signal("x", "A", "", "1"))
	require.Equal(t, "Completed", r.s.Status.String(), r.story())
}

const approval = `
steps:
  ok:
    human:
      title: 'Approve ${ input.n }'
      assignees: [ 'role:finance' ]
      notify: { function: chat, with: { text: '${ task.url }' } }
      remind: [ 1d ]
      escalate: [ { after: 36h, to: 'role:cfo' } ]
      timeout: 2d
      on_reject: REJECT
      on_timeout: TIMEOUT
`

func human(t *testing.T, reject, timeout string) *run {
	doc := approval
	for _, pair := range [][2]string{{"REJECT", reject}, {"TIMEOUT", timeout}} {
		doc = replace(doc, pair[0], pair[1])
	}
	return begin(t, doc, `{"n":7}`)
}

func replace(s, a, b string) string {
	for i := 0; i+len(a) <= len(s); i++ {
		if s[i:i+len(a)] == a {
			return s[:i] + b + replace(s[i+len(a):], a, b)
		}
	}
	return s
}

func TestHuman(t *testing.T) {
	t.Run("approved", func(t *testing.T) {
		r := human(t, "fail", "fail")
		r.work(0)
		require.Equal(t, []string{"ok!notify"}, r.calls)
		task := command[workflow.AwaitTask](t, r)
		require.Equal(t, "Approve 7", task.Title)
		require.Equal(t, []string{"role:finance"}, task.Assignees)
		r.do(workflow.TaskDecision{ID: "d0", Step: "ok", Verdict: workflow.VerdictReassign, To: []string{"user:eve"}, By: "bob"})
		require.Equal(t, []string{"user:eve"}, command[workflow.AwaitTask](t, r).Assignees)
		r.do(workflow.TaskDecision{ID: "d1", Step: "ok", By: "ann", Verdict: workflow.VerdictApprove, Answer: workflow.Inline(workflow.Value(`{"x":1}`))})
		require.Equal(t, `Completed completed {"ok":{"answer":{"x":1},"at":"2026-03-01T09:00:00.001Z","by":"ann","comment":null,"decision":"approved"}}`, r.outcome())
		_, err := r.try(workflow.TaskDecision{ID: "d2", Step: "ok", Verdict: workflow.VerdictReject})
		require.Error(t, err)
	})
	t.Run("rejected", func(t *testing.T) {
		r := human(t, "fail", "fail")
		r.do(workflow.TaskDecision{ID: "d1", Step: "ok", By: "ann", Verdict: workflow.VerdictReject, Comment: "no"})
		require.Equal(t, "Failed failed human.rejected", r.outcome())
		r = human(t, "continue", "fail")
		r.do(workflow.TaskDecision{ID: "d1", Step: "ok", By: "ann", Verdict: workflow.VerdictReject, Comment: "no"})
		require.Equal(t, `Completed completed {"ok":{"answer":null,"at":"2026-03-01T09:00:00Z","by":"ann","comment":"no","decision":"rejected"}}`, r.outcome())
	})
	t.Run("reminded, escalated, timed out", func(t *testing.T) {
		r := human(t, "fail", "fail")
		r.work(72 * time.Hour)
		require.Equal(t, "Failed failed timeout.wait", r.outcome())
		require.Equal(t, []string{"ok!notify", "ok!notify-2", "ok!notify-3"}, r.calls)
		require.Contains(t, r.story(), "TaskReminded ok\n")
		require.Contains(t, r.story(), "TaskEscalated ok\n")
		r = human(t, "fail", "continue")
		r.work(72 * time.Hour)
		require.Equal(t, `Completed completed {"ok":{"answer":null,"at":"2026-03-03T09:00:00Z","by":null,"comment":null,"decision":"timed_out"}}`, r.outcome())
	})
	t.Run("a notification that fails does no harm", func(t *testing.T) {
		r := human(t, "fail", "fail")
		r.failing("chat", "chat.down", 9)
		r.work(time.Hour)
		require.Equal(t, "Waiting", r.s.Status.String())
		require.Len(t, r.calls, 3)
	})
}

func TestCallback(t *testing.T) {
	r := begin(t, `
steps:
  job: { function: start, callback: true, with: { url: '${ callback.url }' }, timeout: 1h, on_error: [ { match: 'error.code == "timeout.activity"', continue: late } ] }
`, "")
	c := command[workflow.RunActivity](t, r)
	require.True(t, c.Callback)
	require.Len(t, c.Input.Holes, 1)
	r.do(workflow.ActivityResult{AttemptRef: c.AttemptRef, Worker: "w1", StartedAt: r.now, Pending: true})
	require.Equal(t, "Waiting", r.s.Status.String())
	require.Equal(t, []workflow.WaitReason{workflow.WaitWebhook}, Reasons(r.p, r.s))
	require.Equal(t, c.AttemptRef, command[workflow.AwaitCallback](t, r).AttemptRef)
	saved := Clone(r.s)
	r.do(workflow.ActivityResult{AttemptRef: c.AttemptRef, Output: workflow.Inline(workflow.Value(`"done"`))})
	require.Equal(t, `Completed completed {"job":"done"}`, r.outcome())
	r.s = saved
	r.history = r.history[:saved.Version]
	r.now += int64(2 * time.Hour)
	r.do(workflow.Tick{})
	require.Contains(t, r.story(), "TimeoutFired job\nWorkflowResumed\nWorkflowContinued\nActivityFailed job\nActivityRetried job\n")
}

func TestAttemptNamesItsExecution(t *testing.T) {
	r := &run{t: t, p: compile(t, "steps: { a: { function: f } }\n"), now: epoch, tries: map[string]int{}}
	r.do(workflow.Start{Execution: "e1", Tenant: "acme", Workflow: "test", Definition: "1", Hash: "h", Correlation: "c1"})
	c := command[workflow.RunActivity](t, r)
	require.Equal(t, "test", c.Workflow)
	require.Equal(t, "c1", c.Correlation)
	require.Equal(t, "e1/a", c.Key)
}

func TestChild(t *testing.T) {
	const doc = `
steps:
  c: { workflow: { name: other, with: { n: 1 } } }
`
	t.Run("completes", func(t *testing.T) {
		r := begin(t, doc, "")
		c := command[workflow.StartChild](t, r)
		require.Equal(t, "e1/c/1", c.Child)
		require.False(t, c.Notify)
		r.do(workflow.ChildBegun{Step: "c", Child: c.Child})
		require.Empty(t, r.events())
		r.do(workflow.ChildEnd{Step: "c", Child: c.Child, Outcome: workflow.OutcomeCompleted, Output: workflow.Inline(workflow.Value("5"))})
		require.Equal(t, `Completed completed {"c":5}`, r.outcome())
	})
	t.Run("fails", func(t *testing.T) {
		r := begin(t, doc, "")
		r.do(workflow.ChildEnd{Step: "c", Child: "e1/c/1", Outcome: workflow.OutcomeFailed, Error: workflow.Errorf("x.y", workflow.CategoryWorkflow, "")})
		require.Equal(t, "Failed failed x.y", r.outcome())
	})
	t.Run("is cancelled with its parent", func(t *testing.T) {
		r := begin(t, doc, "")
		r.do(workflow.Cancel{ID: "c1", Origin: workflow.OriginUser, Mode: workflow.CancelImmediate})
		require.Equal(t, "Cancelled cancelled cancelled", r.outcome())
		require.Equal(t, "e1/c/1", command[workflow.CancelChild](t, r).Child)
		require.Contains(t, shown(t, r.last.Commands), "e1/c/1")
	})
	t.Run("nobody waits for it", func(t *testing.T) {
		r := begin(t, replace(doc, "with:", "wait: false, with:"), "")
		require.True(t, command[workflow.StartChild](t, r).Notify)
		r.do(workflow.ChildBegun{Step: "c", Child: "e1/c/1"})
		require.Equal(t, `Completed completed {"c":{"execution_id":"e1/c/1"}}`, r.outcome())
		require.Equal(t, "e1/c/1", command[workflow.CancelChild](t, r).Child)
		r = begin(t, replace(doc, "with:", "wait: false, on_parent_close: abandon, with:"), "")
		r.do(workflow.ChildBegun{Step: "c", Child: "e1/c/1"})
		require.Empty(t, Outstanding(r.p, r.s))
	})
	t.Run("tells its parent", func(t *testing.T) {
		p := compile(t, "steps: { a: { value: 1 } }")
		parent := &workflow.Parent{Execution: "p", Step: "c", Child: "p/c/1"}
		d, err := Decide(p, nil, workflow.Start{Execution: "p/c/1", Tenant: "acme", Workflow: "test", Origin: workflow.Origin{Parent: parent}}, Env{Now: epoch})
		require.NoError(t, err)
		require.Len(t, d.Commands, 1)
		n := d.Commands[0].(workflow.NotifyParent)
		require.Equal(t, `{"a":1}`, n.End.Output.JSON.String())
		require.Equal(t, *parent, n.Parent)
	})
	t.Run("with an input that its schema refuses", func(t *testing.T) {
		p := compile(t, "input: { schema: { type: object } }\nsteps: { a: { function: f } }")
		start := func(origin workflow.Origin, misfit string) Decision {
			env := Env{Now: epoch, Misfit: func(schema, v workflow.Value) string {
				require.Equal(t, `{"type":"object"} 5`, schema.String()+" "+v.String())
				return misfit
			}}
			d, err := Decide(p, nil, workflow.Start{Execution: "p/c/1", Tenant: "acme", Workflow: "test", Origin: origin, Input: workflow.Inline(workflow.Value("5"))}, env)
			require.NoError(t, err)
			return d
		}
		child := workflow.Origin{Parent: &workflow.Parent{Execution: "p", Step: "c", Child: "p/c/1"}}
		d := start(child, "want object")
		require.Equal(t, "Failed", d.State.Status.String())
		require.Len(t, d.Commands, 1, "nothing was begun")
		end := d.Commands[0].(workflow.NotifyParent).End
		require.Equal(t, "input.invalid", end.Error.Code)
		require.Contains(t, end.Error.Message, "want object")
		for _, d := range []Decision{start(child, ""), start(workflow.Origin{}, "whoever starts it has looked")} {
			require.Equal(t, "Running", d.State.Status.String())
		}
	})
	t.Run("too deep", func(t *testing.T) {
		p := compile(t, replace(doc, "} } }", "} }, on_error: [ { continue: '${ error.code }' } ] }"))
		parent := &workflow.Parent{Execution: "p", Step: "c", Child: "p/c/1", Depth: MaxDepth - 1}
		d, err := Decide(p, nil, workflow.Start{Execution: "p/c/1", Tenant: "acme", Workflow: "test", Origin: workflow.Origin{Parent: parent}}, Env{Now: epoch})
		require.NoError(t, err)
		require.Equal(t, MaxDepth, d.Commands[0].(workflow.StartChild).Parent.Depth)
		parent.Depth = MaxDepth
		d, err = Decide(p, nil, workflow.Start{Execution: "p/c/1", Tenant: "acme", Workflow: "test", Origin: workflow.Origin{Parent: parent}}, Env{Now: epoch})
		require.NoError(t, err)
		require.Equal(t, `{"c":"children.too_deep"}`, d.State.Output.JSON.String())
	})
	t.Run("cancelled before it was started", func(t *testing.T) {
		start := workflow.Start{Execution: "p/c/1", Tenant: "acme", Workflow: "test", Origin: workflow.Origin{Parent: &workflow.Parent{Execution: "p", Step: "c", Child: "p/c/1"}}}
		d, err := Decide(nil, nil, workflow.Cancel{Origin: workflow.OriginParent, Mode: workflow.CancelImmediate, Start: &start}, Env{Now: epoch})
		require.NoError(t, err)
		require.Equal(t, "Cancelled", d.State.Status.String())
		require.Equal(t, workflow.OutcomeCancelled, d.Commands[0].(workflow.NotifyParent).End.Outcome)
		p := compile(t, "steps: { a: { value: 1 } }")
		s, err := Replay(p, nil, d.Events)
		require.NoError(t, err)
		require.Equal(t, shown(t, d.State), shown(t, s))
	})
}

func TestUnknownExecution(t *testing.T) {
	for _, in := range []workflow.Input{workflow.Tick{}, workflow.Continue{}} {
		d, err := Decide(nil, nil, in, Env{Now: epoch})
		require.NoError(t, err)
		require.Empty(t, d.Events)
	}
	for _, in := range []workflow.Input{workflow.ActivityResult{}, workflow.Cancel{Mode: workflow.CancelImmediate}, signal("a", "b", "c", "1"), workflow.OperatorMove{}} {
		_, err := Decide(nil, nil, in, Env{Now: epoch})
		var refused *RefusedError
		require.ErrorAs(t, err, &refused)
	}
}
