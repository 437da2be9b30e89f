package flowtest

import (
	"container/heap"
	"errors"
	"fmt"
	"strconv"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Bounds of a case that goes on and on: decisions of all executions, and executions that continue each other.
const (
	maxDecisions = 200_000
	maxChain     = 1000
)

const (
	testTenant = "test"
	testWorker = "test"
	// executionID is that of the execution under test.
	executionID = "test"
)

// world is what a case runs in: virtual time, what is still to happen, and the executions.
type world struct {
	suite *Suite
	c     *Case
	now   int64
	todo  agenda
	seq   int
	runs  map[string]*run
	order []*run
	// main is the execution under test, or the last of its chain (continue_as_new).
	main  *run
	bus   bus
	hooks []*hook
	// decided counts decisions; chain, the executions that continued each other; numbers, the calls of each step.
	decided int
	chain   int
	numbers map[string]int
	record  record
	// stopped is set by stop_after.
	stopped bool
}

// run is one execution.
type run struct {
	id      string
	subject *subject
	state   *workflow.State
	history []workflow.Recorded
	origin  workflow.Origin
	// prefix is the workflow's name before the paths of its steps, empty for the workflow under test; ours says that it is the
	// execution under test, of its chain, or a shard of it.
	prefix string
	ours   bool
	ticks  map[int64]bool
	// mocked are children of this execution that are not run; false once they have ended.
	mocked map[string]bool
}

// happening is something to come.
type happening struct {
	at  int64
	seq int
	do  func() error
	// void says that it has lost its meaning, such as a timer of what has ended: then no time passes for it. nil: never.
	void func() bool
}

// agenda is a heap of what is to come, at one time first in, first out.
type agenda []happening

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	if a[i].at != a[j].at {
		return a[i].at < a[j].at
	}
	return a[i].seq < a[j].seq
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

// Push implements heap.Interface.
func (a *agenda) Push(x any) { *a = append(*a, x.(happening)) }

// Pop implements heap.Interface.
func (a *agenda) Pop() any {
	old := *a
	last := old[len(old)-1]
	old[len(old)-1] = happening{}
	*a = old[:len(old)-1]
	return last
}

func newWorld(s *Suite, c *Case) *world {
	return &world{suite: s, c: c, now: c.Clock, runs: map[string]*run{}, numbers: map[string]int{}, bus: newBus()}
}

// later puts something on the agenda.
func (w *world) later(after int64, do func() error) {
	w.seq++
	heap.Push(&w.todo, happening{at: w.now + after, seq: w.seq, do: do})
}

// play runs the case to its end. The error says why it cannot go on.
func (w *world) play() error {
	w.later(0, func() error { return w.start(w.suite.main, w.startOf(executionID, w.suite.main)) })
	w.expectGiven()
	for len(w.todo) > 0 {
		next := heap.Pop(&w.todo).(happening)
		if next.void != nil && next.void() {
			continue
		}
		if limit := w.c.StopAfter; limit > 0 && next.at > w.c.Clock+limit {
			w.now, w.stopped = w.c.Clock+limit, true
			return nil
		}
		w.now = max(w.now, next.at)
		if err := next.do(); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) startOf(id string, s *subject) workflow.Start {
	return workflow.Start{
		Execution: id, Tenant: testTenant, Workflow: s.def.Name, Definition: "test", Hash: s.file, Labels: s.def.Labels,
		Correlation: id, Input: workflow.Inline(w.c.Input),
	}
}

// start brings an execution into being.
func (w *world) start(s *subject, in workflow.Start) error {
	if w.runs[in.Execution] != nil {
		return nil
	}
	if len(s.def.Input) > 0 && in.Origin == (workflow.Origin{}) { // others are checked by the engine
		if err := fits(s.def.Input, in.Input.JSON); err != nil {
			return fmt.Errorf("the input does not fit the schema of workflow %s: %w", s.def.Name, err)
		}
	}
	x := &run{id: in.Execution, subject: s, origin: in.Origin, ticks: map[int64]bool{}, mocked: map[string]bool{}}
	if s != w.suite.main {
		x.prefix = s.def.Name
	}
	if parent := in.Origin.Parent; parent != nil {
		x.ours = in.Origin.Shard != nil && w.runs[parent.Execution] != nil && w.runs[parent.Execution].ours
	} else {
		x.ours = true
	}
	w.runs[x.id] = x
	w.order = append(w.order, x)
	if w.main == nil || in.Origin.Continues != nil && in.Origin.Continues.Previous == w.main.id {
		w.main = x
		if w.chain++; w.chain > maxChain {
			return fmt.Errorf("the case does not end: %d executions have continued each other as new", maxChain)
		}
	}
	return w.decide(x, in)
}

// decide hands an input to the engine and carries out what it decides. A refusal is an error.
func (w *world) decide(x *run, in workflow.Input) error {
	if w.decided++; w.decided > maxDecisions {
		return fmt.Errorf("the case does not end: after %d decisions it is still going on", maxDecisions)
	}
	t := engine.NewTurn(x.subject.program, x.state, engine.Env{Now: w.now, Worker: testWorker, Misfit: misfit})
	refused := t.Handle(in)
	d := t.Decision()
	x.state = d.State
	x.history = append(x.history, d.Events...)
	for _, r := range d.Events {
		w.record.add(x, r)
		w.saw(x, r)
	}
	if refused != nil {
		return refused
	}
	for _, c := range d.Commands {
		if err := w.carry(x, c); err != nil {
			return err
		}
	}
	w.wake(x)
	return nil
}

// wake makes sure that the execution's next deadline comes.
func (w *world) wake(x *run) {
	at, ok := engine.Due(x.subject.program, x.state)
	if !ok || x.ticks[at] {
		return
	}
	x.ticks[at] = true
	w.seq++
	heap.Push(&w.todo, happening{
		at: max(at, w.now), seq: w.seq,
		do: func() error { return w.decide(x, workflow.Tick{}) },
		void: func() bool {
			delete(x.ticks, at)
			due, ok := engine.Due(x.subject.program, x.state)
			return !ok || due != at
		},
	})
}

// saw looks at an event for what it sets off outside the execution.
func (w *world) saw(x *run, r workflow.Recorded) {
	switch e := r.Event.(type) {
	case workflow.ActivityReady:
		w.onceReady(x, e.Step)
	case workflow.EventEmitted:
		source := e.Source
		if source == "" {
			source = x.subject.def.Name
		}
		out := workflow.EarlyEvent{
			ID: x.id + "/" + strconv.FormatUint(r.Version, 10), Kind: e.Kind, Key: e.Key, Source: source, From: "bus", Data: e.Data,
		}
		w.later(0, func() error { return w.publish(out) })
	}
}

// carry carries out a command.
func (w *world) carry(x *run, c workflow.Command) error {
	switch c := c.(type) {
	case workflow.RunActivity:
		return w.call(x, c)
	case workflow.StartChild:
		return w.startChild(x, c)
	case workflow.CancelChild:
		w.later(0, func() error { return w.cancelChild(x, c) })
	case workflow.NotifyParent:
		if parent := w.runs[c.Parent.Execution]; parent != nil {
			w.later(0, func() error { return w.decide(parent, c.End) })
		}
	case workflow.StartNext:
		w.later(0, func() error { return w.start(x.subject, c.Start) })
	case workflow.SendContinue:
		w.later(0, func() error { return w.decide(x, workflow.Continue{}) })
	case workflow.AwaitEvent:
		w.later(0, func() error { return w.subscribe(x, c) })
	}
	return nil // timers come by wake; tasks, callbacks and operators are awaited by what is given
}

// startChild starts a child: one of the test's workflows, or what a mock of the step says.
func (w *world) startChild(x *run, c workflow.StartChild) error {
	start := workflow.Start{
		Execution: c.Child, Tenant: c.Tenant, Workflow: c.Workflow, Definition: c.Definition, Hash: c.Hash, Correlation: c.Correlation,
		Input: c.Input, Origin: workflow.Origin{Parent: &c.Parent, Shard: c.Shard},
	}
	switch {
	case c.Undo != "":
		return w.undo(x, c)
	case c.Shard != nil:
		w.later(0, func() error { return w.start(x.subject, start) })
		return nil
	}
	call := w.callOf(x, workflow.RunActivity{
		AttemptRef: workflow.AttemptRef{Step: c.Step, Attempt: 1}, Kind: workflow.KindWorkflow, Name: c.Workflow, Input: c.Input,
	})
	a, err := w.answerOf(x, call)
	if err != nil {
		return err
	}
	s := w.suite.others[c.Workflow]
	switch {
	case a != nil:
		w.record.called(call)
		x.mocked[c.Child] = true
		w.later(0, func() error { return w.decide(x, workflow.ChildBegun{Step: c.Step, Child: c.Child}) })
		return w.answerChild(x, c, call, a)
	case s == nil:
		return &missing{step: call.key, text: fmt.Sprintf("step %s starts workflow %s, and the test has neither a mock of the step nor that workflow", call.key, c.Workflow),
			hint: fmt.Sprintf("add `%s: { output: {} }` to `mocks`, or the workflow's file to `with`", call.key)}
	}
	w.record.called(call)
	w.later(0, func() error {
		if err := w.decide(x, workflow.ChildBegun{Step: c.Step, Child: c.Child}); err != nil {
			return err
		}
		return w.start(s, start)
	})
	return nil
}

// undo starts the execution that undoes what a shard completed.
func (w *world) undo(x *run, c workflow.StartChild) error {
	shard := w.runs[c.Undo]
	if shard == nil {
		return fmt.Errorf("there is no execution %s whose work could be undone", c.Undo)
	}
	start, err := engine.Undo(shard.history, c)
	if err != nil {
		return err
	}
	w.later(0, func() error { return w.start(x.subject, start) })
	return nil
}

// answerChild ends a child that is mocked.
func (w *world) answerChild(x *run, c workflow.StartChild, call *call, a *answer) error {
	end := workflow.ChildEnd{Step: c.Step, Child: c.Child, Outcome: workflow.OutcomeCompleted}
	switch {
	case a.silent || a.lost:
		return nil
	case a.error != nil:
		end.Outcome, end.Error = workflow.OutcomeFailed, a.error
	default:
		out, err := call.render(a)
		if err != nil {
			return err
		}
		end.Output = out
	}
	w.later(a.takes, func() error { return w.endMocked(x, end) })
	return nil
}

func (w *world) endMocked(x *run, end workflow.ChildEnd) error {
	if !x.mocked[end.Child] {
		return nil
	}
	x.mocked[end.Child] = false
	return w.decide(x, end)
}

func (w *world) cancelChild(x *run, c workflow.CancelChild) error {
	if _, ok := x.mocked[c.Child]; ok {
		return w.endMocked(x, workflow.ChildEnd{Step: c.Step, Child: c.Child, Outcome: workflow.OutcomeCancelled,
			Error: workflow.Errorf("cancelled", workflow.CategoryWorkflow, "%s", c.Reason)})
	}
	child := w.runs[c.Child]
	if child == nil {
		return nil // it is about to start; the command is outstanding until it has ended
	}
	return w.decide(child, workflow.Cancel{ID: "cancel-of-" + c.Child, Mode: c.Mode, Origin: c.Origin, Reason: c.Reason})
}

// missing says that a test lacks something, and what to write.
type missing struct{ step, text, hint string }

func (m *missing) Error() string { return m.text + ": " + m.hint }

// refusal gives the reason of an input that the engine refused.
func refusal(err error) (string, bool) {
	if r := (*engine.RefusedError)(nil); errors.As(err, &r) {
		return r.Reason, true
	}
	return "", false
}

// activation binds one name.
func activation(name string, v workflow.Value) *expr.Activation {
	return expr.NewActivation(func(n string) (expr.Binding, bool) {
		if n != name {
			return expr.Binding{}, false
		}
		return expr.OfValue(v), true
	})
}
