package layout

// maxPieces bounds the pieces that long edges are cut into. Beyond it the longest edges are drawn without regard to what
// they cross, so that a hostile graph costs no more than a large one.
const maxPieces = 20_000

// item is what stands in a layer: a node, or a piece of an edge that passes it.
type item struct {
	node, edge int // one of them is -1
	size       Size
	layer      int
	pos        int // in its layer
	x          int // centre
	up, down   []int
}

// layers is one connected graph on its way to a drawing. Nodes stand in even layers; labels and the pieces between
// them in odd ones too.
type layers struct {
	options Options
	edges   []Edge
	turned  []bool // edges that close a cycle: their layers run the other way
	items   []item
	rows    [][]int // items by layer, left to right
	node    []int   // item of each node
	chains  [][]int // items of each edge, from upper to lower node; nil: drawn straight, or a self loop
	label   []int   // item that holds the edge's label, or -1
	lines   []int   // mean x of the pieces of each edge; nil before they are to run straight
}

func newLayers(nodes []Size, edges []Edge, o Options) *layers {
	g := &layers{
		options: o, edges: edges,
		turned: backEdges(len(nodes), edges),
		node:   make([]int, len(nodes)),
		chains: make([][]int, len(edges)),
		label:  make([]int, len(edges)),
	}
	rank := ranks(len(nodes), edges, g.turned)
	for i, size := range nodes {
		g.node[i] = g.add(item{node: i, edge: -1, size: size, layer: 2 * rank[i]})
	}
	short := shortEdges(edges, rank)
	for i, e := range edges {
		g.label[i] = -1
		if e.From != e.To && short[i] {
			g.chain(i)
		}
	}
	g.fill()
	return g
}

func (g *layers) add(it item) int {
	g.items = append(g.items, it)
	return len(g.items) - 1
}

// ends are an edge's nodes as drawn: a turned edge has its To above.
func (g *layers) ends(edge int) (upper, lower int) {
	e := g.edges[edge]
	if g.turned[edge] {
		return e.To, e.From
	}
	return e.From, e.To
}

// chain cuts an edge into one piece a layer; the first one holds the label.
func (g *layers) chain(edge int) {
	upper, lower := g.ends(edge)
	last := g.node[upper]
	chain := []int{last}
	for layer := g.items[last].layer + 1; layer < g.items[g.node[lower]].layer; layer++ {
		piece := item{node: -1, edge: edge, layer: layer}
		if g.edges[edge].Label != (Size{}) && len(chain) == 1 {
			piece.size = g.edges[edge].Label
		}
		next := g.add(piece)
		if piece.size != (Size{}) {
			g.label[edge] = next
		}
		g.join(last, next)
		chain, last = append(chain, next), next
	}
	g.join(last, g.node[lower])
	g.chains[edge] = append(chain, g.node[lower])
}

func (g *layers) join(upper, lower int) {
	g.items[upper].down = append(g.items[upper].down, lower)
	g.items[lower].up = append(g.items[lower].up, upper)
}

// fill makes the rows: depth first from each node without a predecessor, so that what belongs together starts together.
func (g *layers) fill() {
	seen := make([]bool, len(g.items))
	put := func(i int) {
		seen[i] = true
		it := &g.items[i]
		for len(g.rows) <= it.layer {
			g.rows = append(g.rows, nil)
		}
		it.pos = len(g.rows[it.layer])
		g.rows[it.layer] = append(g.rows[it.layer], i)
	}
	for _, start := range g.node {
		if seen[start] || len(g.items[start].up) > 0 {
			continue
		}
		for stack := []int{start}; len(stack) > 0; {
			i := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[i] {
				continue
			}
			put(i)
			down := g.items[i].down
			for j := len(down) - 1; j >= 0; j-- {
				stack = append(stack, down[j])
			}
		}
	}
}

// backEdges finds the edges that close a cycle, depth first in the order of the nodes.
func backEdges(n int, edges []Edge) []bool {
	out := make([][]int, n)
	for i, e := range edges {
		out[e.From] = append(out[e.From], i)
	}
	turned := make([]bool, len(edges))
	const (
		fresh = iota
		open
		done
	)
	state, next := make([]int, n), make([]int, n)
	for start := range n {
		if state[start] != fresh {
			continue
		}
		state[start] = open
		for stack := []int{start}; len(stack) > 0; {
			at := stack[len(stack)-1]
			if next[at] == len(out[at]) {
				state[at] = done
				stack = stack[:len(stack)-1]
				continue
			}
			edge := out[at][next[at]]
			next[at]++
			switch to := edges[edge].To; state[to] {
			case fresh:
				state[to] = open
				stack = append(stack, to)
			case open:
				turned[edge] = to != at
			}
		}
	}
	return turned
}

// ranks is the length of the longest path to each node, back edges turned and self loops left out.
func ranks(n int, edges []Edge, turned []bool) []int {
	out := make([][]int, n)
	open := make([]int, n)
	for i, e := range edges {
		if e.From == e.To {
			continue
		}
		from, to := e.From, e.To
		if turned[i] {
			from, to = to, from
		}
		out[from] = append(out[from], to)
		open[to]++
	}
	rank := make([]int, n)
	var ready []int
	for i := range n {
		if open[i] == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		at := ready[0]
		ready = ready[1:]
		for _, to := range out[at] {
			rank[to] = max(rank[to], rank[at]+1)
			if open[to]--; open[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	return rank
}

// shortEdges says which edges are cut into pieces: all, or the shortest ones that the bound allows.
func shortEdges(edges []Edge, rank []int) []bool {
	short := make([]bool, len(edges))
	left := maxPieces
	for span := 1; ; span++ {
		some := false
		for i, e := range edges {
			switch d := rank[e.To] - rank[e.From]; {
			case d == span || d == -span:
				if left -= 2*span - 1; left < 0 && span > 1 {
					return short
				}
				short[i] = true
			case d > span || d < -span:
				some = true
			}
		}
		if !some {
			return short
		}
	}
}
