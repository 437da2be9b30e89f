package flowtest

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// hook is an entry of `given` that has not happened yet.
type hook struct {
	given *given
	id    string
	armed bool // its time is known
	done  bool
}

// expectGiven puts what is given on the agenda.
func (w *world) expectGiven() {
	for i := range w.c.given {
		h := &hook{given: &w.c.given[i], id: "given-" + strconv.Itoa(i+1)}
		w.hooks = append(w.hooks, h)
		if h.given.once == "" {
			w.arm(h)
		}
	}
}

// onceReady arms what waits for a step to be ready.
func (w *world) onceReady(x *run, step string) {
	path := x.name(step)
	for _, h := range w.hooks {
		if !h.armed && (h.given.once == path || h.given.once == x.name(plainPath(step))) {
			w.arm(h)
		}
	}
}

func (w *world) arm(h *hook) {
	h.armed = true
	w.later(h.given.after, func() error { h.done = true; return w.happen(h) })
}

// lacking is the first entry of `given` that never happened.
func (w *world) lacking() *hook {
	for _, h := range w.hooks {
		if !h.done {
			return h
		}
	}
	return nil
}

// givenError places a refusal at the entry of `given` that it is about.
type givenError struct {
	at  workflow.Position
	err error
}

func (e *givenError) Error() string { return e.err.Error() }
func (e *givenError) Unwrap() error { return e.err }

// happen lets one entry of `given` happen.
func (w *world) happen(h *hook) error {
	err := w.happening(h)
	if reason, ok := refusal(err); ok {
		err = errors.New("what is given here was refused: " + reason)
	}
	if err != nil {
		return &givenError{h.given.at, err}
	}
	return nil
}

func (w *world) happening(h *hook) error {
	what := &h.given.what
	switch {
	case what.signal != nil:
		e := *what.signal
		e.ReceivedAt = w.now
		if e.ID == "" {
			e.ID = h.id
		}
		return w.decide(w.main, workflow.ExternalEvent{EarlyEvent: e})
	case what.event != nil:
		e := *what.event
		if e.ID == "" {
			e.ID = h.id
		}
		return w.publish(e)
	case what.decision != nil:
		d := *what.decision
		x, step, err := w.openStep(d.Step)
		if err != nil {
			return err
		}
		d.Step = step
		if d.ID == "" {
			d.ID = h.id
		}
		return w.decide(x, d)
	case what.callback != nil:
		return w.callBack(what.callback)
	case what.cancel != nil:
		c := *what.cancel
		c.ID = h.id
		return w.decide(w.main, c)
	}
	m := *what.operator
	m.ID = h.id
	return w.decide(w.main, m)
}

// openStep finds the step with an open task that a test names by its path, with or without indexes.
func (w *world) openStep(name string) (*run, string, error) {
	for i := len(w.order) - 1; i >= 0; i-- {
		x := w.order[i]
		for _, c := range engine.Outstanding(x.subject.program, x.state) {
			if t, ok := c.(workflow.AwaitTask); ok && (x.name(t.Step) == name || x.name(plainPath(t.Step)) == name) {
				return x, t.Step, nil
			}
		}
	}
	return nil, "", fmt.Errorf("step %s has no open task at this time: say `once: %s`, or another time", name, name)
}

// callBack answers a call of a step with `callback: true`.
func (w *world) callBack(b *callback) error {
	for i := len(w.order) - 1; i >= 0; i-- {
		x := w.order[i]
		for _, c := range engine.Outstanding(x.subject.program, x.state) {
			a, ok := c.(workflow.AwaitCallback)
			if !ok || x.name(a.Step) != b.step && x.name(plainPath(a.Step)) != b.step {
				continue
			}
			r := workflow.ActivityResult{AttemptRef: a.AttemptRef, Error: b.error}
			if b.error == nil {
				r.Output = workflow.Inline(b.output)
			}
			return w.decide(x, r)
		}
	}
	return fmt.Errorf("step %s does not wait for a callback at this time: its mock must be `silent: true`, or name another time by `after`", b.step)
}

// bus keeps the events of the outside, numbered within type and key and within type (commit protocol, point 12).
type bus struct {
	log   []workflow.EarlyEvent
	byKey map[string]uint64
	byAll map[string]uint64
}

func newBus() bus { return bus{byKey: map[string]uint64{}, byAll: map[string]uint64{}} }

// publish numbers an event and sends it to every execution that waits for one like it.
func (w *world) publish(e workflow.EarlyEvent) error {
	key := e.Kind + "\x00" + e.Key
	w.bus.byKey[key]++
	w.bus.byAll[e.Kind]++
	e.Number, e.KindNumber, e.ReceivedAt = w.bus.byKey[key], w.bus.byAll[e.Kind], w.now
	w.bus.log = append(w.bus.log, e)
	for _, x := range w.order {
		for _, c := range engine.Outstanding(x.subject.program, x.state) {
			if a, ok := c.(workflow.AwaitEvent); ok && wants(a, e) {
				if err := w.receive(x, a, e); err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

// subscribe sends an execution that begins to wait the events that came before.
func (w *world) subscribe(x *run, a workflow.AwaitEvent) error {
	for _, e := range w.bus.log {
		if !w.waitsStill(x, a) {
			return nil
		}
		if wants(a, e) {
			if err := w.receive(x, a, e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *world) waitsStill(x *run, a workflow.AwaitEvent) bool {
	for _, c := range engine.Outstanding(x.subject.program, x.state) {
		if now, ok := c.(workflow.AwaitEvent); ok && now.Step == a.Step {
			return true
		}
	}
	return false
}

func (w *world) receive(x *run, a workflow.AwaitEvent, e workflow.EarlyEvent) error {
	if len(a.Schema) > 0 {
		if err := fits(a.Schema, e.Data.JSON); err != nil {
			return fmt.Errorf("the event %s does not fit the schema of step %s: %w", e.Kind, a.Step, err)
		}
	}
	return w.decide(x, workflow.ExternalEvent{EarlyEvent: e})
}

// wants reports whether a subscription asks for an event.
func wants(a workflow.AwaitEvent, e workflow.EarlyEvent) bool {
	for i, p := range a.Patterns {
		number := e.Number
		if p.AnyKey {
			number = e.KindNumber
		}
		if p.Kind == e.Kind && (p.AnyKey || p.Key == e.Key) && (p.From == "" || p.From == e.From) && number > a.After[i] {
			return true
		}
	}
	return false
}
