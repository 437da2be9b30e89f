package engine

import (
	"time"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// named is a name that exists only for one evaluation: output, error, event, collected, what a pattern bound.
type named struct {
	name  string
	value expr.Binding
}

// reader is what expressions read their names from: a place in the tree of frames, and extra names.
type reader struct {
	x      *fold
	frame  *workflow.Frame
	extras []named
}

// at returns the activation for expressions of a step.
func (x *fold) at(in inst, extras ...named) *expr.Activation { return x.inFrame(in.frame, extras...) }

// inFrame returns the activation for expressions that stand beside the steps of a frame: output, collect, until.
func (x *fold) inFrame(f *workflow.Frame, extras ...named) *expr.Activation {
	r := &reader{x: x, frame: f, extras: extras}
	return expr.NewActivation(r.lookup)
}

// lookup finds a name: extra ones, then those of the bodies around, innermost first, then those of the execution.
func (r *reader) lookup(name string) (expr.Binding, bool) {
	for i := range r.extras {
		if r.extras[i].name == name {
			return r.extras[i].value, true
		}
	}
	switch name {
	case "input":
		return expr.Of(r.x.s.Input), true
	case "vars":
		return r.x.vars(), true
	case "steps":
		return r.steps(), true
	case "execution":
		return r.x.execution(), true
	}
	for f := r.frame; f != nil; f = f.Parent {
		if b, ok := r.x.bound(f, name); ok {
			return b, true
		}
	}
	return r.x.outerName(name)
}

// bound finds a name that a body binds: the item and index of a foreach, iteration and previous of a loop.
func (x *fold) bound(f *workflow.Frame, name string) (expr.Binding, bool) {
	owner := x.p.bodies[f.Body].owner
	if owner == nil || f.Parent == nil {
		return expr.Binding{}, false
	}
	switch {
	case owner.step.Foreach != nil:
		if name == owner.step.Foreach.As {
			return expr.Of(f.Item), true
		}
		if name == "index" {
			return expr.OfInt(int64(f.Index)), true
		}
	case owner.step.Loop != nil:
		if name == "iteration" {
			return expr.OfInt(int64(f.Index)), true
		}
		if name == "previous" {
			return x.previous(x.child(f.Parent, f.Node)), true
		}
	}
	return expr.Binding{}, false
}

// previous is the iteration before the one under way.
func (x *fold) previous(loop inst) expr.Binding {
	var f *workflow.Frame
	if o := loop.open(); o != nil && o.Scope != nil {
		f = o.Scope.Previous
	}
	b := loop.node.bodies[0]
	get := func(id string) (expr.Binding, bool) {
		i, ok := b.byName[id]
		if !ok || f == nil {
			return expr.Binding{}, false
		}
		return x.stepBinding(f, int(i)), true
	}
	return expr.OfStruct(get, func() []string {
		if f == nil {
			return nil
		}
		return b.names()
	})
}

// steps finds steps by name: local ones first, then those of the bodies around.
func (r *reader) steps() expr.Binding {
	get := func(id string) (expr.Binding, bool) {
		for f := r.frame; f != nil; f = f.Parent {
			if i, ok := r.x.p.bodies[f.Body].byName[id]; ok && r.x.shown(f, int(i)) {
				return r.x.stepBinding(f, int(i)), true
			}
		}
		return r.x.outerStep(id)
	}
	return expr.OfStruct(get, func() []string {
		if r.frame == nil {
			return nil
		}
		return r.x.p.bodies[r.frame.Body].names()
	})
}

func (b *body) names() []string {
	list := make([]string, len(b.nodes))
	for i := range b.nodes {
		list[i] = b.nodes[i].step.Name
	}
	return list
}

// stepBinding is `steps.<id>`.
func (x *fold) stepBinding(f *workflow.Frame, i int) expr.Binding {
	st := &f.Steps[i]
	status := st.Status
	if status == workflow.StatusPending && x.exiting() {
		status = workflow.StatusSkipped // it will never run
	}
	return resultBinding(status, st.Result, st.Open)
}

var stepFields = []string{"attempts", "completed_at", "error", "execution_id", "output", "started_at", "status"}

// resultBinding is what expressions see of a step. What did not happen is null.
func resultBinding(status workflow.Status, r *workflow.Result, o *workflow.OpenStep) expr.Binding {
	get := func(field string) (expr.Binding, bool) {
		var kept workflow.Result
		switch {
		case r != nil:
			kept = *r
		case o != nil:
			kept = workflow.Result{Attempts: o.Attempt, StartedAt: o.FirstAt, Error: o.Error}
			if o.Child != nil {
				kept.Execution = o.Child.Child
			}
		}
		switch field {
		case "status":
			return expr.OfString(status.String()), true
		case "output":
			return expr.Of(orNull(kept.Output)), true
		case "error":
			return errorBinding(kept.Error), true
		case "attempts":
			return expr.OfInt(int64(kept.Attempts)), true
		case "started_at":
			return timeBinding(kept.StartedAt), true
		case "completed_at":
			return timeBinding(kept.EndedAt), true
		case "execution_id":
			if kept.Execution == "" {
				return expr.OfValue(workflow.Null), true
			}
			return expr.OfString(kept.Execution), true
		}
		return expr.Binding{}, false
	}
	return expr.OfStruct(get, func() []string { return stepFields })
}

func orNull(p workflow.Payload) workflow.Payload {
	if p.IsZero() {
		return workflow.Inline(workflow.Null)
	}
	return p
}

func timeBinding(at int64) expr.Binding {
	if at == 0 {
		return expr.OfValue(workflow.Null)
	}
	return expr.OfTime(time.Unix(0, at).UTC())
}

// errorBinding is an error as expressions see it.
func errorBinding(e *workflow.Error) expr.Binding {
	if e == nil {
		return expr.OfValue(workflow.Null)
	}
	return expr.OfStruct(func(field string) (expr.Binding, bool) {
		switch field {
		case "code":
			return expr.OfString(e.Code), true
		case "category":
			return expr.OfString(string(e.Category)), true
		case "message":
			return expr.OfString(e.Message), true
		case "retryable":
			return expr.OfBool(e.Retryable), true
		case "details":
			return expr.OfValue(orNullValue(e.Details)), true
		}
		return expr.Binding{}, false
	}, func() []string { return []string{"category", "code", "details", "message", "retryable"} })
}

func orNullValue(v workflow.Value) workflow.Value {
	if len(v) == 0 {
		return workflow.Null
	}
	return v
}

// vars are the workflow's variables.
func (x *fold) vars() expr.Binding {
	return expr.OfStruct(func(name string) (expr.Binding, bool) {
		for i := range x.s.Vars {
			if x.s.Vars[i].Name == name {
				return expr.Of(orNull(x.s.Vars[i].Value)), true
			}
		}
		return expr.Binding{}, false
	}, func() []string {
		names := make([]string, len(x.s.Vars))
		for i := range x.s.Vars {
			names[i] = x.s.Vars[i].Name
		}
		return names
	})
}

// exiting reports whether how the execution ends is decided, so that steps of on_exit may run.
func (x *fold) exiting() bool { return x.s.Ending != nil }

// execution is what expressions see of the execution itself.
func (x *fold) execution() expr.Binding {
	s := x.s
	get := func(field string) (expr.Binding, bool) {
		switch field {
		case "id":
			return expr.OfString(s.Execution), true
		case "workflow":
			return expr.OfString(s.Workflow), true
		case "version":
			return expr.OfString(s.Definition), true
		case "tenant":
			return expr.OfString(s.Tenant), true
		case "correlation_id":
			return expr.OfString(s.Correlation), true
		case "started_at":
			return timeBinding(s.StartedAt), true
		}
		if !x.exiting() {
			return expr.Binding{}, false
		}
		switch field {
		case "outcome":
			return expr.OfString(string(s.Ending.Outcome)), true
		case "compensated":
			return expr.OfBool(s.Status == fsm.WorkflowStateCompensating() && len(s.Undo) == 0), true
		case "failures":
			return x.failures(), true
		case "duration":
			return expr.OfDuration(time.Duration(s.At - s.StartedAt)), true
		}
		return expr.Binding{}, false
	}
	fields := []string{"id", "workflow", "version", "tenant", "correlation_id", "started_at"}
	if x.exiting() {
		fields = append(fields, "outcome", "compensated", "failures", "duration")
	}
	return expr.OfStruct(get, func() []string { return fields })
}

// failures is `execution.failures`.
func (x *fold) failures() expr.Binding {
	list := x.s.Failures
	if list == nil {
		list = []workflow.StepFailure{}
	}
	v, err := expr.Marshal(list)
	if err != nil {
		return expr.OfValue(workflow.Value("[]"))
	}
	return expr.OfValue(v)
}

// exprError makes an error of an evaluation one that a workflow can catch.
func exprError(err error) *workflow.Error {
	if e, ok := err.(*workflow.Error); ok {
		return e
	}
	return workflow.Errorf("expression.invalid", workflow.CategoryWorkflow, "%s", err.Error())
}
