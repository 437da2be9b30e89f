package engine

import (
	"strconv"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Steps that run another workflow.

// childID is the ID of the execution that an attempt of a step starts.
func childID(s *workflow.State, path string, attempt int) string {
	return s.Execution + "/" + path + "/" + strconv.Itoa(attempt)
}

func startChild(t *Turn, in inst) {
	c, a := in.node.step.Child, t.callNames(in)
	if t.undoesShards(in) {
		t.startShardUndo(in)
		return
	}
	e := workflow.ChildRequested{Step: in.path, Wait: c.Wait || in.side != nil, OnClose: c.OnParentClose}
	var err *workflow.Error
	if e.Workflow, err = renderString(c.Name, a); err == nil {
		if e.Definition, err = renderToken(c.Version, a, "child.version", "the version of the workflow"); err == nil {
			e.Input, err = render(c.With, a)
		}
	}
	if err == nil && len(c.Allow) > 0 && !contains(c.Allow, e.Workflow) {
		err = workflow.Errorf("child.not_allowed", workflow.CategoryWorkflow, "workflow %q is not in `allow` of the step", e.Workflow)
	}
	if err == nil && depth(t.s) >= MaxDepth && t.s.Ending == nil {
		err = workflow.Errorf("children.too_deep", workflow.CategoryWorkflow, "%d executions stand above this one already: a workflow that starts itself needs an end, or a loop", MaxDepth)
	}
	if err == nil {
		e.Share, err = t.lendTo(in, e.Workflow)
	}
	if id := childID(t.s, in.path, in.open().Attempt+1); err == nil && len(id) > MaxName {
		err = workflow.Errorf("child.name_too_long", workflow.CategoryWorkflow, "the ID of the child would have %d bytes, more than %d: shorten the names of steps, or nest less", len(id), MaxName)
	}
	if err == nil && !e.Wait && len(t.s.Children) >= MaxChildren {
		err = workflow.Errorf("children.too_many", workflow.CategoryWorkflow, "the execution has started %d children without waiting for them", MaxChildren)
	}
	l, bad := t.limitsOf(in, a)
	if err == nil {
		err = bad
	}
	if err != nil {
		t.failStart(in, err)
		return
	}
	if c.With == nil {
		e.Input = workflow.Inline(workflow.Value("{}"))
	}
	t.request(in, e, l)
}

// request starts a child for a step, if that still fits into the decision.
func (t *Turn) request(in inst, e workflow.ChildRequested, l limits) {
	if !t.fits(weighPayload(e.Input) + 256) {
		return
	}
	t.begin(in, t.env.By, l)
	e.Child = childID(t.s, in.path, in.open().Attempt)
	t.move(e)
	t.ask(in)
}

// onChildBegun takes the news that a child's stream exists.
func (t *Turn) onChildBegun(b workflow.ChildBegun) error {
	in, ok := t.locate(b.Step)
	if !ok || in.open() == nil || in.open().Child == nil || in.open().Child.Child != b.Child || in.open().Child.Begun {
		return nil
	}
	c := in.open().Child
	if c.Wait {
		return nil // its end is what counts
	}
	t.move(workflow.ChildStarted{Step: in.path, Child: b.Child})
	b2 := appendText([]byte(`{"execution_id":`), b.Child)
	t.complete(in, workflow.Inline(append(b2, '}')))
	return nil
}

// onChildEnd takes the notice of a child's end.
func (t *Turn) onChildEnd(c workflow.ChildEnd) error {
	e := workflow.ChildEnded{
		Step: c.Step, Child: c.Child, Outcome: c.Outcome, Compensated: c.Compensated, Output: c.Output, Error: c.Error,
		Count: c.Count, Failed: c.Failed, Undoable: c.Undoable, Vars: c.Vars,
	}
	if t.knows(c.Child) {
		t.emit(e)
		return nil
	}
	in, ok := t.locate(c.Step)
	if !ok || in.open() == nil {
		return nil
	}
	if sc := in.open().Scope; sc != nil && len(sc.Shards) > 0 {
		return t.onShardEnd(in, e)
	}
	if link := in.open().Child; link == nil || link.Child != c.Child || link.Ended {
		return nil
	}
	t.move(e)
	if c.Outcome == workflow.OutcomeCompleted {
		t.complete(in, c.Output)
	} else {
		t.fail(in, childError(c), true)
	}
	return nil
}

// knows reports whether a child's end is only awaited, by no step.
func (t *Turn) knows(child string) bool {
	for _, list := range [][]workflow.ChildLink{t.s.Closing, t.s.Children} {
		for i := range list {
			if list[i].Child == child {
				return true
			}
		}
	}
	return false
}

// childError is the error of a step whose child did not complete: the child's own, if it has one.
func childError(c workflow.ChildEnd) *workflow.Error {
	if c.Error != nil {
		return c.Error
	}
	return workflow.Errorf("child."+string(c.Outcome), workflow.CategoryWorkflow, "the child %s ended as %s", c.Child, c.Outcome)
}
