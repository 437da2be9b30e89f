package dsl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// imply makes dependencies of what the expressions of steps read (DSL.md, Dependencies). A read inside a body makes the
// structured step depend on what is outside of it.
func (a *analysis) imply() {
	for _, s := range a.sites {
		if s.unit == nil {
			continue
		}
		for _, r := range s.steps {
			if !r.previous { // what is read of the iteration before has ended
				a.implyRead(s, r.unit)
			}
		}
	}
	for _, u := range a.units {
		declared := u.step.Needs
		for _, on := range u.implied {
			if !slices.ContainsFunc(declared, func(n workflow.Need) bool { return n.Step == on.step.Name }) {
				u.step.Needs = append(u.step.Needs, workflow.Need{Step: on.step.Name, End: workflow.EndMet, Implied: true})
			}
		}
		slices.SortFunc(u.step.Needs, func(x, y workflow.Need) int { return strings.Compare(x.Step, y.Step) })
	}
}

func (a *analysis) implyRead(s *site, target *unit) {
	if s.moment == momentUndo || target.block == s.block && s.block != s.unit.block {
		return // what a step reads of its own body, it reads when that has ended
	}
	reader := target.block.within(s.unit)
	if reader == target {
		a.readsItself(s, target)
		return
	}
	switch {
	case target.exit && !reader.exit:
		a.readErrorf(s, "steps", target.step.Name, "dsl/exit-order", "name `"+s.unit.step.Name+"` in `on_exit` too, after `"+target.step.Name+"`",
			"`%s` runs after all other steps (`on_exit`), so its result cannot be read here", target.step.Name)
		return
	case target.exit && a.exitRank(target) > a.exitRank(reader):
		a.readErrorf(s, "steps", target.step.Name, "dsl/exit-order", "move `"+target.step.Name+"` before `"+reader.step.Name+"` in `on_exit`",
			"steps of `on_exit` run one after the other, and `%s` stands after `%s` there", target.step.Name, reader.step.Name)
		return
	case reader.exit && reader.block == a.root:
		return // everything before it has ended when it starts
	case s.moment == momentJoin && reader == s.unit:
		a.readErrorf(s, "steps", target.step.Name, "dsl/join-reads", "read `input` or `vars`, or compute the number in a step outside of this body",
			"the number of a join is needed before any of its needs has ended, so it cannot read `steps.%s`", target.step.Name)
		return
	}
	switch by := reader.impliedBy[target]; {
	case by == nil:
		if reader.impliedBy == nil {
			reader.impliedBy = map[*unit]*site{}
		}
		reader.impliedBy[target] = s
		reader.implied = append(reader.implied, target)
	case s.unit.rank < by.unit.rank: // so that the order of the document does not matter
		reader.impliedBy[target] = s
	}
}

func (a *analysis) readsItself(s *site, target *unit) {
	word, _, _ := strings.Cut(strings.TrimPrefix(s.where, "/"), "/")
	if s.unit == target && (word == "timeout" || word == "retry") && a.source.node(target.pointer+"/"+word) == nil {
		a.readErrorf(s, "steps", target.step.Name, "dsl/cycle", "read `input` or `vars` there, or write `"+word+"` at the steps",
			"`defaults` hold for `%s` too, which cannot read its own result", target.step.Name)
		return
	}
	if s.unit == target {
		a.readErrorf(s, "steps", target.step.Name, "dsl/cycle", "in `compensate`, write `output`; in `on_error` and `retry`, write `error`; in a loop, previous."+target.step.Name,
			"`%s` reads its own result", target.step.Name)
		return
	}
	a.readErrorf(s, "steps", target.step.Name, "dsl/cycle", "read the steps beside it in the body, or in a loop previous.<step>",
		"`%s` is inside `%s` and reads its result, which is there only after it", s.unit.step.Name, target.step.Name)
}

// cause says why one step waits for another.
type cause struct {
	kind  causeKind
	site  *site // of a read
	pick  *pick // of a pick or a stand-in
	waits *unit // who waits
	on    *unit // for whom
}

