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
		x.stack(in, workflow.Undoable{Step: in.path, Shards: shards})
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
	x.stack(in, workflow.Undoable{Step: in.path})
}

// stack puts an entry on the stack: what was taken over below what this execution did, in the order of the other one.
func (x *fold) stack(in inst, u workflow.Undoable) {
	for f := in.frame; f != nil; f = f.Parent {
		f.Undo++
	}
	at := len(x.s.Undo)
	if i, ok := x.taken(u.Step); ok && x.s.Origin.Redrive.Taken[i].Order > 0 {
		u.Order, u.Taken = x.s.Origin.Redrive.Taken[i].Order, true
		for at > 0 && (!x.s.Undo[at-1].Taken || x.s.Undo[at-1].Order > u.Order) {
			at--
		}
	} else {
		u.Order = x.s.Version
	}
	x.s.Undo = append(x.s.Undo, workflow.Undoable{})
	copy(x.s.Undo[at+1:], x.s.Undo[at:])
	x.s.Undo[at] = u
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
