package graph

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/wovyr/wovyr/pkg/graph/layout"
)

// Measures of the picture, in pixels.
const (
	margin      = 24
	nameSize    = 13 // fonts
	detailSize  = 11
	nameLine    = 18 // lines
	detailLine  = 15
	padding     = 10
	bodyPadding = 18
	clusterGap  = 16
	blockGap    = 28
	slant       = 12
)

// SVG writes the graph as a picture with a white ground. Tooltips hold what is shortened in the picture.
func (g *Graph) SVG() string {
	s := &svg{}
	parts := []*block{newBlock(g.Body)}
	if len(g.Exit.Nodes) > 0 {
		exit := Node{ID: "on exit", Name: "on exit", Clusters: []Cluster{{ID: "on exit", Body: g.Exit}}}
		parts = append(parts, newBlock(Body{Nodes: []Node{exit}}))
	}
	head := titleOf(g)
	width, height := head.Width, head.Height
	for _, p := range parts {
		width = max(width, p.drawing.Width)
		height += p.drawing.Height + blockGap
	}
	s.open(g, width+2*margin, height+2*margin)
	s.title(g)
	y := margin + head.Height + blockGap
	for _, p := range parts {
		s.block(p, margin+(width-p.drawing.Width)/2, y)
		y += p.drawing.Height + blockGap
	}
	s.text.WriteString("</svg>\n")
	return s.text.String()
}

type svg struct{ text strings.Builder }

func (s *svg) printf(format string, args ...any) { fmt.Fprintf(&s.text, format, args...) }

func (s *svg) open(g *Graph, width, height int) {
	s.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n",
		width, height, width, height, xmlEscape("Workflow "+g.Name))
	s.printf("<style>\n")
	s.printf("text { font-family: Helvetica, Arial, sans-serif; font-size: %dpx; fill: #3c4854; }\n", detailSize)
	s.printf(".name { font-size: %dpx; font-weight: bold; fill: #1c2733; }\n.note { font-style: italic; }\n.mid { text-anchor: middle; }\n", nameSize)
	s.printf(".edge { fill: none; stroke: #66717d; stroke-width: 1.3; }\n.implied { stroke-dasharray: 5 4; stroke: #8a949e; }\n.then { stroke: #bf6b3f; }\n")
	s.printf(".label { fill: #ffffff; }\n.body { fill: #f7f9fa; stroke: #b4bdc6; }\n.branch { fill: #ffffff; stroke: #c9d0d6; }\n.exit { stroke-dasharray: 6 4; }\n")
	for _, l := range looks {
		s.printf(".%s { fill: %s; stroke: %s; stroke-width: 1.2; }\n", l.class, l.fill, l.border)
	}
	s.printf("</style>\n<defs>\n")
	for _, role := range []struct{ id, colour string }{{"need", "#66717d"}, {"implied", "#8a949e"}, {"then", "#bf6b3f"}} {
		s.printf(`<marker id="%s" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.8 L8 4 L0 7.2 Z" fill="%s"/></marker>`+"\n",
			role.id, role.colour)
	}
	s.printf("</defs>\n<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", width, height)
}

const maxDescriptionText = 110

func titleOf(g *Graph) layout.Size {
	size := layout.Size{Width: textWidth(clip(g.Name, maxDescriptionText), nameSize, true), Height: nameLine}
	if g.Description != "" {
		size.Width = max(size.Width, textWidth(clip(g.Description, maxDescriptionText), detailSize, false))
		size.Height += detailLine
	}
	return size
}

func (s *svg) title(g *Graph) {
	s.printf(`<text class="name" x="%d" y="%d">%s</text>`+"\n", margin, margin+nameSize, xmlEscape(clip(g.Name, maxDescriptionText)))
	if g.Description != "" {
		s.printf(`<text x="%d" y="%d">%s</text>`+"\n", margin, margin+nameLine+detailSize, xmlEscape(clip(g.Description, maxDescriptionText)))
	}
}

// block draws one body at a place: edges below nodes, labels above both.
func (s *svg) block(b *block, x, y int) {
	for i, r := range b.drawing.Edges {
		s.edge(b.body.Edges[i], r.Moved(x, y))
	}
	for i, r := range b.drawing.Nodes {
		s.box(&b.boxes[i], r.X+x, r.Y+y)
	}
	for i, r := range b.drawing.Edges {
		if label := r.Moved(x, y).Label; label != (layout.Rect{}) {
			s.label(b.body.Edges[i].Label, label)
		}
	}
}

func (s *svg) edge(e Edge, r layout.Route) {
	if len(r.Points) == 0 {
		return
	}
	s.printf(`<path class="edge %s" marker-end="url(#%s)" d="M%d %d`, e.Role, e.Role, r.Points[0].X, r.Points[0].Y)
	for i := 1; i < len(r.Points); i++ {
		a, b := r.Points[i-1], r.Points[i]
		switch {
		case a == b:
		case i%2 == 1 || a.X == b.X:
			s.printf(" L%d %d", b.X, b.Y)
		default:
			middle := (a.Y + b.Y) / 2
			s.printf(" C%d %d %d %d %d %d", a.X, middle, b.X, middle, b.X, b.Y)
		}
	}
	s.printf("\"/>\n")
}

