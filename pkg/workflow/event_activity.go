package workflow

// ActivityReady says that the step may start: its needs are met. Created → Ready.
type ActivityReady struct {
	Step string `json:"step" cbor:"1,keyasint,omitempty"`
	// ScheduleBy is the deadline of schedule_timeout.
	ScheduleBy int64 `json:"schedule_by,omitempty" cbor:"2,keyasint,omitempty"`
}

// ActivityScheduled makes an attempt: Ready → Scheduled, or Retrying → Scheduled.
type ActivityScheduled struct {
	Step    string `json:"step" cbor:"1,keyasint,omitempty"`
	Attempt int    `json:"attempt" cbor:"2,keyasint,omitempty"` // from 1; recoveries do not count
	Fence   int    `json:"fence" cbor:"3,keyasint,omitempty"`   // from 1; one more for each scheduling of this step
	// By is the message under whose guard this was committed (commit protocol, point 4).
	By string `json:"by,omitempty" cbor:"4,keyasint,omitempty"`
	// ScheduleBy is the deadline of schedule_timeout of a further attempt.
	ScheduleBy int64 `json:"schedule_by,omitempty" cbor:"5,keyasint,omitempty"`
	// Target and Input are Call.Target and Call.With, rendered. They stand in the first attempt only; Target is zero
	// where it holds no expression.
	Target Payload `json:"target,omitzero" cbor:"6,keyasint,omitzero"`
	Input  Payload `json:"input,omitzero" cbor:"7,keyasint,omitzero"`
	// Walked marks an edge that is only walked: no worker ever gets this attempt.
	Walked bool `json:"walked,omitempty" cbor:"8,keyasint,omitempty"`
}

// ActivityStarted says that an attempt runs: Scheduled → Running.
type ActivityStarted struct {
	Step  string `json:"step" cbor:"1,keyasint,omitempty"`
	Fence int    `json:"fence" cbor:"2,keyasint,omitempty"`
	// Worker is who runs it; empty for steps that the engine runs itself.
	Worker string `json:"worker,omitempty" cbor:"3,keyasint,omitempty"`
	By     string `json:"by,omitempty" cbor:"4,keyasint,omitempty"` // as in ActivityScheduled; of a start that was committed before the result
	// StartedAt is the real time of the start; zero: the time of this event.
	StartedAt  int64 `json:"started_at,omitempty" cbor:"5,keyasint,omitempty"`
	LeaseUntil int64 `json:"lease_until,omitempty" cbor:"6,keyasint,omitempty"` // at least
	TimeoutAt  int64 `json:"timeout_at,omitempty" cbor:"7,keyasint,omitempty"`  // start to close
	WaitBy     int64 `json:"wait_by,omitempty" cbor:"9,keyasint,omitempty"`     // deadline of wait_timeout
	Walked     bool  `json:"walked,omitempty" cbor:"8,keyasint,omitempty"`
}

// ActivityCompleted gives a step its result: Running → Completed.
type ActivityCompleted struct {
	Step   string  `json:"step" cbor:"1,keyasint,omitempty"`
	Output Payload `json:"output,omitzero" cbor:"2,keyasint,omitzero"`
	// Then are the steps that a switch or match picked.
	Then []string `json:"then,omitempty" cbor:"3,keyasint,omitempty"`
	// Taken marks a result that was taken over from another execution.
	Taken bool `json:"taken,omitempty" cbor:"4,keyasint,omitempty"`
}

// ActivityFailed ends an attempt: Running → Failed.
type ActivityFailed struct {
	Step  string `json:"step" cbor:"1,keyasint,omitempty"`
	Error *Error `json:"error" cbor:"2,keyasint,omitempty"`
	// Status is failed or cancelled if the step ends with this; pending if ActivityRetried, ActivityCaught or
	// FailureHeld follows.
	Status Status `json:"status" cbor:"3,keyasint,omitempty"`
}

// ActivityRetried says that a further attempt will be made: Failed → Retrying.
type ActivityRetried struct {
	Step string `json:"step" cbor:"1,keyasint,omitempty"`
	At   int64  `json:"at" cbor:"2,keyasint,omitempty"` // when
	// Recovery marks an attempt that is made again because its worker was lost: it counts against
	// max_recoveries and not against retry.
	Recovery bool `json:"recovery,omitempty" cbor:"3,keyasint,omitempty"`
}

