package fsm_test

import (
	"encoding"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/fsm"
)

// The wire names of WF-006 §22 and §11, in the order of their codes.
var wireNames = map[string][]string{
	"workflow state": {"Created", "Validated", "Scheduled", "Running", "Waiting", "Resumed", "Compensating", "Completed", "Failed", "Cancelled"},
	"activity state": {"Created", "Ready", "Scheduled", "Running", "Completed", "Failed", "Retrying"},
	"workflow event": {"WorkflowCreated", "WorkflowValidated", "WorkflowScheduled", "WorkflowStarted", "WorkflowPaused", "WorkflowResumed",
		"WorkflowContinued", "WorkflowCompleted", "WorkflowFailed", "WorkflowCancelled", "CompensationStarted", "CompensationCompleted"},
	"activity event": {"ActivityCreated", "ActivityReady", "ActivityScheduled", "ActivityStarted", "ActivityCompleted", "ActivityFailed", "ActivityRetried"},
	"guard":          {"tenant", "permissions", "version", "ownership", "lease", "dependencies", "resources", "timeouts", "compensation"},
}

func TestNames(t *testing.T) {
	testNames(t, "workflow state", fsm.WorkflowStates(), fsm.ParseWorkflowState, fsm.WorkflowStateFromCode)
	testNames(t, "activity state", fsm.ActivityStates(), fsm.ParseActivityState, fsm.ActivityStateFromCode)
	testNames(t, "workflow event", fsm.WorkflowEvents(), fsm.ParseWorkflowEvent, fsm.WorkflowEventFromCode)
	testNames(t, "activity event", fsm.ActivityEvents(), fsm.ParseActivityEvent, fsm.ActivityEventFromCode)
}

type enum interface {
	fsm.WorkflowState | fsm.ActivityState | fsm.WorkflowEvent | fsm.ActivityEvent
	Code() uint8
	IsZero() bool
	String() string
	MarshalText() ([]byte, error)
}

func testNames[T enum](t *testing.T, what string, all iter.Seq[T], parse func(string) (T, error), fromCode func(uint8) (T, error)) {
	t.Run(what, func(t *testing.T) {
		require.Len(t, slices.Collect(all), len(wireNames[what]))
		code := 0
		for v := range all {
			code++
			require.Equal(t, wireNames[what][code-1], v.String())
			require.EqualValues(t, code, v.Code())
			require.False(t, v.IsZero())

			parsed, err := parse(v.String())
			require.NoError(t, err)
			require.Equal(t, v, parsed)

			parsed, err = fromCode(v.Code())
			require.NoError(t, err)
			require.Equal(t, v, parsed)

			text, err := json.Marshal(v)
			require.NoError(t, err)
			require.Equal(t, `"`+v.String()+`"`, string(text))
			var back T
			require.NoError(t, json.Unmarshal(text, &back))
			require.Equal(t, v, back)
		}

		var zero T
		require.True(t, zero.IsZero())
		require.Zero(t, zero.Code())
		require.Equal(t, "None", zero.String())
		for _, text := range []string{"None", "Runing", "running", " Running", "workflowstarted"} {
			_, err := parse(text)
			requireUnknown(t, err, what, fmt.Sprintf("%q", text))
			kept := first(all)
			requireUnknown(t, any(&kept).(encoding.TextUnmarshaler).UnmarshalText([]byte(text)), what, fmt.Sprintf("%q", text))
			require.Equal(t, first(all), kept, "a refused text changes nothing")
		}
		_, err := parse("")
		requireUnknown(t, err, what, `""`)
		for _, code := range []uint8{uint8(len(wireNames[what]) + 1), 255} {
			_, err := fromCode(code)
			requireUnknown(t, err, what, fmt.Sprintf("code %d", code))
		}
	})
}

func first[T any](all iter.Seq[T]) T {
	for v := range all {
		return v
	}
	panic("empty")
}

func requireUnknown(t *testing.T, err error, what, text string) {
	t.Helper()
	var unknown *fsm.ParseError
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, &fsm.ParseError{What: what, Text: text, Known: wireNames[what]}, unknown)
}

func TestParseErrorSaysWhatToWrite(t *testing.T) {
	_, err := fsm.ParseActivityState("Waiting")
	require.EqualError(t, err, `fsm: "Waiting" is no activity state: use one of Created, Ready, Scheduled, Running, Completed, Failed, Retrying`)
}

// No state is a value of its own in a record, so it has a text and a code; no event is none, and has neither.
func TestZeroOnTheWire(t *testing.T) {
	text, err := fsm.WorkflowState{}.MarshalText()
	require.NoError(t, err)
	require.Empty(t, text)
	s := fsm.WorkflowStateRunning()
	require.NoError(t, s.UnmarshalText(nil))
	require.True(t, s.IsZero())
	s, err = fsm.WorkflowStateFromCode(0)
	require.NoError(t, err)
	require.True(t, s.IsZero())

	text, err = fsm.ActivityState{}.MarshalText()
	require.NoError(t, err)
	require.Empty(t, text)
	a := fsm.ActivityStateRunning()
	require.NoError(t, a.UnmarshalText(nil))
	require.True(t, a.IsZero())
	a, err = fsm.ActivityStateFromCode(0)
	require.NoError(t, err)
	require.True(t, a.IsZero())

	_, err = fsm.WorkflowEvent{}.MarshalText()
	requireUnknown(t, err, "workflow event", "code 0")
	e := fsm.WorkflowStarted()
	requireUnknown(t, e.UnmarshalText(nil), "workflow event", `""`)
	_, err = fsm.WorkflowEventFromCode(0)
	requireUnknown(t, err, "workflow event", "code 0")

	_, err = fsm.ActivityEvent{}.MarshalText()
	requireUnknown(t, err, "activity event", "code 0")
	ae := fsm.ActivityStarted()
	requireUnknown(t, ae.UnmarshalText(nil), "activity event", `""`)
	_, err = fsm.ActivityEventFromCode(0)
	requireUnknown(t, err, "activity event", "code 0")
}

func TestTerminal(t *testing.T) {
	var workflows, activities []string
	for s := range fsm.WorkflowStates() {
		if s.Terminal() {
			workflows = append(workflows, s.String())
		}
	}
	for s := range fsm.ActivityStates() {
		if s.Terminal() {
			activities = append(activities, s.String())
		}
	}
	require.Equal(t, []string{"Completed", "Failed", "Cancelled"}, workflows)
	require.Equal(t, []string{"Completed"}, activities)
}

// FuzzText: what is taken from a text is written as the same text, and everything else is a ParseError.
func FuzzText(f *testing.F) {
	for _, list := range wireNames {
		for _, name := range list {
			f.Add(name)
		}
	}
	for _, text := range []string{"", "None", "completed", "Completed ", "Completed\x00", "\xff", "Fаiled"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, v := range []encoding.TextUnmarshaler{
			new(fsm.WorkflowState), new(fsm.ActivityState), new(fsm.WorkflowEvent), new(fsm.ActivityEvent), new(fsm.Guard),
		} {
			if err := v.UnmarshalText([]byte(text)); err != nil {
				var unknown *fsm.ParseError
				require.ErrorAs(t, err, &unknown)
				require.NotContains(t, unknown.Known, text)
				continue
			}
			back, err := v.(encoding.TextMarshaler).MarshalText()
			require.NoError(t, err)
			require.Equal(t, text, string(back))
		}
	})
}
