package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Shards: a foreach above MaxInline items is spread over executions of its own, each with a range of the items, which may
// spread theirs again. The parent sees shards only, and its output is a manifest (commit protocol, point 9).

const shardMark = "/shard-"

// shardID is the ID of the execution that runs shard k of a foreach.
func (x *fold) shardID(in inst, k int) string {
	return x.s.Execution + "/" + in.path + shardMark + strconv.Itoa(k)
}

// shardLink is shard k of a foreach as a child.
func (x *fold) shardLink(in inst, k int) workflow.ChildLink {
	return workflow.ChildLink{Step: in.path, Child: x.shardID(in, k), Workflow: x.s.Workflow, Definition: x.s.Definition, Hash: x.s.Hash, Wait: true, Share: in.open().Scope.Shards[k].Share}
}

// shardOf is the inverse of shardID; -1 if the ID is none of this foreach.
func (x *fold) shardOf(in inst, id string) int {
	rest, ok := strings.CutPrefix(id, x.s.Execution+"/"+in.path+shardMark)
	if !ok {
		return -1
	}
	k, err := strconv.Atoi(rest)
	if err != nil || k < 0 || k >= len(in.open().Scope.Shards) {
		return -1
	}
	return k
}

// shardRange is the range of shard k, counted from the first item that this execution runs.
func shardRange(sc *workflow.Scope, k int) (from, to int) {
	n := len(sc.Shards)
	return sc.Count * k / n, sc.Count * (k + 1) / n
}

// rootOfShard instantiates the body around the foreach of which this execution runs a part. Nothing else in it runs.
func (x *fold) rootOfShard() error {
	path := x.s.Origin.Shard.Step
	b, name, prefix := x.p.bodyOf(path)
	if b == nil {
		return lost(path)
	}
	x.s.Root = x.newFrame(b, prefix, 0, workflow.Payload{})
	for i := range x.s.Root.Steps {
		if b.nodes[i].step.Name != name {
			x.s.Root.Steps[i].Status = workflow.StatusDead
		}
	}
	x.relink()
	return nil
}

// bodyOf finds the body that holds the step of a path, without a state: indexes and iterations are passed over.
func (p *Program) bodyOf(path string) (b *body, name, prefix string) {
	b, rest := p.root(), path
	for {
		seg, tail, more := strings.Cut(rest, "/")
		i, ok := b.byName[seg]
		if !ok {
			return nil, "", ""
		}
		n := &b.nodes[i]
		if !more {
			return b, seg, path[:len(path)-len(seg)]
		}
		switch {
		case len(n.bodies) == 0:
			return nil, "", ""
		case n.step.Group != nil:
			b, rest = n.bodies[0], tail
		case n.step.Race != nil:
			branch, after, _ := strings.Cut(tail, "/")
			b, rest = n.branch(branch), after
		default:
			_, after, _ := strings.Cut(tail, "/")
			b, rest = n.bodies[0], after
		}
		if b == nil {
			return nil, "", ""
		}
	}
}

func (n *node) branch(name string) *body {
	for _, b := range n.bodies {
		if b.name == name {
			return b
		}
	}
	return nil
}

// startShard starts the foreach of which this execution runs a part.
func (t *Turn) startShard() {
	in, ok := t.locate(t.s.Origin.Shard.Step)
	if !ok || t.takeOver(in) {
		return
	}
	t.move(workflow.ActivityReady{Step: in.path})
	t.dispatch(in)
}

// report notes what a shard tells its parent of its items.
func (x *fold) report(in inst, o *workflow.OpenStep) {
	if k := x.takenEnd(in.path); k.Status == workflow.StatusCompleted {
		x.s.Shard.Count, x.s.Shard.Failed = k.Count, k.Failed
	} else if o != nil && o.Scope != nil {
		x.s.Shard.Count, x.s.Shard.Failed = o.Scope.Count, o.Scope.Failed
	}
}

// shown reports whether a step of a frame is visible to expressions: around a shard, only its foreach is.
func (x *fold) shown(f *workflow.Frame, i int) bool {
	return x.s.Origin.Shard == nil || f != x.s.Root || f.Steps[i].Status != workflow.StatusDead
}

// outerStep finds the result of a step around a shard.
func (x *fold) outerStep(name string) (expr.Binding, bool) {
	s := x.s.Origin.Shard
	if s == nil {
		return expr.Binding{}, false
	}
	for i := range s.Steps {
		if s.Steps[i].Step == name {
			return resultBinding(s.Steps[i].Status, s.Steps[i].Result, nil), true
		}
	}
	return expr.Binding{}, false
}

