package worker

import (
	"context"
	"strconv"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// RedriveRequest asks for a new execution that goes on where an ended one failed or was cancelled.
type RedriveRequest struct {
	// Stream is the ended execution.
	Stream eventstore.Stream
	// Key is the caller's idempotency key; empty: a new execution each time.
	Key string
	// Version is the version to go on with, as in StartRequest; empty: that of the ended execution.
	Version string
	// From are steps that run again, with all that follows on them; empty: those that did not end well.
	From []string
	// Input replaces the input; nil keeps it. It is inline.
	Input *workflow.Payload
	By    string
}

// Redrive starts the execution (semantics 36 to 39). What the ended one completed is taken over, not done again.
func (w *Worker) Redrive(ctx context.Context, r RedriveRequest) (Started, error) {
	history, err := w.whole(ctx, r.Stream)
	if err != nil {
		return Started{}, err
	}
	created, err := createdIn(r.Stream, history)
	if err != nil {
		return Started{}, err
	}
	id := w.ExecutionID(StartRequest{Tenant: r.Stream.Tenant, Workflow: created.Workflow, Key: r.Key})
	version := r.Version
	if version == "" {
		version = created.Definition
	}
	d, err := w.Programs.Resolve(ctx, r.Stream.Tenant, created.Workflow, version, id)
	if err != nil {
		return Started{}, err
	}
	program, err := w.Programs.Load(ctx, r.Stream.Tenant, created.Workflow, d.Version)
	if err != nil {
		return Started{}, err
	}
	if r.Input != nil {
		if misfit := w.schemas.Check(program.Definition().Input, r.Input.JSON, "input.invalid", "the input"); misfit != nil {
			return Started{}, misfit
		}
	}
	start, err := engine.Redrive(program, history, engine.RedriveOptions{Execution: id, By: r.By, From: r.From, Input: r.Input,
		Definition: strconv.FormatUint(d.Version, 10), Hash: d.Hash.String()})
	if err != nil {
		return Started{}, err
	}
	if r.Input != nil {
		if start.Input, err = w.input(ctx, start, program, r.Input.JSON); err != nil {
			return Started{}, err
		}
	}
	start.Key, start.Origin.Chain = r.Key, created.Origin.Chain
	return w.launch(ctx, start, func(first workflow.WorkflowCreated) bool {
		return first.Origin.Redrive != nil && first.Origin.Redrive.Of == r.Stream.ID && sameInput(first.Input, start.Input)
	})
}
