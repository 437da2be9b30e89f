package workflow

// TimerSet fixes when a timer step fires.
type TimerSet struct {
	Step string `json:"step" cbor:"1,keyasint,omitempty"`
	At   int64  `json:"at" cbor:"2,keyasint,omitempty"`
}

// TimerFired says that the time of a timer, of a delay between iterations or of a retry has come.
type TimerFired struct {
	Step string `json:"step" cbor:"1,keyasint,omitempty"`
}

// TimeoutFired says that something ran out of time. It stands before the transition that follows from it (WF-006 §18).
type TimeoutFired struct {
	Scope TimeoutScope `json:"scope" cbor:"1,keyasint,omitempty"`
	Step  string       `json:"step,omitempty" cbor:"2,keyasint,omitempty"` // empty for the whole execution
}

// LeaseExpired says that the worker of an attempt fell silent: its claim is void.
type LeaseExpired struct {
	Step   string `json:"step" cbor:"1,keyasint,omitempty"`
	Fence  int    `json:"fence" cbor:"2,keyasint,omitempty"` // of the attempt that was lost
	Worker string `json:"worker,omitempty" cbor:"3,keyasint,omitempty"`
}

// EventAwaited says what an event step waits for.
type EventAwaited struct {
	Step     string           `json:"step" cbor:"1,keyasint,omitempty"`
	Patterns []AwaitedPattern `json:"patterns" cbor:"2,keyasint,omitempty"`
	WaitBy   int64            `json:"wait_by,omitempty" cbor:"3,keyasint,omitempty"` // deadline of wait_timeout
}

// AwaitedPattern is one alternative of an event step, with its key rendered. Its `match`, if any, is in the
// definition, at the same index.
type AwaitedPattern struct {
	Kind   string `json:"kind" cbor:"1,keyasint,omitempty"` // the awaited event's type
	Key    string `json:"key,omitempty" cbor:"2,keyasint,omitempty"`
	AnyKey bool   `json:"any_key,omitempty" cbor:"3,keyasint,omitempty"` // without `key`: all events of the type
	From   string `json:"from,omitempty" cbor:"4,keyasint,omitempty"`    // bus, webhook, queue, file; empty: any
}

// EventReceived is an event from outside. With a Step it ended that step's wait; without, it is kept for a wait to
// come.
type EventReceived struct {
	Step  string     `json:"step,omitempty" cbor:"1,keyasint,omitempty"`
	Event EarlyEvent `json:"event" cbor:"2,keyasint,omitzero"`
}

// EarlyEvent is an event from outside.
type EarlyEvent struct {
	ID     string  `json:"id" cbor:"1,keyasint,omitempty"`
	Kind   string  `json:"kind" cbor:"2,keyasint,omitempty"` // its type
	Key    string  `json:"key,omitempty" cbor:"3,keyasint,omitempty"`
	Source string  `json:"source,omitempty" cbor:"4,keyasint,omitempty"`
	From   string  `json:"from,omitempty" cbor:"5,keyasint,omitempty"` // bus, webhook, queue, file
	Data   Payload `json:"data,omitzero" cbor:"6,keyasint,omitzero"`
	// Number is its number among the events of its type and key, KindNumber among all of its type (commit
	// protocol, point 12); both are 0 for a signal sent to this execution directly.
	Number     uint64 `json:"number,omitempty" cbor:"7,keyasint,omitempty"`
	KindNumber uint64 `json:"kind_number,omitempty" cbor:"8,keyasint,omitempty"`
	ReceivedAt int64  `json:"received_at,omitempty" cbor:"9,keyasint,omitempty"`
}

// EventTaken says that a wait took an event that was kept.
type EventTaken struct {
	Step string `json:"step" cbor:"1,keyasint,omitempty"`
	ID   string `json:"id" cbor:"2,keyasint,omitempty"`
}

// EventCursor is the last number taken among the events of a type and key, or of a type.
type EventCursor struct {
	Kind   string `json:"kind" cbor:"1,keyasint,omitempty"`
	Key    string `json:"key,omitempty" cbor:"2,keyasint,omitempty"`
	AnyKey bool   `json:"any_key,omitempty" cbor:"3,keyasint,omitempty"`
	Number uint64 `json:"number" cbor:"4,keyasint,omitempty"`
}

// TaskCreated opens a task for people.
type TaskCreated struct {
	Step      string   `json:"step" cbor:"1,keyasint,omitempty"`
	Title     string   `json:"title" cbor:"2,keyasint,omitempty"`
	Details   Payload  `json:"details,omitzero" cbor:"3,keyasint,omitzero"`
	Assignees []string `json:"assignees,omitempty" cbor:"4,keyasint,omitempty"`
	WaitBy    int64    `json:"wait_by,omitempty" cbor:"5,keyasint,omitempty"` // deadline of the decision
	Remind    []int64  `json:"remind,omitempty" cbor:"6,keyasint,omitempty"`  // when
	Escalate  []int64  `json:"escalate,omitempty" cbor:"7,keyasint,omitempty"`
}

// TaskReminded says that the assignees were due a reminder.
type TaskReminded struct {
	Step string `json:"step" cbor:"1,keyasint,omitempty"`
}

