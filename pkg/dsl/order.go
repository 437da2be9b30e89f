package dsl

import (
	"slices"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// orders tells which steps of one block can never run at the same time. It answers for some steps only, its columns.
type orders struct {
	flow    *flow
	columns int
	column  []int    // by node, from 1; 0 for none
	started []bits   // by node: the columns that have ended for sure, or will never run, when the node starts
	settled []bits   // by node: the same, once the node has ended or turned out never to run
	guards  []*guard // by node: what must have been decided for the node to run
	mortal  []bool   // by node: it may turn out never to run, other than by its own `when`
	between []bits   // by column: the columns that are before or after it
}

// bits is a set of columns.
type bits []uint64

func newBits(n int) bits        { return make(bits, (n+63)/64) }
func (b bits) has(i int) bool   { return b[i/64]&(1<<(i%64)) != 0 }
func (b bits) set(i int)        { b[i/64] |= 1 << (i % 64) }
func (b bits) union(o bits)     { b.each(o, func(x, y uint64) uint64 { return x | y }) }
func (b bits) intersect(o bits) { b.each(o, func(x, y uint64) uint64 { return x & y }) }
func (b bits) clone() bits      { return slices.Clone(b) }
func (b bits) plus(i int) bits  { c := b.clone(); c.set(i); return c }
func (b bits) each(o bits, f func(x, y uint64) uint64) {
	for i := range b {
		b[i] = f(b[i], o[i])
	}
}

// newOrders computes the order of a block without cycles.
func newOrders(f *flow, columns []*unit) *orders {
	n := len(f.graph.out)
	o := &orders{flow: f, columns: len(columns), column: make([]int, n), started: make([]bits, n), settled: make([]bits, n), guards: make([]*guard, n), mortal: make([]bool, n)}
	for i, u := range columns {
		o.column[u.index] = i + 1
	}
	for _, v := range f.order {
		if v < len(f.block.units) {
			o.visit(f.block.units[v])
		} else {
			o.visitStandIns(v)
		}
	}
	o.compare(columns)
	return o
}

// compare fills between: what has ended when a column starts, and what starts when it has ended.
func (o *orders) compare(columns []*unit) {
	o.between = make([]bits, len(columns))
	for i, u := range columns {
		o.between[i] = o.started[u.index].clone()
	}
	words := (len(columns) + 63) / 64
	for row := range words {
		for word := range words {
			var square [64]uint64
			for i := range min(64, len(columns)-row*64) {
				square[i] = o.started[columns[row*64+i].index][word]
			}
			transpose(&square)
			for i := range min(64, len(columns)-word*64) {
				o.between[word*64+i][row] |= square[i]
			}
		}
	}
}

// transpose turns rows of bits into columns (Warren, Hacker's Delight, 7-3). Going by squares keeps large orders within
// the processor's cache.
func transpose(square *[64]uint64) {
	mask := uint64(1)<<32 - 1
	for size := 32; size > 0; size, mask = size/2, mask^mask<<(size/2) {
		for i := 0; i < 64; i = (i + size + 1) &^ size {
			x := (square[i]>>size ^ square[i+size]) & mask
			square[i] ^= x << size
			square[i+size] ^= x
		}
	}
}

func (o *orders) empty() bits { return newBits(o.columns) }

// apart reports whether two steps can never run at the same time: one has ended before the other starts, or a
// decision lets only one of them run.
func (o *orders) apart(u, v *unit) bool {
	i, j := o.column[u.index]-1, o.column[v.index]-1
	return o.between[i].has(j) || exclusive(o.guards[u.index], o.guards[v.index])
}

func (o *orders) visit(u *unit) {
	needs := o.needs(u)
	started := o.joined(u, needs)
	if len(u.pickedBy) > 0 {
		started.union(o.common(u.pickedBy))
	}
	settled := started
	o.mortal[u.index] = o.mayDie(u, needs)
	if never, may := o.never(u, needs); may {
		settled = started.clone()
		settled.intersect(never)
	}
	if column := o.column[u.index]; column > 0 {
		settled = settled.plus(column - 1)
	}
	o.started[u.index], o.settled[u.index] = started, settled
	o.guards[u.index] = o.guard(u, needs)
}

// visitStandIns: for those who wait, a step that was caught has ended once what stands in for it has. A stand-in that nothing
// else picks has run then, or never will.
func (o *orders) visitStandIns(v int) {
	u := o.flow.caught[v]
	settled := o.settled[u.index].clone()
	for _, p := range u.picks {
		if p.caught && !slices.ContainsFunc(p.to.pickedBy, func(q pick) bool { return !q.caught || q.from != u }) {
			settled.union(o.settled[p.to.index])
		}
	}
	o.settled[v] = settled
}

// need is a need with the node whose end it waits for.
type need struct {
	on   *unit
	node int
	end  workflow.End
}

// needs lists the needs of a step. Those on a step that may pick it are met by being picked.
func (o *orders) needs(u *unit) []need {
	needs := make([]need, 0, len(u.step.Needs))
	for _, n := range u.step.Needs {
		on := u.block.named[n.Step]
		if slices.ContainsFunc(u.pickedBy, func(p pick) bool { return p.from == on }) {
			continue
		}
		x := need{on: on, node: on.index, end: n.End}
		if v, ok := o.flow.standIn[on]; ok && waitsForStandIn(n.End) {
			x.node = v
		}
		needs = append(needs, x)
	}
	return needs
}

// joined are the columns settled when the join of a step is met. `any` and a number do not wait for all needs: what holds for
// each of them holds. They count steps that completed, or came to the end that the need names.
func (o *orders) joined(u *unit, needs []need) bits {
	if waitsForAll(u.step.Join, len(needs)) {
		return o.all(needs)
	}
	all := o.empty()
	for i, n := range needs {
		done := o.settled[n.node]
		if n.end != workflow.EndEnded && n.end != workflow.EndSkipped { // it ran, so all that it waited for is settled
			done = o.started[n.on.index]
			if column := o.column[n.on.index]; column > 0 {
				done = done.plus(column - 1)
			}
		}
		if i == 0 {
			all = done.clone()
		} else {
			all.intersect(done)
		}
	}
	return all
}

// all is what is settled once every need has come out.
func (o *orders) all(needs []need) bits {
	all := o.empty()
	for _, n := range needs {
		all.union(o.settled[n.node])
	}
	return all
}

func waitsForAll(j workflow.Join, needs int) bool {
	switch j.Mode {
	case workflow.JoinAny:
		return needs == 1
	case workflow.JoinCount:
		return j.Count != nil && j.Count.Expr == nil && j.Count.Fixed >= int64(needs)
	}
	return true
}

// common is what is settled whichever of the picks was made.
func (o *orders) common(picks []pick) bits {
	all := o.settled[picks[0].from.index].clone()
	for _, p := range picks[1:] {
		all.intersect(o.settled[p.from.index])
	}
	return all
}

// never is what is settled when a step ends without having run: nobody picked it, a need came to another end, all its needs are
// dead, or its join cannot be met any more. may is false for a step that always runs, or is skipped by its own `when`.
func (o *orders) never(u *unit, needs []need) (all bits, may bool) {
	add := func(when bits) {
		if !may {
			all, may = when.clone(), true
		} else {
			all.intersect(when)
		}
	}
	picked := o.empty()
	if len(u.pickedBy) > 0 {
		passed := o.empty()
		for _, p := range u.pickedBy {
			passed.union(o.settled[p.from.index])
		}
		add(passed)
		picked = o.common(u.pickedBy)
	}
	for _, n := range needs {
		switch {
		case u.step.Join.Mode == workflow.JoinCount: // it may be clear before all needs have come out
			add(o.settled[n.node])
		case u.step.Join.Mode == workflow.JoinAll && missable(n.end):
			missed := o.settled[n.node].clone()
			missed.union(picked)
			add(missed)
		}
	}
	if u.step.Join.Mode == workflow.JoinAny && len(needs) > 0 || o.allMayDie(u, needs) {
		add(o.all(needs))
	}
	return all, may
}

// mayDie reports whether a step may turn out never to run, other than by its own `when`.
func (o *orders) mayDie(u *unit, needs []need) bool {
	return len(u.pickedBy) > 0 || o.allMayDie(u, needs) ||
		u.step.Join.Mode == workflow.JoinAll && slices.ContainsFunc(needs, func(n need) bool { return missable(n.end) })
}

// allMayDie reports whether a step may have nothing but dead needs. One that was picked runs all the same.
func (o *orders) allMayDie(u *unit, needs []need) bool {
	return len(needs) > 0 && len(u.pickedBy) == 0 && !slices.ContainsFunc(needs, o.comes)
}

// missable: a step that ends otherwise misses such a need. The default end is missed by a failure only, which ends the body.
func missable(end workflow.End) bool { return end != workflow.EndMet && end != workflow.EndEnded }

// comes reports whether a need is met or missed for sure, never dead.
func (o *orders) comes(n need) bool {
	return n.end == workflow.EndEnded || n.end == workflow.EndSkipped || !o.mortal[n.on.index]
}

// ---- decisions ----

// guard is a chain of decisions that a step depends on: at each, one step took one of some ways.
type guard struct {
	outer *guard
	jump  *guard // further out, so that chains are walked in logarithmic time
	depth int
	by    *unit
	ways  []int // sorted
}

// The ways out of a step that are no branch.
const (
	wayCaught    = 1 << 20 // plus the number of the handler
	wayFailed    = 1 << 21
	wayCompleted = wayFailed + 1
)

func (g *guard) level() int {
	if g == nil {
		return 0
	}
	return g.depth
}

func push(outer *guard, by *unit, ways ...int) *guard {
	g := &guard{outer: outer, jump: outer, depth: outer.level() + 1, by: by, ways: ways}
	if outer != nil && outer.jump != nil && outer.depth-outer.jump.depth == outer.jump.depth-outer.jump.jump.level() {
		g.jump = outer.jump.jump
	}
	return g
}

// up climbs to a depth.
func (g *guard) up(depth int) *guard {
	for g.level() > depth {
		if g.jump.level() >= depth {
			g = g.jump
		} else {
			g = g.outer
		}
	}
	return g
}

// fork climbs from two guards to where they part: to the same guard, or to two that are next to each other.
func fork(g, h *guard) (*guard, *guard) {
	depth := min(g.level(), h.level())
	g, h = g.up(depth), h.up(depth)
	for g != h && g.outer != h.outer {
		if g.jump != h.jump {
			g, h = g.jump, h.jump
		} else {
			g, h = g.outer, h.outer
		}
	}
	return g, h
}

// exclusive reports whether a decision lets only one of two guards hold.
func exclusive(g, h *guard) bool {
	g, h = fork(g, h)
	if g == h || g.by != h.by {
		return false
	}
	return !slices.ContainsFunc(g.ways, func(way int) bool { _, found := slices.BinarySearch(h.ways, way); return found })
}

// either is the guard of what runs if one of two guards holds.
func either(g, h *guard) *guard {
	g, h = fork(g, h)
	switch {
	case g == h:
		return g
	case g.by != h.by:
		return g.outer
	}
	ways := append(slices.Clone(g.ways), h.ways...)
	slices.Sort(ways)
	return push(g.outer, g.by, slices.Compact(ways)...)
}

func (o *orders) guard(u *unit, needs []need) *guard {
	var guards []*guard
	for _, p := range u.pickedBy {
		way := p.way
		if p.caught {
			way += wayCaught
		}
		guards = append(guards, push(o.guards[p.from.index], p.from, way))
	}
	if len(guards) == 0 {
		guards = o.needGuards(u, needs)
	}
	if len(guards) == 0 {
		return nil
	}
	all := guards[0]
	for _, g := range guards[1:] {
		all = either(all, g)
	}
	return all
}

// needGuards are the decisions of which one at least was made if a step runs that nothing picks: a join of all needs takes a dead
// need beside a live one, but none that is missed.
func (o *orders) needGuards(u *unit, needs []need) (guards []*guard) {
	for _, n := range needs {
		g := o.needGuard(n)
		if u.step.Join.Mode == workflow.JoinAll && missable(n.end) && !o.mortal[n.on.index] {
			return []*guard{g} // this one must be met
		}
		guards = append(guards, g)
	}
	return guards
}

// needGuard is what must have been decided for a need to be met, not dead.
func (o *orders) needGuard(n need) *guard {
	g := o.guards[n.on.index]
	switch n.end {
	case workflow.EndEnded, workflow.EndSkipped:
		return nil
	case workflow.EndFailed:
		return push(g, n.on, wayFailed)
	case workflow.EndCompleted:
		if !slices.ContainsFunc(n.on.picks, func(p pick) bool { return !p.caught }) {
			return push(g, n.on, wayCompleted)
		}
	}
	return g
}
