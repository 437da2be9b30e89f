package worker

import (
	"context"
	"fmt"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Payloads are collected with the executions that hold them (commit protocol, point 10). What an execution makes itself it holds from
// the start; what comes to it from another (a child's input or output, an event's data, results taken over) it begins to hold before the
// commit that takes it.

// hold makes an execution hold what inputs brought from elsewhere.
func (w *Worker) hold(ctx context.Context, s eventstore.Stream, brought refs) error {
	if len(brought) == 0 || mutated(ForgetHold) {
		return nil
	}
	if err := w.Payloads.Own(ctx, s, brought...); err != nil {
		return fmt.Errorf("worker: hold payloads for %s: %w", s, err)
	}
	return nil
}

// refs collects references into the payload store.
type refs []eventstore.Ref

func (r *refs) payload(p workflow.Payload) {
	for _, h := range p.Holes {
		if h.Ref == nil || h.Ref.Hash == "" {
			continue
		}
		if ref, err := refOf(h.Ref); err == nil {
			*r = append(*r, ref)
		}
	}
}

func (r *refs) pointer(p *workflow.Payload) {
	if p != nil {
		r.payload(*p)
	}
}

func (r *refs) list(list []workflow.Payload) {
	for _, p := range list {
		r.payload(p)
	}
}

func (r *refs) variables(list []workflow.Variable) {
	for _, v := range list {
		r.payload(v.Value)
	}
}

// input collects those of an input, but for results of attempts, which are the execution's own.
func (r *refs) input(in workflow.Input) {
	switch in := in.(type) {
	case workflow.Start:
		r.start(in)
	case workflow.Cancel:
		if in.Start != nil {
			r.start(*in.Start)
		}
	case workflow.ChildEnd:
		r.payload(in.Output)
		r.variables(in.Vars)
	case workflow.ExternalEvent:
		r.payload(in.Data)
	case workflow.TaskDecision:
		r.payload(in.Answer)
	case workflow.OperatorMove:
		r.payload(in.Output)
	}
}

func (r *refs) start(s workflow.Start) {
	r.payload(s.Input)
	if c := s.Origin.Continues; c != nil {
		for i := range c.Early {
			r.payload(c.Early[i].Data)
		}
	}
	if d := s.Origin.Redrive; d != nil {
		for i := range d.Taken {
			r.taken(&d.Taken[i])
		}
	}
	if h := s.Origin.Shard; h != nil {
		r.shard(h)
	}
}

func (r *refs) taken(t *workflow.Taken) {
	r.payload(t.Output)
	r.pointer(t.Whole)
	r.list(t.Items)
	r.variables(t.Vars)
	r.variables(t.Given)
}

func (r *refs) shard(s *workflow.Shard) {
	r.list(s.Items)
	r.pointer(s.Whole)
	r.variables(s.Names)
	r.variables(s.Vars)
	for i := range s.Steps {
		if result := s.Steps[i].Result; result != nil {
			r.payload(result.Output)
		}
	}
}
