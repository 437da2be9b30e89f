package fsm

import (
	"fmt"
	"iter"
	"slices"
)

// WorkflowState is a state of a workflow execution (WF-006 §5). Its values come from functions and its content is
// unexported, so that outside this package no number becomes a state and nobody overwrites one. The zero value is
// no state: what was before creation.
type WorkflowState struct{ workflowState uint8 }

// The position is the code on the wire: names are only ever added at the end.
var workflowStateNames = names{what: "workflow state", list: []string{
	1:  "Created",
	2:  "Validated",
	3:  "Scheduled",
	4:  "Running",
	5:  "Waiting",
	6:  "Resumed",
	7:  "Compensating",
	8:  "Completed",
	9:  "Failed",
	10: "Cancelled",
}}

// WorkflowStateCreated is Created: the workflow instance was created.
func WorkflowStateCreated() WorkflowState { return WorkflowState{1} }

// WorkflowStateValidated is Validated: its definition was validated.
func WorkflowStateValidated() WorkflowState { return WorkflowState{2} }

// WorkflowStateScheduled is Scheduled: it is ready for execution.
func WorkflowStateScheduled() WorkflowState { return WorkflowState{3} }

// WorkflowStateRunning is Running: it is executing.
func WorkflowStateRunning() WorkflowState { return WorkflowState{4} }

// WorkflowStateWaiting is Waiting: it waits for an event, a timer or a human, and holds no worker (§15).
func WorkflowStateWaiting() WorkflowState { return WorkflowState{5} }

// WorkflowStateResumed is Resumed: what it waited for has come; it is about to run on.
func WorkflowStateResumed() WorkflowState { return WorkflowState{6} }

// WorkflowStateCompensating is Compensating: it executes rollback logic (§16).
func WorkflowStateCompensating() WorkflowState { return WorkflowState{7} }

// WorkflowStateCompleted is Completed: it finished; after a compensation with outcome compensated. Terminal.
func WorkflowStateCompleted() WorkflowState { return WorkflowState{8} }

// WorkflowStateFailed is Failed: its execution failed. Terminal, unless compensation is configured and due.
func WorkflowStateFailed() WorkflowState { return WorkflowState{9} }

// WorkflowStateCancelled is Cancelled: it was cancelled. Terminal.
func WorkflowStateCancelled() WorkflowState { return WorkflowState{10} }

// WorkflowStates yields all workflow states in the order of their codes.
func WorkflowStates() iter.Seq[WorkflowState] {
	return each(&workflowStateNames, func(c uint8) WorkflowState { return WorkflowState{c} })
}

// ParseWorkflowState returns the workflow state with this wire name, or a *ParseError.
func ParseWorkflowState(name string) (WorkflowState, error) {
	c, err := workflowStateNames.parse(name)
	return WorkflowState{c}, err
}

// WorkflowStateFromCode is the inverse of Code; 0 is no state. Other codes without a name are a *ParseError.
func WorkflowStateFromCode(code uint8) (WorkflowState, error) {
	c, err := workflowStateNames.fromCode(code, 0)
	return WorkflowState{c}, err
}

// Code returns the stable number of the workflow state in compact encodings; 0 is no state.
func (s WorkflowState) Code() uint8 { return s.workflowState }

// IsZero reports whether s is no state.
func (s WorkflowState) IsZero() bool { return s.workflowState == 0 }

// String returns the wire name; "None" for no state.
func (s WorkflowState) String() string { return workflowStateNames.text(s.workflowState) }

// MarshalText returns the wire name; empty for no state.
func (s WorkflowState) MarshalText() ([]byte, error) {
	return []byte(workflowStateNames.list[s.workflowState]), nil
}

// UnmarshalText takes what MarshalText gives; anything else is a *ParseError.
func (s *WorkflowState) UnmarshalText(text []byte) error {
	c, err := workflowStateNames.parseOrZero(text)
	if err != nil {
		return err
	}
	*s = WorkflowState{c}
	return nil
}

func (WorkflowState) names() *names { return &workflowStateNames }

// Terminal reports whether s is final (§5). Failed is terminal although one edge may leave it: CompensationStarted, when
// compensation is configured and due.
func (s WorkflowState) Terminal() bool {
	switch s {
	case WorkflowStateCompleted(), WorkflowStateFailed(), WorkflowStateCancelled():
		return true
	}
	return false
}

// MarshalBinary returns the code: one byte.
func (s WorkflowState) MarshalBinary() ([]byte, error) { return []byte{s.Code()}, nil }

// UnmarshalBinary takes what MarshalBinary gives; anything else is a *ParseError.
func (s *WorkflowState) UnmarshalBinary(b []byte) error {
	if len(b) != 1 {
		return &ParseError{What: workflowStateNames.what, Text: fmt.Sprintf("%d bytes", len(b)), Known: slices.Clone(workflowStateNames.list[1:])}
	}
	state, err := WorkflowStateFromCode(b[0])
	if err == nil {
		*s = state
	}
	return err
}
