package sqlite

import (
	"context"
	"sync"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// PutDeadLetter implements eventstore.DeadLetters.
func (s *Store) PutDeadLetter(ctx context.Context, d eventstore.DeadLetter) error {
	return s.write(ctx, d.Check(), len(d.Body), func(w *writer) error {
		_, err := w.conn.exec(`INSERT INTO letters(tenant, name, execution, queue, code, cause, at, expires, body) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, d.Tenant, d.ID, d.Execution, d.Queue, d.Code, d.Cause, d.At, d.Expires, d.Body)
		return err
	})
}

const selectLetter = `SELECT tenant, name, execution, queue, code, cause, at, expires, body FROM letters WHERE tenant=? `

func readLetter(r row) eventstore.DeadLetter {
	return eventstore.DeadLetter{
		Tenant: r.text(0), ID: r.text(1), Execution: r.text(2), Queue: r.text(3), Code: r.text(4), Cause: r.text(5),
		At: r.int(6), Expires: r.int(7), Body: r.blob(8),
	}
}

// DeadLetter implements eventstore.DeadLetters.
func (s *Store) DeadLetter(ctx context.Context, tenant, id string) (d eventstore.DeadLetter, err error) {
	err = s.read(ctx, eventstore.DeadLetter{Tenant: tenant, ID: id}.Check(), func(c *conn) error {
		found, err := c.one(selectLetter+`AND name=?`, func(r row) error { d = readLetter(r); return nil }, tenant, id)
		if err == nil && !found {
			err = &eventstore.NotFoundError{What: "dead letter " + id}
		}
		return err
	})
	return d, err
}

// RemoveDeadLetter implements eventstore.DeadLetters.
func (s *Store) RemoveDeadLetter(ctx context.Context, tenant, id string) error {
	return s.write(ctx, eventstore.DeadLetter{Tenant: tenant, ID: id}.Check(), 0, func(w *writer) error {
		_, err := w.conn.exec(`DELETE FROM letters WHERE tenant=? AND name=?`, tenant, id)
		return err
	})
}

// DeadLetters implements eventstore.DeadLetterList.
func (s *Store) DeadLetters(ctx context.Context, tenant string, p eventstore.Page) ([]eventstore.DeadLetter, string, error) {
	limit, wrong := p.Size()
	at, last := int64(eventstore.MaxTime), []string{""}
	if p.Cursor != "" && wrong == nil {
		at, last, wrong = eventstore.ParseCursor(p.Cursor, 1)
	}
	if wrong != nil {
		return nil, "", wrong
	}
	return list(ctx, s, eventstore.CheckTenant(tenant), limit, func(d eventstore.DeadLetter) int { return len(d.Body) }, readLetter,
		func(d eventstore.DeadLetter) string { return eventstore.NewCursor(d.At, d.ID) },
		selectLetter+`AND at<=? AND (at<? OR name>?) ORDER BY at DESC, name LIMIT ?`, tenant, at, at, last[0], limit+1)
}

// purgeStep is how many rows of a stream one transaction removes, so that a long history does not hold up others.
const purgeStep = 500

// Purge implements eventstore.Housekeeping. The row of the stream, which the sweep finds, goes last.
func (s *Store) Purge(ctx context.Context, id eventstore.Stream) error {
	for done := false; !done; {
		err := s.write(ctx, id.Check(), 0, func(w *writer) error {
			st, err := w.stream(id)
			if st == nil || err != nil {
				done = true
				return err
			}
			done, err = w.purge(id, st.id)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// purge removes a part of a stream and reports whether it was the last.
func (w *writer) purge(id eventstore.Stream, stream int64) (bool, error) {
	for _, query := range []string{
		`DELETE FROM commits WHERE id IN (SELECT id FROM commits WHERE stream=? ORDER BY first LIMIT ?)`,
		`DELETE FROM claims WHERE stream=?1 AND (attempt, fence) IN (SELECT attempt, fence FROM claims WHERE stream=?1 LIMIT ?2)`,
		`DELETE FROM notices WHERE stream=?1 AND name IN (SELECT name FROM notices WHERE stream=?1 LIMIT ?2)`,
		`DELETE FROM feed WHERE number IN (SELECT number FROM feed WHERE stream=?1 LIMIT ?2)`,
	} {
		if n, err := w.affected(query, []any{stream, purgeStep}); err != nil || n > 0 {
			return false, err
		}
	}
	var labels []eventstore.Label
	var started int64
	if _, err := w.conn.one(`SELECT labels, started FROM streams WHERE id=?`, func(r row) error {
		labels, started = unpackLabels(r.blob(0)), r.int(1)
		return nil
	}, stream); err != nil {
		return false, err
	}
	for _, l := range labels {
		if _, err := w.conn.exec(`DELETE FROM labels WHERE tenant=? AND key=? AND value=? AND started=? AND stream=?`, id.Tenant, l.Key, l.Value, started, stream); err != nil {
			return false, err
		}
	}
	w.streams.remove(id)
	_, err := w.conn.exec(`DELETE FROM streams WHERE id=?`, stream)
	return true, err
}

// expiry is where Expire goes on: it walks the tables in turn, in the order of their keys, since an index on the time would cost
// more with every claim than a walk now and then.
type expiry struct {
	mu    sync.Mutex
	table int
	after []any // the key of the last row looked at; nil at the start of a table
}

// expiring are the tables that Expire walks: first is a key before all others, walk returns the time and the key of some rows
// after a key, remove removes one row. Where a row must stay, blank empties it instead.
var expiring = []struct {
	first               []any
	walk, remove, blank string
}{
	{[]any{int64(-1), "", int64(-1)},
		`SELECT expires, stream, attempt, fence FROM claims WHERE (stream, attempt, fence) > (?, ?, ?) ORDER BY stream, attempt, fence LIMIT ?`,
		`DELETE FROM claims WHERE expires BETWEEN 1 AND ? AND stream=? AND attempt=? AND fence=?`, ``},
	{[]any{int64(-1)},
		// The newest event of a topic stays, without its data, since its number must not come again.
		`SELECT iif(sender='', 0, expires), id FROM events WHERE id > ? ORDER BY id LIMIT ?`,
		`DELETE FROM events AS e WHERE expires BETWEEN 1 AND ? AND id=?
			AND EXISTS (SELECT 1 FROM events n WHERE n.tenant=e.tenant AND n.type=e.type AND n.key=e.key AND n.number>e.number)`,
		`UPDATE events SET sender='', source='', data=NULL WHERE expires BETWEEN 1 AND ? AND id=?`},
	{[]any{"", "", "", "", ""},
		`SELECT expires, tenant, type, key, execution, waiter FROM subscriptions
			WHERE (tenant, type, key, execution, waiter) > (?, ?, ?, ?, ?) ORDER BY tenant, type, key, execution, waiter LIMIT ?`,
		`DELETE FROM subscriptions WHERE expires BETWEEN 1 AND ? AND tenant=? AND type=? AND key=? AND execution=? AND waiter=?`, ``},
	{[]any{int64(-1)},
		`SELECT expires, id FROM letters WHERE id > ? ORDER BY id LIMIT ?`,
		`DELETE FROM letters WHERE expires BETWEEN 1 AND ? AND id=?`, ``},
}

// Expire implements eventstore.Housekeeping.
func (s *Store) Expire(ctx context.Context, now int64, budget int) (removed int, err error) {
	s.expiring.mu.Lock()
	defer s.expiring.mu.Unlock()
	for range len(expiring) {
		looked, n, err := s.expireSome(ctx, now, budget)
		removed += n
		if budget -= looked; err != nil || budget <= 0 {
			return removed, err
		}
	}
	return removed, nil
}

// expireSome looks at the next rows of the table that is its turn, removes those that expired, and says how many it looked at.
func (s *Store) expireSome(ctx context.Context, now int64, budget int) (looked, removed int, err error) {
	t := expiring[s.expiring.table]
	after := s.expiring.after
	if after == nil {
		after = t.first
	}
	var keys [][]any // of expired rows
	err = s.read(ctx, nil, func(c *conn) error {
		return c.query(t.walk, func(r row) error {
			looked++
			after = make([]any, len(t.first))
			for i := range after {
				after[i] = r[i+1]
			}
			if expires := r.int(0); expires > 0 && expires <= now {
				keys = append(keys, after)
			}
			return nil
		}, append(append([]any{}, after...), budget)...)
	})
	if err != nil {
		return looked, 0, err
	}
	if s.expiring.after = after; looked < budget { // the end of the table
		s.expiring.table, s.expiring.after = (s.expiring.table+1)%len(expiring), nil
	}
	if len(keys) == 0 {
		return looked, 0, nil
	}
	err = s.write(ctx, nil, 0, func(w *writer) error {
		removed = 0
		for _, key := range keys {
			args := append([]any{now}, key...)
			n, err := w.affected(t.remove, args)
			if n == 0 && err == nil && t.blank != "" {
				n, err = w.affected(t.blank, args)
			}
			if err != nil {
				return err
			}
			removed += n
		}
		return nil
	})
	return looked, removed, err
}

// affected runs a statement and returns how many rows it changed.
func (w *writer) affected(query string, args []any) (int, error) {
	result, err := w.conn.exec(query, args...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, &dbError{query, err}
	}
	return int(n), nil
}
