package fsm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/fsm"
)

func requireNames[S fsm.State, E fsm.Event](t *testing.T, e *fsm.TransitionError, machine string, from S, on E, to S) {
	t.Helper()
	require.Equal(t, machine, e.Machine)
	require.EqualValues(t, 1, e.Version)
	require.Equal(t, fmt.Sprint(from), e.From)
	require.Equal(t, fmt.Sprint(on), e.Event)
	require.Equal(t, fmt.Sprint(to), e.To)
}

// The rows of WF-006 §8 and §9, as pairs of states: the allowed ones are all there is beside creation, and those that
// the documents name as forbidden are refused.
func TestMatrixOfTheSpecification(t *testing.T) {
	require.Equal(t, []string{
		"None → Created",
		"Created → Validated", "Validated → Scheduled", "Scheduled → Running", "Running → Waiting", "Waiting → Resumed",
		"Resumed → Running", "Running → Completed", "Running → Failed", "Running → Cancelled", "Failed → Compensating",
		"Compensating → Completed",
	}, pairs(fsm.WorkflowV1()))
	require.Equal(t, []string{
		"None → Created",
		"Created → Ready", "Ready → Scheduled", "Scheduled → Running", "Running → Completed", "Running → Failed",
		"Failed → Retrying", "Retrying → Scheduled",
	}, pairs(fsm.ActivityV1()))
	for _, from := range []fsm.WorkflowState{fsm.WorkflowStateCompleted(), fsm.WorkflowStateFailed(), fsm.WorkflowStateCancelled()} {
		for _, on := range []fsm.WorkflowEvent{fsm.WorkflowStarted(), fsm.WorkflowContinued()} {
			f := facts()
			_, err := fsm.WorkflowV1().Next(from, on, &f)
			require.ErrorIs(t, err, fsm.ErrTerminal, "%s → Running", from)
		}
	}
	f := facts()
	_, err := fsm.ActivityV1().Next(fsm.ActivityStateCompleted(), fsm.ActivityStarted(), &f)
	require.ErrorIs(t, err, fsm.ErrTerminal)
}

func pairs[S fsm.State, E fsm.Event](m fsm.Machine[S, E]) []string {
	var out []string
	for row := range m.Transitions() {
		out = append(out, fmt.Sprintf("%v → %v", row.From, row.To))
	}
	return out
}

// Nothing leaves a terminal state, whatever the facts; Failed has the one edge, and only while its guard holds.
func TestTerminalIsImmutable(t *testing.T) {
	terminalIsImmutable(t, fsm.WorkflowV1(), slices.Collect(fsm.WorkflowStates()), slices.Collect(fsm.WorkflowEvents()))
	terminalIsImmutable(t, fsm.ActivityV1(), slices.Collect(fsm.ActivityStates()), slices.Collect(fsm.ActivityEvents()))

	m := fsm.WorkflowV1()
	for _, configured := range []bool{false, true} {
		for _, due := range []bool{false, true} {
			f := facts()
			f.CompensationConfigured, f.CompensationDue = configured, due
			to, err := m.Next(fsm.WorkflowStateFailed(), fsm.CompensationStarted(), &f)
			if configured && due {
				require.NoError(t, err)
				require.Equal(t, fsm.WorkflowStateCompensating(), to)
				continue
			}
			var refused *fsm.TransitionError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, fsm.GuardCompensation(), refused.Guard)
		}
	}
}

func terminalIsImmutable[S fsm.State, E fsm.Event](t *testing.T, m fsm.Machine[S, E], states []S, events []E) {
	for _, from := range states {
		for _, on := range events {
			if !from.Terminal() || fmt.Sprint(on) == "CompensationStarted" && fmt.Sprint(from) == "Failed" {
				continue
			}
			for _, f := range []fsm.Facts{facts(), {}} {
				_, err := m.Next(from, on, &f)
				require.ErrorIs(t, err, fsm.ErrTerminal)
				var refused *fsm.TransitionError
				require.ErrorAs(t, err, &refused)
				require.Equal(t, fsm.Guard{}, refused.Guard)
			}
		}
	}
}

