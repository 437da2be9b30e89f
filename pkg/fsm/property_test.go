package fsm_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/fsm"
)

// The oracle is written from the documents, not from the tables of the package: the pairs of WF-006 §8 and §9, the event
// of §11 that names each, and the guards that belong to it.
type oracleEdge struct{ from, event, to, guards string }

var workflowOracle = []oracleEdge{
	{"None", "WorkflowCreated", "Created", "tenant version permissions"},
	{"Created", "WorkflowValidated", "Validated", "tenant version"},
	{"Validated", "WorkflowScheduled", "Scheduled", "tenant version"},
	{"Scheduled", "WorkflowStarted", "Running", "tenant version resources timeouts"},
	{"Running", "WorkflowPaused", "Waiting", "tenant version"},
	{"Waiting", "WorkflowResumed", "Resumed", "tenant version permissions timeouts"},
	{"Resumed", "WorkflowContinued", "Running", "tenant version"},
	{"Running", "WorkflowCompleted", "Completed", "tenant version dependencies timeouts"},
	{"Running", "WorkflowFailed", "Failed", "tenant version"},
	{"Running", "WorkflowCancelled", "Cancelled", "tenant version permissions"},
	{"Failed", "CompensationStarted", "Compensating", "tenant version compensation"},
	{"Compensating", "CompensationCompleted", "Completed", "tenant version dependencies"},
}

var activityOracle = []oracleEdge{
	{"None", "ActivityCreated", "Created", "tenant version"},
	{"Created", "ActivityReady", "Ready", "tenant version dependencies"},
	{"Ready", "ActivityScheduled", "Scheduled", "tenant version permissions resources"},
	{"Scheduled", "ActivityStarted", "Running", "tenant version ownership lease timeouts"},
	{"Running", "ActivityCompleted", "Completed", "tenant version ownership lease timeouts"},
	{"Running", "ActivityFailed", "Failed", "tenant version ownership lease"},
	{"Failed", "ActivityRetried", "Retrying", "tenant version resources"},
	{"Retrying", "ActivityScheduled", "Scheduled", "tenant version permissions resources"},
}

func TestRandomWorkflows(t *testing.T) {
	randomWalks(t, fsm.WorkflowV1(), fsm.WorkflowEvents(), workflowOracle)
}

func TestRandomActivities(t *testing.T) {
	randomWalks(t, fsm.ActivityV1(), fsm.ActivityEvents(), activityOracle)
}

// randomWalks feeds random events, some with facts that one or two guards do not accept, and holds every answer against
// the oracle: the same edge or a refusal by the same cause, versions without gap, terminal for ever, nothing changed by
// a refusal, and the same answer again from the same history.
func randomWalks[S fsm.State, E fsm.Event](t *testing.T, m fsm.Machine[S, E], events iter.Seq[E], oracle []oracleEdge) {
	all := slices.Collect(events)
	rapid.Check(t, func(t *rapid.T) {
		in, state, version := m.Instance(), "None", uint64(0)
		var accepted []fsm.TransitionEvent[E]
		var records []fsm.Record[S]
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			ev := fsm.TransitionEvent[E]{On: drawEvent(t, all, oracle, state), Origin: origin(), Facts: facts()}
			ev.Facts.Version, ev.Facts.Expected = version, version
			var broken []fsm.Guard
			for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "breaks") {
				b := rapid.SampledFrom(breaks).Draw(t, "broken")
				if b.name == "exhausted" || b.name == "stale" && version == 0 {
					continue // an instance counts its versions itself, and there is none before the first
				}
				b.broken(&ev.Facts)
				broken = append(broken, b.guard)
			}
			before, edge := in, find(oracle, state, fmt.Sprint(ev.On))
			valid := in.Validate(ev)
			require.Equal(t, before, in)
			rec, err := in.Transition(ev)
			require.Equal(t, valid, err, "Validate and Transition agree")

			if edge == nil || edge.refusedBy(broken) {
				requireOracleRefusal(t, err, edge, broken, state)
				require.Zero(t, rec)
				require.Equal(t, before, in, "a refusal changes nothing")
				continue
			}
			require.NoError(t, err)
			version++
			require.Equal(t, state, fmt.Sprint(rec.PreviousState))
			require.Equal(t, edge.to, fmt.Sprint(rec.CurrentState))
			require.Equal(t, rec.CurrentState, in.CurrentState())
			require.Equal(t, version, rec.Version)
			require.Equal(t, version, in.Version())
			state = edge.to
			accepted, records = append(accepted, ev), append(records, rec)
		}
		requireReplay(t, m, accepted, records, in)
	})
}

