package fsm

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// State is the type of a machine's states. The union seals it: there is no machine over numbers, texts or another
// package's types.
type State interface {
	WorkflowState | ActivityState
	Code() uint8
	Terminal() bool
	names() *names
}

// Event is the type of a machine's events, sealed likewise.
type Event interface {
	WorkflowEvent | ActivityEvent
	Code() uint8
	names() *names
}

// Transition is one edge of a machine, as a value: in state From, event On leads to state To if all Guards hold.
type Transition[S State, E Event] struct {
	// From is zero for the transition that brings an instance into being.
	From   S
	On     E
	To     S
	Guards GuardSet
	// Reopens marks an exit from a terminal state. WF-006 has one: Failed → Compensating.
	Reopens bool
}

// Machine is a table of transitions with a name and a version: an immutable value, cheap to copy, safe for concurrent
// use. New makes it; the zero Machine refuses everything. An execution stays on the version that it was started with.
type Machine[S State, E Event] struct{ table *table[S, E] }

type table[S State, E Event] struct {
	name    string
	version uint16
	rows    []Transition[S, E]
	// edges has the row of each state and event, by code. A zero To is an edge that does not exist.
	edges [side][side]Transition[S, E]
	// targets has the state that each event leads to, for refusals.
	targets [side]S
}

// Name is "workflow" or "activity".
func (m Machine[S, E]) Name() string {
	if m.table == nil {
		return "zero machine"
	}
	return m.table.name
}

// Version is the table's version; 0 for the zero Machine.
func (m Machine[S, E]) Version() uint16 {
	if m.table == nil {
		return 0
	}
	return m.table.version
}

// Transitions yields the edges in the order of the table.
func (m Machine[S, E]) Transitions() iter.Seq[Transition[S, E]] {
	if m.table == nil {
		return func(func(Transition[S, E]) bool) {}
	}
	return slices.Values(m.table.rows)
}

// Edge returns the transition that event on takes from a state, and whether there is one. It asks no guard.
func (m Machine[S, E]) Edge(from S, on E) (Transition[S, E], bool) {
	if m.table == nil {
		return Transition[S, E]{}, false
	}
	e := m.table.edges[from.Code()%side][on.Code()%side]
	var none S
	return e, e.To != none
}

// Next returns the state that event on leads to from a state, if the table has that edge and the facts satisfy its
// guards (WF-006 §8 to §10). Otherwise it returns no state and a *TransitionError. It reads the facts and keeps nothing.
func (m Machine[S, E]) Next(from S, on E, facts *Facts) (S, error) {
	var none S
	if m.table == nil || facts == nil {
		return none, m.refuse(from, on, Guard{}, facts)
	}
	e := &m.table.edges[from.Code()%side][on.Code()%side]
	if e.To == none {
		return none, m.refuse(from, on, Guard{}, facts)
	}
	if g := e.Guards.refusing(facts); g.guard != 0 {
		return none, m.refuse(from, on, g, facts)
	}
	return e.To, nil
}

// Step is Next together with the record that must be stored before the transition counts (WF-006 §12). The record's
// version is one above facts.Version. An origin that lacks what the record needs is a *TransitionError too.
func (m Machine[S, E]) Step(from S, on E, origin *Origin, facts *Facts) (Record[S], error) {
	to, err := m.Next(from, on, facts)
	if err != nil {
		return Record[S]{}, err
	}
	if origin == nil || !origin.complete() {
		return Record[S]{}, m.incomplete(from, on, origin.missing())
	}
	return Record[S]{
		WorkflowID:     origin.WorkflowID,
		ExecutionID:    origin.ExecutionID,
		PreviousState:  from,
		CurrentState:   to,
		TransitionTime: origin.At.Round(0).UTC(), // without zone and monotonic reading: equal times are equal records
		WorkerID:       origin.WorkerID,
		CorrelationID:  origin.CorrelationID,
		CausationID:    origin.CausationID,
		Version:        facts.Version + 1,
		Reason:         origin.Reason,
	}, nil
}

// refuse builds the error for a transition that guard g refused or, without a guard, that cannot be at all.
func (m Machine[S, E]) refuse(from S, on E, g Guard, facts *Facts) error {
	switch {
	case m.table == nil:
		return m.incomplete(from, on, "the zero Machine has no transitions: use WorkflowMachine or ActivityMachine")
	case on.Code() == 0:
		return m.incomplete(from, on, "there is no event")
	case facts == nil:
		return m.incomplete(from, on, "there are no facts")
	case g.guard != 0:
		return m.refusal(ErrGuard, from, on, g, g.refusal(facts))
	case from.Terminal():
		return m.refusal(ErrTerminal, from, on, g, m.terminalReason(from))
	}
	return m.refusal(ErrUnlisted, from, on, g, "possible here: "+m.exits(from))
}

func (m Machine[S, E]) terminalReason(from S) string {
	reason := name(from) + " is terminal and immutable: start a new execution"
	if exits := m.exits(from); exits != "" {
		reason += "; the one way out is " + exits
	}
	return reason
}

// exits lists the edges that leave a state: "WorkflowPaused → Waiting, …".
func (m Machine[S, E]) exits(from S) string {
	var list []string
	for t := range m.Transitions() {
		if t.From == from {
			list = append(list, name(t.On)+" → "+name(t.To))
		}
	}
	return strings.Join(list, ", ")
}

func (m Machine[S, E]) incomplete(from S, on E, reason string) error {
	return m.refusal(ErrIncomplete, from, on, Guard{}, reason)
}

func (m Machine[S, E]) refusal(kind error, from S, on E, g Guard, reason string) error {
	var to S
	if m.table != nil {
		to = m.table.targets[on.Code()%side]
	}
	return &TransitionError{
		Machine: m.Name(),
		Version: m.Version(),
		From:    name(from),
		Event:   name(on),
		To:      name(to),
		Guard:   g,
		Reason:  reason,
		kind:    kind,
	}
}

// String is the machine's name and version: "workflow v1".
func (m Machine[S, E]) String() string { return fmt.Sprintf("%s v%d", m.Name(), m.Version()) }
