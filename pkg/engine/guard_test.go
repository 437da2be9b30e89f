package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// TestHistoryIsHeldToGuards: an event that the engine would never have decided is refused when the history is read, by the
// guard of its transition (WF-006 §10), although the matrix has its edge.
func TestHistoryIsHeldToGuards(t *testing.T) {
	failed := &workflow.Error{Code: "f.down", Category: workflow.CategoryExternal, Retryable: true}
	for _, c := range []struct {
		name, doc string
		before    func(*run)       // what happens first
		lead      []workflow.Event // events that may follow
		forged    workflow.Event   // the one that may not
		guard     fsm.Guard
		says      string
	}{
		{
			name:   "ready before what it needs has ended",
			doc:    `steps: { a: { function: f }, b: { function: f }, c: { needs: [ a, b ], function: f } }`,
			before: func(r *run) { r.step() },
			forged: workflow.ActivityReady{Step: "c"}, guard: fsm.GuardDependencies(), says: "1 of 2 dependencies have ended",
		},
		{
			name:   "ready before enough of a join has come",
			doc:    `steps: { a: { function: f }, b: { function: f }, d: { function: f }, c: { needs: [ a, b, d ], join: 2, function: f } }`,
			before: func(r *run) { r.step() },
			forged: workflow.ActivityReady{Step: "c"}, guard: fsm.GuardDependencies(), says: "1 of 3 dependencies have ended",
		},
		{
			name:   "ready before it is picked",
			doc:    `steps: { a: { function: f }, s: { switch: [ { when: steps.a.output == 1, then: x }, { else: y } ] }, x: { function: f }, y: { function: f } }`,
			forged: workflow.ActivityReady{Step: "x"}, guard: fsm.GuardDependencies(), says: "0 of 1 dependencies have ended",
		},
		{
			name:   "an exit step before the end",
			doc:    `on_exit: [ e ]` + "\n" + `steps: { a: { function: f }, e: { function: f } }`,
			forged: workflow.ActivityReady{Step: "e"}, guard: fsm.GuardDependencies(), says: "0 of 2",
		},
		{
			name:   "completed with an open step",
			doc:    `steps: { a: { function: f }, b: { needs: [ a ], function: f } }`,
			forged: workflow.WorkflowCompleted{}, guard: fsm.GuardDependencies(), says: "0 of 3",
		},
		{
			name:   "completed before the last step has begun",
			doc:    `limits: { max_parallelism: 1 }` + "\n" + `steps: { a: { function: f }, b: { function: f } }`,
			forged: workflow.WorkflowCompleted{}, guard: fsm.GuardDependencies(), says: "0 of 4", // two are open, and neither has ended
		},
		{
			name:   "compensated with work that is left",
			doc:    "on_failure: compensate\n" + `steps: { a: { function: f, compensate: { function: u } }, b: { needs: [ a ], fail: { code: x.y } } }`,
			before: func(r *run) { r.step() },
			forged: workflow.CompensationCompleted{}, guard: fsm.GuardDependencies(), says: "0 of 1",
		},
		{
			name:   "more steps at once than max_parallelism",
			doc:    `limits: { max_parallelism: 1 }` + "\n" + `steps: { a: { function: f }, b: { function: f } }`,
			forged: workflow.ActivityScheduled{Step: "b", Attempt: 1, Fence: 1}, guard: fsm.GuardResources(), says: "it takes 1 and 0 is free",
		},
		{
			name:   "more memory than the workflow allows",
			doc:    `limits: { max_memory: 1MiB, max_parallelism: 1 }` + "\n" + `steps: { a: { function: f }, b: { function: f } }`,
			before: func(r *run) { r.p.def.Body.Steps[1].MaxMemory = 2 << 20 },
			forged: workflow.ActivityScheduled{Step: "b", Attempt: 1, Fence: 1}, guard: fsm.GuardResources(), says: "it takes 2097152 and 1048576 is free",
		},
		{
			name: "an attempt more than the policy of the step",
			doc:  `steps: { a: { function: f, retry: { attempts: 2, delay: 1s } } }`,
			before: func(r *run) {
				r.failing("f", "f.down", 1)
				r.step()
				r.do(workflow.Tick{})
				r.now += 2e9
				r.do(workflow.Tick{})
			},
			lead:   []workflow.Event{workflow.ActivityStarted{Step: "a", Fence: 2}, workflow.ActivityFailed{Step: "a", Error: failed}},
			forged: workflow.ActivityRetried{Step: "a"}, guard: fsm.GuardResources(), says: "it takes 1 and 0 is free",
		},
		{
			name:   "a retry more than the execution has",
			doc:    "limits: { retries: 1 }\n" + `steps: { a: { function: f, retry: { attempts: 9, delay: 1s } } }`,
			before: func(r *run) { r.failing("f", "f.down", 1); r.step(); r.now += 2e9; r.do(workflow.Tick{}) },
			lead:   []workflow.Event{workflow.ActivityStarted{Step: "a", Fence: 2}, workflow.ActivityFailed{Step: "a", Error: failed}},
			forged: workflow.ActivityRetried{Step: "a"}, guard: fsm.GuardResources(), says: "it takes 1 and 0 is free",
		},
		{
			name: "completed after its timeout was recorded",
			doc:  `steps: { a: { function: f, timeout: 5s } }`,
			lead: []workflow.Event{
				workflow.ActivityStarted{Step: "a", Fence: 1, Worker: "w1"}, workflow.TimeoutFired{Scope: workflow.TimeoutActivity, Step: "a"},
			},
			forged: workflow.ActivityCompleted{Step: "a"}, guard: fsm.GuardTimeouts(), says: "after its deadline",
		},
		{
			name: "an execution completed after its timeout was decided",
			doc:  `steps: { a: { function: f } }`,
			lead: []workflow.Event{
				workflow.TimeoutFired{Scope: workflow.TimeoutWorkflow}, workflow.OutcomeDecided{Outcome: workflow.OutcomeTimedOut, Error: failed},
				workflow.ActivityStarted{Step: "a", Fence: 1, Walked: true}, workflow.ActivityFailed{Step: "a", Error: failed, Status: workflow.StatusCancelled},
			},
			forged: workflow.WorkflowCompleted{}, guard: fsm.GuardTimeouts(), says: "after its deadline",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := begin(t, c.doc, "")
			if c.before != nil {
				c.before(r)
			}
			s, err := Replay(r.p, nil, r.history)
			require.NoError(t, err)
			for _, e := range c.lead {
				s, err = Apply(r.p, s, workflow.Recorded{Version: s.Version + 1, At: s.At + int64(time.Second), Event: e})
				require.NoError(t, err, "the test leads up to it wrongly")
			}
			_, err = Apply(r.p, s, workflow.Recorded{Version: s.Version + 1, At: s.At + int64(time.Second), Event: c.forged})
			var refused *fsm.TransitionError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, c.guard, refused.Guard, "%v", err)
			require.ErrorContains(t, err, c.says)
			var history *HistoryError
			require.ErrorAs(t, err, &history)
			require.Equal(t, c.forged.Type(), history.Type)
		})
	}
}

// TestOperatorsAttemptIsNoRetry: an operator's attempt is not held against the policy that has run out.
func TestOperatorsAttemptIsNoRetry(t *testing.T) {
	r := begin(t, "on_failure: pause\nlimits: { retries: 1 }\n"+`steps: { a: { function: f, retry: { attempts: 2, delay: 1s } } }`, "")
	r.failing("f", "f.down", 3)
	r.work(time.Minute)
	for id := range 2 {
		require.Equal(t, fsm.WorkflowStateWaiting(), r.s.Status, r.story())
		r.do(workflow.OperatorMove{ID: string(rune('1' + id)), Move: workflow.MoveRetry, Step: "a"})
		r.work(time.Minute)
	}
	require.Equal(t, "Completed", r.s.Status.String(), r.story())
	_, err := Replay(r.p, nil, r.history)
	require.NoError(t, err)
}
