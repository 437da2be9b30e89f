package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// TestALeaseOfTheDeadDoesNotCount: what is left of a lease holds a step back only while its worker may be alive.
func TestALeaseOfTheDeadDoesNotCount(t *testing.T) {
	def, diagnostics := dsl.Compile("gone.yaml", []byte("dsl: wovyr/v1\nname: gone\nsteps:\n  a: { function: f }\n"))
	require.NotNil(t, def, "%v", diagnostics)
	p, err := engine.Link(def)
	require.NoError(t, err)
	ref := workflow.AttemptRef{Step: "a", Attempt: 1, Fence: 1}
	for _, gone := range []bool{false, true} {
		turn := engine.NewTurn(p, nil, engine.Env{Now: 1000, Worker: "w"})
		require.NoError(t, turn.Handle(workflow.Start{Execution: "e", Tenant: "t", Workflow: "gone", Definition: "1", Hash: "h"}))
		require.NoError(t, turn.Handle(workflow.Begin{AttemptRef: ref, Worker: "w", LeaseUntil: 2000}))
		before := turn.Events()
		require.NoError(t, turn.Handle(workflow.LeaseExpiry{AttemptRef: ref, Worker: "w", Gone: gone}))
		require.Equal(t, gone, turn.Events() > before)
	}
}
