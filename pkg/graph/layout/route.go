package layout

import (
	"slices"
	"sort"
)

// drawing turns layers into coordinates: rows below each other, nodes at the top of their row, edges in lines through
// rows and in curves between them.
func (g *layers) drawing() Drawing {
	tops, bottoms := g.bands()
	d := Drawing{Nodes: make([]Rect, len(g.node)), Edges: make([]Route, len(g.edges))}
	for n, i := range g.node {
		it := &g.items[i]
		d.Nodes[n] = Rect{it.x - it.size.Width/2, tops[it.layer], it.size.Width, it.size.Height}
	}
	out, in := g.ports()
	for e := range g.edges {
		d.Edges[e] = g.route(e, out[e], in[e], tops, bottoms)
	}
	d.settle()
	return d
}

// bands gives the upper and lower end of each row. Rows of odd number without labels have no height.
func (g *layers) bands() (tops, bottoms []int) {
	y := 0
	for r, row := range g.rows {
		if r > 0 {
			y += g.options.LayerGap / 2
		}
		height := 0
		for _, i := range row {
			height = max(height, g.items[i].size.Height)
		}
		tops, bottoms = append(tops, y), append(bottoms, y+height)
		y += height
	}
	return tops, bottoms
}

// ports spreads the ends of edges along the borders of their nodes, in the order of where they lead: for each edge
// the x on the upper node's lower border and on the lower node's upper border.
func (g *layers) ports() (out, in []int) {
	out, in = make([]int, len(g.edges)), make([]int, len(g.edges))
	leaving, arriving := make([][]int, len(g.node)), make([][]int, len(g.node))
	for e, edge := range g.edges {
		if edge.From == edge.To {
			continue
		}
		upper, lower := g.ends(e)
		leaving[upper] = append(leaving[upper], e)
		arriving[lower] = append(arriving[lower], e)
	}
	for n := range g.node {
		g.spread(n, leaving[n], out, func(e int) int { return g.neighbour(e, 1) })
		g.spread(n, arriving[n], in, func(e int) int { return g.neighbour(e, -1) })
	}
	return out, in
}

// neighbour is the item after the upper node (step 1) or before the lower node (step -1) of an edge.
func (g *layers) neighbour(edge, step int) int {
	upper, lower := g.ends(edge)
	chain := g.chains[edge]
	switch {
	case chain == nil && step > 0:
		return g.node[lower]
	case chain == nil:
		return g.node[upper]
	case step > 0:
		return chain[1]
	}
	return chain[len(chain)-2]
}

func (g *layers) spread(node int, edges []int, ports []int, toward func(edge int) int) {
	it := &g.items[g.node[node]]
	sort.SliceStable(edges, func(a, b int) bool {
		return g.items[toward(edges[a])].x < g.items[toward(edges[b])].x
	})
	const widest = 18
	step := widest
	if len(edges) > 1 {
		step = min(widest, it.size.Width*6/10/(len(edges)-1))
	}
	for k, e := range edges {
		ports[e] = it.x + (2*k-(len(edges)-1))*step/2
	}
}

// route strings one edge together.
func (g *layers) route(edge, out, in int, tops, bottoms []int) Route {
	if g.edges[edge].From == g.edges[edge].To {
		return Route{}
	}
	upper, lower := g.ends(edge)
	from, to := &g.items[g.node[upper]], &g.items[g.node[lower]]
	points := []Point{{out, tops[from.layer] + from.size.Height}, {out, bottoms[from.layer]}}
	var label Rect
	if chain := g.chains[edge]; chain != nil {
		for k, i := range chain[1 : len(chain)-1] {
			it := &g.items[i]
			if i == g.label[edge] {
				label = Rect{it.x - it.size.Width/2, tops[it.layer], it.size.Width, it.size.Height}
			}
			next := in
			if k+3 < len(chain) {
				next = g.items[chain[k+2]].x
			}
			if !g.passes(it, points[len(points)-1].X, next) {
				points = append(points, Point{it.x, tops[it.layer]}, Point{it.x, bottoms[it.layer]})
			}
		}
	}
	points = append(points, Point{in, tops[to.layer]}, Point{in, tops[to.layer]})
	if g.turned[edge] {
		slices.Reverse(points)
	}
	return Route{Points: points, Label: label}
}

// passes reports whether an edge may cross the row of its piece it on a curve from one x to another, without a vertical line:
// no node and no label is in the way. The piece itself must have no label, and stand between two rows of nodes.
func (g *layers) passes(it *item, from, to int) bool {
	if it.layer%2 == 0 || it.size != (Size{}) {
		return false
	}
	row := g.rows[it.layer]
	left, right := min(from, to, it.x), max(from, to, it.x)
	for _, step := range []int{-1, 1} {
		for pos := it.pos + step; 0 <= pos && pos < len(row); pos += step {
			other := &g.items[row[pos]]
			half := (other.size.Width + 1) / 2
			if other.x+half < left || other.x-half > right {
				break
			}
			if other.size != (Size{}) {
				return false
			}
		}
	}
	return true
}

// settle shifts all so that the drawing starts at 0, 0, and measures it.
func (d *Drawing) settle() {
	left, right, bottom := 1<<30, -1<<30, 0
	see := func(x1, x2, y int) { left, right, bottom = min(left, x1), max(right, x2), max(bottom, y) }
	for _, r := range d.Nodes {
		see(r.X, r.X+r.Width, r.Y+r.Height)
	}
	for _, e := range d.Edges {
		for _, p := range e.Points {
			see(p.X, p.X, p.Y)
		}
		if e.Label != (Rect{}) {
			see(e.Label.X, e.Label.X+e.Label.Width, e.Label.Y+e.Label.Height)
		}
	}
	for i := range d.Nodes {
		d.Nodes[i] = d.Nodes[i].moved(-left, 0)
	}
	for i := range d.Edges {
		d.Edges[i] = d.Edges[i].Moved(-left, 0)
	}
	d.Size = Size{right - left, bottom}
}
