package engine

import (
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Transition is one transition that an event made, with the record of WF-006 §12. Exactly one of Workflow and Activity
// is set.
type Transition struct {
	// Step is the activity's path, empty for the workflow.
	Step     string                         `json:"step,omitempty"`
	Workflow *fsm.Record[fsm.WorkflowState] `json:"workflow,omitempty"`
	Activity *fsm.Record[fsm.ActivityState] `json:"activity,omitempty"`
}

// Transitions returns the transitions that an event makes in the state before it; none for an event that is only a fact.
// The state is not changed, and nil before the first event. worker and cause are those of the commit: what is
// constant in the records of a commit stands once in its header. An event that opens a body creates each of its steps.
func Transitions(p *Program, before *workflow.State, r workflow.Recorded, worker, cause string) ([]Transition, error) {
	x := newFold(p, before)
	origin := fsm.Origin{
		WorkflowID: x.s.Workflow, ExecutionID: x.s.Execution, WorkerID: worker, CorrelationID: x.s.Correlation, CausationID: cause,
		At: time.Unix(0, r.At).UTC(), Reason: reasonOf(r.Event),
	}
	if e, ok := r.Event.(workflow.WorkflowCreated); ok {
		origin.WorkflowID, origin.ExecutionID, origin.CorrelationID = e.Workflow, e.Execution, e.Correlation
		x.facts.Tenant, x.facts.ActorTenant = e.Tenant, e.Tenant
	}
	x.facts.Version, x.facts.Expected = r.Version-1, r.Version-1
	x.facts.CompensationConfigured, x.facts.CompensationDue = true, true // the event says so
	c := &collector{x: x, origin: &origin}
	c.collect(r.Event)
	return c.list, c.err
}

// collector gathers the transitions of one event.
type collector struct {
	x      *fold
	origin *fsm.Origin
	list   []Transition
	err    error
}

// workflowEvents and activityEvents say which transition an event is.
var (
	workflowEvents = map[workflow.EventType]fsm.WorkflowEvent{
		workflow.TypeWorkflowCreated: fsm.WorkflowCreated(), workflow.TypeWorkflowValidated: fsm.WorkflowValidated(),
		workflow.TypeWorkflowScheduled: fsm.WorkflowScheduled(), workflow.TypeWorkflowStarted: fsm.WorkflowStarted(),
		workflow.TypeWorkflowPaused: fsm.WorkflowPaused(), workflow.TypeWorkflowResumed: fsm.WorkflowResumed(),
		workflow.TypeWorkflowContinued: fsm.WorkflowContinued(), workflow.TypeWorkflowCompleted: fsm.WorkflowCompleted(),
		workflow.TypeWorkflowFailed: fsm.WorkflowFailed(), workflow.TypeWorkflowCancelled: fsm.WorkflowCancelled(),
		workflow.TypeCompensationStarted: fsm.CompensationStarted(), workflow.TypeCompensationCompleted: fsm.CompensationCompleted(),
	}
	activityEvents = map[workflow.EventType]fsm.ActivityEvent{
		workflow.TypeActivityReady: fsm.ActivityReady(), workflow.TypeActivityScheduled: fsm.ActivityScheduled(),
		workflow.TypeActivityStarted: fsm.ActivityStarted(), workflow.TypeActivityCompleted: fsm.ActivityCompleted(),
		workflow.TypeActivityFailed: fsm.ActivityFailed(), workflow.TypeActivityRetried: fsm.ActivityRetried(),
	}
)

func (c *collector) collect(e workflow.Event) {
	if on, ok := workflowEvents[e.Type()]; ok {
		rec, err := c.x.wm.Step(c.x.s.Status, on, c.origin, &c.x.facts)
		if c.add(Transition{Workflow: &rec}, err); e.Type() == workflow.TypeWorkflowStarted && c.x.s.Origin.Shard == nil {
			c.create(c.x.p.root(), "")
		}
		return
	}
	if on, ok := activityEvents[e.Type()]; ok {
		c.activity(stepOf(e), on)
	}
	if o, ok := e.(workflow.ScopeOpened); ok {
		if in, ok := c.x.locate(o.Step); ok && len(in.node.bodies) > 0 {
			b := in.node.bodies[0]
			if in.node.step.Race != nil {
				b = in.node.bodies[o.Index]
			}
			c.create(b, prefixOf(in, o.Index))
		}
	}
}

func (c *collector) add(t Transition, err error) {
	if err == nil {
		c.list = append(c.list, t)
	} else if c.err == nil {
		c.err = err
	}
}

// activity adds the transition of one step. A side step comes into being with its Ready.
func (c *collector) activity(path string, on fsm.ActivityEvent) {
	from := fsm.ActivityState{}
	if in, ok := c.x.locate(path); ok {
		from = in.step.State
	} else if strings.ContainsRune(path, '!') || on == fsm.ActivityReady() {
		c.step(path, from, fsm.ActivityCreated())
		from = createdState
	}
	c.step(path, from, on)
}

func (c *collector) step(path string, from fsm.ActivityState, on fsm.ActivityEvent) {
	rec, err := c.x.am.Step(from, on, c.origin, &c.x.facts)
	c.add(Transition{Step: path, Activity: &rec}, err)
}

// create adds the creation of each step of a body.
func (c *collector) create(b *body, prefix string) {
	for i := range b.nodes {
		c.step(prefix+b.nodes[i].step.Name, fsm.ActivityState{}, fsm.ActivityCreated())
	}
}

// stepOf is the step that an event of the activity machine is about.
func stepOf(e workflow.Event) string {
	switch e := e.(type) {
	case workflow.ActivityReady:
		return e.Step
	case workflow.ActivityScheduled:
		return e.Step
	case workflow.ActivityStarted:
		return e.Step
	case workflow.ActivityCompleted:
		return e.Step
	case workflow.ActivityFailed:
		return e.Step
	case workflow.ActivityRetried:
		return e.Step
	}
	return ""
}

// reasonOf says why, for the record.
func reasonOf(e workflow.Event) string {
	switch e := e.(type) {
	case workflow.WorkflowPaused:
		names := make([]string, len(e.Reasons))
		for i, r := range e.Reasons {
			names[i] = r.String()
		}
		return strings.Join(names, ",")
	case workflow.WorkflowFailed:
		return codeOf(e.Error)
	case workflow.WorkflowCancelled:
		return codeOf(e.Error)
	case workflow.ActivityFailed:
		return codeOf(e.Error)
	case workflow.ActivityRetried:
		if e.Recovery {
			return "recovery"
		}
		return "retry"
	case workflow.ActivityScheduled:
		if e.Walked {
			return "walked"
		}
	case workflow.ActivityStarted:
		if e.Walked {
			return "walked"
		}
	case workflow.ActivityCompleted:
		if e.Taken {
			return "taken over"
		}
	}
	return ""
}

func codeOf(e *workflow.Error) string {
	if e == nil {
		return ""
	}
	return e.Code
}
