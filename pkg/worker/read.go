package worker

import (
	"context"
	"fmt"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

// Created returns the first event of an execution, or ErrNoExecution.
func (w *Worker) Created(ctx context.Context, s eventstore.Stream) (workflow.WorkflowCreated, error) {
	events, err := w.History(ctx, s, 0, 1)
	if err != nil {
		return workflow.WorkflowCreated{}, err
	}
	if len(events) > 0 {
		if created, ok := events[0].Event.(workflow.WorkflowCreated); ok {
			return created, nil
		}
	}
	return workflow.WorkflowCreated{}, fmt.Errorf("%w: %s", ErrNoExecution, s.ID)
}

// HistoryEvent is one event with what its commit says about it.
type HistoryEvent struct {
	workflow.Recorded
	Worker string
	Causes []string
}

// History returns the events after a version, oldest first: those of at most commits commits.
func (w *Worker) History(ctx context.Context, s eventstore.Stream, after uint64, commits int) ([]HistoryEvent, error) {
	page, err := w.Store.Page(ctx, s, after, commits)
	if err != nil {
		return nil, fmt.Errorf("worker: history of %s: %w", s, err)
	}
	var out []HistoryEvent
	for _, c := range page {
		b, err := codec.Decode(c.Data)
		if err != nil {
			return nil, fmt.Errorf("worker: history of %s at %d: %w", s, c.First, err)
		}
		for _, r := range b.Recorded(c.First) {
			if r.Version > after {
				out = append(out, HistoryEvent{Recorded: r, Worker: b.Worker, Causes: b.Causes})
			}
		}
	}
	return out, nil
}

// State returns an execution as it is now, for people; the caller must not change it. It is ErrNoExecution if there is none.
func (w *Worker) State(ctx context.Context, s eventstore.Stream) (*workflow.State, error) {
	x, err := w.fresh(ctx, s)
	if err != nil {
		return nil, err
	}
	if x.state == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoExecution, s.ID)
	}
	return x.state, nil
}
