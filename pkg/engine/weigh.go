package engine

import "github.com/wovyr/wovyr/pkg/workflow"

// weigh is about how many bytes an event takes in a commit: enough for the bounds of a decision. The exact number is the
// codec's, and no larger but for pathological names.
func weigh(e workflow.Event) int {
	const small = 48
	switch e := e.(type) {
	case workflow.WorkflowCreated:
		n := small + weighPayload(e.Input)
		if r := e.Origin.Redrive; r != nil {
			for i := range r.Taken {
				n += small + len(r.Taken[i].Step) + weighPayload(r.Taken[i].Output)
			}
		}
		if s := e.Origin.Shard; s != nil {
			n += weighPayloads(s.Items)
		}
		return n
	case workflow.WorkflowStarted:
		return small + weighVars(e.Vars)
	case workflow.WorkflowCompleted:
		return small + weighPayload(e.Output)
	case workflow.OutcomeDecided:
		return small + weighPayload(e.Output) + weighError(e.Error)
	case workflow.ActivityScheduled:
		return small + len(e.Step) + weighPayload(e.Target) + weighPayload(e.Input)
	case workflow.ActivityCompleted:
		return small + len(e.Step) + weighPayload(e.Output)
	case workflow.ActivityCaught:
		return small + len(e.Step) + weighPayload(e.Output)
	case workflow.ActivityFailed:
		return small + len(e.Step) + weighError(e.Error)
	case workflow.AgentTurn:
		n := small + weighPayload(e.State)
		for i := range e.Calls {
			n += small + weighPayload(e.Calls[i].Input)
		}
		return n
	case workflow.ItemsSet:
		return small + weighPayloads(e.Items)
	case workflow.ScopeClosed:
		return small + weighPayload(e.Output) + weighError(e.Error)
	case workflow.VariablesSet:
		return small + weighVars(e.Vars)
	case workflow.EventEmitted:
		return small + weighPayload(e.Data)
	case workflow.EventReceived:
		return small + weighPayload(e.Event.Data)
	case workflow.TaskCreated:
		return small + len(e.Title) + weighPayload(e.Details)
	case workflow.TaskDecided:
		return small + len(e.Comment) + weighPayload(e.Answer)
	case workflow.ChildRequested:
		return small + weighPayload(e.Input)
	case workflow.ChildEnded:
		return small + weighPayload(e.Output) + weighError(e.Error)
	}
	return small
}

// weighPayload is about how many bytes a value takes.
func weighPayload(p workflow.Payload) int {
	n := len(p.JSON)
	for i := range p.Holes {
		n += 16 + len(p.Holes[i].At)
		if r := p.Holes[i].Ref; r != nil {
			n += 80 + len(r.Known)
		}
		if d := p.Holes[i].Deferred; d != nil {
			n += len(d.Expr) + len(d.Env)
		}
	}
	return n
}

func weighPayloads(list []workflow.Payload) (n int) {
	for i := range list {
		n += 4 + weighPayload(list[i])
	}
	return n
}

func weighVars(list []workflow.Variable) (n int) {
	for i := range list {
		n += len(list[i].Name) + weighPayload(list[i].Value)
	}
	return n
}

func weighError(e *workflow.Error) int {
	if e == nil {
		return 0
	}
	return len(e.Code) + len(e.Message) + len(e.Details)
}
