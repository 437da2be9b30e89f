package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/secret"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// errLost ends an activity whose attempt is no longer this worker's.
var errLost = errors.New("worker: the attempt was ended or taken over")

// perform runs one attempt under its lease; claim is zero for one that was started in the history. The error says that the worker itself could
// not: the task comes back.
func (w *Worker) perform(ctx context.Context, d Delivery, cmd workflow.RunActivity, claim eventstore.Claim) (workflow.ActivityResult, error) {
	started := w.Clock.Now()
	result := workflow.ActivityResult{AttemptRef: cmd.AttemptRef, Worker: w.Name}
	if !cmd.Running {
		result.StartedAt = started
	}
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if cmd.Timeout > 0 {
		var stop context.CancelFunc
		run, stop = context.WithTimeout(run, time.Duration(cmd.Timeout))
		defer stop()
	}
	defer w.atWork(d.Stream, cmd.AttemptRef, cancel)()
	pulse := w.keepAlive(run, d, cmd, claim, started, cancel)
	defer pulse.stop()
	begun := false
	kind, task, err := w.prepare(run, d, cmd, started, pulse)
	if err == nil {
		begun = true
		var res activity.Result
		if res, err = w.call(run, kind, task, cmd); err == nil {
			err = w.result(context.WithoutCancel(run), d.Stream, cmd, res, &result)
		}
	}
	if err == nil {
		return result, nil
	}
	if ctx.Err() != nil && run.Err() != nil {
		// The worker stops: nothing is known to have failed. The attempt goes back with its lease.
		return result, ctx.Err()
	}
	if cause := context.Cause(run); errors.Is(cause, errLost) {
		return result, cause
	}
	typed, after := activity.AsError(run, storesOut(cmd, begun, err))
	result.Error, result.RetryAfter = w.mask(d.Stream.Tenant).Error(typed), int64(after)
	return result, nil
}

// CodeStores is the code of an attempt that failed because what it reads or came to could not be read or stored then.
const CodeStores = "infrastructure.unavailable"

// storesOut turns an outage of the stores into an error that says so: it is no failure of the activity's own, and a retry helps where the step may be
// repeated, or has not begun.
func storesOut(cmd workflow.RunActivity, begun bool, err error) error {
	var typed *workflow.Error
	if errors.As(err, &typed) || !errors.Is(err, eventstore.ErrUnavailable) && !errors.Is(err, eventstore.ErrUnknownOutcome) {
		return err
	}
	e := workflow.Errorf(CodeStores, workflow.CategoryInfrastructure, "%v", err)
	e.Retryable = !begun || cmd.Idempotent == nil || *cmd.Idempotent
	return e
}

// prepare finds the kind of an attempt and what it reads. What fails here has had no effect.
func (w *Worker) prepare(ctx context.Context, d Delivery, cmd workflow.RunActivity, started int64, pulse *pulse) (kind activity.Kind, task *activity.Task, err error) {
	kind, err = w.Activities.Find(cmd.Kind)
	if err != nil {
		return kind, nil, err
	}
	target, err := w.document(ctx, d.Stream, cmd, cmd.Target)
	if err == nil {
		target, err = target.Whole(ctx)
	}
	if err != nil {
		return kind, nil, err
	}
	with, err := w.document(ctx, d.Stream, cmd, cmd.Input)
	if err == nil && cmd.Idempotent != nil && !*cmd.Idempotent && with.Size() <= activity.MaxInline {
		with, err = with.Whole(ctx) // before it begins: an outage while it reads could not be told from one after its effect
	}
	if err != nil {
		return kind, nil, err
	}
	if kind.Of != nil {
		kind.Input, kind.Output = kind.Of(target.JSON)
	}
	if err := w.fitsKind(ctx, kind, target, with); err != nil {
		return kind, nil, err
	}
	task = &activity.Task{
		Tenant: d.Stream.Tenant, Execution: d.Stream.ID, Workflow: cmd.Workflow, Correlation: cmd.Correlation,
		Step: cmd.Step, Attempt: cmd.Attempt, Fence: cmd.Fence, IdempotencyKey: cmd.Key,
		Kind: cmd.Kind, Name: cmd.Name, Target: target, With: with, MaxMemory: cmd.MaxMemory, Callback: cmd.Callback, Beat: pulse.beat,
		Resolve: func(ctx context.Context, name string) (string, error) { return w.secret(ctx, d.Stream.Tenant, name) },
		Mask:    func() *secret.Mask { return w.mask(d.Stream.Tenant) },
		Log:     w.Log.With(slog.String("execution", d.Stream.ID), slog.String("step", cmd.Step), slog.Int("attempt", cmd.Attempt)),
	}
	if cmd.Timeout > 0 {
		task.Deadline = at(started + cmd.Timeout)
	}
	task.Entry, err = w.entry(ctx, d, cmd)
	return kind, task, err
}

// call runs an attempt.
func (w *Worker) call(ctx context.Context, kind activity.Kind, task *activity.Task, cmd workflow.RunActivity) (activity.Result, error) {
	res, err := activity.Run(ctx, kind.Activity, task)
	if err == nil && res.Output != nil && !res.Pending && !cmd.Callback {
		err = w.fitsKindOutput(kind, res.Output)
	}
	return res, err
}

