package graph

import (
	"fmt"
	"strings"
)

// DOT writes the graph for Graphviz.
func (g *Graph) DOT() string {
	d := &dot{}
	d.line(0, "digraph "+dotText(g.Name)+" {")
	d.line(1, `graph [compound=true fontname="Helvetica,Arial" fontsize=12 label=`+dotText(g.Name)+` labelloc=t nodesep=0.35 ranksep=0.5]`)
	d.line(1, `node [fontname="Helvetica,Arial" fontsize=11 margin="0.16,0.08"]`)
	d.line(1, `edge [fontname="Helvetica,Arial" fontsize=9 color="#5b6673" arrowsize=0.7]`)
	d.body(1, g.Body)
	if len(g.Exit.Nodes) > 0 {
		d.line(1, `subgraph "cluster on exit" {`)
		d.line(2, `graph [label="on exit" style="rounded,dashed" color="#aab4bf"]`)
		d.body(2, g.Exit)
		d.line(1, "}")
		d.below(g.Body, g.Exit)
	}
	d.line(0, "}")
	return d.text.String()
}

// below keeps the exit steps under all others, by edges that nobody sees.
func (d *dot) below(main, exit Body) {
	head := exit.Nodes[0].anchor(true)
	for _, i := range main.ends(false) {
		d.line(1, dotText(main.Nodes[i].anchor(false).ID)+" -> "+dotText(head.ID)+" [style=invis]")
	}
}

type dot struct{ text strings.Builder }

func (d *dot) line(depth int, s string) {
	d.text.WriteString(strings.Repeat("  ", depth) + s + "\n")
}

func (d *dot) body(depth int, b Body) {
	for i := range b.Nodes {
		d.node(depth, &b.Nodes[i])
	}
	for _, e := range b.Edges {
		d.edge(depth, &b.Nodes[e.From], &b.Nodes[e.To], e)
	}
}

func (d *dot) node(depth int, n *Node) {
	if !n.hasBody() {
		look := lookOf(n.Kind)
		d.line(depth, fmt.Sprintf(`%s [label=<%s> %s fillcolor="%s" color="%s" tooltip=%s]`,
			dotText(n.ID), dotLabel(n, "<br/>"), look.dot, look.fill, look.border, dotText(n.tooltip())))
		return
	}
	d.line(depth, "subgraph "+dotText("cluster "+n.ID)+" {")
	d.line(depth+1, fmt.Sprintf(`graph [label=<%s> labeljust=l style="rounded,filled" fillcolor="#f8fafb" color="#aab4bf" tooltip=%s]`,
		dotLabel(n, "  "), dotText(n.tooltip())))
	for i := range n.Clusters {
		c := &n.Clusters[i]
		if c.Label == "" {
			d.body(depth+1, c.Body)
			continue
		}
		d.line(depth+1, "subgraph "+dotText("cluster "+c.ID)+" {")
		d.line(depth+2, fmt.Sprintf(`graph [label=<%s> labeljust=l style="rounded,filled" fillcolor="#ffffff" color="#aab4bf"]`, dotHTML(clip(c.Label, maxNameText))))
		d.body(depth+2, c.Body)
		d.line(depth+1, "}")
	}
	d.line(depth, "}")
}

// edge joins two nodes. Graphviz cannot end an edge at a cluster, only clip it there on its way to a node inside.
func (d *dot) edge(depth int, from, to *Node, e Edge) {
	tail, head := from.anchor(false), to.anchor(true)
	var attributes []string
	if tail != from {
		attributes = append(attributes, "ltail="+dotText("cluster "+from.ID))
	}
	if head != to {
		attributes = append(attributes, "lhead="+dotText("cluster "+to.ID))
	}
	if e.Role == RoleImplied {
		attributes = append(attributes, "style=dashed")
	}
	if e.Label != "" {
		attributes = append(attributes, "label="+dotText(clip(e.Label, maxEdgeText)), "labeltooltip="+dotText(clip(e.Label, maxTooltip)))
	}
	line := dotText(tail.ID) + " -> " + dotText(head.ID)
	if len(attributes) > 0 {
		line += " [" + strings.Join(attributes, " ") + "]"
	}
	d.line(depth, line)
}

// anchor is the node of a cluster at which edges of the cluster end: the first that has no predecessor (first) or the
// last that has no successor. A node without a body is its own.
func (n *Node) anchor(first bool) *Node {
	if !n.hasBody() {
		return n
	}
	for i := range n.Clusters {
		c := &n.Clusters[i]
		if !first {
			c = &n.Clusters[len(n.Clusters)-1-i]
		}
		if len(c.Body.Nodes) > 0 {
			ends := c.Body.ends(first)
			if len(ends) == 0 { // a cycle, in a definition that was not compiled
				return c.Body.Nodes[0].anchor(first)
			}
			if first {
				return c.Body.Nodes[ends[0]].anchor(first)
			}
			return c.Body.Nodes[ends[len(ends)-1]].anchor(first)
		}
	}
	return n
}

func dotLabel(n *Node, separator string) string {
	lines := []string{"<b>" + dotHTML(clip(n.Name, maxNameText)) + "</b>", dotHTML(clip(n.subtitle(), maxDetailText))}
	for _, note := range n.Notes {
		lines = append(lines, "<i>"+dotHTML(clip(note, maxDetailText))+"</i>")
	}
	return strings.Join(lines, separator)
}

// dotHTML escapes a text inside an HTML-like label.
func dotHTML(s string) string {
	if s = xmlEscape(s); s != "" {
		return s
	}
	return " " // an empty tag is an error to Graphviz
}

// dotText writes a quoted string. Backslashes are doubled: Graphviz reads \N, \G and the like in labels.
func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(xmlText(s)) + `"`
}