type causeKind uint8

const (
	causeNeed causeKind = iota
	causeRead
	causePick
	causeStandIn // pick.to stands in for pick.from, which others wait for
)

// flow is the order in which the steps of one block run: a graph whose first nodes are the units of the block, the others
// stand for the ends of those that another step may stand in for.
type flow struct {
	block *block
	graph *graph
	order []int // all nodes, what runs first first
	// standIn is the node for the end of a step that others may stand in for, caught the step of such a node.
	standIn map[*unit]int
	caught  map[int]*unit
	orders  *orders // made on demand
}

// flowOf makes the graph of a block.
func (a *analysis) flowOf(b *block) *flow {
	f := &flow{block: b, standIn: map[*unit]int{}, caught: map[int]*unit{}}
	nodes := len(b.units)
	for _, u := range b.units {
		if slices.ContainsFunc(u.picks, func(p pick) bool { return p.caught }) {
			f.standIn[u], f.caught[nodes] = nodes, u
			nodes++
		}
	}
	f.graph = newGraph(nodes, f.ranks())
	for _, u := range b.units {
		for i := range u.picks {
			f.addPick(&u.picks[i])
		}
		for _, n := range u.step.Needs {
			f.addNeed(u, n)
		}
	}
	return f
}

// ranks orders the nodes by the names of their steps, whatever the order of the document; stand-ins come last.
func (f *flow) ranks() []int {
	byName := slices.Clone(f.block.units)
	slices.SortStableFunc(byName, func(u, v *unit) int { return strings.Compare(u.step.Name, v.step.Name) })
	rank := make([]int, len(byName)+len(f.caught))
	for i, u := range byName {
		rank[u.index] = i
	}
	for v := len(byName); v < len(rank); v++ {
		rank[v] = len(byName) + rank[f.caught[v].index]
	}
	return rank
}

func (f *flow) addPick(p *pick) {
	f.graph.add(arc{p.from.index, p.to.index, cause{kind: causePick, pick: p, waits: p.to, on: p.from}})
	if p.caught {
		f.graph.add(arc{p.to.index, f.standIn[p.from], cause{kind: causeStandIn, pick: p, waits: p.from, on: p.to}})
	}
}

func (f *flow) addNeed(u *unit, n workflow.Need) {
	on := u.block.named[n.Step]
	c := cause{kind: causeNeed, waits: u, on: on}
	if n.Implied {
		c.kind, c.site = causeRead, u.impliedBy[on]
	}
	f.graph.add(arc{on.index, u.index, c})
	if v, ok := f.standIn[on]; ok && waitsForStandIn(n.End) && !standsInFor(u, on) {
		f.graph.add(arc{v, u.index, c})
	}
}

// waitsForStandIn: a step that was caught did not complete, fail or get skipped, so only these ends wait for what stands in.
func waitsForStandIn(end workflow.End) bool {
	return end == workflow.EndMet || end == workflow.EndEnded
}

// checkCycles finds steps that wait for each other, in each block.
func (a *analysis) checkCycles() {
	for _, b := range a.blocks {
		b.flow = a.flowOf(b)
		for _, cycle := range b.flow.graph.cutCycles() {
			a.cyclic = true
			a.reportCycle(b, cycle)
		}
		b.flow.order = b.flow.graph.order()
	}
}

// shownCauses is about how many bytes of a message tell the causes of a cycle, shownPath how many steps its path shows.
const (
	shownCauses = 240
	shownPath   = 6
)

