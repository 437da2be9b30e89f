package engine_test

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// world is what a story happens in: definitions, executions, the time, and the worker that commits.
type world struct {
	definitions map[string]*workflow.Definition // by name, and by name@version
	first       string                          // name of the first definition
	executions  map[string]*execution
	now         int64
	worker      string
	message     int
	children    map[string][]string // IDs of the children that a step asked for, by execution and step
	last        []workflow.Input
	brief       bool // the directive wants counts only
}

// mainExecution is the execution that directives are about unless they say otherwise.
const mainExecution = "ex"

func newWorld() *world {
	return &world{
		definitions: map[string]*workflow.Definition{}, executions: map[string]*execution{}, children: map[string][]string{},
		now: storyStart, worker: "w1",
	}
}

// carry carries out one directive and returns all that came out of it.
func (w *world) carry(d *directive) (string, error) {
	w.message++
	w.brief = d.options["brief"] != ""
	switch d.verb {
	case "define":
		return w.define(d)
	case "worker":
		w.worker = d.word(0)
		return "", nil
	case "sleep":
		length, err := expr.ParseDuration(strings.TrimPrefix(d.word(0), "+"))
		w.now += int64(length)
		return "now " + showTime(w.now), err
	}
	x, err := w.find(d)
	if err != nil {
		return "", err
	}
	switch d.verb {
	case "state":
		return showState(x), nil
	case "outstanding":
		return lines(append(showCommands(engine.Outstanding(x.program, x.state)), showStatus(x.program, x.state))), nil
	case "history":
		return showHistory(x), nil
	case "again":
		return w.decide(x, w.last...)
	}
	inputs, err := w.inputs(x, d)
	if refused := (notRun{}); errors.As(err, &refused) {
		return "refused: " + refused.Error(), nil
	}
	if err != nil {
		return "", err
	}
	if other, ok := inputs[0].(elsewhere); ok {
		return w.decide(other.on, other.Input)
	}
	return w.decide(x, inputs...)
}

func (w *world) define(d *directive) (string, error) {
	def, diagnostics := dsl.Compile("story.yaml", []byte(d.body))
	if def == nil {
		var out []string
		for _, each := range diagnostics {
			out = append(out, each.String())
		}
		return lines(out), nil
	}
	if w.first == "" {
		w.first = def.Name
	}
	if version := d.options["version"]; version != "" {
		w.definitions[def.Name+"@"+version] = def
	}
	w.definitions[def.Name] = def
	return "fine", nil
}

// find finds the execution that a directive is about. One that does not exist yet is made.
func (w *world) find(d *directive) (*execution, error) {
	id := d.on
	if id == "" {
		id = mainExecution
	}
	if x := w.executions[id]; x != nil {
		return x, nil
	}
	name := d.options["workflow"]
	if name == "" {
		name = w.first
	}
	def := w.definitions[name]
	if def == nil {
		return nil, fmt.Errorf("there is no definition %q", name)
	}
	x, err := newExecution(id, def)
	if err != nil {
		return nil, err
	}
	w.executions[id] = x
	return x, nil
}

func (w *world) env() engine.Env {
	return engine.Env{Now: w.now, Worker: w.worker, By: "m" + strconv.Itoa(w.message)}
}

func (w *world) decide(x *execution, inputs ...workflow.Input) (string, error) {
	w.last = inputs
	d, refusals, err := x.decide(w.env(), inputs...)
	for _, r := range d.Events {
		if e, ok := r.Event.(workflow.ChildRequested); ok {
			w.children[x.id+" "+e.Step] = append(w.children[x.id+" "+e.Step], e.Child)
		}
	}
	var out []string
	for _, refusal := range refusals {
		if refusal != nil {
			out = append(out, "refused: "+refusal.Error())
		}
	}
	if len(out) == 0 || len(d.Events) > 0 {
		show := showDecision
		if w.brief {
			show = summary
		}
		out = append(out, show(d))
	}
	return lines(append(out, showStatus(x.program, x.state))), err
}

// showHistory counts the events of an execution by type, in the order of their first appearance.
func showHistory(x *execution) string { return lines(counted(x.events)) }

func counted(events []workflow.Recorded) []string {
	names := make([]string, len(events))
	for i, r := range events {
		names[i] = r.Event.Type().String()
	}
	return tally(names)
}

// tally counts names, in the order of their first appearance.
func tally(names []string) []string {
	counts := map[string]int{}
	var out []string
	for _, name := range names {
		if counts[name]++; counts[name] == 1 {
			out = append(out, name)
		}
	}
	for i, name := range out {
		out[i] = fmt.Sprintf("%s %d", name, counts[name])
	}
	return out
}

// summary is how many of what came out of a decision, for those with a great deal.
func summary(d engine.Decision) string {
	names := make([]string, len(d.Commands))
	for i, c := range d.Commands {
		names[i] = "> " + c.CommandType()
	}
	out := append(counted(d.Events), tally(names)...)
	if d.More {
		out = append(out, "! more")
	}
	return lines(out)
}

// showState is the state without what is derived: one line for the execution, one for each step that is not Created.
func showState(x *execution) string {
	if x.state == nil {
		return "= no execution"
	}
	s := *x.state
	s.Root, s.Undoing = nil, nil
	out := []string{showNoun("execution", s)}
	if x.state.Root != nil {
		out = append(out, showFrame(x.def.Body.Steps, x.state.Root)...)
	}
	if u := x.state.Undoing; u != nil {
		out = append(out, u.Path+" "+strings.Join(showFields(reflect.ValueOf(u.Step)), " "))
	}
	return lines(out)
}

func showFrame(steps []workflow.Step, f *workflow.Frame) []string {
	var out []string
	for i := range f.Steps {
		st := f.Steps[i]
		var inner []*workflow.Frame
		if st.Open != nil && st.Open.Scope != nil {
			scope := *st.Open.Scope
			inner = append(inner, scope.Frames...)
			scope.Frames = nil
			open := *st.Open
			open.Scope = &scope
			st.Open = &open
		}
		out = append(out, f.Prefix+steps[i].Name+" "+strings.Join(showFields(reflect.ValueOf(st)), " "))
		for _, frame := range inner {
			if frame != nil {
				out = append(out, showFrame(bodyOf(&steps[i], frame.Index).Steps, frame)...)
			}
		}
	}
	return out
}

func bodyOf(st *workflow.Step, branch int) *workflow.Body {
	switch {
	case st.Foreach != nil:
		return &st.Foreach.Body
	case st.Loop != nil:
		return &st.Loop.Body
	case st.Race != nil:
		return &st.Race.Branches[branch].Body
	}
	return &st.Group.Body
}

// seconds is a length of time in a directive.
func seconds(text string) (int64, error) {
	sign := int64(1)
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		sign, text = -1, rest
	}
	d, err := expr.ParseDuration(strings.TrimPrefix(text, "+"))
	return sign * int64(d/time.Nanosecond), err
}
