package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Content events (commit protocol, point 12). An event is put under its key and once more under anyKey, for waits that name only a type:
// each topic numbers for itself, and an execution remembers the last number that it took of each. A wait that names a key finds what came
// before its execution; one that names only a type finds what came since its execution began, among the newest of the type: it could
// not tell which of the older ones are meant for it, and a type can have any number of events.

// anyKey is the key of the topic that holds all events of a type. No real key contains NUL.
const anyKey = "\x00"

// skew is how far the clocks of two workers may be apart where that decides what is old.
const skew = time.Minute

// maxArrived is how many events of a topic are read at a time.
const maxArrived = 100

// Event is what a sender sends.
type Event struct {
	ID     string           `json:"id"`
	Type   string           `json:"type"`
	Key    string           `json:"key,omitempty"`
	Source string           `json:"source,omitempty"`
	From   string           `json:"from,omitempty"` // bus, webhook, queue, file
	Data   workflow.Payload `json:"data,omitzero"`

	// before is another ID under which it may have come already, at since or later; empty: none.
	before string
	since  int64
}

// Publish keeps an event for whoever waits for it, now or later, sends hints to those who do, and starts the workflows that it triggers. The same
// ID again sends the hints again and keeps and starts nothing twice. A key with too many events is an *eventstore.QuotaError.
func (w *Worker) Publish(ctx context.Context, tenant string, e Event) error {
	return w.publish(ctx, tenant, e, nil)
}

// publish is Publish for an event of a sender; nil: from outside.
func (w *Worker) publish(ctx context.Context, tenant string, e Event, from *sender) error {
	kept, _, err := w.keepEvent(ctx, eventstore.Topic{Tenant: tenant, Type: e.Type, Key: e.Key}, e, 0)
	if err != nil {
		return err
	}
	e.ID, e.before = kept.ID, "" // from here on it is what it came as
	_, triggers, err := w.keepEvent(ctx, eventstore.Topic{Tenant: tenant, Type: e.Type, Key: anyKey}, e, kept.Number)
	if err != nil {
		return err
	}
	return w.fire(ctx, tenant, triggers, e, from)
}

// keepEvent puts an event under a topic, tells those who wait for it, and returns what is kept there, and the workflows that it may start. keyed is its
// number under its key, in the topic of all keys: an execution that took it under the one does not take it under the other. Where events are
// about nothing in particular, the oldest make room for a new one.
func (w *Worker) keepEvent(ctx context.Context, topic eventstore.Topic, e Event, keyed uint64) (kept eventstore.Event, triggers []string, err error) {
	data, err := encodeEvent(e, keyed)
	if err != nil {
		return kept, nil, err
	}
	now := w.Clock.Now()
	kept, err = w.Store.PutEvent(ctx, topic, eventstore.Event{ID: e.ID, Source: e.Source, Data: data, At: now, Expires: now + int64(w.Limits.EventLife),
		Sliding: topic.Key == anyKey || topic.Key == "", Before: e.before, Since: e.since})
	if err != nil {
		return kept, nil, fmt.Errorf("worker: keep event %s: %w", topic, err)
	}
	triggers, err = w.hint(ctx, topic, e)
	return kept, triggers, err
}

// hint tells those who wait for a topic to look, and returns the workflows among its subscribers.
func (w *Worker) hint(ctx context.Context, topic eventstore.Topic, e Event) (triggers []string, err error) {
	for page := (eventstore.Page{}); ; {
		subscribers, next, err := w.Store.Subscribers(ctx, topic, page)
		if err != nil {
			return nil, fmt.Errorf("worker: subscribers of %s: %w", topic, err)
		}
		hints := make([]Message, 0, len(subscribers))
		for _, s := range subscribers {
			if name, ok := listener(topic, s); ok {
				triggers = append(triggers, name)
				continue
			}
			m := Message{ID: w.Entropy.ID(), Stream: eventstore.Stream{Tenant: topic.Tenant, ID: s.Execution}}
			if mutated(CarryEvent) {
				m.Input = workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: e.ID + "#" + m.ID, Kind: e.Type, Key: e.Key, Data: e.Data}}
			}
			hints = append(hints, m)
		}
		if len(hints) > 0 {
			if err := w.Inbox.Send(ctx, hints...); err != nil {
				return nil, err
			}
		}
		if next == "" {
			return triggers, nil
		}
		page.Cursor = next
	}
}

// topicOf is where the events of a pattern are kept.
func topicOf(tenant string, p workflow.AwaitedPattern) eventstore.Topic {
	if p.AnyKey {
		return eventstore.Topic{Tenant: tenant, Type: p.Kind, Key: anyKey}
	}
	return eventstore.Topic{Tenant: tenant, Type: p.Kind, Key: p.Key}
}

