package worker

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// claimsOnly is all of a store that a sealed worker has. Whatever else it calls finds nothing, and panics.
type claimsOnly struct {
	Store
	claims eventstore.Claims
}

func (c claimsOnly) Claim(ctx context.Context, k eventstore.ClaimKey, claim eventstore.Claim) (eventstore.Claim, error) {
	return c.claims.Claim(ctx, k, claim)
}

func (c claimsOnly) Extend(ctx context.Context, k eventstore.ClaimKey, held eventstore.Claim, until int64) (eventstore.Claim, error) {
	return c.claims.Extend(ctx, k, held, until)
}

func (c claimsOnly) ReadClaim(ctx context.Context, k eventstore.ClaimKey) (eventstore.Claim, error) {
	return c.claims.ReadClaim(ctx, k)
}

const ours = "ours"

// sealed is a worker of a class of the user's own, to which everything called "work" goes.
func (r *rig) sealed(name string) *Worker {
	r.Route = func(_, function string) string {
		if function == "work" {
			return ours
		}
		return DefaultClass
	}
	w := r.another(name)
	w.Class, w.Commits, w.Programs = ours, false, nil
	w.Store = claimsOnly{claims: r.store}
	return w
}

// sealing is a rig with a sealed worker beside the engine, and the first task of a workflow of one step.
func sealing(t *testing.T, step, input string, work func(r *rig, ctx context.Context) (any, error)) (*rig, *Worker, eventstore.Stream, Task) {
	var r *rig
	r = newRig(t, activity.Func("work", func(ctx context.Context, _ any) (any, error) { return work(r, ctx) }))
	w := r.sealed("ours-1")
	s := r.begin(r.define("name: sealed\ninput: { schema: { type: object } }\noutput: '${ steps.a.output }'\nsteps:\n  a: { function: work"+step+" }"), input)
	tasks := r.takeTasks()
	require.Len(t, tasks, 1)
	require.Equal(t, ours, tasks[0].Class)
	return r, w, s, tasks[0]
}

func plain(*rig, context.Context) (any, error) { return "fine", nil }

// TestASealedWorkerNeedsItsClaimOnly: whatever its step is like, it runs without a look at the history, and answers to the inbox.
func TestASealedWorkerNeedsItsClaimOnly(t *testing.T) {
	large := `{"text":"` + strings.Repeat("x", 100<<10) + `"}`
	for name, test := range map[string]struct {
		step, input string
		work        func(*rig, context.Context) (any, error)
		outcome     string
	}{
		"a small step":         {"", `{}`, plain, "completed"},
		"a large input":        {", with: { all: '${ input.text }' }", large, plain, "completed"},
		"an input over 4 KB":   {", with: { all: '${ input.text }' }", `{"text":"` + strings.Repeat("y", 8<<10) + `"}`, plain, "completed"},
		"idempotent":           {", idempotent: true", `{}`, plain, "completed"},
		"a large output":       {"", `{}`, func(*rig, context.Context) (any, error) { return strings.Repeat("z", 200<<10), nil }, "completed"},
		"an error":             {"", `{}`, func(*rig, context.Context) (any, error) { return nil, activity.NewError("sold.out", "none left") }, "failed"},
		"a panic":              {"", `{}`, func(*rig, context.Context) (any, error) { panic("oh") }, "failed"},
		"alive for long":       {"", `{}`, func(r *rig, _ context.Context) (any, error) { return beats(r) }, "completed"},
		"idempotent, for long": {", idempotent: true", `{}`, func(r *rig, _ context.Context) (any, error) { return beats(r) }, "completed"},
	} {
		t.Run(name, func(t *testing.T) {
			r, w, s, task := sealing(t, test.step, test.input, test.work)
			before := len(r.commits(s))
			require.Equal(t, done(), w.HandleTask(t.Context(), r.received(task)))
			require.Len(t, r.commits(s), before, "it wrote into the history")
			r.settle()
			r.ended(s, test.outcome)
		})
	}
}

// beats is an activity that outlives several leases.
func beats(r *rig) (any, error) {
	for range 6 {
		r.pass(r.Limits.Lease / 2)
		r.beat()
	}
	return "late", nil
}

