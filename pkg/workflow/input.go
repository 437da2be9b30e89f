package workflow

// Input is what reaches an execution from outside its history: the answer of a worker, the passing of time, a
// signal, a cancel. A decision turns one into events. Duplicated, late and reordered inputs are harmless: they lead
// to no events, or to a refusal that says why they never can. The set of inputs is closed.
//
// Step fields hold the path of the instance, as in events.
type Input interface {
	InputType() string
	input()
}

// AttemptRef names one attempt. The fence tells schedulings of a step apart, recoveries included.
type AttemptRef struct {
	Step    string `json:"step"`
	Attempt int    `json:"attempt"`
	Fence   int    `json:"fence"`
}

// Start brings an execution into being and starts it. Where it exists already, it decides nothing.
type Start struct {
	Execution   string  `json:"execution"`
	Tenant      string  `json:"tenant"`
	Workflow    string  `json:"workflow"`
	Definition  string  `json:"definition"` // version of the definition
	Hash        string  `json:"hash"`       // of the definition
	Correlation string  `json:"correlation,omitempty"`
	Key         string  `json:"key,omitempty"` // idempotency key
	By          string  `json:"by,omitempty"`  // who asks for it
	Labels      []Label `json:"labels,omitempty"`
	Input       Payload `json:"input,omitzero"`
	Origin      Origin  `json:"origin,omitzero"`
	// Misfit says how an input that is kept by reference breaks the schema of the workflow, which a decision cannot look into: whoever sends
	// the start of a child has looked.
	Misfit string `json:"misfit,omitempty"`
}

// ActivityResult is what an attempt came to. Exactly one of Error, Pending and Continue is set, or none: then Output
// is the result. It is also how the answer of a callback comes in.
type ActivityResult struct {
	AttemptRef
	Worker string `json:"worker,omitempty"`
	// StartedAt is the real time of the attempt's start, in nanoseconds; zero if the start is in the history.
	StartedAt int64   `json:"started_at,omitempty"`
	Output    Payload `json:"output,omitzero"`
	Error     *Error  `json:"error,omitempty"`
	// RetryAfter is how long the failing side asks to wait, in nanoseconds: the next attempt does not come sooner.
	RetryAfter int64 `json:"retry_after,omitempty"`
	// Pending says that the call of a step with `callback: true` was made and the answer will come.
	Pending  bool           `json:"pending,omitempty"`
	Continue *AgentContinue `json:"continue,omitempty"`
}

// AgentContinue asks for calls; the step is entered again with their results and State (agent loops).
type AgentContinue struct {
	Calls []AgentCall `json:"calls,omitempty"`
	State Payload     `json:"state,omitzero"`
}

// Begin says that the worker which commits this runs the attempt at once, without a queue (commit protocol, point 7).
type Begin struct {
	AttemptRef
	Worker     string `json:"worker"`
	LeaseUntil int64  `json:"lease_until,omitempty"`
}

// Claimed says that the claim of an attempt was found where the shell wanted to revoke it: the attempt counts as
// started (commit protocol, point 6).
type Claimed struct {
	AttemptRef
	Worker     string `json:"worker"`
	StartedAt  int64  `json:"started_at"`
	LeaseUntil int64  `json:"lease_until,omitempty"`
}

// RevokedFound says that the claim of a scheduled attempt was found revoked: whoever revoked it never committed, so
// the attempt can neither run nor has run (commit protocol, point 6).
type RevokedFound struct {
	AttemptRef
}

// LeaseExpiry says that the lease of an attempt ran out. It comes through the inbox, behind a result that was already
// sent.
type LeaseExpiry struct {
	AttemptRef
	Worker    string `json:"worker,omitempty"`     // who held it
	StartedAt int64  `json:"started_at,omitempty"` // from the claim, if the start is not in the history
	// Gone says that the worker is known to be dead, so that what is left of its lease does not count.
	Gone bool `json:"gone,omitempty"`
}

// Tick says that time has passed: everything that is due fires.
type Tick struct{}

