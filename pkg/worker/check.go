package worker

import (
	"context"
	"fmt"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Check asks what an execution would say to an input now, and stores nothing: a *engine.RefusedError if it would refuse it, an *EndedError
// if it has ended (unless it took the same input before), ErrNoExecution if there is none. Inputs are decided on later, when nobody who could be told waits any more, so whoever takes them from
// people asks first. The true decision can still be another one.
func (w *Worker) Check(ctx context.Context, s eventstore.Stream, in workflow.Input) error {
	x, err := w.read(ctx, s, 0)
	if err != nil {
		return err
	}
	if x.state == nil {
		return fmt.Errorf("%w: %s", ErrNoExecution, s.ID)
	}
	ended, outcome, known := x.state.Status, Outcome(x.state), engine.Took(x.state, idOf(in))
	d, err := w.propose(x, proposal{feed: func(_ *execution, t *engine.Turn) error { return t.Handle(in) }}, nil)
	_, answer := in.(workflow.ActivityResult)
	switch {
	case ended.Terminal() && !known:
		return &EndedError{Execution: s.ID, Status: ended.String(), Outcome: outcome}
	case err == nil && answer && len(d.Events) == 0:
		return &engine.RefusedError{Input: in.InputType(), Reason: "the attempt is over: it was answered already, or its time has passed"}
	}
	return err
}

// idOf is the ID by which an execution knows an input again; results have none.
func idOf(in workflow.Input) string {
	switch in := in.(type) {
	case workflow.ExternalEvent:
		return in.ID
	case workflow.TaskDecision:
		return in.ID
	case workflow.OperatorMove:
		return in.ID
	case workflow.Cancel:
		return in.ID
	}
	return ""
}
