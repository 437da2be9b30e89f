package worker

import "time"

// Limits bound every loop, lease and batch of the worker (commit protocol, point 16).
type Limits struct {
	// Conflicts is how often a decision is made anew after somebody else wrote first.
	Conflicts int
	// Writes is how often a write is repeated while its outcome is unknown.
	Writes int
	// Chain is how many steps one task may run eagerly; Share, what part of the time until Delivery.Until, in percent.
	Chain, Share int
	// Crowd is beside how many tasks of its execution a task commits its result itself; 0: beside any number. It is for platforms whose workers do
	// not see each other: one process sees for itself where results meet.
	Crowd int
	// Lease is the life of a claim between heartbeats; a step's heartbeat policy can shorten it.
	Lease time.Duration
	// Retry is how long a message rests that could not be handled for a passing reason.
	Retry time.Duration
	// Dispatch is how long a command may be on its way before the sweep looks.
	Dispatch time.Duration
	// Recheck is how often the sweep looks at an execution that waits for something without a deadline.
	Recheck time.Duration
	// Inline is the most bytes of a result that stand in the history; larger ones go to the payload store.
	Inline int
	// Known is the most bytes of those parts of a stored result that expressions read.
	Known int
	// Checkpoint is the least number of bytes of commits between checkpoints; StateInline the most of a state in a commit.
	Checkpoint, StateInline int
	// EventLife is how long content events are kept.
	EventLife time.Duration
	// ClaimLife is how long a claim outlives its attempt: longer than any queue keeps a message.
	ClaimLife time.Duration
	// Repairs is how often the sweep sends what must have been lost before it reports the execution as stuck.
	Repairs uint32
	// Retention is how long an execution is kept after its end; 0: for ever.
	Retention time.Duration
}

// DefaultLimits are those of both platforms.
func DefaultLimits() Limits {
	return Limits{
		Conflicts: 3, Writes: 5, Chain: 50, Share: 50,
		Lease: 30 * time.Second, Retry: 2 * time.Second, Dispatch: time.Minute, Recheck: 6 * time.Hour,
		Inline: 32 << 10, Known: 32 << 10, Checkpoint: 16 << 10, StateInline: 200_000,
		EventLife: 14 * 24 * time.Hour, ClaimLife: 15 * 24 * time.Hour, Repairs: 20,
	}
}
