package worker

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// sweep is one sweep of all shards.
func (r *rig) sweep() (all Swept) {
	r.Helper()
	for shard := range eventstore.Shards {
		s, err := r.Sweep(r.Context(), shard, r.now)
		require.NoError(r, err)
		all.Looked, all.Repaired, all.Failed = all.Looked+s.Looked, all.Repaired+s.Repaired, all.Failed+s.Failed
		all.Stuck = append(all.Stuck, s.Stuck...)
	}
	return all
}

// sweepWhenDue moves the clock to when the execution is due, and sweeps.
func (r *rig) sweepWhenDue(s eventstore.Stream) Swept {
	r.Helper()
	r.pass(time.Duration(max(r.row(s).Due-r.now, 0)))
	return r.sweep()
}

// TestNothingIsSweptThatMoves: what is on its way in time, or waits for what comes by itself, is left alone.
func TestNothingIsSweptThatMoves(t *testing.T) {
	r := newRig(t)
	busy, waiting := r.begin(r.define(oneStep), `1`), r.begin(r.define(waitsTwice), `{}`)
	require.Equal(t, Swept{}, r.sweep())
	require.Equal(t, epoch+r.flight(), r.row(busy).Due)
	require.Equal(t, epoch+int64(r.Limits.Recheck), r.row(waiting).Due)
	require.False(t, r.Idle(r.row(busy)))
	require.True(t, r.Idle(r.row(waiting)))
	r.settle()
	require.Zero(t, r.row(busy).Due, "an ended execution that owes nothing is never looked at")

	// A wait without a deadline is looked at now and then: its subscription is renewed, and nothing counts as lost.
	require.Equal(t, Swept{Looked: 1}, r.sweepWhenDue(waiting))
	require.Zero(t, r.row(waiting).Repairs)
	require.Equal(t, r.now+int64(r.Limits.Recheck), r.row(waiting).Due)
}

// TestLostThingsAreSentAgain: for each thing that a queue or timer can lose, one sweep after its time brings it back (commit protocol, point 13).
func TestLostThingsAreSentAgain(t *testing.T) {
	const childless = "name: kid\nsteps:\n  k: { function: std.echo, with: { n: 1 } }"
	cases := map[string]struct {
		workflow string
		lose     func(r *rig, s eventstore.Stream)
	}{
		"the first task": {oneStep, func(r *rig, _ eventstore.Stream) { r.takeTasks() }},
		"a task after a step": {"name: two\nsteps:\n  a: { function: std.echo, with: { n: 1 } }\n  b: { needs: [ a ], function: std.echo, with: { n: 2 } }", func(r *rig, _ eventstore.Stream) {
			r.Drain() // so that the second is sent and not run at once
			require.True(r, r.HandleTask(r.Context(), r.received(r.takeTasks()[0])).Done)
			require.Len(r, r.takeTasks(), 1)
		}},
		"a result": {oneStep, func(r *rig, _ eventstore.Stream) {
			r.Commits = false
			require.True(r, r.HandleTask(r.Context(), r.received(r.takeTasks()[0])).Done)
			require.Len(r, r.takeMessages(), 1)
			r.Commits = true
			r.pass(r.Limits.Lease)
		}},
		"a timer":              {"name: t\nsteps:\n  t: { timer: { for: 1h } }", func(r *rig, _ eventstore.Stream) { require.NotEmpty(r, r.takeArmed()) }},
		"the start of a child": {"name: p\nsteps:\n  c: { workflow: { name: kid } }", func(r *rig, _ eventstore.Stream) { require.Len(r, r.takeMessages(), 1) }},
		"the end of a child": {"name: p\nsteps:\n  c: { workflow: { name: kid } }", func(r *rig, _ eventstore.Stream) {
			for _, m := range r.takeMessages() {
				require.True(r, r.HandleInbox(r.Context(), m.Stream, []Message{m})[0].Done)
			}
			for _, task := range r.takeTasks() {
				require.True(r, r.HandleTask(r.Context(), r.received(task)).Done)
			}
			require.Len(r, r.takeMessages(), 1)
		}},
	}
	for name, c := range cases { // order-free: each is for itself
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.define(childless)
			s := r.begin(r.define(c.workflow), `{}`)
			c.lose(r, s)
			swept := Swept{}
			for range 20 {
				if !r.row(s).Open {
					break
				}
				found := r.sweepAllDue()
				swept.Repaired += found.Repaired
				swept.Looked += found.Looked
				r.settle()
			}
			r.ended(s, "completed")
			require.Positive(t, swept.Looked)
			for range 5 { // and in the end it looks at nothing any more
				r.sweepAllDue()
				r.settle()
			}
			rows, _, err := r.store.List(t.Context(), tenant, eventstore.Filter{}, eventstore.Page{})
			require.NoError(t, err)
			for _, row := range rows {
				require.Zero(t, row.Due, "%s", row.Workflow)
			}
		})
	}
}

