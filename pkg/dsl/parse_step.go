package dsl

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// body makes a scope of steps.
func (p *pass) body(n *node, pointer string) workflow.Body {
	var b workflow.Body
	for _, e := range n.pairs() {
		if e.value.kind == kindObject {
			b.Steps = append(b.Steps, p.step(e, pointer+"/"+escape(e.key.text)))
		} else { // so that the name is known
			b.Steps = append(b.Steps, workflow.Step{Name: e.key.text, At: e.key.at, Join: workflow.Join{Mode: workflow.JoinAll}})
		}
	}
	return b
}

func (p *pass) step(e entry, pointer string) workflow.Step {
	n := e.value
	st := workflow.Step{
		Name:            e.key.text,
		Kind:            kindOf(n, kinds),
		At:              e.key.at,
		When:            p.source.expression(n.get("when")),
		Needs:           p.needs(n.get("needs"), pointer+"/needs"),
		Join:            p.join(n, pointer),
		Timeout:         p.duration(n.get("timeout")),
		ScheduleTimeout: p.duration(n.get("schedule_timeout")),
		Heartbeat:       p.duration(n.get("heartbeat")),
		WaitTimeout:     p.waitTimeout(n, pointer),
		Retry:           p.retryPolicy(n.get("retry")),
		OnError:         p.handlers(n.get("on_error")),
		Compensate:      p.compensate(n.get("compensate"), pointer+"/compensate"),
		MaxMemory:       parseSize(text(n.get("limits").get("max_memory"))),
		MaxRecoveries:   p.count(n.get("max_recoveries")),
	}
	if i := n.get("idempotent"); i != nil && i.kind == kindBool {
		idempotent := isTrue(i)
		st.Idempotent = &idempotent
	}
	p.kind(&st, n, pointer)
	if st.Call != nil {
		if st.Timeout == nil {
			st.Timeout = p.timeout
		}
		if st.Retry == nil {
			st.Retry = p.retry
		}
	}
	return st
}

// kindOf returns the first word of a mapping that is one of some kinds.
func kindOf(n *node, kinds []string) workflow.Kind {
	for _, e := range n.pairs() {
		if slices.Contains(kinds, e.key.text) {
			return workflow.Kind(e.key.text)
		}
	}
	return ""
}

// kind fills the part of a step that belongs to its kind.
func (p *pass) kind(st *workflow.Step, n *node, pointer string) {
	block, here := n.get(string(st.Kind)), pointer+"/"+string(st.Kind)
	switch st.Kind {
	case "":
	case workflow.KindTimer:
		st.Timer = p.timer(block)
	case workflow.KindHuman:
		st.Human = p.human(block)
	case workflow.KindEvent:
		st.Event = p.event(block)
	case workflow.KindWorkflow:
		st.Child = p.child(block, here)
	case workflow.KindSwitch:
		st.Switch = p.branches(block)
	case workflow.KindMatch:
		st.Match = p.match(n)
	case workflow.KindForeach:
		st.Foreach = p.foreach(block, here)
	case workflow.KindLoop:
		st.Loop = p.loop(block, here)
	case workflow.KindRace:
		st.Race = p.race(block, here)
	case workflow.KindGroup:
		st.Group = &workflow.Group{Body: p.body(block.get("steps"), here+"/steps"), Output: p.source.template(block.get("output"))}
	case workflow.KindValue:
		st.Value = p.source.template(block)
	case workflow.KindSet:
		st.Set = p.set(block)
	case workflow.KindEmit:
		st.Emit = &workflow.Emit{
			Type: p.source.template(block.get("type")), Key: p.source.bare(block.get("key")),
			Source: p.source.template(block.get("source")), Data: p.source.template(block.get("data")),
		}
	case workflow.KindFail:
		st.Fail = &workflow.Fail{
			Code: p.source.template(block.get("code")), Message: p.source.template(block.get("message")),
			Details: p.source.template(block.get("details")),
		}
	case workflow.KindContinueAsNew:
		st.ContinueAsNew = p.source.template(block.get("input"))
	default:
		st.Call = p.call(st.Kind, n)
	}
}

