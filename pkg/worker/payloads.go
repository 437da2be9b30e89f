package worker

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/secret"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Secrets gives the values of secrets to activities, of whom histories know the names only. A *secret.Vault is one.
type Secrets interface {
	// Secret returns a value. The error is a *workflow.Error.
	Secret(ctx context.Context, tenant, name string) (string, error)
	// Mask hides all that Secret gave to a tenant's activities so far; nil if that is nothing.
	Mask(tenant string) *secret.Mask
}

// Links makes the addresses and tokens that people and services answer at.
type Links interface {
	// Callback is where the answer of a call comes in, and the token that proves who sends it. An error fails the attempt: a call that nobody can answer
	// must not be made.
	Callback(ctx context.Context, s eventstore.Stream, ref workflow.AttemptRef) (url, token string, err error)
	// Task is where a person decides.
	Task(s eventstore.Stream, step string) string
}

// document makes what an activity reads of a payload: references as parts to be streamed, deferred expressions evaluated.
func (w *Worker) document(ctx context.Context, s eventstore.Stream, cmd workflow.RunActivity, p workflow.Payload) (activity.Document, error) {
	d := activity.Document{JSON: []byte(p.JSON)}
	for _, h := range p.Holes {
		part := activity.Part{At: h.At}
		if v, ok := inline(h.Ref); ok {
			part = inlinePart(h.At, v)
		} else if h.Ref != nil {
			ref, err := refOf(h.Ref)
			if err != nil {
				return d, err
			}
			part.Size = ref.Size
			part.Open = func(ctx context.Context) (io.ReadCloser, error) { return w.open(ctx, s.Tenant, ref, h.Ref.Path) }
		} else {
			v, err := w.resolve(ctx, s, cmd, *h.Deferred)
			if err != nil {
				return d, err
			}
			part.Size = int64(len(v))
			part.Open = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(v)), nil }
		}
		d.Parts = append(d.Parts, part)
	}
	return d, nil
}

// inline returns the value of a reference to something that is not stored.
func inline(r *workflow.Ref) (workflow.Value, bool) {
	if r == nil {
		return nil, false
	}
	return r.Inline()
}

func inlinePart(at string, v workflow.Value) activity.Part {
	return activity.Part{At: at, Size: int64(len(v)), Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(v)), nil }}
}

// open reads a payload, or the part of it at a path.
func (w *Worker) open(ctx context.Context, tenant string, ref eventstore.Ref, path []string) (io.ReadCloser, error) {
	r, err := w.Payloads.Open(ctx, tenant, ref)
	if err != nil || len(path) == 0 {
		return r, err
	}
	return newPartReader(r, path), nil
}

// resolve evaluates what only the worker that runs the attempt may know.
func (w *Worker) resolve(ctx context.Context, s eventstore.Stream, cmd workflow.RunActivity, d workflow.Deferred) (workflow.Value, error) {
	var unresolved error // says more than the expression does that did not get the value
	v, err := expr.ResolveDeferred(d, func(root string) (expr.Binding, bool) {
		if root == "secrets" {
			return expr.OfStruct(func(name string) (expr.Binding, bool) {
				v, err := w.secret(ctx, s.Tenant, name)
				if err != nil {
					unresolved = err
				}
				return expr.OfString(v), err == nil
			}, nil), true
		}
		b, known, err := w.link(ctx, s, cmd, root)
		if err != nil {
			unresolved = err
		}
		return b, known
	})
	if err != nil && unresolved != nil {
		return nil, unresolved
	}
	return v, err
}

func (w *Worker) secret(ctx context.Context, tenant, name string) (string, error) {
	if w.Secrets == nil {
		return "", workflow.Errorf(secret.CodeUnknown, workflow.CategoryInfrastructure, "this worker has no secrets, so not %q", name)
	}
	return w.Secrets.Secret(ctx, tenant, name)
}

// mask hides the secrets of a tenant; nil hides nothing.
func (w *Worker) mask(tenant string) *secret.Mask {
	if w.Secrets == nil {
		return nil
	}
	return w.Secrets.Mask(tenant)
}

