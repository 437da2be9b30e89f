package engine

import (
	"fmt"
	"slices"

	"github.com/wovyr/wovyr/pkg/workflow"
)

func registerScope() {
	on(applyItemsSet)
	on(applyScopeOpened)
	on(applyScopeClosed)
	on(applyScopeEnding)
	on(applyIterationDelayed)
	on(applyVariablesSet)
	on(func(x *fold, _ workflow.EventEmitted) error { x.s.Emitted++; return nil })
}

// newScope is the inside of a structured step before any body is open.
func newScope(n *node) *workflow.Scope {
	sc := &workflow.Scope{}
	switch {
	case n.step.Race != nil:
		sc.Frames = make([]*workflow.Frame, len(n.bodies))
		sc.Results = make([]workflow.ScopeResult, len(n.bodies))
	case n.step.Foreach == nil:
		sc.Frames = make([]*workflow.Frame, 1)
	}
	return sc
}

// newFrame instantiates the steps of a body: each is Created (WF-006 §7).
func (x *fold) newFrame(b *body, prefix string, index int, item workflow.Payload) *workflow.Frame {
	f := &workflow.Frame{Prefix: prefix, Body: b.id, Index: index, Item: item, Left: b.left}
	f.Steps = make([]workflow.StepState, len(b.nodes))
	for i := range f.Steps {
		f.Steps[i].Join = b.fresh[i]
		f.Steps[i].State = createdState
	}
	return f
}

// openFrame puts the steps that can start at once on the agenda.
func (x *fold) openFrame(f *workflow.Frame) {
	if x.agenda == nil {
		return
	}
	for _, i := range x.p.bodies[f.Body].starts {
		x.agenda.push(task{op: opConsider, frame: f, node: i})
	}
	x.frameMoved(f) // a body without steps
}

func (x *fold) openScope(path string) (inst, *workflow.Scope, error) {
	in, ok := x.locate(path)
	if !ok || in.open() == nil || in.open().Scope == nil {
		return inst{}, nil, lost(path)
	}
	return in, in.open().Scope, nil
}

func applyItemsSet(x *fold, e workflow.ItemsSet) error {
	in, sc, err := x.openScope(e.Step)
	if err != nil {
		return err
	}
	before := classOf(in.node, in.step)
	sc.Set, sc.Items, sc.Whole, sc.Count = true, slices.Clone(e.Items), e.Whole, e.Count // the event stays as it is
	sc.Parallel, sc.ShardParallel, sc.Tolerate = e.Parallel, e.ShardParallel, e.Tolerate
	if e.Shards > 0 {
		sc.Shards = make([]workflow.ShardState, e.Shards)
	} else {
		sc.Frames = make([]*workflow.Frame, e.Count)
		sc.Results = make([]workflow.ScopeResult, e.Count)
	}
	x.after(in, before)
	return nil
}

func applyScopeOpened(x *fold, e workflow.ScopeOpened) error {
	in, sc, err := x.openScope(e.Step)
	if err != nil {
		return err
	}
	b, slot, item := in.node.bodies[0], 0, workflow.Payload{}
	switch {
	case in.node.step.Race != nil:
		if e.Index < 0 || e.Index >= len(in.node.bodies) {
			return fmt.Errorf("there is no branch %d", e.Index)
		}
		b, slot = in.node.bodies[e.Index], e.Index
	case in.node.step.Foreach != nil:
		first := x.firstItem(in)
		if slot = e.Index - first; slot < 0 || slot >= len(sc.Frames) {
			return fmt.Errorf("there is no item %d", e.Index)
		}
		item = sc.Items[slot]
	}
	if sc.Frames[slot] != nil {
		return fmt.Errorf("body %d is open", e.Index)
	}
	before := classOf(in.node, in.step)
	in.open().WakeAt = 0
	f := x.newFrame(b, prefixOf(in, e.Index), e.Index, item)
	f.Parent, f.Node = in.frame, in.node.index
	sc.Frames[slot] = f
	sc.Open++
	sc.Next++
	x.after(in, before)
	x.openFrame(f)
	return nil
}

