package dsl

import (
	"cmp"
	"container/heap"
	"slices"
)

// graph is a directed graph over 0…n-1 whose edges lead from what ends first to what waits for it. It is made to be
// searched for cycles: they are found with the edges that cause them.
type graph struct {
	out [][]arc
	// rank orders the nodes independently of their numbers, so that what is found does not depend on the order of the document.
	rank []int
}

// arc is one edge of a graph.
type arc struct {
	from, to int
	cause    cause
}

func newGraph(n int, rank []int) *graph { return &graph{out: make([][]arc, n), rank: rank} }

func (g *graph) add(a arc) { g.out[a.from] = append(g.out[a.from], a) }

// drop takes an edge out, and the others that have the same cause.
func (g *graph) drop(a arc) {
	for v := range g.out {
		g.out[v] = slices.DeleteFunc(g.out[v], func(b arc) bool { return b.to == a.to && b.cause == a.cause })
	}
}

// components returns the strongly connected components (Tarjan), what comes last first.
func (g *graph) components() [][]int {
	t := tarjan{graph: g, number: make([]int, len(g.out)), low: make([]int, len(g.out)), next: make([]int, len(g.out))}
	for v := range g.out {
		if t.number[v] == 0 {
			t.visit(v)
		}
	}
	return t.found
}

type tarjan struct {
	graph  *graph
	count  int
	number []int // from 1, in the order of discovery; 0: not seen
	low    []int
	next   []int // of out, to look at
	open   []int // nodes whose component is not known yet
	path   []int // the calls of a recursive form
	found  [][]int
}

const closed = int(^uint(0) >> 1) // number of nodes whose component is known

func (t *tarjan) enter(v int) {
	t.count++
	t.number[v], t.low[v] = t.count, t.count
	t.open, t.path = append(t.open, v), append(t.path, v)
}

func (t *tarjan) visit(root int) {
	t.enter(root)
	for len(t.path) > 0 {
		v := t.path[len(t.path)-1]
		if t.next[v] < len(t.graph.out[v]) {
			w := t.graph.out[v][t.next[v]].to
			t.next[v]++
			if t.number[w] == 0 {
				t.enter(w)
			} else {
				t.low[v] = min(t.low[v], t.number[w])
			}
			continue
		}
		t.leave(v)
	}
}

func (t *tarjan) leave(v int) {
	t.path = t.path[:len(t.path)-1]
	if len(t.path) > 0 {
		parent := t.path[len(t.path)-1]
		t.low[parent] = min(t.low[parent], t.low[v])
	}
	if t.low[v] != t.number[v] {
		return
	}
	at := len(t.open) - 1
	for t.open[at] != v {
		at--
	}
	component := slices.Clone(t.open[at:])
	for _, w := range component {
		t.number[w] = closed
	}
	t.open, t.found = t.open[:at], append(t.found, component)
}

// order returns all nodes, each after those that its edges come from, of several the one of the lowest rank first. The graph
// has no cycles.
func (g *graph) order() []int {
	waits := make([]int, len(g.out))
	for _, arcs := range g.out {
		for _, a := range arcs {
			waits[a.to]++
		}
	}
	ready := &rankHeap{rank: g.rank}
	for v, n := range waits {
		if n == 0 {
			heap.Push(ready, v)
		}
	}
	order := make([]int, 0, len(g.out))
	for ready.Len() > 0 {
		v := heap.Pop(ready).(int)
		order = append(order, v)
		for _, a := range g.out[v] {
			if waits[a.to]--; waits[a.to] == 0 {
				heap.Push(ready, a.to)
			}
		}
	}
	return order
}

// rankHeap holds nodes, the one of the lowest rank first.
type rankHeap struct{ nodes, rank []int }

func (h *rankHeap) Len() int           { return len(h.nodes) }
func (h *rankHeap) Less(i, j int) bool { return h.rank[h.nodes[i]] < h.rank[h.nodes[j]] }
func (h *rankHeap) Swap(i, j int)      { h.nodes[i], h.nodes[j] = h.nodes[j], h.nodes[i] }
func (h *rankHeap) Push(v any)         { h.nodes = append(h.nodes, v.(int)) }
func (h *rankHeap) Pop() any {
	last := len(h.nodes) - 1
	v := h.nodes[last]
	h.nodes = h.nodes[:last]
	return v
}

// maxCycles bounds how many cycles of one graph are reported.
const maxCycles = 10

// cutCycles finds cycles and takes one edge of each out, so that the graph has none in the end. It returns the first maxCycles
// of them, each as its edges in order, starting at the node of the lowest rank.
func (g *graph) cutCycles() [][]arc {
	var cycles [][]arc
	for {
		cut := false
		for _, component := range g.components() {
			if len(component) == 1 && !g.loops(component[0]) {
				continue
			}
			cut = true
			if len(cycles) == maxCycles {
				g.dissolve(component)
				continue
			}
			cycle := g.cycleIn(component)
			cycles = append(cycles, cycle)
			g.drop(cycle[len(cycle)-1])
		}
		if !cut {
			return cycles
		}
	}
}

func (g *graph) loops(v int) bool {
	return slices.ContainsFunc(g.out[v], func(a arc) bool { return a.to == v })
}

// dissolve takes all edges inside a component out.
func (g *graph) dissolve(component []int) {
	member := make(map[int]bool, len(component))
	for _, v := range component {
		member[v] = true
	}
	for _, v := range component {
		g.out[v] = slices.DeleteFunc(g.out[v], func(a arc) bool { return member[a.to] })
	}
}

// searchedNodes bounds the search for the shortest cycle of a component: how many nodes are looked at, all in all.
const searchedNodes = 20_000

// cycleIn returns a short cycle of a component: the shortest through one of its first nodes by rank.
func (g *graph) cycleIn(component []int) []arc {
	slices.SortFunc(component, func(v, w int) int { return g.rank[v] - g.rank[w] })
	member := make(map[int]bool, len(component))
	for _, v := range component {
		member[v] = true
	}
	var best []arc
	for _, v := range component[:min(len(component), 1+searchedNodes/len(component))] {
		if cycle := g.shortest(v, member); best == nil || len(cycle) < len(best) {
			best = cycle
		}
	}
	return best
}

// shortest returns the shortest way from a node of a component back to it. Of several it takes the one over lower ranks.
func (g *graph) shortest(start int, member map[int]bool) []arc {
	by := map[int]arc{}
	queue := []int{start}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		next := slices.Clone(g.out[v])
		slices.SortStableFunc(next, func(a, b arc) int {
			return cmp.Or(cmp.Compare(g.rank[a.to], g.rank[b.to]), cmp.Compare(a.cause.kind, b.cause.kind))
		})
		for _, a := range next {
			if a.to == start {
				return g.wayTo(a, start, by)
			}
			if _, seen := by[a.to]; !seen && member[a.to] {
				by[a.to] = a
				queue = append(queue, a.to)
			}
		}
	}
	panic("dsl: no cycle in a strongly connected component")
}

func (g *graph) wayTo(last arc, start int, by map[int]arc) []arc {
	cycle := []arc{last}
	for v := last.from; v != start; {
		a := by[v]
		cycle = append(cycle, a)
		v = a.from
	}
	slices.Reverse(cycle)
	return cycle
}
