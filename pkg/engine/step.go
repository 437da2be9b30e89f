package engine

import (
	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// The way of a step from Created to its end, as far as it is the same for all kinds.

// stopped reports whether nothing new may start in a body: the execution ends or waits for an operator, or a body
// around it is being ended.
func (t *Turn) stopped(f *workflow.Frame) bool {
	if (t.s.Ending != nil || len(t.s.Held) > 0) && !t.ofExit(f) {
		return true
	}
	for exit := t.ofExit(f); f != nil && (f.Parent != nil || !exit); f = f.Parent {
		if f.Error != nil || f.Closed {
			return true
		}
		if f.Parent != nil && endingInside(f.Parent.Steps[f.Node].Open) {
			return true
		}
	}
	return false
}

// ofExit reports whether a body lies inside a step of on_exit.
func (x *fold) ofExit(f *workflow.Frame) bool {
	for f.Parent != nil {
		if f.Parent.Parent == nil {
			return x.p.bodies[f.Parent.Body].nodes[f.Node].exit()
		}
		f = f.Parent
	}
	return false
}

// endingInside reports whether what is inside a step is being ended.
func endingInside(o *workflow.OpenStep) bool {
	return o == nil || o.TimedOut || o.Scope == nil || o.Scope.Ending || o.Scope.Winner > 0 || o.Scope.Error != nil
}

// consider decides what becomes of a step whose join is settled.
func (t *Turn) consider(f *workflow.Frame, i int) {
	n, st := &t.p.bodies[f.Body].nodes[i], &f.Steps[i]
	if st.Status.Ended() || st.State != createdState {
		return
	}
	v := t.verdict(f, n)
	if v == waits || t.stopped(f) || !t.fits(64) {
		return
	}
	in := t.child(f, i)
	relives := t.relivesIn(f)
	if (v != dies || relives) && t.takeOver(in) {
		return // it ended in another execution, whatever its join says here
	}
	if relives || v != dies && t.relives(in) {
		t.move(workflow.ActivityReady{Step: in.path})
		t.dispatch(in)
		return
	}
	switch v {
	case runs:
		t.ready(in)
	case dies:
		t.move(workflow.ActivitySkipped{Step: in.path, Status: workflow.StatusDead})
	case counts:
		t.countJoin(in)
	case strands:
		t.failStart(in, unreachable(f, n))
	}
}

// countJoin evaluates the number of a join (semantics 8).
func (t *Turn) countJoin(in inst) {
	n, err := count(in.node.step.Join.Count, t.lazily(in))
	if err != nil {
		t.failStart(in, err)
		return
	}
	t.move(workflow.JoinCounted{Step: in.path, Count: max(n, 1)})
}

func unreachable(f *workflow.Frame, n *node) *workflow.Error {
	j := f.Steps[n.index].Join
	e := workflow.Errorf("join.unreachable", workflow.CategoryWorkflow,
		"%d of the %d needed steps came to the end that counts, and no further one can: catch it with on_error, or need fewer", j.Counted, n.joined)
	return e
}

// lazily is the activation of a step's expressions, made when one is evaluated.
func (t *Turn) lazily(in inst, extras ...named) *lazyActivation {
	return &lazyActivation{x: &t.fold, frame: in.frame, extras: extras}
}

// ready makes a step Ready, or skips it by its own `when`.
func (t *Turn) ready(in inst) {
	st := in.node.step
	if in.node.undo != nil && len(t.s.Undo) >= MaxUndo {
		t.failStart(in, workflow.Errorf("compensate.too_many", workflow.CategoryWorkflow,
			"%d steps can be undone already: put steps into a group with one compensation, or go on with continue_as_new", MaxUndo))
		return
	}
	a := t.lazily(in)
	if st.When != nil {
		ok, err := evalBool(st.When, a.get())
		if err != nil {
			t.failStart(in, err)
			return
		}
		if !ok {
			t.move(workflow.ActivitySkipped{Step: in.path, Status: workflow.StatusSkipped})
			return
		}
	}
	limit, err := duration(st.ScheduleTimeout, a)
	if err != nil {
		t.failStart(in, err)
		return
	}
	t.move(workflow.ActivityReady{Step: in.path, ScheduleBy: deadline(t.now, limit)})
	t.cancelRest(in)
	if !in.node.kind.worker {
		t.dispatch(in)
	}
}

// dispatch takes a step that the engine runs itself from Ready on.
func (t *Turn) dispatch(in inst) {
	t.cancelRest(in)
	if in.step.State != fsm.ActivityStateReady() || in.node.kind.worker {
		return
	}
	if t.stopped(in.frame) && !in.node.exit() || !t.fits(64) {
		return
	}
	in.node.kind.start(t, in)
}

// dispatchReady schedules the next step that waits for a slot of max_parallelism; false if none can be scheduled.
func (t *Turn) dispatchReady() bool {
	for side := t.d.sides.first(); side != nil; side = t.d.sides.first() {
		if in := *side; in.step.State == fsm.ActivityStateReady() && in.open() != nil {
			if in.node.kind.start(t, in); t.full {
				return false
			}
		}
		t.d.sides.pop()
	}
	for next := t.d.ready.first(); next != nil; next = t.d.ready.first() {
		in := *next
		if in.step.State != fsm.ActivityStateReady() || in.open() == nil {
			t.d.ready.pop()
			continue
		}
		if limit := t.s.MaxParallelism; limit > 0 && t.d.slots >= limit {
			return false
		}
		if !in.node.exit() && t.stopped(in.frame) {
			if t.s.Ending != nil || len(t.s.Held) > 0 {
				return false
			}
			t.d.ready.pop() // its body is being ended, and it with it
			continue
		}
		in.node.kind.start(t, in)
		return !t.full
	}
	return false
}

// limits are how long a step that the engine runs itself may take, and may wait, in nanoseconds; 0: for ever.
type limits struct{ timeout, wait int64 }

// limitsOf evaluates `timeout` and `wait_timeout`.
func (t *Turn) limitsOf(in inst, a *lazyActivation) (l limits, err *workflow.Error) {
	if l.timeout, err = duration(in.node.step.Timeout, a); err != nil {
		return l, err
	}
	l.wait, err = duration(in.node.step.WaitTimeout, a)
	return l, err
}

// begin takes a step that the engine runs itself from Ready to Running.
func (t *Turn) begin(in inst, by string, l limits) {
	o := in.open()
	attempt := max(o.Attempt, 1)
	if in.step.State == fsm.ActivityStateRetrying() {
		attempt = o.Attempt + 1
	}
	t.move(workflow.ActivityScheduled{Step: in.path, Attempt: attempt, Fence: o.Fence + 1, By: by})
	t.move(workflow.ActivityStarted{Step: in.path, Fence: in.open().Fence, TimeoutAt: deadline(t.now, l.timeout), WaitBy: deadline(t.now, l.wait)})
}

// walk brings a step to Running by the edges that are missing, without anybody running it (WF-006 §9).
func (t *Turn) walk(in inst) {
	switch in.step.State {
	case createdState:
		t.move(workflow.ActivityReady{Step: in.path})
		fallthrough
	case fsm.ActivityStateReady(), fsm.ActivityStateRetrying():
		o := in.open()
		t.move(workflow.ActivityScheduled{Step: in.path, Attempt: max(o.Attempt, 1), Fence: o.Fence + 1, Walked: true})
		fallthrough
	case fsm.ActivityStateScheduled():
		t.move(workflow.ActivityStarted{Step: in.path, Fence: in.open().Fence, Walked: true})
	}
}

// failStart fails a step before it did anything.
func (t *Turn) failStart(in inst, err *workflow.Error) {
	t.walk(in)
	t.fail(in, err, false)
}

// complete ends a running step with its result.
func (t *Turn) complete(in inst, output workflow.Payload, then ...string) {
	if len(in.node.bodies) > 0 && t.relives(in) {
		k := t.takenEnd(in.path)
		if k.Status != workflow.StatusCompleted { // what is inside it was taken over; it did not complete
			t.cancelStep(in, cancelled("step "+in.path+" did not complete in the execution that is taken over"))
			return
		}
		output = k.Output
	}
	t.endSides(in)
	t.move(workflow.ActivityCompleted{Step: in.path, Output: output, Then: then})
}

// endSides ends what runs beside a step that ends.
func (t *Turn) endSides(in inst) {
	o := in.open()
	if o == nil {
		return
	}
	for _, side := range sidesOf(o) {
		if s, ok := t.lead(side.Path); ok {
			t.cancelStep(s, cancelled("step "+in.path+" ended"))
		}
	}
}
