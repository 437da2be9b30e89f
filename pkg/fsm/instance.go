package fsm

// TransitionEvent is an event with all that a transition on it needs (WF-006 §23).
type TransitionEvent[E Event] struct {
	On     E
	Origin Origin
	// Facts.Version is ignored: an Instance knows its own.
	Facts Facts
}

// Instance is one running state machine with its state and version: the recommended interface of WF-006 §23. It suits
// whoever follows one machine with a version of its own. Where many machines share the version of one
// stream, as in an execution with its activities, Machine.Step is the one to use.
//
// It is a value: a copy goes its own way. It is not for concurrent use. The zero Instance refuses everything.
type Instance[S State, E Event] struct {
	machine Machine[S, E]
	current S
	version uint64
}

// Instance returns an instance before its creation: no state, version 0.
func (m Machine[S, E]) Instance() Instance[S, E] { return Instance[S, E]{machine: m} }

// Restore returns an instance as it was after the record with this state and version (§14). Only a created instance
// has a version, so one without the other is a *TransitionError.
func (m Machine[S, E]) Restore(current S, version uint64) (Instance[S, E], error) {
	var none S
	var noEvent E
	switch {
	case current == none && version != 0:
		return Instance[S, E]{}, m.incomplete(current, noEvent, "there is a version but no state: take both from one record")
	case current != none && version == 0:
		return Instance[S, E]{}, m.incomplete(current, noEvent, "there is a state but no version: take both from one record")
	}
	return Instance[S, E]{machine: m, current: current, version: version}, nil
}

// CurrentState returns the state after the last accepted transition; zero before creation.
func (i *Instance[S, E]) CurrentState() S { return i.current }

// Version returns the version of the last accepted transition; 0 before creation (§13).
func (i *Instance[S, E]) Version() uint64 { return i.version }

// Validate says, as nil or a *TransitionError, whether Transition would accept the event. It changes nothing.
func (i *Instance[S, E]) Validate(ev TransitionEvent[E]) error {
	_, err := i.step(&ev)
	return err
}

// Transition moves the instance and returns the record to persist. On a *TransitionError nothing has changed.
func (i *Instance[S, E]) Transition(ev TransitionEvent[E]) (Record[S], error) {
	rec, err := i.step(&ev)
	if err != nil {
		return Record[S]{}, err
	}
	i.current, i.version = rec.CurrentState, rec.Version
	return rec, nil
}

func (i *Instance[S, E]) step(ev *TransitionEvent[E]) (Record[S], error) {
	ev.Facts.Version = i.version
	return i.machine.Step(i.current, ev.On, &ev.Origin, &ev.Facts)
}