// sweepAllDue moves the clock to the time at which some execution is due next, and sweeps.
func (r *rig) sweepAllDue() Swept {
	r.Helper()
	rows, _, err := r.store.List(r.Context(), tenant, eventstore.Filter{}, eventstore.Page{})
	require.NoError(r, err)
	next := int64(0)
	for _, row := range rows {
		if row.Due > 0 && (next == 0 || row.Due < next) {
			next = row.Due
		}
	}
	if next == 0 {
		return Swept{}
	}
	r.pass(time.Duration(max(next-r.now, 0)))
	return r.sweep()
}

// TestBackOffAndStuck: what is lost again and again is repaired ever more rarely, and reported once that was often enough; it is never given up.
func TestBackOffAndStuck(t *testing.T) {
	r := newRig(t)
	s := r.begin(r.define(oneStep), `1`)
	r.takeTasks()
	var pauses []time.Duration
	for i := range int(r.Limits.Repairs) + 5 {
		swept := r.sweepWhenDue(s)
		require.Equal(t, 1, swept.Repaired)
		require.Equal(t, i >= int(r.Limits.Repairs), len(swept.Stuck) == 1, "after %d repairs", i)
		require.Len(t, r.takeTasks(), 1, "it is sent each time")
		require.Equal(t, uint32(i+1), r.row(s).Repairs)
		require.Equal(t, i+1 >= int(r.Limits.Repairs), slices.Equal(r.stuck(s.Tenant), []eventstore.Stream{s}), "after %d repairs", i+1)
		require.Empty(t, r.stuck("somebody else's"))
		pauses = append(pauses, time.Duration(r.row(s).Due-r.now))
	}
	for i := 1; i < len(pauses); i++ {
		require.Equal(t, min(2*pauses[i-1], maxBackoff), pauses[i])
	}
	require.Equal(t, maxBackoff, pauses[len(pauses)-1])

	// Once it moves, all of that is forgotten.
	r.sweepWhenDue(s)
	r.settle()
	r.ended(s, "completed")
	require.Zero(t, r.row(s).Repairs)
}

// stuck are all pages of a tenant's stuck executions.
func (r *rig) stuck(tenant string) (all []eventstore.Stream) {
	for page := (eventstore.Page{Limit: 1}); ; {
		rows, next, err := r.Stuck(r.Context(), tenant, page)
		require.NoError(r, err)
		for _, row := range rows {
			all = append(all, row.Stream)
		}
		if next == "" {
			return all
		}
		page.Cursor = next
	}
}

// TestStuckRefusesACursorOfAnotherList.
func TestStuckRefusesACursorOfAnotherList(t *testing.T) {
	r := newRig(t)
	for _, cursor := range []string{"x", "64.", "-1.", "3", "a.b"} {
		_, _, err := r.Stuck(t.Context(), "default", eventstore.Page{Cursor: cursor})
		require.ErrorAs(t, err, new(*eventstore.InvalidError), cursor)
	}
}

// TestOneThatCannotBeRead: a damaged execution is reported and looked at ever more rarely, and holds up none of the others.
func TestOneThatCannotBeRead(t *testing.T) {
	r := newRig(t)
	name := r.define(oneStep)
	broken, whole := r.begin(name, `1`), r.begin(name, `2`)
	r.takeTasks()
	r.Worker = r.another("w2")
	r.store.Rewrite(broken, func(list []eventstore.Commit) []eventstore.Commit {
		list[0].Data = []byte("not a batch")
		return list
	})
	r.pass(time.Duration(r.flight()))
	require.Equal(t, Swept{Looked: 2, Repaired: 1, Failed: 1}, r.sweep())
	require.Equal(t, uint32(1), r.row(broken).Repairs)
	require.Greater(t, r.row(broken).Due, r.now)
	require.Zero(t, r.sweep().Looked)
	r.settle()
	r.ended(whole, "completed")

	// While the store is away, on the other hand, nobody is blamed.
	again := r.begin(name, `3`)
	r.takeTasks()
	r.Worker = r.another("w3")
	r.pass(time.Duration(r.flight()))
	r.failing("tail", -1)
	for shard := range eventstore.Shards {
		if swept, err := r.Sweep(t.Context(), shard, r.now); err != nil {
			require.ErrorIs(t, err, eventstore.ErrUnavailable)
			require.Zero(t, swept.Failed)
		}
	}
	require.Zero(t, r.row(again).Repairs)
}