// ExternalEvent is an event from the bus, a webhook, a queue, a file store, or a signal to this execution.
type ExternalEvent struct {
	EarlyEvent
	By string `json:"by,omitempty"`
}

// TaskDecision is a person's verdict about a task.
type TaskDecision struct {
	ID      string   `json:"id"`
	Step    string   `json:"step"`
	By      string   `json:"by,omitempty"`
	Verdict Verdict  `json:"verdict"`
	Answer  Payload  `json:"answer,omitzero"`
	Comment string   `json:"comment,omitempty"`
	To      []string `json:"to,omitempty"` // of a reassignment
}

// ChildBegun says that a child's stream exists.
type ChildBegun struct {
	Step  string `json:"step"`
	Child string `json:"child"`
}

// ChildEnd is the notice of a child's end; also that a child could not be started, with outcome failed.
type ChildEnd struct {
	Step        string     `json:"step"`
	Child       string     `json:"child"`
	Outcome     Outcome    `json:"outcome"`
	Compensated bool       `json:"compensated,omitempty"`
	Output      Payload    `json:"output,omitzero"`
	Error       *Error     `json:"error,omitempty"`
	Count       int        `json:"count,omitempty"`    // of a shard
	Failed      int        `json:"failed,omitempty"`   // of a shard
	Undoable    bool       `json:"undoable,omitempty"` // of a shard: it holds work that can be undone
	Vars        []Variable `json:"vars,omitempty"`     // of a shard
}

// Cancel asks for the execution's end (WF-006 §17).
type Cancel struct {
	ID     string       `json:"id,omitempty"`
	Origin CancelOrigin `json:"origin"`
	Mode   CancelMode   `json:"mode"`
	Reason string       `json:"reason,omitempty"`
	By     string       `json:"by,omitempty"`
	// Start is the start of a child whose stream may still be empty: then the cancel is its first commit.
	Start *Start `json:"start,omitempty"`
}

// OperatorMove is what an operator wants done.
type OperatorMove struct {
	ID     string  `json:"id"`
	Move   Move    `json:"move"`
	Step   string  `json:"step,omitempty"`
	By     string  `json:"by,omitempty"`
	Output Payload `json:"output,omitzero"` // of complete
	Error  *Error  `json:"error,omitempty"` // of fail; nil: the step's own
}

// Continue lets an execution go on with what the bounds of a decision left undone.
type Continue struct{}

// InputType implements Input.
func (Start) InputType() string { return "Start" }

// InputType implements Input.
func (ActivityResult) InputType() string { return "ActivityResult" }

// InputType implements Input.
func (Begin) InputType() string { return "Begin" }

// InputType implements Input.
func (Claimed) InputType() string { return "Claimed" }

// InputType implements Input.
func (RevokedFound) InputType() string { return "RevokedFound" }

// InputType implements Input.
func (LeaseExpiry) InputType() string { return "LeaseExpiry" }

// InputType implements Input.
func (Tick) InputType() string { return "Tick" }

// InputType implements Input.
func (ExternalEvent) InputType() string { return "ExternalEvent" }

// InputType implements Input.
func (TaskDecision) InputType() string { return "TaskDecision" }

// InputType implements Input.
func (ChildBegun) InputType() string { return "ChildBegun" }

// InputType implements Input.
func (ChildEnd) InputType() string { return "ChildEnd" }

// InputType implements Input.
func (Cancel) InputType() string { return "Cancel" }

// InputType implements Input.
func (OperatorMove) InputType() string { return "OperatorMove" }

// InputType implements Input.
func (Continue) InputType() string { return "Continue" }

func (Start) input()          {}
func (ActivityResult) input() {}
func (Begin) input()          {}
func (Claimed) input()        {}
func (RevokedFound) input()   {}
func (LeaseExpiry) input()    {}
func (Tick) input()           {}
func (ExternalEvent) input()  {}
func (TaskDecision) input()   {}
func (ChildBegun) input()     {}
func (ChildEnd) input()       {}
func (Cancel) input()         {}
func (OperatorMove) input()   {}
func (Continue) input()       {}
