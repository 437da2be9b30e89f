package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

func TestLeases(t *testing.T) {
	expire := func(r *run) {
		c := command[workflow.RunActivity](t, r)
		r.do(workflow.LeaseExpiry{AttemptRef: c.AttemptRef, Worker: "lost", StartedAt: r.now - 5})
	}
	t.Run("recovered apart from retries", func(t *testing.T) {
		r := begin(t, "steps: { a: { function: f, retry: { attempts: 1 }, max_recoveries: 2 } }", "")
		first := command[workflow.RunActivity](t, r)
		expire(r)
		require.Equal(t, []string{"ActivityStarted a", "TimeoutFired a", "LeaseExpired a", "ActivityFailed a", "ActivityRetried a", "ActivityScheduled a"}, r.events())
		c := command[workflow.RunActivity](t, r)
		require.Equal(t, workflow.AttemptRef{Step: "a", Attempt: 1, Fence: 2}, c.AttemptRef)
		require.Equal(t, first.Key, c.Key)
		r.do(workflow.ActivityResult{AttemptRef: first.AttemptRef, Output: workflow.Inline(workflow.Value("1"))})
		require.Empty(t, r.events(), "the fence is old")
		expire(r)
		saved := Clone(r.s)
		r.do(workflow.ActivityResult{AttemptRef: command[workflow.RunActivity](t, r).AttemptRef, Output: workflow.Inline(workflow.Value("1"))})
		require.Equal(t, `Completed completed {"a":1}`, r.outcome())
		r.s, r.history = saved, r.history[:saved.Version]
		expire(r)
		require.Equal(t, "Failed failed infrastructure.recoveries", r.outcome())
	})
	t.Run("unknown outcome", func(t *testing.T) {
		r := begin(t, "steps: { a: { function: f, idempotent: false } }", "")
		expire(r)
		require.Equal(t, "Failed failed infrastructure.unknown_outcome", r.outcome())
	})
	t.Run("heartbeat", func(t *testing.T) {
		r := begin(t, "steps: { a: { function: f, heartbeat: 10s } }", "")
		expire(r)
		require.Equal(t, workflow.TimeoutFired{Scope: workflow.TimeoutHeartbeat, Step: "a"}, r.last.Events[1].Event)
	})
	t.Run("a lease that lives", func(t *testing.T) {
		r := begin(t, "steps: { a: { function: f, timeout: 1m } }", "")
		c := command[workflow.RunActivity](t, r)
		r.do(workflow.Begin{AttemptRef: c.AttemptRef, Worker: "w1", LeaseUntil: r.now + int64(time.Hour)})
		require.Empty(t, r.last.Commands[:len(r.last.Commands)-1], "the worker runs it itself")
		run := command[workflow.RunActivity](t, r)
		require.True(t, run.Running)
		require.Equal(t, r.now+int64(time.Minute), run.LeaseUntil, "a lease never outlives the timeout")
		r.do(workflow.LeaseExpiry{AttemptRef: c.AttemptRef})
		require.Empty(t, r.events())
		r.now += int64(time.Minute)
		r.do(workflow.LeaseExpiry{AttemptRef: c.AttemptRef})
		require.NotEmpty(t, r.events())
	})
	t.Run("revoked and never committed", func(t *testing.T) {
		r := begin(t, "steps: { a: { function: f } }", "")
		c := command[workflow.RunActivity](t, r)
		r.do(workflow.RevokedFound{AttemptRef: c.AttemptRef})
		require.Equal(t, workflow.AttemptRef{Step: "a", Attempt: 1, Fence: 2}, command[workflow.RunActivity](t, r).AttemptRef)
	})
	t.Run("claimed, then timed out", func(t *testing.T) {
		r := begin(t, "steps: { a: { function: f, timeout: 1m, schedule_timeout: 10s, retry: { attempts: 1 } } }", "")
		c := command[workflow.RunActivity](t, r)
		r.now += int64(time.Minute)
		saved := Clone(r.s)
		r.do(workflow.Tick{})
		require.Equal(t, "Failed failed timeout.schedule", r.outcome())
		require.Equal(t, []workflow.AttemptRef{c.AttemptRef}, r.last.Revoke)
		r.s, r.history = saved, r.history[:saved.Version]
		r.do(workflow.Claimed{AttemptRef: c.AttemptRef, Worker: "w2", StartedAt: r.now - int64(30*time.Second)})
		r.do(workflow.Tick{})
		require.Empty(t, r.events(), "it started in time")
		r.now += int64(31 * time.Second)
		r.do(workflow.Tick{})
		require.Equal(t, "Failed failed timeout.activity", r.outcome())
		require.Equal(t, []workflow.AttemptRef{c.AttemptRef}, r.last.Abort)
	})
}

