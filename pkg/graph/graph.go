package graph

import (
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Graph is a definition as nodes and edges.
type Graph struct {
	Name        string
	Description string
	// Body holds the steps; those of on_exit are in Exit.
	Body Body
	// Exit holds the steps that run last, or nothing.
	Exit Body
}

// Body is one scope of steps. Edges join its own nodes only: what a nested body reads of its surroundings is a
// dependency of the step that has the body.
type Body struct {
	Nodes []Node
	Edges []Edge
}

// Node is one step.
type Node struct {
	// ID is the step's path of names, unique in the graph: "each/price". In a race the branch is part of it.
	ID   string
	Name string
	Kind workflow.Kind
	// Detail says in a few words what the step does: the function's name, the address, the event's type.
	Detail string
	// Notes are further lines: when, join, what undoes the step.
	Notes []string
	// Clusters are the step's bodies: none, one, or a race's branches.
	Clusters []Cluster
}

// Cluster is a body inside a node.
type Cluster struct {
	ID    string
	Label string // a branch's name; empty where the node has only one body
	Body  Body
}

// Edge is a dependency or a choice between two nodes of one body.
type Edge struct {
	From, To int // indexes into Nodes
	Role     Role
	// Label is the end that a need waits for where it is not the usual one, or the condition of a choice.
	Label string
}

// Role says why an edge is there.
type Role string

// The three roles.
const (
	RoleNeed    Role = "need"    // declared by `needs`
	RoleImplied Role = "implied" // an expression reads the step
	RoleThen    Role = "then"    // a switch, a match or an on_error picks the step
)

// Of builds the graph of a definition. Names that no step bears (in a definition that was not compiled) make no edge.
func Of(def *workflow.Definition) *Graph {
	g := &Graph{Name: oneLine(def.Name), Description: oneLine(def.Description)}
	var main, exit []workflow.Step
	for _, s := range def.Body.Steps {
		if s.Exit {
			exit = append(exit, s)
		} else {
			main = append(main, s)
		}
	}
	g.Body, g.Exit = bodyOf(main, ""), bodyOf(exit, "")
	return g
}

func bodyOf(steps []workflow.Step, path string) Body {
	var b Body
	place := make(map[string]int, len(steps))
	for i := range steps {
		s := &steps[i]
		place[s.Name] = i
		b.Nodes = append(b.Nodes, nodeOf(s, path+s.Name))
	}
	for i := range steps {
		b.connect(&steps[i], i, place)
	}
	return b
}

func nodeOf(s *workflow.Step, id string) Node {
	n := Node{ID: id, Name: oneLine(s.Name), Kind: s.Kind, Detail: detail(s), Notes: notes(s)}
	cluster := func(id, label string, body workflow.Body) {
		n.Clusters = append(n.Clusters, Cluster{ID: id, Label: label, Body: bodyOf(body.Steps, id+"/")})
	}
	switch {
	case s.Foreach != nil:
		cluster(id, "", s.Foreach.Body)
	case s.Loop != nil:
		cluster(id, "", s.Loop.Body)
	case s.Group != nil:
		cluster(id, "", s.Group.Body)
	case s.Race != nil:
		for _, branch := range s.Race.Branches {
			cluster(id+"/"+branch.Name, oneLine(branch.Name), branch.Body)
		}
	}
	return n
}

// connect adds the edges that a step declares: to its needs, and to the steps it picks.
func (b *Body) connect(s *workflow.Step, i int, place map[string]int) {
	add := func(from, to int, role Role, label string) {
		b.Edges = append(b.Edges, Edge{From: from, To: to, Role: role, Label: label})
	}
	picked := make(map[string]bool, len(s.Picked))
	for _, by := range s.Picked {
		picked[by] = true
	}
	for _, need := range s.Needs {
		from, ok := place[need.Step]
		if !ok || need.Implied && picked[need.Step] { // the choice says it already
			continue
		}
		role, label := RoleNeed, ""
		if need.Implied {
			role = RoleImplied
		}
		if need.End != workflow.EndMet {
			label = string(need.End)
		}
		add(from, i, role, label)
	}
	for _, c := range choices(s) {
		for _, then := range c.then {
			if to, ok := place[then]; ok {
				add(i, to, RoleThen, c.label)
			}
		}
	}
}

// ends are the nodes without a predecessor (first), or without a successor.
func (b *Body) ends(first bool) (ends []int) {
	inner := make([]bool, len(b.Nodes))
	for _, e := range b.Edges {
		if first {
			inner[e.To] = true
		} else {
			inner[e.From] = true
		}
	}
	for i := range b.Nodes {
		if !inner[i] {
			ends = append(ends, i)
		}
	}
	return ends
}

// choice is one way in which a step picks others.
type choice struct {
	label string
	then  []string
}

func choices(s *workflow.Step) (all []choice) {
	if s.Switch != nil {
		for _, b := range s.Switch.Branches {
			all = append(all, choice{condition(b.When, "else"), b.Then})
		}
	}
	if s.Match != nil {
		for _, c := range s.Match.Cases {
			all = append(all, choice{caseLabel(c), c.Then})
		}
	}
	for _, h := range s.OnError {
		if len(h.Then) > 0 {
			all = append(all, choice{"on error" + prefixed(": ", condition(h.Match, "")), h.Then})
		}
	}
	return all
}

func condition(e *workflow.Expr, otherwise string) string {
	if e == nil {
		return otherwise
	}
	return oneLine(e.Source)
}

func caseLabel(c workflow.Case) string {
	if c.Like == nil {
		return condition(c.When, "else")
	}
	return "like " + text(c.Like) + prefixed(" when ", condition(c.When, ""))
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}
