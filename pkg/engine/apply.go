package engine

import (
	"fmt"

	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// HistoryError says that an event cannot follow the events before it: the history is damaged, belongs to another
// definition, or was written by newer code.
type HistoryError struct {
	Version uint64             // of the event
	Type    workflow.EventType // of the event
	Problem string
	Err     error // why, or nil
}

// Error names the event and the problem.
func (e *HistoryError) Error() string {
	s := fmt.Sprintf("engine: event %d (%s): %s", e.Version, e.Type, e.Problem)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause, such as a *fsm.TransitionError.
func (e *HistoryError) Unwrap() error { return e.Err }

// Apply returns the state after an event. s is nil before the first; it is consumed, so the caller must not use it
// any more. The error is a *HistoryError; then the state is lost.
func Apply(p *Program, s *workflow.State, e workflow.Recorded) (*workflow.State, error) {
	x := newFold(p, s)
	if err := x.apply(&e); err != nil {
		return nil, err
	}
	return x.s, nil
}

// Replay returns the state after events that follow a checkpoint, nil for none (WF-002 §15, WF-006 §14). The checkpoint
// is consumed. The error is a *HistoryError.
func Replay(p *Program, checkpoint *workflow.State, events []workflow.Recorded) (*workflow.State, error) {
	x := newFold(p, checkpoint)
	for i := range events {
		if err := x.apply(&events[i]); err != nil {
			return nil, err
		}
	}
	return x.s, nil
}

// fold applies events to a state.
type fold struct {
	p *Program
	s *workflow.State
	d *derived
	// wm and am are the state machines.
	wm fsm.Machine[fsm.WorkflowState, fsm.WorkflowEvent]
	am fsm.Machine[fsm.ActivityState, fsm.ActivityEvent]
	// agenda collects what an event enables; nil during replay, when what it led to stands in the history.
	agenda *agenda
	facts  fsm.Facts
	last   inst // where the last path led
	// linking: derived counters are being computed, nothing else may change.
	linking bool
	// creating: an event instantiates a side step.
	creating bool
}

// engineActor is who acts for attempts where no worker does.
const engineActor = "engine"

func newFold(p *Program, s *workflow.State) *fold {
	x := &fold{}
	x.init(p, s)
	return x
}

func (x *fold) init(p *Program, s *workflow.State) {
	x.p, x.s, x.wm, x.am = p, s, fsm.WorkflowV1(), fsm.ActivityV1()
	if s != nil && s.Version > 0 {
		// An unknown version, of newer code, gives a machine that refuses everything.
		x.wm, _ = fsm.WorkflowMachine(s.WorkflowMachine)
		x.am, _ = fsm.ActivityMachine(s.ActivityMachine)
	}
	x.facts = fsm.Facts{Owner: engineActor, Actor: engineActor, Fence: 1, HeldFence: 1, Required: fsm.PermissionCommit, Granted: fsm.PermissionCommit}
	if s == nil {
		x.s = &workflow.State{}
	}
	x.facts.Tenant, x.facts.ActorTenant = x.s.Tenant, x.s.Tenant
	if d, ok := x.s.Derived.(*derived); ok && d.program == p {
		x.d = d
	} else {
		x.relink()
	}
}

// appliers has the change that each type of event makes.
var appliers [workflow.EventTypes]func(*fold, workflow.Event) error

// on registers the change that a type of event makes.
func on[E workflow.Event](apply func(*fold, E) error) {
	var zero E
	appliers[zero.Type()] = func(x *fold, e workflow.Event) error { return apply(x, e.(E)) }
}

func init() {
	registerWorkflow()
	registerActivity()
	registerScope()
	registerWait()
}

// apply makes one event part of the state.
func (x *fold) apply(r *workflow.Recorded) error {
	t := r.Event.Type()
	if r.Version != x.s.Version+1 {
		return &HistoryError{Version: r.Version, Type: t, Problem: fmt.Sprintf("it follows event %d: one is missing or stands twice", x.s.Version)}
	}
	if (r.Version == 1) != (t == workflow.TypeWorkflowCreated) {
		return &HistoryError{Version: r.Version, Type: t, Problem: "a history starts with WorkflowCreated, and has it once"}
	}
	if int(t) >= len(appliers) || appliers[t] == nil {
		return &HistoryError{Version: r.Version, Type: t, Problem: "this program does not know it: update it"}
	}
	x.facts.Version, x.facts.Expected = x.s.Version, x.s.Version
	x.s.Version, x.s.At, x.s.More = r.Version, r.At, false
	if err := appliers[t](x, r.Event); err != nil {
		return &HistoryError{Version: r.Version, Type: t, Problem: "it is impossible here", Err: err}
	}
	return nil
}

// lost is the error for a path that leads nowhere.
func lost(path string) error { return fmt.Errorf("there is no open step %s", path) }

// moveWorkflow makes a transition of the workflow machine.
func (x *fold) moveWorkflow(on fsm.WorkflowEvent) error {
	to, err := x.wm.Next(x.s.Status, on, &x.facts)
	if err != nil {
		return err
	}
	x.s.Status = to
	return nil
}

// moveStep makes a transition of the activity machine.
func (x *fold) moveStep(st *workflow.StepState, on fsm.ActivityEvent) error {
	to, err := x.am.Next(st.State, on, &x.facts)
	if err != nil {
		return err
	}
	st.State = to
	return nil
}

// openStep finds an open step and what it counts as; after takes it back.
func (x *fold) openStep(path string) (inst, class, error) {
	in, ok := x.locate(path)
	if !ok || in.open() == nil {
		return inst{}, class{}, lost(path)
	}
	return in, classOf(in.node, in.step), nil
}

// after counts a changed open step anew.
func (x *fold) after(in inst, before class) {
	if now := classOf(in.node, in.step); now != before {
		x.d.count(before, -1)
		x.d.count(now, +1)
	}
	x.d.timers.set(in.path, in.open())
}
