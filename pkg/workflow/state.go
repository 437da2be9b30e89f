package workflow

import "github.com/wovyr/wovyr/pkg/fsm"

// State is an execution as its events left it: their fold (WF-002 §5 to §8). It is a plain tree without
// maps, so that its encoding is deterministic. Package engine alone changes it.
//
// Fields tagged `json:"-"` are derived: they follow from the others and the definition, no encoding holds them, and
// equality does not look at them. Package engine restores them after decoding.
type State struct {
	Execution   string  `json:"execution" cbor:"1,keyasint,omitempty"`
	Tenant      string  `json:"tenant" cbor:"2,keyasint,omitempty"`
	Workflow    string  `json:"workflow" cbor:"3,keyasint,omitempty"`
	Definition  string  `json:"definition" cbor:"4,keyasint,omitempty"` // version of the definition
	Hash        string  `json:"hash" cbor:"5,keyasint,omitempty"`
	Correlation string  `json:"correlation,omitempty" cbor:"6,keyasint,omitempty"`
	Key         string  `json:"key,omitempty" cbor:"7,keyasint,omitempty"`
	By          string  `json:"by,omitempty" cbor:"8,keyasint,omitempty"`
	Labels      []Label `json:"labels,omitempty" cbor:"9,keyasint,omitempty"`
	Origin      Origin  `json:"origin,omitzero" cbor:"10,keyasint,omitzero"` // results to be taken over leave it as they are used
	// WorkflowMachine and ActivityMachine are the versions of the state machines.
	WorkflowMachine uint16 `json:"workflow_machine" cbor:"11,keyasint,omitempty"`
	ActivityMachine uint16 `json:"activity_machine" cbor:"12,keyasint,omitempty"`
	Owner           string `json:"owner,omitempty" cbor:"13,keyasint,omitempty"` // the worker that wrote the last version (WF-002 §11)

	Status  fsm.WorkflowState `json:"status" cbor:"14,keyasint,omitzero"`
	Version uint64            `json:"version" cbor:"15,keyasint,omitempty"` // of the last event
	At      int64             `json:"at" cbor:"16,keyasint,omitempty"`      // of the last event
	// CreatedAt, StartedAt and EndedAt are zero as long as that has not happened.
	CreatedAt int64 `json:"created_at" cbor:"17,keyasint,omitempty"`
	StartedAt int64 `json:"started_at,omitempty" cbor:"18,keyasint,omitempty"`
	EndedAt   int64 `json:"ended_at,omitempty" cbor:"19,keyasint,omitempty"`

	Input          Payload    `json:"input,omitzero" cbor:"20,keyasint,omitzero"`
	Vars           []Variable `json:"vars,omitempty" cbor:"21,keyasint,omitempty"`       // in the order of the definition
	TimeoutAt      int64      `json:"timeout_at,omitempty" cbor:"22,keyasint,omitempty"` // of the whole execution
	MaxParallelism int        `json:"max_parallelism,omitempty" cbor:"23,keyasint,omitempty"`
	MaxRetries     int        `json:"max_retries,omitempty" cbor:"24,keyasint,omitempty"`
	Retries        int        `json:"retries,omitempty" cbor:"25,keyasint,omitempty"` // made so far

	Root *Frame `json:"root,omitempty" cbor:"26,keyasint,omitempty"`

	// Undo is the stack of what a compensation would undo, in the order of completion; Undoing is the compensation
	// under way, of its top.
	Undo    []Undoable `json:"undo,omitempty" cbor:"27,keyasint,omitempty"`
	Undoing *SideStep  `json:"undoing,omitempty" cbor:"28,keyasint,omitempty"`

	Ending      *Ending        `json:"ending,omitempty" cbor:"29,keyasint,omitempty"`
	Cancel      *CancelState   `json:"cancel,omitempty" cbor:"30,keyasint,omitempty"` // the last one that counted
	Held        []Held         `json:"held,omitempty" cbor:"31,keyasint,omitempty"`   // failures that wait for an operator
	Stopped     *Held          `json:"stopped,omitempty" cbor:"32,keyasint,omitempty"`
	Failures    []StepFailure  `json:"failures,omitempty" cbor:"33,keyasint,omitempty"` // the first MaxFailures
	Compensated bool           `json:"compensated,omitempty" cbor:"34,keyasint,omitempty"`
	Output      Payload        `json:"output,omitzero" cbor:"35,keyasint,omitzero"`  // of a completed execution
	Error       *Error         `json:"error,omitempty" cbor:"36,keyasint,omitempty"` // of a failed or cancelled one
	Next        *Next          `json:"next,omitempty" cbor:"37,keyasint,omitempty"`
	Early       []EarlyEvent   `json:"early,omitempty" cbor:"38,keyasint,omitempty"` // kept for a wait to come, in the order of arrival
	Cursors     []EventCursor  `json:"cursors,omitempty" cbor:"39,keyasint,omitempty"`
	Seen        []SeenID       `json:"seen,omitempty" cbor:"40,keyasint,omitempty"`     // IDs of signals, decisions, moves and cancels of the last day
	Children    []ChildLink    `json:"children,omitempty" cbor:"41,keyasint,omitempty"` // nobody waits for them; cancelled when this ends
	Closing     []ChildLink    `json:"closing,omitempty" cbor:"42,keyasint,omitempty"`  // cancelled, end not yet known
	Emitted     int            `json:"emitted,omitempty" cbor:"43,keyasint,omitempty"`  // events emitted so far
	Resigned    bool           `json:"resigned,omitempty" cbor:"46,keyasint,omitempty"` // an operator let a failure stand: it is not held again
	More        bool           `json:"more,omitempty" cbor:"45,keyasint,omitempty"`     // the last event is BoundReached
	Shard       *ShardProgress `json:"shard,omitempty" cbor:"44,keyasint,omitempty"`    // of an execution that is a shard
	Lent        Lent           `json:"lent,omitzero" cbor:"47,keyasint,omitzero"`       // to children that are open
	Derived     any            `json:"-" cbor:"-"`
}

