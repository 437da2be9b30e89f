package sqlite

import (
	"context"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// Unpublished implements eventstore.Feed.
func (s *Store) Unpublished(ctx context.Context, after uint64, limit int) ([]eventstore.FeedEntry, error) {
	limit, wrong := eventstore.Page{Limit: limit}.Size()
	var out []eventstore.FeedEntry
	err := s.read(ctx, wrong, func(c *conn) error {
		return c.query(`SELECT number, tenant, name, first FROM feed JOIN streams ON streams.id=feed.stream WHERE number>? ORDER BY number LIMIT ?`, func(r row) error {
			out = append(out, eventstore.FeedEntry{Number: r.uint(0), Stream: eventstore.Stream{Tenant: r.text(1), ID: r.text(2)}, First: r.uint(3)})
			return nil
		}, min(after, eventstore.MaxSequence), limit)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Published implements eventstore.Feed.
func (s *Store) Published(ctx context.Context, numbers ...uint64) error {
	return s.write(ctx, nil, 0, func(w *writer) error {
		for _, n := range numbers {
			if _, err := w.conn.exec(`DELETE FROM feed WHERE number=?`, n); err != nil {
				return err
			}
		}
		return nil
	})
}
