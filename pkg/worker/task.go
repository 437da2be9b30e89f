package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// HandleTask runs the attempt of a task and, as long as it may, those that its result leads to (eager continuation, commit
// protocol, point 7). The task stays the guard of all of them until it is Done.
func (w *Worker) HandleTask(ctx context.Context, d Delivery) Answer {
	if cmd := d.Command; cmd != nil && claims(*cmd) {
		// Who wins the claim of a scheduled attempt need not look at the history: whoever ends it otherwise takes the claim first.
		claim, err := w.claim(ctx, d, *cmd)
		if err != nil {
			return again(w.Limits.Retry, err)
		}
		if claim.Owner == d.Receive {
			return w.chain(ctx, d, *cmd)
		}
	}
	x, err := w.load(ctx, d.Stream, d.Floor)
	if err != nil {
		return again(w.Limits.Retry, err)
	}
	cmd, open := w.attempt(x, d.AttemptRef)
	if x.warm && (!open || cmd.Running) {
		if x, err = w.fresh(ctx, d.Stream); err != nil {
			return again(w.Limits.Retry, err)
		}
		cmd, open = w.attempt(x, d.AttemptRef)
	}
	switch {
	case !open:
		return w.redelivered(ctx, x, d)
	case cmd.Running:
		return w.guarded(ctx, x, d, cmd)
	}
	if claims(cmd) {
		claim, err := w.claim(ctx, d, cmd)
		if err != nil {
			return again(w.Limits.Retry, err)
		}
		if claim.Owner != d.Receive {
			w.keep(x)
			return w.claimedByOther(ctx, d, claim)
		}
	}
	w.keep(x)
	return w.chain(ctx, d, cmd)
}

// claims reports whether an attempt is claimed before it runs; `idempotent: true` saves that.
func claims(cmd workflow.RunActivity) bool { return cmd.Idempotent == nil || !*cmd.Idempotent }

// attempt is the command of an attempt that is still open.
func (w *Worker) attempt(x *execution, ref workflow.AttemptRef) (workflow.RunActivity, bool) {
	if x.state == nil || x.state.Status.Terminal() {
		return workflow.RunActivity{}, false
	}
	return engine.Attempt(x.program, x.state, ref)
}

// claim puts the claim of an attempt, or returns the one that stands.
func (w *Worker) claim(ctx context.Context, d Delivery, cmd workflow.RunActivity) (eventstore.Claim, error) {
	now := w.Clock.Now()
	c := eventstore.Claim{Owner: d.Receive, Worker: w.Name, Started: now, Expires: now + int64(w.Limits.ClaimLife)}
	if cmd.Timeout > 0 {
		c.Limit = now + cmd.Timeout
	}
	c = c.Extended(w.leaseEnd(now, cmd, d))
	return w.Store.Claim(ctx, claimKey(d.Stream, d.AttemptRef), c)
}

// leaseEnd is when a lease taken now ends unless it is extended: after the silence that the step allows, and never after the receive.
func (w *Worker) leaseEnd(now int64, cmd workflow.RunActivity, d Delivery) int64 {
	end := now + int64(w.lease(cmd))
	if d.Until > 0 {
		end = min(end, d.Until)
	}
	return end
}

func (w *Worker) lease(cmd workflow.RunActivity) time.Duration {
	if cmd.Heartbeat > 0 {
		return min(time.Duration(cmd.Heartbeat), w.Limits.Lease)
	}
	return w.Limits.Lease
}

// claimedByOther answers for an attempt that another receive has claimed.
func (w *Worker) claimedByOther(ctx context.Context, d Delivery, c eventstore.Claim) Answer {
	if c.Revoked() {
		// Whoever revoked it is about to commit. If that never comes, somebody must: the one who finds it.
		if rest := c.Started + int64(w.Limits.Retry) - w.Clock.Now(); rest > 0 {
			return again(time.Duration(rest), nil)
		}
		return w.toInbox(ctx, d.Stream, 0, workflow.RevokedFound{AttemptRef: d.AttemptRef})
	}
	return w.leased(ctx, d.Stream, d.AttemptRef, c)
}

// leased answers for an attempt under a lease: put back for the rest of it, or expired through the inbox, behind a result
// that was sent already (commit protocol, point 6).
func (w *Worker) leased(ctx context.Context, s eventstore.Stream, ref workflow.AttemptRef, c eventstore.Claim) Answer {
	if w.alive(c) {
		return again(time.Duration(max(c.Until-w.Clock.Now(), int64(time.Millisecond))), nil)
	}
	return w.toInbox(ctx, s, 0, workflow.LeaseExpiry{AttemptRef: ref, Worker: c.Worker, StartedAt: c.Started})
}

// guarded answers for an attempt whose start is in the history: it runs under the lease there, or a later one of its claim.
func (w *Worker) guarded(ctx context.Context, x *execution, d Delivery, cmd workflow.RunActivity) Answer {
	c, err := w.effective(ctx, x.stream, cmd)
	w.keep(x)
	if err != nil {
		return again(w.Limits.Retry, err)
	}
	return w.leased(ctx, d.Stream, cmd.AttemptRef, c)
}

// effective is the lease of a running attempt: that of its claim if it has one, else that of the history.
func (w *Worker) effective(ctx context.Context, s eventstore.Stream, cmd workflow.RunActivity) (eventstore.Claim, error) {
	c, err := w.Store.ReadClaim(ctx, claimKey(s, cmd.AttemptRef))
	if errors.Is(err, eventstore.ErrNotFound) {
		return eventstore.Claim{Owner: cmd.By, Worker: cmd.Worker, Until: cmd.LeaseUntil}, nil
	}
	return c, err
}

