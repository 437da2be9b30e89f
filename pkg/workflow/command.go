package workflow

// Command is work for the shell. Every command can be computed from the state alone (engine.Outstanding), so none is
// ever lost; carrying one out twice is harmless. The set of commands is closed.
type Command interface {
	CommandType() string
	command()
}

// RunActivity hands an attempt to a worker.
type RunActivity struct {
	AttemptRef
	// By is the message under whose guard the attempt was committed (commit protocol, point 4).
	By string `json:"by,omitempty"`
	// Running says that the attempt's start is in the history: a receiver recovers it when the lease is over.
	Running    bool   `json:"running,omitempty"`
	LeaseUntil int64  `json:"lease_until,omitempty"`
	Worker     string `json:"worker,omitempty"` // who runs it, if that is in the history

	// Workflow and Correlation are those of the execution, for whoever is called.
	Workflow    string `json:"workflow,omitempty"`
	Correlation string `json:"correlation,omitempty"`

	Kind Kind   `json:"kind"`
	Name string `json:"name,omitempty"`
	// Target is the kind's own block, Input its `with`, both rendered; holes are the worker's to fill.
	Target Payload `json:"target,omitzero"`
	Input  Payload `json:"input,omitzero"`
	// Schema is the JSON Schema of the result, or nil.
	Schema Value `json:"schema,omitempty"`
	// Key is the idempotency key: the same for every attempt of this step.
	Key string `json:"key"`
	// Timeout, start to close, and Heartbeat, longest silence, are in nanoseconds; 0: none. ScheduleBy is a time.
	Timeout    int64 `json:"timeout,omitempty"`
	Heartbeat  int64 `json:"heartbeat,omitempty"`
	ScheduleBy int64 `json:"schedule_by,omitempty"`
	MaxMemory  int64 `json:"max_memory,omitempty"` // bytes
	Idempotent *bool `json:"idempotent,omitempty"`
	Callback   bool  `json:"callback,omitempty"`
	// Uses say which parts of the result must stay readable if it is stored by reference.
	Uses  []Use       `json:"uses,omitempty"`
	Agent *AgentEntry `json:"agent,omitempty"`
}

// AgentEntry is what a further entry of an agent loop gets.
type AgentEntry struct {
	Turn    int           `json:"turn"`
	State   Payload       `json:"state,omitzero"`
	Results []AgentResult `json:"results,omitempty"` // in the order of the calls
}

// AgentResult is what a call of an agent came to.
type AgentResult struct {
	ID     string  `json:"id"`
	Output Payload `json:"output,omitzero"`
	Error  *Error  `json:"error,omitempty"`
}

// WakeAt asks for a Tick at a time: that of the execution's earliest deadline.
type WakeAt struct {
	At int64 `json:"at"`
	// Coarse says that minutes do not matter: the deadline is that of the whole execution, which the sweep finds.
	Coarse bool `json:"coarse,omitempty"`
}

// StartChild starts an execution for a step.
type StartChild struct {
	Step   string `json:"step"`
	Child  string `json:"child"`
	Tenant string `json:"tenant"`
	// Workflow and Definition name what runs; a shard and its undoing run the definition of the parent.
	Workflow    string  `json:"workflow"`
	Definition  string  `json:"definition,omitempty"`
	Hash        string  `json:"hash,omitempty"` // set where it must be the parent's
	Correlation string  `json:"correlation,omitempty"`
	Input       Payload `json:"input,omitzero"`
	Parent      Parent  `json:"parent"`
	Shard       *Shard  `json:"shard,omitempty"`
	// Notify asks for a ChildBegun once the start is safe: the step waits for nothing more.
	Notify bool `json:"notify,omitempty"`
	// Redrive is the ended shard of another execution whose results the child takes over: engine.RedriveShard makes its start.
	Redrive string `json:"redrive,omitempty"`
	// Undo is the ended execution whose work the child undoes: engine.Undo makes its start.
	Undo string `json:"undo,omitempty"`
}

// CancelChild cancels a child. It is outstanding until the child's end is known.
type CancelChild struct {
	Step   string       `json:"step"`
	Child  string       `json:"child"`
	Mode   CancelMode   `json:"mode"`
	Origin CancelOrigin `json:"origin"`
	Reason string       `json:"reason,omitempty"`
	Start  StartChild   `json:"start"`
}

// AwaitEvent keeps a subscription: events of these types and keys with a higher number than After are to be sent.
type AwaitEvent struct {
	Step     string           `json:"step"`
	Patterns []AwaitedPattern `json:"patterns"`
	After    []uint64         `json:"after"` // by pattern
	Schema   Value            `json:"schema,omitempty"`
}

// AwaitTask keeps a task before people's eyes.
type AwaitTask struct {
	Step      string   `json:"step"`
	Title     string   `json:"title"`
	Details   Payload  `json:"details,omitzero"`
	Assignees []string `json:"assignees,omitempty"`
	Form      Value    `json:"form,omitempty"`
	CreatedAt int64    `json:"created_at"`
	DueAt     int64    `json:"due_at,omitempty"`
}

// AwaitCallback keeps the address open where the answer of a call comes in.
type AwaitCallback struct {
	AttemptRef
	DueAt int64 `json:"due_at,omitempty"`
}

// AwaitOperator makes it visible that the execution needs an operator.
type AwaitOperator struct {
	Step  string `json:"step,omitempty"`
	Error *Error `json:"error"`
}

// NotifyParent tells the parent of this execution's end. It is outstanding until the parent has acknowledged it, which
// is recorded beside the stream.
type NotifyParent struct {
	Parent Parent   `json:"parent"`
	Tenant string   `json:"tenant"`
	End    ChildEnd `json:"end"`
}

// StartNext starts the execution that goes on for this one (continue_as_new); outstanding like NotifyParent.
type StartNext struct {
	Start Start `json:"start"`
}

// SendContinue asks for a Continue: the bounds of a decision left something undone.
type SendContinue struct{}

// CommandType implements Command.
func (RunActivity) CommandType() string { return "RunActivity" }

// CommandType implements Command.
func (WakeAt) CommandType() string { return "WakeAt" }

// CommandType implements Command.
func (StartChild) CommandType() string { return "StartChild" }

// CommandType implements Command.
func (CancelChild) CommandType() string { return "CancelChild" }

// CommandType implements Command.
func (AwaitEvent) CommandType() string { return "AwaitEvent" }

// CommandType implements Command.
func (AwaitTask) CommandType() string { return "AwaitTask" }

// CommandType implements Command.
func (AwaitCallback) CommandType() string { return "AwaitCallback" }

// CommandType implements Command.
func (AwaitOperator) CommandType() string { return "AwaitOperator" }

// CommandType implements Command.
func (NotifyParent) CommandType() string { return "NotifyParent" }

// CommandType implements Command.
func (StartNext) CommandType() string { return "StartNext" }

// CommandType implements Command.
func (SendContinue) CommandType() string { return "SendContinue" }

func (RunActivity) command()   {}
func (WakeAt) command()        {}
func (StartChild) command()    {}
func (CancelChild) command()   {}
func (AwaitEvent) command()    {}
func (AwaitTask) command()     {}
func (AwaitCallback) command() {}
func (AwaitOperator) command() {}
func (NotifyParent) command()  {}
func (StartNext) command()     {}
func (SendContinue) command()  {}
