package layout

import "sort"

// order looks for an order of each row with few crossings: rows are sorted by the median of their neighbours, downwards
// and upwards in turn, then neighbours are swapped where that helps; the best order seen stays.
func (g *layers) order() {
	best, crossings := g.snapshot(), g.crossings()
	for sweep, idle := 0, 0; crossings > 0 && idle < 4 && sweep < 24; sweep++ {
		g.sweep(sweep%2 == 0)
		g.swapNeighbours(sweep%4 >= 2)
		if now := g.crossings(); now < crossings {
			best, crossings, idle = g.snapshot(), now, 0
		} else {
			idle++
		}
	}
	g.restore(best)
}

func (g *layers) snapshot() [][]int {
	rows := make([][]int, len(g.rows))
	for i, row := range g.rows {
		rows[i] = append([]int(nil), row...)
	}
	return rows
}

func (g *layers) restore(rows [][]int) {
	g.rows = rows
	for _, row := range rows {
		g.renumber(row)
	}
}

func (g *layers) renumber(row []int) {
	for pos, i := range row {
		g.items[i].pos = pos
	}
}

// sweep sorts each row by its neighbours in the row before (downwards) or after it.
func (g *layers) sweep(downwards bool) {
	for r := range g.rows {
		if downwards {
			g.sortRow(g.rows[r], func(it *item) []int { return it.up })
		} else {
			g.sortRow(g.rows[len(g.rows)-1-r], func(it *item) []int { return it.down })
		}
	}
}

// sortRow sorts by the median position of the neighbours, doubled to stay whole. Items without neighbours keep their place.
func (g *layers) sortRow(row []int, neighbours func(*item) []int) {
	medians := make(map[int]int, len(row))
	var movable []int
	for _, i := range row {
		if near := neighbours(&g.items[i]); len(near) > 0 {
			medians[i] = g.median(near)
			movable = append(movable, i)
		}
	}
	sort.SliceStable(movable, func(a, b int) bool { return medians[movable[a]] < medians[movable[b]] })
	next := 0
	for pos, i := range row {
		if _, ok := medians[i]; ok {
			row[pos] = movable[next]
			next++
		}
	}
	g.renumber(row)
}

func (g *layers) median(near []int) int {
	positions := make([]int, len(near))
	for j, n := range near {
		positions[j] = g.items[n].pos
	}
	sort.Ints(positions)
	mid := len(positions) / 2
	if len(positions)%2 == 1 {
		return 2 * positions[mid]
	}
	return positions[mid-1] + positions[mid]
}

// maxDegree bounds the pairs that swapNeighbours compares for two items.
const maxDegree = 64

// swapNeighbours exchanges two neighbours of a row wherever that saves crossings; at first also where it saves none
// (restless), which leads out of dead ends.
func (g *layers) swapNeighbours(restless bool) {
	for better, rounds := true, 0; better && rounds < 8; rounds++ {
		better = false
		for _, row := range g.rows {
			for pos := 0; pos+1 < len(row); pos++ {
				a, b := &g.items[row[pos]], &g.items[row[pos+1]]
				now, then := g.pairCrossings(a, b), g.pairCrossings(b, a)
				if now > then || restless && now == then && now > 0 {
					row[pos], row[pos+1] = row[pos+1], row[pos]
					a.pos, b.pos = b.pos, a.pos
					better = true
				}
			}
		}
		restless = false
	}
}

// pairCrossings counts the crossings of a's edges with b's if a stands left of b.
func (g *layers) pairCrossings(a, b *item) int {
	if max(len(a.up), len(b.up), len(a.down), len(b.down)) > maxDegree {
		return 0
	}
	return g.inversions(a.up, b.up) + g.inversions(a.down, b.down)
}

func (g *layers) inversions(left, right []int) (n int) {
	for _, l := range left {
		for _, r := range right {
			if g.items[l].pos > g.items[r].pos {
				n++
			}
		}
	}
	return n
}

// crossings counts all crossings between neighbouring rows (Barth, Jünger and Mutzel 2002).
func (g *layers) crossings() (total int) {
	for r := 0; r+1 < len(g.rows); r++ {
		tree := make([]int, len(g.rows[r+1])+1)
		seen := 0
		var ends []int
		for _, i := range g.rows[r] {
			ends = ends[:0]
			for _, d := range g.items[i].down {
				ends = append(ends, g.items[d].pos)
			}
			for _, p := range ends { // edges seen so far that end right of p
				total += seen - prefix(tree, p)
			}
			for _, p := range ends {
				for k := p + 1; k < len(tree); k += k & -k {
					tree[k]++
				}
				seen++
			}
		}
	}
	return total
}

// prefix sums a Fenwick tree's counts of positions 0 to p.
func prefix(tree []int, p int) (n int) {
	for k := p + 1; k > 0; k -= k & -k {
		n += tree[k]
	}
	return n
}
