package dsl

import (
	"sort"
	"strings"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// block is one body of steps: the workflow's own, or that of a foreach, loop, race branch or group. Its names are
// looked up here first, then in the blocks around it.
type block struct {
	owner   *unit // the structured step whose body this is; nil for the workflow
	outer   *block
	branch  string // of a race
	body    *workflow.Body
	pointer string // of its `steps`
	units   []*unit
	named   map[string]*unit
	flow    *flow    // the order of the steps; nil before it is known
	visible []string // see names
}

// unit is one step with its place in the outline.
type unit struct {
	step    *workflow.Step
	block   *block
	index   int // in block.units
	pointer string
	inner   []*block
	// exit is set for the steps of on_exit and for all inside them.
	exit  bool
	sites []*site
	// picks are the steps that this one may pick, pickedBy the picks that name it.
	picks    []pick
	pickedBy []pick
	// implied are the steps of the same block that expressions read, impliedBy the first expression that does.
	implied   []*unit
	impliedBy map[*unit]*site
	// rank orders all units by path, whatever their order in the document.
	rank int
	// output is the type of the step's output, record that of steps.<id>; nil before they are known.
	output, record *expr.Type
}

// analysis holds what the passes over one definition share.
type analysis struct {
	def    *workflow.Definition
	source *source
	sink   *sink
	root   *block
	blocks []*block // outer ones first
	units  []*unit  // outer ones first, then in the order of the document
	sites  []*site  // of the workflow itself and of all units
	vars   map[string]*variable
	// allVars are reads of all variables together.
	allVars []*touch
	// input and varsType are the types of `input` and `vars`; schemas holds the types of JSON Schemas by their text.
	input, varsType *expr.Type
	schemas         map[string]*expr.Type
	// constants counts the expressions that were evaluated.
	constants int
	// cyclic is set once a cycle was found: what follows would only repeat it.
	cyclic bool
}

// outline arranges the steps of a definition.
func (a *analysis) outline() {
	a.root = a.newBlock(nil, "", &a.def.Body, "/steps")
	for i := 0; i < len(a.blocks); i++ {
		for _, u := range a.blocks[i].units {
			a.enter(u)
		}
	}
	ranked := make([]*unit, len(a.units))
	paths := make(map[*unit]string, len(a.units))
	for i, u := range a.units {
		ranked[i], paths[u] = u, u.path()
	}
	sort.Slice(ranked, func(i, j int) bool { return paths[ranked[i]] < paths[ranked[j]] })
	for i, u := range ranked {
		u.rank = i
	}
}

func (a *analysis) newBlock(owner *unit, branch string, body *workflow.Body, pointer string) *block {
	b := &block{owner: owner, branch: branch, body: body, pointer: pointer, named: make(map[string]*unit, len(body.Steps))}
	if owner != nil {
		b.outer = owner.block
	}
	for i := range body.Steps {
		st := &body.Steps[i]
		u := &unit{step: st, block: b, index: i, pointer: pointer + "/" + escape(st.Name), exit: st.Exit || owner != nil && owner.exit}
		b.units = append(b.units, u)
		if b.named[st.Name] == nil {
			b.named[st.Name] = u
		}
	}
	a.blocks, a.units = append(a.blocks, b), append(a.units, b.units...)
	return b
}

// enter makes the blocks of a structured step.
func (a *analysis) enter(u *unit) {
	here := u.pointer + "/" + string(u.step.Kind)
	add := func(branch string, body *workflow.Body, pointer string) {
		u.inner = append(u.inner, a.newBlock(u, branch, body, pointer))
	}
	switch st := u.step; {
	case st.Foreach != nil:
		add("", &st.Foreach.Body, here+"/steps")
	case st.Loop != nil:
		add("", &st.Loop.Body, here+"/steps")
	case st.Group != nil:
		add("", &st.Group.Body, here+"/steps")
	case st.Race != nil:
		for i := range st.Race.Branches {
			b := &st.Race.Branches[i]
			add(b.Name, &b.Body, here+"/"+escape(b.Name)+"/steps")
		}
	}
}

// find looks a step up as an expression in b does: local names first.
func (b *block) find(name string) *unit {
	for ; b != nil; b = b.outer {
		if u := b.named[name]; u != nil {
			return u
		}
	}
	return nil
}

// within returns the unit of b that holds u or is u; nil if b does not enclose u.
func (b *block) within(u *unit) *unit {
	for u != nil && u.block != b {
		u = u.block.owner
	}
	return u
}

// loop returns the innermost loop body that b is or lies in.
func (b *block) loop() *block {
	for ; b != nil; b = b.outer {
		if b.owner != nil && b.owner.step.Loop != nil {
			return b
		}
	}
	return nil
}

// names are the names of all steps that b can see, sorted.
func (b *block) names() []string {
	if b.visible == nil {
		for at := b; at != nil; at = at.outer {
			for _, u := range at.units {
				b.visible = append(b.visible, u.step.Name)
			}
		}
		sort.Strings(b.visible)
	}
	return b.visible
}

// path names a unit among all units: "each.price"; a race branch stands between ("first.paid.p").
func (u *unit) path() string {
	var parts []string
	for v := u; v != nil; v = v.block.owner {
		parts = append(parts, v.step.Name)
		if v.block.branch != "" {
			parts = append(parts, v.block.branch)
		}
	}
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return strings.Join(parts, ".")
}
