package worker

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// during runs the first task of a workflow whose step calls f while it is at work, and returns the answer for the task.
func during(t *testing.T, step string, f func(r *rig, ctx context.Context, s eventstore.Stream, claim func() eventstore.Claim)) (*rig, eventstore.Stream, Answer, []time.Duration) {
	var r *rig
	var s eventstore.Stream
	var extended []time.Duration
	work := activity.Func("work", func(ctx context.Context, _ struct{}) (int, error) {
		f(r, ctx, s, func() eventstore.Claim {
			c, err := r.store.ReadClaim(t.Context(), eventstore.ClaimKey{Stream: s, Attempt: "a", Fence: 1})
			require.NoError(t, err)
			return c
		})
		return 1, ctx.Err()
	})
	r = newRig(t, work)
	s = r.begin(r.define("name: works\nsteps:\n  a: { function: work"+step+" }"), `{}`)
	r.sent = r.takeTasks()
	d := r.received(r.sent[0])
	d.Extend = func(_ context.Context, by time.Duration) error { extended = append(extended, by); return nil }
	return r, s, r.HandleTask(t.Context(), d), extended
}

// TestALeaseIsKeptAlive: while a worker is at work, its claim and its task are extended, and nobody else runs the attempt (commit protocol, point 6).
func TestALeaseIsKeptAlive(t *testing.T) {
	r, s, a, extended := during(t, "", func(r *rig, _ context.Context, s eventstore.Stream, claim func() eventstore.Claim) {
		for range 10 {
			r.pass(r.Limits.Lease / 3)
			r.beat()
			require.Equal(t, r.now+int64(r.Limits.Lease), claim().Until)
			put := r.another("w2").HandleTask(t.Context(), r.received(r.sent[0]))
			require.Equal(t, Answer{After: r.Limits.Lease}, put)
		}
	})
	require.True(t, a.Done)
	require.Len(t, extended, 10)
	for _, by := range extended {
		require.Equal(t, r.Limits.Lease+r.Limits.Retry, by, "the task is hidden for as long as the lease lasts")
	}
	r.ended(s, "completed")
	require.Empty(t, r.takeMessages())
}

// TestALeaseEndsWithTheTimeout: however much its worker beats, an attempt is not kept past the timeout of its step.
func TestALeaseEndsWithTheTimeout(t *testing.T) {
	_, _, _, extended := during(t, ", timeout: 1h", func(r *rig, _ context.Context, _ eventstore.Stream, claim func() eventstore.Claim) {
		started := r.now
		for range 400 {
			r.pass(r.Limits.Lease / 3)
			r.beat()
			require.LessOrEqual(t, claim().Until, started+int64(time.Hour))
		}
		require.Equal(t, started+int64(time.Hour), claim().Until)
	})
	require.Less(t, len(extended), 365, "a task whose lease cannot be extended must come again")
	require.Greater(t, len(extended), 350)
}

// TestHeartbeats: of a step with `heartbeat`, the lease is extended only as long as the activity itself gives signs of life.
func TestHeartbeats(t *testing.T) {
	const beat = 10 * time.Second
	_, _, a, _ := during(t, ", heartbeat: 10s", func(r *rig, ctx context.Context, _ eventstore.Stream, claim func() eventstore.Claim) {
		require.Equal(t, r.now+int64(beat+beat/2), claim().Until)
		for range 10 { // it speaks
			r.pass(beat / 2)
			activity.Heartbeat(ctx, "on it")
			r.beat()
			require.Equal(t, r.now+int64(beat+beat/2), claim().Until)
		}
		spoke := r.now
		for range 10 { // it is silent
			r.pass(beat / 3)
			r.beat()
			require.LessOrEqual(t, claim().Until, spoke+int64(beat+beat/2))
		}
		require.False(t, claim().Live(r.now))
	})
	require.True(t, a.Done, "nobody gave it up meanwhile")
}

// TestAnAttemptThatIsNotWantedAnyMore: it is stopped, and what it comes to is not stored.
func TestAnAttemptThatIsNotWantedAnyMore(t *testing.T) {
	ends := map[string]func(r *rig, s eventstore.Stream){
		"cancelled elsewhere": func(r *rig, s eventstore.Stream) {
			cancel := workflow.Cancel{ID: "c", Origin: workflow.OriginUser, Mode: workflow.CancelImmediate}
			require.Equal(r, allDone(1), r.another("w2").HandleInbox(r.Context(), s, messages(s, cancel)))
		},
		"taken over": func(r *rig, s eventstore.Stream) {
			r.pass(2 * r.Limits.Lease)
			other := r.another("w2")
			require.False(r, other.HandleTask(r.Context(), r.received(r.sent[0])).Done)
			for _, m := range r.takeMessages() {
				require.Equal(r, allDone(1), other.HandleInbox(r.Context(), s, []Message{m}))
			}
		},
	}
	for name, end := range ends { // order-free: each is for itself
		t.Run(name, func(t *testing.T) {
			r, s, a, _ := during(t, "", func(r *rig, ctx context.Context, s eventstore.Stream, _ func() eventstore.Claim) {
				end(r, s)
				require.NoError(t, ctx.Err())
				r.beat()
				require.ErrorIs(t, context.Cause(ctx), errLost)
			})
			require.Equal(t, Answer{After: r.Limits.Retry}, a, "it comes again, and then finds what came of the attempt")
			require.Zero(t, r.count(s, "ActivityCompleted"))
		})
	}
}