const cancellable = `
on_exit: [ bye ]
steps:
  a: { function: g, with: 1, compensate: { function: u } }
  b: { needs: [ a ], function: g, with: 2, compensate: { function: u } }
  w: { needs: [ a ], timer: { for: 1d } }
  c: { needs: [ b ], function: g }
  bye: { function: g, with: '${ execution.outcome }' }
`

func TestCancel(t *testing.T) {
	started := func(t *testing.T) *run {
		r := begin(t, cancellable, "")
		require.True(t, r.step())
		require.Equal(t, []string{"a"}, r.calls)
		return r
	}
	cancel := func(mode workflow.CancelMode) workflow.Cancel {
		return workflow.Cancel{ID: string(mode), Origin: workflow.OriginUser, Mode: mode, Reason: "why", By: "ann"}
	}
	t.Run("immediate", func(t *testing.T) {
		r := started(t)
		r.do(cancel(workflow.CancelImmediate))
		require.Len(t, r.last.Revoke, 1)
		r.work(0)
		require.Equal(t, "Cancelled cancelled cancelled", r.outcome(), r.story())
		require.Equal(t, []string{"a", "bye"}, r.calls)
	})
	t.Run("immediate twice", func(t *testing.T) {
		r := started(t)
		r.do(cancel(workflow.CancelImmediate))
		again := cancel(workflow.CancelImmediate)
		again.ID = "again"
		r.do(again)
		require.Equal(t, "Cancelled cancelled cancelled", r.outcome(), r.story())
		require.Equal(t, []string{"a"}, r.calls)
	})
	t.Run("graceful", func(t *testing.T) {
		r := started(t)
		r.do(cancel(workflow.CancelGraceful))
		require.Equal(t, "Running", r.s.Status.String())
		r.work(0)
		require.Equal(t, "Cancelled cancelled cancelled", r.outcome(), r.story())
		require.Equal(t, []string{"a", "b", "bye"}, r.calls)
	})
	t.Run("compensated", func(t *testing.T) {
		r := started(t)
		require.True(t, r.step())
		r.do(cancel(workflow.CancelCompensated))
		require.Equal(t, "Compensating", r.s.Status.String())
		other := cancel(workflow.CancelImmediate)
		r.do(other)
		require.Equal(t, []string{"CancelRequested"}, r.events())
		r.work(0)
		require.Equal(t, "Completed cancelled compensated cancelled", r.outcome(), r.story())
		require.Equal(t, []string{"a", "b", "b!undo", "a!undo", "bye"}, r.calls)
	})
	t.Run("compensated with nothing to undo", func(t *testing.T) {
		r := begin(t, cancellable, "")
		r.do(cancel(workflow.CancelCompensated))
		r.work(0)
		require.Equal(t, "Cancelled cancelled cancelled", r.outcome(), r.story())
	})
	t.Run("while it waits", func(t *testing.T) {
		r := begin(t, "steps: { w: { event: { type: X } } }", "")
		r.do(cancel(workflow.CancelGraceful))
		require.Equal(t, []string{"CancelRequested", "OutcomeDecided", "WorkflowResumed", "WorkflowContinued", "ActivityFailed w", "WorkflowCancelled"}, r.events())
	})
	t.Run("inside bodies", func(t *testing.T) {
		r := begin(t, `
steps:
  each: { foreach: { items: [1,2], steps: { g: { group: { steps: { a: { function: f }, b: { event: { type: X } } } } } } } }
  first: { race: { a: { steps: { t: { timer: { for: 1d } } } }, b: { steps: { c: { workflow: { name: other } } } } } }
`, "")
		r.do(cancel(workflow.CancelImmediate))
		require.Equal(t, "Cancelled cancelled cancelled", r.outcome(), r.story())
		require.Len(t, r.last.Revoke, 2)
	})
}