// outerName finds a name that is bound around a shard.
func (x *fold) outerName(name string) (expr.Binding, bool) {
	s := x.s.Origin.Shard
	if s == nil {
		return expr.Binding{}, false
	}
	for i := range s.Names {
		if s.Names[i].Name == name {
			return expr.Of(orNull(s.Names[i].Value)), true
		}
	}
	return expr.Binding{}, false
}

// advanceShards starts further shards, and ends the foreach when all have ended or one has failed it.
func (t *Turn) advanceShards(in inst, sc *workflow.Scope) {
	if sc.Error != nil {
		t.fail(in, sc.Error, false)
		return
	}
	for sc.Next < len(sc.Shards) && (sc.Parallel == 0 || sc.Open < sc.Parallel) && !t.stopped(in.frame) {
		if !t.fits(128) {
			return
		}
		share, err := t.lendTo(in, "") // a shard is a part of this execution, and no workflow that starts itself
		if err != nil {
			t.fail(in, err, false)
			return
		}
		t.move(workflow.ChildRequested{Step: in.path, Child: t.shardID(in, sc.Next), Wait: true, Shard: sc.Next + 1, Share: share})
		t.commands++
	}
	if sc.Done == len(sc.Shards) {
		t.complete(in, t.manifest(in, sc))
	}
}

// manifest is the output of a foreach that was spread over shards: {count, failed, ref}. `ref` names the shards, whose
// outputs it stands for (semantics 35). It is a reference whose parts are all known, so that an expression that
// takes it for the list of a smaller foreach fails, and does not count or map the words of a manifest.
func (t *Turn) manifest(in inst, sc *workflow.Scope) workflow.Payload {
	b := appendText([]byte(`{"/count":`+strconv.Itoa(sc.Count)+`,"/failed":`+strconv.Itoa(sc.Failed)+`,"/ref":`),
		t.s.Execution+"/"+in.path+shardMark+"0.."+strconv.Itoa(len(sc.Shards)-1))
	known := workflow.Value(append(b, '}'))
	return workflow.Payload{JSON: workflow.Null, Holes: []workflow.Hole{{Ref: &workflow.Ref{Size: int64(len(known)) - 3, Known: known}}}}
}

// openShard applies the request of a shard.
func (x *fold) openShard(in inst, before class, e workflow.ChildRequested) error {
	sc := in.open().Scope
	if sc == nil || e.Shard > len(sc.Shards) || sc.Shards[e.Shard-1].State != workflow.ShardWaiting {
		return fmt.Errorf("shard %d cannot be started", e.Shard-1)
	}
	s := &sc.Shards[e.Shard-1]
	s.State, s.Share = workflow.ShardOpen, e.Share
	x.grant(e.Share)
	sc.Open++
	sc.Next++
	x.after(in, before)
	return nil
}

// closeShard applies the end of a shard.
func (x *fold) closeShard(in inst, before class, e workflow.ChildEnded) error {
	sc := in.open().Scope
	k := x.shardOf(in, e.Child)
	if k < 0 || sc.Shards[k].State != workflow.ShardOpen {
		return fmt.Errorf("there is no open shard %s", e.Child)
	}
	s := &sc.Shards[k]
	s.State, s.Count, s.Failed, s.Undoable = workflow.ShardCompleted, e.Count, e.Failed, e.Undoable
	x.regain(s.Share)
	s.Share = 0
	sc.Open--
	sc.Done++
	sc.Failed += e.Failed
	if e.Outcome != workflow.OutcomeCompleted {
		s.State = workflow.ShardFailed
		if sc.Error == nil {
			sc.Error = e.Error
		}
	}
	if sc.Error == nil && (e.Outcome != workflow.OutcomeCompleted || sc.Failed > sc.Tolerate) {
		sc.Error = workflow.Errorf("foreach.failed", workflow.CategoryWorkflow, "%d of %d items failed, more than the %d that are tolerated", sc.Failed, sc.Count, sc.Tolerate)
	}
	x.after(in, before)
	x.pushAdvance(in)
	return nil
}

