package flowtest

import (
	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Suite is one test file, with the workflows that it is about.
type Suite struct {
	// File is the name of the test file.
	File  string
	Cases []Case
	// Scripts runs the steps of kind script that no mock answers: script.New(…).Activity. Nil: they need mocks like all others.
	Scripts activity.Activity
	// main is the workflow under test; others are those that its steps may start, by name.
	main   *subject
	others map[string]*subject
}

// subject is a workflow that tests run.
type subject struct {
	file    string
	def     *workflow.Definition
	program *engine.Program
}

// Case is one test.
type Case struct {
	Name  string
	At    workflow.Position
	Input workflow.Value
	// Clock is the virtual time at which it starts, in nanoseconds since 1970 UTC.
	Clock int64
	// StopAfter ends the case after that much virtual time; 0: when nothing can happen any more.
	StopAfter int64
	mocks     []mock
	given     []given
	expect    expectation
}

// mock says how calls of an activity are answered.
type mock struct {
	key     string // step path, or function:NAME, tool:NAME, kind:KIND; with WORKFLOW: before it for other workflows
	at      workflow.Position
	answers []answer
}

// answer is one way to answer a call: the first whose conditions hold is taken.
type answer struct {
	at      workflow.Position
	attempt int                // 0: any
	like    *workflow.Template // over call
	when    *workflow.Expr     // over call

	output *workflow.Template // over call
	error  *workflow.Error
	calls  []agentCall // of an agent's turn
	state  workflow.Value
	lost   bool // the worker falls silent, its lease expires
	silent bool // no answer ever comes

	takes int64 // nanoseconds
}

// agentCall is a call that a mocked agent asks for.
type agentCall struct {
	id, name string
	kind     workflow.Kind
	input    workflow.Value
	approve  []string
}

// given is something that comes from outside.
type given struct {
	at    workflow.Position
	after int64  // since the start, or since once
	once  string // path of a step: not before it is ready
	what  event
}

// event is what comes from outside; exactly one field is set.
type event struct {
	signal   *workflow.EarlyEvent
	event    *workflow.EarlyEvent
	decision *workflow.TaskDecision
	callback *callback
	cancel   *workflow.Cancel
	operator *workflow.OperatorMove
}

// callback is the answer to a call of a step with `callback: true`.
type callback struct {
	step   string
	output workflow.Value
	error  *workflow.Error
}

// expectation is what is to come out. What is not set is not looked at.
type expectation struct {
	at          map[string]workflow.Position // of each word that is set
	status      string
	outcome     string
	compensated *bool
	output      *workflow.Value
	error       *workflow.Template // pattern
	path        []string
	ran, notRan []string
	skipped     []string
	failed      []string
	undone      []string
	emitted     []*workflow.Template // patterns
	calls       []expectedCalls
	steps       []expectedStep
	waits       []string
	vars        *workflow.Value
	took        int64
}

func (e *expectation) has(word string) bool { _, ok := e.at[word]; return ok }

// expectedCalls are the calls of one step, in their order.
type expectedCalls struct {
	step  string
	at    workflow.Position
	count int                  // when there are no patterns
	like  []*workflow.Template // patterns over call
}

// expectedStep is how one step is to end.
type expectedStep struct {
	step     string
	at       workflow.Position
	status   string
	attempts int
	output   *workflow.Template // pattern
	error    *workflow.Template // pattern
}