func (s *svg) label(text string, r layout.Rect) {
	s.printf(`<g><title>%s</title><rect class="label" x="%d" y="%d" width="%d" height="%d" rx="3"/><text class="mid" x="%d" y="%d">%s</text></g>`+"\n",
		xmlEscape(clip(text, maxTooltip)), r.X+2, r.Y, r.Width-4, r.Height, r.X+r.Width/2, r.Y+detailSize, xmlEscape(clip(text, maxEdgeText)))
}

func (s *svg) box(b *box, x, y int) {
	s.printf(`<g data-step="%s"><title>%s</title>`+"\n", xmlEscape(b.node.ID), xmlEscape(b.node.tooltip()))
	if len(b.clusters) > 0 {
		s.cluster(b, x, y)
	} else {
		look := lookOf(b.node.Kind)
		s.outline(look, x, y, b.size.Width, b.size.Height)
		s.lines(b.lines, "mid", x+b.size.Width/2, y+padding)
	}
	s.printf("</g>\n")
}

func (s *svg) lines(lines []line, class string, x, y int) {
	for _, l := range lines {
		s.printf(`<text class="%s" x="%d" y="%d">%s</text>`+"\n", strings.TrimSpace(l.class+" "+class), x, y+l.size, xmlEscape(l.text))
		y += l.height
	}
}

// cluster draws a box with bodies inside, one beside the other.
func (s *svg) cluster(b *box, x, y int) {
	class := "body"
	if b.node.Kind == "" {
		class = "body exit"
	}
	s.printf(`<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="8"/>`+"\n", class, x, y, b.size.Width, b.size.Height)
	s.lines(b.lines, "", x+bodyPadding, y+padding)
	top, left := y+b.head, x+(b.size.Width-b.inner)/2
	for _, c := range b.clusters {
		if c.label == "" {
			s.block(c.block, left+bodyPadding, top)
			continue
		}
		s.printf(`<rect class="branch" x="%d" y="%d" width="%d" height="%d" rx="6"/>`+"\n", left, top, c.size.Width, c.size.Height)
		s.printf(`<text class="name" x="%d" y="%d">%s</text>`+"\n", left+padding, top+padding+nameSize, xmlEscape(c.label))
		s.block(c.block, left+(c.size.Width-c.block.drawing.Width)/2, top+padding+nameLine+padding)
		left += c.size.Width + clusterGap
	}
}

// outline draws a shape. Each is flat above and below over its middle three fifths, where edges end.
func (s *svg) outline(l look, x, y, w, h int) {
	k := min(slant, w/5)
	polygon := func(points ...int) {
		s.printf(`<polygon class="%s" points="`, l.class)
		for i := 0; i < len(points); i += 2 {
			if i > 0 {
				s.printf(" ")
			}
			s.printf("%d,%d", x+points[i], y+points[i+1])
		}
		s.printf("\"/>\n")
	}
	switch l.outline {
	case pill:
		s.printf(`<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`+"\n", l.class, x, y, w, h, min(h/2, w/5))
	case trapezium:
		polygon(k, 0, w-k, 0, w, h, 0, h)
	case hexagon:
		polygon(k, 0, w-k, 0, w, h/2, w-k, h, k, h, 0, h/2)
	case parallelogram:
		polygon(k, 0, w, 0, w-k, h, 0, h)
	case flag:
		polygon(0, 0, w-k, 0, w, h/2, w-k, h, 0, h)
	case octagon:
		polygon(k, 0, w-k, 0, w, k, w, h-k, w-k, h, k, h, 0, h-k, 0, k)
	case doubled:
		s.printf(`<rect class="%s" x="%d" y="%d" width="%d" height="%d"/>`+"\n", l.class, x, y, w, h)
		s.printf(`<path class="%s" d="M%d %d V%d M%d %d V%d"/>`+"\n", l.class, x+6, y, y+h, x+w-6, y, y+h)
	default:
		s.printf(`<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="5"/>`+"\n", l.class, x, y, w, h)
	}
}

// maxTooltip bounds what a tooltip says; Graphviz takes no strings above 16 KiB.
const maxTooltip = 2000

// tooltip is all that is known of a step.
func (n *Node) tooltip() string {
	lines := []string{n.Name}
	if n.Kind != "" {
		lines = append(lines, n.subtitle())
	}
	return clip(strings.Join(append(lines, n.Notes...), "\n"), maxTooltip)
}

// xmlText replaces what no XML document may hold.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' && r != '\n' || r == 0xfffe || r == 0xffff || r == 0x7f || 0x80 <= r && r < 0xa0 {
			return utf8.RuneError
		}
		return r
	}, s)
}

// xmlEscape escapes a text for element content and attributes.
func xmlEscape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;", "\n", "&#10;").Replace(xmlText(s))
}
