package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// StartRequest asks for an execution.
type StartRequest struct {
	Tenant, Workflow string
	// Version is a number, an alias, or empty for the live one.
	Version string
	// Key is the caller's idempotency key: the same key finds the same execution. Empty: a new one each time.
	Key         string
	Input       workflow.Value // none is {}: what needs nothing is started with nothing
	Correlation string
	Labels      []workflow.Label
	// By is who asks.
	By string
	// triggered says that a trigger asks: an execution of the key is the same whatever its input, for what a trigger makes of an event may change
	// with the version.
	triggered bool
}

// Started says which execution a request led to.
type Started struct {
	Execution  string
	Workflow   string
	Definition string
	// Row is what the index will say of it.
	Row eventstore.Row
	// Existed is set if an earlier request with the same key started it.
	Existed bool
}

// KeyReusedError refuses a key that stands for another request.
type KeyReusedError struct {
	Key, Execution string
}

// Error says what to do.
func (e *KeyReusedError) Error() string {
	return fmt.Sprintf("idempotency key %q was used with another input, for execution %s: use a new key for a new request", e.Key, e.Execution)
}

// Start brings an execution into being, durably, and sends its first work (commit protocol, point 5). It may be repeated with the same key: a
// repeat sends the work again.
func (w *Worker) Start(ctx context.Context, r StartRequest) (Started, error) {
	id := w.ExecutionID(r)
	to, err := w.choose(ctx, r, id)
	if err != nil {
		return Started{}, err
	}
	return w.startAs(ctx, r, to, id, workflow.Origin{})
}

// chosen is the version of a workflow that a start gets.
type chosen struct {
	*engine.Program
	definition eventstore.Definition
}

func (w *Worker) choose(ctx context.Context, r StartRequest, id string) (*chosen, error) {
	d, err := w.Programs.Resolve(ctx, r.Tenant, r.Workflow, r.Version, id)
	if err != nil {
		return nil, err
	}
	program, err := w.Programs.Load(ctx, r.Tenant, r.Workflow, d.Version)
	return &chosen{program, d}, err
}

// startAs starts an execution of a version under an ID.
func (w *Worker) startAs(ctx context.Context, r StartRequest, to *chosen, id string, origin workflow.Origin) (Started, error) {
	if len(r.Input) == 0 {
		r.Input = workflow.Value("{}")
	}
	input, err := expr.Canonical(r.Input)
	if err != nil {
		return Started{}, err
	}
	start := workflow.Start{Execution: id, Tenant: r.Tenant, Workflow: r.Workflow, Definition: strconv.FormatUint(to.definition.Version, 10), Hash: to.definition.Hash.String(),
		Correlation: r.Correlation, Key: r.Key, By: r.By, Labels: r.Labels, Origin: origin}
	if start.Correlation == "" {
		start.Correlation = id
	}
	if misfit := w.schemas.Check(to.Definition().Input, input, "input.invalid", "the input"); misfit != nil {
		return Started{}, misfit
	}
	if start.Input, err = w.input(ctx, start, to.Program, input); err != nil {
		return Started{}, err
	}
	return w.launch(ctx, start, func(first workflow.WorkflowCreated) bool {
		return first.Workflow == start.Workflow && (r.triggered || sameInput(first.Input, start.Input))
	})
}

// input is the input of a start: as it is, or by reference if it is large (commit protocol, point 10).
func (w *Worker) input(ctx context.Context, start workflow.Start, program *engine.Program, input workflow.Value) (workflow.Payload, error) {
	if len(input) <= w.Limits.Inline {
		return workflow.Inline(input), nil
	}
	known, err := expr.KnownParts(input, program.Definition().InputUses, w.Limits.Known)
	if err != nil {
		return workflow.Payload{}, err
	}
	ref, err := w.Payloads.Put(ctx, eventstore.Stream{Tenant: start.Tenant, ID: start.Execution}, bytes.NewReader(input))
	if err != nil {
		return workflow.Payload{}, fmt.Errorf("worker: store the input of %s: %w", start.Execution, err)
	}
	return byReference(ref, known), nil
}

// sameInput compares inputs by content; one by reference, by its hash.
func sameInput(a, b workflow.Payload) bool {
	if len(a.Holes) == 1 && len(b.Holes) == 1 && a.Holes[0].Ref != nil && b.Holes[0].Ref != nil {
		return a.Holes[0].Ref.Hash == b.Holes[0].Ref.Hash
	}
	return len(a.Holes) == 0 && len(b.Holes) == 0 && string(a.JSON) == string(b.JSON)
}

// launch stores the first commit of an execution and sends its first work. If the execution exists and same accepts how it was created, what
// may not have been sent is sent; if not, the key was used for something else.
func (w *Worker) launch(ctx context.Context, start workflow.Start, same func(workflow.WorkflowCreated) bool) (Started, error) {
	by, s := "start/"+start.Execution, eventstore.Stream{Tenant: start.Tenant, ID: start.Execution}
	dec, err := w.decide(ctx, proposal{
		stream: s, by: by, causes: cause(by),
		open: func(ctx context.Context, x *execution) (err error) {
			x.program, err = w.program(ctx, start.Tenant, start.Workflow, start.Definition)
			return err
		},
		feed: func(x *execution, t *engine.Turn) error { return t.Handle(start) },
		brings: func() (brought refs) {
			brought.start(start)
			return brought
		},
	})
	if err != nil {
		return Started{}, err
	}
	defer w.keep(dec.execution)
	out := Started{Execution: start.Execution, Workflow: start.Workflow, Definition: dec.state.Definition, Row: *w.row(dec.execution)}
	if len(dec.Events) > 0 {
		return out, w.dispatch(ctx, dec.execution, dec.Commands)
	}
	out.Existed = true
	first, err := w.Created(ctx, s)
	if err != nil {
		return out, err
	}
	if !same(first) {
		return out, &KeyReusedError{Key: start.Key, Execution: start.Execution}
	}
	return out, w.resend(ctx, dec.execution, by)
}

// ExecutionID derives an execution's ID from its idempotency key, so that a repeat finds it. The keys of triggers are apart from those of callers: who calls
// the API cannot take that of an event before it comes.
func (w *Worker) ExecutionID(r StartRequest) string {
	if r.Key == "" {
		return w.Entropy.ID()
	}
	space := "k"
	if r.triggered {
		space = "t"
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%d:%s%s", len(r.Tenant), r.Tenant, len(r.Workflow), r.Workflow, r.Key))
	return space + hex.EncodeToString(sum[:16])
}
