package workflow

// WorkflowCreated brings an execution into being. It is the first event of every stream.
type WorkflowCreated struct {
	Execution   string `json:"execution" cbor:"1,keyasint,omitempty"`
	Tenant      string `json:"tenant" cbor:"2,keyasint,omitempty"`
	Workflow    string `json:"workflow" cbor:"3,keyasint,omitempty"`
	Definition  string `json:"definition" cbor:"4,keyasint,omitempty"` // version of the definition
	Hash        string `json:"hash" cbor:"5,keyasint,omitempty"`       // of the definition
	Correlation string `json:"correlation,omitempty" cbor:"6,keyasint,omitempty"`
	// Key is the idempotency key of the start, By who asked for it, Worker who committed it.
	Key    string  `json:"key,omitempty" cbor:"7,keyasint,omitempty"`
	By     string  `json:"by,omitempty" cbor:"8,keyasint,omitempty"`
	Worker string  `json:"worker,omitempty" cbor:"9,keyasint,omitempty"`
	Labels []Label `json:"labels,omitempty" cbor:"10,keyasint,omitempty"`
	Input  Payload `json:"input,omitzero" cbor:"11,keyasint,omitzero"`
	// WorkflowMachine and ActivityMachine are the versions of the state machines that the execution stays on.
	WorkflowMachine uint16 `json:"workflow_machine" cbor:"12,keyasint,omitempty"`
	ActivityMachine uint16 `json:"activity_machine" cbor:"13,keyasint,omitempty"`
	// Origin says what the execution comes from; its parts are nil or empty for a plain start.
	Origin Origin `json:"origin,omitzero" cbor:"14,keyasint,omitzero"`
}

// Origin is what an execution comes from besides a plain start.
type Origin struct {
	Parent *Parent `json:"parent,omitempty" cbor:"1,keyasint,omitempty"`
	// Redrive is set for an execution that takes over the completed results of another one.
	Redrive *Redrive `json:"redrive,omitempty" cbor:"2,keyasint,omitempty"`
	// Continues is set for an execution that goes on for another (continue_as_new).
	Continues *Continues `json:"continues,omitempty" cbor:"3,keyasint,omitempty"`
	// Shard is set for an execution that runs some items of a large foreach of its parent.
	Shard *Shard `json:"shard,omitempty" cbor:"4,keyasint,omitempty"`
	// Chain is how many executions stand before this one, each started by an event that the one before emitted: 0 if none does.
	Chain int `json:"chain,omitempty" cbor:"5,keyasint,omitempty"`
}

// Parent is who waits for an execution's end.
type Parent struct {
	Execution string `json:"execution" cbor:"1,keyasint,omitempty"`
	Step      string `json:"step" cbor:"2,keyasint,omitempty"`
	// Child is the name under which the parent knows this execution: its ID, or that of the first of its chain.
	Child string `json:"child" cbor:"3,keyasint,omitempty"`
	// Depth is how many executions stand above this one.
	Depth int `json:"depth,omitempty" cbor:"4,keyasint,omitempty"`
	// Share is what this execution was lent, and may lend its own children; 0: that of the first of a family. Line are the workflows above
	// it (docs/semantics.md, 49).
	Share uint64     `json:"share,omitempty" cbor:"5,keyasint,omitempty"`
	Line  []Ancestor `json:"line,omitempty" cbor:"6,keyasint,omitempty"`
}

// Ancestor is a workflow that runs above an execution, with the share of the first execution there that runs it.
type Ancestor struct {
	Workflow string `json:"workflow" cbor:"1,keyasint,omitempty"`
	Share    uint64 `json:"share" cbor:"2,keyasint,omitempty"`
}

// Redrive says which results a new execution takes over (docs/semantics.md, "Redrive").
type Redrive struct {
	Of    string  `json:"of" cbor:"1,keyasint,omitempty"`
	Taken []Taken `json:"taken,omitempty" cbor:"2,keyasint,omitempty"` // sorted by Step
	// Undo asks for nothing but the compensation of what was taken over.
	Undo bool `json:"undo,omitempty" cbor:"3,keyasint,omitempty"`
}

