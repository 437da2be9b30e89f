package engine

import (
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Ending what is open: cancels of the execution (WF-006 §17), and of parts of it.

// cancelled is the error of a step that is ended from outside.
func cancelled(why string) *workflow.Error {
	return &workflow.Error{Code: "cancelled", Category: workflow.CategoryWorkflow, Message: why}
}

// cancelError is the error of an execution that was cancelled.
func cancelError(c workflow.Cancel) *workflow.Error {
	e := cancelled("cancelled by " + string(c.Origin))
	if c.Reason != "" {
		e.Message += ": " + c.Reason
	}
	if v, err := expr.Marshal(map[string]string{"by": c.By, "mode": string(c.Mode), "origin": string(c.Origin), "reason": c.Reason}); err == nil {
		e.Details = v
	}
	return e
}

// onCancel takes a cancel. While the execution is being wound up it is recorded, and only an immediate one changes
// something: exit steps are not waited for.
func (t *Turn) onCancel(c workflow.Cancel) error {
	switch c.Mode {
	case workflow.CancelImmediate, workflow.CancelGraceful, workflow.CancelCompensated:
	default:
		return refuse(c, "there is no mode %q: immediate, graceful or compensated", c.Mode)
	}
	if t.seen(c.ID) {
		return nil
	}
	t.emit(workflow.CancelRequested{ID: c.ID, Origin: c.Origin, Mode: c.Mode, Reason: c.Reason, By: c.By})
	err := cancelError(c)
	if t.s.Ending != nil {
		t.hasten(c)
		return nil
	}
	t.decideOutcome(workflow.OutcomeDecided{
		Outcome: workflow.OutcomeCancelled, Error: err,
		Graceful: c.Mode == workflow.CancelGraceful, Compensate: c.Mode == workflow.CancelCompensated,
	})
	return nil
}

// hasten takes a cancel of an execution that is being wound up: a graceful end may become a prompt one, and an immediate
// cancel does not wait for exit steps. The outcome stays. A cancel while compensating changes nothing.
func (t *Turn) hasten(c workflow.Cancel) {
	e := *t.s.Ending
	next := workflow.OutcomeDecided{Outcome: e.Outcome, Error: e.Error, Step: e.Step, Output: t.s.Output, Next: t.s.Next}
	switch {
	case e.Compensate || e.Abrupt || c.Mode == workflow.CancelGraceful:
		return
	case e.Graceful:
		next.Error, next.Compensate = cancelError(c), c.Mode == workflow.CancelCompensated
	case c.Mode == workflow.CancelImmediate:
		next.Abrupt = true
	default:
		return
	}
	t.emit(next)
}

// endFrame ends every open step of a body; false if a bound was reached before all were.
func (t *Turn) endFrame(f *workflow.Frame, why *workflow.Error) bool {
	for i := 0; f.Active > 0 && i < len(f.Steps); i++ {
		if f.Steps[i].Open != nil && !t.cancelStep(t.child(f, i), why) {
			return false
		}
	}
	return true
}

// endInside ends everything inside a step: bodies and side steps; false if a bound was reached.
func (t *Turn) endInside(in inst, why *workflow.Error) bool {
	o := in.open()
	for _, side := range sidesOf(o) {
		if s, ok := t.lead(side.Path); ok && !t.cancelStep(s, why) {
			return false
		}
	}
	if o.Scope != nil {
		for _, f := range o.Scope.Frames {
			if f != nil && !t.endFrame(f, why) {
				return false
			}
		}
	}
	return true
}

// cancelStep ends an open step: the edges to Failed are walked, with the reason.
func (t *Turn) cancelStep(in inst, why *workflow.Error) bool {
	if in.open() == nil {
		return true
	}
	if !t.endInside(in, why) || !t.fits(160) {
		return false
	}
	if in.step.State == fsm.ActivityStateFailed() { // its failure was held
		t.move(workflow.ActivitySkipped{Step: in.path, Status: workflow.StatusCancelled})
		return true
	}
	t.revokeClaim(in)
	t.abortRun(in)
	t.walk(in)
	t.move(workflow.ActivityFailed{Step: in.path, Error: why, Status: workflow.StatusCancelled})
	return true
}

// abortRun hints to the worker of a running attempt that its result will not be wanted. One that needs no claim may run although nothing says so.
func (t *Turn) abortRun(in inst) {
	o := in.open()
	runs := in.step.State == fsm.ActivityStateRunning() || in.step.State == fsm.ActivityStateScheduled() && needsNoClaim(in)
	if runs && in.node.kind.worker && !o.Walked && o.Agent == nil {
		t.abort = append(t.abort, workflow.AttemptRef{Step: in.path, Attempt: o.Attempt, Fence: o.Fence})
	}
}

// cancelRest ends what still leads to a join that was met and serves nothing else (cancel_rest).
func (t *Turn) cancelRest(in inst) {
	for _, i := range in.node.cancels {
		st := &in.frame.Steps[i]
		switch {
		case st.Open != nil:
			if !t.cancelStep(t.child(in.frame, i), cancelled("step "+in.path+" needs it no more")) {
				return
			}
		case !st.Status.Ended():
			if !t.fits(64) {
				return
			}
			t.move(workflow.ActivitySkipped{Step: t.child(in.frame, i).path, Status: workflow.StatusDead})
		}
	}
}
