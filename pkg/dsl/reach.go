package dsl

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// reach finds what can never happen, whatever the input: conditions that are constant, ways that are never taken, and the
// steps that hang on them.
type reach struct {
	*analysis
	// deadWays are the ways out of a step that it never takes; of on_error, counted from wayCaught.
	deadWays map[*unit]map[int]bool
	never    map[*unit]bool // steps that never run, other than by their own `when`
	skipped  map[*unit]bool // steps whose own `when` is never true
	mortal   map[*unit]bool // steps that may turn out never to run, other than by their own `when`
}

// checkReach reports steps and ways that are never reached.
func (a *analysis) checkReach() *reach {
	r := &reach{analysis: a, deadWays: map[*unit]map[int]bool{}, never: map[*unit]bool{}, skipped: map[*unit]bool{}, mortal: map[*unit]bool{}}
	for _, b := range a.blocks {
		for _, i := range b.flow.order {
			if i < len(b.units) {
				r.visit(b.units[i])
			}
		}
	}
	return r
}

func (r *reach) visit(u *unit) {
	r.deadWays[u], r.mortal[u] = map[int]bool{}, r.mayDie(u)
	r.switchWays(u)
	r.matchWays(u)
	r.errorWays(u)
	if fixed, is := r.constant(u.site("/when")); fixed && !is {
		r.skipped[u] = true
		r.sink.warnf(u.pointer+"/when", "dsl/never-runs", "leave the step out, or write a condition over `input`",
			"`%s` never runs: its condition is always false", u.step.Name)
	}
	if why, suggestion := r.whyNever(u); why != "" {
		r.never[u] = true
		r.sink.keyWarnf(u.pointer, "dsl/unreachable", suggestion, "`%s` never runs: %s", u.step.Name, why)
		return
	}
	r.warnJoin(u)
}

// constant reports whether a condition reads nothing, and which value it has then.
func (r *reach) constant(s *site) (fixed, value bool) {
	if s == nil || s.exprProgram == nil || len(s.reads) > 0 {
		return false, false
	}
	value, err := s.exprProgram.EvalBool(nothing())
	return err == nil, value
}

// lastWay reports what follows a way that is always taken.
type lastWay struct {
	*reach
	unit *unit
	open bool // no way so far is always taken
}

// add looks at the next way; when is its condition, nil for one that is always taken.
func (l *lastWay) add(way int, where, what string, always bool, when *site) {
	fixed, is := l.constant(when)
	switch {
	case !l.open:
		l.deadWays[l.unit][way] = true
		l.sink.warnf(l.unit.pointer+where, "dsl/dead-branch", "move it up, or leave it out", "%s is never reached: one before it takes all that is left", what)
	case fixed && !is:
		l.deadWays[l.unit][way] = true
		l.sink.warnf(l.unit.pointer+where, "dsl/dead-branch", "leave it out, or write a condition over `input`", "%s is never taken: its condition is always false", what)
	}
	if always || fixed && is {
		l.open = false
	}
}

func (r *reach) switchWays(u *unit) {
	if u.step.Switch == nil {
		return
	}
	l := lastWay{reach: r, unit: u, open: true}
	for i, b := range u.step.Switch.Branches {
		where := "/switch/" + strconv.Itoa(i)
		l.add(i, where, "this branch", b.When == nil, u.site(where+"/when"))
	}
}

func (r *reach) matchWays(u *unit) {
	if u.step.Match == nil {
		return
	}
	l := lastWay{reach: r, unit: u, open: true}
	for i, c := range u.step.Match.Cases {
		where := "/cases/" + strconv.Itoa(i)
		anything := c.Like == nil || string(c.Like.JSON) == `"_"`
		l.add(i, where, "this case", anything && c.When == nil, u.site(where+"/when"))
	}
}

func (r *reach) errorWays(u *unit) {
	l := lastWay{reach: r, unit: u, open: true}
	for i, h := range u.step.OnError {
		where := "/on_error/" + strconv.Itoa(i)
		l.add(wayCaught+i, where, "this handler", h.Match == nil, u.site(where+"/match"))
	}
}

