package dsl

import (
	"strconv"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// site is one place of a definition where an expression, a template or a pattern stands. Exactly one of expr and tmpl is set.
type site struct {
	unit *unit // whose step it belongs to; nil for the workflow itself
	// block is the scope of its names; for what a structured step reads of its body, that body.
	block *block
	// where is the JSON pointer below the step, or below the document for a site of the workflow.
	where string
	expr  *workflow.Expr
	tmpl  *workflow.Template
	tree  any // tmpl decoded, on first use
	// like makes tmpl a pattern.
	like bool
	want want
	// names are those that exist here beside the ones of the block.
	names  nameSet
	moment moment
	// hands means that a value may be handed on whole as a reference: an activity's input, an output.
	hands bool
	// bound are the names that the pattern of a match case binds.
	bound []string

	// exprProgram or template is the compiled form, nil where there is none; reads are what it reads.
	exprProgram *expr.Expr
	template    *expr.Template
	reads       []expr.Read
	steps       []stepRead // the steps among them
	typ         *expr.Type
}

// nameSet is a set of names that exist only in some places (DSL.md, Expressions).
type nameSet uint16

const (
	nameEvent nameSet = 1 << iota
	nameError
	nameOutput
	nameValue
	nameSecrets
	nameCallback
	nameTask
	nameCollected
	nameSteps     // outside of them: triggers, first values of vars, limits
	nameVars      //
	nameInput     //
	nameExecution //
	namePrevious  // the loop of this very step, whose body has not started
)

// ordinary are the names of every expression of a step.
const ordinary = nameSteps | nameVars | nameInput | nameExecution

// moment says when an expression is evaluated, which decides whether what it reads must have ended before.
type moment uint8

const (
	// momentStart: from when a step is ready until it ends. What is read must have ended: a dependency.
	momentStart moment = iota
	// momentJoin: before the needs have ended, so that nothing of the same body can be read.
	momentJoin
	// momentUndo: while compensating, when no step runs any more. Steps that did not complete read as null.
	momentUndo
	// momentEnd: after the last step.
	momentEnd
	// momentOutside: before the first step.
	momentOutside
)

// pointer is the place of a site in the document.
func (s *site) pointer() string {
	if s.unit == nil {
		return s.where
	}
	return s.unit.pointer + s.where
}

// at is the place of the first character.
func (s *site) at() workflow.Position {
	if s.expr != nil {
		return s.expr.At
	}
	return s.tmpl.At
}

// collector gathers the sites of one step or of the workflow.
type collector struct {
	sites []*site
	unit  *unit
	block *block
}

func (c *collector) add(s site) {
	if s.expr == nil && s.tmpl == nil {
		return
	}
	s.unit = c.unit
	if s.block == nil {
		s.block = c.block
	}
	if s.unit != nil {
		s.names |= ordinary
	}
	c.sites = append(c.sites, &s)
}

func (c *collector) duration(d *workflow.Duration, s site) {
	if d != nil {
		s.expr, s.want = d.Expr, wantDuration
		c.add(s)
	}
}

func (c *collector) count(n *workflow.Count, s site) {
	if n != nil {
		s.expr, s.want = n.Expr, wantCount
		c.add(s)
	}
}

// collectSites finds every expression of the definition.
func (a *analysis) collectSites() {
	c := &collector{block: a.root}
	c.workflow(a.def)
	a.sites = c.sites
	for _, u := range a.units {
		c := &collector{unit: u, block: u.block}
		c.step(u.step)
		u.sites = c.sites
		a.sites = append(a.sites, u.sites...)
	}
}

// workflow gathers what stands outside of the steps.
func (c *collector) workflow(def *workflow.Definition) {
	early := site{names: nameInput | nameExecution, moment: momentOutside}
	for i := range def.Vars {
		v := early
		v.where, v.tmpl, v.hands = "/vars/"+escape(def.Vars[i].Name), def.Vars[i].Initial, true
		c.add(v)
	}
	limit := func(word string) site {
		s := early
		s.where = "/limits/" + word
		return s
	}
	c.duration(def.Limits.Timeout, limit("timeout"))
	c.count(def.Limits.MaxParallelism, limit("max_parallelism"))
	c.count(def.Limits.Retries, limit("retries"))
	for i := range def.Triggers {
		c.trigger(&def.Triggers[i], "/triggers/"+strconv.Itoa(i))
	}
	c.add(site{where: "/output", tmpl: def.Output, names: ordinary, moment: momentEnd, hands: true})
}

func (c *collector) trigger(t *workflow.Trigger, where string) {
	switch {
	case t.Event != nil:
		c.add(site{where: where + "/event/match", expr: t.Event.Match, want: wantBool, names: nameEvent, moment: momentOutside})
		c.add(site{where: where + "/event/input", tmpl: t.Event.Input, names: nameEvent, moment: momentOutside})
	case t.Schedule != nil:
		c.add(site{where: where + "/schedule/input", tmpl: t.Schedule.Input, names: nameEvent, moment: momentOutside})
	case t.Webhook != nil:
		c.add(site{where: where + "/webhook/input", tmpl: t.Webhook.Input, names: nameEvent, moment: momentOutside})
		if e := t.Webhook.Emit; e != nil {
			c.add(site{where: where + "/webhook/emit/type", tmpl: e.Type, want: wantText, names: nameEvent, moment: momentOutside})
			c.add(site{where: where + "/webhook/emit/key", tmpl: e.Key, want: wantText, names: nameEvent, moment: momentOutside})
			c.add(site{where: where + "/webhook/emit/data", tmpl: e.Data, names: nameEvent, moment: momentOutside})
		}
	}
}

// step gathers what stands in one step; bodies inside it are steps of their own.
func (c *collector) step(st *workflow.Step) {
	c.add(site{where: "/when", expr: st.When, want: wantBool})
	c.count(st.Join.Count, site{where: "/join", moment: momentJoin})
	c.duration(st.Timeout, site{where: "/timeout"})
	c.duration(st.ScheduleTimeout, site{where: "/schedule_timeout"})
	c.duration(st.Heartbeat, site{where: "/heartbeat"})
	c.duration(st.WaitTimeout, site{where: "/wait_timeout"})
	c.count(st.MaxRecoveries, site{where: "/max_recoveries"})
	c.retry(st.Retry, site{where: "/retry", names: nameError})
	for i := range st.OnError {
		h, where := &st.OnError[i], "/on_error/"+strconv.Itoa(i)
		c.add(site{where: where + "/match", expr: h.Match, want: wantBool, names: nameError})
		c.add(site{where: where + "/continue", tmpl: h.Continue, names: nameError, hands: true})
	}
	c.compensate(st.Compensate)
	c.kind(st)
}

func (c *collector) retry(r *workflow.Retry, s site) {
	if r == nil {
		return
	}
	at := func(word string) site {
		s := s
		s.where += "/" + word
		return s
	}
	c.count(&r.Attempts, at("attempts"))
	c.duration(&r.Delay, at("delay"))
	c.duration(r.MaxDelay, at("max_delay"))
}

func (c *collector) compensate(x *workflow.Compensate) {
	if x == nil {
		return
	}
	s := site{where: "/compensate", names: nameOutput | nameError, moment: momentUndo}
	c.call(x.Kind, x.Call, s)
	c.child(x.Child, s)
	c.retry(x.Retry, site{where: "/compensate/retry", names: nameOutput | nameError, moment: momentUndo})
	c.duration(x.Timeout, site{where: "/compensate/timeout", names: nameOutput | nameError, moment: momentUndo})
}

// call gathers the input of an activity: the one place where secrets may stand.
func (c *collector) call(kind workflow.Kind, x *workflow.Call, s site) {
	if x == nil {
		return
	}
	s.names |= nameSecrets
	if x.Callback {
		s.names |= nameCallback
	}
	s.hands = true
	target, with := s, s
	target.where, target.tmpl = s.where+"/"+string(kind), x.Target
	with.where, with.tmpl = s.where+"/with", x.With
	c.add(target)
	c.add(with)
}

func (c *collector) child(x *workflow.Child, s site) {
	if x == nil {
		return
	}
	name, version, with := s, s, s
	name.where, name.tmpl, name.want = s.where+"/workflow/name", x.Name, wantText
	version.where, version.tmpl, version.want = s.where+"/workflow/version", x.Version, wantText
	with.where, with.tmpl, with.hands = s.where+"/workflow/with", x.With, true
	c.add(name)
	c.add(version)
	c.add(with)
}

// kind gathers what stands in the block of the step's kind.
func (c *collector) kind(st *workflow.Step) {
	here := "/" + string(st.Kind)
	c.call(st.Kind, st.Call, site{})
	c.child(st.Child, site{})
	c.timer(st.Timer)
	c.human(st.Human)
	c.event(st.Event)
	c.picks(st)
	c.structured(st)
	c.add(site{where: here, tmpl: st.Value, hands: true})
	c.add(site{where: here + "/input", tmpl: st.ContinueAsNew, hands: true})
	if st.Set != nil {
		for i := range st.Set.Assign {
			x := &st.Set.Assign[i]
			where := here + "/" + escape(x.Var)
			if x.Reduce != "" {
				where += "/value"
			}
			c.add(site{where: where, tmpl: x.Value, hands: true})
		}
	}
	if e := st.Emit; e != nil {
		c.add(site{where: here + "/type", tmpl: e.Type, want: wantText})
		c.add(site{where: here + "/key", tmpl: e.Key, want: wantText})
		c.add(site{where: here + "/source", tmpl: e.Source, want: wantText})
		c.add(site{where: here + "/data", tmpl: e.Data, hands: true})
	}
	if f := st.Fail; f != nil {
		c.add(site{where: here + "/code", tmpl: f.Code, want: wantText})
		c.add(site{where: here + "/message", tmpl: f.Message, want: wantText})
		c.add(site{where: here + "/details", tmpl: f.Details})
	}
}

func (c *collector) timer(t *workflow.Timer) {
	if t == nil {
		return
	}
	c.duration(t.For, site{where: "/timer/for"})
	c.add(site{where: "/timer/until", tmpl: t.Until, want: wantTime})
}

func (c *collector) human(h *workflow.Human) {
	if h == nil {
		return
	}
	c.add(site{where: "/human/title", tmpl: h.Title, want: wantText})
	c.add(site{where: "/human/details", tmpl: h.Details, hands: true})
	c.add(site{where: "/human/assignees", tmpl: h.Assignees, want: wantList})
	c.call(h.NotifyKind, h.Notify, site{where: "/human/notify", names: nameTask})
	for i := range h.Remind {
		c.duration(&h.Remind[i], site{where: "/human/remind/" + strconv.Itoa(i)})
	}
	for i := range h.Escalate {
		where := "/human/escalate/" + strconv.Itoa(i)
		c.duration(&h.Escalate[i].After, site{where: where + "/after"})
		c.add(site{where: where + "/to", tmpl: h.Escalate[i].To, want: wantTextOrList})
	}
}

func (c *collector) event(e *workflow.EventWait) {
	if e == nil {
		return
	}
	for i := range e.Any {
		where := "/event"
		if len(e.Any) > 1 {
			where = "/event/any/" + strconv.Itoa(i)
		}
		c.add(site{where: where + "/key", tmpl: e.Any[i].Key, want: wantText})
		c.add(site{where: where + "/match", expr: e.Any[i].Match, want: wantBool, names: nameEvent})
	}
}

// picks gathers the conditions of switch and match.
func (c *collector) picks(st *workflow.Step) {
	if st.Switch != nil {
		for i := range st.Switch.Branches {
			c.add(site{where: "/switch/" + strconv.Itoa(i) + "/when", expr: st.Switch.Branches[i].When, want: wantBool})
		}
	}
	if st.Match == nil {
		return
	}
	c.add(site{where: "/match", tmpl: st.Match.Value, hands: true})
	for i := range st.Match.Cases {
		x, where := &st.Match.Cases[i], "/cases/"+strconv.Itoa(i)
		c.add(site{where: where + "/like", tmpl: x.Like, like: true, names: nameValue})
		c.add(site{where: where + "/when", expr: x.When, want: wantBool, names: nameValue})
	}
}

// structured gathers what a step with a body reads beside it.
func (c *collector) structured(st *workflow.Step) {
	if f := st.Foreach; f != nil {
		inside := c.unit.inner[0]
		c.add(site{where: "/foreach/items", tmpl: f.Items, want: wantList, hands: true})
		c.count(f.MaxParallelism, site{where: "/foreach/max_parallelism"})
		if f.TolerateFailures != nil {
			c.count(f.TolerateFailures.Count, site{where: "/foreach/tolerate_failures"})
		}
		c.add(site{where: "/foreach/until", expr: f.Until, want: wantBool, names: nameCollected})
		c.add(site{where: "/foreach/collect", tmpl: f.Collect, block: inside, hands: true})
	}
	if l := st.Loop; l != nil {
		inside := c.unit.inner[0]
		c.add(site{where: "/loop/while", expr: l.While, want: wantBool, names: namePrevious})
		c.add(site{where: "/loop/until", expr: l.Until, want: wantBool, block: inside})
		c.count(&l.Max, site{where: "/loop/max"})
		c.duration(l.Delay, site{where: "/loop/delay", block: inside})
		c.add(site{where: "/loop/collect", tmpl: l.Collect, block: inside, hands: true})
	}
	if g := st.Group; g != nil {
		c.add(site{where: "/group/output", tmpl: g.Output, block: c.unit.inner[0], hands: true})
	}
}