// reportCycle reports a cycle at the edge that closes it: who waits stands before what it waits for.
func (a *analysis) reportCycle(b *block, cycle []arc) {
	var path, causes []string
	room := shownCauses
	for i := len(cycle) - 1; i >= 0; i-- {
		if e := cycle[i]; e.to < len(b.units) {
			path = append(path, b.units[e.to].step.Name)
		}
		if room > 0 {
			text := a.explain(cycle[i].cause)
			causes, room = append(causes, text), room-len(text)
		}
	}
	if more := len(cycle) - len(causes); more > 0 {
		causes = append(causes, fmt.Sprintf("and so on over %d more", more))
	}
	first := path[0]
	if len(path) > shownPath {
		path = append(path[:shownPath:shownPath], "…")
	}
	for i := range path {
		path[i] = clip(path[i])
	}
	message := fmt.Sprintf("steps wait for each other: %s; %s", strings.Join(append(path, clip(first)), " → "), strings.Join(causes, ", "))
	suggestion := "take one of these out; what should run again stands in a loop"
	at, pointer := a.causePlace(cycle[len(cycle)-1].cause)
	if pointer != "" {
		a.sink.keyErrorf(pointer, "dsl/cycle", suggestion, "%s", message)
		return
	}
	a.sink.errorAt(at, 0, "dsl/cycle", suggestion, "%s", message)
}

// explain tells one edge: "`b` reads steps.a (12:9)".
func (a *analysis) explain(c cause) string {
	at, pointer := a.causePlace(c)
	if pointer != "" {
		at = a.source.keyAt(pointer)
	}
	text := ""
	switch c.kind {
	case causeNeed:
		text = fmt.Sprintf("`%s` needs `%s`", c.waits.step.Name, c.on.step.Name)
	case causeRead:
		text = fmt.Sprintf("`%s` reads steps.%s", c.waits.step.Name, c.on.step.Name)
		if c.site.unit != c.waits {
			text = fmt.Sprintf("`%s` inside `%s` reads steps.%s", c.site.unit.step.Name, c.waits.step.Name, c.on.step.Name)
		}
	case causePick:
		text = fmt.Sprintf("`%s` runs if `%s` picks it", c.waits.step.Name, c.on.step.Name)
	case causeStandIn:
		text = fmt.Sprintf("`%s` may stand in for `%s`", c.on.step.Name, c.waits.step.Name)
	}
	if at.Line == 0 {
		return text
	}
	return fmt.Sprintf("%s (%d:%d)", text, at.Line, at.Column)
}

// causePlace is where an edge stands in the document: a place or a pointer.
func (a *analysis) causePlace(c cause) (workflow.Position, string) {
	switch c.kind {
	case causeNeed:
		return workflow.Position{}, a.needPointer(c.waits, c.on.step.Name)
	case causeRead:
		at, _ := a.readPlace(c.site, "steps", c.on.step.Name)
		return at, ""
	}
	return workflow.Position{}, c.pick.from.pointer + c.pick.where
}

// fillLast writes Body.Last: the steps whose result nothing in the body waits for, in the order of the document. A step of
// on_exit is not among them, nor one that only stands in for another: its output is that of the step it stands in for.
// Whether a step needs one that it stands in for does not count.
func (a *analysis) fillLast() {
	for _, b := range a.blocks {
		followed := make([]bool, len(b.units))
		for _, u := range b.units {
			for _, p := range u.picks {
				followed[u.index] = followed[u.index] || !p.caught
			}
			for _, n := range u.step.Needs {
				if on := b.named[n.Step]; !u.onlyStandsIn() || !standsInFor(u, on) {
					followed[on.index] = followed[on.index] || !u.exit || b != a.root
				}
			}
		}
		b.body.Last = nil
		for _, u := range b.units {
			if !followed[u.index] && (!u.exit || b != a.root) && !u.onlyStandsIn() {
				b.body.Last = append(b.body.Last, u.step.Name)
			}
		}
	}
}

func standsInFor(u, on *unit) bool {
	return slices.ContainsFunc(u.pickedBy, func(p pick) bool { return p.caught && p.from == on })
}

// onlyStandsIn reports whether a step runs only in place of others that failed.
func (u *unit) onlyStandsIn() bool {
	return len(u.pickedBy) > 0 && !slices.ContainsFunc(u.pickedBy, func(p pick) bool { return !p.caught })
}
