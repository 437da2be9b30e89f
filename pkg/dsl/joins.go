package dsl

import (
	"slices"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// checkJoins holds each join against the needs that it counts.
func (a *analysis) checkJoins() {
	for _, u := range a.units {
		j, needs := u.step.Join, len(u.step.Needs)
		if j.Mode == workflow.JoinAll {
			continue
		}
		switch {
		case needs == 0:
			a.sink.errorf(u.pointer+"/join", "dsl/join-needs", "write needs: [ a, b ], or leave `join` out", "`%s` joins nothing: it needs no step", u.step.Name)
		case j.Count != nil && j.Count.Expr == nil && j.Count.Fixed > int64(needs):
			a.sink.errorf(u.pointer+"/join", "dsl/join-count", "write a number up to that, or `all`",
				"`%s` joins %d steps but needs only %d", u.step.Name, j.Count.Fixed, needs)
		}
	}
}

// warnJoin reports a join that does nothing, and one that can never be met. `any` and numbers count completed steps only, where
// `all` is content with skipped, caught and dead ones too.
func (r *reach) warnJoin(u *unit) {
	j, needs := u.step.Join, int64(len(u.step.Needs))
	wanted := int64(1)
	switch {
	case j.Mode == workflow.JoinAll || needs == 0 || j.Count != nil && j.Count.Expr != nil:
		return
	case j.Count != nil:
		wanted = j.Count.Fixed
	}
	if most := r.mostCompleted(u); wanted <= needs && most < wanted {
		r.sink.warnf(u.pointer+"/join", "dsl/join-count", "write join: all, or a smaller number",
			"`%s` always fails with join.unreachable: of the steps that it needs, %s can complete in one run, and it joins %d", u.step.Name, atMost(most), wanted)
		return
	}
	if wanted == needs && !slices.ContainsFunc(u.step.Needs, func(n workflow.Need) bool { return r.mayNotComplete(u.block.named[n.Step]) }) {
		r.sink.warnf(u.pointer+"/join", "dsl/join-count", "leave it out, or name more steps in `needs`",
			"`%s` joins all that it needs (%s), as it does without `join`", u.step.Name, plural(len(u.step.Needs), "step", "steps"))
	}
}

func atMost(n int64) string {
	if n == 0 {
		return "none"
	}
	return "no more than " + plural(int(n), "step", "steps")
}

// mayNotComplete reports whether a step may be skipped, caught or dead, and so be met without being completed.
func (r *reach) mayNotComplete(u *unit) bool {
	return u.step.When != nil || len(u.step.OnError) > 0 || r.mortal[u]
}

// mostCompleted is how many of the steps that u needs can complete in one run: none that never runs, and of those that one
// switch or match picks, only what stands in one of its ways.
func (r *reach) mostCompleted(u *unit) int64 {
	most := int64(0)
	ways := map[*unit]map[int]int64{}
	for _, n := range u.step.Needs {
		on := u.block.named[n.Step]
		switch {
		case n.End != workflow.EndMet && n.End != workflow.EndCompleted:
			most++
		case r.never[on] || r.skipped[on] || r.alwaysFails(on):
		case len(on.pickedBy) == 1 && !on.pickedBy[0].caught:
			p := on.pickedBy[0]
			if ways[p.from] == nil {
				ways[p.from] = map[int]int64{}
			}
			ways[p.from][p.way]++
		default:
			most++
		}
	}
	for _, byWay := range ways { // order-free: a sum
		best := int64(0)
		for _, n := range byWay { // order-free: a maximum
			best = max(best, n)
		}
		most += best
	}
	return most
}
