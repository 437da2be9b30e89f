package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// errLost ends an activity whose attempt is no longer this worker's.
var errLost = errors.New("worker: the attempt was ended or taken over")

// perform runs one attempt under its lease. The error says that the worker itself could not: the task comes back.
func (w *Worker) perform(ctx context.Context, d Delivery, cmd workflow.RunActivity) (workflow.ActivityResult, error) {
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
	pulse := w.keepAlive(run, d, cmd, started, cancel)
	defer pulse.stop()
	res, err := w.call(run, d, cmd, started, pulse)
	if err == nil {
		err = w.result(run, d.Stream, cmd, res, &result)
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
	typed, after := activity.AsError(run, err)
	result.Error, result.RetryAfter = typed, int64(after)
	return result, nil
}

// call finds the kind and runs it.
func (w *Worker) call(ctx context.Context, d Delivery, cmd workflow.RunActivity, started int64, pulse *pulse) (activity.Result, error) {
	kind, err := w.Activities.Find(cmd.Kind)
	if err != nil {
		return activity.Result{}, err
	}
	target, err := w.document(ctx, d.Stream, cmd, cmd.Target)
	if err != nil {
		return activity.Result{}, err
	}
	with, err := w.document(ctx, d.Stream, cmd, cmd.Input)
	if err != nil {
		return activity.Result{}, err
	}
	task := &activity.Task{
		Tenant: d.Stream.Tenant, Execution: d.Stream.ID, Step: cmd.Step, Attempt: cmd.Attempt, IdempotencyKey: cmd.Key,
		Kind: cmd.Kind, Name: cmd.Name, Target: target, With: with, MaxMemory: cmd.MaxMemory, Beat: pulse.beat,
		Log: w.Log.With(slog.String("execution", d.Stream.ID), slog.String("step", cmd.Step), slog.Int("attempt", cmd.Attempt)),
	}
	if cmd.Timeout > 0 {
		task.Deadline = at(started + cmd.Timeout)
	}
	return activity.Run(ctx, kind, task)
}

// pulse keeps the lease of a running attempt alive: by itself for a step without `heartbeat`, and only on the activity's own signs of life for
// one with it.
type pulse struct {
	stop  func()
	alive atomic.Bool
}

// beat notes a sign of life.
func (p *pulse) beat(string) { p.alive.Store(true) }

// keepAlive extends the lease while the attempt runs, and cancels the attempt when it is no longer this worker's.
func (w *Worker) keepAlive(ctx context.Context, d Delivery, cmd workflow.RunActivity, started int64, cancel context.CancelCauseFunc) *pulse {
	p := &pulse{}
	lease := w.lease(cmd)
	p.alive.Store(true)
	p.stop = w.Clock.Every(lease/3, func() {
		if !p.alive.Load() {
			return
		}
		p.alive.Store(cmd.Heartbeat == 0)
		if err := w.extend(ctx, d, cmd, started, lease); err != nil {
			w.Log.Warn("attempt given up", "execution", d.Stream.ID, "step", cmd.Step, "cause", err)
			cancel(errLost)
		}
	})
	return p
}

// extend renews the lease in the claim and with the queue, and looks whether the attempt is still wanted. A passing fault of the store is
// no reason to give up: the lease itself is the bound.
func (w *Worker) extend(ctx context.Context, d Delivery, cmd workflow.RunActivity, started int64, lease time.Duration) error {
	now := w.Clock.Now()
	key := claimKey(d.Stream, cmd.AttemptRef)
	held := eventstore.Claim{Owner: d.Receive, Worker: w.Name, Started: started, Until: now, Expires: now + int64(w.Limits.ClaimLife)}
	if cmd.Timeout > 0 {
		held.Limit = started + cmd.Timeout
	}
	held = held.Extended(w.leaseEnd(now, cmd, d))
	standing, err := w.Store.Claim(ctx, key, held) // an eager start has none yet
	if err == nil {
		if standing.Owner != d.Receive {
			return errLost
		}
		_, err = w.Store.Extend(ctx, key, standing, held.Until)
	}
	var other *eventstore.NotOwnerError
	if errors.As(err, &other) {
		return errLost
	}
	if d.Extend != nil {
		if err := d.Extend(ctx, 2*lease); err != nil {
			w.Log.Warn("visibility not extended", "execution", d.Stream.ID, "step", cmd.Step, "cause", err)
		}
	}
	return w.wanted(ctx, d.Stream, cmd.AttemptRef)
}

// wanted returns errLost if the attempt has been decided otherwise.
func (w *Worker) wanted(ctx context.Context, s eventstore.Stream, ref workflow.AttemptRef) error {
	x, err := w.fresh(ctx, s)
	if err != nil {
		return nil
	}
	defer w.keep(x)
	if _, open := w.attempt(x, ref); !open {
		return errLost
	}
	return nil
}
