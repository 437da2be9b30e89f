package memory

import (
	"cmp"
	"context"
	"strings"
	"sync"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// Store implements eventstore.Store.
type Store struct {
	mu     sync.Mutex
	closed bool
	reads  Reads

	streams     map[eventstore.Stream]*stream
	claims      ordered[claim]
	notices     ordered[notice]
	definitions ordered[eventstore.Definition]
	aliases     ordered[eventstore.Alias]
	rows        map[eventstore.Stream]eventstore.Row
	list        ordered[listed]
	due, purge  ordered[waking]
	events      ordered[event]
	subscribers ordered[eventstore.Subscription]
	letters     ordered[eventstore.DeadLetter]
	feed        []eventstore.FeedEntry
	fed         uint64 // entries so far
}

var (
	_ eventstore.Store = (*Store)(nil)
	_ eventstore.Feed  = (*Store)(nil)
)

// Reads counts what History's methods read, to show that a load does not grow with the history.
type Reads struct{ Commits, Bytes int64 }

// New returns an empty store.
func New() *Store {
	return &Store{
		streams:     map[eventstore.Stream]*stream{},
		claims:      ordered[claim]{cmp: compareClaims},
		notices:     ordered[notice]{cmp: compareNotices},
		definitions: ordered[eventstore.Definition]{cmp: compareDefinitions},
		aliases:     ordered[eventstore.Alias]{cmp: compareAliases},
		rows:        map[eventstore.Stream]eventstore.Row{},
		list:        ordered[listed]{cmp: compareListed},
		due:         ordered[waking]{cmp: compareWaking},
		purge:       ordered[waking]{cmp: compareWaking},
		events:      ordered[event]{cmp: compareEvents},
		subscribers: ordered[eventstore.Subscription]{cmp: compareSubscriptions},
		letters:     ordered[eventstore.DeadLetter]{cmp: compareLetters},
	}
}

// Close makes every later call fail with ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// Reads returns what was read so far.
func (s *Store) Reads() Reads {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// enter locks the store for one call, unless an argument is wrong, the context has ended or the store is closed.
func (s *Store) enter(ctx context.Context, wrong error) error {
	if wrong != nil {
		return wrong
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return eventstore.ErrClosed
	}
	return nil
}

func compareStreams(a, b eventstore.Stream) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.ID, b.ID))
}

// pageOf returns the items of a page that starts at rest[0], and whether more follow. Size, where given, adds up to MaxPageBytes.
func pageOf[T any](rest []T, limit int, size func(T) int) ([]T, bool) {
	n, bytes := 0, 0
	for n < len(rest) && n < limit {
		if size != nil {
			if bytes += size(rest[n]); n > 0 && bytes > eventstore.MaxPageBytes {
				break
			}
		}
		n++
	}
	return rest[:n], n < len(rest)
}
