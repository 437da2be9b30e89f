package engine

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/dsl"

	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// run is one execution under test: every decision of it is held against the laws of the engine.
type run struct {
	t       *testing.T
	p       *Program
	s       *workflow.State
	now     int64
	history []workflow.Recorded
	// last is the last decision.
	last Decision
	// mocks answer activities by the name of the function; the path of a step overrules it.
	mocks map[string]func(c workflow.RunActivity) workflow.ActivityResult
	calls []string // paths with attempts, in the order of their runs
	tries map[string]int
	// every is how many decisions are made for each that is held against the laws; 0: all are.
	every, made int
	// memory is that of Env.
	memory func(kind, name string) int64
}

var epoch = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).UnixNano()

// compile compiles a document whose first lines are given here.
func compile(t testing.TB, yaml string) *Program {
	t.Helper()
	doc := "dsl: wovyr/v1\nname: test\n" + strings.ReplaceAll(yaml, "\t", "  ")
	def, found := dsl.Compile("test.yaml", []byte(doc))
	require.NotNil(t, def, "%v\n%s", found, doc)
	p, err := Link(def)
	require.NoError(t, err)
	return p
}

// begin starts an execution of a document.
func begin(t *testing.T, yaml string, input string) *run {
	t.Helper()
	r := &run{t: t, p: compile(t, yaml), now: epoch, tries: map[string]int{}, mocks: map[string]func(workflow.RunActivity) workflow.ActivityResult{}}
	if input == "" {
		input = "{}"
	}
	r.do(workflow.Start{Execution: "e1", Tenant: "acme", Workflow: "test", Definition: "1", Hash: "h", Input: workflow.Inline(workflow.Value(input))})
	return r
}

func (r *run) env() Env { return Env{Now: r.now, Worker: "w1", By: "m1", Memory: r.memory} }

// do decides on an input and checks the laws.
func (r *run) do(in workflow.Input) Decision {
	r.t.Helper()
	d, err := r.try(in)
	require.NoError(r.t, err)
	return d
}

func (r *run) try(in workflow.Input) (Decision, error) {
	r.t.Helper()
	if r.made++; r.every > 0 && r.made%r.every != 0 {
		d, err := Decide(r.p, r.s, in, r.env())
		r.s, r.last = d.State, d
		r.history = append(r.history, d.Events...)
		return d, err
	}
	cold := r.reload()
	again := Clone(r.s)
	before := uint64(0)
	if r.s != nil {
		before = r.s.Version
	}
	d, err := Decide(r.p, r.s, in, r.env())
	r.s, r.last = d.State, d
	r.history = append(r.history, d.Events...)
	r.checkVersions(before, d)
	r.checkSame("a decision on the same state again", in, again, d)
	r.checkSame("a decision on the decoded state", in, cold, d)
	r.checkReplay()
	r.checkCommands(d)
	r.checkMoves(d)
	if err == nil {
		r.checkDuplicate(in)
	}
	return d, err
}

// reload is the state as a checkpoint gives it back.
func (r *run) reload() *workflow.State {
	if r.s == nil {
		return nil
	}
	b, err := json.Marshal(r.s)
	require.NoError(r.t, err)
	var s workflow.State
	require.NoError(r.t, json.Unmarshal(b, &s))
	return &s
}

func shown(t *testing.T, v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return string(b)
}

func (r *run) checkVersions(before uint64, d Decision) {
	r.t.Helper()
	for i, e := range d.Events {
		require.Equal(r.t, before+1+uint64(i), e.Version, "versions have a gap")
	}
	if len(d.Events) > 0 {
		require.Equal(r.t, d.State.Version, d.Events[len(d.Events)-1].Version)
	}
}

// checkSame: the same definition, state and input give the same events, commands and state.
func (r *run) checkSame(what string, in workflow.Input, s *workflow.State, d Decision) {
	r.t.Helper()
	other, _ := Decide(r.p, s, in, r.env())
	require.Equal(r.t, shown(r.t, d.Events), shown(r.t, other.Events), what)
	require.Equal(r.t, shown(r.t, d.Commands), shown(r.t, other.Commands), what)
	require.Equal(r.t, shown(r.t, d.State), shown(r.t, other.State), what)
}

// checkReplay: the state after live running is the state after replay.
func (r *run) checkReplay() {
	r.t.Helper()
	if len(r.history) == 0 {
		return
	}
	s, err := Replay(r.p, nil, r.history)
	require.NoError(r.t, err)
	require.Equal(r.t, shown(r.t, r.s), shown(r.t, s), "replay differs from live running")
	require.Equal(r.t, shown(r.t, Outstanding(r.p, r.s)), shown(r.t, Outstanding(r.p, s)), "outstanding work differs after replay")
	due, _ := Due(r.p, r.s)
	again, _ := Due(r.p, s)
	require.Equal(r.t, due, again, "the deadline differs after replay")
}

