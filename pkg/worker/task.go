package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// HandleTask runs the attempt of a task and, as long as it may, those that its result leads to (eager continuation, commit
// protocol, point 7). The task stays the guard of all of them until it is Done.
func (w *Worker) HandleTask(ctx context.Context, d Delivery) (a Answer) {
	defer func() {
		if err := caught(recover()); err != nil {
			a = again(w.Limits.Retry, err)
		}
	}()
	if !w.Commits {
		return w.runSealed(ctx, d)
	}
	if cmd := d.Command; cmd != nil && claims(*cmd) && !w.old(d.Task) {
		// Who wins the claim of a scheduled attempt need not look at the history: whoever ends it otherwise takes the claim first.
		claim, mine, err := w.claim(ctx, d, *cmd)
		if err != nil {
			return again(w.Limits.Retry, err)
		}
		if mine {
			return w.chain(ctx, d, *cmd, claim)
		}
	}
	x, err := w.load(ctx, d.Stream, d.Floor)
	if err != nil {
		return again(w.Limits.Retry, err)
	}
	cmd, open := attempt(x, d.AttemptRef)
	sure := !x.warm || mutated(TrustStale)
	for {
		if !sure && (!open || cmd.Running) {
			// Others may have written since: to conclude that there is nothing to run takes the newest state.
			if x, err = w.fresh(ctx, d.Stream); err != nil {
				return again(w.Limits.Retry, err)
			}
			cmd, open = attempt(x, d.AttemptRef)
			sure = true
		}
		if !open {
			defer w.keep(x)
			return w.redelivered(ctx, x, d)
		}
		w.keep(x)
		if cmd.Running {
			return w.guarded(ctx, d, cmd)
		}
		claim, mine, err := w.claim(ctx, d, cmd)
		switch {
		case err != nil:
			return again(w.Limits.Retry, err)
		case mine:
			return w.chain(ctx, d, cmd, claim)
		case sure:
			return w.leased(ctx, d, cmd.AttemptRef, claim)
		}
		open = false // the claim may be that of an attempt which has long been decided
	}
}

// old reports whether a task has been under way for so long that claims of its time may be gone, by their own end or with their execution, as when an
// operator sends dead letters of a queue again after weeks: that nobody holds a claim says nothing then.
func (w *Worker) old(t Task) bool {
	return t.Sent > 0 && w.Clock.Now()-t.Sent > int64(w.Limits.ClaimLife)/2
}

// claims reports whether an attempt is claimed before it runs; `idempotent: true` saves that.
func claims(cmd workflow.RunActivity) bool { return cmd.Idempotent == nil || !*cmd.Idempotent }

// attempt is the command of an attempt that is still open.
func attempt(x *execution, ref workflow.AttemptRef) (workflow.RunActivity, bool) {
	if x.state == nil || x.state.Status.Terminal() {
		return workflow.RunActivity{}, false
	}
	return engine.Attempt(x.program, x.state, ref)
}

// claim puts the claim of an attempt, or returns the one that stands and is another's. A step that says `idempotent: true` needs none. Whose
// claim it is must be known: a worker that takes its own for another's would wait for its own lease to run out.
func (w *Worker) claim(ctx context.Context, d Delivery, cmd workflow.RunActivity) (c eventstore.Claim, mine bool, err error) {
	if !claims(cmd) {
		return c, true, nil
	}
	wanted := w.newClaim(w.Clock.Now(), d, cmd)
	for try := 1; ; try++ {
		c, err = w.Store.Claim(ctx, claimKey(d.Stream, cmd.AttemptRef), wanted)
		if !errors.Is(err, eventstore.ErrUnknownOutcome) || try >= w.Limits.Writes {
			return c, c.Owner == d.Receive, err
		}
	}
}

// newClaim is a claim of an attempt that started at a time.
func (w *Worker) newClaim(started int64, d Delivery, cmd workflow.RunActivity) eventstore.Claim {
	c := eventstore.Claim{Owner: d.Receive, Worker: w.Name, Started: started, Expires: started + int64(w.Limits.ClaimLife)}
	if cmd.Timeout > 0 && !mutated(BeatForever) {
		c.Limit = started + cmd.Timeout
	}
	return c.Extended(w.leaseEnd(started, started, d, cmd))
}

// leaseEnd is when a lease taken now ends unless it is extended: after the silence that the step allows since the last sign of life, and never
// after the receive.
func (w *Worker) leaseEnd(now, sign int64, d Delivery, cmd workflow.RunActivity) int64 {
	end := now + int64(w.Limits.Lease)
	if cmd.Heartbeat > 0 {
		end = min(end, sign+cmd.Heartbeat+cmd.Heartbeat/2)
	}
	if d.Until > 0 && !mutated(BeatForever) {
		end = min(end, d.Until)
	}
	return end
}

