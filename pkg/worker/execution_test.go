package worker

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

// padded is a function that returns a text of so many bytes.
var padded = activity.Func("padded", func(_ context.Context, in struct{ N, Pad int }) (map[string]any, error) {
	return map[string]any{"n": in.N, "pad": strings.Repeat("x", in.Pad)}, nil
})

// chainOf is a workflow of so many steps in a row, with outputs of so many bytes that are all read in the end. It waits before the last step.
func chainOf(steps, bytes int) string {
	text, reads := &strings.Builder{}, []string{}
	fmt.Fprintf(text, "  s0: { function: padded, with: { N: 0, Pad: %d } }\n", bytes)
	for i := 1; i < steps; i++ {
		fmt.Fprintf(text, "  s%d: { needs: [ s%d ], function: padded, with: { N: %d, Pad: %d } }\n", i, i-1, i, bytes)
	}
	fmt.Fprintf(text, "  w: { needs: [ s%d ], event: { type: Go } }\n  last: { needs: [ w ], function: std.echo, with: { n: 99 } }\n", steps-1)
	for i := range steps {
		reads = append(reads, fmt.Sprintf("steps.s%d.output.pad.size()", i))
	}
	return "name: chain\noutput: '${ [" + strings.Join(reads, ", ") + "] }'\nsteps:\n" + text.String()
}

// TestADamagedHistoryIsRefused: a worker that takes an execution over checks the chain of hashes first, and decides nothing on one that has a break (WF-006 §20).
func TestADamagedHistoryIsRefused(t *testing.T) {
	damage := map[string]func(list []eventstore.Commit) []eventstore.Commit{
		"a byte changed":    func(l []eventstore.Commit) []eventstore.Commit { l[2].Data[len(l[2].Data)/2] ^= 1; return l },
		"an output changed": func(l []eventstore.Commit) []eventstore.Commit { return rewritten(l, 2, `"n":1`, `"n":7`) },
		"a time changed":    func(l []eventstore.Commit) []eventstore.Commit { l[1].Nonce[0] ^= 1; return l },
		"a commit removed":  func(l []eventstore.Commit) []eventstore.Commit { return append(l[:2:2], l[3:]...) },
		"two exchanged":     func(l []eventstore.Commit) []eventstore.Commit { l[1], l[2] = l[2], l[1]; return l },
		"the first removed": func(l []eventstore.Commit) []eventstore.Commit { return l[1:] },
		"one put in twice": func(l []eventstore.Commit) []eventstore.Commit {
			return append(append(l[:2:2], l[1]), l[2:]...)
		},
		"the chain broken": func(l []eventstore.Commit) []eventstore.Commit { l[3].Prev[0] ^= 1; return l },
	}
	for name, change := range damage { // order-free: each is for itself
		t.Run(name, func(t *testing.T) {
			r := newRig(t, padded)
			s := r.begin(r.define(chainOf(4, 0)), `{}`)
			r.settle()
			require.Greater(t, len(r.commits(s)), 4)
			require.Zero(t, r.checkpoints(s), "the chain reaches to the first event")
			r.store.Rewrite(s, change)
			before := r.commits(s)
			r.Worker = r.another("w2")
			a := r.tell(s, signal("1", "Go"))
			require.False(t, a.Done)
			require.Error(t, a.Err)
			require.False(t, Passing(a.Err), "waiting does not help: %v", a.Err)
			require.ErrorContains(t, a.Err, s.ID)
			require.Equal(t, before, r.commits(s), "nothing is written behind a break")
			require.Empty(t, r.takeTasks())
			_, err := r.Inspect(t.Context(), s)
			require.Error(t, err)
			_, err = eventstore.Verify(t.Context(), r.store, s)
			require.ErrorAs(t, err, new(*eventstore.CorruptError))
		})
	}
}

// rewritten changes a text in a commit that holds it.
func rewritten(list []eventstore.Commit, from int, old, fresh string) []eventstore.Commit {
	for i := from; i < len(list)-1; i++ {
		if changed := bytes.Replace(list[i].Data, []byte(old), []byte(fresh), 1); !bytes.Equal(changed, list[i].Data) {
			list[i].Data = changed
			return list
		}
	}
	panic("no commit has that text")
}

// checkpoints counts the commits that carry a state.
func (r *rig) checkpoints(s eventstore.Stream) (n int) {
	for _, c := range r.commits(s) {
		if c.Checkpoint == c.First {
			n++
		}
	}
	return n
}

// TestDamageBeforeACheckpoint: a worker reads back to the last checkpoint only, so what is damaged before it does not stop the execution; the audit of the
// whole history finds it.
func TestDamageBeforeACheckpoint(t *testing.T) {
	r := newRig(t, padded)
	s := r.begin(r.define(chainOf(30, 1000)), `{}`)
	r.settle()
	require.Positive(t, r.checkpoints(s))
	r.store.Rewrite(s, func(list []eventstore.Commit) []eventstore.Commit { return rewritten(list, 1, "xxxx", "yyyy") })
	r.Worker = r.another("w2")
	require.True(t, r.tell(s, signal("1", "Go")).Done)
	r.settle()
	r.ended(s, "completed")
	_, err := eventstore.Verify(t.Context(), r.store, s)
	require.ErrorAs(t, err, new(*eventstore.CorruptError))
}

