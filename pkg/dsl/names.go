package dsl

import (
	"slices"
	"strconv"
	"strings"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// pick is one `then` of a step: the step that it names may run if the step takes that way.
type pick struct {
	from, to *unit
	// way numbers the ways out of the picker, of which it takes one at most.
	way int
	// caught is set for a `then` of on_error: the picked step stands in for the picker.
	caught bool
	where  string // JSON pointer below the picker
}

// checkNames resolves the names of steps and variables that stand outside of expressions: needs, then, on_exit, set, as.
func (a *analysis) checkNames() {
	a.exitNames()
	for _, u := range a.units {
		a.needNames(u)
		a.pickNames(u)
		a.itemName(u)
		a.setNames(u)
	}
}

// exitNames resolves on_exit.
func (a *analysis) exitNames() {
	known := a.def.OnExit[:0:0]
	for i, name := range a.def.OnExit {
		pointer := "/on_exit/" + strconv.Itoa(i)
		switch u := a.root.named[name]; {
		case u == nil:
			a.unknownStepAt(pointer, a.root, name)
		case slices.Contains(known, name): // reported by parse
		default:
			known = append(known, name)
		}
	}
	a.def.OnExit = known
}

// checkExitKinds refuses what would bring an execution back to life that has ended.
func (a *analysis) checkExitKinds() {
	for _, u := range a.units {
		if u.exit && u.step.ContinueAsNew != nil {
			a.sink.errorf(u.pointer+"/continue_as_new", "dsl/exit-continue", "start another workflow there: workflow: { name: …, wait: false, on_parent_close: abandon }",
				"`%s` runs when the execution has ended (`on_exit`), so it cannot go on as a new one", u.step.Name)
		}
	}
}

// exitRank is the place of a step in on_exit.
func (a *analysis) exitRank(u *unit) int {
	return slices.Index(a.def.OnExit, a.root.within(u).step.Name)
}

// needNames resolves the declared needs of a step and leaves out those that name nothing.
func (a *analysis) needNames(u *unit) {
	u.step.Needs = slices.DeleteFunc(u.step.Needs, func(n workflow.Need) bool {
		pointer := a.needPointer(u, n.Step)
		target := u.block.named[n.Step]
		switch {
		case target == nil:
			a.unknownNeed(u, pointer, n.Step)
			return true
		case target == u:
			a.sink.keyErrorf(pointer, "dsl/cycle", "leave it out; what should run again stands in a loop", "`%s` needs itself", n.Step)
			return true
		case target.exit && !u.exit:
			a.sink.keyErrorf(pointer, "dsl/exit-order", "leave it out, or name `"+u.step.Name+"` in `on_exit` too, after `"+n.Step+"`",
				"`%s` runs after all other steps (`on_exit`), so `%s` cannot wait for it", n.Step, u.step.Name)
			return true
		case target.exit && a.exitRank(target) > a.exitRank(u):
			a.sink.keyErrorf(pointer, "dsl/exit-order", "move `"+n.Step+"` before `"+u.step.Name+"` in `on_exit`",
				"steps of `on_exit` run one after the other, and `%s` stands after `%s` there", n.Step, u.step.Name)
			return true
		}
		return false
	})
}

// needPointer finds the name in an entry of `needs`, which the definition keeps in another order.
func (a *analysis) needPointer(u *unit, name string) string {
	pointer := u.pointer + "/needs"
	if list := a.source.node(pointer); list != nil {
		for i, item := range list.items {
			if text(item) == name {
				return pointer + "/" + strconv.Itoa(i)
			}
			if item.has(name) {
				return pointer + "/" + strconv.Itoa(i) + "/" + escape(name)
			}
		}
	}
	return pointer
}

func (a *analysis) unknownNeed(u *unit, pointer, name string) {
	outside := u.block.outer.find(name)
	if outside == nil {
		a.unknownStepAt(pointer, u.block, name)
		return
	}
	owner := outside.block.within(u)
	if owner == outside {
		a.sink.keyErrorf(pointer, "dsl/need-scope", "leave it out", "`%s` is inside `%s`, so it cannot wait for its end", u.step.Name, name)
		return
	}
	a.sink.keyErrorf(pointer, "dsl/need-scope", "write needs: [ "+name+" ] at `"+owner.step.Name+"`, or just read steps."+name+" here",
		"`needs` names steps of the same body, and `%s` is outside of it: `%s` as a whole waits for it", name, owner.step.Name)
}

// unknownStepAt reports a name at pointer that is no step which b can see.
func (a *analysis) unknownStepAt(pointer string, b *block, name string) {
	if a.sink.room(SeverityError) && identifier.MatchString(name) { // what is no name at all, parse has reported
		message, suggestion := a.unknownStep(b, name)
		a.sink.keyErrorf(pointer, "dsl/unknown-step", suggestion, "%s", message)
	}
}

// unknownStep says that a name is no step which b can see, and what was probably meant.
func (a *analysis) unknownStep(b *block, name string) (message, suggestion string) {
	message = "there is no step `" + clip(name) + "` here"
	if hidden := a.hidden(b, name); hidden != nil {
		owner := hidden.block.owner
		return message + "; it stands inside `" + owner.path() + "`",
			"outside of a body, only the output of the whole can be used: `" + owner.step.Name + "`"
	}
	names := b.names()
	switch near := nearest(name, names); {
	case near != "":
		suggestion = "did you mean `" + near + "`?"
	case len(names) == 1:
		suggestion = "the only step here is `" + names[0] + "`"
	case len(names) <= 8:
		suggestion = "the steps here are " + listed(names)
	default:
		suggestion = "write the name of a step of this body, or of one around it"
	}
	return message, suggestion
}

// hidden finds a step of that name in a body that b cannot see, but next to it or below.
func (a *analysis) hidden(b *block, name string) *unit {
	var found *unit
	for _, u := range a.units {
		if u.step.Name == name && u.block.owner != nil && (found == nil || u.path() < found.path()) {
			found = u
		}
	}
	if found == nil || b.find(name) != nil {
		return nil
	}
	return found
}

// thens lists every `then` of a step.
func (u *unit) thens(yield func(way int, caught bool, where string, names []string)) {
	st := u.step
	if st.Switch != nil {
		for i, b := range st.Switch.Branches {
			word := "/then"
			if b.When == nil {
				word = "/else"
			}
			yield(i, false, "/switch/"+strconv.Itoa(i)+word, b.Then)
		}
	}
	if st.Match != nil {
		for i, c := range st.Match.Cases {
			word := "/then"
			if c.Like == nil {
				word = "/else"
			}
			yield(i, false, "/cases/"+strconv.Itoa(i)+word, c.Then)
		}
	}
	for i, h := range st.OnError {
		yield(i, true, "/on_error/"+strconv.Itoa(i)+"/then", h.Then)
	}
}

// pickNames resolves every `then` of a step.
func (a *analysis) pickNames(u *unit) {
	u.thens(func(way int, caught bool, where string, names []string) {
		for i, name := range names {
			at := where
			if n := a.source.node(u.pointer + where); n != nil && n.kind == kindList {
				at += "/" + strconv.Itoa(i)
			}
			if p, ok := a.pickName(u, u.pointer+at, name); ok {
				p.way, p.caught, p.where = way, caught, at
				u.picks = append(u.picks, p)
				p.to.pickedBy = append(p.to.pickedBy, p)
			}
		}
	})
}

func (a *analysis) pickName(u *unit, pointer, name string) (pick, bool) {
	target := u.block.named[name]
	switch {
	case target == nil:
		if outside := u.block.outer.find(name); outside != nil {
			a.sink.errorf(pointer, "dsl/pick-scope", "move one of the two, so that both stand in one body",
				"`then` names steps of the same body, and `%s` is outside of it", name)
			return pick{}, false
		}
		a.unknownStepAt(pointer, u.block, name)
		return pick{}, false
	case target == u:
		a.sink.errorf(pointer, "dsl/cycle", "name another step, or use a loop", "`%s` picks itself", name)
		return pick{}, false
	case target.exit && !u.exit:
		a.sink.errorf(pointer, "dsl/exit-order", "name another step, or take `"+name+"` out of `on_exit`",
			"`%s` is a step of `on_exit`: it runs last, whatever the end, so nothing picks it", name)
		return pick{}, false
	case target.exit != u.exit:
		a.sink.errorf(pointer, "dsl/exit-order", "name another step of `on_exit`, or name `"+name+"` there too",
			"`%s` is a step of `on_exit`, and `%s`, which it picks, is not", u.step.Name, name)
		return pick{}, false
	case u.exit && a.exitRank(target) < a.exitRank(u) && u.block == a.root:
		a.sink.errorf(pointer, "dsl/exit-order", "move `"+u.step.Name+"` before `"+name+"` in `on_exit`",
			"steps of `on_exit` run one after the other, and `%s` stands before `%s` there", name, u.step.Name)
		return pick{}, false
	}
	return pick{from: u, to: target}, true
}

// itemName checks the name that a foreach gives its item.
func (a *analysis) itemName(u *unit) {
	if f := u.step.Foreach; f != nil && expr.IsReserved(f.As) {
		a.sink.errorf(u.pointer+"/foreach/as", "dsl/reserved-name", "choose another name, such as item",
			"`%s` is a name of the language: the item would hide it", f.As)
	}
}

// setNames checks that a set writes variables that exist.
func (a *analysis) setNames(u *unit) {
	if u.step.Set == nil {
		return
	}
	for _, x := range u.step.Set.Assign {
		if a.vars[x.Var] != nil {
			continue
		}
		names := a.varNames()
		suggestion := "declare it: vars: { " + x.Var + ": null }"
		if near := nearest(x.Var, names); near != "" {
			suggestion = "did you mean `" + near + "`?"
		} else if len(names) > 0 {
			suggestion = "the variables are " + listed(names) + "; declare others under `vars`"
		}
		a.sink.keyErrorf(u.pointer+"/set/"+escape(x.Var), "dsl/unknown-var", suggestion, "there is no variable `%s`", x.Var)
	}
}

func (a *analysis) varNames() []string {
	var all []string
	for _, v := range a.def.Vars {
		all = append(all, v.Name)
	}
	return all
}

// fillPicked writes Step.Picked.
func (a *analysis) fillPicked() {
	for _, u := range a.units {
		u.step.Picked = nil
		for _, p := range u.pickedBy {
			u.step.Picked = append(u.step.Picked, p.from.step.Name)
		}
		slices.SortFunc(u.step.Picked, strings.Compare)
		u.step.Picked = slices.Compact(u.step.Picked)
	}
}