func TestRefusalsSayWhyAndWhatElse(t *testing.T) {
	m := fsm.WorkflowV1()
	stale := facts()
	stale.Expected = 5
	for _, c := range []struct {
		machine fsm.Machine[fsm.WorkflowState, fsm.WorkflowEvent]
		from    fsm.WorkflowState
		on      fsm.WorkflowEvent
		facts   *fsm.Facts
		kind    error
		text    string
	}{
		{m, fsm.WorkflowStateWaiting(), fsm.WorkflowStarted(), new(fsm.Facts), fsm.ErrUnlisted,
			"fsm: workflow v1 refuses WorkflowStarted (Waiting → Running): possible here: WorkflowResumed → Resumed"},
		{m, fsm.WorkflowStateRunning(), fsm.WorkflowResumed(), new(fsm.Facts), fsm.ErrUnlisted,
			"fsm: workflow v1 refuses WorkflowResumed (Running → Resumed): possible here: WorkflowPaused → Waiting, " +
				"WorkflowCompleted → Completed, WorkflowFailed → Failed, WorkflowCancelled → Cancelled"},
		{m, fsm.WorkflowStateCompleted(), fsm.WorkflowStarted(), new(fsm.Facts), fsm.ErrTerminal,
			"fsm: workflow v1 refuses WorkflowStarted (Completed → Running): Completed is terminal and immutable: start a new execution"},
		{m, fsm.WorkflowStateFailed(), fsm.WorkflowStarted(), new(fsm.Facts), fsm.ErrTerminal,
			"fsm: workflow v1 refuses WorkflowStarted (Failed → Running): Failed is terminal and immutable: start a new execution; " +
				"the one way out is CompensationStarted → Compensating"},
		{m, fsm.WorkflowStateScheduled(), fsm.WorkflowStarted(), &stale, fsm.ErrGuard,
			"fsm: workflow v1 refuses WorkflowStarted (Scheduled → Running) by guard version: " +
				"it was decided on version 5, but the last is 6: load the execution again and decide anew"},
		{m, fsm.WorkflowStateRunning(), fsm.WorkflowEvent{}, new(fsm.Facts), fsm.ErrIncomplete,
			"fsm: workflow v1 refuses None (Running → None): there is no event"},
		{m, fsm.WorkflowStateScheduled(), fsm.WorkflowStarted(), nil, fsm.ErrIncomplete,
			"fsm: workflow v1 refuses WorkflowStarted (Scheduled → Running): there are no facts"},
		{fsm.Machine[fsm.WorkflowState, fsm.WorkflowEvent]{}, fsm.WorkflowStateScheduled(), fsm.WorkflowStarted(), new(fsm.Facts), fsm.ErrIncomplete,
			"fsm: zero machine v0 refuses WorkflowStarted (Scheduled → None): the zero Machine has no transitions: use WorkflowMachine or ActivityMachine"},
	} {
		to, err := c.machine.Next(c.from, c.on, c.facts)
		require.True(t, to.IsZero())
		require.EqualError(t, err, c.text)
		require.ErrorIs(t, err, c.kind)
		var refused *fsm.TransitionError
		require.ErrorAs(t, err, &refused)
	}
}

func TestZeroMachineIsEmpty(t *testing.T) {
	var m fsm.Machine[fsm.ActivityState, fsm.ActivityEvent]
	require.Equal(t, "zero machine v0", m.String())
	require.Empty(t, slices.Collect(m.Transitions()))
	_, ok := m.Edge(fsm.ActivityStateReady(), fsm.ActivityScheduled())
	require.False(t, ok)
}

func TestMachineByVersion(t *testing.T) {
	w, err := fsm.WorkflowMachine(fsm.LatestWorkflow)
	require.NoError(t, err)
	require.Equal(t, fsm.WorkflowV1(), w)
	require.Equal(t, "workflow v1", w.String())
	a, err := fsm.ActivityMachine(fsm.LatestActivity)
	require.NoError(t, err)
	require.Equal(t, fsm.ActivityV1(), a)
	require.Equal(t, "activity v1", a.String())

	for _, version := range []uint16{0, 2} {
		var unknown *fsm.VersionError
		_, err := fsm.WorkflowMachine(version)
		require.ErrorAs(t, err, &unknown)
		require.EqualError(t, err, fmt.Sprintf("fsm: there is no workflow table v%d, the latest here is v1: update this program", version))
		_, err = fsm.ActivityMachine(version)
		require.ErrorAs(t, err, &unknown)
		require.Equal(t, &fsm.VersionError{Machine: "activity", Version: version, Latest: 1}, unknown)
	}
}

