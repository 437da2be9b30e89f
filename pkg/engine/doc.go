// Package engine decides what workflows do. It is pure: no clock, no randomness, no I/O, no goroutines.
//
//	Link(definition) → Program          once a definition
//	Turn / Decide(state, input) → Decision{Events, Commands, …}
//	Apply(state, event) → state         what happened, without evaluating any expression
//	Replay(checkpoint, events) → state  the fold of Apply
//	Outstanding(state) → commands       undelivered work, from state alone
//	Due(state) → time                   the earliest deadline
//
// A decision makes an event, applies it, looks at what is enabled now, and so on until nothing is. Live running
// and replay go through the same Apply, so they cannot differ.
//
// The shell (package worker) loads a state, hands inputs to a Turn, stores the decision's events in one
// conditional write, and only then carries out its commands.
//
// What the language leaves open is decided in docs/semantics.md, by number; comments refer to it as "semantics 12".
//
// Where to start reading: turn.go, then step.go, join.go and ending.go; each kind of step has a file of its own.
package engine
