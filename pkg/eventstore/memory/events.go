package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

type event struct {
	topic eventstore.Topic
	eventstore.Event
}

func compareTopics(a, b eventstore.Topic) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Type, b.Type), strings.Compare(a.Key, b.Key))
}

func compareEvents(a, b event) int {
	return cmp.Or(compareTopics(a.topic, b.topic), cmp.Compare(a.Number, b.Number))
}

func compareSubscriptions(a, b eventstore.Subscription) int {
	return cmp.Or(compareTopics(a.Topic, b.Topic), strings.Compare(a.Execution, b.Execution), strings.Compare(a.Waiter, b.Waiter))
}

// topic returns the events of a topic above a number. The newest one that ever was is always among those above 0.
func (s *Store) topic(t eventstore.Topic, after uint64) []event {
	rest := s.events.after(event{topic: t, Event: eventstore.Event{Number: after}})
	if end := slices.IndexFunc(rest, func(e event) bool { return e.topic != t }); end >= 0 {
		rest = rest[:end]
	}
	return rest
}

// PutEvent implements eventstore.Events.
func (s *Store) PutEvent(ctx context.Context, t eventstore.Topic, e eventstore.Event) (eventstore.Event, error) {
	if err := s.enter(ctx, cmp.Or(t.Check(), e.Check())); err != nil {
		return eventstore.Event{}, err
	}
	defer s.mu.Unlock()
	all := slices.Clone(s.topic(t, 0))
	kept := slices.DeleteFunc(slices.Clone(all), func(k event) bool { return k.Expires <= e.At })
	for _, k := range slices.Backward(kept[max(0, len(kept)-eventstore.DedupeWindow):]) {
		if e.Repeats(k.ID, k.At) {
			k.Data = bytes.Clone(k.Data)
			return k.Event, nil
		}
	}
	e.Number = 1
	if len(all) > 0 {
		e.Number = all[len(all)-1].Number + 1
	}
	switch {
	case len(kept) == 0 || e.Number-kept[0].Number < eventstore.MaxKeptEvents:
	case !e.Sliding:
		return eventstore.Event{}, &eventstore.QuotaError{Topic: t, Limit: eventstore.MaxKeptEvents}
	default:
		for _, old := range all {
			if old.Number+eventstore.MaxKeptEvents <= e.Number {
				s.events.remove(old)
			}
		}
	}
	e = e.Stored()
	stored := e
	stored.Data = bytes.Clone(e.Data)
	s.events.put(event{t, stored})
	return e, nil
}

// ReadEvents implements eventstore.Events.
func (s *Store) ReadEvents(ctx context.Context, t eventstore.Topic, after uint64, now int64, limit int) ([]eventstore.Event, error) {
	limit, wrong := eventstore.Page{Limit: limit}.Size()
	if err := s.enter(ctx, cmp.Or(t.Check(), wrong)); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	kept := slices.DeleteFunc(slices.Clone(s.topic(t, after)), func(k event) bool { return k.Expires <= now })
	page, _ := pageOf(kept, limit, func(k event) int { return len(k.Data) })
	var out []eventstore.Event
	for _, k := range page {
		k.Data = bytes.Clone(k.Data)
		out = append(out, k.Event)
	}
	return out, nil
}

// Subscribe implements eventstore.Subscriptions.
func (s *Store) Subscribe(ctx context.Context, sub eventstore.Subscription) error {
	if err := s.enter(ctx, sub.Check()); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.subscribers.put(sub)
	return nil
}

// Unsubscribe implements eventstore.Subscriptions.
func (s *Store) Unsubscribe(ctx context.Context, sub eventstore.Subscription) error {
	if err := s.enter(ctx, sub.Check()); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.subscribers.remove(sub)
	return nil
}

// Subscribers implements eventstore.Subscriptions.
func (s *Store) Subscribers(ctx context.Context, t eventstore.Topic, p eventstore.Page) ([]eventstore.Subscription, string, error) {
	limit, wrong := p.Size()
	last := eventstore.Subscription{Topic: t}
	if p.Cursor != "" && wrong == nil {
		_, key, err := eventstore.ParseCursor(p.Cursor, 2)
		wrong = err
		if err == nil {
			last.Execution, last.Waiter = key[0], key[1]
		}
	}
	if err := s.enter(ctx, cmp.Or(t.Check(), wrong)); err != nil {
		return nil, "", err
	}
	defer s.mu.Unlock()
	rest := s.subscribers.after(last)
	if end := slices.IndexFunc(rest, func(x eventstore.Subscription) bool { return x.Topic != t }); end >= 0 {
		rest = rest[:end]
	}
	page, more := pageOf(rest, limit, nil)
	page = slices.Clone(page)
	if !more {
		return page, "", nil
	}
	return page, eventstore.NewCursor(0, page[len(page)-1].Execution, page[len(page)-1].Waiter), nil
}
