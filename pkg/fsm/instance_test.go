package fsm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/fsm"
)

// The versions of WF-006 §13, with Resumed between Waiting and Running as the matrix of §8 has it.
func TestInstanceVersions(t *testing.T) {
	in := fsm.WorkflowV1().Instance()
	require.True(t, in.CurrentState().IsZero())
	var got []fsm.WorkflowState
	for _, on := range []fsm.WorkflowEvent{
		fsm.WorkflowCreated(), fsm.WorkflowValidated(), fsm.WorkflowScheduled(), fsm.WorkflowStarted(),
		fsm.WorkflowPaused(), fsm.WorkflowResumed(), fsm.WorkflowContinued(), fsm.WorkflowCompleted(),
	} {
		ev := eventAt(on, in.Version())
		require.NoError(t, in.Validate(ev))
		before := in
		rec, err := in.Transition(ev)
		require.NoError(t, err)
		require.Equal(t, before.CurrentState(), rec.PreviousState)
		require.Equal(t, in.CurrentState(), rec.CurrentState)
		require.Equal(t, before.Version()+1, rec.Version)
		require.Equal(t, in.Version(), rec.Version)
		got = append(got, in.CurrentState())
	}
	require.Equal(t, []fsm.WorkflowState{
		fsm.WorkflowStateCreated(), fsm.WorkflowStateValidated(), fsm.WorkflowStateScheduled(), fsm.WorkflowStateRunning(),
		fsm.WorkflowStateWaiting(), fsm.WorkflowStateResumed(), fsm.WorkflowStateRunning(), fsm.WorkflowStateCompleted(),
	}, got)
}

func eventAt[E fsm.Event](on E, expected uint64) fsm.TransitionEvent[E] {
	ev := fsm.TransitionEvent[E]{On: on, Origin: origin(), Facts: facts()}
	ev.Facts.Version, ev.Facts.Expected = 99, expected // Version is the instance's to know
	return ev
}

func TestInstanceRefusals(t *testing.T) {
	in, err := fsm.ActivityV1().Restore(fsm.ActivityStateRunning(), 12)
	require.NoError(t, err)
	before := in
	unnamed := eventAt(fsm.ActivityCompleted(), 12)
	unnamed.Origin.ExecutionID = ""
	for _, c := range []struct {
		ev   fsm.TransitionEvent[fsm.ActivityEvent]
		kind error
	}{
		{eventAt(fsm.ActivityCompleted(), 11), fsm.ErrGuard},
		{eventAt(fsm.ActivityCompleted(), 13), fsm.ErrGuard},
		{eventAt(fsm.ActivityRetried(), 12), fsm.ErrUnlisted},
		{unnamed, fsm.ErrIncomplete},
	} {
		require.ErrorIs(t, in.Validate(c.ev), c.kind)
		rec, err := in.Transition(c.ev)
		require.ErrorIs(t, err, c.kind)
		require.Zero(t, rec)
		require.Equal(t, before, in, "a refusal changes nothing")
	}
	require.NoError(t, in.Validate(eventAt(fsm.ActivityCompleted(), 12)))
	require.Equal(t, before, in, "validating changes nothing")

	var zero fsm.Instance[fsm.ActivityState, fsm.ActivityEvent]
	_, err = zero.Transition(eventAt(fsm.ActivityCreated(), 0))
	require.ErrorIs(t, err, fsm.ErrIncomplete)
}

// Of two that decide on the same version one wins (WF-006 §19), even when the execution has come back to the same state.
func TestInstanceRace(t *testing.T) {
	in, err := fsm.WorkflowV1().Restore(fsm.WorkflowStateRunning(), 4)
	require.NoError(t, err)
	loser := eventAt(fsm.WorkflowCancelled(), in.Version())
	for _, on := range []fsm.WorkflowEvent{fsm.WorkflowPaused(), fsm.WorkflowResumed(), fsm.WorkflowContinued()} {
		winner := eventAt(on, in.Version())
		_, err := in.Transition(winner)
		require.NoError(t, err)
		_, err = in.Transition(winner)
		require.Error(t, err, "the same event twice")
	}
	require.Equal(t, fsm.WorkflowStateRunning(), in.CurrentState())
	_, err = in.Transition(loser)
	var refused *fsm.TransitionError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, fsm.GuardVersion(), refused.Guard)
	require.EqualValues(t, 7, in.Version())
}

func TestRestore(t *testing.T) {
	m := fsm.WorkflowV1()
	in, err := m.Restore(fsm.WorkflowState{}, 0)
	require.NoError(t, err)
	require.Equal(t, m.Instance(), in)
	_, err = m.Restore(fsm.WorkflowStateRunning(), 0)
	require.ErrorIs(t, err, fsm.ErrIncomplete)
	require.ErrorContains(t, err, "there is a state but no version")
	_, err = m.Restore(fsm.WorkflowState{}, 3)
	require.ErrorIs(t, err, fsm.ErrIncomplete)
	require.ErrorContains(t, err, "there is a version but no state")
}
