package engine

import (
	"slices"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Clone returns a copy of a state that shares nothing that changes: for tests, and for a shell that wants to decide
// again after a conflict. Values and errors never change, so both share them.
func Clone(s *workflow.State) *workflow.State {
	if s == nil {
		return nil
	}
	c := *s
	c.Derived = nil
	c.Vars = slices.Clone(s.Vars)
	c.Root = cloneFrame(s.Root)
	c.Undo = cloneUndo(s.Undo)
	c.Undoing = cloneSide(s.Undoing)
	c.Held, c.Failures, c.Early = slices.Clone(s.Held), slices.Clone(s.Failures), slices.Clone(s.Early)
	c.Cursors, c.Seen = slices.Clone(s.Cursors), slices.Clone(s.Seen)
	c.Children, c.Closing = slices.Clone(s.Children), slices.Clone(s.Closing)
	if r := s.Origin.Redrive; r != nil {
		next := *r
		next.Taken = slices.Clone(r.Taken)
		c.Origin.Redrive = &next
	}
	if s.Shard != nil {
		shard := *s.Shard
		shard.Vars = slices.Clone(shard.Vars)
		c.Shard = &shard
	}
	return &c
}

func cloneUndo(list []workflow.Undoable) []workflow.Undoable {
	out := slices.Clone(list)
	for i := range out {
		out[i].Shards = slices.Clone(out[i].Shards)
	}
	return out
}

func cloneFrame(f *workflow.Frame) *workflow.Frame {
	if f == nil {
		return nil
	}
	c := *f
	c.Parent = nil
	c.Steps = slices.Clone(f.Steps)
	c.StandIns, c.Joins = slices.Clone(f.StandIns), slices.Clone(f.Joins)
	for i := range c.Steps {
		cloneStep(&c.Steps[i])
	}
	return &c
}

func cloneFrames(list []*workflow.Frame) []*workflow.Frame {
	if list == nil {
		return nil
	}
	out := make([]*workflow.Frame, len(list))
	for i, f := range list {
		out[i] = cloneFrame(f)
	}
	return out
}

// cloneStep replaces what a copied step shares with its original.
func cloneStep(st *workflow.StepState) {
	if st.Result != nil {
		r := *st.Result
		r.Frames = cloneFrames(r.Frames)
		st.Result = &r
	}
	if st.Open != nil {
		st.Open = cloneOpen(st.Open)
	}
}

func cloneOpen(o *workflow.OpenStep) *workflow.OpenStep {
	c := *o
	c.Derived = nil
	if o.Child != nil {
		child := *o.Child
		c.Child = &child
	}
	if t := o.Task; t != nil {
		task := *t
		task.Notify = cloneSide(t.Notify)
		c.Task = &task
	}
	if a := o.Agent; a != nil {
		agent := *a
		agent.Entry = cloneSide(a.Entry)
		agent.Calls = slices.Clone(a.Calls)
		for i := range agent.Calls {
			agent.Calls[i].Approval, agent.Calls[i].Step = cloneSide(a.Calls[i].Approval), cloneSide(a.Calls[i].Step)
		}
		c.Agent = &agent
	}
	if sc := o.Scope; sc != nil {
		scope := *sc
		scope.Items, scope.Results, scope.Shards = slices.Clone(sc.Items), slices.Clone(sc.Results), slices.Clone(sc.Shards)
		scope.Frames, scope.Kept, scope.Previous = cloneFrames(sc.Frames), cloneFrames(sc.Kept), cloneFrame(sc.Previous)
		c.Scope = &scope
	}
	return &c
}

func cloneSide(side *workflow.SideStep) *workflow.SideStep {
	if side == nil {
		return nil
	}
	c := *side
	cloneStep(&c.Step)
	return &c
}
