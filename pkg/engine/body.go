package engine

import (
	"bytes"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// What all steps with bodies have in common, and the two simplest of them: group and race.

// openBody starts a step with bodies: timeout is start to close of the whole.
func (t *Turn) openBody(in inst) bool {
	var l limits
	if !t.relives(in) {
		var err *workflow.Error
		if l, err = t.limitsOf(in, t.lazily(in)); err != nil {
			t.failStart(in, err)
			return false
		}
	}
	t.begin(in, t.env.By, l)
	return true
}

// bodyOver reports how a body stands: over without failure, failed with all of it ended, or neither. A failed body that
// still has open steps has them ended.
func (t *Turn) bodyOver(f *workflow.Frame) (done, failed bool) {
	if f.Error == nil {
		return f.Left == 0, false
	}
	if f.Active > 0 && !t.endFrame(f, cancelled("step "+f.Failed+" failed")) {
		return false, false
	}
	return false, true
}

// outputsOf is the output of a body's last step or, if there are several, an object of theirs.
func (x *fold) outputsOf(f *workflow.Frame, last []int) workflow.Payload {
	if len(last) == 1 {
		return orNull(resultOutput(&f.Steps[last[0]]))
	}
	return x.outputsByName(f, last)
}

// outputsByName is an object of the outputs of some steps.
func (x *fold) outputsByName(f *workflow.Frame, of []int) workflow.Payload {
	b := x.p.bodies[f.Body]
	names := make([]string, len(of))
	values := make([]workflow.Payload, len(of))
	for k, i := range of {
		names[k], values[k] = b.nodes[i].step.Name, orNull(resultOutput(&f.Steps[i]))
	}
	return objectOf(names, values)
}

// allOutputs is an object of the outputs of all steps of a body.
func (x *fold) allOutputs(f *workflow.Frame) workflow.Payload {
	of := make([]int, len(f.Steps))
	for i := range of {
		of[i] = i
	}
	return x.outputsByName(f, of)
}

func resultOutput(st *workflow.StepState) workflow.Payload {
	if st.Result == nil {
		return workflow.Payload{}
	}
	return st.Result.Output
}

// objectOf makes a canonical object. Names are identifiers, so they need no escapes.
func objectOf(names []string, values []workflow.Payload) workflow.Payload {
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
		for j := i; j > 0 && names[order[j]] < names[order[j-1]]; j-- {
			order[j], order[j-1] = order[j-1], order[j]
		}
	}
	var b bytes.Buffer
	out := workflow.Payload{}
	b.WriteByte('{')
	for k, i := range order {
		if k > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + names[i] + `":`)
		b.Write(values[i].JSON)
		out.Holes = append(out.Holes, under("/"+names[i], values[i].Holes)...)
	}
	b.WriteByte('}')
	out.JSON = b.Bytes()
	return out
}

// arrayOf makes a canonical list.
func arrayOf(values []workflow.Payload) workflow.Payload {
	var b bytes.Buffer
	out := workflow.Payload{}
	b.WriteByte('[')
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(orNull(v).JSON)
		out.Holes = append(out.Holes, under("/"+decimal(i), v.Holes)...)
	}
	b.WriteByte(']')
	out.JSON = b.Bytes()
	return out
}

// inBody is the activation for what stands beside the steps of a body, made when it is needed.
func (t *Turn) inBody(f *workflow.Frame, extras ...named) *lazyActivation {
	return &lazyActivation{x: &t.fold, frame: f, extras: extras}
}

// startGroup opens the body of a group.
func startGroup(t *Turn, in inst) {
	if t.openBody(in) {
		t.move(workflow.ScopeOpened{Step: in.path})
	}
}

func advanceGroup(t *Turn, in inst) {
	sc := in.open().Scope
	if t.timedOut(in) || sc == nil {
		return
	}
	f := sc.Frames[0]
	if f == nil { // a bound stopped the decision before the body was opened
		if !t.stopped(in.frame) && t.fits(64) {
			t.move(workflow.ScopeOpened{Step: in.path})
		}
		return
	}
	switch done, failed := t.bodyOver(f); {
	case failed:
		t.fail(in, f.Error, false)
	case done:
		out := t.allOutputs(f)
		if g := in.node.step.Group; g.Output != nil && !t.relives(in) {
			var err *workflow.Error
			if out, err = render(g.Output, t.inBody(f)); err != nil {
				t.fail(in, err, false)
				return
			}
		}
		if t.fits(weighPayload(out)) {
			t.complete(in, out)
		}
	}
}

// startRace opens all branches.
func startRace(t *Turn, in inst) {
	if t.openBody(in) {
		advanceRace(t, in)
	}
}

// advanceRace opens branches, closes those that came to their end, and ends the others once one has won.
func advanceRace(t *Turn, in inst) {
	sc := in.open().Scope
	if t.timedOut(in) || sc == nil {
		return
	}
	for i, f := range sc.Frames {
		switch {
		case f == nil && !sc.Results[i].Closed && sc.Winner == 0 && !t.stopped(in.frame):
			if !t.fits(64) {
				return
			}
			t.move(workflow.ScopeOpened{Step: in.path, Index: i})
		case f != nil:
			if !t.closeBranch(in, sc, i, f) {
				return
			}
		}
	}
	switch {
	case sc.Open > 0:
	case sc.Winner > 0:
		out := sc.Results[sc.Winner-1].Output
		t.complete(in, objectOf([]string{"output", "winner"}, []workflow.Payload{orNull(out), quoted(in.node.bodies[sc.Winner-1].name)}))
	case t.relives(in):
		t.complete(in, workflow.Payload{})
	case sc.Failed == len(sc.Frames):
		t.fail(in, allFailed(in, sc), false)
	}
}

func quoted(s string) workflow.Payload { return workflow.Inline(appendText(nil, s)) }

// closeBranch ends a branch that won, failed or lost; false if a bound was reached.
func (t *Turn) closeBranch(in inst, sc *workflow.Scope, i int, f *workflow.Frame) bool {
	if sc.Winner > 0 {
		if !t.endFrame(f, cancelled("branch "+in.node.bodies[sc.Winner-1].name+" won the race")) {
			return false
		}
		t.move(workflow.ScopeClosed{Step: in.path, Index: i, Cancelled: true})
		return true
	}
	done, failed := t.bodyOver(f)
	if !done && !failed {
		return !t.full
	}
	e := workflow.ScopeClosed{Step: in.path, Index: i, Error: f.Error}
	if done {
		e.Output = t.outputsOf(f, t.p.bodies[f.Body].last)
	}
	if !t.fits(weighPayload(e.Output) + 64) {
		return false
	}
	t.move(e)
	return true
}

// allFailed is race.all_failed; its details hold the error of each branch by name.
func allFailed(in inst, sc *workflow.Scope) *workflow.Error {
	var names []string
	var errors []workflow.Payload
	for i := range sc.Results {
		v, err := expr.Marshal(sc.Results[i].Error)
		if err == nil {
			names, errors = append(names, in.node.bodies[i].name), append(errors, workflow.Inline(v))
		}
	}
	e := workflow.Errorf("race.all_failed", workflow.CategoryWorkflow, "all %d branches failed; the first error was %s", len(sc.Results), sc.Results[0].Error.Error())
	e.Details = objectOf(names, errors).JSON
	return e
}