// leased answers for an attempt that somebody else has claimed or started: put back for the rest of the lease, or given up through the
// inbox, behind a result that was sent already (commit protocol, point 6). The task stays until the attempt has been decided: a
// consumer whose clock is behind may find the lease alive, and nobody else would ask again.
func (w *Worker) leased(ctx context.Context, d Delivery, ref workflow.AttemptRef, c eventstore.Claim) Answer {
	now := w.Clock.Now()
	var in workflow.Input = workflow.LeaseExpiry{AttemptRef: ref, Worker: c.Worker, StartedAt: c.Started}
	switch rest := c.Started + int64(w.Limits.Retry) - now; {
	case c.Revoked() && rest > 0:
		return again(time.Duration(rest), nil) // whoever revoked it is about to commit
	case c.Revoked():
		in = workflow.RevokedFound{AttemptRef: ref}
	case w.alive(c) && mutated(AcknowledgeGuard):
		return done()
	case w.alive(c) && mutated(PutBackAtOnce):
		return again(0, nil)
	case w.alive(c):
		return again(time.Duration(max(c.Until-now, int64(time.Millisecond))), nil)
	case mutated(ExpireAtOnce):
		return w.expireAtOnce(ctx, d, in)
	}
	if err := w.Inbox.Send(ctx, Message{ID: w.Entropy.ID(), Stream: d.Stream, Input: in}); err != nil {
		return again(w.Limits.Retry, fmt.Errorf("worker: send %s to %s: %w", in.InputType(), d.Stream, err))
	}
	return again(w.Limits.Lease, nil)
}

// expireAtOnce is what ExpireAtOnce does.
func (w *Worker) expireAtOnce(ctx context.Context, d Delivery, in workflow.Input) Answer {
	dec, err := w.decide(ctx, proposal{stream: d.Stream, by: d.ID, causes: cause(d.ID), feed: func(_ *execution, t *engine.Turn) error { return t.Handle(in) }})
	if err == nil {
		err = w.dispatch(ctx, dec.execution, dec.Commands)
		w.keep(dec.execution)
	}
	if err != nil {
		return again(w.Limits.Retry, err)
	}
	return done()
}

// guarded answers for an attempt whose start is in the history.
func (w *Worker) guarded(ctx context.Context, d Delivery, cmd workflow.RunActivity) Answer {
	c, _, err := w.standing(ctx, d.Stream, cmd)
	if err != nil {
		return again(w.Limits.Retry, err)
	}
	return w.leased(ctx, d, cmd.AttemptRef, c)
}

// redelivered answers for a task whose attempt has been decided: what was scheduled under its guard and nobody has taken is sent again, and
// while something started under its guard is open, it stays (commit protocol, point 4).
func (w *Worker) redelivered(ctx context.Context, x *execution, d Delivery) Answer {
	if x.state == nil || mutated(NoResend) {
		return done()
	}
	answer := done()
	var owed []workflow.Command
	for _, c := range engine.OutstandingBy(x.program, x.state, d.ID) {
		run, ok := c.(workflow.RunActivity)
		if !ok {
			owed = append(owed, c)
			continue
		}
		claim, taken, err := w.standing(ctx, x.stream, run)
		switch {
		case err != nil:
			return again(w.Limits.Retry, err)
		case !taken:
			owed = append(owed, c)
		case run.Running || !w.alive(claim):
			if a := w.leased(ctx, d, run.AttemptRef, claim); !a.Done && (answer.Done || a.After < answer.After) {
				answer = a
			}
		}
	}
	if err := w.carryOut(ctx, x, owed, true); err != nil {
		return again(w.Limits.Retry, err)
	}
	return answer
}

// chain runs an attempt, stores its result together with the start of the next one, runs that, and so on.
func (w *Worker) chain(ctx context.Context, d Delivery, cmd workflow.RunActivity, claim eventstore.Claim) Answer {
	began := w.Clock.Now()
	var unsent error
	for step := 1; ; step++ {
		result, err := w.perform(ctx, d, cmd, claim)
		if errors.Is(err, errLost) {
			return again(w.Limits.Retry, nil) // as it should be: the redelivery finds what came of the attempt
		}
		if err != nil {
			return again(w.Limits.Retry, err)
		}
		eager := w.Commits && step < w.Limits.Chain && !w.late(began, d) && !w.draining.Load() && ctx.Err() == nil
		// What was done is stored even if the worker stops meanwhile.
		next, answer := w.finish(context.WithoutCancel(ctx), d, result, eager)
		switch {
		case next == nil && answer.Done && unsent != nil:
			return again(w.Limits.Retry, unsent) // the redelivery sends it
		case next == nil:
			return answer
		}
		if answer.Err != nil {
			unsent = answer.Err
		}
		cmd, claim = *next, eventstore.Claim{}
	}
}

// late reports that the chain has used its share of the receive.
func (w *Worker) late(began int64, d Delivery) bool {
	if d.Until == 0 {
		return false
	}
	return w.Clock.Now()-began > (d.Until-began)*int64(w.Limits.Share)/100
}

