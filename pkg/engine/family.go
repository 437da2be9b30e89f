package engine

import "github.com/wovyr/wovyr/pkg/workflow"

// A family is an execution with all that it started, and all that those started. Its size is bounded without anybody counting it:
// an execution has a share, lends each child a part of it, and gets that back when the child has ended. So the shares of all that are
// open at one depth never add up to more than that of the first, and who has nothing left to lend starts nothing
// (semantics 49; docs/adr/0016-a-family-lives-on-shares.md).

// share is what the execution may lend: what it was lent itself.
func (x *fold) share() uint64 {
	if p := x.s.Origin.Parent; p != nil && p.Share > 0 {
		return p.Share
	}
	return RootShare // the first of a family, or one that an older release started
}

// part is what the next child of a step is lent. The only child gets three quarters of what is free, so that a chain gets deep. Of those
// that run side by side, as far as that is known, each gets the same, and of others, who may come without end, each less.
func (t *Turn) part(in inst) uint64 {
	lent := t.s.Lent
	all := t.share()
	if lent.Share >= all {
		return 0
	}
	free, open := all-lent.Share, uint64(lent.Children)
	switch beside := t.beside(in); {
	case open < beside && beside > 1:
		return free / 4 * 3 / (beside - open)
	case open == 0:
		return free / 4 * 3
	}
	return free / (open + 2)
}

// beside is how many children may run at once in the place of a step, as far as the definition and the lists of items tell. It is only
// about fairness: whatever it says, no more is lent than there is.
func (t *Turn) beside(in inst) uint64 {
	n := uint64(1)
	if sc := in.open().Scope; sc != nil && len(sc.Shards) > 0 {
		n = uint64(least(len(sc.Shards), sc.Parallel))
	}
	if in.host != nil {
		in = *in.host
	}
	for ok := true; ok && n < MaxItems; {
		n *= uint64(max(in.node.abreast, 1))
		f := in.frame
		if in, ok = t.container(f); ok && in.node.step.Foreach != nil && in.open() != nil && in.open().Scope != nil {
			sc := in.open().Scope
			n *= uint64(max(least(sc.Count, sc.Parallel), 1))
		}
	}
	return n
}

// lendTo is what a child of a workflow is lent, or why it cannot be started.
func (t *Turn) lendTo(in inst, name string) (uint64, *workflow.Error) {
	part := t.part(in)
	if t.isUndo(in) {
		return max(part, 1), nil // work that was done must be undone
	}
	if part == 0 {
		return 0, workflow.Errorf("children.family", workflow.CategoryWorkflow,
			"too many executions descend from the first of this family, or may do so at once: wait for children before more are started, or start a part of them by events")
	}
	for _, a := range t.line() {
		if a.Workflow == name && part < a.Share/MaxFamily {
			return 0, workflow.Errorf("children.family", workflow.CategoryWorkflow,
				"workflow %s starts itself, and so often at once that more than %d executions of it could come of one: let it end earlier, or wait for children before more are started", name, MaxFamily)
		}
	}
	return part, nil
}

// line lists the workflows that run above the children of this execution, each with the share of the first that runs it.
func (x *fold) line() []workflow.Ancestor {
	var above []workflow.Ancestor
	if p := x.s.Origin.Parent; p != nil {
		above = p.Line
	}
	for i := range above {
		if above[i].Workflow == x.s.Workflow {
			return above
		}
	}
	return append(above[:len(above):len(above)], workflow.Ancestor{Workflow: x.s.Workflow, Share: x.share()})
}

// grant notes what an open child was lent.
func (x *fold) grant(share uint64) {
	if share > 0 {
		x.s.Lent.Share += share
		x.s.Lent.Children++
	}
}

// regain notes that a child has ended, of whose share nothing is in use any more.
func (x *fold) regain(share uint64) {
	if share > 0 {
		x.s.Lent.Share -= share
		x.s.Lent.Children--
	}
}

// spread works out, for each step of a body that starts executions, how many such steps may run at once: those that are as far from the
// beginning. Of several that one step picks, one counts.
func (x *body) spread() {
	level := x.levels()
	type place struct{ level, picker int }
	seen := map[place]bool{}
	count := map[int]int{}
	for i := range x.nodes {
		n := &x.nodes[i]
		if !n.bears() {
			continue
		}
		at := place{level[i], -1 - i}
		if len(n.step.Picked) > 0 {
			at.picker = int(x.byName[n.step.Picked[0]])
		}
		if !seen[at] {
			seen[at] = true
			count[level[i]]++
		}
	}
	for i := range x.nodes {
		if x.nodes[i].bears() {
			x.nodes[i].abreast = count[level[i]]
		}
	}
}

// levels is how many steps stand one behind the other before each step of a body.
func (x *body) levels() []int {
	level, before := make([]int, len(x.nodes)), make([]int, len(x.nodes))
	after := make([][]int, len(x.nodes))
	for i := range x.nodes {
		n := &x.nodes[i]
		for _, e := range n.out {
			after[i] = append(after[i], e.node)
		}
		after[i] = append(after[i], n.picks...)
		for _, k := range after[i] {
			before[k]++
		}
	}
	var next []int
	for i, n := range before {
		if n == 0 {
			next = append(next, i)
		}
	}
	for len(next) > 0 {
		i := next[len(next)-1]
		next = next[:len(next)-1]
		for _, k := range after[i] {
			level[k] = max(level[k], level[i]+1)
			if before[k]--; before[k] == 0 {
				next = append(next, k)
			}
		}
	}
	return level
}

// bears reports whether a step starts executions, or one inside it does.
func (n *node) bears() bool {
	if n.step.Child != nil || n.notify != nil && n.notify.step.Child != nil {
		return true
	}
	for _, b := range n.bodies {
		for i := range b.nodes {
			if b.nodes[i].abreast > 0 {
				return true
			}
		}
	}
	return false
}
