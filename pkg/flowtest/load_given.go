package flowtest

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/wovyr/wovyr/pkg/workflow"
)

func (l *loading) givens(n *yaml.Node) []given {
	var list []given
	l.items(n, "`given`", func(n *yaml.Node) { list = append(list, l.given(n)) })
	return list
}

// given reads one entry of `given`: when, and exactly one of the words that say what.
func (l *loading) given(n *yaml.Node) given {
	g := given{at: place(n)}
	decision := func(verdict workflow.Verdict) func(key, v *yaml.Node) {
		return func(_, v *yaml.Node) { g.what.decision = l.decision(verdict, v) }
	}
	words := []word{
		{"after", func(_, v *yaml.Node) { g.after = l.length(v, "`after`") }},
		{"once", func(_, v *yaml.Node) { g.once = l.step(v, "`once`") }},
		{"signal", func(_, v *yaml.Node) { g.what.signal = l.external(v) }},
		{"event", func(_, v *yaml.Node) { g.what.event = l.external(v) }},
		{"approve", decision(workflow.VerdictApprove)},
		{"reject", decision(workflow.VerdictReject)},
		{"reassign", decision(workflow.VerdictReassign)},
		{"callback", func(_, v *yaml.Node) { g.what.callback = l.callback(v) }},
		{"cancel", func(_, v *yaml.Node) { g.what.cancel = l.cancel(v) }},
		{"operator", func(_, v *yaml.Node) { g.what.operator = l.move(v) }},
	}
	var what []string
	for i := range words {
		if take := words[i].take; i > 1 {
			words[i].take = func(key, v *yaml.Node) { what = append(what, key.Value); take(key, v) }
		}
	}
	l.mapping(n, "an entry of `given`", words...)
	if n.Kind == yaml.MappingNode && len(what) != 1 {
		l.errorf(n, "test/given", "write one of signal, event, approve, reject, reassign, callback, cancel, operator",
			"an entry of `given` is one thing that happens, not %d", len(what))
	}
	if d := g.what.decision; d != nil && g.once == "" {
		g.once = d.Step // nobody can decide before there is a task
	}
	if c := g.what.callback; c != nil && g.once == "" {
		g.once = c.step
	}
	return g
}

// step reads the name of a step.
func (l *loading) step(n *yaml.Node, what string) string {
	name := l.text(n, what)
	if name != "" {
		l.known(n, what, name)
	}
	return name
}

func (l *loading) stepList(n *yaml.Node, what string) []string {
	before := len(l.list)
	names := l.texts(n, what)
	if len(l.list) == before {
		for i, item := range n.Content {
			l.known(resolved(item), what, names[i])
		}
	}
	return names
}

// external reads an event or signal.
func (l *loading) external(n *yaml.Node) *workflow.EarlyEvent {
	e := &workflow.EarlyEvent{From: "bus"}
	if n.Kind == yaml.ScalarNode {
		e.Kind = l.text(n, "a type of event")
		return e
	}
	l.mapping(n, "an event",
		word{"type", func(_, v *yaml.Node) { e.Kind = l.text(v, "`type`") }},
		word{"key", func(_, v *yaml.Node) { e.Key = l.text(v, "`key`") }},
		word{"source", func(_, v *yaml.Node) { e.Source = l.text(v, "`source`") }},
		word{"from", func(_, v *yaml.Node) { e.From = l.oneOf(v, "`from`", "bus", "webhook", "queue", "file") }},
		word{"id", func(_, v *yaml.Node) { e.ID = l.text(v, "`id`") }},
		word{"data", func(_, v *yaml.Node) { e.Data = workflow.Inline(l.value(v)) }},
	)
	if e.Kind == "" && n.Kind == yaml.MappingNode {
		l.errorf(n, "test/missing", "add `type: PaymentReceived`", "the event has no type")
	}
	return e
}

