package fsm

import "fmt"

// TableError says what is wrong with a table of transitions.
type TableError struct {
	// Machine and Version are those of the refused machine.
	Machine string
	Version uint16
	// Row is the index of the faulty transition, -1 if the fault is in none of them.
	Row int
	// Problem says what is wrong and what to do about it.
	Problem string
}

// Error names the machine, the row and the problem.
func (e *TableError) Error() string {
	if e.Row < 0 {
		return fmt.Sprintf("fsm: table %s v%d: %s", e.Machine, e.Version, e.Problem)
	}
	return fmt.Sprintf("fsm: table %s v%d, row %d: %s", e.Machine, e.Version, e.Row, e.Problem)
}

// New builds a machine from its rows and keeps a copy of them. It returns a *TableError if the table is not a sound
// machine: one creation; one edge for a state and event; one target for an event; every edge guarded by tenant and version;
// no exit from a terminal state but a marked one that the compensation guard holds; every state reachable, every event
// used, and no other state without an exit.
func New[S State, E Event](name string, version uint16, rows ...Transition[S, E]) (Machine[S, E], error) {
	t := &table[S, E]{name: name, version: version}
	if name == "" || version == 0 {
		return Machine[S, E]{}, t.problem(-1, "a machine has a name and a version from 1 on")
	}
	for i, row := range rows {
		if problem := t.add(row); problem != "" {
			return Machine[S, E]{}, t.problem(i, problem)
		}
	}
	if problem := t.gap(); problem != "" {
		return Machine[S, E]{}, t.problem(-1, problem)
	}
	return Machine[S, E]{t}, nil
}

// must is for the tables of this package: a fault in one is a fault of the program, found by its first test.
func must[S State, E Event](m Machine[S, E], err error) Machine[S, E] {
	if err != nil {
		panic(err)
	}
	return m
}

func (t *table[S, E]) problem(row int, text string) error {
	return &TableError{Machine: t.name, Version: t.version, Row: row, Problem: text}
}

// add enters a row, or says why it cannot.
func (t *table[S, E]) add(row Transition[S, E]) string {
	var none S
	from, on, to := name(row.From), name(row.On), name(row.To)
	target := t.targets[row.On.Code()]
	switch {
	case row.On.Code() == 0:
		return "there is no event"
	case row.To == none:
		return "it leads to no state"
	case row.To == row.From:
		return "it leads from " + from + " to itself, which is no transition"
	case t.edges[row.From.Code()][row.On.Code()].To != none:
		return "there is an edge from " + from + " on " + on + " already: one state and event lead to one state"
	case target != none && target != row.To:
		return on + " already leads to " + name(target) + ", not to " + to + ": an event names one change, use another event"
	case !row.Guards.Has(GuardTenant()) || !row.Guards.Has(GuardVersion()):
		return "every transition has the guards tenant and version"
	case row.From.Terminal() && !row.Reopens:
		return from + " is terminal: nothing leaves it unless marked by Reopens"
	case row.Reopens && !row.From.Terminal():
		return "Reopens marks exits from terminal states, and " + from + " is none"
	case row.Reopens && !row.Guards.Has(GuardCompensation()):
		return "only the guard compensation can open a terminal state"
	}
	t.edges[row.From.Code()][row.On.Code()] = row
	t.targets[row.On.Code()] = row.To
	t.rows = append(t.rows, row)
	return ""
}

// gap says what is wrong with the table as a whole.
func (t *table[S, E]) gap() string {
	var none S
	var noEvent E
	creations := 0
	var exits [side]bool
	for _, row := range t.rows {
		exits[row.From.Code()] = true
		if row.From == none {
			creations++
		}
	}
	if creations != 1 {
		return fmt.Sprintf("there are %d transitions out of nothing: an instance comes into being by exactly one", creations)
	}
	reached := t.reachable()
	for c := uint8(1); c <= none.names().last(); c++ {
		if !reached[c] {
			return "state " + none.names().text(c) + " cannot be reached: add a transition that leads to it"
		}
	}
	for c := uint8(1); c <= noEvent.names().last(); c++ {
		if t.targets[c] == none {
			return "event " + noEvent.names().text(c) + " is in no transition: add one"
		}
	}
	for _, row := range t.rows {
		if !row.To.Terminal() && !exits[row.To.Code()] {
			return "state " + name(row.To) + " is not terminal but nothing leaves it: add a transition"
		}
	}
	return ""
}

// reachable marks the states that some path leads to, by code.
func (t *table[S, E]) reachable() [side]bool {
	reached := [side]bool{0: true}
	for range side { // no path needs more edges than there are states
		for _, row := range t.rows {
			if reached[row.From.Code()] {
				reached[row.To.Code()] = true
			}
		}
	}
	return reached
}