func TestCompensationStops(t *testing.T) {
	const doc = `
on_failure: compensate
steps:
  a: { function: g, compensate: { function: u, retry: { attempts: 2, delay: 1s } } }
  b: { needs: [ a ], fail: { code: x.y } }
`
	stopped := func(t *testing.T) *run {
		r := begin(t, doc, "")
		r.failing("u", "u.down", 2)
		r.work(time.Hour)
		require.Equal(t, "Compensating", r.s.Status.String(), r.story())
		require.Equal(t, "a!undo", command[workflow.AwaitOperator](t, r).Step)
		require.Equal(t, []string{"a", "a!undo", "a!undo"}, r.calls)
		return r
	}
	move := func(m workflow.Move) workflow.OperatorMove {
		return workflow.OperatorMove{ID: "m-" + string(m), Move: m, By: "op"}
	}
	t.Run("retried", func(t *testing.T) {
		r := stopped(t)
		_, err := r.try(move(workflow.MoveFail))
		require.Error(t, err)
		r.do(move(workflow.MoveRetry))
		r.work(0)
		require.Equal(t, "Completed failed compensated x.y", r.outcome(), r.story())
	})
	t.Run("completed by hand", func(t *testing.T) {
		r := stopped(t)
		r.do(move(workflow.MoveComplete))
		require.Equal(t, "Completed failed compensated x.y", r.outcome(), r.story())
	})
	t.Run("skipped", func(t *testing.T) {
		r := stopped(t)
		r.do(move(workflow.MoveSkip))
		require.Equal(t, "Completed failed compensated x.y", r.outcome(), r.story())
	})
}

func TestOperator(t *testing.T) {
	const doc = `
on_failure: pause
steps:
  each: { foreach: { items: [1,2], max_parallelism: 1, collect: steps.b.output, steps: { a: { function: f, retry: { attempts: 1 } }, b: { needs: [ a ], function: g, with: '${ steps.a.output }' } } } }
  side: { timer: { for: 1h } }
  end: { needs: [ each, side ], function: g, with: '${ steps.each.output }' }
`
	paused := func(t *testing.T) *run {
		r := begin(t, doc, "")
		r.failing("f", "f.down", 1)
		r.work(0)
		require.Equal(t, "Waiting", r.s.Status.String(), r.story())
		require.Equal(t, "each/0/a", command[workflow.AwaitOperator](t, r).Step)
		require.Contains(t, Reasons(r.p, r.s), workflow.WaitOperator)
		return r
	}
	move := func(m workflow.Move, step string) workflow.OperatorMove {
		return workflow.OperatorMove{ID: "m-" + string(m) + step, Move: m, Step: step, By: "op", Output: workflow.Inline(workflow.Value(`"by hand"`))}
	}
	t.Run("retry", func(t *testing.T) {
		r := paused(t)
		r.do(move(workflow.MoveRetry, "each/0/a"))
		r.work(0)
		require.Equal(t, "each/1/a", command[workflow.AwaitOperator](t, r).Step)
		r.do(move(workflow.MoveResume, ""))
		r.work(2 * time.Hour)
		require.Equal(t, `Completed completed {"end":["ok","ok"]}`, r.outcome(), r.story())
	})
	t.Run("complete and skip", func(t *testing.T) {
		r := paused(t)
		r.do(move(workflow.MoveComplete, "each/0/a"))
		r.work(0)
		r.do(move(workflow.MoveSkip, "each/1/a"))
		r.work(2 * time.Hour)
		require.Equal(t, `Completed completed {"end":["by hand",null]}`, r.outcome(), r.story())
	})
	t.Run("fail", func(t *testing.T) {
		r := paused(t)
		r.do(move(workflow.MoveFail, "each/0/a"))
		require.Equal(t, "Failed failed f.down", r.outcome(), r.story())
	})
	t.Run("nothing new starts", func(t *testing.T) {
		r := paused(t)
		r.now += int64(2 * time.Hour)
		r.do(workflow.Tick{})
		require.Equal(t, "Waiting", r.s.Status.String())
		require.NotContains(t, r.story(), "ActivityReady end")
		_, err := r.try(move(workflow.MoveRetry, "end"))
		require.Error(t, err)
	})
	t.Run("cancelled meanwhile", func(t *testing.T) {
		r := paused(t)
		r.do(workflow.Cancel{ID: "c", Origin: workflow.OriginUser, Mode: workflow.CancelImmediate})
		require.Equal(t, "Cancelled cancelled cancelled", r.outcome(), r.story())
	})
	t.Run("the timeout of the whole", func(t *testing.T) {
		r := begin(t, "limits: { timeout: 1h }\non_failure: pause\nsteps: { t: { timer: { for: 2h } } }", "")
		r.work(time.Hour)
		require.Equal(t, "Waiting", r.s.Status.String())
		saved := Clone(r.s)
		r.do(move(workflow.MoveResume, ""))
		r.work(2 * time.Hour)
		require.Equal(t, `Completed completed {"t":null}`, r.outcome(), r.story())
		r.s, r.history = saved, r.history[:saved.Version]
		r.do(move(workflow.MoveFail, ""))
		require.Equal(t, "Failed timed_out timeout.workflow", r.outcome(), r.story())
	})
	t.Run("a failure that somebody takes up is not held", func(t *testing.T) {
		r := begin(t, `
on_failure: pause
steps:
  g: { group: { steps: { a: { function: f, retry: { attempts: 1 } } } }, on_error: [ { continue: 1 } ] }
`, "")
		r.failing("f", "f.down", 9)
		r.work(0)
		require.Equal(t, `Completed completed {"g":1}`, r.outcome(), r.story())
	})
}

