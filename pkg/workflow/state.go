package workflow

import "github.com/wovyr/wovyr/pkg/fsm"

// State is an execution as its events left it: their fold (WF-002 §5 to §8). It is a plain tree without
// maps, so that its encoding is deterministic. Package engine alone changes it.
//
// Fields tagged `json:"-"` are derived: they follow from the others and the definition, no encoding holds them, and
// equality does not look at them. Package engine restores them after decoding.
type State struct {
	Execution   string  `json:"execution"`
	Tenant      string  `json:"tenant"`
	Workflow    string  `json:"workflow"`
	Definition  string  `json:"definition"` // version of the definition
	Hash        string  `json:"hash"`
	Correlation string  `json:"correlation,omitempty"`
	Key         string  `json:"key,omitempty"`
	By          string  `json:"by,omitempty"`
	Labels      []Label `json:"labels,omitempty"`
	Origin      Origin  `json:"origin,omitzero"` // results to be taken over leave it as they are used
	// WorkflowMachine and ActivityMachine are the versions of the state machines.
	WorkflowMachine uint16 `json:"workflow_machine"`
	ActivityMachine uint16 `json:"activity_machine"`
	Owner           string `json:"owner,omitempty"` // the worker that wrote the last version (WF-002 §11)

	Status  fsm.WorkflowState `json:"status"`
	Version uint64            `json:"version"` // of the last event
	At      int64             `json:"at"`      // of the last event
	// CreatedAt, StartedAt and EndedAt are zero as long as that has not happened.
	CreatedAt int64 `json:"created_at"`
	StartedAt int64 `json:"started_at,omitempty"`
	EndedAt   int64 `json:"ended_at,omitempty"`

	Input          Payload    `json:"input,omitzero"`
	Vars           []Variable `json:"vars,omitempty"`       // in the order of the definition
	TimeoutAt      int64      `json:"timeout_at,omitempty"` // of the whole execution
	MaxParallelism int        `json:"max_parallelism,omitempty"`
	MaxRetries     int        `json:"max_retries,omitempty"`
	Retries        int        `json:"retries,omitempty"` // made so far

	Root *Frame `json:"root,omitempty"`

	// Undo is the stack of what a compensation would undo, in the order of completion; Undoing is the compensation
	// under way, of its top.
	Undo    []Undoable `json:"undo,omitempty"`
	Undoing *SideStep  `json:"undoing,omitempty"`

	Ending      *Ending        `json:"ending,omitempty"`
	Cancel      *CancelState   `json:"cancel,omitempty"` // the last one that counted
	Held        []Held         `json:"held,omitempty"`   // failures that wait for an operator
	Stopped     *Held          `json:"stopped,omitempty"`
	Failures    []StepFailure  `json:"failures,omitempty"` // the first MaxFailures
	Compensated bool           `json:"compensated,omitempty"`
	Output      Payload        `json:"output,omitzero"` // of a completed execution
	Error       *Error         `json:"error,omitempty"` // of a failed or cancelled one
	Next        *Next          `json:"next,omitempty"`
	Early       []EarlyEvent   `json:"early,omitempty"` // kept for a wait to come, in the order of arrival
	Cursors     []EventCursor  `json:"cursors,omitempty"`
	Seen        []SeenID       `json:"seen,omitempty"`     // IDs of signals, decisions, moves and cancels of the last day
	Children    []ChildLink    `json:"children,omitempty"` // nobody waits for them; cancelled when this ends
	Closing     []ChildLink    `json:"closing,omitempty"`  // cancelled, end not yet known
	Emitted     int            `json:"emitted,omitempty"`  // events emitted so far
	Shard       *ShardProgress `json:"shard,omitempty"`    // of an execution that is a shard
	Derived     any            `json:"-"`
}

// Ending is how an execution will end, once that is decided.
type Ending struct {
	Outcome    Outcome `json:"outcome"`
	Error      *Error  `json:"error,omitempty"`
	Step       string  `json:"step,omitempty"`
	Compensate bool    `json:"compensate,omitempty"`
	Graceful   bool    `json:"graceful,omitempty"`
	Abrupt     bool    `json:"abrupt,omitempty"`
}

// CancelState is a cancel that counted.
type CancelState struct {
	Origin CancelOrigin `json:"origin"`
	Mode   CancelMode   `json:"mode"`
	Reason string       `json:"reason,omitempty"`
	By     string       `json:"by,omitempty"`
}

// Held is a failure that waits for an operator. Step is empty for the timeout of the whole execution.
type Held struct {
	Step  string `json:"step,omitempty"`
	Error *Error `json:"error"`
}

// StepFailure is one entry of `execution.failures`.
type StepFailure struct {
	Step  string `json:"step"`
	Error *Error `json:"error"`
}

// SeenID is an ID that must not count twice.
type SeenID struct {
	ID string `json:"id"`
	At int64  `json:"at"`
}

// Undoable is a step whose work can be undone.
type Undoable struct {
	Step string `json:"step"`
	// Shards lists the executions to undo instead, for a foreach that was spread over shards.
	Shards []string `json:"shards,omitempty"`
	// Order is the version of the event that ended the step.
	Order uint64 `json:"order"`
}