// TestCheckpointsByTheRule: a commit carries the state exactly when the bytes since the last one exceed the larger of 16 KB and what that one took, so that a
// load is bounded and what is written for it is too (commit protocol, point 3). It holds for a worker that remembers the execution and for
// workers that load it each time, for states in commits and beside them.
func TestCheckpointsByTheRule(t *testing.T) {
	for _, pad := range []int{0, 300, 3000, 20_000} {
		for _, inline := range []int{200_000, 20_000} {
			for _, cold := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d bytes a step, %d in a commit, cold %v", pad, inline, cold), func(t *testing.T) {
					r := newRig(t, padded)
					r.Limits.StateInline = inline
					s := r.begin(r.define(chainOf(60, pad)), `{}`)
					for tasks := r.takeTasks(); len(tasks) > 0; tasks = r.takeTasks() {
						if cold {
							r.Worker = r.another("w1")
							r.Limits.StateInline, r.Limits.Chain = inline, 1
						}
						require.True(t, r.HandleTask(t.Context(), r.received(tasks[0])).Done)
					}
					r.checkpointed(s)
					r.sameReplayed(s)
				})
			}
		}
	}
}

// checkpointed requires the rule of a stored history.
func (r *rig) checkpointed(s eventstore.Stream) {
	r.Helper()
	since, last, events, states := 0, 0, 0, 0
	for _, c := range r.commits(s) {
		b, err := codec.Decode(c.Data)
		require.NoError(r, err)
		carries := c.Checkpoint == c.First
		require.Equal(r, carries, b.State != nil || b.StateRef != "", "commit %d", c.First)
		bare := *b
		bare.State, bare.StateRef = nil, ""
		data, err := codec.CBOR{}.Encode(&bare)
		require.NoError(r, err)
		require.Equal(r, since+len(data) > max(r.Limits.Checkpoint, last), carries, "commit %d: %d bytes since the last state, which took %d", c.First, since+len(data), last)
		since, events = since+len(data), events+len(data)
		require.LessOrEqual(r, len(c.Data), eventstore.MaxCommit)
		if !carries {
			continue
		}
		state, _, err := r.checkpointOf(r.Context(), s, b)
		require.NoError(r, err)
		require.Equal(r, c.Last, state.Version)
		encoded, err := codec.EncodeState(state)
		require.NoError(r, err)
		require.Equal(r, len(encoded) > r.Limits.StateInline, b.StateRef != "")
		since, last = 0, len(encoded)
		if b.State != nil {
			last = len(c.Data)
		}
		states += len(encoded)
	}
	require.LessOrEqual(r, states, 3*events+r.Limits.Checkpoint, "states may cost about as much as events, not more")
	before := r.store.Reads()
	r.see(s)
	require.LessOrEqual(r, r.store.Reads().Bytes-before.Bytes, int64(2*max(r.Limits.Checkpoint, last)+50_000), "a load reads what was written since the last state")
}

// sameReplayed requires that the state read from the last checkpoint on is what all events come to.
func (r *rig) sameReplayed(s eventstore.Stream) {
	r.Helper()
	x := &execution{stream: s}
	for _, c := range r.commits(s) {
		c.Checkpoint = 0 // as if there were none
		require.NoError(r, r.replay(r.Context(), x, &c))
	}
	want, err := codec.EncodeState(x.state)
	require.NoError(r, err)
	got, err := codec.EncodeState(r.see(s).State)
	require.NoError(r, err)
	require.True(r, bytes.Equal(want, got))
}

// TestALargeStateGoesToThePayloadStore: a state that does not fit into a commit is kept beside it, and read from there.
func TestALargeStateGoesToThePayloadStore(t *testing.T) {
	r := newRig(t, padded)
	r.Limits.StateInline = 20_000
	s := r.begin(r.define(chainOf(60, 1000)), `{}`)
	r.settle()
	refs := 0
	for _, c := range r.commits(s) {
		b, err := codec.Decode(c.Data)
		require.NoError(t, err)
		if b.StateRef != "" {
			refs++
			require.Nil(t, b.State)
		}
	}
	require.Positive(t, refs)
	r.Worker = r.another("w2")
	require.True(t, r.tell(s, signal("1", "Go")).Done)
	r.settle()
	r.ended(s, "completed")
	require.Positive(t, r.payloads.Stored())
	r.sameReplayed(s)

	// They are collected with their execution.
	require.NoError(t, r.payloads.Release(t.Context(), s))
	require.Zero(t, r.payloads.Stored())
}

// TestOneWriteAStep: a chain costs one commit a step, and its task is the guard of all of it (commit protocol, point 7).
func TestOneWriteAStep(t *testing.T) {
	r := newRig(t, padded)
	s := r.begin(r.define(chainOf(10, 0)), `{}`)
	tasks := r.takeTasks()
	require.Len(t, tasks, 1)
	before := len(r.commits(s))
	require.True(t, r.HandleTask(t.Context(), r.received(tasks[0])).Done)
	require.Len(t, r.commits(s), before+10)
	require.Empty(t, r.takeTasks())
}

