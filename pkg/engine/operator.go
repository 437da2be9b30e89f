package engine

import (
	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// An operator's moves, where a failure was held or a compensation has stopped.

// onMove takes a move. Moves are possible only while the execution waits for an operator.
func (t *Turn) onMove(m workflow.OperatorMove) error {
	if t.seen(m.ID) {
		return nil
	}
	if err := bounded(m, "its output", m.Output); err != nil {
		return err
	}
	t.settle()
	if t.s.Stopped != nil {
		return t.moveUndo(m)
	}
	if len(t.s.Held) == 0 {
		return refuse(m, "the execution does not wait for an operator")
	}
	if t.s.Status != fsm.WorkflowStateWaiting() {
		return refuse(m, "other steps are still running: move once the execution waits (status Waiting, reason operator)")
	}
	if m.Move == workflow.MoveResume {
		return t.resume(m)
	}
	if m.Step == "" {
		return t.moveTimeout(m)
	}
	in, ok := t.locate(m.Step)
	if !ok || in.open() == nil || !in.open().Held {
		return refuse(m, "step %q does not wait for an operator: name one of those that the execution lists as held", m.Step)
	}
	e := workflow.OperatorMoved{ID: m.ID, Move: m.Move, Step: m.Step, By: m.By, Output: m.Output, Error: m.Error}
	switch m.Move {
	case workflow.MoveRetry:
		if !retryable(in) {
			return refuse(m, "step %s has steps inside, which ran already: complete, skip or fail it, or redrive the execution from it", m.Step)
		}
		t.emit(e)
		t.tryAgain(in)
	case workflow.MoveComplete:
		t.emit(e)
		t.completeHeld(in, m.Output)
	case workflow.MoveSkip:
		t.emit(e)
		t.move(workflow.ActivitySkipped{Step: in.path, Status: workflow.StatusSkipped})
	case workflow.MoveFail:
		t.emit(e)
	default:
		return refuse(m, "there is no move %q: retry, complete, skip, fail or resume", m.Move)
	}
	t.goOn()
	return nil
}

// retryable reports whether a step can be started once more: steps with bodies cannot, for what is inside them has run.
func retryable(in inst) bool { return len(in.node.bodies) == 0 }

// tryAgain makes one more attempt of a failed step, whatever its policy says.
func (t *Turn) tryAgain(in inst) {
	t.move(workflow.ActivityRetried{Step: in.path, At: t.now})
	in.node.kind.start(t, in)
}

// completeHeld completes a failed step with an output that an operator gives: the edges are walked.
func (t *Turn) completeHeld(in inst, output workflow.Payload) {
	t.move(workflow.ActivityRetried{Step: in.path, At: t.now})
	t.walk(in)
	t.move(workflow.ActivityCompleted{Step: in.path, Output: orNull(output)})
}

// resume retries everything that is held.
func (t *Turn) resume(m workflow.OperatorMove) error {
	for _, h := range t.s.Held {
		if in, ok := t.locate(h.Step); h.Step != "" && (!ok || !retryable(in)) {
			return refuse(m, "step %s has steps inside, which ran already: complete, skip or fail it first", h.Step)
		}
	}
	t.emit(workflow.OperatorMoved{ID: m.ID, Move: m.Move, By: m.By})
	for _, h := range append([]workflow.Held(nil), t.s.Held...) {
		if in, ok := t.locate(h.Step); ok && h.Step != "" {
			t.tryAgain(in)
		}
	}
	t.goOn()
	return nil
}

// moveTimeout decides about an execution that took longer than its timeout.
func (t *Turn) moveTimeout(m workflow.OperatorMove) error {
	held := false
	for _, h := range t.s.Held {
		held = held || h.Step == ""
	}
	if !held || m.Move != workflow.MoveFail {
		return refuse(m, "name the step; without one, only the timeout of the whole execution can be decided: fail or resume")
	}
	t.emit(workflow.OperatorMoved{ID: m.ID, Move: m.Move, By: m.By, Error: m.Error})
	err := m.Error
	if err == nil {
		err = timeoutError(workflow.TimeoutWorkflow, "the execution took longer than its timeout")
	}
	t.decideOutcome(workflow.OutcomeDecided{Outcome: workflow.OutcomeTimedOut, Error: err})
	return nil
}

// goOn looks at everything once nothing is held any more.
func (t *Turn) goOn() {
	if len(t.s.Held) == 0 && t.s.Ending == nil {
		t.rescan()
	}
}

// moveUndo decides about a compensation that has stopped.
func (t *Turn) moveUndo(m workflow.OperatorMove) error {
	in, ok := t.locate(t.s.Stopped.Step)
	if !ok || in.open() == nil {
		return refuse(m, "there is no open compensation")
	}
	if m.Step != "" && m.Step != in.path && m.Step+undoSuffix != in.path {
		return refuse(m, "it is the compensation of %s that waits for an operator", in.host.path)
	}
	e := workflow.OperatorMoved{ID: m.ID, Move: m.Move, Step: in.path, By: m.By, Output: m.Output}
	switch m.Move {
	case workflow.MoveRetry, workflow.MoveResume:
		t.emit(e)
		t.tryAgain(in)
	case workflow.MoveComplete:
		t.emit(e)
		t.completeHeld(in, m.Output)
	case workflow.MoveSkip:
		t.emit(e)
		t.move(workflow.ActivitySkipped{Step: in.path, Status: workflow.StatusSkipped})
	default:
		return refuse(m, "a compensation cannot be failed, for then the work would stay: retry, complete or skip it")
	}
	return nil
}
