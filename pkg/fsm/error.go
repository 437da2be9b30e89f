package fsm

import (
	"errors"
	"fmt"
)

// Why a transition was refused; a *TransitionError wraps one of these.
var (
	// ErrUnlisted says that the matrix has no such transition (WF-006 §8, §9).
	ErrUnlisted = errors.New("not in the matrix")
	// ErrTerminal says that the state is terminal, so that nothing leaves it (WF-006 §3).
	ErrTerminal = errors.New("terminal state")
	// ErrGuard says that a guard refused; TransitionError.Guard names it (WF-006 §10).
	ErrGuard = errors.New("guard refused")
	// ErrIncomplete says that something was missing which no transition can do without: the event, the facts, an
	// identity for the record. It is a fault of the caller.
	ErrIncomplete = errors.New("incomplete")
)

// TransitionError is a refused transition. Nothing has changed.
type TransitionError struct {
	// Machine and Version name the table that was asked.
	Machine string
	Version uint16
	// From and Event are wire names, "None" for the zero values.
	From, Event string
	// To is where the event would have led, "None" if there is no event.
	To string
	// Guard is the guard that refused, the zero Guard if none was asked.
	Guard Guard
	// Reason says what is wrong and the way out. It is for people.
	Reason string

	kind error
}

// Error names the machine, from, event, to, the guard and the reason.
func (e *TransitionError) Error() string {
	guard := ""
	if e.Guard != (Guard{}) {
		guard = " by guard " + e.Guard.String()
	}
	return fmt.Sprintf("fsm: %s v%d refuses %s (%s → %s)%s: %s", e.Machine, e.Version, e.Event, e.From, e.To, guard, e.Reason)
}

// Unwrap returns ErrUnlisted, ErrTerminal, ErrGuard or ErrIncomplete.
func (e *TransitionError) Unwrap() error { return e.kind }

// VersionError says that this program has no table of that version: it was written by newer code.
type VersionError struct {
	// Machine is "workflow" or "activity".
	Machine string
	// Version was asked for; Latest is the newest there is.
	Version, Latest uint16
}

// Error names both versions and the way out.
func (e *VersionError) Error() string {
	return fmt.Sprintf("fsm: there is no %s table v%d, the latest here is v%d: update this program", e.Machine, e.Version, e.Latest)
}