// TestABeatMeetsAFault: that the store was away for a moment is no reason to give up: the lease itself is the bound.
func TestABeatMeetsAFault(t *testing.T) {
	r, s, a, _ := during(t, "", func(r *rig, ctx context.Context, _ eventstore.Stream, _ func() eventstore.Claim) {
		r.Worker.Store.(*rigStore).away = true
		r.pass(r.Limits.Lease / 3)
		r.beat()
		r.Worker.Store.(*rigStore).away = false
		require.NoError(t, ctx.Err())
	})
	require.True(t, a.Done)
	r.ended(s, "completed")
}

// TestAnEagerStartIsClaimedInTime: it has no claim of its own as long as it is short; before its first lease is over it gets one.
func TestAnEagerStartIsClaimedInTime(t *testing.T) {
	var r *rig
	var s eventstore.Stream
	work := activity.Func("work", func(context.Context, struct{}) (int, error) {
		key := eventstore.ClaimKey{Stream: s, Attempt: "b", Fence: 1}
		_, err := r.store.ReadClaim(t.Context(), key)
		require.ErrorIs(t, err, eventstore.ErrNotFound)
		r.pass(r.Limits.Lease / 3)
		r.beat()
		c, err := r.store.ReadClaim(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, r.now+int64(r.Limits.Lease), c.Until)
		r.pass(r.Limits.Lease)
		// By the history its first lease is over; by its claim it is not quite.
		r.now--
		put := r.another("w2").HandleTask(t.Context(), r.received(r.sent[0]))
		require.Equal(t, Answer{After: time.Millisecond}, put)
		return 1, nil
	})
	r = newRig(t, work)
	s = r.begin(r.define("name: eager\nsteps:\n  a: { function: std.echo, with: { n: 1 } }\n  b: { needs: [ a ], function: work }"), `{}`)
	r.sent = r.takeTasks()
	require.True(t, r.HandleTask(t.Context(), r.received(r.sent[0])).Done)
	r.ended(s, "completed")
	require.Empty(t, r.takeMessages())
}

// outOfReach is a payload store that cannot be written to for a time, or not be read.
type outOfReach struct {
	eventstore.PayloadStore
	times, reads int
}

func (o *outOfReach) Open(ctx context.Context, tenant string, r eventstore.Ref) (io.ReadCloser, error) {
	if o.reads > 0 {
		o.reads--
		return nil, &eventstore.UnavailableError{Op: "get", Err: errors.New("slow down")}
	}
	return o.PayloadStore.Open(ctx, tenant, r)
}

func (o *outOfReach) Put(ctx context.Context, s eventstore.Stream, r io.Reader) (eventstore.Ref, error) {
	if o.times > 0 {
		o.times--
		return eventstore.Ref{}, &eventstore.UnavailableError{Op: "put", Err: errors.New("slow down")}
	}
	return o.PayloadStore.Put(ctx, s, r)
}

// TestAnOutageOfTheStoresIsNoFailureOfTheStep: an attempt whose result cannot be stored is made again without a word about retries in the workflow, unless it
// must not be repeated.
func TestAnOutageOfTheStoresIsNoFailureOfTheStep(t *testing.T) {
	for step, outcome := range map[string]string{"": "completed", ", idempotent: true": "completed", ", idempotent: false": "failed"} { // order-free
		runs := 0
		r := newRig(t, activity.Func("work", func(context.Context, struct{}) (string, error) { runs++; return strings.Repeat("x", 300_000), nil }))
		r.Payloads = &outOfReach{PayloadStore: r.payloads, times: 1}
		s := r.begin(r.define("name: works\nsteps:\n  a: { function: work"+step+" }"), `{}`)
		r.settle()
		if outcome == "completed" {
			r.pass(time.Minute)
			require.True(t, r.tell(s, workflow.Tick{}).Done)
			r.settle()
		}
		end := r.ended(s, outcome)
		require.Equal(t, map[string]int{"completed": 2, "failed": 1}[outcome], runs, "%q", step)
		if outcome == "failed" {
			require.Equal(t, CodeStores, end.State.Error.Code)
			require.Equal(t, workflow.CategoryInfrastructure, end.State.Error.Category)
		}
	}
}

// TestAnInputOutOfReach: an attempt that could not read its input has not begun, and is made again even where the step must not be repeated.
func TestAnInputOutOfReach(t *testing.T) {
	for _, step := range []string{"", ", idempotent: true", ", idempotent: false"} {
		runs := 0
		r := newRig(t, activity.Func("make", func(context.Context, struct{}) (string, error) { return strings.Repeat("x", 300_000), nil }),
			activity.Func("pay", func(_ context.Context, in struct{ V string }) (int, error) { runs++; return len(in.V), nil }))
		store := &outOfReach{PayloadStore: r.payloads}
		r.Payloads = store
		s := r.begin(r.define("name: works\nsteps:\n  m: { function: make }\n  t: { needs: [ m ], event: { type: Go } }\n  a: { needs: [ t ], function: pay"+step+", with: { v: '${ steps.m.output }' } }\noutput: '${ steps.a.output }'"), `{}`)
		r.settle()
		store.reads = 1
		require.True(t, r.tell(s, signal("1", "Go")).Done)
		r.settle()
		require.Zero(t, store.reads)
		require.Zero(t, runs, "%q", step)
		r.pass(time.Minute)
		require.True(t, r.tell(s, workflow.Tick{}).Done)
		r.settle()
		require.Equal(t, "300000", r.ended(s, "completed").Output.JSON.String())
		require.Equal(t, 1, runs, "%q", step)
	}
}
