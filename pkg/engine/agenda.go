package engine

import (
	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// op is what a task of the agenda is about.
type op uint8

const (
	opConsider op = iota // a step whose join may be settled
	opDispatch           // a step that is Ready and that the engine runs itself
	opAdvance            // a step with bodies, shards or agent calls
	opFrame              // a body that ended or failed
)

// task is one thing to look at. Looking at one in vain does no harm.
type task struct {
	op    op
	frame *workflow.Frame
	node  int
}

// agenda is what a decision still has to look at, first in, first out. It lives for one decision: what a bound leaves
// undone, the next decision finds in the state, in the order of the tree.
type agenda struct {
	tasks []task
	next  int
}

func (a *agenda) push(t task) { a.tasks = append(a.tasks, t) }

func (a *agenda) pop() (task, bool) {
	if a.next == len(a.tasks) {
		a.tasks, a.next = a.tasks[:0], 0
		return task{}, false
	}
	t := a.tasks[a.next]
	a.tasks[a.next] = task{}
	a.next++
	return t, true
}

// consider puts a step on the agenda if its join may be settled.
func (x *fold) consider(f *workflow.Frame, i int) {
	if x.agenda == nil || x.linking {
		return
	}
	st := &f.Steps[i]
	if st.Status.Ended() || st.State != createdState {
		return
	}
	if x.verdict(f, &x.p.bodies[f.Body].nodes[i]) != waits {
		x.agenda.push(task{op: opConsider, frame: f, node: i})
	}
}

func (x *fold) pushAdvance(in inst) {
	if x.agenda != nil && !x.linking {
		x.agenda.push(task{op: opAdvance, frame: in.frame, node: in.node.index})
	}
}

func (x *fold) pushFrame(f *workflow.Frame) {
	if x.agenda != nil && !x.linking {
		x.agenda.push(task{op: opFrame, frame: f})
	}
}

// rescan fills the agenda from the state: after a decision that a bound stopped, and when a hold is lifted.
func (x *fold) rescan() {
	if x.s.Root != nil {
		x.scanFrame(x.s.Root)
	}
}

func (x *fold) scanFrame(f *workflow.Frame) {
	b := x.p.bodies[f.Body]
	for i := range f.Steps {
		st := &f.Steps[i]
		switch {
		case st.Open != nil:
			x.scanOpen(x.child(f, i))
		case st.Status == workflow.StatusPending && !b.nodes[i].exit():
			x.consider(f, i)
		}
		if n := &b.nodes[i]; len(n.cancels) > 0 && st.State != createdState {
			x.agenda.push(task{op: opDispatch, frame: f, node: i})
		}
	}
	x.pushFrame(f)
}

func (x *fold) scanOpen(in inst) {
	o := in.open()
	if in.step.State == fsm.ActivityStateReady() && !in.node.kind.worker {
		x.agenda.push(task{op: opDispatch, frame: in.frame, node: in.node.index})
	}
	if sc := o.Scope; sc != nil {
		for _, f := range sc.Frames {
			if f != nil && !f.Closed {
				x.scanFrame(f)
			}
		}
	}
	if o.Scope != nil || o.Agent != nil || o.TimedOut {
		x.pushAdvance(in)
	}
}