// whyNever says why a step never runs, and what to do; "" if it may.
func (r *reach) whyNever(u *unit) (why, suggestion string) {
	if len(u.pickedBy) > 0 && !slices.ContainsFunc(u.pickedBy, r.mayPick) {
		return "nothing that picks it is ever reached", "look at the `then` that names it"
	}
	var first workflow.Need
	firstWhy, dead, counted := "", 0, 0
	for _, n := range u.step.Needs {
		if slices.Contains(u.step.Picked, n.Step) {
			continue // met by being picked
		}
		counted++
		never, missed := r.neverMet(u.block.named[n.Step], n.End)
		if never == "" {
			continue
		}
		if missed && u.step.Join.Mode == workflow.JoinAll {
			return neverNeeds(n, never)
		}
		if dead++; dead == 1 {
			first, firstWhy = n, never
		}
	}
	if dead > 0 && dead == counted && len(u.pickedBy) == 0 {
		return neverNeeds(first, firstWhy)
	}
	return "", ""
}

func neverNeeds(n workflow.Need, never string) (why, suggestion string) {
	return fmt.Sprintf("it needs `%s`, which %s", n.Step, never), "name another end, such as { " + n.Step + ": ended }, or another step"
}

func (r *reach) mayPick(p pick) bool {
	way := p.way
	if p.caught {
		way += wayCaught
	}
	return !r.never[p.from] && !r.skipped[p.from] && !r.deadWays[p.from][way]
}

// neverMet says why a need can never be met. missed means that its step comes to another end, so that a join of all needs is
// never met; otherwise the need is dead, and counts as met beside a live one.
func (r *reach) neverMet(on *unit, end workflow.End) (why string, missed bool) {
	comes := !r.mortal[on]
	switch {
	case end == workflow.EndEnded:
		return "", false
	case end == workflow.EndSkipped:
		if on.step.When == nil && comes {
			return "is never skipped", true
		}
		return "", false
	case r.never[on]:
		return "never runs", false
	case end == workflow.EndFailed && r.catchesAll(on):
		return "never ends as failed: `on_error` catches every error", comes
	case end == workflow.EndFailed && r.skipped[on], end == workflow.EndCompleted && r.skipped[on]:
		return "is always skipped", comes
	case end == workflow.EndMet && r.alwaysFails(on) && on.step.When == nil:
		return "always " + endsBy(on), comes
	case end == workflow.EndCompleted && r.alwaysFails(on):
		return "always " + endsBy(on), comes
	}
	return "", false
}

// mayDie reports whether a step may turn out never to run, other than by its own `when`: nothing picked it, a need came to another
// end, or all its needs are dead. Those were visited before.
func (r *reach) mayDie(u *unit) bool {
	missable := func(n workflow.Need) bool { return missable(n.End) }
	comes := func(n workflow.Need) bool {
		return n.End == workflow.EndEnded || n.End == workflow.EndSkipped || !r.mortal[u.block.named[n.Step]]
	}
	return len(u.pickedBy) > 0 || u.step.Join.Mode == workflow.JoinAll && slices.ContainsFunc(u.step.Needs, missable) ||
		len(u.step.Needs) > 0 && !slices.ContainsFunc(u.step.Needs, comes)
}

func endsBy(u *unit) string {
	if u.step.Fail != nil {
		return "fails"
	}
	return "ends the execution"
}

// alwaysFails reports whether a step that runs never completes and is never caught.
func (r *reach) alwaysFails(u *unit) bool {
	return u.step.ContinueAsNew != nil || u.step.Fail != nil && len(u.step.OnError) == 0
}

// catchesAll reports whether no error of a step goes uncaught.
func (r *reach) catchesAll(u *unit) bool {
	for i := range u.step.OnError {
		h := &u.step.OnError[i]
		fixed, is := r.constant(u.site("/on_error/" + strconv.Itoa(i) + "/match"))
		if h.Match == nil || fixed && is {
			return true
		}
	}
	return false
}