// decision reads `approve: step` or `approve: { step: …, by: … }`.
func (l *loading) decision(verdict workflow.Verdict, n *yaml.Node) *workflow.TaskDecision {
	d := &workflow.TaskDecision{Verdict: verdict, By: "user:test"}
	if n.Kind == yaml.ScalarNode {
		d.Step = l.step(n, "the step")
		return d
	}
	l.mapping(n, "a decision",
		word{"step", func(_, v *yaml.Node) { d.Step = l.step(v, "`step`") }},
		word{"by", func(_, v *yaml.Node) { d.By = l.text(v, "`by`") }},
		word{"answer", func(_, v *yaml.Node) { d.Answer = workflow.Inline(l.value(v)) }},
		word{"comment", func(_, v *yaml.Node) { d.Comment = l.text(v, "`comment`") }},
		word{"to", func(_, v *yaml.Node) { d.To = l.texts(v, "`to`") }},
		word{"id", func(_, v *yaml.Node) { d.ID = l.text(v, "`id`") }},
	)
	if d.Step == "" && n.Kind == yaml.MappingNode {
		l.errorf(n, "test/missing", "add `step: approve`", "the decision names no step")
	}
	return d
}

func (l *loading) callback(n *yaml.Node) *callback {
	c := &callback{output: workflow.Null}
	l.mapping(n, "a callback",
		word{"step", func(_, v *yaml.Node) { c.step = l.step(v, "`step`") }},
		word{"output", func(_, v *yaml.Node) { c.output = l.value(v) }},
		word{"error", func(_, v *yaml.Node) { c.error = l.failure(v) }},
	)
	if c.step == "" && n.Kind == yaml.MappingNode {
		l.errorf(n, "test/missing", "add `step: pay`", "the callback names no step")
	}
	return c
}

// cancel reads `cancel: graceful` or `cancel: { mode: …, origin: …, reason: … }`.
func (l *loading) cancel(n *yaml.Node) *workflow.Cancel {
	c := &workflow.Cancel{Mode: workflow.CancelImmediate, Origin: workflow.OriginUser, By: "user:test"}
	mode := func(n *yaml.Node) {
		c.Mode = workflow.CancelMode(l.oneOf(n, "the mode of a cancel", "immediate", "graceful", "compensated"))
	}
	if n.Kind == yaml.ScalarNode {
		mode(n)
		return c
	}
	l.mapping(n, "a cancel",
		word{"mode", func(_, v *yaml.Node) { mode(v) }},
		word{"origin", func(_, v *yaml.Node) {
			c.Origin = workflow.CancelOrigin(l.oneOf(v, "`origin`", "user", "administrator", "timeout", "policy", "scheduler", "parent"))
		}},
		word{"reason", func(_, v *yaml.Node) { c.Reason = l.text(v, "`reason`") }},
		word{"by", func(_, v *yaml.Node) { c.By = l.text(v, "`by`") }},
	)
	return c
}

func (l *loading) move(n *yaml.Node) *workflow.OperatorMove {
	m := &workflow.OperatorMove{By: "user:test"}
	l.mapping(n, "an operator's move",
		word{"move", func(_, v *yaml.Node) {
			m.Move = workflow.Move(l.oneOf(v, "`move`", "retry", "complete", "skip", "fail", "resume"))
		}},
		word{"step", func(_, v *yaml.Node) { m.Step = l.step(v, "`step`") }},
		word{"output", func(_, v *yaml.Node) { m.Output = workflow.Inline(l.value(v)) }},
		word{"error", func(_, v *yaml.Node) { m.Error = l.failure(v) }},
		word{"by", func(_, v *yaml.Node) { m.By = l.text(v, "`by`") }},
	)
	if m.Move == "" && n.Kind == yaml.MappingNode {
		l.errorf(n, "test/missing", "add `move: retry`", "the move is missing")
	}
	return m
}

var statuses = []string{"Completed", "Failed", "Cancelled", "Waiting", "Running", "Compensating"}