// Masked hides secrets in the answer of an activity that came another way than from its call: by a callback. It knows those that this
// process gave away.
func (w *Worker) Masked(tenant string, r workflow.ActivityResult) workflow.ActivityResult {
	m := w.mask(tenant)
	r.Error, r.Output.JSON = m.Error(r.Error), m.JSON(r.Output.JSON)
	return r
}

// Answer makes what came by a callback fit for the execution, as the output of an activity that returns it itself would be: secrets are hidden, it is
// held against the schema of its step, and a large one is kept by reference (commit protocol, point 10). What does not fit fails the attempt, for
// the workflow to decide.
func (w *Worker) Answer(ctx context.Context, s eventstore.Stream, r workflow.ActivityResult) (workflow.ActivityResult, error) {
	r = w.Masked(s.Tenant, r)
	if r.Error != nil {
		return r, nil
	}
	x, err := w.read(ctx, s, 0)
	if err != nil || x.state == nil {
		return r, err
	}
	cmd, open := engine.Called(x.program, x.state, r.AttemptRef)
	if !open {
		return r, nil // it is refused
	}
	if err = w.fitsSchema(cmd, r.Output.JSON); err == nil && len(r.Output.JSON) > w.Limits.Inline {
		r.Output, err = w.reference(ctx, s, cmd, r.Output.JSON)
	}
	var typed *workflow.Error
	if errors.As(err, &typed) {
		r.Output, r.Error = workflow.Payload{}, typed
		return r, nil
	}
	return r, err
}

// reference puts an output into the payload store, and keeps of it what expressions read.
func (w *Worker) reference(ctx context.Context, s eventstore.Stream, cmd workflow.RunActivity, value workflow.Value) (workflow.Payload, error) {
	known, err := expr.KnownParts(value, cmd.Uses, w.Limits.Known)
	if err != nil {
		return workflow.Payload{}, err
	}
	ref, err := w.Payloads.Put(ctx, s, bytes.NewReader(value))
	if err != nil {
		return workflow.Payload{}, fmt.Errorf("worker: store an output of %s: %w", s, err)
	}
	return byReference(ref, known), nil
}

// link binds the addresses that people and services answer at.
func (w *Worker) link(ctx context.Context, s eventstore.Stream, cmd workflow.RunActivity, root string) (b expr.Binding, known bool, err error) {
	if w.Links == nil {
		return b, false, nil
	}
	switch root {
	case "callback":
		url, token, err := w.Links.Callback(ctx, s, cmd.AttemptRef)
		if err != nil {
			return b, false, err
		}
		return fields(map[string]string{"url": url, "token": token}), true, nil
	case "task":
		step := strings.TrimSuffix(cmd.Step, "!notify")
		return fields(map[string]string{"url": w.Links.Task(s, step), "id": s.ID + "/" + step}), true, nil
	}
	return b, false, nil
}

func fields(values map[string]string) expr.Binding {
	return expr.OfStruct(func(name string) (expr.Binding, bool) {
		v, ok := values[name]
		return expr.OfString(v), ok
	}, nil)
}

// result fills in what an activity came to: small values as they are, large ones by reference (commit protocol, point 10).
func (w *Worker) result(ctx context.Context, s eventstore.Stream, cmd workflow.RunActivity, res activity.Result, out *workflow.ActivityResult) (err error) {
	switch {
	case res.Pending || cmd.Callback: // the call only started the work: what it returned is not the answer
		out.Pending = true
		if res.Stream != nil {
			return res.Stream.Close()
		}
		return nil
	case res.Continue != nil:
		out.Continue, err = continuation(res.Continue)
		return err
	}
	if res.Stream != nil {
		defer res.Stream.Close()
		out.Output, err = w.absorb(ctx, s, cmd, res.Stream)
		return err
	}
	if len(res.Output) == 0 {
		res.Output = []byte("null")
	}
	value, err := expr.Canonical(res.Output)
	if err != nil {
		return activity.NewError(activity.CodeOutput, "the output is not JSON: %v", err)
	}
	if err := w.fitsSchema(cmd, value); err != nil {
		return err
	}
	if len(value) <= w.Limits.Inline {
		out.Output = workflow.Inline(value)
		return nil
	}
	out.Output, err = w.reference(ctx, s, cmd, value)
	return err
}