// Taken is the end of one step in another execution.
type Taken struct {
	Step     string     `json:"step" cbor:"1,keyasint,omitempty"`
	Status   Status     `json:"status" cbor:"2,keyasint,omitempty"` // completed, caught, or skipped
	Output   Payload    `json:"output,omitzero" cbor:"3,keyasint,omitzero"`
	Error    *Error     `json:"error,omitempty" cbor:"4,keyasint,omitempty"`
	Then     []string   `json:"then,omitempty" cbor:"5,keyasint,omitempty"`  // steps picked
	Vars     []Variable `json:"vars,omitempty" cbor:"6,keyasint,omitempty"`  // of a `set`
	Items    []Payload  `json:"items,omitempty" cbor:"7,keyasint,omitempty"` // of a foreach that was under way
	Attempts int        `json:"attempts,omitempty" cbor:"8,keyasint,omitempty"`
	// StartedAt and EndedAt are the times of the other execution; Order is the rank of its end there.
	StartedAt int64  `json:"started_at,omitempty" cbor:"9,keyasint,omitempty"`
	EndedAt   int64  `json:"ended_at,omitempty" cbor:"10,keyasint,omitempty"`
	Order     uint64 `json:"order,omitempty" cbor:"11,keyasint,omitempty"`
	// Shards are the executions that ran the items of a large foreach.
	Shards []string `json:"shards,omitempty" cbor:"12,keyasint,omitempty"`
	// Whole, Count and Failed are of a foreach, as in ItemsSet and ShardProgress.
	Whole  *Payload `json:"whole,omitempty" cbor:"13,keyasint,omitempty"`
	Count  int      `json:"count,omitempty" cbor:"14,keyasint,omitempty"`
	Failed int      `json:"failed,omitempty" cbor:"15,keyasint,omitempty"`
	// Given are the values of a `set` before they were combined by `reduce`.
	Given []Variable `json:"given,omitempty" cbor:"16,keyasint,omitempty"`
}

// Continues links the executions of a chain (continue_as_new).
type Continues struct {
	Previous string `json:"previous" cbor:"1,keyasint,omitempty"`
	First    string `json:"first" cbor:"2,keyasint,omitempty"`
	Run      int    `json:"run" cbor:"3,keyasint,omitempty"` // 2 for the second
	// Early and Cursors carry over events that were kept and the numbers taken so far.
	Early   []EarlyEvent  `json:"early,omitempty" cbor:"4,keyasint,omitempty"`
	Cursors []EventCursor `json:"cursors,omitempty" cbor:"5,keyasint,omitempty"`
}

// Shard is a range of the items of a large foreach, as an execution of its own (commit protocol, point 9).
type Shard struct {
	Step string `json:"step" cbor:"1,keyasint,omitempty"` // path of the foreach in the parent, shards of shards included
	// From is the index of the first item in the whole foreach; Count, how many there are.
	From  int `json:"from" cbor:"2,keyasint,omitempty"`
	Count int `json:"count" cbor:"3,keyasint,omitempty"`
	// Items are the items of this range, or a reference to the whole list from which the shell takes the range.
	Items    []Payload `json:"items,omitempty" cbor:"4,keyasint,omitempty"`
	Whole    *Payload  `json:"whole,omitempty" cbor:"5,keyasint,omitempty"`
	Parallel int       `json:"parallel,omitempty" cbor:"6,keyasint,omitempty"` // most items at once
	Tolerate int       `json:"tolerate" cbor:"7,keyasint,omitempty"`           // most failed items of the whole foreach
	// Names bind what the body reads from around the foreach; Steps are results of steps there.
	Names []Variable   `json:"names,omitempty" cbor:"8,keyasint,omitempty"`
	Steps []ShardInput `json:"steps,omitempty" cbor:"9,keyasint,omitempty"`
	Vars  []Variable   `json:"vars,omitempty" cbor:"10,keyasint,omitempty"`
}

// ShardInput is the result of a step outside a shard that its body reads.
type ShardInput struct {
	Step   string  `json:"step" cbor:"1,keyasint,omitempty"` // its name
	Status Status  `json:"status" cbor:"2,keyasint,omitempty"`
	Result *Result `json:"result,omitempty" cbor:"3,keyasint,omitempty"`
}

// Variable is a name with a value.
type Variable struct {
	Name  string  `json:"name" cbor:"1,keyasint,omitempty"`
	Value Payload `json:"value,omitzero" cbor:"2,keyasint,omitzero"`
}

