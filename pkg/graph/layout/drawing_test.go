package layout

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// anyGraph draws a random graph: mostly acyclic, sometimes with cycles, self loops and parallel edges.
func anyGraph(t *rapid.T) ([]Size, []Edge) {
	n := rapid.IntRange(1, 40).Draw(t, "nodes")
	nodes := make([]Size, n)
	for i := range nodes {
		nodes[i] = Size{rapid.IntRange(1, 400).Draw(t, "width"), rapid.IntRange(1, 300).Draw(t, "height")}
	}
	edges := make([]Edge, rapid.IntRange(0, 3*n).Draw(t, "edges"))
	cyclic := rapid.IntRange(0, 3).Draw(t, "cyclic") == 0
	for i := range edges {
		e := Edge{From: rapid.IntRange(0, n-1).Draw(t, "from"), To: rapid.IntRange(0, n-1).Draw(t, "to")}
		if !cyclic && e.From > e.To {
			e.From, e.To = e.To, e.From
		}
		if rapid.IntRange(0, 2).Draw(t, "labelled") == 0 {
			e.Label = Size{rapid.IntRange(1, 200).Draw(t, "label width"), rapid.IntRange(1, 40).Draw(t, "label height")}
		}
		edges[i] = e
	}
	return nodes, edges
}

func overlap(a, b Rect) bool {
	return a.X < b.X+b.Width && b.X < a.X+a.Width && a.Y < b.Y+b.Height && b.Y < a.Y+a.Height
}

func TestDrawingsAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, edges := anyGraph(t)
		d := Layered(nodes, edges, Options{})
		require.Len(t, d.Nodes, len(nodes))
		require.Len(t, d.Edges, len(edges))
		requireSizes(t, nodes, edges, d)
		requireNoOverlap(t, edges, d)
		for i := range edges {
			requireRoute(t, edges, i, d)
		}
		require.Equal(t, d, Layered(nodes, edges, Options{}), "the same graph has the same drawing")
	})
}

func requireSizes(t require.TestingT, nodes []Size, edges []Edge, d Drawing) {
	for i, r := range d.Nodes {
		require.Equal(t, nodes[i], Size{r.Width, r.Height})
		require.GreaterOrEqual(t, r.X, 0)
		require.GreaterOrEqual(t, r.Y, 0)
		require.LessOrEqual(t, r.X+r.Width, d.Width)
		require.LessOrEqual(t, r.Y+r.Height, d.Height)
	}
	for i, e := range d.Edges {
		if edges[i].From != edges[i].To {
			require.Equal(t, edges[i].Label, Size{e.Label.Width, e.Label.Height})
		}
		for _, p := range e.Points {
			require.True(t, 0 <= p.X && p.X <= d.Width && 0 <= p.Y && p.Y <= d.Height, "edge %d leaves the drawing", i)
		}
	}
}

func requireNoOverlap(t require.TestingT, edges []Edge, d Drawing) {
	boxes := append([]Rect(nil), d.Nodes...)
	for _, e := range d.Edges {
		if e.Label != (Rect{}) {
			boxes = append(boxes, e.Label)
		}
	}
	for i := range boxes {
		for j := range i {
			require.False(t, overlap(boxes[i], boxes[j]), "%v and %v overlap", boxes[i], boxes[j])
		}
	}
}

// requireRoute: an edge starts and ends on the borders of its nodes, and its straight parts pass through no node.
func requireRoute(t require.TestingT, edges []Edge, i int, d Drawing) {
	e, points := edges[i], d.Edges[i].Points
	if e.From == e.To {
		require.Empty(t, points)
		return
	}
	from, to := d.Nodes[e.From], d.Nodes[e.To]
	first, last := points[0], points[len(points)-1]
	require.True(t, from.X <= first.X && first.X <= from.X+from.Width, "edge %d starts beside its node", i)
	require.True(t, to.X <= last.X && last.X <= to.X+to.Width, "edge %d ends beside its node", i)
	if from.Y < to.Y {
		require.Equal(t, from.Y+from.Height, first.Y)
		require.Equal(t, to.Y, last.Y)
	} else {
		require.Equal(t, from.Y, first.Y)
		require.Equal(t, to.Y+to.Height, last.Y)
	}
	require.Zero(t, len(points)%2)
	for k := 0; k < len(points); k += 2 {
		a, b := points[k], points[k+1]
		require.Equal(t, a.X, b.X, "the first of each pair of lines is vertical")
		line := Rect{a.X, min(a.Y, b.Y), 0, max(a.Y, b.Y) - min(a.Y, b.Y)}
		for n, r := range d.Nodes {
			require.False(t, n != e.From && n != e.To && overlap(line, r), "edge %d passes through node %d", i, n)
		}
	}
	for k := 1; k+1 < len(points); k += 2 { // curves run where no node is, in the box of their ends
		a, b := points[k], points[k+1]
		box := Rect{min(a.X, b.X), min(a.Y, b.Y), max(a.X, b.X) - min(a.X, b.X), max(a.Y, b.Y) - min(a.Y, b.Y)}
		for n, r := range d.Nodes {
			require.False(t, overlap(box, r), "edge %d curves through node %d", i, n)
		}
		for other := range edges {
			require.False(t, overlap(box, d.Edges[other].Label), "edge %d curves through the label of edge %d", i, other)
		}
	}
}