// subscribe writes the waiter's subscriptions and then reads what is there already: the sender does it the other way round, so
// that one of them sees the other.
func (o *outbox) subscribe(ctx context.Context, c workflow.AwaitEvent) error {
	there := false
	for i, pattern := range c.Patterns {
		topic := topicOf(o.x.stream.Tenant, pattern)
		s := eventstore.Subscription{Topic: topic, Execution: o.x.stream.ID, Waiter: c.Step, Expires: o.w.Clock.Now() + int64(subscriptionLife)}
		if !mutated(ReadThenSubscribe) {
			if err := o.w.Store.Subscribe(ctx, s); err != nil {
				return err
			}
		}
		events, err := o.w.Store.ReadEvents(ctx, topic, c.After[i], o.w.Clock.Now(), 1)
		if err != nil {
			return err
		}
		there = there || len(events) > 0
		if mutated(ReadThenSubscribe) {
			if err := o.w.Store.Subscribe(ctx, s); err != nil {
				return err
			}
		}
	}
	if there {
		o.messages = append(o.messages, Message{ID: o.w.Entropy.ID(), Stream: o.x.stream, Floor: o.x.version()})
	}
	return nil
}

// subscriptionLife is how long a subscription stands without being renewed; the sweep renews those of open executions well before, as Recheck
// is shorter.
const subscriptionLife = 48 * time.Hour

// arrived hands the events that an execution waits for and has not taken to a turn, oldest first of each topic, and returns the payloads of those
// that were taken. Those that no wait accepts lie before those that one may, so all that are kept are read, up to the quota of a topic.
func (w *Worker) arrived(ctx context.Context, x *execution, t *engine.Turn) (brought refs, err error) {
	if x.state == nil {
		return nil, nil
	}
	for _, c := range engine.Outstanding(x.program, x.state) {
		await, ok := c.(workflow.AwaitEvent)
		if !ok {
			continue
		}
		for i, pattern := range await.Patterns {
			if err := w.arrivedIn(ctx, x, t, pattern, await.After[i], &brought); err != nil {
				return brought, err
			}
		}
	}
	return brought, nil
}

func (w *Worker) arrivedIn(ctx context.Context, x *execution, t *engine.Turn, pattern workflow.AwaitedPattern, after uint64, brought *refs) error {
	topic := topicOf(x.stream.Tenant, pattern)
	for {
		events, err := w.Store.ReadEvents(ctx, topic, after, w.Clock.Now(), maxArrived)
		if err != nil {
			return fmt.Errorf("worker: events of %s: %w", topic, err)
		}
		for _, e := range events {
			if pattern.AnyKey && e.At < x.state.CreatedAt-int64(skew) {
				continue
			}
			in, err := decodeEvent(e, pattern.AnyKey)
			if err != nil {
				return err
			}
			taken := false
			if pattern.AnyKey && !mutated(SkipBefore) {
				taken, err = w.handBefore(ctx, x, t, in, brought)
			}
			if err == nil && !taken {
				taken, err = hand(t, in, brought)
			}
			if err != nil || taken {
				return err // taken: the subscription of a wait that comes next looks at the rest
			}
		}
		if len(events) < maxArrived {
			return nil
		}
		after = events[len(events)-1].Number
	}
}

// hand gives an event to a turn, and reports whether a wait took it.
func hand(t *engine.Turn, in workflow.ExternalEvent, brought *refs) (taken bool, err error) {
	if t.Full() {
		return false, errFull
	}
	before := t.Events()
	var refused *engine.RefusedError
	if err := t.Handle(in); errors.As(err, &refused) {
		return false, nil // Publish keeps none that can be refused, but may have done so
	} else if err != nil {
		return false, err
	}
	if t.Events() > before {
		brought.payload(in.Data)
		return true, nil
	}
	if t.Full() {
		return false, errFull
	}
	return false, nil
}

// maxOvertaken is how many events of a key may be overtaken by one that was sent after them.
const maxOvertaken = 32

// handBefore hands those events of a key to a turn that come before one which was found among those of all keys: a sender that died in between may
// have put it there first, and whoever takes it passes over all that have a lower number under the key.
func (w *Worker) handBefore(ctx context.Context, x *execution, t *engine.Turn, found workflow.ExternalEvent, brought *refs) (taken bool, err error) {
	after := uint64(0)
	for _, c := range x.state.Cursors {
		if c.Kind == found.Kind && c.Key == found.Key && !c.AnyKey {
			after = c.Number
		}
	}
	if found.Number > maxOvertaken {
		after = max(after, found.Number-maxOvertaken-1)
	}
	if found.Number <= after+1 {
		return false, nil
	}
	topic := eventstore.Topic{Tenant: x.stream.Tenant, Type: found.Kind, Key: found.Key}
	events, err := w.Store.ReadEvents(ctx, topic, after, w.Clock.Now(), int(found.Number-after-1))
	if err != nil {
		return false, fmt.Errorf("worker: events of %s: %w", topic, err)
	}
	for _, e := range events {
		if e.Number >= found.Number || e.At < x.state.CreatedAt-int64(skew) {
			continue
		}
		in, err := decodeEvent(e, false)
		if err != nil {
			return false, err
		}
		if taken, err := hand(t, in, brought); err != nil || taken {
			return taken, err
		}
	}
	return false, nil
}

// errFull says that an event may not have been taken only because the decision is full: the hint must come again.
var errFull = errors.New("worker: the decision is full")

// ErrEventTooLarge says that an event's data does not fit where it is kept.
var ErrEventTooLarge = errors.New("worker: the data of the event is too large: put it into the payload store and send a reference")
