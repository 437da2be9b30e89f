package layout

// Size is a width and a height, in pixels like all lengths here.
type Size struct{ Width, Height int }

// Point is a place; y grows downwards.
type Point struct{ X, Y int }

// Rect is a rectangle by its upper left corner.
type Rect struct{ X, Y, Width, Height int }

// Edge goes from one node to another, both by index. Label is the room that its text needs, or zero.
type Edge struct {
	From, To int
	Label    Size
}

// Route is one edge as drawn. Points alternate: from the first point (on the lower border of From) a straight vertical
// line leads to the second, from there a curve with vertical ends to the third, a line to the fourth, and so on; the last
// point is on the upper border of To. An edge that closes a cycle runs upwards instead: from the upper border of From to
// the lower one of To. A self loop has no points.
type Route struct {
	Points []Point
	Label  Rect // where the label stands; zero without one
}

// Drawing is the result: a place for each node and a route for each edge, in the order they were given.
type Drawing struct {
	Size
	Nodes []Rect
	Edges []Route
}

// Options are the distances. Zero means the default.
type Options struct {
	NodeGap  int // between neighbours of a layer; 40
	EdgeGap  int // beside an edge that passes a layer; 16
	LayerGap int // between layers; 48
	// MaxRow is the width at which parts that no edge joins go to a new row; the default is about 1.6 times the height.
	MaxRow int
}

func (o Options) withDefaults() Options {
	set := func(n *int, to int) {
		if *n == 0 {
			*n = to
		}
	}
	set(&o.NodeGap, 40)
	set(&o.EdgeGap, 16)
	set(&o.LayerGap, 48)
	return o
}

// Layered places nodes of the given sizes. Edges out of range are a programming error and panic.
func Layered(nodes []Size, edges []Edge, o Options) Drawing {
	o = o.withDefaults()
	parts := components(len(nodes), edges)
	drawn := make([]Drawing, len(parts))
	for i, p := range parts {
		drawn[i] = p.draw(nodes, edges, o)
	}
	return pack(len(nodes), len(edges), parts, drawn, o)
}

// component is a part of the graph that no edge joins to the rest.
type component struct {
	nodes, edges []int // indexes into the whole
}

// components splits the graph, in the order of each part's first node.
func components(n int, edges []Edge) []component {
	root := make([]int, n)
	for i := range root {
		root[i] = i
	}
	find := func(i int) int {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	for _, e := range edges {
		a, b := find(e.From), find(e.To)
		root[max(a, b)] = min(a, b)
	}
	var parts []component
	place := make([]int, n)
	for i := range root {
		r := find(i)
		if r == i {
			place[i] = len(parts)
			parts = append(parts, component{})
		}
		parts[place[r]].nodes = append(parts[place[r]].nodes, i)
	}
	for i, e := range edges {
		p := &parts[place[find(e.From)]]
		p.edges = append(p.edges, i)
	}
	return parts
}

// draw places one component by itself.
func (c component) draw(nodes []Size, edges []Edge, o Options) Drawing {
	local := make(map[int]int, len(c.nodes))
	sizes := make([]Size, len(c.nodes))
	for i, n := range c.nodes {
		local[n], sizes[i] = i, nodes[n]
	}
	own := make([]Edge, len(c.edges))
	for i, e := range c.edges {
		own[i] = Edge{From: local[edges[e].From], To: local[edges[e].To], Label: edges[e].Label}
	}
	g := newLayers(sizes, own, o)
	g.order()
	g.place()
	return g.drawing()
}

// pack puts the components beside each other, in rows, in their order.
func pack(nodes, edges int, parts []component, drawn []Drawing, o Options) Drawing {
	all := Drawing{Nodes: make([]Rect, nodes), Edges: make([]Route, edges)}
	limit := rowWidth(drawn, o)
	x, y, rowHeight := 0, 0, 0
	for i, d := range drawn {
		if x > 0 && x+d.Width > limit {
			x, y, rowHeight = 0, y+rowHeight+o.LayerGap, 0
		}
		for j, n := range parts[i].nodes {
			all.Nodes[n] = d.Nodes[j].moved(x, y)
		}
		for j, e := range parts[i].edges {
			all.Edges[e] = d.Edges[j].Moved(x, y)
		}
		all.Width = max(all.Width, x+d.Width)
		all.Height = max(all.Height, y+d.Height)
		x += d.Width + o.NodeGap
		rowHeight = max(rowHeight, d.Height)
	}
	return all
}

// rowWidth is the width for which the rows together are about 1.6 times as wide as high.
func rowWidth(drawn []Drawing, o Options) int {
	if o.MaxRow > 0 {
		return o.MaxRow
	}
	area, widest := 0, 0
	for _, d := range drawn {
		area += (d.Width + o.NodeGap) * (d.Height + o.LayerGap)
		widest = max(widest, d.Width)
	}
	width := 0
	for width*width < area*16/10 {
		width += o.NodeGap
	}
	return max(width, widest)
}

func (r Rect) moved(x, y int) Rect {
	r.X, r.Y = r.X+x, r.Y+y
	return r
}

// Moved returns the route shifted by x and y.
func (r Route) Moved(x, y int) Route {
	points := make([]Point, len(r.Points))
	for i, p := range r.Points {
		points[i] = Point{p.X + x, p.Y + y}
	}
	if len(points) == 0 {
		points = nil
	}
	if r.Label != (Rect{}) {
		r.Label = r.Label.moved(x, y)
	}
	return Route{Points: points, Label: r.Label}
}