func TestChainRunsStraightDown(t *testing.T) {
	d := Layered([]Size{{100, 40}, {60, 20}, {100, 40}}, []Edge{{From: 0, To: 1}, {From: 1, To: 2}}, Options{LayerGap: 50})
	require.Equal(t, Drawing{
		Size:  Size{100, 200},
		Nodes: []Rect{{0, 0, 100, 40}, {20, 90, 60, 20}, {0, 160, 100, 40}},
		Edges: []Route{
			{Points: []Point{{50, 40}, {50, 40}, {50, 90}, {50, 90}}},
			{Points: []Point{{50, 110}, {50, 110}, {50, 160}, {50, 160}}},
		},
	}, d)
}

func TestDiamondIsSymmetric(t *testing.T) {
	box := Size{100, 40}
	d := Layered([]Size{box, box, box, box}, []Edge{{From: 0, To: 1}, {From: 0, To: 2}, {From: 1, To: 3}, {From: 2, To: 3}}, Options{})
	require.Equal(t, d.Nodes[0].X, d.Nodes[3].X)
	require.Equal(t, d.Nodes[1].Y, d.Nodes[2].Y)
	require.Equal(t, d.Nodes[1].X+d.Nodes[2].X, 2*d.Nodes[0].X)
}

func TestCrossingsAreAvoided(t *testing.T) {
	// Two stars whose leaves are given in turn; untangled, no edge crosses another.
	box := Size{40, 20}
	var nodes []Size
	var edges []Edge
	nodes = append(nodes, box, box)
	for i := range 10 {
		nodes = append(nodes, box)
		edges = append(edges, Edge{From: i % 2, To: i + 2})
	}
	nodes = append(nodes, box)
	edges = append(edges, Edge{From: 0, To: 12}, Edge{From: 1, To: 12})
	g := newLayers(nodes, edges, Options{}.withDefaults())
	require.Positive(t, g.crossings())
	g.order()
	require.Zero(t, g.crossings())
}

func TestCycleIsDrawn(t *testing.T) {
	box := Size{40, 20}
	d := Layered([]Size{box, box}, []Edge{{From: 0, To: 1}, {From: 1, To: 0}, {From: 1, To: 1}}, Options{})
	up := d.Edges[1].Points
	require.Equal(t, d.Nodes[1].Y, up[0].Y)
	require.Equal(t, d.Nodes[0].Y+20, up[len(up)-1].Y)
	require.Empty(t, d.Edges[2].Points)
}

func TestPartsGoToRows(t *testing.T) {
	nodes := make([]Size, 100)
	for i := range nodes {
		nodes[i] = Size{100, 50}
	}
	d := Layered(nodes, nil, Options{})
	require.Less(t, d.Width, 3*d.Height)
	require.Less(t, d.Height, 3*d.Width)
}

func TestNothingIsAnEmptyDrawing(t *testing.T) {
	require.Equal(t, Drawing{Nodes: []Rect{}, Edges: []Route{}}, Layered(nil, nil, Options{}))
}

// large is a graph of n nodes in which each needs up to three of those before it, some of them far away.
func large(n int) ([]Size, []Edge) {
	nodes := make([]Size, n)
	var edges []Edge
	seed := uint32(7)
	next := func(below int) int {
		seed = seed*1664525 + 1013904223
		return int(seed>>8) % below
	}
	for i := range nodes {
		nodes[i] = Size{120, 44}
		for k := 0; i > 0 && k < 1+i%3; k++ {
			edges = append(edges, Edge{From: max(0, i-1-next(20)), To: i})
		}
	}
	return nodes, edges
}

func TestLargeAndHostileGraphs(t *testing.T) {
	nodes, edges := large(1000)
	d := Layered(nodes, edges, Options{})
	requireNoOverlap(t, edges, d)

	// Every node before every other one: half a million edges, each as long as the graph allows.
	nodes = nodes[:1000]
	edges = nil
	for i := range nodes {
		for j := range i {
			edges = append(edges, Edge{From: j, To: i})
		}
	}
	d = Layered(nodes, edges, Options{})
	requireNoOverlap(t, edges, d)
	require.Len(t, d.Edges, len(edges))
}

func BenchmarkLayered(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		nodes, edges := large(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				Layered(nodes, edges, Options{})
			}
		})
	}
}
