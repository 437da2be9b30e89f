package engine

import (
	"bytes"
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// visitor is called with each template and expression of a step; exactly one of the two is set.
type visitor func(t *workflow.Template, x *workflow.Expr)

// mentions is a quick test whether a text can read a name.
func mentions(t *workflow.Template, x *workflow.Expr, name string) bool {
	if x != nil {
		return strings.Contains(x.Source, name)
	}
	return bytes.Contains(t.JSON, []byte(name))
}

// visitBody visits the steps of a body and of all bodies inside.
func visitBody(b *body, v visitor) {
	for i := range b.nodes {
		visitStep(b.nodes[i].step, v)
		for _, inner := range b.nodes[i].bodies {
			visitBody(inner, v)
		}
	}
}

// visitStep visits a step without the bodies inside it.
func visitStep(st *workflow.Step, v visitor) {
	v.expr(st.When)
	v.count(st.Join.Count)
	for _, d := range []*workflow.Duration{st.Timeout, st.ScheduleTimeout, st.Heartbeat, st.WaitTimeout} {
		v.duration(d)
	}
	v.count(st.MaxRecoveries)
	v.retry(st.Retry)
	for i := range st.OnError {
		v.expr(st.OnError[i].Match)
		v.template(st.OnError[i].Continue)
	}
	v.call(st.Call)
	v.child(st.Child)
	v.waits(st)
	v.picks(st)
	v.structured(st)
	v.template(st.Value)
	v.template(st.ContinueAsNew)
	if st.Set != nil {
		for i := range st.Set.Assign {
			v.template(st.Set.Assign[i].Value)
		}
	}
	if e := st.Emit; e != nil {
		v.templates(e.Type, e.Key, e.Source, e.Data)
	}
	if f := st.Fail; f != nil {
		v.templates(f.Code, f.Message, f.Details)
	}
}

func (v visitor) expr(x *workflow.Expr) {
	if x != nil {
		v(nil, x)
	}
}

func (v visitor) template(t *workflow.Template) {
	if t != nil {
		v(t, nil)
	}
}

func (v visitor) templates(list ...*workflow.Template) {
	for _, t := range list {
		v.template(t)
	}
}

func (v visitor) duration(d *workflow.Duration) {
	if d != nil {
		v.expr(d.Expr)
	}
}

func (v visitor) count(c *workflow.Count) {
	if c != nil {
		v.expr(c.Expr)
	}
}

func (v visitor) retry(r *workflow.Retry) {
	if r != nil {
		v.count(&r.Attempts)
		v.duration(&r.Delay)
		v.duration(r.MaxDelay)
	}
}

func (v visitor) call(c *workflow.Call) {
	if c != nil {
		v.templates(c.Target, c.With)
	}
}

func (v visitor) child(c *workflow.Child) {
	if c != nil {
		v.templates(c.Name, c.Version, c.With)
	}
}

func (v visitor) waits(st *workflow.Step) {
	if t := st.Timer; t != nil {
		v.duration(t.For)
		v.template(t.Until)
	}
	if h := st.Human; h != nil {
		v.templates(h.Title, h.Details, h.Assignees)
		v.call(h.Notify)
		for i := range h.Remind {
			v.duration(&h.Remind[i])
		}
		for i := range h.Escalate {
			v.duration(&h.Escalate[i].After)
			v.template(h.Escalate[i].To)
		}
	}
	if e := st.Event; e != nil {
		for i := range e.Any {
			v.template(e.Any[i].Key)
			v.expr(e.Any[i].Match)
		}
	}
}

func (v visitor) picks(st *workflow.Step) {
	if s := st.Switch; s != nil {
		for i := range s.Branches {
			v.expr(s.Branches[i].When)
		}
	}
	if m := st.Match; m != nil {
		v.template(m.Value)
		for i := range m.Cases {
			v.template(m.Cases[i].Like)
			v.expr(m.Cases[i].When)
		}
	}
}

func (v visitor) structured(st *workflow.Step) {
	if f := st.Foreach; f != nil {
		v.templates(f.Items, f.Collect)
		v.count(f.MaxParallelism)
		if f.TolerateFailures != nil {
			v.count(f.TolerateFailures.Count)
		}
		v.expr(f.Until)
	}
	if l := st.Loop; l != nil {
		v.expr(l.While)
		v.expr(l.Until)
		v.count(&l.Max)
		v.duration(l.Delay)
		v.template(l.Collect)
	}
	if g := st.Group; g != nil {
		v.template(g.Output)
	}
}
