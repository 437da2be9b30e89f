package sqlite

import (
	"cmp"
	"context"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

const selectEvent = `SELECT number, sender, source, at, expires, data FROM events WHERE tenant=? AND type=? AND key=? `

func readEvent(r row) eventstore.Event {
	return eventstore.Event{Number: r.uint(0), ID: r.text(1), Source: r.text(2), At: r.int(3), Expires: r.int(4), Data: r.blob(5)}
}

// PutEvent implements eventstore.Events.
func (s *Store) PutEvent(ctx context.Context, t eventstore.Topic, e eventstore.Event) (stored eventstore.Event, err error) {
	err = s.write(ctx, cmp.Or(t.Check(), e.Check()), len(e.Data), func(w *writer) error {
		stored, err = w.putEvent(t, e)
		return err
	})
	if err != nil {
		return eventstore.Event{}, err
	}
	return stored, nil
}

func (w *writer) putEvent(t eventstore.Topic, e eventstore.Event) (eventstore.Event, error) {
	var newest, oldest, twin uint64
	kept := 0
	// The newest event may have expired, but its number counts.
	err := w.conn.query(`SELECT number, sender, expires, at FROM events WHERE tenant=?1 AND type=?2 AND key=?3
		AND (expires>?4 OR number=(SELECT max(number) FROM events WHERE tenant=?1 AND type=?2 AND key=?3)) ORDER BY number DESC LIMIT ?5`,
		func(r row) error {
			newest = max(newest, r.uint(0))
			if r.int(2) <= e.At {
				return nil
			}
			if kept++; kept <= eventstore.DedupeWindow && e.Repeats(r.text(1), r.int(3)) && twin == 0 {
				twin = r.uint(0)
			}
			return nil
		}, t.Tenant, t.Type, t.Key, e.At, eventstore.DedupeWindow+1)
	if err != nil {
		return e, err
	}
	if twin != 0 {
		_, err := w.conn.one(selectEvent+`AND number=?`, func(r row) error { e = readEvent(r); return nil }, t.Tenant, t.Type, t.Key, twin)
		return e, err
	}
	e.Number = newest + 1
	_, err = w.conn.one(`SELECT min(number) FROM events WHERE tenant=? AND type=? AND key=? AND expires>?`,
		func(r row) error { oldest = r.uint(0); return nil }, t.Tenant, t.Type, t.Key, e.At)
	if err != nil {
		return e, err
	}
	switch {
	case oldest == 0 || e.Number-oldest < eventstore.MaxKeptEvents:
	case !e.Sliding:
		return e, &eventstore.QuotaError{Topic: t, Limit: eventstore.MaxKeptEvents}
	default:
		if _, err := w.conn.exec(`DELETE FROM events WHERE tenant=? AND type=? AND key=? AND number<=?`, t.Tenant, t.Type, t.Key, e.Number-eventstore.MaxKeptEvents); err != nil {
			return e, err
		}
	}
	e = e.Stored()
	_, err = w.conn.exec(`INSERT INTO events(tenant, type, key, number, sender, source, at, expires, data) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		t.Tenant, t.Type, t.Key, e.Number, e.ID, e.Source, e.At, e.Expires, e.Data)
	return e, err
}

// ReadEvents implements eventstore.Events.
func (s *Store) ReadEvents(ctx context.Context, t eventstore.Topic, after uint64, now int64, limit int) ([]eventstore.Event, error) {
	limit, wrong := eventstore.Page{Limit: limit}.Size()
	events, _, err := list(ctx, s, cmp.Or(t.Check(), wrong), limit, func(e eventstore.Event) int { return len(e.Data) }, readEvent,
		func(eventstore.Event) string { return "" },
		selectEvent+`AND number>? AND expires>? ORDER BY number LIMIT ?`, t.Tenant, t.Type, t.Key, min(after, eventstore.MaxSequence), now, limit)
	return events, err
}

// Subscribe implements eventstore.Subscriptions.
func (s *Store) Subscribe(ctx context.Context, sub eventstore.Subscription) error {
	return s.write(ctx, sub.Check(), 0, func(w *writer) error {
		_, err := w.conn.exec(`INSERT OR REPLACE INTO subscriptions(tenant, type, key, execution, waiter, expires) VALUES(?, ?, ?, ?, ?, ?)`,
			sub.Topic.Tenant, sub.Topic.Type, sub.Topic.Key, sub.Execution, sub.Waiter, sub.Expires)
		return err
	})
}

// Unsubscribe implements eventstore.Subscriptions.
func (s *Store) Unsubscribe(ctx context.Context, sub eventstore.Subscription) error {
	return s.write(ctx, sub.Check(), 0, func(w *writer) error {
		_, err := w.conn.exec(`DELETE FROM subscriptions WHERE tenant=? AND type=? AND key=? AND execution=? AND waiter=?`,
			sub.Topic.Tenant, sub.Topic.Type, sub.Topic.Key, sub.Execution, sub.Waiter)
		return err
	})
}

// Subscribers implements eventstore.Subscriptions.
func (s *Store) Subscribers(ctx context.Context, t eventstore.Topic, p eventstore.Page) ([]eventstore.Subscription, string, error) {
	limit, wrong := p.Size()
	last := []string{"", ""}
	if p.Cursor != "" && wrong == nil {
		_, last, wrong = eventstore.ParseCursor(p.Cursor, 2)
	}
	if wrong != nil {
		return nil, "", wrong
	}
	return list(ctx, s, t.Check(), limit, nil,
		func(r row) eventstore.Subscription {
			return eventstore.Subscription{Topic: t, Execution: r.text(0), Waiter: r.text(1), Expires: r.int(2)}
		},
		func(sub eventstore.Subscription) string { return eventstore.NewCursor(0, sub.Execution, sub.Waiter) },
		`SELECT execution, waiter, expires FROM subscriptions WHERE tenant=? AND type=? AND key=? AND (execution, waiter) > (?, ?)
		 ORDER BY execution, waiter LIMIT ?`, t.Tenant, t.Type, t.Key, last[0], last[1], limit+1)
}
