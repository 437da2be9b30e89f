package engine

import (
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Steps of one moment: they are Ready, Scheduled, Running and ended in one decision.

// runValue names a value.
func runValue(t *Turn, in inst) {
	v, err := render(in.node.step.Value, t.lazily(in))
	if err != nil {
		t.failStart(in, err)
		return
	}
	t.instant(in, weighPayload(v), func() { t.complete(in, v) })
}

// instant walks a step through its states and ends it, if that still fits into the decision.
func (t *Turn) instant(in inst, bytes int, end func()) {
	if !t.fits(bytes + 64) {
		return
	}
	t.begin(in, "", limits{})
	end()
}

// runSet changes variables, one after the other.
func runSet(t *Turn, in inst) {
	var vars, given []workflow.Variable
	bytes := 0
	for i := range in.node.step.Set.Assign {
		as := &in.node.step.Set.Assign[i]
		v, err := render(as.Value, t.lazily(in))
		if err == nil && as.Reduce != "" {
			given = append(given, workflow.Variable{Name: as.Var, Value: v})
			v, err = t.reduce(as.Reduce, as.Var, v)
		}
		if err == nil && weighPayload(v) > MaxValue {
			err = tooLarge("the variable "+as.Var, weighPayload(v), MaxValue)
		}
		if err != nil {
			t.failStart(in, err)
			return
		}
		vars = append(vars, workflow.Variable{Name: as.Var, Value: v})
		bytes += weighPayload(v)
	}
	t.instant(in, bytes, func() {
		t.emit(workflow.VariablesSet{Step: in.path, Vars: vars, Given: given})
		t.complete(in, workflow.Payload{})
	})
}

// reductions are how writes of a variable combine (DSL.md, Variables), as expressions of the language, so that numbers and
// lists behave as they do there. `now` is the variable, `next` the value written.
var reductions = map[string]*workflow.Expr{
	"append": {Source: "(now == null ? [] : now) + [next]"},
	"sum":    {Source: "now == null ? next : now + next"},
	"min":    {Source: "now == null || next < now ? next : now"},
	"max":    {Source: "now == null || next > now ? next : now"},
	"merge":  {Source: "now == null ? next : merge(now, next)"},
	"first":  {Source: "now == null ? next : now"},
	"last":   {Source: "next"},
	// concat combines what shards appended.
	"concat": {Source: "(now == null ? [] : now) + (next == null ? [] : next)"},
}

// reduce combines a write with the variable's value.
func (t *Turn) reduce(how, name string, next workflow.Payload) (workflow.Payload, *workflow.Error) {
	x := reductions[how]
	if x == nil {
		return next, workflow.Errorf("set.reduce", workflow.CategoryWorkflow, "there is no reduction %q", how)
	}
	c, err := expr.Load(x)
	if err != nil {
		return next, exprError(err)
	}
	now := expr.OfValue(workflow.Null)
	for i := range t.s.Vars {
		if t.s.Vars[i].Name == name {
			now = expr.Of(orNull(t.s.Vars[i].Value))
		}
	}
	names := []named{{"now", now}, {"next", expr.Of(orNull(next))}}
	v, err := c.Eval(t.inFrame(nil, names...))
	if err != nil {
		return next, exprError(err)
	}
	return v, nil
}

// reductionOf is how a `set` step combines a variable; empty if it does not.
func reductionOf(n *node, name string) string {
	if n.step.Set != nil {
		for i := range n.step.Set.Assign {
			if as := &n.step.Set.Assign[i]; as.Var == name {
				return as.Reduce
			}
		}
	}
	return ""
}

// tooLarge is the error of a value over its limit.
func tooLarge(what string, bytes, limit int) *workflow.Error {
	return workflow.Errorf("payload.too_large", workflow.CategoryWorkflow, "%s has %d bytes, more than %d: keep large values by reference, or take parts of them", what, bytes, limit)
}

// runEmit publishes an event: it stands in the history, from where the publisher takes it.
func runEmit(t *Turn, in inst) {
	e, a := in.node.step.Emit, t.lazily(in)
	ev := workflow.EventEmitted{Step: in.path}
	var err *workflow.Error
	if ev.Kind, err = renderString(e.Type, a); err == nil {
		if ev.Key, err = renderKey(e.Key, a); err == nil {
			if ev.Source, err = renderString(e.Source, a); err == nil {
				ev.Data, err = render(e.Data, a)
			}
		}
	}
	if err != nil {
		t.failStart(in, err)
		return
	}
	if e.Source == nil {
		ev.Source = t.s.Workflow
	}
	if ev.Kind == "" || len(ev.Kind) > MaxType {
		t.failStart(in, wrongType(ev.Kind))
		return
	}
	t.instant(in, weighPayload(ev.Data), func() {
		t.emit(ev)
		t.complete(in, workflow.Payload{})
	})
}

// wrongType is the error of a type of events that no store takes.
func wrongType(kind string) *workflow.Error {
	return workflow.Errorf("event.type", workflow.CategoryWorkflow, "the type of the event has %d bytes: give it 1 to %d", len(kind), MaxType)
}

// renderKey renders the key of an event: a text as it stands, numbers and booleans as text.
func renderKey(key *workflow.Template, a *lazyActivation) (string, *workflow.Error) {
	return renderToken(key, a, "event.key", "the key of the event")
}

// renderToken renders a text, number or boolean as a text of at most MaxName bytes; code and what are for the error.
func renderToken(t *workflow.Template, a *lazyActivation, code, what string) (string, *workflow.Error) {
	if t == nil {
		return "", nil
	}
	v, err := render(t, a)
	if err != nil {
		return "", err
	}
	if len(v.Holes) > 0 {
		return "", workflow.Errorf(code, workflow.CategoryWorkflow, "%s is kept by reference: use a short text or a number", what)
	}
	k := text(v.JSON)
	if len(k) > MaxName {
		return "", workflow.Errorf(code, workflow.CategoryWorkflow, "%s has %d bytes, more than %d: shorten it, or use its sha256", what, len(k), MaxName)
	}
	return k, nil
}

// text is a JSON string's content, or any other JSON as it stands; null is "".
func text(v workflow.Value) string {
	if v.IsNull() {
		return ""
	}
	if v[0] != '"' {
		return string(v)
	}
	c, err := expr.LoadTemplate(&workflow.Template{JSON: workflow.Value(`"${ v }"`)})
	if err != nil {
		return string(v)
	}
	s, err := c.RenderString(expr.NewActivation(func(string) (expr.Binding, bool) { return expr.OfValue(v), true }))
	if err != nil {
		return string(v)
	}
	return s
}

// runFail ends with a typed error.
func runFail(t *Turn, in inst) {
	f, a := in.node.step.Fail, t.lazily(in)
	code, err := renderString(f.Code, a)
	if err != nil {
		t.failStart(in, err)
		return
	}
	message, err := renderString(f.Message, a)
	if err != nil {
		t.failStart(in, err)
		return
	}
	details, err := render(f.Details, a)
	if err != nil {
		t.failStart(in, err)
		return
	}
	failure := &workflow.Error{Code: code, Category: workflow.CategoryWorkflow, Message: message, Details: details.JSON}
	t.instant(in, len(details.JSON)+len(message), func() { t.fail(in, failure, false) })
}

// runSwitch picks the steps of the first branch whose condition is true. Its output is the list of their names.
func runSwitch(t *Turn, in inst) {
	a := t.lazily(in)
	for i := range in.node.step.Switch.Branches {
		b := &in.node.step.Switch.Branches[i]
		ok := b.When == nil
		if !ok {
			var err *workflow.Error
			if ok, err = evalBool(b.When, a.get()); err != nil {
				t.failStart(in, err)
				return
			}
		}
		if ok {
			t.pick(in, b.Then)
			return
		}
	}
	t.pick(in, nil)
}

// pick ends a switch with the steps it picked.
func (t *Turn) pick(in inst, then []string) {
	list, err := expr.Marshal(append([]string{}, then...))
	if err != nil {
		t.failStart(in, exprError(err))
		return
	}
	t.instant(in, len(list), func() { t.complete(in, workflow.Inline(list), then...) })
}

// runMatch picks the steps of the first case that fits. Its output is the value.
func runMatch(t *Turn, in inst) {
	m, a := in.node.step.Match, t.lazily(in)
	value, err := render(m.Value, a)
	if err != nil {
		t.failStart(in, err)
		return
	}
	for i := range m.Cases {
		ok, err := t.fitsCase(in, &m.Cases[i], value, a)
		if err != nil {
			t.failStart(in, err)
			return
		}
		if ok {
			then := m.Cases[i].Then
			t.instant(in, weighPayload(value), func() { t.complete(in, value, then...) })
			return
		}
	}
	t.instant(in, weighPayload(value), func() { t.complete(in, value) })
}

// fitsCase reports whether a value fits a case of match.
func (t *Turn) fitsCase(in inst, c *workflow.Case, value workflow.Payload, a *lazyActivation) (bool, *workflow.Error) {
	names := []named{{"value", expr.Of(orNull(value))}}
	if c.Like != nil {
		p, err := expr.LoadPattern(c.Like)
		if err != nil {
			return false, exprError(err)
		}
		bound, ok, err := p.Match(expr.Of(orNull(value)), a.get())
		if err != nil {
			return false, exprError(err)
		}
		if !ok {
			return false, nil
		}
		for _, name := range p.Names() {
			names = append(names, named{name, expr.Of(bound[name])})
		}
	}
	if c.When == nil {
		return true, nil
	}
	return evalBool(c.When, t.at(in, names...))
}

// runContinueAsNew ends the execution and goes on as a new one (semantics 40).
func runContinueAsNew(t *Turn, in inst) {
	input, err := render(in.node.step.ContinueAsNew, t.lazily(in))
	if err == nil && t.s.Shard != nil {
		err = workflow.Errorf("continue_as_new.shard", workflow.CategoryWorkflow, "an item of a large foreach cannot go on as a new execution")
	}
	if err == nil && t.s.Ending != nil {
		err = workflow.Errorf("continue_as_new.ending", workflow.CategoryWorkflow, "the execution ends as %s: a step of on_exit cannot go on as a new one", t.s.Ending.Outcome)
	}
	if err == nil {
		err = t.inputMisfit(input)
	}
	if err != nil {
		t.failStart(in, err)
		return
	}
	t.instant(in, weighPayload(input), func() {
		t.complete(in, workflow.Payload{})
		t.decideOutcome(workflow.OutcomeDecided{
			Outcome: workflow.OutcomeCompleted, Abrupt: true, Next: &workflow.Next{Execution: nextID(t.s), Input: input},
		})
	})
}