// Lent is what an execution has lent of its share to children that are open, or that it lost sight of (Parent.Share).
type Lent struct {
	Share    uint64 `json:"share" cbor:"1,keyasint,omitempty"`
	Children int    `json:"children" cbor:"2,keyasint,omitempty"`
}

// Ending is how an execution will end, once that is decided.
type Ending struct {
	Outcome    Outcome `json:"outcome" cbor:"1,keyasint,omitempty"`
	Error      *Error  `json:"error,omitempty" cbor:"2,keyasint,omitempty"`
	Step       string  `json:"step,omitempty" cbor:"3,keyasint,omitempty"`
	Compensate bool    `json:"compensate,omitempty" cbor:"4,keyasint,omitempty"`
	Graceful   bool    `json:"graceful,omitempty" cbor:"5,keyasint,omitempty"`
	Abrupt     bool    `json:"abrupt,omitempty" cbor:"6,keyasint,omitempty"`
}

// CancelState is a cancel that counted.
type CancelState struct {
	Origin CancelOrigin `json:"origin" cbor:"1,keyasint,omitempty"`
	Mode   CancelMode   `json:"mode" cbor:"2,keyasint,omitempty"`
	Reason string       `json:"reason,omitempty" cbor:"3,keyasint,omitempty"`
	By     string       `json:"by,omitempty" cbor:"4,keyasint,omitempty"`
}

// Held is a failure that waits for an operator. Step is empty for the timeout of the whole execution.
type Held struct {
	Step  string `json:"step,omitempty" cbor:"1,keyasint,omitempty"`
	Error *Error `json:"error" cbor:"2,keyasint,omitempty"`
}

// StepFailure is one entry of `execution.failures`.
type StepFailure struct {
	Step  string `json:"step" cbor:"1,keyasint,omitempty"`
	Error *Error `json:"error" cbor:"2,keyasint,omitempty"`
}

// SeenID is an ID that must not count twice.
type SeenID struct {
	ID string `json:"id" cbor:"1,keyasint,omitempty"`
	At int64  `json:"at" cbor:"2,keyasint,omitempty"`
}

