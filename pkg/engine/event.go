package engine

import (
	"time"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Steps that wait for an event. Events with numbers lie in the event store: an input is only a hint of one, and a wait takes
// the oldest above the last number taken that fits (commit protocol, point 12). Signals to this execution, which have no
// number, are kept in the state.

// fromReasons says what a wait for events of a source is.
var fromReasons = map[string]workflow.WaitReason{
	"webhook": workflow.WaitWebhook, "file": workflow.WaitFile, "queue": workflow.WaitEvent, "bus": workflow.WaitEvent, "": workflow.WaitEvent,
}

func eventWaits(_ *node, o *workflow.OpenStep) workflow.WaitReason {
	if len(o.Patterns) == 0 {
		return 0
	}
	return fromReasons[o.Patterns[0].From]
}

func startEvent(t *Turn, in inst) {
	a := t.lazily(in)
	e := workflow.EventAwaited{Step: in.path}
	for i := range in.node.step.Event.Any {
		p := &in.node.step.Event.Any[i]
		key, err := renderKey(p.Key, a)
		if err != nil {
			t.failStart(in, err)
			return
		}
		e.Patterns = append(e.Patterns, workflow.AwaitedPattern{Kind: p.Type, Key: key, AnyKey: p.Key == nil, From: p.From})
	}
	l, err := t.limitsOf(in, a)
	if err != nil {
		t.failStart(in, err)
		return
	}
	t.begin(in, t.env.By, l)
	e.WaitBy = in.open().WaitBy
	t.move(e)
	for i := range t.s.Early {
		if early := t.s.Early[i]; t.fitsEvent(in, &early) {
			t.emit(workflow.EventTaken{Step: in.path, ID: early.ID})
			t.complete(in, eventOutput(&early))
			return
		}
	}
	t.ask(in)
}

// onEvent takes an event: an open wait ends with it, or it is kept.
func (t *Turn) onEvent(e workflow.ExternalEvent) error {
	if e.ID == "" || e.Kind == "" {
		return refuse(e, "it has no ID or no type")
	}
	if err := bounded(e, "its data", e.Data); err != nil {
		return err
	}
	if t.seen(e.ID) {
		return nil
	}
	ev := e.EarlyEvent
	if ev.ReceivedAt == 0 {
		ev.ReceivedAt = t.now
	}
	numbered := ev.Number > 0 || ev.KindNumber > 0
	if numbered && (ev.Number == 0 || ev.Number <= t.cursor(ev.Kind, ev.Key, false)) &&
		(ev.KindNumber == 0 || ev.KindNumber <= t.cursor(ev.Kind, "", true)) {
		return nil // taken, or passed over
	}
	if in, ok := t.waiter(t.s.Root, &ev); ok {
		t.emit(workflow.EventReceived{Step: in.path, Event: ev})
		t.complete(in, eventOutput(&ev))
		return nil
	}
	if numbered {
		return nil // it stays in the event store, where a wait will find it
	}
	if len(t.s.Early) >= MaxEarly || earlyBytes(t.s.Early)+weighPayload(ev.Data) > MaxEarlyBytes {
		return refuse(e, "%d signals that no step has taken are kept already: wait for them, or pass large data by reference", len(t.s.Early))
	}
	t.emit(workflow.EventReceived{Event: ev})
	return nil
}

func earlyBytes(list []workflow.EarlyEvent) (n int) {
	for i := range list {
		n += weighPayload(list[i].Data)
	}
	return n
}

// waiter finds the first open wait, in the order of the tree, that an event fits.
func (t *Turn) waiter(f *workflow.Frame, ev *workflow.EarlyEvent) (inst, bool) {
	if f == nil || f.Active == 0 {
		return inst{}, false
	}
	for i := range f.Steps {
		o := f.Steps[i].Open
		if o == nil {
			continue
		}
		if len(o.Patterns) > 0 {
			if in := t.child(f, i); t.fitsEvent(in, ev) {
				return in, true
			}
		}
		if o.Scope == nil || endingInside(o) {
			continue
		}
		for _, inner := range o.Scope.Frames {
			if inner != nil && !inner.Closed && inner.Error == nil {
				if in, ok := t.waiter(inner, ev); ok {
					return in, ok
				}
			}
		}
	}
	return inst{}, false
}

// fitsEvent reports whether an event ends a wait. A `match` that cannot be evaluated, and data that the schema refuses, do not fit.
func (t *Turn) fitsEvent(in inst, ev *workflow.EarlyEvent) bool {
	w := in.node.step.Event
	for i, p := range in.open().Patterns {
		switch {
		case p.Kind != ev.Kind, !p.AnyKey && p.Key != ev.Key, p.From != "" && p.From != ev.From:
			continue
		case p.AnyKey && ev.KindNumber > 0 && ev.KindNumber <= t.cursor(ev.Kind, "", true):
			continue
		case !p.AnyKey && ev.Number > 0 && ev.Number <= t.cursor(ev.Kind, ev.Key, false):
			continue
		}
		if m := w.Any[i].Match; m != nil {
			if ok, err := evalBool(m, t.at(in, named{"event", eventBinding(ev)})); err != nil || !ok {
				continue
			}
		}
		if t.misfit(w.Schema, ev.Data) == "" {
			return true
		}
	}
	return false
}

// eventBinding is `event`.
func eventBinding(ev *workflow.EarlyEvent) expr.Binding { return expr.Of(eventOutput(ev)) }

// eventOutput is {id, type, source, key, data, received_at}.
func eventOutput(ev *workflow.EarlyEvent) workflow.Payload {
	b := append([]byte(`{"data":`), orNull(ev.Data).JSON...)
	b = appendText(append(b, `,"id":`...), ev.ID)
	b = appendText(append(b, `,"key":`...), ev.Key)
	b = appendText(append(b, `,"received_at":`...), time.Unix(0, ev.ReceivedAt).UTC().Format(time.RFC3339Nano))
	b = appendText(append(b, `,"source":`...), ev.Source)
	b = appendText(append(b, `,"type":`...), ev.Kind)
	return workflow.Payload{JSON: append(b, '}'), Holes: under("/data", ev.Data.Holes)}
}
