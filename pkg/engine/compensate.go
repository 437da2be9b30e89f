package engine

import (
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Compensation (WF-002 §24, WF-006 §16): what completed is undone in the reverse order, one after the other. One that fails
// for good stops it, visibly, until an operator moves.

// undoShards is the compensation of a foreach that was spread over shards: an execution for each, which undoes its work.
var undoShards = &node{step: &workflow.Step{Name: "undo shards", Kind: workflow.KindWorkflow}, side: true}

// undoNext starts the compensation of the top of the stack.
func (t *Turn) undoNext() {
	u := &t.s.Undo[len(t.s.Undo)-1]
	if n := len(u.Shards); n > 0 && hasChild(t.s.Closing, u.Shards[n-1]) {
		return // a shard that was cancelled is undone once it has ended
	}
	if t.s.Undoing == nil && t.fits(128) {
		t.startSide(u.Step + undoSuffix)
	}
}

// undone takes a finished compensation off the stack.
func (x *fold) undone(in inst) {
	x.s.Undoing = nil
	if n := len(x.s.Undo); n > 0 {
		if u := &x.s.Undo[n-1]; len(u.Shards) > 1 {
			u.Shards = u.Shards[: len(u.Shards)-1 : len(u.Shards)-1]
			return
		}
	}
	x.popUndo(in.host.path)
}

// callNames are the names that the input of a call reads: for a compensation, also the step's own output and error, and for a
// notification the task.
func (t *Turn) callNames(in inst) *lazyActivation {
	if in.side == nil || in.side != t.s.Undoing {
		return t.lazily(in)
	}
	r := in.host.step.Result
	if r == nil {
		r = &workflow.Result{}
	}
	return t.lazily(in, named{"output", expr.Of(orNull(r.Output))}, named{"error", errorBinding(r.Error)})
}

// undoesShards reports whether a side step undoes the shards of a foreach.
func (t *Turn) undoesShards(in inst) bool { return in.node == undoShards }

// undoableShards lists the shards of a foreach that ends whose work can be undone.
func (x *fold) undoableShards(in inst, o *workflow.OpenStep) []string {
	if in.node.step.Foreach == nil || !canUndo(in.node) {
		return nil
	}
	if i, ok := x.taken(in.path); ok && len(x.s.Origin.Redrive.Taken[i].Shards) > 0 {
		return x.s.Origin.Redrive.Taken[i].Shards
	}
	if o == nil || o.Scope == nil {
		return nil
	}
	var list []string
	for k := range o.Scope.Shards {
		if o.Scope.Shards[k].State != workflow.ShardWaiting {
			list = append(list, x.shardID(in, k))
		}
	}
	return list
}

// canUndo reports whether a step inside another one has a compensation.
func canUndo(n *node) bool {
	for _, b := range n.bodies {
		for i := range b.nodes {
			if b.nodes[i].undo != nil || canUndo(&b.nodes[i]) {
				return true
			}
		}
	}
	return false
}

// startShardUndo starts the execution that undoes a shard.
func (t *Turn) startShardUndo(in inst) {
	u := t.s.Undo[len(t.s.Undo)-1]
	shard := u.Shards[len(u.Shards)-1]
	e := workflow.ChildRequested{Step: in.path, Child: shard + undoSuffix, Wait: true, OnClose: workflow.ParentCloseAbandon, Undo: shard, Share: max(t.part(in), 1)}
	if in.step.State == fsm.ActivityStateRetrying() {
		e.Child += decimal(in.open().Attempt + 1)
	}
	t.begin(in, t.env.By, limits{})
	t.move(e)
	t.ask(in)
}