// TestAWorkerThatFellSilent: its lease runs out, the expiry goes through the inbox, and another worker runs the attempt under the next fence.
// What the first one says later is refused (commit protocol, point 6).
func TestAWorkerThatFellSilent(t *testing.T) {
	for _, how := range []string{"the task comes again", "the task is lost and the sweep looks"} {
		t.Run(how, func(t *testing.T) {
			var late Answer
			var r *rig
			first := true
			hang := activity.Func("hang", func(context.Context, struct{}) (string, error) {
				if !first {
					return "second", nil
				}
				first = false
				// Meanwhile the world goes on without this worker.
				other := r.another("w2")
				r.pass(2 * r.Limits.Lease)
				if how == "the task comes again" {
					task := r.sent[0]
					a := other.HandleTask(r.Context(), r.received(task))
					require.Equal(t, Answer{After: r.Limits.Lease}, a, "it stays the guard until the expiry is decided")
				} else {
					r.pass(2 * r.Limits.Dispatch)
					require.Equal(t, 1, r.sweep().Repaired)
				}
				for _, m := range r.takeMessages() {
					require.IsType(t, workflow.LeaseExpiry{}, m.Input)
					require.Equal(t, allDone(1), other.HandleInbox(r.Context(), m.Stream, []Message{m}))
				}
				r.waitAndRun(other)
				return "first", nil
			})
			r = newRig(t, hang)
			s := r.begin(r.define("name: hangs\nsteps:\n  a: { function: hang }\n  b: { needs: [ a ], function: std.echo, with: { of: '${ steps.a.output }' } }"), `{}`)
			r.sent = r.takeTasks()
			late = r.HandleTask(t.Context(), r.received(r.sent[0]))
			r.settle()
			require.True(t, late.Done, "%v", late)
			require.Equal(t, `{"b":{"of":"second"}}`, r.ended(s, "completed").Output.JSON.String())
			require.Equal(t, 1, r.count(s, "LeaseExpired"))
			require.Empty(t, r.letters())
		})
	}
}

// TestAnUnknownOutcome: a step that must not be done twice ends with that, for the workflow to decide.
func TestAnUnknownOutcome(t *testing.T) {
	r := newRig(t)
	s := r.begin(r.define("name: once\nsteps:\n  a: { function: std.echo, idempotent: false, on_error: [ { match: error.code == \"infrastructure.unknown_outcome\", continue: { asked: true } } ] }"), `{}`)
	task := r.takeTasks()[0]
	// A worker claims the attempt and dies.
	d := r.received(task)
	_, mine, err := r.claim(t.Context(), d, *task.Command)
	require.NoError(t, err)
	require.True(t, mine)
	r.pass(r.Limits.Lease)
	require.Equal(t, Answer{After: r.Limits.Lease}, r.HandleTask(t.Context(), r.received(task)))
	r.settle()
	require.Equal(t, `{"a":{"asked":true}}`, r.ended(s, "completed").Output.JSON.String())
	require.True(t, r.HandleTask(t.Context(), r.received(task)).Done, "it has been decided")
}

// TestALiveLeaseIsLeftAlone: while somebody is at work, the task is put back for the rest of the lease, and never for no time.
func TestALiveLeaseIsLeftAlone(t *testing.T) {
	r := newRig(t)
	s := r.begin(r.define(oneStep), `1`)
	task := r.takeTasks()[0]
	_, mine, err := r.claim(t.Context(), r.received(task), *task.Command)
	require.NoError(t, err)
	require.True(t, mine)
	for _, passed := range []time.Duration{0, time.Second, r.Limits.Lease - 1} {
		r.now = epoch
		r.pass(passed)
		a := r.another(fmt.Sprint(passed)).HandleTask(t.Context(), r.received(task))
		require.Equal(t, Answer{After: max(r.Limits.Lease-passed, time.Millisecond)}, a)
	}
	require.Empty(t, r.takeMessages())
	require.True(t, r.row(s).Open)
}

// TestRevoked: whoever ends an attempt that has not started takes its claim first; a worker that comes too late runs nothing.
func TestRevoked(t *testing.T) {
	f, calls := counting("f")
	r := newRig(t, f)
	s := r.begin(r.define("name: r\nsteps:\n  a: { function: f }"), `{}`)
	task := r.takeTasks()[0]
	require.True(t, r.tell(s, workflow.Cancel{ID: "c", Origin: workflow.OriginUser, Mode: workflow.CancelImmediate}).Done)
	r.ended(s, "cancelled")
	claim, err := r.store.ReadClaim(t.Context(), claimKey(s, task.AttemptRef))
	require.NoError(t, err)
	require.True(t, claim.Revoked())
	require.True(t, r.another("w2").HandleTask(t.Context(), r.received(task)).Done)
	require.Zero(t, calls())

	// Who revoked and died before its commit: whoever finds that goes on with the step.
	s = r.begin("r", `{}`)
	task = r.takeTasks()[0]
	_, err = eventstore.Revoke(t.Context(), r.store, claimKey(s, task.AttemptRef), "w0", r.now, r.now+int64(time.Hour))
	require.NoError(t, err)
	require.Equal(t, Answer{After: r.Limits.Retry}, r.HandleTask(t.Context(), r.received(task)), "it may be about to commit")
	r.pass(r.Limits.Retry)
	require.Equal(t, Answer{After: r.Limits.Lease}, r.HandleTask(t.Context(), r.received(task)))
	r.settle()
	r.ended(s, "completed")
	require.Equal(t, 1, calls())
}
