package flowtest

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Coverage says which parts of a workflow the cases went through.
type Coverage struct {
	// Workflow is its name, File where it stands.
	Workflow, File string
	Steps          Covered
	Branches       Covered
}

// Covered counts parts. Missing are those that no case went through, in the order of the document.
type Covered struct {
	Total   int
	Missing []Part
}

// Part is a step or a branch of a workflow.
type Part struct {
	Name string
	At   workflow.Position
}

// Percent is the share of the parts that were covered; 100 where there are none.
func (c Covered) Percent() float64 {
	if c.Total == 0 {
		return 100
	}
	return 100 * float64(c.Total-len(c.Missing)) / float64(c.Total)
}

// coverage collects the parts that were gone through.
type coverage struct {
	subject  *subject
	steps    []Part
	branches []Part
	hit      map[string]bool
}

func newCoverage(s *subject) *coverage {
	c := &coverage{subject: s, hit: map[string]bool{}}
	c.body(&s.def.Body, "")
	return c
}

func (c *coverage) body(b *workflow.Body, prefix string) {
	for i := range b.Steps {
		c.step(&b.Steps[i], prefix+b.Steps[i].Name)
	}
}

// step lists the parts of a step.
func (c *coverage) step(st *workflow.Step, path string) {
	c.steps = append(c.steps, Part{path, st.At})
	branch := func(name string, at workflow.Position) { c.branches = append(c.branches, Part{path + ": " + name, at}) }
	if st.When != nil {
		branch("when true", st.When.At)
		branch("when false", st.When.At)
	}
	if st.Switch != nil {
		for i := range st.Switch.Branches {
			branch("then "+strings.Join(st.Switch.Branches[i].Then, ", "), st.At)
		}
	}
	if st.Match != nil {
		for i := range st.Match.Cases {
			branch("then "+strings.Join(st.Match.Cases[i].Then, ", "), st.At)
		}
	}
	for i := range st.OnError {
		branch(handlerName(st, i), st.At)
	}
	if st.Human != nil {
		branch("approved", st.At)
		branch("rejected", st.At)
	}
	if st.WaitTimeout != nil {
		branch("timed out", st.At)
	}
	if st.Compensate != nil {
		branch("undone", st.At)
	}
	c.inside(st, path)
}

func (c *coverage) inside(st *workflow.Step, path string) {
	switch {
	case st.Foreach != nil:
		c.body(&st.Foreach.Body, path+"/")
	case st.Loop != nil:
		c.body(&st.Loop.Body, path+"/")
	case st.Group != nil:
		c.body(&st.Group.Body, path+"/")
	case st.Race != nil:
		for i := range st.Race.Branches {
			b := &st.Race.Branches[i]
			c.branches = append(c.branches, Part{path + ": " + b.Name + " wins", st.At})
			c.body(&b.Body, path+"/"+b.Name+"/")
		}
	}
}

func handlerName(st *workflow.Step, i int) string {
	h := &st.OnError[i]
	name := "on_error"
	if h.Match != nil {
		name += " " + clip(h.Match.Source, 60)
	}
	if len(h.Then) > 0 {
		return name + " then " + strings.Join(h.Then, ", ")
	}
	return name + " continue"
}

// saw marks what an event went through.
func (c *coverage) saw(x *run, e workflow.Event, failed map[string]*workflow.Error) {
	mark := func(path, branch string) { c.hit[plainPath(path)+": "+branch] = true }
	switch e := e.(type) {
	case workflow.ActivityReady:
		if st, ok := findStep(&x.subject.def.Body, e.Step); ok && st.When != nil {
			mark(e.Step, "when true")
		}
	case workflow.ActivityStarted:
		if !e.Walked {
			c.hit[plainPath(e.Step)] = true
		}
	case workflow.ActivitySkipped:
		if e.Status == workflow.StatusSkipped {
			mark(e.Step, "when false")
		}
	case workflow.ActivityFailed:
		failed[e.Step] = e.Error
	case workflow.ActivityCaught:
		if st, ok := findStep(&x.subject.def.Body, e.Step); ok {
			mark(e.Step, handlerName(st, handlerOf(st, e, failed[e.Step])))
		}
	case workflow.ActivityCompleted:
		c.completed(x, e, mark)
	case workflow.TaskDecided:
		mark(e.Step, map[workflow.Verdict]string{workflow.VerdictApprove: "approved", workflow.VerdictReject: "rejected"}[e.Verdict])
	case workflow.TimeoutFired:
		if e.Scope == workflow.TimeoutWaiting {
			mark(e.Step, "timed out")
		}
	case workflow.ScopeClosed:
		if st, ok := findStep(&x.subject.def.Body, e.Step); ok && st.Race != nil && e.Error == nil && !e.Cancelled {
			mark(e.Step, st.Race.Branches[e.Index].Name+" wins")
		}
	}
}

func (c *coverage) completed(x *run, e workflow.ActivityCompleted, mark func(path, branch string)) {
	if step, ok := strings.CutSuffix(plainSide(e.Step), "!undo"); ok {
		mark(step, "undone")
		return
	}
	if st, ok := findStep(&x.subject.def.Body, e.Step); ok && (st.Switch != nil || st.Match != nil) && len(e.Then) > 0 {
		mark(e.Step, "then "+strings.Join(e.Then, ", "))
	}
}

// handlerOf finds the handler that took an error. The history has what it led to; among several that lead to the same, the first
// whose condition holds is meant.
func handlerOf(st *workflow.Step, e workflow.ActivityCaught, failure *workflow.Error) int {
	first := -1
	for i := range st.OnError {
		h := &st.OnError[i]
		if !slices.Equal(h.Then, e.Then) {
			continue
		}
		if first < 0 {
			first = i
		}
		if h.Match == nil {
			return i
		}
		x, err := expr.Load(h.Match)
		if err != nil {
			continue
		}
		if ok, err := x.EvalBool(activation("error", errorValue(failure))); err == nil && ok {
			return i
		}
	}
	return max(first, 0)
}

// result is the coverage so far.
func (c *coverage) result() Coverage {
	out := Coverage{Workflow: c.subject.def.Name, File: c.subject.file}
	count := func(parts []Part) Covered {
		covered := Covered{Total: len(parts)}
		for _, p := range parts {
			if !c.hit[p.Name] {
				covered.Missing = append(covered.Missing, p)
			}
		}
		sort.SliceStable(covered.Missing, func(i, j int) bool { return before(covered.Missing[i].At, covered.Missing[j].At) })
		return covered
	}
	out.Steps, out.Branches = count(c.steps), count(c.branches)
	return out
}

func before(a, b workflow.Position) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column
}

// String is one line: how much was covered.
func (c Coverage) String() string {
	return fmt.Sprintf("%s: %.0f %% of %d steps, %.0f %% of %d branches", c.Workflow, c.Steps.Percent(), c.Steps.Total, c.Branches.Percent(), c.Branches.Total)
}
