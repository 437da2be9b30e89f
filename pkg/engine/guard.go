package engine

import (
	"time"

	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// The facts that the guards of WF-006 §10 judge an event by. They come from the state before the event and the event alone,
// never from an expression, a clock or what a worker has: so the history of an execution is held to them at each replay, on
// every machine, and not only when the event was decided (docs/adr/0014-what-guards-hold-at-replay.md).

// moveGuarded makes a transition of the activity machine by facts of its own; they hold for this transition only.
func (x *fold) moveGuarded(in inst, on fsm.ActivityEvent, fill func(*fsm.Facts)) error {
	before := x.facts
	fill(&x.facts)
	err := x.moveStep(in.step, on)
	x.facts = before
	return err
}

// awaits fills in how many needs of a step have come out, as long as its join is not settled (semantics 1 to 9). An exit step
// waits for the end of everything else.
func (x *fold) awaits(in inst, f *fsm.Facts) {
	switch {
	case in.host != nil:
	case in.node.exit():
		if f.Needs = uint32(x.openBody()); x.s.Ending == nil {
			f.Needs++
		}
	case x.verdict(in.frame, in.node) == waits:
		j := &in.step.Join
		f.Met = uint32(j.Met + j.Dead + j.Missed)
		f.Needs = f.Met + uint32(max(j.Open, 1)) // of one that waits to be picked, the pick
	}
}

// openBody counts the open steps of the workflow's body, without those of on_exit.
func (x *fold) openBody() int {
	root := x.s.Root
	open := root.Active
	for _, i := range x.p.exits {
		if root.Steps[i].Open != nil {
			open--
		}
	}
	return open
}

// takes fills in what an attempt takes of memory and slots (semantics 12 and 15). A further attempt has its slot already,
// and one that is only walked takes nothing.
func (x *fold) takes(in inst, walked bool, f *fsm.Facts) {
	if walked || !in.node.kind.worker || in.node.side {
		return
	}
	if need, most := x.memory(in.node.step), x.p.def.Limits.MaxMemory; most > 0 && need > most {
		f.Need, f.Free = uint64(need), uint64(most)
	} else if most := x.s.MaxParallelism; most > 0 && in.step.State == fsm.ActivityStateReady() {
		f.Need, f.Free = 1, uint64(max(most-x.d.slots, 0))
	}
}

// attempts fills in how many further attempts there are (semantics 13 and 15): of the step where its policy is a plain number, and of the
// execution. A recovery is no retry, and an operator may always try again.
func (x *fold) attempts(in inst, recovery bool, f *fsm.Facts) {
	if recovery || in.open().Held {
		return
	}
	policy := in.node.step.Retry
	if policy == nil {
		policy = &defaultRetry
	}
	if n := &policy.Attempts; n.Expr == nil {
		f.Need, f.Free = 1, uint64(max(min(n.Fixed, 1<<30)-int64(in.open().Attempt), 0))
	}
	if most := x.s.MaxRetries; most > 0 && (f.Need == 0 || most-x.s.Retries < int(f.Free)) {
		f.Need, f.Free = 1, uint64(max(most-x.s.Retries, 0))
	}
}

// overdue fills in the deadline of something whose timeout is recorded. Before that none counts, whatever the clocks say: an answer
// that is handled first stands (semantics 18). When a recorded one passed is not kept; it was before this event.
func (x *fold) overdue(recorded bool, f *fsm.Facts) {
	if recorded {
		f.At, f.Deadline = time.Unix(0, x.s.At).UTC(), time.Unix(0, x.s.At-1).UTC()
	}
}

// moveToEnd makes the transition of the workflow machine that ends an execution well: no step is open, no work is left to undo.
func (x *fold) moveToEnd(on fsm.WorkflowEvent) error {
	s, before := x.s, x.facts
	if s.Root != nil {
		x.facts.Needs = uint32(s.Root.Active)
		if s.Ending == nil {
			x.facts.Needs += uint32(s.Root.Left)
		}
	}
	if s.Status == fsm.WorkflowStateCompensating() {
		x.facts.Needs += uint32(len(s.Undo))
	}
	x.overdue(s.Ending != nil && s.Ending.Outcome == workflow.OutcomeTimedOut, &x.facts)
	err := x.moveWorkflow(on)
	x.facts = before
	return err
}
