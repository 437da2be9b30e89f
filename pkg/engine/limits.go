package engine

import "time"

// Limits of the engine. Each ends in a typed error that a workflow can catch, in a refusal, or in a further decision;
// none in silence.
const (
	// MaxEventBytes and MaxCommands bound one decision (commit protocol, point 2). What is left stays Ready.
	MaxEventBytes = 200 << 10
	MaxCommands   = 256
	// MaxValue is the most bytes of one rendered value that stands in a history: payload.too_large.
	MaxValue = 128 << 10
	// MaxInline is the most items of a foreach that run in the execution itself; more are spread over shards.
	MaxInline = 256
	// MaxItems is the most items of a foreach: foreach.too_many.
	MaxItems = 16 << 20
	// MaxCollected is the most bytes of what a foreach or a loop collects: payload.too_large.
	MaxCollected = 128 << 10
	// MaxSeen and SeenFor bound the IDs that are remembered.
	MaxSeen = 1000
	SeenFor = int64(24 * time.Hour)
	// MaxEarly and MaxEarlyBytes bound the signals that are kept: further ones are refused.
	MaxEarly      = 1000
	MaxEarlyBytes = 64 << 10
	// MaxCursors bounds the types and keys of events whose last number is remembered: beyond, those not taken for longest
	// are forgotten.
	MaxCursors = 1000
	// MaxUndo is the most steps whose work can be undone: a further one fails with compensate.too_many before it starts.
	MaxUndo = 10_000
	// MaxFailures bounds `execution.failures`.
	MaxFailures = 100
	// MaxChildren is the most children that nobody waits for: children.too_many.
	MaxChildren = 10_000
	// MaxDepth is the most executions that stand above one another as parent and child: children.too_deep.
	MaxDepth = 50
	// RootShare is what the first execution of a family may lend its children. MaxFamily is the most executions of a workflow that
	// starts itself which can be open at one depth below the first that runs it: children.family.
	RootShare = 1 << 53
	MaxFamily = 1 << 24
	// MaxName and MaxType are the most bytes of a key of events or an execution's ID, and of a type of events: no store takes
	// more. event.key, event.type, child.name_too_long.
	MaxName = 1024
	MaxType = 256
	// MaxTurns is the most turns of an agent loop: agent.max_turns. MaxCalls is the most calls of one turn.
	MaxTurns = 1000
	MaxCalls = 128
	// DefaultRecoveries is how often a step is started anew after its worker was lost, if it does not say.
	DefaultRecoveries = 3
	// MaxDuration bounds delays and timeouts that are expressions: 100 years.
	MaxDuration = int64(100 * 365 * 24 * time.Hour)
)