func TestRedrive(t *testing.T) {
	const doc = `
vars: { n: 0 }
steps:
  a: { function: g, with: 1 }
  s: { needs: [ a ], set: { n: '${ vars.n + steps.a.output }' } }
  each: { needs: [ s ], foreach: { items: [1,2,3], max_parallelism: 1, collect: steps.x.output, steps: { x: { function: f, with: '${ item }', retry: { attempts: 1 } } } } }
  end: { needs: [ each ], value: '${ [vars.n, steps.each.output] }' }
`
	r := begin(t, doc, "")
	r.mocks["f"] = func(c workflow.RunActivity) workflow.ActivityResult {
		if c.Input.JSON.String() == "2" {
			return workflow.ActivityResult{Error: workflow.Errorf("f.down", workflow.CategoryActivity, "")}
		}
		return workflow.ActivityResult{Output: c.Input}
	}
	r.work(0)
	require.Equal(t, "Failed failed f.down", r.outcome())

	again := func(from ...string) *run {
		start, err := Redrive(r.p, r.history, RedriveOptions{Execution: "e2", Definition: "1", Hash: "h", From: from})
		require.NoError(t, err)
		n := &run{t: t, p: r.p, now: r.now, tries: map[string]int{}, mocks: map[string]func(workflow.RunActivity) workflow.ActivityResult{}}
		n.do(start)
		n.work(0)
		require.Equal(t, `Completed completed {"end":[1,[1,2,3]]}`, n.outcome(), n.story())
		return n
	}
	require.Equal(t, []string{"each/1/x", "each/2/x"}, again().calls)
	require.Equal(t, []string{"each/0/x", "each/1/x", "each/2/x"}, again("each").calls)
	require.Equal(t, []string{"a", "each/0/x", "each/1/x", "each/2/x"}, again("a").calls)
	require.Equal(t, []string{"each/0/x", "each/1/x", "each/2/x"}, again("each/0/x", "each/2/x").calls)
	_, err := Redrive(r.p, r.history, RedriveOptions{Execution: "e2", From: []string{"nope"}})
	require.Error(t, err)
	_, err = Redrive(r.p, r.history[:10], RedriveOptions{Execution: "e2"})
	require.Error(t, err)
}