// TestASealedTaskComesAgain: a task that was delivered twice, or whose worker died, ends by what its claim says (commit protocol, point 6).
func TestASealedTaskComesAgain(t *testing.T) {
	for _, step := range []string{"", ", idempotent: true"} {
		t.Run("while it runs"+step, func(t *testing.T) {
			r, w, s, task := sealing(t, step, `{}`, func(r *rig, _ context.Context) (any, error) {
				r.pass(r.Limits.Lease / 3)
				r.beat() // which gives an idempotent one its claim
				require.Equal(t, Answer{After: r.Limits.Lease}, r.sealed("ours-2").HandleTask(t.Context(), r.received(r.sent[0])))
				return "once", nil
			})
			r.sent = []Task{task}
			require.True(t, w.HandleTask(t.Context(), r.received(task)).Done)
			r.settle()
			r.ended(s, "completed")
		})
	}
	t.Run("after it ended", func(t *testing.T) {
		r, w, s, task := sealing(t, "", `{}`, plain)
		require.True(t, w.HandleTask(t.Context(), r.received(task)).Done)
		r.settle()
		r.ended(s, "completed")
		require.False(t, w.HandleTask(t.Context(), r.received(task)).Done, "it cannot know yet")
		r.pass(r.Limits.Lease)
		require.Equal(t, Answer{After: r.Limits.Lease}, w.HandleTask(t.Context(), r.received(task)), "it asks")
		for _, m := range r.takeMessages() {
			require.Equal(t, allDone(1), r.HandleInbox(t.Context(), s, []Message{m}))
		}
		require.Equal(t, done(), w.HandleTask(t.Context(), r.received(task)), "and is told")
	})
	t.Run("after its worker died", func(t *testing.T) {
		runs := 0
		r, w, s, task := sealing(t, "", `{}`, func(*rig, context.Context) (any, error) { runs++; return runs, nil })
		_, mine, err := w.claim(t.Context(), r.received(task), *task.Command) // and that was all
		require.NoError(t, err)
		require.True(t, mine)
		r.pass(r.Limits.Lease)
		require.Equal(t, Answer{After: r.Limits.Lease}, w.HandleTask(t.Context(), r.received(task)))
		require.Zero(t, runs)
		for _, m := range r.takeMessages() {
			require.Equal(t, allDone(1), r.HandleInbox(t.Context(), s, []Message{m}))
		}
		require.Equal(t, done(), w.HandleTask(t.Context(), r.received(task)), "the attempt has a successor")
		for _, next := range r.takeTasks() {
			require.NotEqual(t, task.Fence, next.Fence)
			require.True(t, w.HandleTask(t.Context(), r.received(next)).Done)
		}
		r.settle()
		r.ended(s, "completed")
		require.Equal(t, 1, runs)
	})
	t.Run("after its execution was removed", func(t *testing.T) {
		r, w, s, task := sealing(t, "", `{}`, plain)
		_, _, err := w.claim(t.Context(), r.received(task), *task.Command)
		require.NoError(t, err)
		require.NoError(t, r.store.Purge(t.Context(), s))
		_, _, err = w.claim(t.Context(), r.received(task), *task.Command)
		require.NoError(t, err)
		r.pass(r.Limits.Lease)
		require.False(t, w.HandleTask(t.Context(), r.received(task)).Done)
		r.settle()
		require.Equal(t, done(), w.HandleTask(t.Context(), r.received(task)))
	})
}

// TestASealedAttemptThatIsNotWanted: a worker that may not read the history hears of its end all the same, before the start and after it.
func TestASealedAttemptThatIsNotWanted(t *testing.T) {
	ends := map[string]func(r *rig, s eventstore.Stream){
		"cancelled": func(r *rig, s eventstore.Stream) {
			require.True(r, r.tell(s, workflow.Cancel{ID: "c", Origin: workflow.OriginUser, Mode: workflow.CancelImmediate}).Done)
		},
		"taken for dead": func(r *rig, s eventstore.Stream) {
			r.pass(2 * r.Limits.Lease)
			require.False(r, r.sealed("ours-2").HandleTask(r.Context(), r.received(r.sent[0])).Done)
			for _, m := range r.takeMessages() {
				require.Equal(r, allDone(1), r.HandleInbox(r.Context(), s, []Message{m}))
			}
		},
	}
	for name, end := range ends { // order-free: each is for itself
		for _, step := range []string{"", ", idempotent: true"} {
			if name == "taken for dead" && strings.Contains(step, "idempotent") {
				continue // it has no claim yet, so nobody takes it for dead: it just runs again
			}
			t.Run(fmt.Sprint("running, ", name, step), func(t *testing.T) {
				var s eventstore.Stream
				r, w, s, task := sealing(t, step, `{}`, func(r *rig, ctx context.Context) (any, error) {
					end(r, s)
					require.NoError(t, ctx.Err())
					r.beat()
					require.ErrorIs(t, context.Cause(ctx), errLost)
					return nil, ctx.Err()
				})
				r.sent = []Task{task}
				require.Equal(t, Answer{After: r.Limits.Retry}, w.HandleTask(t.Context(), r.received(task)))
				require.Equal(t, done(), w.HandleTask(t.Context(), r.received(task)), "and then its task is done with")
			})
		}
	}
	t.Run("not started, cancelled", func(t *testing.T) {
		r, w, s, task := sealing(t, "", `{}`, func(*rig, context.Context) (any, error) { t.Error("it ran"); return nil, nil })
		ends["cancelled"](r, s)
		require.Equal(t, Answer{After: r.Limits.Retry}, w.HandleTask(t.Context(), r.received(task)))
		r.pass(r.Limits.Retry)
		require.Equal(t, done(), w.HandleTask(t.Context(), r.received(task)))
		r.settle()
		r.ended(s, "cancelled")
	})
}

// TestATaskWithoutACommand: a sealed worker can do nothing with it, and says what to do.
func TestATaskWithoutACommand(t *testing.T) {
	r, w, _, task := sealing(t, "", `{}`, plain)
	task.Command = nil
	a := w.HandleTask(t.Context(), r.received(task))
	require.False(t, a.Done)
	require.ErrorIs(t, a.Err, errNoCommand)
}
