package engine

import (
	"math"
	"strconv"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Foreach: a body for each item, here up to MaxInline items, beyond that in shards.

func decimal(i int) string { return strconv.Itoa(i) }

func foreachWaits(_ *node, o *workflow.OpenStep) workflow.WaitReason {
	if o.Scope != nil && o.Scope.Open > 0 && len(o.Scope.Shards) > 0 {
		return workflow.WaitChild
	}
	return 0
}

// firstItem is the index of the first item in the whole foreach: not 0 in a shard.
func (x *fold) firstItem(in inst) int {
	if x.ofShard(in) {
		return x.s.Origin.Shard.From
	}
	return 0
}

// ofShard reports whether a step is the foreach whose items this execution runs as a shard.
func (x *fold) ofShard(in inst) bool {
	return x.s.Origin.Shard != nil && in.frame == x.s.Root
}

func startForeach(t *Turn, in inst) {
	items, err := t.items(in)
	if err != nil {
		t.failStart(in, err)
		return
	}
	if !t.fits(items.bytes()) {
		return
	}
	if t.openBody(in) {
		t.setItems(in, items)
	}
}

// itemList is what a foreach runs over: items, or a list that is kept by reference.
type itemList struct {
	items []workflow.Payload
	whole *workflow.Payload
	count int
}

func (l *itemList) bytes() (n int) {
	for i := range l.items {
		n += weighPayload(l.items[i])
	}
	return n + 64
}

// items evaluates the items of a foreach.
func (t *Turn) items(in inst) (itemList, *workflow.Error) {
	var list itemList
	var err *workflow.Error
	switch taken, ok := t.takenItems(in.path); {
	case t.ofShard(in):
		s := t.s.Origin.Shard
		list = itemList{items: s.Items, whole: s.Whole, count: s.Count}
	case ok:
		list = taken
	default:
		if list, err = t.evalItems(in); err != nil {
			return list, err
		}
	}
	if list.count > MaxItems {
		return list, workflow.Errorf("foreach.too_many", workflow.CategoryWorkflow, "%d items are more than %d: split the list over several executions", list.count, MaxItems)
	}
	if n := list.bytes(); n > MaxValue {
		return list, tooLarge("the list of items", n, MaxValue)
	}
	if list.whole != nil && list.count <= MaxInline {
		return t.spread(list)
	}
	return list, nil
}

func (t *Turn) evalItems(in inst) (itemList, *workflow.Error) {
	c, err := expr.LoadTemplate(in.node.step.Foreach.Items)
	if err != nil {
		return itemList{}, exprError(err)
	}
	a := t.at(in)
	v, err := c.Render(a)
	if err != nil {
		return itemList{}, exprError(err)
	}
	if len(v.Holes) == 1 && v.Holes[0].At == "" && v.Holes[0].Ref != nil {
		n, err := t.sizeOf(v)
		return itemList{whole: &v, count: n}, err
	}
	if v.JSON.IsNull() || v.JSON[0] != '[' {
		_, err = c.RenderList(a) // no list: the error says where and what it is
		return itemList{}, exprError(err)
	}
	items, bad := listOf(v)
	return itemList{items: items, count: len(items)}, bad
}

var (
	sizeExpr = &workflow.Expr{Source: "size(whole)"}
	itemExpr = &workflow.Expr{Source: "whole[i]"}
)

// sizeOf is the number of items of a list that is kept by reference.
func (t *Turn) sizeOf(list workflow.Payload) (int, *workflow.Error) {
	c, err := expr.Load(sizeExpr)
	if err != nil {
		return 0, exprError(err)
	}
	n, err := c.EvalInt(t.inFrame(nil, named{"whole", expr.Of(list)}))
	if err != nil {
		return 0, exprError(err)
	}
	return int(n), nil
}

// spread makes items of a list that is kept by reference: each is a reference too.
func (t *Turn) spread(list itemList) (itemList, *workflow.Error) {
	c, err := expr.Load(itemExpr)
	if err != nil {
		return list, exprError(err)
	}
	from := 0
	if s := t.s.Origin.Shard; s != nil {
		from = s.From
	}
	out := itemList{count: list.count, items: make([]workflow.Payload, list.count)}
	for i := range out.items {
		names := []named{{"whole", expr.Of(*list.whole)}, {"i", expr.OfInt(int64(from + i))}}
		if out.items[i], err = c.Eval(t.inFrame(nil, names...)); err != nil {
			return list, exprError(err)
		}
	}
	return out, nil
}

// setItems fixes the items of a running foreach and how they are run, and starts the first ones.
func (t *Turn) setItems(in inst, list itemList) {
	e, err := t.plan(in, list)
	if err != nil {
		t.fail(in, err, false)
		return
	}
	t.move(e)
	advanceForeach(t, in)
}

// plan decides how items are run.
func (t *Turn) plan(in inst, list itemList) (workflow.ItemsSet, *workflow.Error) {
	e := workflow.ItemsSet{Step: in.path, Items: list.items, Whole: list.whole, Count: list.count}
	f, a := in.node.step.Foreach, t.lazily(in)
	var err *workflow.Error
	if s := t.s.Origin.Shard; t.relives(in) && list.count <= MaxInline {
		return e, nil
	} else if t.ofShard(in) {
		e.Parallel, e.Tolerate = s.Parallel, s.Tolerate
	} else {
		if e.Parallel, err = count(f.MaxParallelism, a); err != nil {
			return e, err
		}
		if e.Tolerate, err = tolerance(f.TolerateFailures, list.count, a); err != nil {
			return e, err
		}
	}
	if list.count <= MaxInline {
		return e, nil
	}
	if f.Until != nil {
		return e, workflow.Errorf("foreach.until_too_wide", workflow.CategoryWorkflow,
			"`until` sees all collected items, so it takes %d at most, not %d: run parts of the list in a loop", MaxInline, list.count)
	}
	e.Shards = min((list.count+MaxInline-1)/MaxInline, MaxInline)
	most := least(e.Parallel, t.s.MaxParallelism)
	e.Parallel = 0
	if most > 0 {
		e.Parallel = max((most+MaxInline-1)/MaxInline, 1)
		e.ShardParallel = max(most/e.Parallel, 1)
	}
	return e, nil
}

// least is the smaller of two limits, of which 0 is none.
func least(a, b int) int {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// tolerance is how many of n items may fail.
func tolerance(x *workflow.Tolerance, n int, a *lazyActivation) (int, *workflow.Error) {
	switch {
	case x == nil:
		return 0, nil
	case x.Count != nil:
		return count(x.Count, a)
	}
	return int(math.Floor(float64(n) * x.Percent / 100)), nil
}

// advanceForeach closes items that came to their end, opens further ones, and ends the whole.
func advanceForeach(t *Turn, in inst) {
	sc := in.open().Scope
	if t.timedOut(in) || sc == nil {
		return
	}
	if len(sc.Shards) > 0 {
		t.advanceShards(in, sc)
		return
	}
	if !t.closeItems(in, sc) {
		return
	}
	for sc.Next < sc.Count && !sc.Ending && sc.Error == nil && (sc.Parallel == 0 || sc.Open < sc.Parallel) && !t.stopped(in.frame) {
		if !t.fits(128) {
			return
		}
		t.move(workflow.ScopeOpened{Step: in.path, Index: t.firstItem(in) + sc.Next})
	}
	switch {
	case sc.Open > 0:
	case sc.Error != nil:
		t.fail(in, sc.Error, false)
	case sc.Ending || sc.Done == sc.Count:
		out := arrayOf(collected(sc))
		if t.fits(weighPayload(out)) {
			t.complete(in, out)
		}
	}
}

// closeItems closes items that came to their end; all open ones once the whole is ending. false if a bound was reached.
func (t *Turn) closeItems(in inst, sc *workflow.Scope) bool {
	first := t.firstItem(in)
	for slot := 0; slot < len(sc.Frames); slot++ {
		f := sc.Frames[slot]
		if f == nil {
			continue
		}
		if sc.Ending || sc.Error != nil {
			if !t.endFrame(f, cancelled("step "+in.path+" ends")) {
				return false
			}
			t.move(workflow.ScopeClosed{Step: in.path, Index: first + slot, Cancelled: true})
			continue
		}
		if f.Left > 0 && f.Error == nil {
			continue
		}
		closed := t.closeItem(in, sc, f, first+slot)
		if !closed && t.full {
			return false
		}
		if closed && (sc.Ending || sc.Error != nil) {
			slot = -1 // what is still open ends now
		}
	}
	return true
}

// closeItem closes the body of an item and asks `until`.
func (t *Turn) closeItem(in inst, sc *workflow.Scope, f *workflow.Frame, index int) bool {
	done, failed := t.bodyOver(f)
	if !done && !failed {
		return false
	}
	x := in.node.step.Foreach
	e := workflow.ScopeClosed{Step: in.path, Index: index, Error: f.Error}
	if done && !t.relives(in) {
		e.Output = t.outputsOf(f, t.p.bodies[f.Body].last)
		if x.Collect != nil {
			e.Output, e.Error = render(x.Collect, t.inBody(f))
		}
		if n := weighPayload(e.Output) + collectedBytes(sc); e.Error == nil && n > MaxCollected {
			e.Error = tooLarge("what the foreach collects", n, MaxCollected)
		}
		if e.Error != nil {
			e.Output = workflow.Payload{}
		}
	}
	if !t.fits(weighPayload(e.Output) + 64) {
		return false
	}
	t.move(e)
	if x.Until != nil && e.Error == nil && sc.Error == nil && !t.relives(in) {
		t.askUntil(in, sc, x.Until)
	}
	return true
}

// askUntil ends the foreach early if `until` says so.
func (t *Turn) askUntil(in inst, sc *workflow.Scope, until *workflow.Expr) {
	a := t.at(in, named{"collected", expr.Of(arrayOf(collected(sc)))})
	ok, err := evalBool(until, a)
	if err != nil {
		t.move(workflow.ScopeEnding{Step: in.path, Error: err})
	} else if ok {
		t.move(workflow.ScopeEnding{Step: in.path})
	}
}

// collected are the outputs of the items that completed so far, in the order of the items.
func collected(sc *workflow.Scope) []workflow.Payload {
	var list []workflow.Payload
	for i := range sc.Results {
		if r := &sc.Results[i]; r.Closed && !r.Failed {
			list = append(list, orNull(r.Output))
		}
	}
	return list
}