// checkCommands: all commands of a decision are outstanding after it.
func (r *run) checkCommands(d Decision) {
	r.t.Helper()
	all := Outstanding(r.p, r.s)
	for _, c := range d.Commands {
		found := false
		for _, o := range all {
			found = found || reflect.DeepEqual(c, o)
		}
		require.True(r.t, found, "command %s is not outstanding:\n%s\n%s", c.CommandType(), shown(r.t, c), shown(r.t, all))
	}
}

// checkMoves: what is not over has something outstanding or a wake-up; what is over stays as it is.
func (r *run) checkMoves(Decision) {
	r.t.Helper()
	if r.s == nil || r.s.Version == 0 {
		return
	}
	all := Outstanding(r.p, r.s)
	if !r.s.Status.Terminal() {
		require.NotEmpty(r.t, all, "nothing is outstanding although the execution is %s:\n%s", r.s.Status, r.story())
	}
	waiting := r.s.Status == fsm.WorkflowStateWaiting()
	working := false
	for _, c := range all {
		switch c.(type) {
		case workflow.RunActivity, workflow.SendContinue:
			working = true
		}
	}
	if r.s.Status != fsm.WorkflowStateCompensating() && !r.s.Status.Terminal() {
		require.Equal(r.t, !working, waiting, "the execution is %s:\n%s", r.s.Status, r.story())
	}
}

// checkDuplicate: the same input again decides nothing.
func (r *run) checkDuplicate(in workflow.Input) {
	r.t.Helper()
	switch in.(type) {
	case workflow.Tick, workflow.Continue:
		return
	case workflow.ExternalEvent, workflow.TaskDecision, workflow.OperatorMove, workflow.Cancel:
		if reflect.ValueOf(in).FieldByName("ID").String() == "" {
			return
		}
	}
	d, _ := Decide(r.p, Clone(r.s), in, r.env())
	if r.s.More {
		return // it goes on with what was left
	}
	require.Empty(r.t, d.Events, "a duplicate of %s decided something", in.InputType())
	require.Empty(r.t, d.Commands)
}

// story prints the history in short.
func (r *run) story() string {
	var b strings.Builder
	for _, e := range r.history {
		b.WriteString(e.Event.Type().String())
		v := reflect.ValueOf(e.Event)
		if f := v.FieldByName("Step"); f.IsValid() && f.String() != "" {
			b.WriteString(" " + f.String())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// events lists the types of the last decision's events with their steps.
func (r *run) events() []string {
	var list []string
	for _, e := range r.last.Events {
		s := e.Event.Type().String()
		if f := reflect.ValueOf(e.Event).FieldByName("Step"); f.IsValid() && f.String() != "" {
			s += " " + f.String()
		}
		list = append(list, s)
	}
	return list
}

// work runs what workers, timers and the execution itself have to do, until it waits for something from outside, a
// deadline is beyond the limit, or it has ended.
func (r *run) work(limit time.Duration) {
	r.t.Helper()
	until := r.now + int64(limit)
	for i := 0; i < 100_000; i++ {
		if r.s.Status.Terminal() {
			return
		}
		if r.step() {
			continue
		}
		due, ok := Due(r.p, r.s)
		if !ok || due > until {
			return
		}
		r.now = max(r.now, due)
		r.do(workflow.Tick{})
	}
	r.t.Fatalf("no end:\n%s", r.story())
}

// step runs the first activity that is outstanding.
func (r *run) step() bool {
	r.t.Helper()
	for _, c := range Outstanding(r.p, r.s) {
		switch c := c.(type) {
		case workflow.RunActivity:
			r.now += int64(time.Millisecond)
			r.do(r.answer(c))
			return true
		case workflow.SendContinue:
			r.do(workflow.Continue{})
			return true
		}
	}
	return false
}

// answer is what a mocked activity gives: by default its input.
func (r *run) answer(c workflow.RunActivity) workflow.ActivityResult {
	r.calls = append(r.calls, c.Step)
	r.tries[c.Step]++
	out := workflow.ActivityResult{Output: c.Input}
	for _, name := range []string{c.Name, c.Step} {
		if mock := r.mocks[name]; mock != nil {
			out = mock(c)
		}
	}
	out.AttemptRef, out.Worker, out.StartedAt = c.AttemptRef, "w1", r.now
	return out
}

// failing makes a function fail its first times attempts.
func (r *run) failing(name, code string, times int) {
	r.mocks[name] = func(c workflow.RunActivity) workflow.ActivityResult {
		if r.tries[c.Step] > times {
			return workflow.ActivityResult{Output: workflow.Inline(workflow.Value(`"ok"`))}
		}
		return workflow.ActivityResult{Error: &workflow.Error{Code: code, Category: workflow.CategoryExternal, Message: "failed", Retryable: true}}
	}
}

// outcome is status, outcome and output or error in one line.
func (r *run) outcome() string {
	s := r.s.Status.String()
	if r.s.Ending != nil {
		s += " " + string(r.s.Ending.Outcome)
	}
	if r.s.Compensated {
		s += " compensated"
	}
	if r.s.Error != nil {
		s += " " + r.s.Error.Code
	}
	if !r.s.Output.IsZero() {
		s += " " + r.s.Output.JSON.String()
	}
	return s
}