// TaskEscalated hands a task to others.
type TaskEscalated struct {
	Step string   `json:"step" cbor:"1,keyasint,omitempty"`
	To   []string `json:"to" cbor:"2,keyasint,omitempty"`
}

// TaskDecided is a person's verdict about a task.
type TaskDecided struct {
	Step    string   `json:"step" cbor:"1,keyasint,omitempty"`
	ID      string   `json:"id,omitempty" cbor:"2,keyasint,omitempty"`
	By      string   `json:"by,omitempty" cbor:"3,keyasint,omitempty"`
	Verdict Verdict  `json:"verdict" cbor:"4,keyasint,omitempty"`
	Answer  Payload  `json:"answer,omitzero" cbor:"5,keyasint,omitzero"`
	Comment string   `json:"comment,omitempty" cbor:"6,keyasint,omitempty"`
	To      []string `json:"to,omitempty" cbor:"7,keyasint,omitempty"` // of a reassignment
}

// ChildRequested says which execution a step starts.
type ChildRequested struct {
	Step       string      `json:"step" cbor:"1,keyasint,omitempty"`
	Child      string      `json:"child" cbor:"2,keyasint,omitempty"` // the ID of its execution
	Workflow   string      `json:"workflow,omitempty" cbor:"3,keyasint,omitempty"`
	Definition string      `json:"definition,omitempty" cbor:"4,keyasint,omitempty"` // version or alias; empty: the live one
	Input      Payload     `json:"input,omitzero" cbor:"5,keyasint,omitzero"`
	Wait       bool        `json:"wait,omitempty" cbor:"6,keyasint,omitempty"`
	OnClose    ParentClose `json:"on_close,omitempty" cbor:"7,keyasint,omitempty"`
	Shard      int         `json:"shard,omitempty" cbor:"8,keyasint,omitempty"` // index plus one, for a shard of a foreach
	Undo       string      `json:"undo,omitempty" cbor:"9,keyasint,omitempty"`  // the shard execution that is undone
	// Share is what the child may lend its own children (docs/semantics.md, 49).
	Share uint64 `json:"share,omitempty" cbor:"10,keyasint,omitempty"`
}

// ChildStarted says that the child's stream exists.
type ChildStarted struct {
	Step  string `json:"step" cbor:"1,keyasint,omitempty"`
	Child string `json:"child" cbor:"2,keyasint,omitempty"`
}

// ChildEnded is the notice of a child's end.
type ChildEnded struct {
	Step    string  `json:"step" cbor:"1,keyasint,omitempty"`
	Child   string  `json:"child" cbor:"2,keyasint,omitempty"`
	Outcome Outcome `json:"outcome" cbor:"3,keyasint,omitempty"`
	// Compensated says that the child undid its work.
	Compensated bool       `json:"compensated,omitempty" cbor:"4,keyasint,omitempty"`
	Output      Payload    `json:"output,omitzero" cbor:"5,keyasint,omitzero"`
	Error       *Error     `json:"error,omitempty" cbor:"6,keyasint,omitempty"`
	Count       int        `json:"count,omitempty" cbor:"7,keyasint,omitempty"`  // of a shard: items run
	Failed      int        `json:"failed,omitempty" cbor:"8,keyasint,omitempty"` // of a shard: items failed
	Undoable    bool       `json:"undoable,omitempty" cbor:"9,keyasint,omitempty"`
	Vars        []Variable `json:"vars,omitempty" cbor:"10,keyasint,omitempty"` // of a shard: what its `set` steps contribute
}

// Type implements Event.
func (TimerSet) Type() EventType { return TypeTimerSet }

// Type implements Event.
func (TimerFired) Type() EventType { return TypeTimerFired }

// Type implements Event.
func (TimeoutFired) Type() EventType { return TypeTimeoutFired }

// Type implements Event.
func (LeaseExpired) Type() EventType { return TypeLeaseExpired }

// Type implements Event.
func (EventAwaited) Type() EventType { return TypeEventAwaited }

// Type implements Event.
func (EventReceived) Type() EventType { return TypeEventReceived }

// Type implements Event.
func (EventTaken) Type() EventType { return TypeEventTaken }

// Type implements Event.
func (TaskCreated) Type() EventType { return TypeTaskCreated }

// Type implements Event.
func (TaskReminded) Type() EventType { return TypeTaskReminded }

// Type implements Event.
func (TaskEscalated) Type() EventType { return TypeTaskEscalated }

// Type implements Event.
func (TaskDecided) Type() EventType { return TypeTaskDecided }

// Type implements Event.
func (ChildRequested) Type() EventType { return TypeChildRequested }

// Type implements Event.
func (ChildStarted) Type() EventType { return TypeChildStarted }

// Type implements Event.
func (ChildEnded) Type() EventType { return TypeChildEnded }

func (TimerSet) event()       {}
func (TimerFired) event()     {}
func (TimeoutFired) event()   {}
func (LeaseExpired) event()   {}
func (EventAwaited) event()   {}
func (EventReceived) event()  {}
func (EventTaken) event()     {}
func (TaskCreated) event()    {}
func (TaskReminded) event()   {}
func (TaskEscalated) event()  {}
func (TaskDecided) event()    {}
func (ChildRequested) event() {}
func (ChildStarted) event()   {}
func (ChildEnded) event()     {}