// WorkflowValidated says that the definition named by WorkflowCreated was found valid: Created → Validated.
type WorkflowValidated struct{}

// WorkflowScheduled says that the execution is ready to run: Validated → Scheduled.
type WorkflowScheduled struct{}

// WorkflowStarted lets it run: Scheduled → Running. It fixes the limits and the first values of the variables, and
// instantiates the steps of the body.
type WorkflowStarted struct {
	TimeoutAt      int64      `json:"timeout_at,omitempty" cbor:"1,keyasint,omitempty"`
	MaxParallelism int        `json:"max_parallelism,omitempty" cbor:"2,keyasint,omitempty"` // 0: no limit
	MaxRetries     int        `json:"max_retries,omitempty" cbor:"3,keyasint,omitempty"`     // 0: no limit
	Vars           []Variable `json:"vars,omitempty" cbor:"4,keyasint,omitempty"`
}

// WorkflowPaused says that nothing can move without something from outside: Running → Waiting.
type WorkflowPaused struct {
	Reasons []WaitReason `json:"reasons" cbor:"1,keyasint,omitempty"` // sorted, each once
}

// WorkflowResumed says that what was waited for has come: Waiting → Resumed.
type WorkflowResumed struct{}

// WorkflowContinued lets the execution run on: Resumed → Running.
type WorkflowContinued struct{}

// WorkflowCompleted is the good end: Running → Completed.
type WorkflowCompleted struct {
	Output Payload `json:"output,omitzero" cbor:"1,keyasint,omitzero"`
	// Next is set when the execution goes on as another one (continue_as_new).
	Next *Next `json:"next,omitempty" cbor:"2,keyasint,omitempty"`
}

// Next is the execution that goes on for one that ended with continue_as_new.
type Next struct {
	Execution string  `json:"execution" cbor:"1,keyasint,omitempty"`
	Input     Payload `json:"input,omitzero" cbor:"2,keyasint,omitzero"`
}

// WorkflowFailed ends the execution, unless CompensationStarted follows: Running → Failed.
type WorkflowFailed struct {
	Error *Error `json:"error" cbor:"1,keyasint,omitempty"`
}

// WorkflowCancelled ends the execution: Running → Cancelled.
type WorkflowCancelled struct {
	Error *Error `json:"error" cbor:"1,keyasint,omitempty"` // code "cancelled"; its details say origin and reason
}

// CompensationStarted begins to undo completed work: Failed → Compensating.
type CompensationStarted struct{}

// CompensationCompleted says that all that was to be undone is undone: Compensating → Completed.
type CompensationCompleted struct{}

// CancelRequested is a cancel that came in. One that changes nothing is recorded too.
type CancelRequested struct {
	ID     string       `json:"id,omitempty" cbor:"1,keyasint,omitempty"`
	Origin CancelOrigin `json:"origin" cbor:"2,keyasint,omitempty"`
	Mode   CancelMode   `json:"mode" cbor:"3,keyasint,omitempty"`
	Reason string       `json:"reason,omitempty" cbor:"4,keyasint,omitempty"`
	By     string       `json:"by,omitempty" cbor:"5,keyasint,omitempty"`
}

// OutcomeDecided fixes how the execution will end, before open steps are ended, work is undone and exit
// steps run. An execution that simply completes has none.
type OutcomeDecided struct {
	Outcome Outcome `json:"outcome" cbor:"1,keyasint,omitempty"`
	Error   *Error  `json:"error,omitempty" cbor:"2,keyasint,omitempty"`
	// Step failed, if one did.
	Step string `json:"step,omitempty" cbor:"3,keyasint,omitempty"`
	// Compensate says that completed work will be undone; Graceful, that what runs on workers may finish; Abrupt, that
	// exit steps do not run (continue_as_new, a second immediate cancel).
	Compensate bool    `json:"compensate,omitempty" cbor:"4,keyasint,omitempty"`
	Graceful   bool    `json:"graceful,omitempty" cbor:"5,keyasint,omitempty"`
	Abrupt     bool    `json:"abrupt,omitempty" cbor:"6,keyasint,omitempty"`
	Output     Payload `json:"output,omitzero" cbor:"7,keyasint,omitzero"` // of a completed one
	Next       *Next   `json:"next,omitempty" cbor:"8,keyasint,omitempty"`
}