// fitsKind checks what an attempt is to read against the schemas of its kind. An input that is kept by reference and too large for memory is not
// looked into.
func (w *Worker) fitsKind(ctx context.Context, kind activity.Kind, target, with activity.Document) error {
	if e := w.schemas.Check(kind.Target, workflow.Value(target.JSON), activity.CodeInput, "the target of "+string(kind.Name)); e != nil {
		return activity.NewError(e.Code, "%s", e.Message)
	}
	if len(kind.Input) == 0 || with.Size() > activity.MaxInline {
		return nil
	}
	whole, err := with.Whole(ctx)
	if err != nil {
		return err
	}
	if e := w.schemas.Check(kind.Input, workflow.Value(whole.JSON), activity.CodeInput, "the input of "+string(kind.Name)); e != nil {
		return activity.NewError(e.Code, "%s", e.Message)
	}
	return nil
}

func (w *Worker) fitsKindOutput(kind activity.Kind, output []byte) error {
	if e := w.schemas.Check(kind.Output, output, activity.CodeOutput, "the output of "+string(kind.Name)); e != nil {
		return activity.NewError(e.Code, "%s", e.Message)
	}
	return nil
}

// entry is what an agent loop goes on with; nil for every other attempt.
func (w *Worker) entry(ctx context.Context, d Delivery, cmd workflow.RunActivity) (*activity.Entry, error) {
	if cmd.Agent == nil {
		return nil, nil
	}
	state, err := w.document(ctx, d.Stream, cmd, cmd.Agent.State)
	if err != nil {
		return nil, err
	}
	e := &activity.Entry{Turn: cmd.Agent.Turn, State: state}
	for _, r := range cmd.Agent.Results {
		output, err := w.document(ctx, d.Stream, cmd, r.Output)
		if err != nil {
			return nil, err
		}
		e.Results = append(e.Results, activity.CallResult{ID: r.ID, Output: output, Error: r.Error})
	}
	return e, nil
}

// pulse keeps the lease of a running attempt alive: by itself for a step without `heartbeat`, and as long as the activity itself gives signs of
// life for one with it.
type pulse struct {
	w       *Worker
	d       Delivery
	cmd     workflow.RunActivity
	started int64
	// claim is the lease as it stands; zero until there is one.
	claim eventstore.Claim
	sign  atomic.Int64 // when the activity gave its last sign of life
	stop  func()
}

// beat notes a sign of life.
func (p *pulse) beat(string) { p.sign.Store(p.w.Clock.Now()) }

// keepAlive extends the lease while the attempt runs, and cancels the attempt when it is no longer this worker's.
func (w *Worker) keepAlive(ctx context.Context, d Delivery, cmd workflow.RunActivity, claim eventstore.Claim, started int64, cancel context.CancelCauseFunc) *pulse {
	p := &pulse{w: w, d: d, cmd: cmd, started: started, claim: claim}
	p.sign.Store(started)
	every := w.Limits.Lease
	if cmd.Heartbeat > 0 {
		every = min(every, time.Duration(cmd.Heartbeat))
	}
	p.stop = w.Clock.Every(every/3, func() {
		if cmd.Heartbeat > 0 && w.Clock.Now()-p.sign.Load() >= cmd.Heartbeat {
			return // silent for too long: the lease runs out
		}
		if err := p.extend(ctx); err != nil {
			w.Log.Warn("attempt given up", "execution", d.Stream.ID, "step", cmd.Step, "cause", err)
			cancel(errLost)
		}
	})
	return p
}

// extend renews the lease in the claim and with the queue, and looks whether the attempt is still wanted. A passing fault of the store is
// no reason to give up: the lease itself is the bound.
func (p *pulse) extend(ctx context.Context) error {
	w, now := p.w, p.w.Clock.Now()
	if err := p.renew(ctx, w.leaseEnd(now, p.sign.Load(), p.d, p.cmd)); err != nil {
		return err
	}
	// The task stays hidden as long as the lease lasts, and not longer: when the lease has come to its limit, the task must come again.
	if left := p.claim.Until - now + int64(w.Limits.Retry); p.d.Extend != nil && (left > int64(w.Limits.Retry) || mutated(BeatForever)) {
		if err := p.d.Extend(ctx, time.Duration(left)); err != nil {
			w.Log.Warn("visibility not extended", "execution", p.d.Stream.ID, "step", p.cmd.Step, "cause", err)
		}
	}
	if !w.Commits {
		return nil // the claim itself said so: see End
	}
	return w.wanted(ctx, p.d.Stream, p.cmd.AttemptRef)
}

// renew moves the end of the lease. An eager start has no claim until it outlives its first lease.
func (p *pulse) renew(ctx context.Context, until int64) error {
	w, key := p.w, claimKey(p.d.Stream, p.cmd.AttemptRef)
	if p.claim.Owner == "" {
		c, err := w.Store.Claim(ctx, key, w.newClaim(p.started, p.d, p.cmd).Extended(until))
		if err != nil {
			return nil
		}
		p.claim = c
	}
	if p.claim.Owner != p.d.Receive {
		return errLost
	}
	c, err := w.Store.Extend(ctx, key, p.claim, until)
	var other *eventstore.NotOwnerError
	if errors.As(err, &other) {
		return errLost
	}
	if err == nil {
		p.claim = c
	}
	return nil
}

// wanted returns errLost if the attempt has been decided otherwise.
func (w *Worker) wanted(ctx context.Context, s eventstore.Stream, ref workflow.AttemptRef) error {
	x, err := w.fresh(ctx, s)
	if err != nil {
		return nil
	}
	defer w.keep(x)
	if _, open := attempt(x, ref); !open {
		return errLost
	}
	return nil
}
