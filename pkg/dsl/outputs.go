package dsl

import (
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// humanType is the output of a human step. An answer that has a form is checked against it.
func humanType(answer *expr.Type) *expr.Type {
	return expr.Record(map[string]*expr.Type{
		"decision": expr.String, "answer": answer, "by": expr.String.OrNull(), "comment": expr.String.OrNull(), "at": expr.String,
	}, true)
}

// schemaType is the type of a JSON Schema; documents often use one schema many times.
func (a *analysis) schemaType(schema workflow.Value) *expr.Type {
	if len(schema) == 0 {
		return expr.Dyn
	}
	if t := a.schemas[string(schema)]; t != nil {
		return t
	}
	t := expr.SchemaType(schema)
	a.schemas[string(schema)] = t
	return t
}

// typeOfStep is the type of steps.<id>.
func (a *analysis) typeOfStep(u *unit) *expr.Type {
	if u.record == nil {
		record := stepRecord(a.outputOf(u))
		if u.output == nil {
			return record // more may be known later
		}
		u.record = record
	}
	return u.record
}

// outputOf is the type of a step's output, as far as it is known yet.
func (a *analysis) outputOf(u *unit) *expr.Type {
	if u.output != nil {
		return u.output
	}
	return a.fixedOutput(u.step)
}

// fixedOutput is the type of an output that depends on no expression, or dyn.
func (a *analysis) fixedOutput(st *workflow.Step) *expr.Type {
	switch {
	case st.Call != nil && len(st.Call.Output) > 0:
		return a.schemaType(st.Call.Output)
	case st.Kind == workflow.KindHTTP && !st.Call.Callback:
		return httpType
	case st.Human != nil:
		return humanType(a.schemaType(st.Human.Form))
	case st.Event != nil:
		return eventRecord(a.schemaType(st.Event.Schema))
	case st.Child != nil && !st.Child.Wait:
		return startedType
	case st.Switch != nil:
		return expr.ListOf(expr.String)
	case st.Foreach != nil:
		return manifestOr(expr.Dyn)
	case st.Loop != nil && st.Loop.Collect != nil:
		return expr.ListOf(expr.Dyn)
	case st.Race != nil:
		return expr.Record(map[string]*expr.Type{"winner": expr.String, "output": expr.Dyn}, true)
	}
	return expr.Dyn
}

// outputType is the type of a step's output once its expressions are checked. A step that may be caught has the output of
// whatever stands in for it, so nothing is known of it.
func (a *analysis) outputType(u *unit) *expr.Type {
	st := u.step
	switch {
	case len(st.OnError) > 0:
		return expr.Dyn
	case st.Value != nil:
		return u.site("/value").typ
	case st.Match != nil:
		return u.matched()
	case st.Foreach != nil:
		return manifestOr(a.collectType(u, "/foreach/collect", func() *expr.Type { return a.singleOutput(u.inner[0]) }))
	case st.Loop != nil && st.Loop.Collect != nil:
		return expr.ListOf(u.site("/loop/collect").typ)
	case st.Loop != nil:
		return a.allOutputs(u.inner[0])
	case st.Group != nil:
		return a.collectType(u, "/group/output", func() *expr.Type { return a.allOutputs(u.inner[0]) })
	case st.Race != nil:
		return expr.Record(map[string]*expr.Type{"winner": expr.String, "output": a.raceOutput(u)}, true)
	}
	return a.fixedOutput(st)
}

// manifestOr is what a foreach yields: the list of what was collected or, of very many items, a manifest in its place (semantics 35).
func manifestOr(item *expr.Type) *expr.Type {
	return expr.ListOf(item).Or(map[string]*expr.Type{"count": expr.Int, "failed": expr.Int, "ref": expr.String})
}

func (a *analysis) collectType(u *unit, where string, otherwise func() *expr.Type) *expr.Type {
	if s := u.site(where); s != nil {
		return s.typ
	}
	return otherwise()
}

// lastOutputs is the type of the outputs of the last steps of a body, by name.
func (a *analysis) lastOutputs(b *block) *expr.Type {
	fields := map[string]*expr.Type{}
	for _, name := range b.body.Last {
		fields[name] = a.outputOf(b.named[name])
	}
	return expr.Record(fields, true)
}

// allOutputs is the type of the outputs of all steps of a body, by name: what a group and the last iteration of a loop yield.
func (a *analysis) allOutputs(b *block) *expr.Type {
	fields := map[string]*expr.Type{}
	for _, u := range b.units {
		fields[u.step.Name] = a.outputOf(u)
	}
	return expr.Record(fields, true)
}

// singleOutput is the type of the output of a body's last step; with several of them, of their outputs by name.
func (a *analysis) singleOutput(b *block) *expr.Type {
	if len(b.body.Last) == 1 {
		return a.outputOf(b.named[b.body.Last[0]])
	}
	return a.lastOutputs(b)
}

func (a *analysis) raceOutput(u *unit) *expr.Type {
	if len(u.inner) == 0 {
		return expr.Dyn
	}
	first := a.singleOutput(u.inner[0])
	for _, b := range u.inner[1:] {
		if a.singleOutput(b) != first {
			return expr.Dyn
		}
	}
	return first
}

// constantType is the type of a value without expressions.
func constantType(v workflow.Value) *expr.Type {
	t, _ := expr.CompileTemplate(v, nil, nil)
	if t == nil {
		return expr.Dyn
	}
	return t.Type()
}