// redelivered answers for a task whose attempt has been decided: what was scheduled under its guard is sent again, and while
// something started under its guard runs, it stays (commit protocol, point 4).
func (w *Worker) redelivered(ctx context.Context, x *execution, d Delivery) Answer {
	defer w.keep(x)
	if x.state == nil {
		return done()
	}
	for _, c := range engine.Outstanding(x.program, x.state) {
		run, ok := c.(workflow.RunActivity)
		if !ok || run.By != d.ID || !run.Running {
			continue
		}
		lease, err := w.effective(ctx, x.stream, run)
		if err != nil {
			return again(w.Limits.Retry, err)
		}
		if a := w.leased(ctx, d.Stream, run.AttemptRef, lease); !a.Done {
			return a
		}
	}
	if err := w.resend(ctx, x, d.ID); err != nil {
		return again(w.Limits.Retry, err)
	}
	return done()
}

// toInbox sends an input to an execution and is done with the task.
func (w *Worker) toInbox(ctx context.Context, s eventstore.Stream, floor uint64, in workflow.Input) Answer {
	m := Message{ID: w.Entropy.ID(), Stream: s, Floor: floor, Input: in}
	if err := w.Inbox.Send(ctx, m); err != nil {
		return again(w.Limits.Retry, fmt.Errorf("worker: send %s to %s: %w", in.InputType(), s, err))
	}
	return done()
}

// chain runs an attempt, stores its result together with the start of the next one, runs that, and so on.
func (w *Worker) chain(ctx context.Context, d Delivery, cmd workflow.RunActivity) Answer {
	began := w.Clock.Now()
	for step := 1; ; step++ {
		result, err := w.perform(ctx, d, cmd)
		if err != nil {
			return again(w.Limits.Retry, err)
		}
		eager := w.Commits && step < w.Limits.Chain && !w.late(began, d) && !w.draining.Load() && ctx.Err() == nil
		next, answer := w.finish(ctx, d, result, eager)
		if next == nil {
			return answer
		}
		cmd = *next
	}
}

// late reports that the chain has used its share of the receive.
func (w *Worker) late(began int64, d Delivery) bool {
	if d.Until == 0 {
		return false
	}
	return w.Clock.Now()-began > (d.Until-began)*int64(w.Limits.Share)/100
}

// finish stores a result. It returns the attempt that was started in the same commit, or else the answer for the task.
func (w *Worker) finish(ctx context.Context, d Delivery, result workflow.ActivityResult, eager bool) (*workflow.RunActivity, Answer) {
	if !w.Commits || w.busy(d.Stream) {
		// Where many attempts of one execution end at once, the inbox merges their results into few commits.
		return nil, w.toInbox(ctx, d.Stream, 0, result)
	}
	var next *workflow.RunActivity
	p := proposal{
		stream: d.Stream, floor: d.Floor, by: d.ID, causes: []string{d.ID},
		feed: func(_ *execution, t *engine.Turn) error { next = nil; return t.Handle(result) },
	}
	if eager {
		p.extend = func(x *execution, decision *engine.Decision) (err error) {
			next, err = w.begin(x, d, decision)
			return err
		}
	}
	dec, err := w.decide(ctx, p)
	var refused *engine.RefusedError
	switch {
	case errors.As(err, &refused):
		if err := w.bury(ctx, Message{ID: d.ID + "/" + result.Step, Stream: d.Stream, Input: result}, err); err != nil {
			return nil, again(w.Limits.Retry, err)
		}
		return nil, done()
	case errors.Is(err, ErrContended):
		return nil, w.toInbox(ctx, d.Stream, 0, result)
	case err != nil:
		return nil, again(w.Limits.Retry, err)
	case len(dec.Events) == 0:
		// The attempt was decided by somebody else: what stands under this task's guard may still be to send.
		return nil, w.redelivered(ctx, dec.execution, d)
	}
	if err := w.dispatch(ctx, dec.execution, dec.Commands); err != nil {
		return nil, again(w.Limits.Retry, err)
	}
	if next == nil {
		return nil, done()
	}
	return next, Answer{}
}

// begin starts, in a decision that is not stored yet, the first of its attempts that this worker can run at once.
func (w *Worker) begin(x *execution, d Delivery, decision *engine.Decision) (*workflow.RunActivity, error) {
	for i, c := range decision.Commands {
		run, ok := c.(workflow.RunActivity)
		if !ok || run.Running || w.classOf(string(run.Kind), run.Name) != w.Class || !w.fits(run, d) {
			continue
		}
		now := w.Clock.Now()
		t := engine.NewTurn(x.program, decision.State, engine.Env{Now: now, Worker: w.Name, By: d.ID})
		if err := t.Handle(workflow.Begin{AttemptRef: run.AttemptRef, Worker: w.Name, LeaseUntil: w.leaseEnd(now, run, d)}); err != nil {
			return nil, err
		}
		begun := t.Decision()
		decision.State = begun.State
		decision.Events = append(decision.Events, begun.Events...)
		decision.Commands = append(decision.Commands[:i:i], decision.Commands[i+1:]...)
		decision.Revoke = append(decision.Revoke, begun.Revoke...)
		return &run, nil
	}
	return nil, nil
}

// fits reports whether an attempt can end before the receive must.
func (w *Worker) fits(run workflow.RunActivity, d Delivery) bool {
	if d.Until == 0 {
		return true
	}
	left := d.Until - w.Clock.Now()
	return run.Timeout > 0 && run.Timeout < left || run.Timeout == 0 && left > int64(w.Limits.Lease)
}
