package fsm

import "iter"

// ActivityEvent is the kind of event that moves an activity (WF-006 §11). Each leads to one state. The
// zero value is no event, and every machine refuses it.
type ActivityEvent struct{ activityEvent uint8 }

// The position is the code on the wire: names are only ever added at the end.
var activityEventNames = names{what: "activity event", list: []string{
	1: "ActivityCreated",
	2: "ActivityReady",
	3: "ActivityScheduled",
	4: "ActivityStarted",
	5: "ActivityCompleted",
	6: "ActivityFailed",
	7: "ActivityRetried",
}}

// ActivityCreated instantiates an activity: nothing → Created.
func ActivityCreated() ActivityEvent { return ActivityEvent{1} }

// ActivityReady moves Created → Ready.
func ActivityReady() ActivityEvent { return ActivityEvent{2} }

// ActivityScheduled moves Ready → Scheduled, and Retrying → Scheduled for the next attempt.
func ActivityScheduled() ActivityEvent { return ActivityEvent{3} }

// ActivityStarted moves Scheduled → Running.
func ActivityStarted() ActivityEvent { return ActivityEvent{4} }

// ActivityCompleted moves Running → Completed.
func ActivityCompleted() ActivityEvent { return ActivityEvent{5} }

// ActivityFailed moves Running → Failed.
func ActivityFailed() ActivityEvent { return ActivityEvent{6} }

// ActivityRetried moves Failed → Retrying.
func ActivityRetried() ActivityEvent { return ActivityEvent{7} }

// ActivityEvents yields all activity events in the order of their codes.
func ActivityEvents() iter.Seq[ActivityEvent] {
	return each(&activityEventNames, func(c uint8) ActivityEvent { return ActivityEvent{c} })
}

// ParseActivityEvent returns the activity event with this wire name, or a *ParseError.
func ParseActivityEvent(name string) (ActivityEvent, error) {
	c, err := activityEventNames.parse(name)
	return ActivityEvent{c}, err
}

// ActivityEventFromCode is the inverse of Code; 0 and other codes without a name are a *ParseError.
func ActivityEventFromCode(code uint8) (ActivityEvent, error) {
	c, err := activityEventNames.fromCode(code, 1)
	return ActivityEvent{c}, err
}

// Code returns the stable number of the activity event in compact encodings; 0 is no event.
func (e ActivityEvent) Code() uint8 { return e.activityEvent }

// IsZero reports whether e is no event.
func (e ActivityEvent) IsZero() bool { return e.activityEvent == 0 }

// String returns the wire name; "None" for no event.
func (e ActivityEvent) String() string { return activityEventNames.text(e.activityEvent) }

// MarshalText returns the wire name; the zero value has none and is a *ParseError.
func (e ActivityEvent) MarshalText() ([]byte, error) {
	if _, err := activityEventNames.fromCode(e.activityEvent, 1); err != nil {
		return nil, err
	}
	return []byte(e.String()), nil
}

// UnmarshalText takes a wire name; anything else is a *ParseError.
func (e *ActivityEvent) UnmarshalText(text []byte) error {
	parsed, err := ParseActivityEvent(string(text))
	if err != nil {
		return err
	}
	*e = parsed
	return nil
}

func (ActivityEvent) names() *names { return &activityEventNames }
