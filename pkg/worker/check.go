package worker

import (
	"context"
	"fmt"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Check asks what an execution would say to an input now, and stores nothing: a *engine.RefusedError if it would refuse it,
// ErrNoExecution if there is none. Inputs are decided on later, when nobody who could be told waits any more, so whoever takes them from
// people asks first. The true decision can still be another one.
func (w *Worker) Check(ctx context.Context, s eventstore.Stream, in workflow.Input) error {
	x, err := w.read(ctx, s, 0)
	if err != nil {
		return err
	}
	if x.state == nil {
		return fmt.Errorf("%w: %s", ErrNoExecution, s.ID)
	}
	_, err = w.propose(x, proposal{feed: func(_ *execution, t *engine.Turn) error { return t.Handle(in) }}, nil)
	return err
}
