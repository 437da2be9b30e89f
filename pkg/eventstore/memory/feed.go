package memory

import (
	"context"
	"slices"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// Unpublished implements eventstore.Feed.
func (s *Store) Unpublished(ctx context.Context, after uint64, limit int) ([]eventstore.FeedEntry, error) {
	limit, wrong := eventstore.Page{Limit: limit}.Size()
	if err := s.enter(ctx, wrong); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var out []eventstore.FeedEntry
	for _, e := range s.feed {
		if e.Number > after && len(out) < limit {
			out = append(out, e)
		}
	}
	return out, nil
}

// Published implements eventstore.Feed.
func (s *Store) Published(ctx context.Context, numbers ...uint64) error {
	if err := s.enter(ctx, nil); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.feed = slices.DeleteFunc(s.feed, func(e eventstore.FeedEntry) bool { return slices.Contains(numbers, e.Number) })
	return nil
}