// onShardEnd takes the end of a shard.
func (t *Turn) onShardEnd(in inst, e workflow.ChildEnded) error {
	k := t.shardOf(in, e.Child)
	if k < 0 || in.open().Scope.Shards[k].State != workflow.ShardOpen {
		return nil
	}
	t.move(e)
	var vars []workflow.Variable
	for _, v := range e.Vars {
		how := t.p.reduction(in.node, v.Name)
		if how == "append" {
			how = "concat"
		}
		value, err := t.reduce(how, v.Name, v.Value)
		if err == nil && weighPayload(value) > MaxValue {
			err = tooLarge("the variable "+v.Name, weighPayload(value), MaxValue)
		}
		if err != nil {
			t.move(workflow.ScopeEnding{Step: in.path, Error: err})
			return nil
		}
		vars = append(vars, workflow.Variable{Name: v.Name, Value: value})
	}
	if len(vars) > 0 {
		t.emit(workflow.VariablesSet{Step: in.path, Vars: vars})
	}
	return nil
}

// reduction says how writes of a variable inside a step combine; "last" without a word.
func (p *Program) reduction(n *node, name string) string {
	for _, b := range n.bodies {
		for i := range b.nodes {
			if set := b.nodes[i].step.Set; set != nil {
				for _, as := range set.Assign {
					if as.Var == name && as.Reduce != "" {
						return as.Reduce
					}
				}
			}
			if how := p.reduction(&b.nodes[i], name); how != "last" {
				return how
			}
		}
	}
	return "last"
}

// shard describes shard k for its start.
func (x *fold) shard(in inst, k int) *workflow.Shard {
	sc := in.open().Scope
	from, to := shardRange(sc, k)
	s := &workflow.Shard{
		Step: in.path, From: x.firstItem(in) + from, Count: to - from, Parallel: sc.ShardParallel, Tolerate: sc.Tolerate, Whole: sc.Whole,
	}
	if sc.Whole == nil {
		s.Items = sc.Items[from:to]
	}
	for _, v := range x.s.Vars {
		if x.p.reduction(in.node, v.Name) != "last" {
			v.Value = workflow.Payload{} // the shard's writes are combined with the value here
		}
		s.Vars = append(s.Vars, v)
	}
	x.capture(in, s)
	return s
}

// capture hands a shard what its body reads from around the foreach.
func (x *fold) capture(in inst, s *workflow.Shard) {
	if outer := x.s.Origin.Shard; outer != nil {
		s.Names, s.Steps = outer.Names, outer.Steps
		if in.frame == x.s.Root {
			return
		}
	}
	for at := in; ; {
		for _, e := range at.node.needs {
			st := &at.frame.Steps[e.node]
			s.Steps = addShardStep(s.Steps, workflow.ShardInput{Step: at.node.body.nodes[e.node].step.Name, Status: st.Status, Result: bare(st.Result)})
		}
		up, ok := x.container(at.frame)
		if !ok {
			return
		}
		x.captureNames(at.frame, up, s)
		at = up
	}
}

// captureNames hands on the names that a body binds.
func (x *fold) captureNames(f *workflow.Frame, owner inst, s *workflow.Shard) {
	add := func(name string, v workflow.Payload) {
		for i := range s.Names {
			if s.Names[i].Name == name {
				return // an inner one hides it
			}
		}
		s.Names = append(s.Names[:len(s.Names):len(s.Names)], workflow.Variable{Name: name, Value: v})
	}
	switch {
	case owner.node.step.Foreach != nil:
		add(owner.node.step.Foreach.As, f.Item)
		add("index", workflow.Inline(workflow.Value(strconv.Itoa(f.Index))))
	case owner.node.step.Loop != nil:
		add("iteration", workflow.Inline(workflow.Value(strconv.Itoa(f.Index))))
		if owner.node.bodies[0].previous {
			if v, ok := x.previousValue(owner); ok {
				add("previous", v)
			}
		}
	}
}

// previousValue is `previous` as a value.
func (x *fold) previousValue(loop inst) (workflow.Payload, bool) {
	c, err := expr.Load(&workflow.Expr{Source: "previous"})
	if err != nil {
		return workflow.Payload{}, false
	}
	v, err := c.Eval(x.inFrame(nil, named{"previous", x.previous(loop)}))
	return v, err == nil
}

// addShardStep adds a result unless one of that name, from further inside, is there.
func addShardStep(list []workflow.ShardInput, in workflow.ShardInput) []workflow.ShardInput {
	for i := range list {
		if list[i].Step == in.Step {
			return list
		}
	}
	return append(list[:len(list):len(list)], in)
}

// bare is a result without the bodies it may hold.
func bare(r *workflow.Result) *workflow.Result {
	if r == nil || len(r.Frames) == 0 {
		return r
	}
	c := *r
	c.Frames = nil
	return &c
}
