package dsl

import (
	"slices"
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// warn reports what is accepted but probably not meant.
func (a *analysis) warn() {
	if !a.cyclic {
		r := a.checkReach()
		for _, u := range a.units {
			r.checkCompensation(u)
			a.checkErrorReads(u)
		}
	}
	for _, u := range a.units {
		a.checkPolicies(u)
		a.checkTimeouts(u)
		a.checkEndless(u)
		a.checkRepeats(u)
		a.checkSecrets(u)
	}
	a.checkStatuses()
	a.checkParallelism()
	a.checkMemory()
	a.checkUnused()
}

// checkCompensation reports compensations that never run.
func (r *reach) checkCompensation(u *unit) {
	x := u.step.Compensate
	if x == nil {
		return
	}
	why, suggestion := "", "leave it out"
	switch {
	case u.exit:
		why = "steps of `on_exit` run after all compensations"
	case r.never[u] || r.skipped[u]:
		why = "the step never runs"
	case r.alwaysFails(u) && !x.Attempted:
		why, suggestion = "the step never completes", "write on: attempted, or leave it out"
	case r.def.OnFailure == workflow.OnFailureFail:
		why, suggestion = "`on_failure` is `fail`, so only a cancel that asks for it undoes anything", "write on_failure: compensate"
	default:
		return
	}
	r.sink.keyWarnf(u.pointer+"/compensate", "dsl/compensation-unused", suggestion, "the compensation of `%s` does not run after a failure: %s", u.step.Name, why)
}

// checkErrorReads reports reads of an error that cannot be there: a step runs after one that it needs only if that did not
// fail.
func (a *analysis) checkErrorReads(u *unit) {
	for _, s := range u.sites {
		if s.moment != momentStart || s.block != u.block || u.exit {
			continue
		}
		for _, r := range s.steps {
			if len(r.Path) < 2 || r.Path[1] != "error" || r.previous || r.unit.block != u.block || len(r.unit.step.OnError) > 0 {
				continue
			}
			i := slices.IndexFunc(u.step.Needs, func(n workflow.Need) bool { return n.Step == r.unit.step.Name })
			if i >= 0 && (u.step.Needs[i].End == workflow.EndMet || u.step.Needs[i].End == workflow.EndCompleted) {
				name := r.unit.step.Name
				a.readWarnf(s, "steps", name+".error", "dsl/no-error", "write needs: [ { "+name+": failed } ], or ended for both ends",
					"steps.%s.error is always null here: `%s` runs only if `%s` did not fail", name, u.step.Name, name)
			}
		}
	}
}

// policy is a word of a step that only some kinds heed.
type policy struct {
	word    string
	set     bool
	applies bool
	hint    string
}

// checkPolicies reports policies that a kind ignores.
func (a *analysis) checkPolicies(u *unit) {
	st := u.step
	if st.Kind == "" {
		return
	}
	call, child := st.Call != nil, st.Child != nil
	lasts := child || st.Human != nil || st.Event != nil || st.Timer != nil || len(u.inner) > 0
	for _, p := range []policy{
		{"timeout", st.Timeout != nil, call || lasts, "leave it out: such a step takes no time"},
		{"wait_timeout", st.WaitTimeout != nil, lasts || call && st.Call.Callback, "write `timeout`"},
		{"schedule_timeout", st.ScheduleTimeout != nil, call, "leave it out"},
		{"heartbeat", st.Heartbeat != nil, call, "leave it out"},
		{"retry", st.Retry != nil, call || child, "retry the steps that call something"},
		{"idempotent", st.Idempotent != nil, call, "leave it out"},
		{"max_recoveries", st.MaxRecoveries != nil, call, "leave it out"},
		{"limits", st.MaxMemory != 0, call, "leave it out"},
	} {
		if p.set && !p.applies {
			a.sink.keyWarnf(u.pointer+"/"+p.word, "dsl/policy-ignored", p.hint, "`%s` has no effect on a step of kind `%s`", p.word, st.Kind)
		}
	}
}

// checkRepeats reports retries of what must not be repeated.
func (a *analysis) checkRepeats(u *unit) {
	st := u.step
	if st.Idempotent == nil || *st.Idempotent || st.Retry == nil || st.Retry.Attempts.Expr == nil && st.Retry.Attempts.Fixed < 2 {
		return
	}
	if pointer := u.pointer + "/retry"; a.source.node(pointer) != nil {
		a.sink.keyWarnf(pointer, "dsl/retry-idempotent", "write retry: { attempts: 1 }, or on: [ … ] with errors after which nothing has happened",
			"`%s` is not idempotent, but may be tried again after an error", st.Name)
	}
}

// checkSecrets reports secrets in places that servers and proxies log.
func (a *analysis) checkSecrets(u *unit) {
	for _, s := range u.sites {
		if s.names&nameSecrets == 0 || s.tmpl == nil {
			continue
		}
		for _, leaf := range s.tmpl.Leaves {
			if leaf.Pointer != "/url" && !strings.HasPrefix(leaf.Pointer, "/query/") {
				continue
			}
			text, _ := s.text(leaf.Pointer)
			if offset := offsetOfRead(text, "secrets", ""); offset >= 0 {
				a.sink.warnAt(a.inside(s, leaf.At, offset), len("secrets"), "dsl/secret-in-url", "write it into `headers` or the body",
					"a secret in an address ends up in the logs of servers and proxies")
			}
		}
	}
}

// manyAtOnce is from how many activities at once an account's usual limits are in the way.
const manyAtOnce = 1_000

func (a *analysis) checkParallelism() {
	check := func(pointer string, n *workflow.Count) {
		if n != nil && n.Expr == nil && n.Fixed > manyAtOnce {
			a.sink.warnf(pointer, "dsl/parallelism", "write a smaller number, or make sure that the account allows as many",
				"%d activities at once are more than the %d that an account usually allows", n.Fixed, manyAtOnce)
		}
	}
	check("/limits/max_parallelism", a.def.Limits.MaxParallelism)
	for _, u := range a.units {
		if u.step.Foreach != nil {
			check(u.pointer+"/foreach/max_parallelism", u.step.Foreach.MaxParallelism)
		}
	}
}

// checkMemory reports steps that ask for more memory than their workflow allows: they fail with limits.memory.
func (a *analysis) checkMemory() {
	most := a.def.Limits.MaxMemory
	for _, u := range a.units {
		if most > 0 && u.step.MaxMemory > most {
			a.sink.warnf(u.pointer+"/limits/max_memory", "dsl/memory", "write less here, or more in `limits` of the workflow",
				"the step asks for %d bytes of memory, more than the %d that the workflow allows for each activity, so it will fail", u.step.MaxMemory, most)
		}
	}
}

// checkUnused reports values and variables that nobody reads. With a mistake in an expression it is not known who reads what.
func (a *analysis) checkUnused() {
	if a.sink.failed() {
		return
	}
	needed, read := map[*unit]bool{}, map[string]bool{}
	for _, u := range a.units {
		for _, n := range u.step.Needs {
			needed[u.block.named[n.Step]] = true
		}
	}
	for _, s := range a.sites {
		for _, r := range s.reads {
			if r.Root == "vars" && len(r.Path) == 0 {
				return // all variables
			}
			if r.Root == "vars" {
				read[r.Path[0]] = true
			}
		}
	}
	a.reportUnused(needed, read)
}

func (a *analysis) reportUnused(needed map[*unit]bool, read map[string]bool) {
	for _, u := range a.units {
		if u.step.Value != nil && len(u.step.Uses) == 0 && !needed[u] {
			a.sink.keyWarnf(u.pointer, "dsl/unused-value", "leave it out, or read steps."+u.step.Name+".output", "nobody reads the value of `%s`", u.step.Name)
		}
	}
	for _, v := range a.def.Vars {
		if !read[v.Name] {
			a.sink.keyWarnf("/vars/"+escape(v.Name), "dsl/unused-var", "leave it out, or read vars."+v.Name, "nobody reads the variable `%s`", v.Name)
		}
	}
}
