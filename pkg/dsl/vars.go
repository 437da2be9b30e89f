package dsl

import (
	"fmt"
	"slices"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// variable is a workflow variable with all that touches it.
type variable struct {
	decl    *workflow.Var
	typ     *expr.Type
	touches []*touch
}

// touch is one read or write of a variable by a step.
type touch struct {
	unit  *unit
	site  *site // of a read
	write *workflow.Assignment
	// during is set for a read that happens while the body of its step may run, after for one that happens once that has ended.
	during, after bool
	// with is a write that may happen at the same time: of several, that of the lowest rank. again means that the two
	// belong to different items of a foreach.
	with  *touch
	again *unit
	// silent is set for a write that others may clash with, but that is looked at elsewhere itself.
	silent bool
}

// clash notes that a write may happen at the same time as t. Of two writes it is noted at that of the higher rank.
func (t *touch) clash(w *touch, again *unit) {
	if t.with == nil || w.unit.rank < t.with.unit.rank {
		t.with, t.again = w, again
	}
}

// combines reports whether two touches may happen at once, being writes that say the same about how to combine.
func (t *touch) combines(w *touch) bool {
	return t.write != nil && t.write.Reduce != "" && t.write.Reduce == w.write.Reduce
}

// declareVars lists the variables.
func (a *analysis) declareVars() {
	for i := range a.def.Vars {
		v := &a.def.Vars[i]
		a.vars[v.Name] = &variable{decl: v, typ: expr.Dyn}
	}
}

// varTypes takes the type of a variable from its first value: of a fixed one, its kind; otherwise nothing is known.
func (a *analysis) varTypes() {
	fields := map[string]*expr.Type{}
	for i := range a.def.Vars {
		v := a.vars[a.def.Vars[i].Name]
		if init := v.decl.Initial; init != nil && len(init.Leaves) == 0 {
			v.typ = kindOfValue(init.JSON)
		}
		fields[v.decl.Name] = v.typ
	}
	a.varsType = expr.Record(fields, true)
}

// kindOfValue is the widest type of values of the kind of v: a variable that starts with 0 may become 0.5, a list may get items of
// any kind. Null says nothing.
func kindOfValue(v workflow.Value) *expr.Type {
	switch {
	case v.IsNull():
		return expr.Dyn
	case v[0] == '"':
		return expr.String
	case v[0] == '[':
		return expr.ListOf(expr.Dyn)
	case v[0] == '{':
		return expr.MapOf(expr.Dyn)
	case v[0] == 't', v[0] == 'f':
		return expr.Bool
	}
	return expr.Number
}

// reduces says which kind of value a `reduce` combines.
var reduces = map[string]struct {
	typ  *expr.Type
	name string
}{
	"append": {expr.ListOf(expr.Dyn), "a list"},
	"sum":    {expr.Number, "a number"},
	"merge":  {expr.MapOf(expr.Dyn), "a map"},
}

// checkAssigned checks the types of what a set writes.
func (a *analysis) checkAssigned(u *unit) {
	if u.step.Set == nil {
		return
	}
	for i := range u.step.Set.Assign {
		x := &u.step.Set.Assign[i]
		where := "/set/" + escape(x.Var)
		if x.Reduce != "" {
			where += "/value"
		}
		if v, s := a.vars[x.Var], u.site(where); v != nil && s != nil {
			a.checkAssignment(v, x, s)
		}
	}
}

func (a *analysis) checkAssignment(v *variable, x *workflow.Assignment, s *site) {
	reduce, combined := reduces[x.Reduce]
	if combined && !v.typ.Fits(reduce.typ) {
		a.sink.errorf(s.unit.pointer+"/set/"+escape(x.Var)+"/reduce", "dsl/var-type",
			"start it with "+map[string]string{"append": "[]", "sum": "0", "merge": "{}"}[x.Reduce]+" under `vars`",
			"`reduce: %s` makes %s, but the first value of `%s` is of type %s", x.Reduce, reduce.name, x.Var, v.typ)
		return
	}
	if x.Reduce == "append" || s.typ.Fits(v.typ) {
		return // an item may be anything
	}
	a.siteError(s, s.at(), 0, "dsl/var-type", "convert the value, or start the variable with null to allow any kind",
		"the first value of `%s` is of type %s, but here it gets %s", x.Var, v.typ, s.typ)
}

// touchVars finds all reads and writes of variables by steps. What compensates, what runs on exit and the output of the workflow
// come after every step and are in nobody's way; the steps of on_exit run one after the other.
func (a *analysis) touchVars() {
	for _, u := range a.units {
		if u.step.Set != nil {
			for i := range u.step.Set.Assign {
				x := &u.step.Set.Assign[i]
				if v := a.vars[x.Var]; v != nil {
					v.touches = append(v.touches, &touch{unit: u, write: x})
				}
			}
		}
		for _, s := range u.sites {
			if s.moment != momentUndo {
				a.touchReads(s)
			}
		}
	}
}

func (a *analysis) touchReads(s *site) {
	for i, r := range s.reads {
		if r.Root != "vars" || i > 0 && s.reads[i-1].Root == "vars" && sameHead(s.reads[i-1].Path, r.Path) {
			continue
		}
		t := &touch{unit: s.unit, site: s, during: s.names&nameCollected != 0, after: s.block != s.unit.block}
		if len(r.Path) == 0 {
			a.allVars = append(a.allVars, t)
		} else if v := a.vars[r.Path[0]]; v != nil {
			v.touches = append(v.touches, t)
		}
	}
}

func sameHead(a, b []string) bool {
	return len(a) > 0 && len(b) > 0 && a[0] == b[0] || len(a) == 0 && len(b) == 0
}

// checkVars refuses writes of a variable that could happen at once, and reads whose order against a write is open
// (DSL.md, Variables).
func (a *analysis) checkVars() {
	var written []*variable
	for i := range a.def.Vars {
		v := a.vars[a.def.Vars[i].Name]
		if slices.ContainsFunc(v.touches, func(t *touch) bool { return t.write != nil }) {
			written = append(written, v)
		}
	}
	a.orderTouched(written)
	for _, v := range written {
		a.reportClashes(v.touches)
	}
	a.reportClashes(a.allTouches(written))
}

// reportClashes checks and reports touches of one variable.
func (a *analysis) reportClashes(touches []*touch) {
	a.clashes(a.root, touches)
	for _, t := range touches {
		if t.with != nil {
			a.reportClash(t.with.write.Var, t)
		}
	}
}

// allTouches are the reads of all variables together, with every write that they may clash with.
func (a *analysis) allTouches(vars []*variable) []*touch {
	if len(a.allVars) == 0 {
		return nil
	}
	touches := slices.Clone(a.allVars)
	for _, v := range vars {
		for _, t := range v.touches {
			if t.write != nil {
				touches = append(touches, &touch{unit: t.unit, write: t.write, silent: true})
			}
		}
	}
	return touches
}

// orderTouched computes the order of those steps that touch variables, in each block that has some.
func (a *analysis) orderTouched(vars []*variable) {
	columns := map[*block][]*unit{}
	seen := map[*unit]bool{}
	note := func(t *touch) {
		for u := t.unit; u != nil && !seen[u]; u = u.block.owner {
			seen[u] = true
			columns[u.block] = append(columns[u.block], u)
		}
	}
	for _, v := range vars {
		for _, t := range v.touches {
			note(t)
		}
	}
	for _, t := range a.allVars {
		note(t)
	}
	for _, b := range a.blocks {
		if len(columns[b]) > 1 {
			b.flow.orders = newOrders(b.flow, columns[b])
		}
	}
}

// party is a step of a block with the touches of one variable by it or inside it.
type party struct {
	unit    *unit
	touches []*touch
	writes  []*touch // by rank
}

// written is a write with the party that it belongs to.
type written struct {
	*touch
	by *party
}

// clashes finds the touches of one variable inside a block that may happen at the same time as a write; all touches lie in the
// block or below.
func (a *analysis) clashes(b *block, touches []*touch) {
	parties := partiesOf(b, touches)
	var writes []written
	for _, p := range parties {
		a.clashesInside(p)
		for _, w := range p.writes {
			writes = append(writes, written{w, p})
		}
	}
	slices.SortStableFunc(writes, func(w, x written) int { return w.unit.rank - x.unit.rank })
	for _, p := range parties {
		for _, t := range p.touches {
			if !t.silent {
				a.clashesWith(b, p, t, writes)
			}
		}
	}
}

// clashesWith finds the first write by another party that may happen at the same time as a touch.
func (a *analysis) clashesWith(b *block, p *party, t *touch, writes []written) {
	for _, w := range writes {
		if t.write != nil && w.unit.rank >= t.unit.rank {
			return
		}
		if w.by != p && !t.combines(w.touch) && !a.apart(b, p.unit, w.by.unit) {
			t.clash(w.touch, nil)
			return
		}
	}
}

// apart reports whether two steps of a block cannot run at once. The steps of on_exit run last, one after the other.
func (a *analysis) apart(b *block, u, v *unit) bool {
	return b == a.root && (u.exit || v.exit) || b.flow.orders.apart(u, v)
}

func byRank(touches []*touch) {
	slices.SortStableFunc(touches, func(t, w *touch) int { return t.unit.rank - w.unit.rank })
}

// partiesOf sorts touches by the step of b that they lie in.
func partiesOf(b *block, touches []*touch) []*party {
	var parties []*party
	byUnit := make([]*party, len(b.units))
	for _, t := range touches {
		u := b.within(t.unit)
		p := byUnit[u.index]
		if p == nil {
			p = &party{unit: u}
			byUnit[u.index], parties = p, append(parties, p)
		}
		p.touches = append(p.touches, t)
		if t.write != nil {
			p.writes = append(p.writes, t)
		}
	}
	return parties
}

// clashesInside looks at the bodies of one step. What the step itself reads, it reads before or after them, except for
// `until` of a foreach.
func (a *analysis) clashesInside(p *party) {
	bodies := p.unit.inner
	if len(p.writes) == 0 || len(bodies) == 0 {
		return
	}
	inner := make([][]*touch, len(bodies))
	var each []*touch // what happens for each item: the body, and what is collected
	for _, t := range p.touches {
		if t.unit != p.unit {
			i := slices.IndexFunc(bodies, func(b *block) bool { return b.within(t.unit) != nil })
			inner[i] = append(inner[i], t)
			each = append(each, t)
		} else if t.after {
			each = append(each, t)
		}
	}
	for i, b := range bodies {
		a.clashes(b, inner[i])
		for j := range bodies {
			if i != j {
				clashAll(inner[i], inner[j], nil) // branches of a race
			}
		}
	}
	if parallelItems(p.unit.step.Foreach) {
		clashAll(each, each, p.unit)
	}
	for _, t := range p.touches {
		if t.during {
			clashAll([]*touch{t}, p.writes, nil)
		}
	}
}

// clashAll notes clashes between two sets of touches of which any two may happen at once.
func clashAll(these, those []*touch, again *unit) {
	var writes []*touch
	for _, w := range those {
		if w.write != nil {
			writes = append(writes, w)
		}
	}
	byRank(writes)
	for _, t := range these {
		for _, w := range writes {
			if t.silent || t.write != nil && (w.unit.rank > t.unit.rank || again == nil && w == t) {
				break
			}
			if !t.combines(w) {
				t.clash(w, again)
				break
			}
		}
	}
}

// parallelItems reports whether a foreach may run several items at once.
func parallelItems(f *workflow.Foreach) bool {
	return f != nil && (f.MaxParallelism == nil || f.MaxParallelism.Expr != nil || f.MaxParallelism.Fixed != 1)
}

func (a *analysis) reportClash(name string, t *touch) {
	if t.write == nil {
		a.reportRead(name, t)
		return
	}
	w := t.with
	suggestion := "write needs: [ … ], so that one of the two comes first, or say at both how to combine: " + name + ": { value: …, reduce: sum }"
	message := fmt.Sprintf("`%s` and `%s` could write vars.%s at the same time", t.unit.path(), w.unit.path(), name)
	switch {
	case w == t:
		message = fmt.Sprintf("`%s` could write vars.%s for several items at the same time", t.unit.path(), name)
		suggestion = "write " + name + ": { value: …, reduce: append }, or max_parallelism: 1 at `" + t.again.step.Name + "`"
	case t.write.Reduce != "" && w.write.Reduce != "":
		suggestion = fmt.Sprintf("write the same `reduce` at both: %s or %s", t.write.Reduce, w.write.Reduce)
	}
	a.sink.keyErrorf(t.unit.pointer+"/set/"+escape(name), "dsl/var-race", suggestion, "%s", message)
}

func (a *analysis) reportRead(name string, t *touch) {
	writer := t.with.unit.path()
	suggestion := "write needs: [ … ], so that one of the two comes first"
	when := fmt.Sprintf("`%s` may write it before or after", writer)
	if t.again != nil {
		suggestion = "read what the body yields from steps." + t.again.step.Name + ".output, or write max_parallelism: 1 there"
		when = fmt.Sprintf("`%s` may write it for another item at the same time", writer)
	}
	a.readErrorf(t.site, "vars", name, "dsl/var-race", suggestion, "vars.%s is read here, and %s", name, when)
}