// drawEvent prefers an event that is possible, so that walks get far.
func drawEvent[E fsm.Event](t *rapid.T, all []E, oracle []oracleEdge, state string) E {
	if rapid.IntRange(0, 3).Draw(t, "any") > 0 {
		possible := slices.DeleteFunc(slices.Clone(all), func(e E) bool { return find(oracle, state, fmt.Sprint(e)) == nil })
		if len(possible) > 0 {
			return rapid.SampledFrom(possible).Draw(t, "possible event")
		}
	}
	return rapid.SampledFrom(all).Draw(t, "event")
}

func find(oracle []oracleEdge, from, event string) *oracleEdge {
	for i, e := range oracle {
		if e.from == from && e.event == event {
			return &oracle[i]
		}
	}
	return nil
}

func (e *oracleEdge) refusedBy(broken []fsm.Guard) bool {
	return slices.ContainsFunc(broken, func(g fsm.Guard) bool { return slices.Contains(strings.Fields(e.guards), g.String()) })
}

func requireOracleRefusal(t *rapid.T, err error, edge *oracleEdge, broken []fsm.Guard, state string) {
	var refused *fsm.TransitionError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, state, refused.From)
	if edge == nil {
		kind := fsm.ErrUnlisted
		if slices.Contains([]string{"Completed", "Cancelled"}, state) || state == "Failed" && refused.Machine == "workflow" {
			kind = fsm.ErrTerminal
		}
		require.Equal(t, kind, errors.Unwrap(err))
		require.Equal(t, fsm.Guard{}, refused.Guard)
		return
	}
	require.Equal(t, fsm.ErrGuard, errors.Unwrap(err))
	require.Equal(t, edge.event, refused.Event)
	require.Equal(t, edge.to, refused.To)
	require.Contains(t, broken, refused.Guard)
	require.Contains(t, strings.Fields(edge.guards), refused.Guard.String())
}

// requireReplay: the accepted events alone lead to the same records, by Step as well as by an instance, and from any
// point on (WF-006 §14).
func requireReplay[S fsm.State, E fsm.Event](t *rapid.T, m fsm.Machine[S, E], events []fsm.TransitionEvent[E], want []fsm.Record[S], end fsm.Instance[S, E]) {
	replayed, records, state := m.Instance(), []fsm.Record[S](nil), *new(S)
	for _, ev := range events {
		rec, err := replayed.Transition(ev)
		require.NoError(t, err)
		records = append(records, rec)

		again, err := m.Step(state, ev.On, &ev.Origin, &ev.Facts)
		require.NoError(t, err)
		require.Equal(t, rec, again)
		state = again.CurrentState
	}
	require.Equal(t, want, records)
	require.Equal(t, end, replayed)
	if len(want) == 0 {
		return
	}
	cut := rapid.IntRange(0, len(want)-1).Draw(t, "checkpoint")
	resumed, err := m.Restore(want[cut].CurrentState, want[cut].Version)
	require.NoError(t, err)
	for _, ev := range events[cut+1:] {
		_, err := resumed.Transition(ev)
		require.NoError(t, err)
	}
	require.Equal(t, end, resumed)
}