func TestAgent(t *testing.T) {
	r := begin(t, `steps: { bot: { ai: { prompt: hi, tools: [ search, { name: refund, approve: 'role:lead' } ] }, retry: { attempts: 2, delay: 1s } } }`, "")
	c := command[workflow.RunActivity](t, r)
	require.Nil(t, c.Agent)
	state := workflow.Inline(workflow.Value(`{"messages":1}`))
	r.do(workflow.ActivityResult{AttemptRef: c.AttemptRef, Worker: "w1", StartedAt: r.now, Continue: &workflow.AgentContinue{State: state, Calls: []workflow.AgentCall{
		{ID: "c1", Kind: workflow.KindTool, Name: "search", Input: workflow.Inline(workflow.Value(`{"q":1}`))},
		{ID: "c2", Kind: workflow.KindTool, Name: "refund", Approve: []string{"role:lead"}, Input: workflow.Inline(workflow.Value(`{"usd":5}`))},
	}}})
	search := command[workflow.RunActivity](t, r)
	require.Equal(t, "bot/1/c1", search.Step)
	require.Equal(t, `"search"`, search.Target.JSON.String())
	require.Equal(t, `{"q":1}`, search.Input.JSON.String())
	task := command[workflow.AwaitTask](t, r)
	require.Equal(t, "bot/1/c2!approve", task.Step)
	r.do(workflow.ActivityResult{AttemptRef: search.AttemptRef, Worker: "w1", Output: workflow.Inline(workflow.Value(`"found"`))})
	require.Equal(t, "Waiting", r.s.Status.String())
	saved := Clone(r.s)
	r.do(workflow.TaskDecision{ID: "d1", Step: task.Step, Verdict: workflow.VerdictApprove, By: "ann"})
	refund := command[workflow.RunActivity](t, r)
	require.Equal(t, "bot/1/c2", refund.Step)
	r.do(workflow.ActivityResult{AttemptRef: refund.AttemptRef, Worker: "w1", Output: workflow.Inline(workflow.Value(`"paid"`))})
	entry := command[workflow.RunActivity](t, r)
	require.Equal(t, "bot/2", entry.Step)
	require.Equal(t, workflow.KindAI, entry.Kind)
	require.Equal(t, state, entry.Agent.State)
	require.Equal(t, []workflow.AgentResult{{ID: "c1", Output: workflow.Inline(workflow.Value(`"found"`))}, {ID: "c2", Output: workflow.Inline(workflow.Value(`"paid"`))}}, entry.Agent.Results)
	r.do(workflow.ActivityResult{AttemptRef: entry.AttemptRef, Worker: "w1", Error: &workflow.Error{Code: "ai.busy", Category: workflow.CategoryExternal, Retryable: true}})
	require.Equal(t, "Waiting", r.s.Status.String())
	r.now += int64(time.Second)
	r.do(workflow.Tick{})
	entry = command[workflow.RunActivity](t, r)
	require.Equal(t, workflow.AttemptRef{Step: "bot/2", Attempt: 2, Fence: 2}, entry.AttemptRef)
	r.do(workflow.ActivityResult{AttemptRef: entry.AttemptRef, Worker: "w1", Output: workflow.Inline(workflow.Value(`"bye"`))})
	require.Equal(t, `Completed completed {"bot":"bye"}`, r.outcome(), r.story())

	r.s, r.history = saved, r.history[:saved.Version]
	r.do(workflow.TaskDecision{ID: "d1", Step: task.Step, Verdict: workflow.VerdictReject, By: "ann"})
	entry = command[workflow.RunActivity](t, r)
	require.Equal(t, "human.rejected", entry.Agent.Results[1].Error.Code)
	r.do(workflow.Cancel{ID: "c", Origin: workflow.OriginUser, Mode: workflow.CancelImmediate})
	require.Equal(t, "Cancelled cancelled cancelled", r.outcome(), r.story())
}

func TestRetryAfter(t *testing.T) {
	r := begin(t, "steps: { a: { function: f, retry: { attempts: 3, delay: 1s } } }", "")
	c := command[workflow.RunActivity](t, r)
	r.do(workflow.ActivityResult{AttemptRef: c.AttemptRef, Worker: "w1", RetryAfter: int64(time.Minute), Error: &workflow.Error{Code: "http.429", Category: workflow.CategoryExternal, Retryable: true}})
	due, ok := Due(r.p, r.s)
	require.True(t, ok)
	require.Equal(t, r.now+int64(time.Minute), due)
}

func TestJitterFollowsFromNames(t *testing.T) {
	at := func() int64 {
		r := begin(t, "steps: { a: { function: f, retry: { attempts: 3, delay: 100s, jitter: 0.5 } } }", "")
		r.failing("f", "x.y", 9)
		r.step()
		due, _ := Due(r.p, r.s)
		return due - r.now
	}
	d := at()
	require.Equal(t, d, at())
	require.NotEqual(t, int64(100*time.Second), d)
	require.GreaterOrEqual(t, d, int64(50*time.Second))
	require.LessOrEqual(t, d, int64(150*time.Second))
}

