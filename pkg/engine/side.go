package engine

import (
	"strconv"

	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Side steps are activities beside the steps of a body: compensations, notifications, the entries and calls of an agent.
// They have the life of an activity and their own retries; whose they are decides what their end means.

var createdState = fsm.ActivityStateCreated()

// newSide instantiates a side step.
func newSide(path string) *workflow.SideStep {
	return &workflow.SideStep{Path: path, Step: workflow.StepState{State: createdState}}
}

// startSide starts a side step: the event of its Ready creates it, and dispatchReady takes it from there.
func (t *Turn) startSide(path string) {
	t.move(workflow.ActivityReady{Step: path})
}

// sideEnded takes the end of a side step to whose it is.
func (x *fold) sideEnded(in inst, status workflow.Status, output workflow.Payload, failure *workflow.Error) {
	host := in.host.step.Open
	switch {
	case in.side == x.s.Undoing:
		x.undone(in)
	case host == nil:
	case host.Task != nil && host.Task.Notify == in.side:
		host.Task.Notify = nil
	case host.Agent != nil:
		x.agentSideEnded(in, host.Agent, status, output, failure)
	}
}

// agentSideEnded notes the result of an agent's call, or the end of an entry.
func (x *fold) agentSideEnded(in inst, a *workflow.AgentLoop, status workflow.Status, output workflow.Payload, failure *workflow.Error) {
	if a.Entry == in.side {
		a.Entry = nil
		return
	}
	for i := range a.Calls {
		c := &a.Calls[i]
		switch {
		case c.Approval == in.side:
			c.Approval = nil
			if status != workflow.StatusCompleted {
				c.Done, c.Error = true, failure
			} else {
				c.Approved = true
			}
		case c.Step == in.side:
			c.Step, c.Done, c.Output, c.Error = nil, true, output, failure
		}
	}
	x.pushAdvance(*in.host)
}

func applyAgentTurn(x *fold, e workflow.AgentTurn) error {
	in, before, err := x.openStep(e.Step)
	if err != nil {
		return err
	}
	a := &workflow.AgentLoop{Turn: e.Turn, State: e.State}
	for _, c := range e.Calls {
		a.Calls = append(a.Calls, workflow.CallState{Call: c})
	}
	o := in.open()
	o.Turns = e.Turn
	o.Agent, o.LeaseUntil, o.TimeoutAt, o.Worker = a, 0, 0, ""
	x.last = inst{}
	x.after(in, before)
	x.pushAdvance(in)
	return nil
}

// agentSides lists the open side steps of an agent.
func agentSides(a *workflow.AgentLoop) []*workflow.SideStep {
	var list []*workflow.SideStep
	if a.Entry != nil {
		list = append(list, a.Entry)
	}
	for i := range a.Calls {
		for _, side := range []*workflow.SideStep{a.Calls[i].Approval, a.Calls[i].Step} {
			if side != nil {
				list = append(list, side)
			}
		}
	}
	return list
}

// sidesOf lists the open side steps of an open step.
func sidesOf(o *workflow.OpenStep) []*workflow.SideStep {
	switch {
	case o.Task != nil && o.Task.Notify != nil:
		return []*workflow.SideStep{o.Task.Notify}
	case o.Agent != nil:
		return agentSides(o.Agent)
	}
	return nil
}

// entryNode is a further entry of an agent: it runs as the step does.
func entryNode(host *node) *node {
	st := *host.step
	st.OnError, st.Compensate = nil, nil
	return sideNode(&st)
}

// callNode is a call that an agent asked for.
func callNode(c *workflow.AgentCall) *node {
	st := &workflow.Step{Name: c.ID, Kind: c.Kind, Call: &workflow.Call{Name: c.Name, Target: callTarget(c)}, Idempotent: c.Idempotent}
	if c.Timeout > 0 {
		st.Timeout = &workflow.Duration{Fixed: c.Timeout}
	}
	return sideNode(st)
}

// callTarget is the target of a call: the name of what is called, as `function: name` and `tool: name` have it.
func callTarget(c *workflow.AgentCall) *workflow.Template {
	return &workflow.Template{JSON: workflow.Value(strconv.Quote(c.Name))}
}

// approvalNode is the task in which people approve a call.
func approvalNode(c *workflow.AgentCall) *node {
	return sideNode(&workflow.Step{
		Name: c.ID + askSuffix, Kind: workflow.KindHuman,
		Human: &workflow.Human{OnReject: workflow.ReactionFail, OnTimeout: workflow.ReactionFail},
	})
}
