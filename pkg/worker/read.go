package worker

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

// Created returns the first event of an execution, or ErrNoExecution.
func (w *Worker) Created(ctx context.Context, s eventstore.Stream) (workflow.WorkflowCreated, error) {
	events, err := w.History(ctx, s, 0, 1)
	if err != nil || len(events) == 0 {
		return workflow.WorkflowCreated{}, cmp.Or(err, fmt.Errorf("%w: %s", ErrNoExecution, s.ID))
	}
	return createdIn(s, []workflow.Recorded{events[0].Recorded})
}

func createdIn(s eventstore.Stream, history []workflow.Recorded) (workflow.WorkflowCreated, error) {
	if len(history) > 0 {
		if created, ok := history[0].Event.(workflow.WorkflowCreated); ok {
			return created, nil
		}
	}
	return workflow.WorkflowCreated{}, fmt.Errorf("%w: %s", ErrNoExecution, s.ID)
}

// whole returns a history from its first event to its last.
func (w *Worker) whole(ctx context.Context, s eventstore.Stream) ([]workflow.Recorded, error) {
	var history []workflow.Recorded
	for after := uint64(0); ; after = history[len(history)-1].Version {
		page, err := w.History(ctx, s, after, eventstore.MaxPage)
		if err != nil || len(page) == 0 {
			return history, err
		}
		for _, e := range page {
			history = append(history, e.Recorded)
		}
	}
}

// HistoryEvent is one event with what its commit says about it.
type HistoryEvent struct {
	workflow.Recorded
	Worker string
	Causes []string
	// Bytes is the size of the commit, as it was given to the store, on the first of its events; 0 on the others.
	Bytes int
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
				e := HistoryEvent{Recorded: r, Worker: b.Worker, Causes: b.Causes}
				if r.Version == c.First {
					e.Bytes = len(c.Data)
				}
				out = append(out, e)
			}
		}
	}
	return out, nil
}

// Snapshot is an execution as it is now, for people. It must not be changed.
type Snapshot struct {
	*workflow.State
	// Waiting says why it waits; Commands is what is outstanding, open tasks and awaited events among it.
	Waiting  []workflow.WaitReason
	Commands []workflow.Command
	// Wake is its earliest deadline, in nanoseconds; 0: none.
	Wake int64
}

// Inspect reads an execution. It is ErrNoExecution if there is none.
func (w *Worker) Inspect(ctx context.Context, s eventstore.Stream) (*Snapshot, error) {
	x, err := w.read(ctx, s, 0)
	if err != nil {
		return nil, err
	}
	if x.state == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoExecution, s.ID)
	}
	out := &Snapshot{State: x.state, Waiting: engine.Reasons(x.program, x.state), Commands: engine.Outstanding(x.program, x.state)}
	out.Wake, _ = engine.Due(x.program, x.state)
	return out, nil
}

// Row returns what the index says of an execution. An index that is derived from the histories may not have heard of it yet: then the history
// says it. It is ErrNoExecution if there is none.
func (w *Worker) Row(ctx context.Context, s eventstore.Stream) (eventstore.Row, error) {
	row, err := w.Store.Row(ctx, s)
	if errors.Is(err, eventstore.ErrNotFound) {
		return w.RowNow(ctx, s)
	}
	return row, err
}

// RowNow is Row as the history says it now, for decisions. It is ErrNoExecution if there is none.
func (w *Worker) RowNow(ctx context.Context, s eventstore.Stream) (eventstore.Row, error) {
	x, err := w.fresh(ctx, s)
	if err != nil {
		return eventstore.Row{}, err
	}
	if x.state == nil {
		return eventstore.Row{}, fmt.Errorf("%w: %s", ErrNoExecution, s.ID)
	}
	defer w.keep(x)
	return *w.row(x), nil
}

// Text returns the JSON text of a payload with its references filled in, or ErrTooMuch if it has more than limit bytes. Secrets
// are never in it.
func (w *Worker) Text(ctx context.Context, tenant string, p workflow.Payload, limit int64) ([]byte, error) {
	d := activity.Document{JSON: []byte(p.JSON)}
	for _, h := range p.Holes {
		if h.Ref == nil {
			continue
		}
		if v, ok := h.Ref.Inline(); ok {
			d.Parts = append(d.Parts, inlinePart(h.At, v))
			continue
		}
		ref, err := refOf(h.Ref)
		if err != nil {
			return nil, err
		}
		d.Parts = append(d.Parts, activity.Part{At: h.At, Size: ref.Size, Open: func(ctx context.Context) (io.ReadCloser, error) {
			return w.open(ctx, tenant, ref, h.Ref.Path)
		}})
	}
	if d.Size() > limit {
		return nil, fmt.Errorf("%w: %d bytes", ErrTooMuch, d.Size())
	}
	var b bytes.Buffer
	if err := d.WriteText(ctx, &b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// ErrTooMuch says that a value is too large to be shown.
var ErrTooMuch = errors.New("worker: the value is too large to be shown")