func applyScopeClosed(x *fold, e workflow.ScopeClosed) error {
	in, sc, err := x.openScope(e.Step)
	if err != nil {
		return err
	}
	slot := e.Index
	switch {
	case in.node.step.Foreach != nil:
		slot -= x.firstItem(in)
	case in.node.step.Race == nil:
		slot = 0
	}
	if slot < 0 || slot >= len(sc.Frames) || sc.Frames[slot] == nil || sc.Frames[slot].Index != e.Index {
		return fmt.Errorf("body %d is not open", e.Index)
	}
	f := sc.Frames[slot]
	if f.Active > 0 {
		return fmt.Errorf("body %d has %d open steps", e.Index, f.Active)
	}
	f.Closed = true
	sc.Frames[slot] = nil
	sc.Open--
	sc.Done++
	if e.Error != nil {
		sc.Failed++
	}
	x.keepFrame(in, sc, f)
	switch {
	case in.node.step.Loop != nil:
		if e.Error != nil {
			sc.Error = e.Error
		} else if !e.Cancelled && in.node.step.Loop.Collect != nil {
			sc.Results = append(sc.Results, workflow.ScopeResult{Closed: true, Output: e.Output})
		} else if !e.Cancelled {
			sc.Results = []workflow.ScopeResult{{Closed: true, Output: e.Output}}
		}
	case in.node.step.Group == nil:
		sc.Results[slot] = workflow.ScopeResult{Closed: true, Failed: e.Error != nil, Output: e.Output}
		x.closedBody(in, sc, slot, e)
	}
	x.last = inst{}
	x.pushAdvance(in)
	return nil
}

// closedBody notes what the end of an item or branch means for the whole.
func (x *fold) closedBody(in inst, sc *workflow.Scope, slot int, e workflow.ScopeClosed) {
	if in.node.step.Race != nil {
		sc.Results[slot].Error = e.Error
		if e.Error == nil && !e.Cancelled && sc.Winner == 0 && !x.relives(in) {
			sc.Winner = slot + 1
		}
		return
	}
	sc.Results[slot].Failed = e.Error != nil || e.Cancelled
	if e.Error != nil && sc.Failed > sc.Tolerate && sc.Error == nil {
		sc.Error = e.Error
	}
	sc.Items[slot] = workflow.Payload{} // nobody reads it again
}

// keepFrame keeps a closed body as far as something may read it.
func (x *fold) keepFrame(in inst, sc *workflow.Scope, f *workflow.Frame) {
	if in.node.step.Loop != nil {
		if p := sc.Previous; p != nil && p.Undo > 0 {
			x.prune(p)
			sc.Kept = append(sc.Kept, p)
		}
		sc.Previous = nil
		if in.node.bodies[0].previous {
			sc.Previous = f
			return
		}
	}
	if f.Undo > 0 {
		x.prune(f)
		sc.Kept = append(sc.Kept, f)
	}
}

// prune drops all results of a closed body but those that a compensation needs.
func (x *fold) prune(f *workflow.Frame) {
	b := x.p.bodies[f.Body]
	for i := range f.Steps {
		n, st := &b.nodes[i], &f.Steps[i]
		if st.Result != nil && !n.heldUndo && n.undo == nil && len(st.Result.Frames) == 0 {
			st.Result = nil
		}
	}
}

// keptFrames are the bodies of a step that ends which hold work that can be undone.
func (x *fold) keptFrames(o *workflow.OpenStep) []*workflow.Frame {
	if o == nil || o.Scope == nil {
		return nil
	}
	kept := o.Scope.Kept
	for _, list := range [][]*workflow.Frame{o.Scope.Frames, {o.Scope.Previous}} {
		for _, f := range list {
			if f != nil && f.Undo > 0 {
				f.Closed = true
				x.prune(f)
				kept = append(kept, f)
			}
		}
	}
	return kept
}

func applyScopeEnding(x *fold, e workflow.ScopeEnding) error {
	in, sc, err := x.openScope(e.Step)
	if err != nil {
		return err
	}
	sc.Ending = true
	if e.Error != nil && sc.Error == nil {
		sc.Error = e.Error
	}
	x.pushAdvance(in)
	return nil
}

func applyIterationDelayed(x *fold, e workflow.IterationDelayed) error {
	in, before, err := x.openStep(e.Step)
	if err != nil {
		return err
	}
	in.open().WakeAt = e.At
	x.after(in, before)
	return nil
}

func applyVariablesSet(x *fold, e workflow.VariablesSet) error {
	for _, v := range e.Vars {
		x.s.Vars = setVar(x.s.Vars, v)
		if x.s.Shard != nil {
			x.s.Shard.Vars = setVar(x.s.Shard.Vars, v)
		}
	}
	return nil
}

// setVar gives a variable its value.
func setVar(list []workflow.Variable, v workflow.Variable) []workflow.Variable {
	for i := range list {
		if list[i].Name == v.Name {
			list[i].Value = v.Value
			return list
		}
	}
	return append(list, v)
}
