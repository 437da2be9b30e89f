package engine

import (
	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// What the passing of time does (WF-002 §21, WF-006 §18). Clocks decide no safety: an answer that is handled first
// counts, even after its deadline.

// timeoutError is the error of a timeout.
func timeoutError(scope workflow.TimeoutScope, message string) *workflow.Error {
	e := &workflow.Error{Code: "timeout." + string(scope), Category: workflow.CategoryInfrastructure, Message: message}
	switch scope {
	case workflow.TimeoutActivity:
		e.Retryable = true
	case workflow.TimeoutWaiting:
		e.Code, e.Category = "timeout.wait", workflow.CategoryWorkflow
	case workflow.TimeoutWorkflow:
		e.Category = workflow.CategoryWorkflow
	}
	return e
}

// onTick fires everything that is due.
func (t *Turn) onTick() error {
	if at := t.s.TimeoutAt; at > 0 && at <= t.now && t.s.Ending == nil {
		t.workflowTimeout()
	}
	for !t.full {
		first := t.d.timers.first()
		if first == nil || first.at > t.now {
			return nil
		}
		at, path := first.at, first.path
		in, ok := t.lead(path)
		if !ok {
			panic("engine: a deadline of a step that is not there: " + path)
		}
		t.dueStep(in)
		if again := t.d.timers.first(); again == first && again.at == at && again.path == path {
			return nil // it has to wait for room in a further decision
		}
	}
	return nil
}

// dueStep fires the earliest deadline of a step.
func (t *Turn) dueStep(in inst) {
	o := in.open()
	at := earliest(o)
	switch {
	case !t.fits(256):
	case o.WakeAt == at:
		if in.node.kind.due == nil {
			panic("engine: a step of a kind that sets no timer has one: " + in.path)
		}
		in.node.kind.due(t, in)
	case o.WaitBy == at:
		t.emit(workflow.TimeoutFired{Scope: workflow.TimeoutWaiting, Step: in.path})
		if expired := in.node.kind.expired; expired != nil {
			expired(t, in)
		} else {
			t.fail(in, timeoutError(workflow.TimeoutWaiting, "what the step waits for did not come in time"), true)
		}
	case o.ScheduleBy == at:
		t.timeOutUnstarted(in)
	case o.TimeoutAt == at:
		t.emit(workflow.TimeoutFired{Scope: workflow.TimeoutActivity, Step: in.path})
		t.timeOut(in)
	default:
		t.dueTask(in)
	}
}

// timeOutUnstarted fails a step that did not start in time. A worker may have claimed it: the shell revokes that.
func (t *Turn) timeOutUnstarted(in inst) {
	t.revokeClaim(in)
	t.abortRun(in)
	t.emit(workflow.TimeoutFired{Scope: workflow.TimeoutSchedule, Step: in.path})
	t.walk(in)
	t.fail(in, timeoutError(workflow.TimeoutSchedule, "the step did not start in time"), true)
}

// revokeClaim asks the shell to make sure that a scheduled attempt is never started.
func (t *Turn) revokeClaim(in inst) {
	o := in.open()
	if in.step.State != fsm.ActivityStateScheduled() || !in.node.kind.worker || o.Walked {
		return
	}
	if needsNoClaim(in) {
		return
	}
	t.revoke = append(t.revoke, workflow.AttemptRef{Step: in.path, Attempt: o.Attempt, Fence: o.Fence})
}

// needsNoClaim reports whether the attempts of a step may run without a claim: it says `idempotent: true`.
func needsNoClaim(in inst) bool {
	id := in.node.step.Idempotent
	return id != nil && *id
}

// timeOut ends a step whose time is over, with all that is inside it.
func (t *Turn) timeOut(in inst) {
	if !t.endInside(in, cancelled("step "+in.path+" timed out")) {
		return
	}
	t.abortRun(in)
	err := timeoutError(workflow.TimeoutActivity, "the step took longer than its timeout")
	if id := in.node.step.Idempotent; id != nil && !*id {
		err.Retryable = false // it may have taken effect
	}
	t.fail(in, err, true)
}

// timedOut goes on with ending a structured step whose time is over.
func (t *Turn) timedOut(in inst) bool {
	if !in.open().TimedOut {
		return false
	}
	t.timeOut(in)
	return true
}

// workflowTimeout ends the execution, or lets an operator decide.
func (t *Turn) workflowTimeout() {
	t.emit(workflow.TimeoutFired{Scope: workflow.TimeoutWorkflow})
	err := timeoutError(workflow.TimeoutWorkflow, "the execution took longer than its timeout")
	if t.p.def.OnFailure == workflow.OnFailurePause {
		t.emit(workflow.FailureHeld{Error: err})
		return
	}
	t.decideOutcome(workflow.OutcomeDecided{Outcome: workflow.OutcomeTimedOut, Error: err})
}
