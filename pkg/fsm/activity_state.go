package fsm

import (
	"fmt"
	"iter"
	"slices"
)

// ActivityState is a state of an activity (WF-006 §7). Its values come from functions and its content is
// unexported, so that outside this package no number becomes a state and nobody overwrites one. The zero value is
// no state: what was before creation.
type ActivityState struct{ activityState uint8 }

// The position is the code on the wire: names are only ever added at the end.
var activityStateNames = names{what: "activity state", list: []string{
	1: "Created",
	2: "Ready",
	3: "Scheduled",
	4: "Running",
	5: "Completed",
	6: "Failed",
	7: "Retrying",
}}

// ActivityStateCreated is Created: the activity was instantiated; a skipped one stays so.
func ActivityStateCreated() ActivityState { return ActivityState{1} }

// ActivityStateReady is Ready: its dependencies are satisfied.
func ActivityStateReady() ActivityState { return ActivityState{2} }

// ActivityStateScheduled is Scheduled: the scheduler has it (WF-002 §9 calls this Dispatched).
func ActivityStateScheduled() ActivityState { return ActivityState{3} }

// ActivityStateRunning is Running: a worker executes it.
func ActivityStateRunning() ActivityState { return ActivityState{4} }

// ActivityStateCompleted is Completed: it finished. Terminal.
func ActivityStateCompleted() ActivityState { return ActivityState{5} }

// ActivityStateFailed is Failed: the attempt failed; final when no retry follows, which is the engine's to decide.
func ActivityStateFailed() ActivityState { return ActivityState{6} }

// ActivityStateRetrying is Retrying: it waits for its next attempt.
func ActivityStateRetrying() ActivityState { return ActivityState{7} }

// ActivityStates yields all activity states in the order of their codes.
func ActivityStates() iter.Seq[ActivityState] {
	return each(&activityStateNames, func(c uint8) ActivityState { return ActivityState{c} })
}

// ParseActivityState returns the activity state with this wire name, or a *ParseError.
func ParseActivityState(name string) (ActivityState, error) {
	c, err := activityStateNames.parse(name)
	return ActivityState{c}, err
}

// ActivityStateFromCode is the inverse of Code; 0 is no state. Other codes without a name are a *ParseError.
func ActivityStateFromCode(code uint8) (ActivityState, error) {
	c, err := activityStateNames.fromCode(code, 0)
	return ActivityState{c}, err
}

// Code returns the stable number of the activity state in compact encodings; 0 is no state.
func (s ActivityState) Code() uint8 { return s.activityState }

// IsZero reports whether s is no state.
func (s ActivityState) IsZero() bool { return s.activityState == 0 }

// String returns the wire name; "None" for no state.
func (s ActivityState) String() string { return activityStateNames.text(s.activityState) }

// MarshalText returns the wire name; empty for no state.
func (s ActivityState) MarshalText() ([]byte, error) {
	return []byte(activityStateNames.list[s.activityState]), nil
}

// UnmarshalText takes what MarshalText gives; anything else is a *ParseError.
func (s *ActivityState) UnmarshalText(text []byte) error {
	c, err := activityStateNames.parseOrZero(text)
	if err != nil {
		return err
	}
	*s = ActivityState{c}
	return nil
}

func (ActivityState) names() *names { return &activityStateNames }

// Terminal reports whether s is final. Failed is not: a retry may follow. Whether one does is the engine's to decide.
func (s ActivityState) Terminal() bool { return s == ActivityStateCompleted() }

// MarshalBinary returns the code: one byte.
func (s ActivityState) MarshalBinary() ([]byte, error) { return []byte{s.Code()}, nil }

// UnmarshalBinary takes what MarshalBinary gives; anything else is a *ParseError.
func (s *ActivityState) UnmarshalBinary(b []byte) error {
	if len(b) != 1 {
		return &ParseError{What: activityStateNames.what, Text: fmt.Sprintf("%d bytes", len(b)), Known: slices.Clone(activityStateNames.list[1:])}
	}
	state, err := ActivityStateFromCode(b[0])
	if err == nil {
		*s = state
	}
	return err
}
