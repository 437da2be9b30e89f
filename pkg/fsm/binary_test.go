package fsm_test

import (
	"encoding"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/fsm"
)

// TestStatesAreOneByte: checkpoints hold a state for each step.
func TestStatesAreOneByte(t *testing.T) {
	for s := range fsm.WorkflowStates() {
		var back fsm.WorkflowState
		testByte(t, s, &back)
		require.Equal(t, s, back)
	}
	for s := range fsm.ActivityStates() {
		var back fsm.ActivityState
		testByte(t, s, &back)
		require.Equal(t, s, back)
	}
	workflow, activity := fsm.WorkflowStateRunning(), fsm.ActivityStateRunning()
	for _, odd := range [][]byte{nil, {}, {99}, {1, 2}} {
		var unknown *fsm.ParseError
		require.ErrorAs(t, workflow.UnmarshalBinary(odd), &unknown)
		require.ErrorAs(t, activity.UnmarshalBinary(odd), &unknown)
	}
	require.Equal(t, fsm.WorkflowStateRunning(), workflow, "a refused text changes nothing")
	require.Equal(t, fsm.ActivityStateRunning(), activity, "a refused text changes nothing")
}

func testByte(t *testing.T, v encoding.BinaryMarshaler, back encoding.BinaryUnmarshaler) {
	b, err := v.MarshalBinary()
	require.NoError(t, err)
	require.Len(t, b, 1)
	require.NoError(t, back.UnmarshalBinary(b))
}
