package fsm

import "iter"

// WorkflowEvent is the kind of event that moves a workflow execution (WF-006 §11). Each leads to one state. The
// zero value is no event, and every machine refuses it.
type WorkflowEvent struct{ workflowEvent uint8 }

// The position is the code on the wire: names are only ever added at the end.
var workflowEventNames = names{what: "workflow event", list: []string{
	1:  "WorkflowCreated",
	2:  "WorkflowValidated",
	3:  "WorkflowScheduled",
	4:  "WorkflowStarted",
	5:  "WorkflowPaused",
	6:  "WorkflowResumed",
	7:  "WorkflowContinued",
	8:  "WorkflowCompleted",
	9:  "WorkflowFailed",
	10: "WorkflowCancelled",
	11: "CompensationStarted",
	12: "CompensationCompleted",
}}

// WorkflowCreated brings an execution into being: nothing → Created.
func WorkflowCreated() WorkflowEvent { return WorkflowEvent{1} }

// WorkflowValidated moves Created → Validated.
func WorkflowValidated() WorkflowEvent { return WorkflowEvent{2} }

// WorkflowScheduled moves Validated → Scheduled.
func WorkflowScheduled() WorkflowEvent { return WorkflowEvent{3} }

// WorkflowStarted moves Scheduled → Running.
func WorkflowStarted() WorkflowEvent { return WorkflowEvent{4} }

// WorkflowPaused moves Running → Waiting.
func WorkflowPaused() WorkflowEvent { return WorkflowEvent{5} }

// WorkflowResumed moves Waiting → Resumed.
func WorkflowResumed() WorkflowEvent { return WorkflowEvent{6} }

// WorkflowContinued moves Resumed → Running.
func WorkflowContinued() WorkflowEvent { return WorkflowEvent{7} }

// WorkflowCompleted moves Running → Completed.
func WorkflowCompleted() WorkflowEvent { return WorkflowEvent{8} }

// WorkflowFailed moves Running → Failed.
func WorkflowFailed() WorkflowEvent { return WorkflowEvent{9} }

// WorkflowCancelled moves Running → Cancelled.
func WorkflowCancelled() WorkflowEvent { return WorkflowEvent{10} }

// CompensationStarted moves Failed → Compensating.
func CompensationStarted() WorkflowEvent { return WorkflowEvent{11} }

// CompensationCompleted moves Compensating → Completed.
func CompensationCompleted() WorkflowEvent { return WorkflowEvent{12} }

// WorkflowEvents yields all workflow events in the order of their codes.
func WorkflowEvents() iter.Seq[WorkflowEvent] {
	return each(&workflowEventNames, func(c uint8) WorkflowEvent { return WorkflowEvent{c} })
}

// ParseWorkflowEvent returns the workflow event with this wire name, or a *ParseError.
func ParseWorkflowEvent(name string) (WorkflowEvent, error) {
	c, err := workflowEventNames.parse(name)
	return WorkflowEvent{c}, err
}

// WorkflowEventFromCode is the inverse of Code; 0 and other codes without a name are a *ParseError.
func WorkflowEventFromCode(code uint8) (WorkflowEvent, error) {
	c, err := workflowEventNames.fromCode(code, 1)
	return WorkflowEvent{c}, err
}

// Code returns the stable number of the workflow event in compact encodings; 0 is no event.
func (e WorkflowEvent) Code() uint8 { return e.workflowEvent }

// IsZero reports whether e is no event.
func (e WorkflowEvent) IsZero() bool { return e.workflowEvent == 0 }

// String returns the wire name; "None" for no event.
func (e WorkflowEvent) String() string { return workflowEventNames.text(e.workflowEvent) }

// MarshalText returns the wire name; the zero value has none and is a *ParseError.
func (e WorkflowEvent) MarshalText() ([]byte, error) {
	if _, err := workflowEventNames.fromCode(e.workflowEvent, 1); err != nil {
		return nil, err
	}
	return []byte(e.String()), nil
}

// UnmarshalText takes a wire name; anything else is a *ParseError.
func (e *WorkflowEvent) UnmarshalText(text []byte) error {
	parsed, err := ParseWorkflowEvent(string(text))
	if err != nil {
		return err
	}
	*e = parsed
	return nil
}

func (WorkflowEvent) names() *names { return &workflowEventNames }