// Undoable is a step whose work can be undone.
type Undoable struct {
	Step string `json:"step" cbor:"1,keyasint,omitempty"`
	// Shards lists the executions to undo instead, for a foreach that was spread over shards.
	Shards []string `json:"shards,omitempty" cbor:"2,keyasint,omitempty"`
	// Order is the version of the event that ended the step; in the history of another execution if it was Taken over.
	Order uint64 `json:"order" cbor:"3,keyasint,omitempty"`
	Taken bool   `json:"taken,omitempty" cbor:"4,keyasint,omitempty"`
}

// ChildLink is an execution that a step started.
type ChildLink struct {
	Step       string       `json:"step,omitempty" cbor:"1,keyasint,omitempty"`
	Child      string       `json:"child" cbor:"2,keyasint,omitempty"`
	Workflow   string       `json:"workflow,omitempty" cbor:"3,keyasint,omitempty"`
	Definition string       `json:"definition,omitempty" cbor:"4,keyasint,omitempty"`
	Wait       bool         `json:"wait,omitempty" cbor:"5,keyasint,omitempty"`
	OnClose    ParentClose  `json:"on_close,omitempty" cbor:"6,keyasint,omitempty"`
	Begun      bool         `json:"begun,omitempty" cbor:"7,keyasint,omitempty"`
	Ended      bool         `json:"ended,omitempty" cbor:"12,keyasint,omitempty"`
	Hash       string       `json:"hash,omitempty" cbor:"13,keyasint,omitempty"` // of a shard: the parent's definition
	Share      uint64       `json:"share,omitempty" cbor:"14,keyasint,omitempty"`
	Undo       string       `json:"undo,omitempty" cbor:"8,keyasint,omitempty"`
	Mode       CancelMode   `json:"mode,omitempty" cbor:"9,keyasint,omitempty"`    // of a cancelled one
	Origin     CancelOrigin `json:"origin,omitempty" cbor:"10,keyasint,omitempty"` // likewise
	Reason     string       `json:"reason,omitempty" cbor:"11,keyasint,omitempty"` // likewise
}

// ShardProgress is what a shard reports to its parent.
type ShardProgress struct {
	Count  int        `json:"count" cbor:"1,keyasint,omitempty"`
	Failed int        `json:"failed" cbor:"2,keyasint,omitempty"`
	Vars   []Variable `json:"vars,omitempty" cbor:"3,keyasint,omitempty"`
}

// Frame is one running body: the workflow's, an item's, an iteration's, a branch's or a group's.
type Frame struct {
	// Prefix precedes the names of the steps in their paths: "" or "each/17/".
	Prefix string `json:"prefix,omitempty" cbor:"1,keyasint,omitempty"`
	// Body is the number of the body in the definition, in the order of the document (engine.Program).
	Body  int     `json:"body" cbor:"2,keyasint,omitempty"`
	Index int     `json:"index,omitempty" cbor:"3,keyasint,omitempty"`
	Item  Payload `json:"item,omitzero" cbor:"4,keyasint,omitzero"` // of a foreach
	// Steps has a state for each step of the body, in the order of the definition.
	Steps []StepState `json:"steps" cbor:"5,keyasint,omitempty"`
	// Error is the uncaught failure that ends this body; Failed, the step it came from.
	Error  *Error `json:"error,omitempty" cbor:"6,keyasint,omitempty"`
	Failed string `json:"failed,omitempty" cbor:"7,keyasint,omitempty"`
	// StandIns says which picked steps stand in for a step whose error was caught; Joins, the numbers of joins that
	// are expressions.
	StandIns []StandIn     `json:"stand_ins,omitempty" cbor:"8,keyasint,omitempty"`
	Joins    []CountedJoin `json:"joins,omitempty" cbor:"9,keyasint,omitempty"`
	// Undo counts the entries of State.Undo in this frame and below: while there are any, it is kept after its end.
	Undo   int  `json:"undo,omitempty" cbor:"10,keyasint,omitempty"`
	Closed bool `json:"closed,omitempty" cbor:"11,keyasint,omitempty"`

	Parent *Frame `json:"-" cbor:"-"` // nil for the root
	Node   int    `json:"-" cbor:"-"` // index in Parent of the step this is inside of
	Left   int    `json:"-" cbor:"-"` // steps not ended, without exit steps
	Active int    `json:"-" cbor:"-"` // steps between Ready and their end
}

