package graph

import (
	"fmt"
	"strings"
)

// Mermaid writes the graph as a Mermaid flowchart, as Markdown viewers draw it.
func (g *Graph) Mermaid() string {
	m := mermaid{ids: map[string]string{}, used: map[string]bool{}}
	m.line(0, "---")
	m.line(0, "title: "+yamlText(g.Name))
	m.line(0, "---")
	m.line(0, "flowchart TD")
	m.body(1, g.Body)
	if len(g.Exit.Nodes) > 0 {
		m.line(1, `subgraph on_exit["on exit"]`)
		m.body(2, g.Exit)
		m.line(1, "end")
		m.below(g.Body)
		m.bodies = append(m.bodies, "on_exit")
	}
	for _, l := range looks {
		m.line(1, fmt.Sprintf("classDef %s fill:%s,stroke:%s,color:#1c2733", l.class, l.fill, l.border))
	}
	if len(m.bodies) > 0 {
		m.line(1, "classDef bodies fill:#f8fafb,stroke:#aab4bf,color:#1c2733")
		m.line(1, "class "+strings.Join(m.bodies, ",")+" bodies")
	}
	return m.text.String()
}

type mermaid struct {
	text strings.Builder
	ids  map[string]string // by node ID
	used map[string]bool
	// bodies are the subgraphs so far.
	bodies []string
}

// below keeps the exit steps under all others, by links that nobody sees.
func (m *mermaid) below(main Body) {
	for _, i := range main.ends(false) {
		m.line(1, m.id(main.Nodes[i].ID)+" ~~~ on_exit")
	}
}

func (m *mermaid) line(depth int, s string) {
	m.text.WriteString(strings.Repeat("  ", depth) + s + "\n")
}

func (m *mermaid) body(depth int, b Body) {
	for i := range b.Nodes {
		m.node(depth, &b.Nodes[i])
	}
	for _, e := range b.Edges {
		arrow := "-->"
		if e.Role == RoleImplied {
			arrow = "-.->"
		}
		if e.Label != "" {
			arrow += `|"` + mermaidText(clip(e.Label, maxEdgeText)) + `"|`
		}
		m.line(depth, fmt.Sprintf("%s %s %s", m.id(b.Nodes[e.From].ID), arrow, m.id(b.Nodes[e.To].ID)))
	}
}

func (m *mermaid) node(depth int, n *Node) {
	look := lookOf(n.Kind)
	if !n.hasBody() {
		m.line(depth, m.id(n.ID)+look.open+mermaidLabel(n, "<br/>")+look.close+":::"+look.class)
		return
	}
	m.line(depth, fmt.Sprintf(`subgraph %s["%s"]`, m.id(n.ID), mermaidLabel(n, " ")))
	m.line(depth+1, "direction TB")
	for i := range n.Clusters {
		c := &n.Clusters[i]
		if c.Label == "" {
			m.body(depth+1, c.Body)
			continue
		}
		m.line(depth+1, fmt.Sprintf(`subgraph %s["%s"]`, m.id(c.ID), mermaidText(clip(c.Label, maxNameText))))
		m.line(depth+2, "direction TB")
		m.body(depth+2, c.Body)
		m.line(depth+1, "end")
		m.bodies = append(m.bodies, m.id(c.ID))
	}
	m.line(depth, "end")
	m.bodies = append(m.bodies, m.id(n.ID))
}

// hasBody reports whether a node is drawn as a cluster.
func (n *Node) hasBody() bool {
	for i := range n.Clusters {
		if len(n.Clusters[i].Body.Nodes) > 0 {
			return true
		}
	}
	return false
}

func mermaidLabel(n *Node, separator string) string {
	lines := []string{"<b>" + mermaidText(clip(n.Name, maxNameText)) + "</b>", mermaidText(clip(n.subtitle(), maxDetailText))}
	for _, note := range n.Notes {
		lines = append(lines, "<i>"+mermaidText(clip(note, maxDetailText))+"</i>")
	}
	return strings.Join(lines, separator)
}

// id gives a node an identifier that no keyword of Mermaid equals: "n." and the path, with other characters replaced.
func (m *mermaid) id(id string) string {
	if known, ok := m.ids[id]; ok {
		return known
	}
	plain := "n." + strings.Map(func(r rune) rune {
		switch {
		case r == '/':
			return '.'
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_':
			return r
		}
		return '_'
	}, id)
	for m.used[plain] {
		plain += "_"
	}
	m.used[plain], m.ids[id] = true, plain
	return plain
}

// mermaidText escapes a text inside a quoted label. Beside what HTML needs, it takes the sense from what Mermaid reads
// itself: quotes, entities (#), comments and directives (%%), Markdown, formulas ($$, which no escape hides: a word
// joiner parts them).
func mermaidText(s string) string {
	var b strings.Builder
	var last rune
	for _, r := range xmlText(s) {
		if r == '$' && last == '$' {
			b.WriteRune('\u2060')
		}
		last = r
		switch r {
		case '"', '#', '%', '&', '<', '>', '`', '*', '\\', ';', '@', '~':
			fmt.Fprintf(&b, "#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// yamlText writes a double-quoted YAML scalar.
func yamlText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range xmlText(s) {
		if r == '"' || r == '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String() + `"`
}
