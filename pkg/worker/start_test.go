package worker

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

const oneStep = `
name: one
steps:
  a: { function: std.echo, with: { n: '${ input }' } }`

// TestOneKeyOneExecution: a key stands for one request: the same again finds the execution, another input is refused and starts nothing.
func TestOneKeyOneExecution(t *testing.T) {
	r := newRig(t)
	one, two := r.define(oneStep), r.define(strings.Replace(oneStep, "name: one", "name: two", 1))
	big := `"` + strings.Repeat("x", r.Limits.Inline) + `"`
	request := func(name, key, input string) (Started, error) {
		return r.Start(t.Context(), StartRequest{Tenant: tenant, Workflow: name, Key: key, Input: workflow.Value(input)})
	}
	for i, input := range []string{`{"a":1,"b":[2]}`, `null`, `{}`, big} {
		key := string(rune('a' + i))
		first, err := request(one, key, input)
		require.NoError(t, err)
		require.False(t, first.Existed)
		again, err := request(one, key, input)
		require.NoError(t, err)
		require.True(t, again.Existed)
		require.Equal(t, first.Execution, again.Execution)
		for _, other := range []string{`{"a":1,"b":[3]}`, `7`, `"` + strings.Repeat("y", r.Limits.Inline) + `"`} {
			_, err = request(one, key, other)
			var reused *KeyReusedError
			require.ErrorAs(t, err, &reused)
			require.Equal(t, KeyReusedError{Key: key, Execution: first.Execution}, *reused)
		}
	}
	spaced, err := request(one, "a", ` { "b" : [ 2 ], "a" : 1.0e0 } `)
	if err == nil {
		require.True(t, spaced.Existed, "the same value, written otherwise")
	} else {
		require.IsType(t, &KeyReusedError{}, err, "1.0 is a double, and 1 is none")
	}
	other, err := request(two, "a", `{"a":1,"b":[2]}`)
	require.NoError(t, err)
	require.False(t, other.Existed, "a key is that of a workflow")
	rows, _, err := r.store.List(t.Context(), tenant, eventstore.Filter{}, eventstore.Page{})
	require.NoError(t, err)
	require.Len(t, rows, 5)
}

// TestAStartThatWasNotSent: a client that had no answer asks again, and the work is sent although the commit is there (commit protocol, point 5).
func TestAStartThatWasNotSent(t *testing.T) {
	r := newRig(t)
	name := r.define(oneStep)
	request := StartRequest{Tenant: tenant, Workflow: name, Key: "k", Input: workflow.Value(`1`)}
	r.failing("tasks", 1)
	_, err := r.Start(t.Context(), request)
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	require.Empty(t, r.takeTasks())
	for range 2 { // each repeat sends it: nobody knows which of them arrived
		s, err := r.Start(t.Context(), request)
		require.NoError(t, err)
		require.True(t, s.Existed)
		require.Len(t, r.takeTasks(), 1)
	}
	s, err := r.another("w2").Start(t.Context(), request)
	require.NoError(t, err)
	r.settle()
	require.Equal(t, `{"a":{"n":1}}`, r.ended(stream(s.Execution), "completed").Output.JSON.String())
	_, err = r.Start(t.Context(), request)
	require.NoError(t, err)
	require.Empty(t, r.takeTasks(), "nothing of an ended execution is sent")
}

// TestAnUnknownWriteOfAStart: the answer was lost; the commit is found by its nonce, and the start goes on.
func TestAnUnknownWriteOfAStart(t *testing.T) {
	r := newRig(t)
	name := r.define(oneStep)
	lost := 2
	r.lost = func() error {
		if lost--; lost >= 0 {
			return &eventstore.UnknownOutcomeError{Op: "append", Err: errAway}
		}
		return nil
	}
	s := r.begin(name, `1`)
	r.settle()
	r.ended(s, "completed")
	require.Equal(t, 1, r.count(s, "WorkflowCreated"))
}

// TestUnknownWorkflows: what was not deployed is said in words that tell what to do.
func TestUnknownWorkflows(t *testing.T) {
	r := newRig(t)
	name := r.define(oneStep)
	for _, request := range []StartRequest{{Workflow: "none"}, {Workflow: name, Version: "2"}, {Workflow: name, Version: "canary"}, {Workflow: name, Version: "0"}, {Workflow: name, Version: "-1"}} {
		request.Tenant = tenant
		_, err := r.Start(t.Context(), request)
		var unknown *UnknownWorkflowError
		require.ErrorAs(t, err, &unknown, "%+v", request)
		require.ErrorContains(t, err, "deploy it first")
	}
	_, err := r.Start(t.Context(), StartRequest{Tenant: "other", Workflow: name})
	require.ErrorContains(t, err, "deploy it first")
}
