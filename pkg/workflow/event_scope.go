package workflow

// ItemsSet fixes the items of a foreach and how they are run.
type ItemsSet struct {
	Step  string    `json:"step" cbor:"1,keyasint,omitempty"`
	Items []Payload `json:"items,omitempty" cbor:"2,keyasint,omitempty"` // those to run here, one scope each
	// Whole and Shards are set instead when the items are spread over executions of their own.
	Whole    *Payload `json:"whole,omitempty" cbor:"3,keyasint,omitempty"`
	Count    int      `json:"count" cbor:"4,keyasint,omitempty"`
	Shards   int      `json:"shards,omitempty" cbor:"5,keyasint,omitempty"`
	Parallel int      `json:"parallel,omitempty" cbor:"6,keyasint,omitempty"` // most items (or shards) at once; 0: no limit
	// ShardParallel is the most items at once in each shard; 0: no limit.
	ShardParallel int `json:"shard_parallel,omitempty" cbor:"7,keyasint,omitempty"`
	Tolerate      int `json:"tolerate,omitempty" cbor:"8,keyasint,omitempty"` // most failed items
}

// ScopeOpened instantiates the steps of a body. Index is the item's in a foreach and the branch's in a race,
// both from 0, the iteration in a loop, from 1, and 0 in a group.
type ScopeOpened struct {
	Step  string `json:"step" cbor:"1,keyasint,omitempty"`
	Index int    `json:"index" cbor:"2,keyasint,omitempty"`
}

// ScopeClosed ends a body.
type ScopeClosed struct {
	Step  string `json:"step" cbor:"1,keyasint,omitempty"`
	Index int    `json:"index" cbor:"2,keyasint,omitempty"`
	// Output is what the body yields (`collect`); Error is why it failed. Both are zero for one that was cancelled.
	Output    Payload `json:"output,omitzero" cbor:"3,keyasint,omitzero"`
	Error     *Error  `json:"error,omitempty" cbor:"4,keyasint,omitempty"`
	Cancelled bool    `json:"cancelled,omitempty" cbor:"5,keyasint,omitempty"`
}

// ScopeEnding says that nothing further starts in a foreach or a loop and what is open is ended: `until` is met.
type ScopeEnding struct {
	Step  string `json:"step" cbor:"1,keyasint,omitempty"`
	Error *Error `json:"error,omitempty" cbor:"2,keyasint,omitempty"` // `until` could not be evaluated
}

// IterationDelayed says when the next iteration of a loop starts.
type IterationDelayed struct {
	Step string `json:"step" cbor:"1,keyasint,omitempty"`
	At   int64  `json:"at" cbor:"2,keyasint,omitempty"`
}

// VariablesSet gives workflow variables new values.
type VariablesSet struct {
	Step string     `json:"step" cbor:"1,keyasint,omitempty"`
	Vars []Variable `json:"vars" cbor:"2,keyasint,omitempty"` // the values after any `reduce`
	// Given are the values before they were combined, of those variables that are.
	Given []Variable `json:"given,omitempty" cbor:"3,keyasint,omitempty"`
}

// EventEmitted is an event for the bus. The publisher takes it from the history.
type EventEmitted struct {
	Step   string  `json:"step" cbor:"1,keyasint,omitempty"`
	Kind   string  `json:"kind" cbor:"2,keyasint,omitempty"` // the emitted event's type
	Key    string  `json:"key,omitempty" cbor:"3,keyasint,omitempty"`
	Source string  `json:"source,omitempty" cbor:"4,keyasint,omitempty"`
	Data   Payload `json:"data,omitzero" cbor:"5,keyasint,omitzero"`
}

// Type implements Event.
func (ItemsSet) Type() EventType { return TypeItemsSet }

// Type implements Event.
func (ScopeOpened) Type() EventType { return TypeScopeOpened }

// Type implements Event.
func (ScopeClosed) Type() EventType { return TypeScopeClosed }

// Type implements Event.
func (ScopeEnding) Type() EventType { return TypeScopeEnding }

// Type implements Event.
func (IterationDelayed) Type() EventType { return TypeIterationDelayed }

// Type implements Event.
func (VariablesSet) Type() EventType { return TypeVariablesSet }

// Type implements Event.
func (EventEmitted) Type() EventType { return TypeEventEmitted }

func (ItemsSet) event()         {}
func (ScopeOpened) event()      {}
func (ScopeClosed) event()      {}
func (ScopeEnding) event()      {}
func (IterationDelayed) event() {}
func (VariablesSet) event()     {}
func (EventEmitted) event()     {}