// WF-006 §12, all ten fields, under the names given there.
func TestRecord(t *testing.T) {
	origin, facts := origin(), facts()
	origin.At = time.Now().In(time.FixedZone("CET", 3600)) // with a monotonic reading and a zone
	rec, err := fsm.WorkflowV1().Step(fsm.WorkflowStateScheduled(), fsm.WorkflowStarted(), &origin, &facts)
	require.NoError(t, err)
	require.Equal(t, fsm.Record[fsm.WorkflowState]{
		WorkflowID: "order", ExecutionID: "order-17",
		PreviousState: fsm.WorkflowStateScheduled(), CurrentState: fsm.WorkflowStateRunning(),
		TransitionTime: time.Unix(0, origin.At.UnixNano()).UTC(),
		WorkerID:       "worker-3", CorrelationID: "basket-9", CausationID: "signal-4",
		Version: 7, Reason: "paid",
	}, rec)

	rec.TransitionTime = noon
	text, err := json.Marshal(rec)
	require.NoError(t, err)
	require.Equal(t, `{"workflowId":"order","executionId":"order-17","previousState":"Scheduled","currentState":"Running",`+
		`"transitionTime":"2026-06-26T12:00:00Z","workerId":"worker-3","correlationId":"basket-9","causationId":"signal-4",`+
		`"version":7,"reason":"paid"}`, string(text))
	var back fsm.Record[fsm.WorkflowState]
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, rec, back)
}

// A record that nobody could audit is not made.
func TestStepNeedsAnOrigin(t *testing.T) {
	m, facts := fsm.ActivityV1(), facts()
	for _, c := range []struct {
		reason string
		origin func(*fsm.Origin) *fsm.Origin
	}{
		{"there is no origin for the record", func(*fsm.Origin) *fsm.Origin { return nil }},
		{"the record needs a workflow: set WorkflowID", func(o *fsm.Origin) *fsm.Origin { o.WorkflowID = ""; return o }},
		{"the record needs an execution: set ExecutionID", func(o *fsm.Origin) *fsm.Origin { o.ExecutionID = ""; return o }},
		{"the record needs a time: set At", func(o *fsm.Origin) *fsm.Origin { o.At = time.Time{}; return o }},
	} {
		o := origin()
		rec, err := m.Step(fsm.ActivityStateReady(), fsm.ActivityScheduled(), c.origin(&o), &facts)
		require.ErrorIs(t, err, fsm.ErrIncomplete)
		require.Zero(t, rec)
		var refused *fsm.TransitionError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, c.reason, refused.Reason)
		requireNames(t, refused, "activity", fsm.ActivityStateReady(), fsm.ActivityScheduled(), fsm.ActivityStateScheduled())
	}
	bare := fsm.Origin{WorkflowID: "order", ExecutionID: "order-17", At: noon} // the rest may be empty
	_, err := m.Step(fsm.ActivityStateReady(), fsm.ActivityScheduled(), &bare, &facts)
	require.NoError(t, err)
}

