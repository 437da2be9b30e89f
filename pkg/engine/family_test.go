package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Stories about several executions: these directives hand what is outstanding in one to another.
//
//	spawn STEP          starts the child of a step: as `@child-id …` it takes directives from then on. shard= picks one
//	notify              tells the parent of this execution's end
//	next                starts the execution that goes on for this one
//	cancel-child STEP   hands the cancel of a child to it
//	redrive NEW STEP…   starts a new execution from the results of one that ended

// wanted finds an outstanding command; the last word of a directive may narrow it down.
func wanted[C workflow.Command](x *execution, fits func(C) bool) (C, error) {
	for _, c := range engine.Outstanding(x.program, x.state) {
		if c, ok := c.(C); ok && fits(c) {
			return c, nil
		}
	}
	var none C
	return none, fmt.Errorf("there is no such %s outstanding in %s", none.CommandType(), x.id)
}

// join makes an execution of the world out of a start.
func (w *world) enroll(s workflow.Start, fallback *workflow.Definition) error {
	def := w.definitions[s.Workflow]
	if byVersion := w.definitions[s.Workflow+"@"+s.Definition]; byVersion != nil {
		def = byVersion
	}
	if def == nil {
		def = fallback
	}
	x, err := newExecution(s.Execution, def)
	if err != nil {
		return err
	}
	if w.executions[s.Execution] == nil {
		w.executions[s.Execution] = x
	}
	return nil
}

// elsewhere is the input of another execution; deciding it there is the directive's effect.
type elsewhere struct {
	workflow.Input
	on *execution
}

func startOfChild(c workflow.StartChild) workflow.Start {
	parent := c.Parent
	return workflow.Start{
		Execution: c.Child, Tenant: c.Tenant, Workflow: c.Workflow, Definition: c.Definition, Hash: c.Hash, Correlation: c.Correlation,
		Input: c.Input, Origin: workflow.Origin{Parent: &parent, Shard: c.Shard},
	}
}

func spawnOf(w *world, x *execution, d *directive) (workflow.Input, error) {
	id, err := w.child(x, d)
	if err != nil {
		return nil, err
	}
	c, err := wanted(x, func(c workflow.StartChild) bool { return c.Child == id })
	if err != nil {
		return nil, err
	}
	s := startOfChild(c)
	if c.Undo != "" {
		old := w.executions[c.Undo]
		if old == nil {
			return nil, fmt.Errorf("%s, whose work is to be undone, is not in this story", c.Undo)
		}
		if s, err = engine.Undo(old.events, c); err != nil {
			return nil, err
		}
	}
	if err := w.enroll(s, x.def); err != nil {
		return nil, err
	}
	return elsewhere{s, w.executions[s.Execution]}, nil
}

// redriveOf starts a new execution that takes over results: `redrive NEW [STEP…] {input}`, version= names its definition.
func redriveOf(w *world, x *execution, d *directive) (workflow.Input, error) {
	input, err := payload(d)
	if err != nil {
		return nil, err
	}
	o := engine.RedriveOptions{Execution: d.word(0), By: d.options["by"], From: d.words[1:], Definition: d.options["version"], Hash: "h2"}
	if !input.IsZero() {
		o.Input = &input
	}
	def := x.def
	if o.Definition == "" {
		o.Definition = "1"
	} else if def = w.definitions[x.def.Name+"@"+o.Definition]; def == nil {
		return nil, fmt.Errorf("there is no version %s", o.Definition)
	}
	next, err := newExecution(o.Execution, def)
	if err != nil {
		return nil, err
	}
	s, err := engine.Redrive(next.program, x.events, o)
	if err != nil {
		return nil, notRun{err}
	}
	w.executions[o.Execution] = next
	return elsewhere{s, next}, nil
}

// notRun says that what a directive asks for is refused before any decision; that is its output.
type notRun struct{ error }

func notifyOf(w *world, x *execution, _ *directive) (workflow.Input, error) {
	c, err := wanted(x, func(workflow.NotifyParent) bool { return true })
	if err != nil {
		return nil, err
	}
	parent := w.executions[c.Parent.Execution]
	if parent == nil {
		return nil, fmt.Errorf("the parent %s is not in this story", c.Parent.Execution)
	}
	return elsewhere{c.End, parent}, nil
}

func nextOf(w *world, x *execution, _ *directive) (workflow.Input, error) {
	c, err := wanted(x, func(workflow.StartNext) bool { return true })
	if err != nil {
		return nil, err
	}
	if err := w.enroll(c.Start, x.def); err != nil {
		return nil, err
	}
	return elsewhere{c.Start, w.executions[c.Start.Execution]}, nil
}

func cancelChildOf(w *world, x *execution, d *directive) (workflow.Input, error) {
	c, err := wanted(x, func(c workflow.CancelChild) bool { return c.Step == d.word(0) })
	if err != nil {
		return nil, err
	}
	s := startOfChild(c.Start)
	if err := w.enroll(s, x.def); err != nil {
		return nil, err
	}
	in := workflow.Cancel{ID: "cancel-of-" + c.Child, Origin: c.Origin, Mode: c.Mode, Reason: c.Reason, Start: &s}
	return elsewhere{in, w.executions[c.Child]}, nil
}

// agentCalls reads calls written as `[{"id": "a", "kind": "tool", "name": "search", "input": {…}, "approve": ["role:lead"]}]`.
func agentCalls(text string) ([]workflow.AgentCall, error) {
	if text == "" {
		return nil, nil
	}
	var list []struct {
		ID, Name, Title string
		Kind            workflow.Kind
		Input           json.RawMessage
		Approve         []string
		Timeout         string
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&list); err != nil {
		return nil, err
	}
	var calls []workflow.AgentCall
	for _, c := range list {
		call := workflow.AgentCall{ID: c.ID, Kind: c.Kind, Name: c.Name, Approve: c.Approve, Title: c.Title}
		if len(c.Input) > 0 {
			v, err := expr.Canonical(c.Input)
			if err != nil {
				return nil, err
			}
			call.Input = workflow.Inline(v)
		}
		if c.Timeout != "" {
			length, err := seconds(c.Timeout)
			if err != nil {
				return nil, err
			}
			call.Timeout = length
		}
		calls = append(calls, call)
	}
	return calls, nil
}
