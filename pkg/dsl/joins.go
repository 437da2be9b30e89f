package dsl

import "github.com/wovyr/wovyr/pkg/workflow"

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
		case j.Mode == workflow.JoinAny && needs == 1, j.Count != nil && j.Count.Expr == nil && j.Count.Fixed == int64(needs):
			a.warnJoin(u)
		}
	}
}