// fitsSchema checks a result against the schema that its step declares. A result that streams past is not looked into.
func (w *Worker) fitsSchema(cmd workflow.RunActivity, value workflow.Value) error {
	if e := w.schemas.Check(cmd.Schema, value, activity.CodeOutput, "the output"); e != nil {
		return activity.NewError(e.Code, "%s", e.Message)
	}
	return nil
}

// absorb reads an output to its end: into memory as long as it is small, else through it into the payload store.
func (w *Worker) absorb(ctx context.Context, s eventstore.Stream, cmd workflow.RunActivity, r io.Reader) (workflow.Payload, error) {
	head := make([]byte, w.Limits.Inline+1)
	n, err := io.ReadFull(r, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		if n == 0 {
			head, n = []byte("null"), 4
		}
		value, err := expr.Canonical(head[:n])
		if err != nil {
			return workflow.Payload{}, activity.NewError(activity.CodeOutput, "the output is not JSON: %v", err)
		}
		return workflow.Inline(value), w.fitsSchema(cmd, value)
	}
	if err != nil {
		return workflow.Payload{}, err
	}
	return w.store(ctx, s, cmd.Uses, io.MultiReader(bytes.NewReader(head), r))
}

// store streams a value into the payload store and keeps what expressions read of it.
func (w *Worker) store(ctx context.Context, s eventstore.Stream, uses []workflow.Use, r io.Reader) (workflow.Payload, error) {
	reading, writing := io.Pipe()
	type reduced struct {
		text []byte
		err  error
	}
	parts := make(chan reduced, 1)
	go func() {
		text, err := reduce(reading, uses)
		if err == nil {
			_, err = io.Copy(io.Discard, reading) // white space, up to the writer's end
		}
		reading.CloseWithError(err) // a writer that goes on after an error is stopped by it
		parts <- reduced{text, err}
	}()
	ref, putErr := w.Payloads.Put(ctx, s, io.TeeReader(r, writing))
	writing.CloseWithError(putErr)
	known := <-parts
	if known.err != nil && putErr == nil {
		putErr = known.err
	}
	if putErr != nil {
		if known.err != nil {
			return workflow.Payload{}, known.err
		}
		return workflow.Payload{}, fmt.Errorf("worker: store an output of %s: %w", s, putErr)
	}
	value, err := expr.Canonical(known.text)
	if err != nil {
		return workflow.Payload{}, activity.NewError(activity.CodeOutput, "the output is not JSON: %v", err)
	}
	kept, err := expr.KnownParts(value, uses, w.Limits.Known)
	if err != nil {
		return workflow.Payload{}, err
	}
	return byReference(ref, kept), nil
}

func byReference(ref eventstore.Ref, known workflow.Value) workflow.Payload {
	return workflow.Payload{JSON: workflow.Null, Holes: []workflow.Hole{{Ref: &workflow.Ref{Hash: ref.Hash.String(), Size: ref.Size, Known: known}}}}
}

func refOf(r *workflow.Ref) (eventstore.Ref, error) {
	out := eventstore.Ref{Size: r.Size}
	b, err := hex.DecodeString(r.Hash)
	if err != nil || copy(out.Hash[:], b) != len(out.Hash) {
		return out, fmt.Errorf("worker: %q is no hash of a payload", r.Hash)
	}
	return out, nil
}

func continuation(c *activity.Continue) (*workflow.AgentContinue, error) {
	out := &workflow.AgentContinue{}
	state, err := expr.Canonical(orNull(c.State))
	if err != nil {
		return nil, activity.NewError(activity.CodeOutput, "the state of the agent is not JSON: %v", err)
	}
	out.State = workflow.Inline(state)
	for _, call := range c.Calls {
		with, err := expr.Canonical(orNull(call.With))
		if err != nil {
			return nil, activity.NewError(activity.CodeOutput, "the input of call %s is not JSON: %v", call.ID, err)
		}
		a := workflow.AgentCall{ID: call.ID, Kind: call.Kind, Name: call.Name, Input: workflow.Inline(with)}
		if call.Approve != "" {
			a.Approve = []string{call.Approve}
		}
		out.Calls = append(out.Calls, a)
	}
	return out, nil
}

func orNull(b []byte) []byte {
	if len(b) == 0 {
		return []byte("null")
	}
	return b
}