// finish stores a result. It returns the attempt that was started in the same commit, with an error in the answer if commands beside it could
// not be sent; or else the answer for the task.
func (w *Worker) finish(ctx context.Context, d Delivery, result workflow.ActivityResult, eager bool) (*workflow.RunActivity, Answer) {
	if !w.Commits || w.busy(d.Stream) || w.Limits.Crowd > 0 && d.Beside > w.Limits.Crowd {
		// Where many attempts of one execution end at once, the inbox merges their results into few commits.
		return nil, w.toInbox(ctx, d, result)
	}
	next, dec, err := w.conclude(ctx, d, result, eager)
	var refused *engine.RefusedError
	if errors.As(err, &refused) {
		// What the activity returned can never be right: that is a failure of the attempt, which the workflow hears of.
		result = workflow.ActivityResult{AttemptRef: result.AttemptRef, Worker: result.Worker, StartedAt: result.StartedAt,
			Error: activity.NewError(activity.CodeOutput, "%s", refused.Reason)}
		next, dec, err = w.conclude(ctx, d, result, eager)
	}
	switch {
	case errors.Is(err, errNoExecution):
		return nil, done()
	case err != nil:
		// The result must not be lost. Where the outcome of the write is unknown, the task stays the guard of what it may have started.
		a := w.toInbox(ctx, d, result)
		if a.Done && !errors.Is(err, ErrContended) {
			a = again(w.Limits.Retry, err)
		}
		return nil, a
	}
	defer w.keep(dec.execution)
	if len(dec.Events) == 0 {
		// The attempt was decided by somebody else: what stands under this task's guard may still be to send.
		return nil, w.redelivered(ctx, dec.execution, d)
	}
	err = w.dispatch(ctx, dec.execution, dec.Commands)
	switch {
	case next != nil:
		return next, Answer{Err: err}
	case err != nil:
		return nil, again(w.Limits.Retry, err)
	}
	return nil, done()
}

// conclude commits a result and, if eager, the start of an attempt that it leads to.
func (w *Worker) conclude(ctx context.Context, d Delivery, result workflow.ActivityResult, eager bool) (next *workflow.RunActivity, dec decided, err error) {
	p := proposal{
		stream: d.Stream, floor: d.Floor, by: d.ID, causes: cause(d.ID),
		feed: func(x *execution, t *engine.Turn) error {
			next = nil
			if mutated(AnyFence) {
				return t.Handle(newestFence(x, result))
			}
			return t.Handle(result)
		},
	}
	if eager {
		p.extend = func(x *execution, decision *engine.Decision) (added bool, err error) {
			next, added, err = w.begin(x, d, decision)
			return added, err
		}
	}
	dec, err = w.decide(ctx, p)
	return next, dec, err
}

// toInbox hands a result to the execution's inbox, and with that the guard over what follows.
func (w *Worker) toInbox(ctx context.Context, d Delivery, result workflow.ActivityResult) Answer {
	m := Message{ID: w.Entropy.ID(), Stream: d.Stream, Input: result}
	for try := 1; ; try++ {
		err := w.Inbox.Send(ctx, m)
		if err == nil {
			return done()
		}
		if try >= w.Limits.Writes {
			return again(w.Limits.Retry, fmt.Errorf("worker: send the result of %s of %s: %w", result.Step, d.Stream, err))
		}
	}
}

// begin starts, in a decision that is not stored yet, the first of its attempts that this worker can run at once. It is false if the decision
// must be made anew without it: the attempt cannot start after all.
func (w *Worker) begin(x *execution, d Delivery, decision *engine.Decision) (*workflow.RunActivity, bool, error) {
	for i, c := range decision.Commands {
		run, ok := c.(workflow.RunActivity)
		if !ok || run.Running || w.classOf(string(run.Kind), run.Name) != w.Class || !w.fits(run, d) {
			continue
		}
		at := decision.Events[0].At // one time for the whole commit
		t := engine.NewTurn(x.program, decision.State, w.env(at, d.ID))
		if err := t.Handle(workflow.Begin{AttemptRef: run.AttemptRef, Worker: w.Name, LeaseUntil: w.leaseEnd(at, at, d, run)}); err != nil {
			return nil, false, err
		}
		begun := t.Decision()
		run, open := engine.Attempt(x.program, begun.State, run.AttemptRef)
		if !open || !run.Running || len(begun.Revoke) > 0 {
			return nil, false, nil
		}
		decision.State = begun.State
		decision.Events = append(decision.Events, begun.Events...)
		decision.Commands = append(append(decision.Commands[:i:i], decision.Commands[i+1:]...), begun.Commands...)
		return &run, true, nil
	}
	return nil, true, nil
}

// fits reports whether an attempt can end before the receive must.
func (w *Worker) fits(run workflow.RunActivity, d Delivery) bool {
	if d.Until == 0 {
		return true
	}
	left := d.Until - w.Clock.Now()
	return run.Timeout > 0 && run.Timeout < left || run.Timeout == 0 && left > int64(w.Limits.Lease)
}
