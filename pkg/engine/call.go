package engine

import (
	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Steps that workers run.

// startCall schedules an attempt of a step: the first, or the next after a retry.
func startCall(t *Turn, in inst) {
	if err := t.memoryRefusal(in); err != nil {
		t.failStart(in, err)
		return
	}
	o := in.open()
	e := workflow.ActivityScheduled{Step: in.path, Attempt: o.Attempt + 1, Fence: o.Fence + 1, By: t.env.By}
	if o.Target.IsZero() && o.Input.IsZero() { // the first, or one that follows on inputs that could not be rendered
		var err *workflow.Error
		if e.Target, e.Input, err = t.callInput(in); err != nil {
			t.failStart(in, err)
			return
		}
	}
	if o.Fence > 0 {
		if bad := t.scheduleBy(in, &e); bad != nil {
			t.failStart(in, bad)
			return
		}
	}
	t.schedule(in, e)
}

// scheduleBy sets the deadline of schedule_timeout for a further attempt.
func (t *Turn) scheduleBy(in inst, e *workflow.ActivityScheduled) *workflow.Error {
	limit, err := duration(in.node.step.ScheduleTimeout, t.lazily(in))
	e.ScheduleBy = deadline(t.now, limit)
	return err
}

// schedule records an attempt and asks for its run, if it still fits into the decision.
func (t *Turn) schedule(in inst, e workflow.ActivityScheduled) {
	if !t.fits(weighPayload(e.Target) + weighPayload(e.Input) + 64) {
		return
	}
	t.move(e)
	t.ask(in)
}

// ask notes that a step's commands are new.
func (t *Turn) ask(in inst) {
	t.asked = append(t.asked, in)
	t.commands++
}

// callInput renders what an activity gets. A target without expressions stands in the definition.
func (t *Turn) callInput(in inst) (target, with workflow.Payload, err *workflow.Error) {
	if given, ok := t.givenInput(in); ok {
		return workflow.Payload{}, given, nil
	}
	a := t.callNames(in)
	c := in.node.step.Call
	if c.Target != nil {
		if _, fixed, bad := constant(c.Target); bad != nil || !fixed {
			if target, err = render(c.Target, a); err != nil {
				return target, with, err
			}
		}
	}
	with, err = render(c.With, a)
	return target, with, err
}

// givenInput is the input of side steps whose input is no template: the entries and calls of an agent.
func (t *Turn) givenInput(in inst) (workflow.Payload, bool) {
	if in.host == nil || in.host.open() == nil || in.host.open().Agent == nil {
		return workflow.Payload{}, false
	}
	a := in.host.open().Agent
	if a.Entry == in.side {
		return workflow.Payload{}, true // that of the first entry
	}
	for i := range a.Calls {
		if a.Calls[i].Step == in.side {
			return a.Calls[i].Call.Input, true
		}
	}
	return workflow.Payload{}, true
}

// attempt finds the attempt that an input speaks of; ok is false if it is over.
func (x *fold) attempt(ref workflow.AttemptRef) (in inst, ok bool) {
	in, ok = x.locate(ref.Step)
	if !ok || in.open() == nil || !in.node.kind.worker || in.open().Fence != ref.Fence || in.open().Walked {
		return inst{}, false
	}
	running := in.step.State == fsm.ActivityStateRunning() && in.open().Agent == nil
	return in, running || in.step.State == fsm.ActivityStateScheduled()
}

// started records the start of an attempt that a worker claimed, with the real time and worker.
func (t *Turn) started(in inst, worker string, at int64) {
	if in.step.State != fsm.ActivityStateScheduled() {
		return
	}
	e := workflow.ActivityStarted{Step: in.path, Fence: in.open().Fence, Worker: worker, StartedAt: at}
	if at >= t.now {
		e.StartedAt = 0 // the time of the event
	}
	t.move(e)
}

// onResult takes the result of an attempt. One with an old fence is late and changes nothing.
func (t *Turn) onResult(r workflow.ActivityResult) error {
	in, ok := t.attempt(r.AttemptRef)
	if !ok {
		return nil
	}
	if r.Pending && in.open().Pending {
		return nil
	}
	if r.Continue != nil {
		if err := t.checkCalls(r); err != nil {
			return err
		}
	}
	t.started(in, r.Worker, r.StartedAt)
	switch {
	case r.Pending:
		t.pend(in)
	case r.Error != nil:
		t.failAfter(in, r.Error, r.RetryAfter)
	case r.Continue != nil:
		t.agentTurn(in, r.Continue)
	case t.isEntry(in):
		t.complete(in, workflow.Payload{})
		t.complete(*in.host, r.Output)
	default:
		t.complete(in, r.Output)
	}
	return nil
}

// pend lets a call wait for its answer. From now on its timeout is the engine's to watch.
func (t *Turn) pend(in inst) {
	if !in.node.step.Call.Callback {
		t.fail(in, workflow.Errorf("activity.pending", workflow.CategoryActivity, "the call has no `callback: true`, so no answer can come later"), false)
		return
	}
	limit, err := duration(in.node.step.Timeout, t.lazily(in))
	if err != nil {
		t.fail(in, err, false)
		return
	}
	wait, err := duration(in.node.step.WaitTimeout, t.lazily(in))
	if err != nil {
		t.fail(in, err, false)
		return
	}
	t.move(workflow.ActivityPending{Step: in.path, TimeoutAt: deadline(in.open().StartedAt, limit), WaitBy: deadline(t.now, wait)})
	t.ask(in)
}

// onBegin records that the committing worker runs an attempt at once (commit protocol, point 7).
func (t *Turn) onBegin(b workflow.Begin) error {
	in, ok := t.attempt(b.AttemptRef)
	if !ok || in.step.State != fsm.ActivityStateScheduled() {
		return nil
	}
	return t.startBy(b, in, b.Worker, 0, b.LeaseUntil)
}

// onClaimed records that an attempt counts as started, since its claim was found (commit protocol, point 6).
func (t *Turn) onClaimed(c workflow.Claimed) error {
	in, ok := t.attempt(c.AttemptRef)
	if !ok || in.step.State != fsm.ActivityStateScheduled() {
		return nil
	}
	return t.startBy(c, in, c.Worker, c.StartedAt, c.LeaseUntil)
}

func (t *Turn) startBy(input workflow.Input, in inst, worker string, at, lease int64) error {
	if worker == "" {
		return refuse(input, "it must name the worker")
	}
	limit, err := duration(in.node.step.Timeout, t.lazily(in))
	if err != nil {
		t.started(in, worker, at)
		t.fail(in, err, false)
		return nil
	}
	from := t.now
	e := workflow.ActivityStarted{Step: in.path, Fence: in.open().Fence, Worker: worker, LeaseUntil: lease}
	if at > 0 && at < t.now {
		e.StartedAt, from = at, at
	}
	if e.TimeoutAt = deadline(from, limit); e.TimeoutAt > 0 && lease > e.TimeoutAt {
		e.LeaseUntil = e.TimeoutAt // a lease never outlives the step's timeout
	}
	if by := t.env.By; by != in.open().By {
		e.By = by
	}
	t.move(e)
	return nil
}

// onRevoked replaces an attempt whose claim was revoked by somebody who never committed why.
func (t *Turn) onRevoked(r workflow.RevokedFound) error {
	in, ok := t.attempt(r.AttemptRef)
	if !ok || in.step.State != fsm.ActivityStateScheduled() {
		return nil
	}
	t.walk(in)
	t.recover(in, workflow.Errorf("infrastructure.revoked", workflow.CategoryInfrastructure, "the claim of the attempt was revoked, and it never ran"))
	return nil
}

// onLeaseExpiry takes the silence of a worker: the attempt is made again, apart from retries, or its outcome is unknown.
func (t *Turn) onLeaseExpiry(l workflow.LeaseExpiry) error {
	in, ok := t.attempt(l.AttemptRef)
	if !ok || in.open().Pending || in.open().LeaseUntil > t.now && !l.Gone {
		return nil
	}
	worker := in.open().Worker
	if worker == "" {
		worker = l.Worker
	}
	t.started(in, worker, l.StartedAt)
	st := in.node.step
	scope, code := workflow.TimeoutLease, "infrastructure.lease_expired"
	if st.Heartbeat != nil {
		scope, code = workflow.TimeoutHeartbeat, "timeout.heartbeat"
	}
	t.emit(workflow.TimeoutFired{Scope: scope, Step: in.path})
	t.move(workflow.LeaseExpired{Step: in.path, Fence: l.Fence, Worker: worker})
	if st.Idempotent != nil && !*st.Idempotent {
		t.fail(in, workflow.Errorf("infrastructure.unknown_outcome", workflow.CategoryInfrastructure,
			"worker %s was lost while it ran the step, which must not be run twice: find out whether it took effect", worker), false)
		return nil
	}
	most := DefaultRecoveries
	if st.MaxRecoveries != nil {
		var err *workflow.Error
		if most, err = count(st.MaxRecoveries, t.lazily(in)); err != nil {
			t.fail(in, err, false)
			return nil
		}
	}
	if in.open().Recoveries >= most || t.winding(in) {
		t.fail(in, workflow.Errorf("infrastructure.recoveries", workflow.CategoryInfrastructure, "worker %s was lost, the last of %d recoveries", worker, most), false)
		return nil
	}
	t.recover(in, &workflow.Error{Code: code, Category: workflow.CategoryInfrastructure, Message: "worker " + worker + " was lost", Retryable: true})
	return nil
}

// recover makes a running attempt again, with the next fence.
func (t *Turn) recover(in inst, err *workflow.Error) {
	attempt := in.open().Attempt
	t.move(workflow.ActivityFailed{Step: in.path, Error: err})
	t.move(workflow.ActivityRetried{Step: in.path, At: t.now, Recovery: true})
	e := workflow.ActivityScheduled{Step: in.path, Attempt: attempt, Fence: in.open().Fence + 1, By: t.env.By}
	if bad := t.scheduleBy(in, &e); bad != nil {
		t.failStart(in, bad)
		return
	}
	t.move(e)
	t.ask(in)
}
