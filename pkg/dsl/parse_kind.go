package dsl

import (
	"slices"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// call reads the call of an activity kind from a step, a `compensate` or a `notify`.
func (p *pass) call(kind workflow.Kind, n *node) *workflow.Call {
	block := n.get(string(kind))
	c := &workflow.Call{
		Target:   p.source.template(block),
		With:     p.source.template(n.get("with")),
		Output:   schemaIn(n.get("output")),
		Callback: isTrue(n.get("callback")),
	}
	switch kind {
	case workflow.KindFunction, workflow.KindTool:
		name := block
		if block.kind == kindObject {
			name = block.get("name")
		}
		if c.Name = text(name); holdsExpression(c.Name) {
			c.Name = ""
		}
	case workflow.KindAI:
		c.Output = schemaIn(block.get("output"))
		c.Target = p.source.template(block.without("output")) // a schema holds no expressions
	case workflow.KindScript:
		c.Target = verbatim(block)
	}
	return c
}

// verbatim returns a block in which ${ is no expression, as a template.
func verbatim(n *node) *workflow.Template {
	v, err := expr.Canonical(n.json(nil, verbatimText))
	if err != nil {
		panic("dsl: a document always has a JSON form: " + err.Error())
	}
	return &workflow.Template{JSON: v, At: n.at}
}

func (p *pass) timer(n *node) *workflow.Timer {
	return &workflow.Timer{
		For:      p.duration(n.get("for")),
		Until:    p.source.template(n.get("until")),
		Cron:     text(n.get("cron")),
		Timezone: text(n.get("timezone")),
	}
}

func (p *pass) human(n *node) *workflow.Human {
	h := &workflow.Human{
		Title:     p.source.template(n.get("title")),
		Details:   p.source.template(n.get("details")),
		Assignees: p.source.template(n.get("assignees")),
		Form:      schemaIn(n.get("form")),
		Remind:    p.durations(n.get("remind")),
		OnReject:  workflow.Reaction(textOr(n.get("on_reject"), string(workflow.ReactionFail))),
		OnTimeout: workflow.Reaction(textOr(n.get("on_timeout"), string(workflow.ReactionFail))),
	}
	if notify := n.get("notify"); notify != nil {
		if h.NotifyKind = kindOf(notify, callKinds); h.NotifyKind != "" {
			h.Notify = p.call(h.NotifyKind, notify)
		}
	}
	for _, item := range n.get("escalate").list() {
		if after := p.duration(item.get("after")); after != nil {
			h.Escalate = append(h.Escalate, workflow.Escalation{After: *after, To: p.source.template(item.get("to"))})
		}
	}
	return h
}

func (p *pass) event(n *node) *workflow.EventWait {
	e := &workflow.EventWait{Schema: schemaOf(n.get("schema"))}
	if n.has("type") {
		e.Any = append(e.Any, p.pattern(n))
	}
	for _, item := range n.get("any").list() {
		e.Any = append(e.Any, p.pattern(item))
	}
	return e
}

func (p *pass) pattern(n *node) workflow.EventPattern {
	return workflow.EventPattern{
		Type:  text(n.get("type")),
		Key:   p.source.bare(n.get("key")),
		Match: p.source.expression(n.get("match")),
		From:  text(n.get("from")),
	}
}

func (p *pass) child(n *node, pointer string) *workflow.Child {
	c := &workflow.Child{
		Name:          p.source.template(n.get("name")),
		Allow:         texts(n.get("allow")),
		Version:       p.source.template(n.get("version")),
		With:          p.source.template(n.get("with")),
		Wait:          !n.has("wait") || isTrue(n.get("wait")),
		OnParentClose: workflow.ParentClose(textOr(n.get("on_parent_close"), string(workflow.ParentCloseCancel))),
	}
	slices.Sort(c.Allow)
	if holdsExpression(text(n.get("name"))) && !n.has("allow") {
		p.sink.errorf(pointer+"/name", "dsl/conflict", "add allow: [ name, … ] with the names it may give", "a `name` that is an expression needs `allow`")
	} else if name := text(n.get("name")); name != "" && !holdsExpression(name) && len(c.Allow) > 0 && !slices.Contains(c.Allow, name) {
		p.sink.errorf(pointer+"/name", "dsl/conflict", "add it to `allow`, or leave `allow` out: a fixed name needs none", "`allow` does not have the workflow %q, so the step always fails", clip(name))
	}
	return c
}

func (p *pass) branches(n *node) *workflow.Switch {
	s := &workflow.Switch{}
	for _, item := range n.list() {
		b := workflow.Branch{When: p.source.expression(item.get("when")), Then: stepNamesIn(item.get("then"))}
		if other := item.get("else"); other != nil {
			b = workflow.Branch{Then: stepNamesIn(other)}
		}
		s.Branches = append(s.Branches, b)
	}
	return s
}

func (p *pass) match(n *node) *workflow.Match {
	m := &workflow.Match{Value: p.source.bare(n.get("match"))}
	for _, item := range n.get("cases").list() {
		c := workflow.Case{
			Like: p.source.template(item.get("like")),
			When: p.source.expression(item.get("when")),
			Then: stepNamesIn(item.get("then")),
		}
		if other := item.get("else"); other != nil {
			c = workflow.Case{Then: stepNamesIn(other)}
		}
		m.Cases = append(m.Cases, c)
	}
	return m
}

func (p *pass) foreach(n *node, pointer string) *workflow.Foreach {
	return &workflow.Foreach{
		Items:            p.source.template(n.get("items")),
		As:               textOr(n.get("as"), "item"),
		MaxParallelism:   p.count(n.get("max_parallelism")),
		TolerateFailures: p.tolerance(n.get("tolerate_failures")),
		Until:            p.source.expression(n.get("until")),
		Collect:          p.source.bare(n.get("collect")),
		Body:             p.body(n.get("steps"), pointer+"/steps"),
	}
}

func (p *pass) tolerance(n *node) *workflow.Tolerance {
	if c := p.count(n); c != nil {
		return &workflow.Tolerance{Count: c}
	}
	if f, ok := parsePercent(text(n)); ok {
		return &workflow.Tolerance{Percent: f}
	}
	return nil
}

func (p *pass) loop(n *node, pointer string) *workflow.Loop {
	return &workflow.Loop{
		While:   p.source.expression(n.get("while")),
		Until:   p.source.expression(n.get("until")),
		Max:     p.countOr(n.get("max"), 0),
		Delay:   p.duration(n.get("delay")),
		OnMax:   workflow.OnMax(textOr(n.get("on_max"), string(workflow.OnMaxFail))),
		Collect: p.source.bare(n.get("collect")),
		Body:    p.body(n.get("steps"), pointer+"/steps"),
	}
}

func (p *pass) race(n *node, pointer string) *workflow.Race {
	r := &workflow.Race{}
	for _, e := range n.pairs() {
		here := pointer + "/" + escape(e.key.text) + "/steps"
		r.Branches = append(r.Branches, workflow.RaceBranch{Name: e.key.text, Body: p.body(e.value.get("steps"), here)})
	}
	return r
}

func (p *pass) set(n *node) *workflow.Set {
	s := &workflow.Set{}
	for _, e := range n.pairs() {
		a := workflow.Assignment{Var: e.key.text, Value: p.source.template(e.value)}
		if e.value.has("reduce") {
			a.Reduce, a.Value = text(e.value.get("reduce")), p.source.template(e.value.get("value"))
		}
		s.Assign = append(s.Assign, a)
	}
	return s
}
