package workflow

// TimerSet fixes when a timer step fires.
type TimerSet struct {
	Step string `json:"step"`
	At   int64  `json:"at"`
}

// TimerFired says that the time of a timer, of a delay between iterations or of a retry has come.
type TimerFired struct {
	Step string `json:"step"`
}

// TimeoutFired says that something ran out of time. It stands before the transition that follows from it (WF-006 §18).
type TimeoutFired struct {
	Scope TimeoutScope `json:"scope"`
	Step  string       `json:"step,omitempty"` // empty for the whole execution
}

// LeaseExpired says that the worker of an attempt fell silent: its claim is void.
type LeaseExpired struct {
	Step   string `json:"step"`
	Fence  int    `json:"fence"` // of the attempt that was lost
	Worker string `json:"worker,omitempty"`
}

// EventAwaited says what an event step waits for.
type EventAwaited struct {
	Step     string           `json:"step"`
	Patterns []AwaitedPattern `json:"patterns"`
	WaitBy   int64            `json:"wait_by,omitempty"` // deadline of wait_timeout
}

// AwaitedPattern is one alternative of an event step, with its key rendered. Its `match`, if any, is in the
// definition, at the same index.
type AwaitedPattern struct {
	Kind   string `json:"kind"` // the awaited event's type
	Key    string `json:"key,omitempty"`
	AnyKey bool   `json:"any_key,omitempty"` // without `key`: all events of the type
	From   string `json:"from,omitempty"`    // bus, webhook, queue, file; empty: any
}

// EventReceived is an event from outside. With a Step it ended that step's wait; without, it is kept for a wait to
// come.
type EventReceived struct {
	Step  string     `json:"step,omitempty"`
	Event EarlyEvent `json:"event"`
}

// EarlyEvent is an event from outside.
type EarlyEvent struct {
	ID     string  `json:"id"`
	Kind   string  `json:"kind"` // its type
	Key    string  `json:"key,omitempty"`
	Source string  `json:"source,omitempty"`
	From   string  `json:"from,omitempty"` // bus, webhook, queue, file
	Data   Payload `json:"data,omitzero"`
	// Number is its number among the events of its type and key, KindNumber among all of its type (commit
	// protocol, point 12); both are 0 for a signal sent to this execution directly.
	Number     uint64 `json:"number,omitempty"`
	KindNumber uint64 `json:"kind_number,omitempty"`
	ReceivedAt int64  `json:"received_at,omitempty"`
}

// EventTaken says that a wait took an event that was kept.
type EventTaken struct {
	Step string `json:"step"`
	ID   string `json:"id"`
}

// EventCursor is the last number taken among the events of a type and key, or of a type.
type EventCursor struct {
	Kind   string `json:"kind"`
	Key    string `json:"key,omitempty"`
	AnyKey bool   `json:"any_key,omitempty"`
	Number uint64 `json:"number"`
}

// TaskCreated opens a task for people.
type TaskCreated struct {
	Step      string   `json:"step"`
	Title     string   `json:"title"`
	Details   Payload  `json:"details,omitzero"`
	Assignees []string `json:"assignees,omitempty"`
	WaitBy    int64    `json:"wait_by,omitempty"` // deadline of the decision
	Remind    []int64  `json:"remind,omitempty"`  // when
	Escalate  []int64  `json:"escalate,omitempty"`
}

// TaskReminded says that the assignees were due a reminder.
type TaskReminded struct {
	Step string `json:"step"`
}

// TaskEscalated hands a task to others.
type TaskEscalated struct {
	Step string   `json:"step"`
	To   []string `json:"to"`
}

// TaskDecided is a person's verdict about a task.
type TaskDecided struct {
	Step    string   `json:"step"`
	ID      string   `json:"id,omitempty"`
	By      string   `json:"by,omitempty"`
	Verdict Verdict  `json:"verdict"`
	Answer  Payload  `json:"answer,omitzero"`
	Comment string   `json:"comment,omitempty"`
	To      []string `json:"to,omitempty"` // of a reassignment
}

// ChildRequested says which execution a step starts.
type ChildRequested struct {
	Step       string      `json:"step"`
	Child      string      `json:"child"` // the ID of its execution
	Workflow   string      `json:"workflow,omitempty"`
	Definition string      `json:"definition,omitempty"` // version or alias; empty: the live one
	Input      Payload     `json:"input,omitzero"`
	Wait       bool        `json:"wait,omitempty"`
	OnClose    ParentClose `json:"on_close,omitempty"`
	Shard      int         `json:"shard,omitempty"` // index plus one, for a shard of a foreach
	Undo       string      `json:"undo,omitempty"`  // the shard execution that is undone
}

// ChildStarted says that the child's stream exists.
type ChildStarted struct {
	Step  string `json:"step"`
	Child string `json:"child"`
}

// ChildEnded is the notice of a child's end.
type ChildEnded struct {
	Step    string  `json:"step"`
	Child   string  `json:"child"`
	Outcome Outcome `json:"outcome"`
	// Compensated says that the child undid its work.
	Compensated bool       `json:"compensated,omitempty"`
	Output      Payload    `json:"output,omitzero"`
	Error       *Error     `json:"error,omitempty"`
	Count       int        `json:"count,omitempty"`  // of a shard: items run
	Failed      int        `json:"failed,omitempty"` // of a shard: items failed
	Undoable    bool       `json:"undoable,omitempty"`
	Vars        []Variable `json:"vars,omitempty"` // of a shard: what its `set` steps contribute
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
