package dynamodb

import (
	"sync/atomic"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// Store implements eventstore.Store. It keeps nothing that another process needs: many of them share the tables.
type Store struct {
	db     *sdk.Client
	tables Tables
	o      Options
	closed atomic.Bool

	// ends holds, for streams that were read or written lately, where a commit ends: a commit that follows there needs no look before it.
	ends *lru.Cache[eventstore.Stream, uint64]
	// topics holds the newest events of topics written lately.
	topics *lru.Cache[eventstore.Topic, *topic]
	// turns lets the senders of one process to one topic queue up instead of racing for its numbers.
	turns [64]chan struct{}

	commitsRead, bytesRead atomic.Int64

	expiring expiry
}

var _ eventstore.Store = (*Store)(nil)

// Tables are the names of the tables.
type Tables struct{ History, Catalogue, Index string }

// TablesOf are the names of tables that share a prefix.
func TablesOf(prefix string) Tables {
	return Tables{History: prefix + "history", Catalogue: prefix + "catalogue", Index: prefix + "index"}
}

// Options are what may be chosen. The zero value is right for tests.
type Options struct {
	// Tombstones is how long the store remembers an execution that was purged, so that a late message does not bring it back: longer than
	// any queue keeps one. 0: not at all.
	Tombstones time.Duration
	// Now tells the time from which tombstones are kept, in nanoseconds since 1970; nil: this machine's clock.
	Now func() int64
}

// How much a store remembers of what it has seen.
const (
	endsKept   = 16384
	topicsKept = 256
)

// New returns a store on tables that exist.
func New(client *sdk.Client, tables Tables, o Options) *Store {
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixNano() }
	}
	s := &Store{tables: tables, o: o}
	s.db = sdk.New(client.Options(), func(o *sdk.Options) { o.APIOptions = append(o.APIOptions, watchAttempts) })
	for i := range s.turns {
		s.turns[i] = make(chan struct{}, 1)
	}
	s.ends, _ = lru.New[eventstore.Stream, uint64](endsKept) // it fails for sizes below 1 only
	s.topics, _ = lru.New[eventstore.Topic, *topic](topicsKept)
	return s
}

// Close makes later calls fail with ErrClosed. The client is the caller's.
func (s *Store) Close() error {
	s.closed.Store(true)
	return nil
}

// Stats counts what a store did since it was made.
type Stats struct {
	// CommitsRead and BytesRead are what History's methods and ReadCommit read. A load does not grow with the history.
	CommitsRead, BytesRead int64
}

// Stats returns the counts so far.
func (s *Store) Stats() Stats {
	return Stats{CommitsRead: s.commitsRead.Load(), BytesRead: s.bytesRead.Load()}
}
