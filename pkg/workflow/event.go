package workflow

import "fmt"

// Event is one thing that happened to an execution: an immutable fact of its history (WF-002 §7, WF-006 §11).
// Each transition of the two state machines is one event; facts that lead to transitions (a timeout, a signal, a
// decision) are events of their own and stand before them. The set of events is closed.
//
// Events are values. Times in events are nanoseconds since 1970 UTC, zero where there is none. Step fields hold
// the path of the instance: `all/3/sq` is step sq of item 3 of foreach all; see docs/semantics.md, "Names".
//
// The cbor tags number the fields for package codec. A number is never given a second meaning; a new field gets the
// next one of its struct.
type Event interface {
	Type() EventType
	event()
}

// Recorded is an event with its place in the stream of its execution.
type Recorded struct {
	// Version is the event's sequence number, from 1 on, without gaps; that of the last event is the execution's
	// version (WF-006 §13).
	Version uint64 `json:"version"`
	// At is the time of the decision: max(now of the shell, At of the last event).
	At    int64 `json:"at"`
	Event Event `json:"event"`
}

// EventType names the type of an event. Codes and names are stable: a code is never given a second meaning.
type EventType uint8

// The transitions of the workflow machine, those of the activity machine, and facts.
const (
	TypeWorkflowCreated       EventType = 1
	TypeWorkflowValidated     EventType = 2
	TypeWorkflowScheduled     EventType = 3
	TypeWorkflowStarted       EventType = 4
	TypeWorkflowPaused        EventType = 5
	TypeWorkflowResumed       EventType = 6
	TypeWorkflowContinued     EventType = 7
	TypeWorkflowCompleted     EventType = 8
	TypeWorkflowFailed        EventType = 9
	TypeWorkflowCancelled     EventType = 10
	TypeCompensationStarted   EventType = 11
	TypeCompensationCompleted EventType = 12

	TypeActivityReady     EventType = 20
	TypeActivityScheduled EventType = 21
	TypeActivityStarted   EventType = 22
	TypeActivityCompleted EventType = 23
	TypeActivityFailed    EventType = 24
	TypeActivityRetried   EventType = 25
	TypeActivitySkipped   EventType = 26

	TypeActivityCaught      EventType = 30
	TypeActivityPending     EventType = 31
	TypeAgentTurn           EventType = 32
	TypeJoinCounted         EventType = 33
	TypeScopeOpened         EventType = 34
	TypeScopeClosed         EventType = 35
	TypeScopeEnding         EventType = 36
	TypeItemsSet            EventType = 37
	TypeIterationDelayed    EventType = 38
	TypeVariablesSet        EventType = 39
	TypeEventEmitted        EventType = 40
	TypeTimerSet            EventType = 41
	TypeTimerFired          EventType = 42
	TypeTimeoutFired        EventType = 43
	TypeLeaseExpired        EventType = 44
	TypeEventAwaited        EventType = 45
	TypeEventReceived       EventType = 46
	TypeEventTaken          EventType = 47
	TypeTaskCreated         EventType = 48
	TypeTaskReminded        EventType = 49
	TypeTaskEscalated       EventType = 50
	TypeTaskDecided         EventType = 51
	TypeChildRequested      EventType = 52
	TypeChildStarted        EventType = 53
	TypeChildEnded          EventType = 54
	TypeCancelRequested     EventType = 55
	TypeOutcomeDecided      EventType = 56
	TypeFailureHeld         EventType = 57
	TypeOperatorMoved       EventType = 58
	TypeCompensationStopped EventType = 59
	TypeOwnershipChanged    EventType = 60
	TypeBoundReached        EventType = 61
)

var eventNames = [...]string{
	TypeWorkflowCreated:       "WorkflowCreated",
	TypeWorkflowValidated:     "WorkflowValidated",
	TypeWorkflowScheduled:     "WorkflowScheduled",
	TypeWorkflowStarted:       "WorkflowStarted",
	TypeWorkflowPaused:        "WorkflowPaused",
	TypeWorkflowResumed:       "WorkflowResumed",
	TypeWorkflowContinued:     "WorkflowContinued",
	TypeWorkflowCompleted:     "WorkflowCompleted",
	TypeWorkflowFailed:        "WorkflowFailed",
	TypeWorkflowCancelled:     "WorkflowCancelled",
	TypeCompensationStarted:   "CompensationStarted",
	TypeCompensationCompleted: "CompensationCompleted",
	TypeActivityReady:         "ActivityReady",
	TypeActivityScheduled:     "ActivityScheduled",
	TypeActivityStarted:       "ActivityStarted",
	TypeActivityCompleted:     "ActivityCompleted",
	TypeActivityFailed:        "ActivityFailed",
	TypeActivityRetried:       "ActivityRetried",
	TypeActivitySkipped:       "ActivitySkipped",
	TypeActivityCaught:        "ActivityCaught",
	TypeActivityPending:       "ActivityPending",
	TypeAgentTurn:             "AgentTurn",
	TypeJoinCounted:           "JoinCounted",
	TypeScopeOpened:           "ScopeOpened",
	TypeScopeClosed:           "ScopeClosed",
	TypeScopeEnding:           "ScopeEnding",
	TypeItemsSet:              "ItemsSet",
	TypeIterationDelayed:      "IterationDelayed",
	TypeVariablesSet:          "VariablesSet",
	TypeEventEmitted:          "EventEmitted",
	TypeTimerSet:              "TimerSet",
	TypeTimerFired:            "TimerFired",
	TypeTimeoutFired:          "TimeoutFired",
	TypeLeaseExpired:          "LeaseExpired",
	TypeEventAwaited:          "EventAwaited",
	TypeEventReceived:         "EventReceived",
	TypeEventTaken:            "EventTaken",
	TypeTaskCreated:           "TaskCreated",
	TypeTaskReminded:          "TaskReminded",
	TypeTaskEscalated:         "TaskEscalated",
	TypeTaskDecided:           "TaskDecided",
	TypeChildRequested:        "ChildRequested",
	TypeChildStarted:          "ChildStarted",
	TypeChildEnded:            "ChildEnded",
	TypeCancelRequested:       "CancelRequested",
	TypeOutcomeDecided:        "OutcomeDecided",
	TypeFailureHeld:           "FailureHeld",
	TypeOperatorMoved:         "OperatorMoved",
	TypeCompensationStopped:   "CompensationStopped",
	TypeOwnershipChanged:      "OwnershipChanged",
	TypeBoundReached:          "BoundReached",
}

// EventTypes is one above the highest code: the size of a table by type.
const EventTypes = len(eventNames)

// String is the type's stable wire name.
func (t EventType) String() string {
	if int(t) < len(eventNames) && eventNames[t] != "" {
		return eventNames[t]
	}
	return fmt.Sprintf("EventType(%d)", uint8(t))
}

// Known reports whether this program has an event of that type.
func (t EventType) Known() bool { return int(t) < len(eventNames) && eventNames[t] != "" }

// MarshalText returns the wire name.
func (t EventType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText takes a wire name; a name of newer code is an *Error, history.unknown_name.
func (t *EventType) UnmarshalText(text []byte) error {
	for i, name := range eventNames {
		if name != "" && name == string(text) {
			*t = EventType(i)
			return nil
		}
	}
	return Errorf("history.unknown_name", CategoryInfrastructure, "%q is no type of event that this program knows: update it", text)
}