// ChildLink is an execution that a step started.
type ChildLink struct {
	Step       string       `json:"step,omitempty"`
	Child      string       `json:"child"`
	Workflow   string       `json:"workflow,omitempty"`
	Definition string       `json:"definition,omitempty"`
	Wait       bool         `json:"wait,omitempty"`
	OnClose    ParentClose  `json:"on_close,omitempty"`
	Begun      bool         `json:"begun,omitempty"`
	Undo       string       `json:"undo,omitempty"`
	Mode       CancelMode   `json:"mode,omitempty"`   // of a cancelled one
	Origin     CancelOrigin `json:"origin,omitempty"` // likewise
	Reason     string       `json:"reason,omitempty"` // likewise
}

// ShardProgress is what a shard reports to its parent.
type ShardProgress struct {
	Count  int        `json:"count"`
	Failed int        `json:"failed"`
	Vars   []Variable `json:"vars,omitempty"`
}

// Frame is one running body: the workflow's, an item's, an iteration's, a branch's or a group's.
type Frame struct {
	// Prefix precedes the names of the steps in their paths: "" or "each/17/".
	Prefix string `json:"prefix,omitempty"`
	// Body is the number of the body in the definition, in the order of the document (engine.Program).
	Body  int     `json:"body"`
	Index int     `json:"index,omitempty"`
	Item  Payload `json:"item,omitzero"` // of a foreach
	// Steps has a state for each step of the body, in the order of the definition.
	Steps []StepState `json:"steps"`
	// Error is the uncaught failure that ends this body; Failed, the step it came from.
	Error  *Error `json:"error,omitempty"`
	Failed string `json:"failed,omitempty"`
	// StandIns says which picked steps stand in for a step whose error was caught; Joins, the numbers of joins that
	// are expressions.
	StandIns []StandIn     `json:"stand_ins,omitempty"`
	Joins    []CountedJoin `json:"joins,omitempty"`
	// Undo counts the entries of State.Undo in this frame and below: while there are any, it is kept after its end.
	Undo   int  `json:"undo,omitempty"`
	Closed bool `json:"closed,omitempty"`

	Parent *Frame `json:"-"` // nil for the root
	Node   int    `json:"-"` // index in Parent of the step this is inside of
	Left   int    `json:"-"` // steps not ended, without exit steps
	Active int    `json:"-"` // steps between Ready and their end
}

// StandIn says that the steps By stand in for the step For; both are indexes.
type StandIn struct {
	For int   `json:"for"`
	By  []int `json:"by"`
}

// CountedJoin is the number of a join that is an expression. Step is an index.
type CountedJoin struct {
	Step  int `json:"step"`
	Count int `json:"count"`
}

// ShardState says how far a shard has come, by number.
type ShardState struct {
	State    uint8 `json:"state"` // one of the Shard constants
	Count    int   `json:"count,omitempty"`
	Failed   int   `json:"failed,omitempty"`
	Undoable bool  `json:"undoable,omitempty"`
}

// The states of a shard.
const (
	ShardWaiting uint8 = iota
	ShardOpen
	ShardCompleted
	ShardFailed
	ShardCancelled
)

// Scope is the inside of a step that has bodies, while it is open.
type Scope struct {
	// Items, Whole, Count, Parallel, ShardParallel and Tolerate are those of ItemsSet, for a foreach.
	Items         []Payload `json:"items,omitempty"`
	Whole         *Payload  `json:"whole,omitempty"`
	Count         int       `json:"count,omitempty"`
	Parallel      int       `json:"parallel,omitempty"`
	ShardParallel int       `json:"shard_parallel,omitempty"`
	Tolerate      int       `json:"tolerate,omitempty"`
	Set           bool      `json:"set,omitempty"` // ItemsSet has happened
	// Next is the next item, branch or shard to open; in a loop, the number of the iteration under way.
	Next int `json:"next,omitempty"`
	// Frames are the open bodies, by item or branch; a loop and a group have one at most. Kept are closed ones that
	// hold work that can be undone, Previous is the iteration before.
	Frames   []*Frame      `json:"frames,omitempty"`
	Kept     []*Frame      `json:"kept,omitempty"`
	Previous *Frame        `json:"previous,omitempty"`
	Results  []ScopeResult `json:"results,omitempty"` // by item or branch; of a loop, what was collected
	Shards   []ShardState  `json:"shards,omitempty"`
	Failed   int           `json:"failed,omitempty"` // bodies or items
	Ending   bool          `json:"ending,omitempty"` // nothing further starts
	Winner   int           `json:"winner,omitempty"` // branch of a race that completed, plus one
	Error    *Error        `json:"error,omitempty"`  // the failure that ends this

	Open int `json:"-"` // bodies that are open
	Done int `json:"-"` // bodies that are closed
}

// ScopeResult is what one body came to.
type ScopeResult struct {
	Closed bool    `json:"closed,omitempty"`
	Failed bool    `json:"failed,omitempty"`
	Output Payload `json:"output,omitzero"`
	Error  *Error  `json:"error,omitempty"` // of a branch of a race
}
