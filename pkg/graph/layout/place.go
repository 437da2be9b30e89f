package layout

// Weights of an edge's pieces when items are drawn towards their neighbours: a long edge should run straight.
const (
	weightEnds   = 1  // node to node, or to a piece
	weightPieces = 8  // piece to piece
	weightLine   = 64 // piece to the mean of its edge's pieces
)

// place gives each item its x. Rows are moved to their neighbours above and below in turn, then to both.
func (g *layers) place() {
	for _, row := range g.rows {
		x := 0
		for pos, i := range row {
			if pos > 0 {
				x += g.distance(row[pos-1], i)
			}
			g.items[i].x = x
		}
	}
	const rounds = 8
	for round := 0; round < rounds; round++ {
		for r := 1; r < len(g.rows); r++ {
			g.moveRow(g.rows[r], true, false)
		}
		for r := len(g.rows) - 2; r >= 0; r-- {
			g.moveRow(g.rows[r], false, true)
		}
	}
	for round := 0; round < rounds; round++ {
		g.straighten()
		for _, row := range g.rows {
			g.moveRow(row, true, true)
		}
	}
}

// straighten finds the mean x of the pieces of each edge: from now on they are drawn towards it.
func (g *layers) straighten() {
	g.lines = make([]int, len(g.edges))
	for e, chain := range g.chains {
		if len(chain) < 4 {
			continue
		}
		sum := 0
		for _, i := range chain[1 : len(chain)-1] {
			sum += g.items[i].x
		}
		g.lines[e] = floorDiv(sum, len(chain)-2)
	}
}

// distance is what the centres of two neighbours must keep.
func (g *layers) distance(left, right int) int {
	a, b := &g.items[left], &g.items[right]
	gap := g.options.NodeGap
	if a.node < 0 || b.node < 0 {
		gap = g.options.EdgeGap
	}
	return (a.size.Width+1)/2 + (b.size.Width+1)/2 + gap
}

// moveRow moves the items of a row as near as possible to their neighbours' mean: the least sum of squares that keeps
// order and distances, found by pooling items that would overlap.
func (g *layers) moveRow(row []int, up, down bool) {
	type block struct{ first, weight, sum, mean int } // sum: weighted wishes, each less its offset in the row
	var blocks []block
	offset := 0
	offsets := make([]int, len(row))
	for pos, i := range row {
		if pos > 0 {
			offset += g.distance(row[pos-1], i)
		}
		offsets[pos] = offset
		wish, weight := g.wish(i, up, down)
		b := block{pos, weight, weight * (wish - offset), wish - offset}
		for len(blocks) > 0 && blocks[len(blocks)-1].mean > b.mean {
			last := blocks[len(blocks)-1]
			blocks = blocks[:len(blocks)-1]
			b = block{last.first, last.weight + b.weight, last.sum + b.sum, 0}
			b.mean = floorDiv(b.sum, b.weight)
		}
		blocks = append(blocks, b)
	}
	for k, b := range blocks {
		end := len(row)
		if k+1 < len(blocks) {
			end = blocks[k+1].first
		}
		for pos := b.first; pos < end; pos++ {
			g.items[row[pos]].x = b.mean + offsets[pos]
		}
	}
}

// wish is where an item would stand without neighbours in its row, and how much that matters.
func (g *layers) wish(i int, up, down bool) (x, weight int) {
	it := &g.items[i]
	sum := 0
	pull := func(near []int) {
		for _, n := range near {
			w := weightEnds
			if it.node < 0 && g.items[n].node < 0 {
				w = weightPieces
			}
			sum, weight = sum+w*g.items[n].x, weight+w
		}
	}
	if up {
		pull(it.up)
	}
	if down {
		pull(it.down)
	}
	if it.node < 0 && g.lines != nil && len(g.chains[it.edge]) >= 4 {
		sum, weight = sum+weightLine*g.lines[it.edge], weight+weightLine
	}
	if weight == 0 {
		return it.x, 1
	}
	return floorDiv(sum, weight), weight
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
