package engine

import (
	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Outstanding returns all work that a state asks for and that may not have been delivered: everything that the
// sweep and a restart send (commit protocol, points 4 and 13). Carrying it out again is harmless.
func Outstanding(p *Program, s *workflow.State) []workflow.Command {
	return outstanding(newFold(p, s), func(string) bool { return true })
}

// OutstandingBy returns the part of Outstanding that was committed under the guard of a message: what a redelivery of
// that message sends. Wake-ups and what an execution that ended owes others belong to every message.
func OutstandingBy(p *Program, s *workflow.State, by string) []workflow.Command {
	return outstanding(newFold(p, s), func(b string) bool { return b == by })
}

// Due returns the earliest deadline of a state, in nanoseconds since 1970; false if there is none.
func Due(p *Program, s *workflow.State) (int64, bool) {
	newFold(p, s)
	return dueOf(s)
}

func dueOf(s *workflow.State) (int64, bool) {
	d, ok := s.Derived.(*derived)
	if !ok || s.Status.Terminal() {
		return 0, false
	}
	at := int64(0)
	if s.Ending == nil {
		at = s.TimeoutAt
	}
	if first := d.timers.first(); first != nil {
		at = sooner(at, first.at)
	}
	return at, at > 0
}

func outstanding(x *fold, of func(by string) bool) []workflow.Command {
	s := x.s
	if s.Version == 0 {
		return nil
	}
	var out []workflow.Command
	if !s.Status.Terminal() {
		if s.Root != nil {
			x.demandFrame(s.Root, of, &out)
		}
		if s.Undoing != nil {
			x.demandSide(s.Undoing, of, &out)
		}
		x.demandOperator(&out)
		if s.More {
			out = append(out, workflow.SendContinue{})
		}
	}
	return x.demandRest(nil, out)
}

// demandFrame adds what the open steps of a body and of those inside it need.
func (x *fold) demandFrame(f *workflow.Frame, of func(string) bool, out *[]workflow.Command) {
	for i := range f.Steps {
		if f.Steps[i].Open != nil {
			x.demandStep(x.child(f, i), of, out)
		}
	}
}

func (x *fold) demandStep(in inst, of func(string) bool, out *[]workflow.Command) {
	o := in.open()
	if in.node.kind.demands != nil && of(o.By) {
		in.node.kind.demands(x, in, out)
	}
	for _, side := range sidesOf(o) {
		x.demandSide(side, of, out)
	}
	if o.Scope != nil {
		for _, f := range o.Scope.Frames {
			if f != nil {
				x.demandFrame(f, of, out)
			}
		}
	}
}

func (x *fold) demandSide(side *workflow.SideStep, of func(string) bool, out *[]workflow.Command) {
	if in, ok := x.lead(side.Path); ok && in.open() != nil {
		x.demandStep(in, of, out)
	}
}

// demandOperator adds what waits for an operator.
func (x *fold) demandOperator(out *[]workflow.Command) {
	for _, h := range x.s.Held {
		*out = append(*out, workflow.AwaitOperator{Step: h.Step, Error: h.Error})
	}
	if h := x.s.Stopped; h != nil {
		*out = append(*out, workflow.AwaitOperator{Step: h.Step, Error: h.Error})
	}
}

// demandRest adds what does not belong to a step: children to be cancelled (but those of before), the earliest deadline, and
// what an execution that ended owes others.
func (x *fold) demandRest(before []workflow.ChildLink, out []workflow.Command) []workflow.Command {
	s := x.s
	for i := range s.Closing {
		if c := &s.Closing[i]; !hasChild(before, c.Child) {
			out = append(out, workflow.CancelChild{
				Step: c.Step, Child: c.Child, Mode: c.Mode, Origin: c.Origin, Reason: c.Reason, Start: x.startOf(c.Step, c),
			})
		}
	}
	if at, ok := dueOf(s); ok {
		out = append(out, workflow.WakeAt{At: at, Coarse: at == s.TimeoutAt})
	}
	if !s.Status.Terminal() {
		return out
	}
	if s.Next != nil {
		return append(out, workflow.StartNext{Start: nextStart(s)})
	}
	if p := s.Origin.Parent; p != nil {
		out = append(out, workflow.NotifyParent{Parent: *p, Tenant: s.Tenant, End: childEnd(s)})
	}
	return out
}

func hasChild(list []workflow.ChildLink, child string) bool {
	for i := range list {
		if list[i].Child == child {
			return true
		}
	}
	return false
}

// startOf says how a child is started.
func (x *fold) startOf(step string, c *workflow.ChildLink) workflow.StartChild {
	s := x.s
	if c.Undo != "" {
		c = &workflow.ChildLink{Child: c.Child, Workflow: s.Workflow, Definition: s.Definition, Hash: s.Hash, Wait: true, Undo: c.Undo, Share: c.Share}
	}
	return workflow.StartChild{
		Step: step, Child: c.Child, Tenant: s.Tenant, Workflow: c.Workflow, Definition: c.Definition, Correlation: s.Correlation,
		Parent: workflow.Parent{Execution: s.Execution, Step: step, Child: c.Child, Depth: depth(s) + 1, Share: c.Share, Line: x.line()}, Hash: c.Hash, Undo: c.Undo, Notify: !c.Wait,
	}
}

// depth is how many executions stand above this one.
func depth(s *workflow.State) int {
	if p := s.Origin.Parent; p != nil {
		return max(p.Depth, 1)
	}
	return 0
}

// childEnd is the notice of this execution's end to its parent.
func childEnd(s *workflow.State) workflow.ChildEnd {
	p := s.Origin.Parent
	end := workflow.ChildEnd{Step: p.Step, Child: p.Child, Outcome: s.Ending.Outcome, Compensated: s.Compensated, Error: s.Error}
	if end.Error == nil && s.Ending.Outcome != workflow.OutcomeCompleted {
		end.Error = s.Ending.Error
	}
	if s.Shard != nil {
		end.Count, end.Failed, end.Vars = s.Shard.Count, s.Shard.Failed, s.Shard.Vars
		return end // the items stay here; the parent's manifest leads to them
	}
	end.Output = s.Output
	return end
}

// nextStart is the start of the execution that goes on for this one.
func nextStart(s *workflow.State) workflow.Start {
	c := &workflow.Continues{Previous: s.Execution, First: s.Execution, Run: 2, Early: s.Early, Cursors: s.Cursors}
	if before := s.Origin.Continues; before != nil {
		c.First, c.Run = before.First, before.Run+1
	}
	return workflow.Start{
		Execution: s.Next.Execution, Tenant: s.Tenant, Workflow: s.Workflow, Definition: s.Definition, Hash: s.Hash,
		Correlation: s.Correlation, By: s.By, Labels: s.Labels, Input: s.Next.Input,
		Origin: workflow.Origin{Parent: s.Origin.Parent, Continues: c},
	}
}

// demandCall adds what a step for workers needs.
func demandCall(x *fold, in inst, out *[]workflow.Command) {
	o := in.open()
	running := in.step.State == fsm.ActivityStateRunning()
	switch {
	case o.Walked || o.Agent != nil || !running && in.step.State != fsm.ActivityStateScheduled():
	case o.Pending:
		*out = append(*out, workflow.AwaitCallback{AttemptRef: workflow.AttemptRef{Step: in.path, Attempt: o.Attempt, Fence: o.Fence}, DueAt: o.TimeoutAt})
	default:
		*out = append(*out, x.run(in, running))
	}
}

// run is the command that hands an attempt to a worker.
func (x *fold) run(in inst, running bool) workflow.RunActivity {
	o, st := in.open(), in.node.step
	a := &lazyActivation{x: x, frame: in.frame}
	c := workflow.RunActivity{
		AttemptRef: workflow.AttemptRef{Step: in.path, Attempt: o.Attempt, Fence: o.Fence}, By: o.By, Running: running, Worker: o.Worker, LeaseUntil: o.LeaseUntil,
		Workflow: x.s.Workflow, Correlation: x.s.Correlation, Kind: st.Kind, Name: st.Call.Name, Target: o.Target, Input: o.Input, Schema: st.Call.Output, Key: x.s.Execution + "/" + in.path,
		ScheduleBy: o.ScheduleBy, MaxMemory: x.memory(st), Idempotent: st.Idempotent, Callback: st.Call.Callback, Uses: st.Uses,
	}
	// Both were evaluated when the attempt was decided, or will be when it starts; an error fails the step there.
	c.Timeout, _ = duration(st.Timeout, a)
	c.Heartbeat, _ = duration(st.Heartbeat, a)
	if in.host != nil && in.host.open() != nil && in.host.open().Agent != nil {
		x.runAgent(in, &c)
	}
	if c.Target.IsZero() {
		c.Target = fixedTarget(st.Call)
	}
	return c
}

// runAgent fills in what a further entry of an agent gets.
func (x *fold) runAgent(in inst, c *workflow.RunActivity) {
	host := in.host.open()
	if host.Agent.Entry != in.side {
		return
	}
	c.Target, c.Input = host.Target, host.Input
	c.Agent = &workflow.AgentEntry{Turn: host.Agent.Turn, State: host.Agent.State}
	for i := range host.Agent.Calls {
		call := &host.Agent.Calls[i]
		c.Agent.Results = append(c.Agent.Results, workflow.AgentResult{ID: call.Call.ID, Output: call.Output, Error: call.Error})
	}
}

// fixedTarget is a target without expressions.
func fixedTarget(c *workflow.Call) workflow.Payload {
	if c.Target == nil {
		return workflow.Payload{}
	}
	v, ok, err := constant(c.Target)
	if err != nil || !ok {
		return workflow.Payload{}
	}
	return workflow.Inline(v)
}

// demandTask adds an open task.
func demandTask(x *fold, in inst, out *[]workflow.Command) {
	t := in.open().Task
	if t == nil {
		return
	}
	*out = append(*out, workflow.AwaitTask{
		Step: in.path, Title: t.Title, Details: t.Details, Assignees: t.Assignees, Form: in.node.step.Human.Form, CreatedAt: t.CreatedAt, DueAt: in.open().WaitBy,
	})
}

// demandEvent adds the subscription of an open wait.
func demandEvent(x *fold, in inst, out *[]workflow.Command) {
	o := in.open()
	if len(o.Patterns) == 0 {
		return
	}
	c := workflow.AwaitEvent{Step: in.path, Patterns: o.Patterns, Schema: in.node.step.Event.Schema}
	for _, p := range o.Patterns {
		c.After = append(c.After, x.cursor(p.Kind, p.Key, p.AnyKey))
	}
	*out = append(*out, c)
}

// demandChild adds the start of a child.
func demandChild(x *fold, in inst, out *[]workflow.Command) {
	o := in.open()
	if o.Child == nil || o.Child.Ended || in.step.State != fsm.ActivityStateRunning() {
		return
	}
	c := x.startOf(in.path, o.Child)
	c.Input = o.Input
	*out = append(*out, c)
}

// demandShards adds the starts of open shards.
func demandShards(x *fold, in inst, out *[]workflow.Command) {
	sc := in.open().Scope
	if sc == nil {
		return
	}
	for k := range sc.Shards {
		if sc.Shards[k].State == workflow.ShardOpen {
			*out = append(*out, x.startShardOf(in, k))
		}
	}
}

func (x *fold) startShardOf(in inst, k int) workflow.StartChild {
	link := x.shardLink(in, k)
	c := x.startOf(in.path, &link)
	c.Input, c.Shard, c.Redrive = x.s.Input, x.shard(in, k), x.takenShard(in.path, k)
	return c
}

// demands are the commands of this decision: those of the steps it asked for, and what came up beside them.
func (t *Turn) demands() []workflow.Command {
	var out []workflow.Command
	for i, in := range t.asked {
		if in.open() == nil || askedBefore(t.asked[:i], in.path) || in.node.kind.worker && in.step.State == fsm.ActivityStateRunning() && !in.open().Pending {
			continue
		}
		in.node.kind.demands(&t.fold, in, &out)
	}
	operator := false
	for i := range t.events {
		switch e := t.events[i].Event.(type) {
		case workflow.ChildRequested:
			if e.Shard == 0 {
				continue
			}
			if in, ok := t.lead(e.Step); ok && in.open() != nil && in.open().Scope.Shards[e.Shard-1].State == workflow.ShardOpen {
				out = append(out, t.startShardOf(in, e.Shard-1))
			}
		case workflow.FailureHeld, workflow.CompensationStopped:
			operator = true
		}
	}
	if operator && !t.s.Status.Terminal() {
		t.demandOperator(&out)
	}
	if t.s.More {
		out = append(out, workflow.SendContinue{})
	}
	out = t.demandRest(t.closing, out)
	if at, ok := dueOf(t.s); ok && t.dueWas > t.now && at >= t.dueWas {
		out = out[:len(out)-1] // a wake-up that is early enough is under way: it will ask for the next one
	}
	return out
}

// askedBefore reports whether a step is in a list; steps that ask twice in one decision ask close together.
func askedBefore(list []inst, path string) bool {
	for i := len(list) - 1; i >= 0 && i >= len(list)-8; i-- {
		if list[i].path == path {
			return true
		}
	}
	return false
}
