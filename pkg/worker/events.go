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
// each topic numbers for itself, and an execution remembers the last number that it took of each.

// anyKey is the key of the topic that holds all events of a type. No real key contains NUL.
const anyKey = "\x00"

// maxArrived is how many events of a topic one hint reads.
const maxArrived = 100

// Event is what a sender sends.
type Event struct {
	ID, Type, Key, Source, From string
	Data                        workflow.Payload
}

// Publish keeps an event for whoever waits for it, now or later, and sends hints to those who do. The same ID again sends
// the hints again and keeps nothing twice. A full topic is an *eventstore.QuotaError.
func (w *Worker) Publish(ctx context.Context, tenant string, e Event) error {
	data, err := encodeEvent(e)
	if err != nil {
		return err
	}
	now := w.Clock.Now()
	for _, key := range []string{e.Key, anyKey} {
		topic := eventstore.Topic{Tenant: tenant, Type: e.Type, Key: key}
		stored := eventstore.Event{ID: e.ID, Source: e.Source, Data: data, At: now, Expires: now + int64(w.Limits.EventLife)}
		if _, err := w.Store.PutEvent(ctx, topic, stored); err != nil {
			return fmt.Errorf("worker: keep event %s: %w", topic, err)
		}
		if err := w.hint(ctx, topic); err != nil {
			return err
		}
	}
	return nil
}

// hint tells those who wait for a topic to look.
func (w *Worker) hint(ctx context.Context, topic eventstore.Topic) error {
	for page := (eventstore.Page{}); ; {
		subscribers, next, err := w.Store.Subscribers(ctx, topic, page)
		if err != nil {
			return fmt.Errorf("worker: subscribers of %s: %w", topic, err)
		}
		hints := make([]Message, len(subscribers))
		for i, s := range subscribers {
			hints[i] = Message{ID: w.Entropy.ID(), Stream: eventstore.Stream{Tenant: topic.Tenant, ID: s.Execution}}
		}
		if len(hints) > 0 {
			if err := w.Inbox.Send(ctx, hints...); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
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
		if err := o.w.Store.Subscribe(ctx, s); err != nil {
			return err
		}
		events, err := o.w.Store.ReadEvents(ctx, topic, c.After[i], o.w.Clock.Now(), 1)
		if err != nil {
			return err
		}
		there = there || len(events) > 0
	}
	if there {
		o.messages = append(o.messages, Message{ID: o.w.Entropy.ID(), Stream: o.x.stream, Floor: o.x.version()})
	}
	return nil
}

// subscriptionLife is how long a subscription stands without being renewed; the sweep renews those of open executions well before, as Recheck
// is shorter.
const subscriptionLife = 48 * time.Hour

// arrived are the events that an execution waits for and has not taken, oldest first of each topic.
func (w *Worker) arrived(ctx context.Context, x *execution) ([]workflow.Input, error) {
	if x.state == nil {
		return nil, nil
	}
	var out []workflow.Input
	for _, c := range engine.Outstanding(x.program, x.state) {
		await, ok := c.(workflow.AwaitEvent)
		if !ok {
			continue
		}
		for i, pattern := range await.Patterns {
			topic := topicOf(x.stream.Tenant, pattern)
			events, err := w.Store.ReadEvents(ctx, topic, await.After[i], w.Clock.Now(), maxArrived)
			if err != nil {
				return nil, fmt.Errorf("worker: events of %s: %w", topic, err)
			}
			for _, e := range events {
				in, err := decodeEvent(e, pattern.AnyKey)
				if err != nil {
					return nil, err
				}
				out = append(out, in)
			}
		}
	}
	return out, nil
}

// ErrEventTooLarge says that an event's data does not fit where it is kept.
var ErrEventTooLarge = errors.New("worker: the data of the event is too large: put it into the payload store and send a reference")
