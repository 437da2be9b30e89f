package engine

import (
	"fmt"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Program is a definition with what decisions need of it worked out: an index of its steps, who waits for whom, whose
// results are still read when. It is immutable and safe for concurrent use. Programs are cached by the
// definition's hash.
type Program struct {
	def    *workflow.Definition
	bodies []*body // in the order of the document, outer ones first
	exits  []int   // steps of on_exit in the root body, in their order
}

// body is a scope of steps: the workflow's, or the inside of a foreach, loop, race branch or group.
type body struct {
	id     int
	owner  *node // nil for the root
	branch int   // of a race
	name   string
	nodes  []node
	byName map[string]int32
	last   []int
	// fresh are the join states of a new frame; left, the number of steps that must end.
	fresh []workflow.JoinState
	left  int
	// starts are the steps whose join is settled from the start.
	starts []int
	// previous says that `previous` is read in this body of a loop.
	previous bool
}

// node is a step of the definition.
type node struct {
	step  *workflow.Step
	kind  *kind
	body  *body // nil for a side step
	index int
	needs []edge // towards what this one needs
	out   []edge // towards what needs this one
	// joined is how many needs the join counts: those on a step that may pick this one are met by being picked.
	joined int
	picks  []int // the steps that this one may pick
	// conditions are the needs of an exit step on the ends of other steps (semantics 33).
	conditions []edge
	// pickers is how many may pick this one; 0: it starts by itself.
	pickers int
	// held: the result is read after the body's last step. heldUndo: a compensation reads it.
	held, heldUndo bool
	bodies         []*body
	cancels        []int // what cancel_rest ends
	undo, notify   *node // side steps
	side           bool
	// abreast is how many steps of the body may start executions at once, this one included; 0: it starts none.
	abreast int
}

// edge is a need as seen from one of its ends.
type edge struct {
	node int // the other end
	end  workflow.End
	// pick: the needed step is one that may pick the needing one, so that being picked meets the need.
	pick bool
}

// Link works out a definition. It returns an error for one that no compiler made: unknown steps, kinds
// or expressions.
func Link(def *workflow.Definition) (*Program, error) {
	p := &Program{def: def}
	if _, err := p.link(&def.Body, nil, 0, ""); err != nil {
		return nil, fmt.Errorf("engine: link %s: %w", def.Name, err)
	}
	for _, name := range def.OnExit {
		i, ok := p.root().byName[name]
		if !ok {
			return nil, fmt.Errorf("engine: link %s: on_exit names %s, which is no step", def.Name, name)
		}
		p.exits = append(p.exits, int(i))
	}
	if err := p.hold(); err != nil {
		return nil, fmt.Errorf("engine: link %s: %w", def.Name, err)
	}
	return p, nil
}

// Definition returns what the program was linked from.
func (p *Program) Definition() *workflow.Definition { return p.def }

func (p *Program) root() *body { return p.bodies[0] }

func (p *Program) link(b *workflow.Body, owner *node, branch int, name string) (*body, error) {
	x := &body{id: len(p.bodies), owner: owner, branch: branch, name: name, byName: make(map[string]int32, len(b.Steps))}
	p.bodies = append(p.bodies, x)
	x.nodes = make([]node, len(b.Steps))
	for i := range b.Steps {
		st := &b.Steps[i]
		k := kindOf(st)
		if k == nil {
			return nil, fmt.Errorf("step %s: no kind %q", st.Name, st.Kind)
		}
		x.nodes[i] = node{step: st, kind: k, body: x, index: i, pickers: len(st.Picked)}
		x.byName[st.Name] = int32(i)
		x.nodes[i].sides()
	}
	for _, last := range b.Last {
		i, ok := x.byName[last]
		if !ok {
			return nil, fmt.Errorf("%s is named as a last step and is none", last)
		}
		x.last = append(x.last, int(i))
	}
	for i := range x.nodes {
		if err := x.connect(&x.nodes[i]); err != nil {
			return nil, err
		}
	}
	x.freshen()
	for i := range x.nodes {
		if err := p.enter(&x.nodes[i]); err != nil {
			return nil, err
		}
	}
	x.spread()
	return x, nil
}

// connect resolves the needs and picks of a step.
func (x *body) connect(n *node) error {
	for _, need := range n.step.Needs {
		on, ok := x.byName[need.Step]
		if !ok {
			return fmt.Errorf("step %s needs %s, which is no step of its body", n.step.Name, need.Step)
		}
		if n.step.Exit && !x.nodes[on].step.Exit {
			if need.End != workflow.EndMet { // otherwise it is only about the order, which is given
				n.conditions = append(n.conditions, edge{node: int(on), end: need.End})
			}
			continue
		}
		pick := contains(n.step.Picked, need.Step)
		if !pick {
			n.joined++
		}
		n.needs = append(n.needs, edge{int(on), need.End, pick})
		x.nodes[on].out = append(x.nodes[on].out, edge{n.index, need.End, pick})
	}
	for _, name := range n.step.Picked {
		on, ok := x.byName[name]
		if !ok {
			return fmt.Errorf("step %s is picked by %s, which is no step of its body", n.step.Name, name)
		}
		x.nodes[on].picks = append(x.nodes[on].picks, n.index)
	}
	return nil
}

// freshen works out how a new frame of the body looks.
func (x *body) freshen() {
	x.fresh = make([]workflow.JoinState, len(x.nodes))
	for i := range x.nodes {
		n := &x.nodes[i]
		x.fresh[i] = workflow.JoinState{Open: int32(n.joined), Pickers: int32(n.pickers), Readers: int32(len(n.out))}
		if n.step.Join.CancelRest {
			n.cancels = x.upstream(n)
		}
		if n.step.Exit {
			continue
		}
		x.left++
		if n.joined == 0 && n.pickers == 0 {
			x.starts = append(x.starts, i)
		}
	}
}

// upstream finds what cancel_rest of a step ends: all steps that lead to it and serve nothing else (semantics 9).
func (x *body) upstream(n *node) []int {
	in := make([]bool, len(x.nodes))
	stack := []int{n.index}
	for len(stack) > 0 {
		at := &x.nodes[stack[len(stack)-1]]
		stack = stack[:len(stack)-1]
		follow := func(i int) {
			if !in[i] {
				in[i] = true
				stack = append(stack, i)
			}
		}
		for _, e := range at.needs {
			follow(e.node)
		}
		for _, name := range at.step.Picked {
			follow(int(x.byName[name]))
		}
	}
	for again := true; again; {
		again = false
		for i := range x.nodes {
			if in[i] && !x.servesOnly(&x.nodes[i], in, n.index) {
				in[i], again = false, true
			}
		}
	}
	var list []int
	for i, ok := range in {
		if ok && i != n.index {
			list = append(list, i)
		}
	}
	return list
}

func (x *body) servesOnly(n *node, in []bool, join int) bool {
	for _, e := range n.out {
		if e.node != join && !in[e.node] {
			return false
		}
	}
	for _, q := range n.picks {
		if q != join && !in[q] {
			return false
		}
	}
	return true
}

// enter links the bodies inside a step.
func (p *Program) enter(n *node) error {
	add := func(b *workflow.Body, branch int, name string) error {
		x, err := p.link(b, n, branch, name)
		n.bodies = append(n.bodies, x)
		return err
	}
	switch st := n.step; {
	case st.Foreach != nil:
		return add(&st.Foreach.Body, 0, "")
	case st.Loop != nil:
		return add(&st.Loop.Body, 0, "")
	case st.Group != nil:
		return add(&st.Group.Body, 0, "")
	case st.Race != nil:
		for i := range st.Race.Branches {
			b := &st.Race.Branches[i]
			if err := add(&b.Body, i, b.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// The suffixes of side steps.
const (
	undoSuffix   = "!undo"
	notifySuffix = "!notify"
	askSuffix    = "!approve"
)

// sides makes the nodes of a step's compensation and notification.
func (n *node) sides() {
	if c := n.step.Compensate; c != nil {
		n.undo = sideNode(&workflow.Step{
			Name: n.step.Name + undoSuffix, Kind: c.Kind, At: n.step.At, Call: c.Call, Child: c.Child, Retry: c.Retry, Timeout: c.Timeout,
		})
	}
	if h := n.step.Human; h != nil && h.Notify != nil {
		n.notify = sideNode(&workflow.Step{Name: n.step.Name + notifySuffix, Kind: h.NotifyKind, At: n.step.At, Call: h.Notify})
	}
}

func sideNode(st *workflow.Step) *node { return &node{step: st, kind: kindOf(st), side: true} }

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// hold works out whose results must outlive their last consumer: those that the end of a body, an exit step,
// `previous` or a compensation reads.
func (p *Program) hold() error {
	for _, b := range p.bodies {
		if err := p.holdBody(b); err != nil {
			return err
		}
		for i := range b.nodes {
			n := &b.nodes[i]
			if err := p.holdUndo(n); err != nil {
				return err
			}
			if n.step.Exit && b.owner == nil {
				if err := p.holdExit(n); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// holdBody marks what is read of a body when it ends.
func (p *Program) holdBody(b *body) error {
	mark := func(r expr.Read) { b.mark(r, false) }
	defaults, all := false, false // what is read without an expression: the last steps, or all
	var err error
	switch {
	case b.owner == nil:
		defaults = p.def.Output == nil
		err = readsOf(p.def.Output, nil, mark)
	case b.owner.step.Foreach != nil:
		f := b.owner.step.Foreach
		defaults = f.Collect == nil
		err = readsOf(f.Collect, nil, mark)
	case b.owner.step.Loop != nil:
		l := b.owner.step.Loop
		all = l.Collect == nil
		for _, x := range []*workflow.Expr{l.Until, durationExpr(l.Delay)} {
			if err == nil {
				err = readsOf(nil, x, mark)
			}
		}
		if err == nil {
			err = readsOf(l.Collect, nil, mark)
		}
		if err == nil {
			err = p.holdPrevious(b, l)
		}
	case b.owner.step.Group != nil:
		g := b.owner.step.Group
		all = g.Output == nil
		err = readsOf(g.Output, nil, mark)
	default:
		defaults = true
	}
	if defaults {
		for _, i := range b.last {
			b.nodes[i].held = true
		}
	}
	for i := range b.nodes {
		b.nodes[i].held = b.nodes[i].held || all
		for _, h := range b.nodes[i].step.OnError {
			if len(h.Then) > 1 { // their outputs are put together when the last of them ends
				for _, name := range h.Then {
					b.nodes[b.byName[name]].held = true
				}
			}
		}
	}
	return err
}

func durationExpr(d *workflow.Duration) *workflow.Expr {
	if d == nil {
		return nil
	}
	return d.Expr
}

// mark marks the steps of this body that a read of `steps` needs.
func (b *body) mark(r expr.Read, undo bool) {
	if r.Root != "steps" {
		return
	}
	if len(r.Path) == 0 {
		for i := range b.nodes {
			b.nodes[i].holdFor(undo)
		}
		return
	}
	if i, ok := b.byName[r.Path[0]]; ok {
		b.nodes[i].holdFor(undo)
	}
}

func (n *node) holdFor(undo bool) {
	if undo {
		n.heldUndo = true
	} else {
		n.held = true
	}
}

// holdPrevious marks what the next iteration of a loop reads.
func (p *Program) holdPrevious(b *body, l *workflow.Loop) error {
	mark := func(r expr.Read) {
		if r.Root != "previous" {
			return
		}
		b.previous = true
		r.Root = "steps"
		b.mark(r, false)
	}
	for _, x := range []*workflow.Expr{l.While, l.Until, durationExpr(l.Delay)} {
		if err := readsOf(nil, x, mark); err != nil {
			return err
		}
	}
	err := readsOf(l.Collect, nil, mark)
	visitBody(b, func(t *workflow.Template, x *workflow.Expr) {
		if err == nil && mentions(t, x, "previous") {
			err = readsOf(t, x, mark)
		}
	})
	return err
}

// holdUndo marks what a compensation reads.
func (p *Program) holdUndo(n *node) error {
	if n.undo == nil {
		return nil
	}
	var err error
	visitStep(n.undo.step, func(t *workflow.Template, x *workflow.Expr) {
		if err == nil {
			err = readsOf(t, x, func(r expr.Read) { markOutwards(n.body, r, true) })
		}
	})
	return err
}

// holdExit marks what a step of on_exit reads.
func (p *Program) holdExit(n *node) error {
	var err error
	mark := func(t *workflow.Template, x *workflow.Expr) {
		if err == nil {
			err = readsOf(t, x, func(r expr.Read) { p.root().mark(r, false) })
		}
	}
	visitStep(n.step, mark)
	for _, b := range n.bodies {
		visitBody(b, mark)
	}
	return err
}

// markOutwards resolves a name as an expression in b does: local ones first.
func markOutwards(b *body, r expr.Read, undo bool) {
	if r.Root != "steps" {
		return
	}
	for {
		if len(r.Path) == 0 {
			b.mark(r, undo)
		} else if _, ok := b.byName[r.Path[0]]; ok {
			b.mark(r, undo)
			return
		}
		if b.owner == nil {
			return
		}
		b = b.owner.body
	}
}

// readsOf reports what a template or an expression reads; both may be nil.
func readsOf(t *workflow.Template, x *workflow.Expr, yield func(expr.Read)) error {
	var reads []expr.Read
	if t != nil {
		c, err := expr.LoadTemplate(t)
		if err != nil {
			return err
		}
		reads = c.Reads()
	}
	if x != nil {
		c, err := expr.Load(x)
		if err != nil {
			return err
		}
		reads = append(reads, c.Reads()...)
	}
	for _, r := range reads {
		yield(r)
	}
	return nil
}
