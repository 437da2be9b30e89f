package sim

// Bug is one wrong way to do what the commit protocol says. A simulation with a bug must find a violation: that shows that the
// checkers can see, and why the rule is there.
type Bug string

// The bugs that stand in the simulated platform. Those in the worker itself are worker.Mutants.
const (
	// AcknowledgeFirst acknowledges a message when it is received.
	AcknowledgeFirst Bug = "acknowledge first"
	// EntryMoved keeps one timer entry for each execution and moves it.
	EntryMoved Bug = "entry moved"
	// NoSweep never looks for what was lost.
	NoSweep Bug = "no sweep"
	// KeyByLast stores a commit under the number of its last event, so that batches of different length do not collide.
	KeyByLast Bug = "key by the last event"
	// StableID derives the deduplication ID of a timer's message from its content.
	StableID Bug = "deterministic deduplication ID"
)

// Bugs lists them.
var Bugs = []Bug{AcknowledgeFirst, EntryMoved, NoSweep, KeyByLast, StableID}
