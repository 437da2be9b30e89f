package engine

import (
	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Attempt returns the command of one attempt, if it is still to be run or runs: what Outstanding has of it, without the rest.
func Attempt(p *Program, s *workflow.State, ref workflow.AttemptRef) (workflow.RunActivity, bool) {
	if s.Status.Terminal() {
		return workflow.RunActivity{}, false
	}
	x := newFold(p, s)
	in, ok := x.locate(ref.Step)
	if !ok || in.open() == nil || in.open().Fence != ref.Fence || in.node.step.Call == nil {
		return workflow.RunActivity{}, false
	}
	var list []workflow.Command
	demandCall(x, in, &list)
	if len(list) == 0 {
		return workflow.RunActivity{}, false
	}
	c, ok := list[0].(workflow.RunActivity)
	return c, ok
}

// Called is Attempt for an attempt whose call was made, or is being made, and that is answered by a callback.
func Called(p *Program, s *workflow.State, ref workflow.AttemptRef) (workflow.RunActivity, bool) {
	if s.Status.Terminal() {
		return workflow.RunActivity{}, false
	}
	x := newFold(p, s)
	in, ok := x.locate(ref.Step)
	if !ok || in.open() == nil || in.open().Fence != ref.Fence || in.node.step.Call == nil || !in.node.step.Call.Callback {
		return workflow.RunActivity{}, false
	}
	return x.run(in, true), true
}

// Took reports whether the execution has taken an input with this ID and still remembers it (SeenFor, MaxSeen): a repeat of it is harmless.
func Took(s *workflow.State, id string) bool { return (&fold{s: s}).seen(id) }

// Reasons says why an execution waits, sorted, as WorkflowPaused has it; nil for one that does not wait.
func Reasons(p *Program, s *workflow.State) []workflow.WaitReason {
	if s.Status != fsm.WorkflowStateWaiting() {
		return nil
	}
	return newFold(p, s).d.reasons()
}

// Events is how many events the inputs have led to so far: an input after which there are no more of them decided nothing.
func (t *Turn) Events() int { return len(t.events) }
