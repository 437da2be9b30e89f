package graph

import "github.com/wovyr/wovyr/pkg/graph/layout"

// block is a body with a place for everything in it.
type block struct {
	body    Body
	boxes   []box
	drawing layout.Drawing
}

// box is one node with its measures.
type box struct {
	node     *Node
	size     layout.Size
	lines    []line
	head     int // height of the lines above the clusters
	inner    int // width of all clusters
	clusters []part
}

// part is one body inside a box.
type part struct {
	label string
	block *block
	size  layout.Size
}

// line is one line of text.
type line struct {
	text, class  string
	size, height int
}

// newBlock lays a body out: first the bodies inside it, then itself.
func newBlock(b Body) *block {
	out := &block{body: b, boxes: make([]box, len(b.Nodes))}
	sizes := make([]layout.Size, len(b.Nodes))
	for i := range b.Nodes {
		out.boxes[i] = newBox(&b.Nodes[i])
		sizes[i] = out.boxes[i].size
	}
	edges := make([]layout.Edge, len(b.Edges))
	for i, e := range b.Edges {
		edges[i] = layout.Edge{From: e.From, To: e.To}
		if e.Label != "" {
			edges[i].Label = layout.Size{Width: textWidth(clip(e.Label, maxEdgeText), detailSize, false) + 12, Height: detailLine}
		}
	}
	out.drawing = layout.Layered(sizes, edges, layout.Options{})
	return out
}

func newBox(n *Node) box {
	b := box{node: n, lines: linesOf(n)}
	width, height := 0, 0
	for _, l := range b.lines {
		width = max(width, textWidth(l.text, l.size, l.class == "name"))
		height += l.height
	}
	if n.hasBody() {
		b.fit(n, width, height)
		return b
	}
	side := padding + 4
	if lookOf(n.Kind).outline != rectangle {
		side += slant / 2
	}
	b.size = layout.Size{Width: max(84, width+2*side), Height: height + 2*padding}
	return b
}

// fit makes room for the clusters of a box beside each other.
func (b *box) fit(n *Node, width, height int) {
	b.head = height + 2*padding
	tallest := 0
	for i := range n.Clusters {
		c := &n.Clusters[i]
		if len(c.Body.Nodes) == 0 {
			continue
		}
		p := part{label: clip(c.Label, maxNameText), block: newBlock(c.Body)}
		p.size = layout.Size{Width: p.block.drawing.Width + 2*bodyPadding, Height: p.block.drawing.Height}
		if p.label != "" {
			p.size.Width = max(p.size.Width, textWidth(p.label, nameSize, true)+2*padding)
			p.size.Height += nameLine + 3*padding
		}
		if len(b.clusters) > 0 {
			b.inner += clusterGap
		}
		b.inner += p.size.Width
		tallest = max(tallest, p.size.Height)
		b.clusters = append(b.clusters, p)
	}
	side := 0
	if b.clusters[0].label != "" {
		side = 2 * bodyPadding
	}
	b.size = layout.Size{Width: max(b.inner+side, width+2*bodyPadding), Height: b.head + tallest + bodyPadding}
}

func linesOf(n *Node) []line {
	lines := []line{{clip(n.Name, maxNameText), "name", nameSize, nameLine}}
	if n.Kind != "" {
		lines = append(lines, line{clip(n.subtitle(), maxDetailText), "", detailSize, detailLine})
	}
	for _, note := range n.Notes {
		lines = append(lines, line{clip(note, maxDetailText), "note", detailSize, detailLine})
	}
	return lines
}