// TestExitStepsEndNothing: validation refuses continue_as_new in on_exit; the engine holds to the outcome all the same.
func TestExitStepsEndNothing(t *testing.T) {
	def := chainOf(1)
	def.OnExit = []string{"z"}
	def.Body.Steps = append(def.Body.Steps, workflow.Step{
		Name: "z", Kind: workflow.KindContinueAsNew, Exit: true, Join: workflow.Join{Mode: workflow.JoinAll}, ContinueAsNew: &workflow.Template{JSON: workflow.Value("1")},
	})
	r := linked(t, def, 1)
	r.do(workflow.Cancel{ID: "c", Origin: workflow.OriginUser, Mode: workflow.CancelImmediate})
	require.Equal(t, "Cancelled cancelled cancelled", r.outcome(), r.story())
	require.Nil(t, r.s.Next)
}

func TestRedriveKeepsVariables(t *testing.T) {
	r := begin(t, `
vars: { sum: 0, list: [] }
steps:
  each: { foreach: { items: [1, 2, 3], steps: { a: { function: g, with: '${ item }' }, s: { set: { sum: { value: '${ steps.a.output }', reduce: sum }, list: { value: '${ item }', reduce: append } } } } } }
  bad: { needs: [ each ], function: f, retry: { attempts: 1 } }
  end: { needs: [ bad ], value: '${ [vars.sum, vars.list.size()] }' }
`, "")
	r.failing("f", "f.down", 1)
	r.work(0)
	require.Equal(t, "Failed failed f.down", r.outcome())
	start, err := Redrive(r.p, r.history, RedriveOptions{Execution: "e2"})
	require.NoError(t, err)
	n := &run{t: t, p: r.p, now: r.now, tries: map[string]int{}, mocks: map[string]func(workflow.RunActivity) workflow.ActivityResult{}}
	n.do(start)
	n.work(0)
	require.Equal(t, `Completed completed {"end":[6,3]}`, n.outcome(), n.story())
	require.Equal(t, []string{"bad"}, n.calls)
	start, err = Redrive(r.p, r.history, RedriveOptions{Execution: "e3", From: []string{"each/1/a"}})
	require.NoError(t, err)
	n = &run{t: t, p: r.p, now: r.now, tries: map[string]int{}, mocks: map[string]func(workflow.RunActivity) workflow.ActivityResult{}}
	n.do(start)
	n.work(0)
	require.Equal(t, `Completed completed {"end":[6,3]}`, n.outcome(), n.story())
	require.Equal(t, []string{"each/1/a", "bad"}, n.calls)
}

// TestRedriveEntersNothingAnew: a step that completed is entered for the variables that were set inside it, and nothing that did
// not complete there runs.
func TestRedriveEntersNothingAnew(t *testing.T) {
	r := begin(t, `
vars: { total: 0 }
steps:
  s0:
    race:
      x: { steps: { s4: { loop: { max: 2, until: false, on_max: stop, steps: { s8: { event: { type: Go } } } } } } }
      y: { steps: { s9: { set: { total: { value: 1, reduce: sum } } }, s10: { needs: [ s9 ], function: slow } } }
  bad: { needs: [ s0 ], function: f, retry: { attempts: 1 } }
  end: { needs: [ bad ], value: '${ [vars.total, steps.s0.output.winner] }' }
`, "")
	r.do(signal("g1", "Go", "", "1"))
	r.do(signal("g2", "Go", "", "1"))
	r.failing("f", "f.down", 9)
	r.work(0)
	require.Equal(t, "Failed failed f.down", r.outcome(), r.story())
	start, err := Redrive(r.p, r.history, RedriveOptions{Execution: "e2"})
	require.NoError(t, err)
	n := &run{t: t, p: r.p, now: r.now, tries: map[string]int{}, mocks: map[string]func(workflow.RunActivity) workflow.ActivityResult{}}
	n.do(start)
	n.work(0)
	require.Equal(t, []string{"bad"}, n.calls, n.story())
	require.Equal(t, `Completed completed {"end":[1,"x"]}`, n.outcome(), n.story())
}