// StandIn says that the steps By stand in for the step For; both are indexes.
type StandIn struct {
	For int   `json:"for" cbor:"1,keyasint,omitempty"`
	By  []int `json:"by" cbor:"2,keyasint,omitempty"`
	// Done says that those who wait for the step know how it came out.
	Done bool `json:"-" cbor:"-"`
}

// CountedJoin is the number of a join that is an expression. Step is an index.
type CountedJoin struct {
	Step  int `json:"step" cbor:"1,keyasint,omitempty"`
	Count int `json:"count" cbor:"2,keyasint,omitempty"`
}

// ShardState says how far a shard has come, by number.
type ShardState struct {
	State    uint8 `json:"state" cbor:"1,keyasint,omitempty"` // one of the Shard constants
	Count    int   `json:"count,omitempty" cbor:"2,keyasint,omitempty"`
	Failed   int   `json:"failed,omitempty" cbor:"3,keyasint,omitempty"`
	Undoable bool  `json:"undoable,omitempty" cbor:"4,keyasint,omitempty"`
	// Share is what an open one was lent.
	Share uint64 `json:"share,omitempty" cbor:"5,keyasint,omitempty"`
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
	Items         []Payload `json:"items,omitempty" cbor:"1,keyasint,omitempty"`
	Whole         *Payload  `json:"whole,omitempty" cbor:"2,keyasint,omitempty"`
	Count         int       `json:"count,omitempty" cbor:"3,keyasint,omitempty"`
	Parallel      int       `json:"parallel,omitempty" cbor:"4,keyasint,omitempty"`
	ShardParallel int       `json:"shard_parallel,omitempty" cbor:"5,keyasint,omitempty"`
	Tolerate      int       `json:"tolerate,omitempty" cbor:"6,keyasint,omitempty"`
	Set           bool      `json:"set,omitempty" cbor:"7,keyasint,omitempty"` // ItemsSet has happened
	// Next is the next item, branch or shard to open; in a loop, the number of the iteration under way.
	Next int `json:"next,omitempty" cbor:"8,keyasint,omitempty"`
	// Frames are the open bodies, by item or branch; a loop and a group have one at most. Kept are closed ones that
	// hold work that can be undone, Previous is the iteration before.
	Frames   []*Frame      `json:"frames,omitempty" cbor:"9,keyasint,omitempty"`
	Kept     []*Frame      `json:"kept,omitempty" cbor:"10,keyasint,omitempty"`
	Previous *Frame        `json:"previous,omitempty" cbor:"11,keyasint,omitempty"`
	Results  []ScopeResult `json:"results,omitempty" cbor:"12,keyasint,omitempty"` // by item or branch; of a loop, what was collected
	Shards   []ShardState  `json:"shards,omitempty" cbor:"13,keyasint,omitempty"`
	Failed   int           `json:"failed,omitempty" cbor:"14,keyasint,omitempty"` // bodies or items
	Ending   bool          `json:"ending,omitempty" cbor:"15,keyasint,omitempty"` // nothing further starts
	Winner   int           `json:"winner,omitempty" cbor:"16,keyasint,omitempty"` // branch of a race that completed, plus one
	Error    *Error        `json:"error,omitempty" cbor:"17,keyasint,omitempty"`  // the failure that ends this

	Open int `json:"-" cbor:"-"` // bodies that are open
	Done int `json:"-" cbor:"-"` // bodies that are closed
}

// ScopeResult is what one body came to.
type ScopeResult struct {
	Closed bool    `json:"closed,omitempty" cbor:"1,keyasint,omitempty"`
	Failed bool    `json:"failed,omitempty" cbor:"2,keyasint,omitempty"`
	Output Payload `json:"output,omitzero" cbor:"3,keyasint,omitzero"`
	Error  *Error  `json:"error,omitempty" cbor:"4,keyasint,omitempty"` // of a branch of a race
}
