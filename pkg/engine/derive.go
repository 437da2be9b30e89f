package engine

import (
	"slices"

	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// derived is what the engine keeps beside a state so that no decision scans all of it. All of it follows from the state;
// relink computes it, and each event keeps it up.
type derived struct {
	program *Program
	timers  timers
	// ready are steps for workers that wait for a slot, in the order in which they became ready. Entries that are not
	// ready any more are passed over.
	ready queue
	// sides are side steps that are Ready: they need no slot.
	sides queue
	// slots is how many steps hold a slot of max_parallelism; working, how many attempts are out with workers.
	slots, working int
	// waiting counts open steps by what they wait for.
	waiting [workflow.WaitReasons]int
}

// queue is first in, first out, and keeps its memory.
type queue struct {
	list []inst
	next int
}

func (q *queue) push(in inst) { q.list = append(q.list, in) }

func (q *queue) first() *inst {
	if q.next == len(q.list) {
		return nil
	}
	return &q.list[q.next]
}

func (q *queue) pop() {
	q.list[q.next] = inst{}
	if q.next++; q.next == len(q.list) {
		q.list, q.next = q.list[:0], 0
	}
}

// class is what an open step counts as.
type class struct {
	slot, working bool
	wait          workflow.WaitReason
}

// classOf says what a step counts as.
func classOf(n *node, st *workflow.StepState) class {
	o := st.Open
	if o == nil || st.Status.Ended() {
		return class{}
	}
	switch st.State {
	case fsm.ActivityStateScheduled():
		return class{slot: n.kind.worker && !n.side, working: n.kind.worker && !o.Walked}
	case fsm.ActivityStateRunning():
		if !n.kind.worker {
			return class{wait: n.kind.waitsFor(n, o)}
		}
		if o.Pending {
			return class{slot: !n.side, wait: workflow.WaitWebhook}
		}
		return class{slot: !n.side && o.Agent == nil, working: o.Agent == nil && !o.Walked}
	case fsm.ActivityStateRetrying():
		return class{slot: n.kind.worker && !n.side, wait: workflow.WaitRetry}
	case fsm.ActivityStateFailed():
		if o.Held {
			return class{wait: workflow.WaitOperator}
		}
	}
	return class{}
}

func (d *derived) count(c class, by int) {
	if c.slot {
		d.slots += by
	}
	if c.working {
		d.working += by
	}
	if c.wait != 0 {
		d.waiting[c.wait] += by
	}
}

// reasons lists why the execution waits.
func (d *derived) reasons() []workflow.WaitReason {
	var list []workflow.WaitReason
	for r, n := range d.waiting {
		if n > 0 {
			list = append(list, workflow.WaitReason(r))
		}
	}
	return list
}

// relink computes all that is derived of a state: after decoding, cloning or replay.
func (x *fold) relink() {
	x.d = &derived{program: x.p}
	x.s.Derived = x.d
	x.last = inst{}
	x.linking = true
	if x.s.Root != nil {
		x.linkFrame(x.s.Root, nil, 0)
	}
	if x.s.Undoing != nil {
		x.linkSide(x.s.Undoing)
	}
	for _, h := range x.s.Held {
		if h.Step == "" {
			x.d.waiting[workflow.WaitOperator]++
		}
	}
	x.linking = false
	slices.SortFunc(x.d.ready.list, func(a, b inst) int {
		if a.step.Open.Order < b.step.Open.Order {
			return -1
		}
		return 1
	})
}

// linkFrame computes what is derived in a frame and below.
func (x *fold) linkFrame(f, parent *workflow.Frame, at int) {
	f.Parent, f.Node = parent, at
	b := x.p.bodies[f.Body]
	f.Left, f.Active = b.left, 0
	for i := range f.Steps {
		f.Steps[i].Join = b.fresh[i]
	}
	for i := range f.StandIns {
		f.StandIns[i].Done = false
	}
	for i := range f.Steps {
		st := &f.Steps[i]
		if st.Open != nil {
			f.Active++
			x.linkOpen(x.child(f, i))
		}
		if st.Result != nil {
			for _, inner := range st.Result.Frames {
				x.linkFrame(inner, f, i)
			}
		}
		if st.Status.Ended() {
			if !b.nodes[i].exit() {
				f.Left--
			}
			x.ended(f, i)
		}
	}
}

// linkOpen enters an open step and what is inside it.
func (x *fold) linkOpen(in inst) {
	o := in.open()
	if sc := o.Scope; sc != nil {
		for _, list := range [][]*workflow.Frame{sc.Frames, sc.Kept, {sc.Previous}} {
			for _, f := range list {
				if f != nil {
					x.linkFrame(f, in.frame, in.node.index)
				}
			}
		}
		sc.Open, sc.Done = countFrames(sc), countClosed(sc)
	}
	x.enter(in)
	if o.Task != nil && o.Task.Notify != nil {
		x.linkSide(o.Task.Notify)
	}
	if a := o.Agent; a != nil {
		for _, side := range agentSides(a) {
			x.linkSide(side)
		}
	}
}

func countFrames(sc *workflow.Scope) (n int) {
	for _, f := range sc.Frames {
		if f != nil && !f.Closed {
			n++
		}
	}
	for i := range sc.Shards {
		if sc.Shards[i].State == workflow.ShardOpen {
			n++
		}
	}
	return n
}

func countClosed(sc *workflow.Scope) (n int) {
	for i := range sc.Results {
		if sc.Results[i].Closed {
			n++
		}
	}
	for i := range sc.Shards {
		if sc.Shards[i].State > workflow.ShardOpen {
			n++
		}
	}
	return n
}

func (x *fold) linkSide(side *workflow.SideStep) {
	if in, ok := x.lead(side.Path); ok && in.open() != nil {
		x.linkOpen(in)
	}
}

// enter counts an open step, and enters its deadline and its place among the ready.
func (x *fold) enter(in inst) {
	x.d.count(classOf(in.node, in.step), +1)
	x.d.timers.set(in.path, in.open())
	switch {
	case in.step.State != fsm.ActivityStateReady():
	case in.host != nil:
		x.d.sides.push(in)
	case in.node.kind.worker:
		x.d.ready.push(in)
	}
}