// FailureHeld says that a failure waits for an operator (on_failure: pause). Step is empty for the timeout of the
// whole execution.
type FailureHeld struct {
	Step  string `json:"step,omitempty" cbor:"1,keyasint,omitempty"`
	Error *Error `json:"error" cbor:"2,keyasint,omitempty"`
}

// OperatorMoved is an operator's move that was accepted.
type OperatorMoved struct {
	ID     string  `json:"id,omitempty" cbor:"1,keyasint,omitempty"`
	Move   Move    `json:"move" cbor:"2,keyasint,omitempty"`
	Step   string  `json:"step,omitempty" cbor:"3,keyasint,omitempty"`
	By     string  `json:"by,omitempty" cbor:"4,keyasint,omitempty"`
	Output Payload `json:"output,omitzero" cbor:"5,keyasint,omitzero"`
	Error  *Error  `json:"error,omitempty" cbor:"6,keyasint,omitempty"`
}

// CompensationStopped says that a compensation failed for good and waits for an operator.
type CompensationStopped struct {
	Step  string `json:"step" cbor:"1,keyasint,omitempty"`
	Error *Error `json:"error" cbor:"2,keyasint,omitempty"`
}

// OwnershipChanged says that another worker commits from here on (WF-002 §11, WF-006 §20).
type OwnershipChanged struct {
	From string `json:"from" cbor:"1,keyasint,omitempty"`
	To   string `json:"to" cbor:"2,keyasint,omitempty"`
}

// BoundReached says that a decision stopped at its bounds (commit protocol, point 2): there is more to do, and the
// execution sends itself a Continue. It is the last event of its commit.
type BoundReached struct{}

// Type implements Event.
func (BoundReached) Type() EventType { return TypeBoundReached }

func (BoundReached) event() {}

// Type implements Event.
func (WorkflowCreated) Type() EventType { return TypeWorkflowCreated }

// Type implements Event.
func (WorkflowValidated) Type() EventType { return TypeWorkflowValidated }

// Type implements Event.
func (WorkflowScheduled) Type() EventType { return TypeWorkflowScheduled }

// Type implements Event.
func (WorkflowStarted) Type() EventType { return TypeWorkflowStarted }

// Type implements Event.
func (WorkflowPaused) Type() EventType { return TypeWorkflowPaused }

// Type implements Event.
func (WorkflowResumed) Type() EventType { return TypeWorkflowResumed }

// Type implements Event.
func (WorkflowContinued) Type() EventType { return TypeWorkflowContinued }

// Type implements Event.
func (WorkflowCompleted) Type() EventType { return TypeWorkflowCompleted }

// Type implements Event.
func (WorkflowFailed) Type() EventType { return TypeWorkflowFailed }

// Type implements Event.
func (WorkflowCancelled) Type() EventType { return TypeWorkflowCancelled }

// Type implements Event.
func (CompensationStarted) Type() EventType { return TypeCompensationStarted }

// Type implements Event.
func (CompensationCompleted) Type() EventType { return TypeCompensationCompleted }

// Type implements Event.
func (CancelRequested) Type() EventType { return TypeCancelRequested }

// Type implements Event.
func (OutcomeDecided) Type() EventType { return TypeOutcomeDecided }

// Type implements Event.
func (FailureHeld) Type() EventType { return TypeFailureHeld }

// Type implements Event.
func (OperatorMoved) Type() EventType { return TypeOperatorMoved }

// Type implements Event.
func (CompensationStopped) Type() EventType { return TypeCompensationStopped }

// Type implements Event.
func (OwnershipChanged) Type() EventType { return TypeOwnershipChanged }

func (WorkflowCreated) event()       {}
func (WorkflowValidated) event()     {}
func (WorkflowScheduled) event()     {}
func (WorkflowStarted) event()       {}
func (WorkflowPaused) event()        {}
func (WorkflowResumed) event()       {}
func (WorkflowContinued) event()     {}
func (WorkflowCompleted) event()     {}
func (WorkflowFailed) event()        {}
func (WorkflowCancelled) event()     {}
func (CompensationStarted) event()   {}
func (CompensationCompleted) event() {}
func (CancelRequested) event()       {}
func (OutcomeDecided) event()        {}
func (FailureHeld) event()           {}
func (OperatorMoved) event()         {}
func (CompensationStopped) event()   {}
func (OwnershipChanged) event()      {}