// ActivitySkipped says that a step will not run. It is no transition: the activity stays Created or, where an operator
// or a cancel ends one whose failure was held, Failed.
type ActivitySkipped struct {
	Step   string `json:"step" cbor:"1,keyasint,omitempty"`
	Status Status `json:"status" cbor:"2,keyasint,omitempty"` // skipped, dead or cancelled
}

// ActivityCaught says that on_error took the failure of a step.
type ActivityCaught struct {
	Step string `json:"step" cbor:"1,keyasint,omitempty"`
	// Then are the steps picked to stand in; without, Output stands in.
	Then   []string `json:"then,omitempty" cbor:"2,keyasint,omitempty"`
	Output Payload  `json:"output,omitzero" cbor:"3,keyasint,omitzero"`
	Taken  bool     `json:"taken,omitempty" cbor:"4,keyasint,omitempty"`
}

// ActivityPending says that a call with `callback: true` was made; the answer is still to come.
type ActivityPending struct {
	Step      string `json:"step" cbor:"1,keyasint,omitempty"`
	TimeoutAt int64  `json:"timeout_at,omitempty" cbor:"2,keyasint,omitempty"` // start to close
	WaitBy    int64  `json:"wait_by,omitempty" cbor:"3,keyasint,omitempty"`    // deadline of the answer
}

// AgentTurn says that an attempt asked for calls and will go on with their results (agent loops).
type AgentTurn struct {
	Step  string      `json:"step" cbor:"1,keyasint,omitempty"`
	Turn  int         `json:"turn" cbor:"2,keyasint,omitempty"` // from 1
	Calls []AgentCall `json:"calls,omitempty" cbor:"3,keyasint,omitempty"`
	State Payload     `json:"state,omitzero" cbor:"4,keyasint,omitzero"` // handed back to the next entry
}

// AgentCall is one call that an agent asks for.
type AgentCall struct {
	ID    string  `json:"id" cbor:"1,keyasint,omitempty"` // an identifier, unique in the turn; part of the call's path
	Kind  Kind    `json:"kind" cbor:"2,keyasint,omitempty"`
	Name  string  `json:"name,omitempty" cbor:"3,keyasint,omitempty"`
	Input Payload `json:"input,omitzero" cbor:"4,keyasint,omitzero"`
	// Approve are the assignees who must approve the call first.
	Approve    []string `json:"approve,omitempty" cbor:"5,keyasint,omitempty"`
	Title      string   `json:"title,omitempty" cbor:"6,keyasint,omitempty"` // of the approval
	Timeout    int64    `json:"timeout,omitempty" cbor:"7,keyasint,omitempty"`
	Idempotent *bool    `json:"idempotent,omitempty" cbor:"8,keyasint,omitempty"`
}

// JoinCounted fixes the number of a join whose count is an expression.
type JoinCounted struct {
	Step  string `json:"step" cbor:"1,keyasint,omitempty"`
	Count int    `json:"count" cbor:"2,keyasint,omitempty"`
}

// Type implements Event.
func (ActivityReady) Type() EventType { return TypeActivityReady }

// Type implements Event.
func (ActivityScheduled) Type() EventType { return TypeActivityScheduled }

// Type implements Event.
func (ActivityStarted) Type() EventType { return TypeActivityStarted }

// Type implements Event.
func (ActivityCompleted) Type() EventType { return TypeActivityCompleted }

// Type implements Event.
func (ActivityFailed) Type() EventType { return TypeActivityFailed }

// Type implements Event.
func (ActivityRetried) Type() EventType { return TypeActivityRetried }

// Type implements Event.
func (ActivitySkipped) Type() EventType { return TypeActivitySkipped }

// Type implements Event.
func (ActivityCaught) Type() EventType { return TypeActivityCaught }

// Type implements Event.
func (ActivityPending) Type() EventType { return TypeActivityPending }

// Type implements Event.
func (AgentTurn) Type() EventType { return TypeAgentTurn }

// Type implements Event.
func (JoinCounted) Type() EventType { return TypeJoinCounted }

func (ActivityReady) event()     {}
func (ActivityScheduled) event() {}
func (ActivityStarted) event()   {}
func (ActivityCompleted) event() {}
func (ActivityFailed) event()    {}
func (ActivityRetried) event()   {}
func (ActivitySkipped) event()   {}
func (ActivityCaught) event()    {}
func (ActivityPending) event()   {}
func (AgentTurn) event()         {}
func (JoinCounted) event()       {}
