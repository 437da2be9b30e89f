package fsm

import "time"

// Origin says of which execution a transition is, who makes it, when and why: what its record holds beside states and
// version.
type Origin struct {
	// WorkflowID and ExecutionID are required.
	WorkflowID, ExecutionID string
	// WorkerID is the worker that commits the transition.
	WorkerID string
	// CorrelationID joins all that belongs to one business transaction; CausationID is the input or event that led to
	// this transition, empty if nothing did.
	CorrelationID, CausationID string
	// At is the time of the transition, required; it comes from the input, never from a clock.
	At time.Time
	// Reason says why, for people and for filters: "operator", "timeout.workflow".
	Reason string
}

func (o *Origin) complete() bool {
	return o.WorkflowID != "" && o.ExecutionID != "" && !o.At.IsZero()
}

func (o *Origin) missing() string {
	switch {
	case o == nil:
		return "there is no origin for the record"
	case o.WorkflowID == "":
		return "the record needs a workflow: set WorkflowID"
	case o.ExecutionID == "":
		return "the record needs an execution: set ExecutionID"
	}
	return "the record needs a time: set At"
}

// Record is what each transition persists, before anything acknowledges it: the ten fields of WF-006 §12, under their
// names there. Records with equal content are equal by ==.
type Record[S State] struct {
	WorkflowID  string `json:"workflowId"`
	ExecutionID string `json:"executionId"`
	// PreviousState is the zero state, an empty text, in the record of a creation.
	PreviousState S `json:"previousState"`
	CurrentState  S `json:"currentState"`
	// TransitionTime is in UTC.
	TransitionTime time.Time `json:"transitionTime"`
	WorkerID       string    `json:"workerId"`
	CorrelationID  string    `json:"correlationId"`
	CausationID    string    `json:"causationId"`
	// Version is one above that of the event before it in the execution (§13).
	Version uint64 `json:"version"`
	Reason  string `json:"reason"`
}
