package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// A sealed worker is one that may not commit, because it holds a user's own code (commit protocol, point 15). It may not read histories either: all
// that it knows of an attempt is its task and its claim. What the others learn from the history, it learns from the claim, in which they write that an
// attempt is over (eventstore.Claims, End).

// errNoCommand says that a task for a sealed worker came without its command.
var errNoCommand = errors.New("worker: the task has no command, and this worker class may not read it from the history: the engine is older than the class; deploy both again")

// runSealed is HandleTask of a sealed worker. It never starts anything eagerly, so its task guards the one attempt only.
func (w *Worker) runSealed(ctx context.Context, d Delivery) Answer {
	if d.Command == nil {
		return again(w.Limits.Retry, errNoCommand)
	}
	if w.old(d.Task) {
		return done() // if the attempt is open still, the sweep sends a new task
	}
	cmd := *d.Command
	claim, mine, err := w.claimSealed(ctx, d, cmd)
	switch {
	case err != nil:
		return again(w.Limits.Retry, err)
	case mine:
		return w.chain(ctx, d, cmd, claim)
	case claim.Ended():
		return done()
	}
	a := w.leased(ctx, d, cmd.AttemptRef, claim)
	if claim.Revoked() && a.Err == nil && w.Clock.Now()-claim.Started >= int64(w.Limits.Retry) {
		return done() // the inbox has it: nobody will ever run the attempt
	}
	return a
}

// claimSealed is claim. An attempt that needs none may be claimed all the same by a run that lasts, or by whoever ended it.
func (w *Worker) claimSealed(ctx context.Context, d Delivery, cmd workflow.RunActivity) (eventstore.Claim, bool, error) {
	if claims(cmd) {
		return w.claim(ctx, d, cmd)
	}
	c, err := w.Store.ReadClaim(ctx, claimKey(d.Stream, cmd.AttemptRef))
	if errors.Is(err, eventstore.ErrNotFound) {
		return c, true, nil
	}
	return c, false, err
}

// end writes into the claim of an attempt that it is over.
func (w *Worker) end(ctx context.Context, s eventstore.Stream, ref workflow.AttemptRef) error {
	if err := w.Store.End(ctx, claimKey(s, ref), w.Clock.Now()+int64(w.Limits.ClaimLife)); err != nil {
		return fmt.Errorf("worker: end %s of %s: %w", ref.Step, s, err)
	}
	return nil
}

// tellOver tells whoever asked by a LeaseExpiry that the attempt is over: a sealed worker keeps its task until then.
func (b *batch) tellOver(ctx context.Context, x *execution) error {
	for _, m := range b.messages[:b.handled] {
		in, asked := m.Input.(workflow.LeaseExpiry)
		if !asked {
			continue
		}
		if _, open := attempt(x, in.AttemptRef); open {
			continue
		}
		if err := b.w.end(ctx, x.stream, in.AttemptRef); err != nil {
			return err
		}
	}
	return nil
}

// tellAborted tells workers that the results of attempts which they run will not be wanted. It is a hint: who misses it works in vain.
func (w *Worker) tellAborted(ctx context.Context, s eventstore.Stream, refs []workflow.AttemptRef) {
	for _, ref := range refs {
		if err := w.end(ctx, s, ref); err != nil {
			w.Log.Warn("worker not told that its attempt is over", "execution", s.ID, "step", ref.Step, "cause", err)
		}
	}
}