func (l *loading) expectation(n *yaml.Node) expectation {
	e := expectation{at: map[string]workflow.Position{}}
	words := []word{
		{"status", func(_, v *yaml.Node) { e.status = l.oneOf(v, "`status`", statuses...) }},
		{"outcome", func(_, v *yaml.Node) {
			e.outcome = l.oneOf(v, "`outcome`", "completed", "failed", "cancelled", "timed_out")
		}},
		{"compensated", func(_, v *yaml.Node) { b := l.boolean(v, "`compensated`"); e.compensated = &b }},
		{"output", func(_, v *yaml.Node) { out := l.value(v); e.output = &out }},
		{"error", func(_, v *yaml.Node) { e.error = l.pattern(v) }},
		{"path", func(_, v *yaml.Node) { e.path = l.stepList(v, "`path`") }},
		{"ran", func(_, v *yaml.Node) { e.ran = l.stepList(v, "`ran`") }},
		{"not_ran", func(_, v *yaml.Node) { e.notRan = l.stepList(v, "`not_ran`") }},
		{"skipped", func(_, v *yaml.Node) { e.skipped = l.stepList(v, "`skipped`") }},
		{"failed", func(_, v *yaml.Node) { e.failed = l.stepList(v, "`failed`") }},
		{"undone", func(_, v *yaml.Node) { e.undone = l.stepList(v, "`undone`") }},
		{"waits", func(_, v *yaml.Node) { e.waits = l.texts(v, "`waits`") }},
		{"vars", func(_, v *yaml.Node) { vars := l.value(v); e.vars = &vars }},
		{"took", func(_, v *yaml.Node) { e.took = l.length(v, "`took`") }},
		{"emitted", func(_, v *yaml.Node) {
			e.emitted = []*workflow.Template{}
			l.items(v, "`emitted`", func(n *yaml.Node) { e.emitted = append(e.emitted, l.pattern(n)) })
		}},
		{"calls", func(_, v *yaml.Node) { e.calls = l.expectedCalls(v) }},
		{"steps", func(_, v *yaml.Node) { e.steps = l.expectedSteps(v) }},
	}
	for i := range words {
		take := words[i].take
		words[i].take = func(key, v *yaml.Node) { e.at[key.Value] = place(key); take(key, v) }
	}
	l.mapping(n, "`expect`", words...)
	if n.Kind == yaml.MappingNode && len(e.at) == 0 {
		l.errorf(n, "test/missing", "add `status: Completed`", "it expects nothing, so it can never fail")
	}
	return e
}

func (l *loading) expectedCalls(n *yaml.Node) []expectedCalls {
	var list []expectedCalls
	l.entries(n, "`calls`", func(key, v *yaml.Node) {
		c := expectedCalls{step: key.Value, at: place(key)}
		l.known(key, "the call", c.step)
		if v.Kind == yaml.ScalarNode {
			c.count = l.count(v, "the number of calls")
		} else {
			c.like = []*workflow.Template{}
			l.items(v, "the calls of a step", func(n *yaml.Node) { c.like = append(c.like, l.pattern(n)) })
		}
		list = append(list, c)
	})
	return list
}

func (l *loading) expectedSteps(n *yaml.Node) []expectedStep {
	var list []expectedStep
	l.entries(n, "`steps`", func(key, v *yaml.Node) {
		s := expectedStep{step: key.Value, at: place(key)}
		l.known(key, "the step", s.step)
		l.mapping(v, "an expected step",
			word{"status", func(_, v *yaml.Node) {
				s.status = l.oneOf(v, "`status`", strings.Fields("completed caught failed skipped dead cancelled pending")...)
			}},
			word{"attempts", func(_, v *yaml.Node) { s.attempts = l.count(v, "`attempts`") }},
			word{"output", func(_, v *yaml.Node) { s.output = l.pattern(v) }},
			word{"error", func(_, v *yaml.Node) { s.error = l.pattern(v) }},
		)
		list = append(list, s)
	})
	return list
}
