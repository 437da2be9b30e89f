package engine

import (
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// pushUndo puts a step that ended on the stack of what a compensation would undo. A structured step with a compensation
// of its own stands for all that completed inside it (semantics 31).
func (x *fold) pushUndo(in inst, status workflow.Status, o *workflow.OpenStep) {
	if in.node.exit() {
		return
	}
	if shards := x.undoableShards(in, o); len(shards) > 0 && (in.node.undo == nil || status != workflow.StatusCompleted) {
		x.s.Undo = append(x.s.Undo, workflow.Undoable{Step: in.path, Shards: shards, Order: x.s.Version})
		return
	}
	c := in.node.step.Compensate
	if c == nil {
		return
	}
	switch status {
	case workflow.StatusCompleted:
	case workflow.StatusFailed, workflow.StatusCaught, workflow.StatusCancelled:
		if !c.Attempted || o == nil || o.FirstAt == 0 || o.Walked && o.Fence <= 1 {
			return
		}
	default:
		return
	}
	if status == workflow.StatusCompleted && len(in.node.bodies) > 0 {
		x.dropUndo(in.path + "/")
	}
	x.s.Undo = append(x.s.Undo, workflow.Undoable{Step: in.path, Order: x.s.Version})
	for f := in.frame; f != nil; f = f.Parent {
		f.Undo++
	}
}

// dropUndo takes everything below a path off the stack.
func (x *fold) dropUndo(prefix string) {
	kept := x.s.Undo[:0]
	for _, u := range x.s.Undo {
		if !strings.HasPrefix(u.Step, prefix) {
			kept = append(kept, u)
			continue
		}
		x.unlinkUndo(u)
	}
	clear(x.s.Undo[len(kept):])
	x.s.Undo = kept
}

// unlinkUndo takes the entry's weight off the frames that hold it.
func (x *fold) unlinkUndo(u workflow.Undoable) {
	if len(u.Shards) > 0 {
		return
	}
	if in, ok := x.lead(u.Step); ok {
		for f := in.frame; f != nil; f = f.Parent {
			f.Undo--
		}
	}
}

// popUndo takes the entry that was undone off the stack.
func (x *fold) popUndo(path string) {
	for i := len(x.s.Undo) - 1; i >= 0; i-- {
		if u := x.s.Undo[i]; u.Step == path {
			x.unlinkUndo(u)
			x.s.Undo = append(x.s.Undo[:i], x.s.Undo[i+1:]...)
			return
		}
	}
}