func TestNewRefusesUnsoundTables(t *testing.T) {
	type row = fsm.Transition[fsm.ActivityState, fsm.ActivityEvent]
	sound := func() []row { return slices.Collect(fsm.ActivityV1().Transitions()) }
	usual := fsm.NewGuardSet(fsm.GuardTenant(), fsm.GuardVersion())
	reopening := fsm.NewGuardSet(fsm.GuardTenant(), fsm.GuardVersion(), fsm.GuardCompensation())
	for _, c := range []struct {
		name    string
		rows    func([]row) []row
		at      int
		problem string
	}{
		{"no event", func(r []row) []row { r[2].On = fsm.ActivityEvent{}; return r }, 2,
			"there is no event"},
		{"no state", func(r []row) []row { r[2].To = fsm.ActivityState{}; return r }, 2,
			"it leads to no state"},
		{"no change", func(r []row) []row { r[2].To = r[2].From; return r }, 2,
			"it leads from Ready to itself, which is no transition"},
		{"duplicate", func(r []row) []row { return append(r, r[3]) }, 8,
			"there is an edge from Scheduled on ActivityStarted already: one state and event lead to one state"},
		{"two targets", func(r []row) []row { r[7].To = fsm.ActivityStateRunning(); return r }, 7,
			"ActivityScheduled already leads to Scheduled, not to Running: an event names one change, use another event"},
		{"no tenant guard", func(r []row) []row { r[1].Guards = fsm.NewGuardSet(fsm.GuardVersion()); return r }, 1,
			"every transition has the guards tenant and version"},
		{"no version guard", func(r []row) []row { r[1].Guards = fsm.NewGuardSet(fsm.GuardTenant()); return r }, 1,
			"every transition has the guards tenant and version"},
		{"exit from a terminal state", func(r []row) []row {
			return append(r, row{From: fsm.ActivityStateCompleted(), On: fsm.ActivityStarted(), To: fsm.ActivityStateRunning(), Guards: reopening})
		}, 8, "Completed is terminal: nothing leaves it unless marked by Reopens"},
		{"reopens without the guard", func(r []row) []row {
			return append(r, row{From: fsm.ActivityStateCompleted(), On: fsm.ActivityStarted(), To: fsm.ActivityStateRunning(), Guards: usual, Reopens: true})
		}, 8, "only the guard compensation can open a terminal state"},
		{"reopens what is open", func(r []row) []row { r[3].Reopens = true; return r }, 3,
			"Reopens marks exits from terminal states, and Scheduled is none"},
		{"no creation", func(r []row) []row { return r[1:] }, -1,
			"there are 0 transitions out of nothing: an instance comes into being by exactly one"},
		{"two creations", func(r []row) []row {
			return append(r, row{On: fsm.ActivityReady(), To: fsm.ActivityStateReady(), Guards: usual})
		}, -1, "there are 2 transitions out of nothing: an instance comes into being by exactly one"},
		{"unreachable", func(r []row) []row { return slices.Delete(r, 6, 7) }, -1,
			"state Retrying cannot be reached: add a transition that leads to it"},
		{"island", func(r []row) []row { r[5].From = fsm.ActivityStateRetrying(); return r }, -1,
			"state Failed cannot be reached: add a transition that leads to it"},
		{"dead end", func(r []row) []row { return slices.Delete(r, 7, 8) }, -1,
			"state Retrying is not terminal but nothing leaves it: add a transition"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := fsm.New("activity", 2, c.rows(sound())...)
			var unsound *fsm.TableError
			require.ErrorAs(t, err, &unsound)
			require.Equal(t, &fsm.TableError{Machine: "activity", Version: 2, Row: c.at, Problem: c.problem}, unsound)
			require.ErrorContains(t, err, c.problem)
			require.Zero(t, m)
		})
	}
	workflows := slices.Collect(fsm.WorkflowV1().Transitions())
	workflows[6].On = fsm.WorkflowStarted() // Resumed → Running
	_, err := fsm.New("workflow", 2, workflows...)
	require.EqualError(t, err, "fsm: table workflow v2: event WorkflowContinued is in no transition: add one")
	workflows[6].On = fsm.WorkflowResumed()
	_, err = fsm.New("workflow", 2, workflows...)
	require.EqualError(t, err, "fsm: table workflow v2, row 6: "+
		"WorkflowResumed already leads to Resumed, not to Running: an event names one change, use another event")

	for _, c := range []struct {
		name    string
		version uint16
	}{{"", 1}, {"activity", 0}} {
		_, err := fsm.New(c.name, c.version, sound()...)
		require.ErrorContains(t, err, "a machine has a name and a version from 1 on")
	}
}

// A machine keeps a copy of its rows.
func TestNewCopies(t *testing.T) {
	rows := slices.Collect(fsm.ActivityV1().Transitions())
	m, err := fsm.New("activity", 2, rows...)
	require.NoError(t, err)
	want := slices.Clone(rows)
	rows[2].To = fsm.ActivityStateCompleted()
	require.Equal(t, want, slices.Collect(m.Transitions()))
	e, ok := m.Edge(fsm.ActivityStateReady(), fsm.ActivityScheduled())
	require.True(t, ok)
	require.Equal(t, want[2], e)
}

func TestErrorKindsAreApart(t *testing.T) {
	kinds := []error{fsm.ErrUnlisted, fsm.ErrTerminal, fsm.ErrGuard, fsm.ErrIncomplete}
	_, err := fsm.WorkflowV1().Next(fsm.WorkflowStateCompleted(), fsm.WorkflowStarted(), new(fsm.Facts))
	for _, kind := range kinds {
		require.Equal(t, kind == fsm.ErrTerminal, errors.Is(err, kind))
	}
}