func (p *pass) needs(n *node, pointer string) []workflow.Need {
	var all []workflow.Need
	seen := map[string]bool{}
	for i, item := range n.list() {
		need := workflow.Need{Step: text(item), End: workflow.EndMet}
		if pairs := item.pairs(); len(pairs) > 0 {
			need = workflow.Need{Step: pairs[0].key.text, End: workflow.End(text(pairs[0].value))}
		}
		if need.Step == "" {
			continue
		}
		if seen[need.Step] {
			p.sink.errorf(pointer+"/"+strconv.Itoa(i), "dsl/conflict", "keep one of the two", "%q stands twice in `needs`", need.Step)
			continue
		}
		seen[need.Step] = true
		all = append(all, need)
	}
	slices.SortFunc(all, func(a, b workflow.Need) int { return strings.Compare(a.Step, b.Step) })
	return all
}

func (p *pass) join(n *node, pointer string) workflow.Join {
	j := workflow.Join{Mode: workflow.JoinAll, CancelRest: isTrue(n.get("cancel_rest"))}
	switch word := n.get("join"); {
	case text(word) == string(workflow.JoinAny):
		j.Mode = workflow.JoinAny
	default:
		if c := p.count(word); c != nil {
			j.Mode, j.Count = workflow.JoinCount, c
		}
	}
	if j.CancelRest && j.Mode == workflow.JoinAll && n.has("join") {
		p.sink.keyErrorf(pointer+"/cancel_rest", "dsl/conflict", "write `join: any` or a number", "with `join: all` there is no rest to cancel")
	}
	return j
}

// waitTimeout takes the `timeout` inside of `human` and `event` for the step's `wait_timeout`.
func (p *pass) waitTimeout(n *node, pointer string) *workflow.Duration {
	for _, kind := range []string{"human", "event"} {
		if inner := n.get(kind).get("timeout"); inner != nil {
			if n.has("wait_timeout") {
				p.sink.keyErrorf(pointer+"/wait_timeout", "dsl/conflict", "keep one of them", "`wait_timeout` and the `timeout` of `%s` exclude each other", kind)
			}
			return p.duration(inner)
		}
	}
	return p.duration(n.get("wait_timeout"))
}

// retryPolicy reads a `retry`; what it leaves out is the default of the language.
func (p *pass) retryPolicy(n *node) *workflow.Retry {
	if n == nil || n.kind != kindObject {
		return nil
	}
	r := &workflow.Retry{
		Attempts: p.countOr(n.get("attempts"), 3),
		Strategy: workflow.Backoff(textOr(n.get("strategy"), string(workflow.BackoffExponential))),
		Delay:    workflow.Duration{Fixed: int64(time.Second)},
		MaxDelay: p.duration(n.get("max_delay")),
		Jitter:   share(n.get("jitter")),
		On:       texts(n.get("on")),
		NotOn:    texts(n.get("not_on")),
	}
	if d := p.duration(n.get("delay")); d != nil {
		r.Delay = *d
	}
	return r
}

// handlers reads `on_error`: a list of handlers, one handler, or just the name of a step.
func (p *pass) handlers(n *node) []workflow.Handler {
	switch {
	case n == nil:
		return nil
	case n.kind == kindString:
		return []workflow.Handler{{Then: []string{n.text}}}
	case n.kind == kindObject:
		return []workflow.Handler{p.handler(n)}
	}
	var all []workflow.Handler
	for _, item := range n.list() {
		all = append(all, p.handler(item))
	}
	return all
}

func (p *pass) handler(n *node) workflow.Handler {
	return workflow.Handler{
		Match:    p.source.expression(n.get("match")),
		Then:     stepNamesIn(n.get("then")),
		Continue: p.source.template(n.get("continue")),
	}
}

func (p *pass) compensate(n *node, pointer string) *workflow.Compensate {
	if n == nil || n.kind != kindObject {
		return nil
	}
	c := &workflow.Compensate{
		Kind:      kindOf(n, compensateShape.one),
		Attempted: text(n.get("on")) == "attempted",
		Retry:     p.retryPolicy(n.get("retry")),
		Timeout:   p.duration(n.get("timeout")),
	}
	switch c.Kind {
	case "":
	case workflow.KindWorkflow:
		c.Child = p.child(n.get("workflow"), pointer+"/workflow")
	default:
		c.Call = p.call(c.Kind, n)
	}
	return c
}
