package engine

import (
	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// How an execution ends: its outcome is decided, open steps are ended, completed work is undone if that is wanted,
// exit steps run, and the terminal event is recorded (semantics 26 to 34).

// decideOutcome fixes how the execution will end. The first decision counts, but that a later cancel may make it come sooner.
func (t *Turn) decideOutcome(e workflow.OutcomeDecided) {
	if e.Outcome == workflow.OutcomeFailed || e.Outcome == workflow.OutcomeTimedOut {
		e.Compensate = t.p.def.OnFailure == workflow.OnFailureCompensate || t.undoOnly()
	}
	if t.s.Shard != nil && !t.undoOnly() {
		e.Compensate = false // its parent decides, and undoes a shard like any other step
	}
	t.emit(e)
}

// conclude takes the next step towards the end. It reports whether it took one.
func (t *Turn) conclude() bool {
	s := t.s
	if s.Version == 0 || s.Status.Terminal() || s.Root == nil {
		return false
	}
	before := len(t.events)
	if s.Ending == nil {
		t.concludeBody()
	} else if t.endBody() {
		t.windUp()
	}
	return len(t.events) > before
}

// windUp goes on once the body is quiet: compensation, exit steps, terminal event.
func (t *Turn) windUp() {
	s := t.s
	compensating := s.Status == fsm.WorkflowStateCompensating()
	switch {
	case s.Ending.Compensate && !compensating && len(s.Undo) > 0:
		t.move(workflow.WorkflowFailed{Error: s.Ending.Error})
		t.emit(workflow.CompensationStarted{})
	case compensating && (len(s.Undo) > 0 || s.Undoing != nil):
		t.undoNext()
	case t.exitsOpen():
	case t.exitNext():
	case !t.full:
		t.finish()
	}
}

// concludeBody decides the outcome once the workflow's own body has come to its end.
func (t *Turn) concludeBody() {
	root := t.s.Root
	switch {
	case root.Error != nil:
		t.decideOutcome(workflow.OutcomeDecided{Outcome: workflow.OutcomeFailed, Error: root.Error, Step: root.Failed})
		return
	case root.Left > 0 || len(t.s.Held) > 0:
		return
	}
	if t.undoOnly() {
		t.emit(workflow.OutcomeDecided{Outcome: workflow.OutcomeCompleted, Error: cancelled("the work of another execution is undone"), Compensate: true})
		return
	}
	out, err := t.output()
	switch {
	case err != nil:
		t.decideOutcome(workflow.OutcomeDecided{Outcome: workflow.OutcomeFailed, Error: err})
	case !t.fits(weighPayload(out)):
	case len(t.p.exits) > 0 && t.s.Shard == nil:
		t.decideOutcome(workflow.OutcomeDecided{Outcome: workflow.OutcomeCompleted, Output: out})
	default:
		t.move(workflow.WorkflowCompleted{Output: out})
	}
}

// output is the workflow's output: its template, or the outputs of the last steps by name.
func (t *Turn) output() (workflow.Payload, *workflow.Error) {
	root := t.s.Root
	if shard := t.s.Origin.Shard; shard != nil {
		in, ok := t.locate(shard.Step)
		if !ok {
			return workflow.Payload{}, nil
		}
		return resultOutput(in.step), nil
	}
	if t.p.def.Output != nil {
		return render(t.p.def.Output, t.inBody(root))
	}
	return t.outputsByName(root, t.p.root().last), nil
}

// endBody ends what is still open in the workflow's body; false as long as something is.
func (t *Turn) endBody() bool {
	s := t.s
	why := cancelled("the execution ends: " + string(s.Ending.Outcome))
	if s.Ending.Graceful {
		return t.letFinish(s.Root, why) && t.bodyQuiet()
	}
	if t.bodyQuiet() {
		return true
	}
	for i := range s.Root.Steps {
		n := &t.p.root().nodes[i]
		if s.Root.Steps[i].Open != nil && (!n.exit() || s.Ending.Abrupt) && !t.cancelStep(t.child(s.Root, i), why) {
			return false
		}
	}
	return true
}

// bodyQuiet reports whether no step of the workflow's body but exit steps is open.
func (t *Turn) bodyQuiet() bool {
	root := t.s.Root
	if root.Active == 0 {
		return true
	}
	open := 0
	for _, i := range t.p.exits {
		if root.Steps[i].Open != nil {
			open++
		}
	}
	return root.Active == open && !(t.s.Ending.Abrupt && open > 0)
}

// letFinish ends what does not run on a worker (graceful cancel); false if a bound was reached.
func (t *Turn) letFinish(f *workflow.Frame, why *workflow.Error) bool {
	b := t.p.bodies[f.Body]
	for i := 0; f.Active > 0 && i < len(f.Steps); i++ {
		o := f.Steps[i].Open
		if o == nil || b.nodes[i].exit() {
			continue
		}
		in := t.child(f, i)
		if t.onWorker(in) {
			continue
		}
		if o.Scope != nil && len(o.Scope.Shards) == 0 {
			for _, inner := range o.Scope.Frames {
				if inner != nil && !t.letFinish(inner, why) {
					return false
				}
			}
			if scopeActive(o.Scope) {
				continue
			}
		}
		if !t.cancelStep(in, why) {
			return false
		}
	}
	return true
}

func scopeActive(sc *workflow.Scope) bool {
	for _, f := range sc.Frames {
		if f != nil && f.Active > 0 {
			return true
		}
	}
	return false
}

// onWorker reports whether an attempt of a step is out with a worker, side steps of an agent included.
func (t *Turn) onWorker(in inst) bool {
	if classOf(in.node, in.step).working {
		return true
	}
	o := in.open()
	if o == nil || o.Agent == nil {
		return false
	}
	for _, side := range agentSides(o.Agent) {
		if s, ok := t.lead(side.Path); ok && classOf(s.node, s.step).working {
			return true
		}
	}
	return false
}

// exitNext takes the next exit step on its way, or passes it over; false if there is none left.
func (t *Turn) exitNext() bool {
	if t.s.Shard != nil || t.s.Ending.Abrupt || t.undoOnly() {
		return false
	}
	for _, i := range t.p.exits {
		if t.s.Root.Steps[i].Status.Ended() {
			continue
		}
		if !t.fits(64) {
			return true
		}
		in := t.child(t.s.Root, i)
		switch t.exitVerdict(in) {
		case dies:
			t.move(workflow.ActivitySkipped{Step: in.path, Status: workflow.StatusDead})
		case strands:
			t.failStart(in, unreachable(in.frame, in.node))
		case counts:
			t.countJoin(in)
		default:
			t.ready(in)
		}
		return true
	}
	return false
}

// exitVerdict is the verdict on an exit step: everything that its needs name has ended, or will never run.
func (t *Turn) exitVerdict(in inst) verdict {
	before := in.step.Join
	for _, e := range in.node.conditions {
		status := in.frame.Steps[e.node].Status
		if status == workflow.StatusPending {
			status = workflow.StatusDead
		}
		tally(&in.step.Join, turnouts[e.end][status])
	}
	v := t.verdict(in.frame, in.node)
	in.step.Join = before
	return v
}

func (t *Turn) exitsOpen() bool {
	for _, i := range t.p.exits {
		if t.s.Root.Steps[i].Open != nil {
			return true
		}
	}
	return false
}

// finish records the terminal event.
func (t *Turn) finish() {
	s := t.s
	e := s.Ending
	switch {
	case s.Status == fsm.WorkflowStateCompensating():
		t.emit(workflow.CompensationCompleted{})
	case e.Outcome == workflow.OutcomeCompleted:
		t.move(workflow.WorkflowCompleted{Output: s.Output, Next: s.Next})
	case e.Outcome == workflow.OutcomeCancelled:
		t.move(workflow.WorkflowCancelled{Error: e.Error})
	default:
		t.move(workflow.WorkflowFailed{Error: e.Error})
	}
}

// nextID is the ID of the execution that goes on for this one: that of the first of the chain and the number of the run.
func nextID(s *workflow.State) string {
	first, run := s.Execution, 2
	if c := s.Origin.Continues; c != nil {
		first, run = c.First, c.Run+1
	}
	return first + "~" + decimal(run)
}