// TestLongChainsHandOver: after so many steps, or its share of the receive, a chain goes on under a fresh task.
func TestLongChainsHandOver(t *testing.T) {
	r := newRig(t, padded)
	s := r.begin(r.define(chainOf(120, 0)), `{}`)
	var handed []int
	for tasks := r.takeTasks(); len(tasks) > 0; tasks = r.takeTasks() {
		require.Len(t, tasks, 1)
		before := r.count(s, "ActivityCompleted")
		require.True(t, r.HandleTask(t.Context(), r.received(tasks[0])).Done)
		handed = append(handed, r.count(s, "ActivityCompleted")-before)
	}
	require.Equal(t, []int{r.Limits.Chain, r.Limits.Chain, 120 - 2*r.Limits.Chain}, handed)

	// A receive that ends: nothing is begun after its share.
	slow := activity.Func("slow", func(context.Context, struct{}) (int, error) { r.pass(r.Limits.Lease); return 1, nil })
	r = newRig(t, slow)
	var text strings.Builder
	text.WriteString("name: slow\nsteps:\n  s0: { function: slow }\n")
	for i := 1; i < 20; i++ {
		fmt.Fprintf(&text, "  s%d: { needs: [ s%d ], function: slow }\n", i, i-1)
	}
	s = r.begin(r.define(text.String()), `{}`)
	d := r.received(r.takeTasks()[0])
	d.Until = r.now + 10*int64(r.Limits.Lease)
	require.True(t, r.HandleTask(t.Context(), d).Done)
	done := r.count(s, "ActivityCompleted")
	require.InDelta(t, 10*r.Limits.Share/100, done, 1)
	require.Less(t, r.now, d.Until)
	require.Len(t, r.takeTasks(), 1)
}

// TestDrain: a worker that stops finishes its step, stores what it came to, and hands the chain over; nothing waits for a lease to run out (WF-006 §20).
func TestDrain(t *testing.T) {
	var r *rig
	third := activity.Func("third", func(context.Context, struct{}) (string, error) { r.Drain(); return "done", nil })
	r = newRig(t, third)
	s := r.begin(r.define(`
name: drained
steps:
  a: { function: std.echo, with: { n: 1 } }
  b: { needs: [ a ], function: std.echo, with: { n: 2 } }
  c: { needs: [ b ], function: third }
  d: { needs: [ c ], function: std.echo, with: { n: 4 } }
  e: { needs: [ d ], function: std.echo, with: { n: 5 } }`), `{}`)
	require.True(t, r.HandleTask(t.Context(), r.received(r.takeTasks()[0])).Done)
	require.Equal(t, 3, r.count(s, "ActivityCompleted"))
	handed := r.takeTasks()
	require.Len(t, handed, 1)
	require.Equal(t, "d", handed[0].Step)
	next := r.another("w2")
	require.True(t, next.HandleTask(t.Context(), r.received(handed[0])).Done, "at once: no lease is in the way")
	r.ended(s, "completed")
	require.Equal(t, 1, r.count(s, "OwnershipChanged"))
	require.Zero(t, r.count(s, "LeaseExpired"))
}

// TestCutOff: a worker that must stop at once gives the attempt back as it is: nothing is known to have failed, and no retry is used up.
func TestCutOff(t *testing.T) {
	var cut context.CancelFunc
	runs := 0
	f := activity.Func("f", func(ctx context.Context, _ struct{}) (int, error) {
		if runs++; runs == 1 {
			cut()
			<-ctx.Done()
			return 0, ctx.Err()
		}
		return runs, nil
	})
	r := newRig(t, f)
	s := r.begin(r.define("name: cut\nsteps:\n  a: { function: std.echo, with: { n: 1 } }\n  b: { needs: [ a ], function: f, retry: { attempts: 1 } }"), `{}`)
	task := r.takeTasks()[0]
	ctx, cancel := context.WithCancel(t.Context())
	cut = cancel
	a := r.HandleTask(ctx, r.received(task))
	require.False(t, a.Done)
	require.True(t, Passing(a.Err))
	require.Zero(t, r.count(s, "ActivityFailed"))

	// The task is still the guard of what it started; whoever gets it finds the lease, and goes on when it is over.
	next := r.another("w2")
	a = next.HandleTask(t.Context(), r.received(task))
	require.Equal(t, Answer{After: r.Limits.Lease}, a)
	require.Empty(t, r.takeMessages())
	r.pass(r.Limits.Lease)
	a = next.HandleTask(t.Context(), r.received(task))
	require.False(t, a.Done)
	r.settle()
	r.ticks()
	r.ended(s, "completed")
	require.Equal(t, 1, r.count(s, "LeaseExpired"))
	require.True(t, next.HandleTask(t.Context(), r.received(task)).Done)
	require.Zero(t, r.see(s).Version-r.row(s).Version)
}
