package sqlite

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	driver "modernc.org/sqlite"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

func openTest(t *testing.T) *Store {
	s, err := Open(t.TempDir(), Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// TestGroupCommit shows that writers share transactions, and that the conflict of one is not that of the others.
func TestGroupCommit(t *testing.T) {
	s := openTest(t)
	const writers, each = 32, 30
	before := s.Stats()
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			stream := eventstore.Stream{Tenant: "acme", ID: fmt.Sprint("order-", w)}
			for n := range uint64(each) {
				good := eventstore.Commit{First: n + 1, Last: n + 1, Nonce: eventstore.Nonce{1, byte(n)}}
				if err := s.Append(t.Context(), stream, good, nil); err != nil {
					t.Errorf("append: %v", err)
				}
				bad := eventstore.Commit{First: n + 1, Last: n + 1, Nonce: eventstore.Nonce{2, byte(n)}}
				if err := s.Append(t.Context(), stream, bad, nil); err == nil {
					t.Error("two commits under one key")
				}
			}
		})
	}
	group.Wait()
	writes, transactions := s.Stats().Writes-before.Writes, s.Stats().Transactions-before.Transactions
	require.EqualValues(t, 2*writers*each, writes)
	require.Less(t, transactions, writes/4)
}

// TestBatchFails lets SQLite run out of room in the middle of a transaction: nobody in it has written anything, all are told so,
// and the store goes on when there is room again.
func TestBatchFails(t *testing.T) {
	s := openTest(t)
	stream := eventstore.Stream{Tenant: "acme", ID: "order-1"}
	commit := func(n uint64, size int) eventstore.Commit {
		return eventstore.Commit{First: n, Last: n, Nonce: eventstore.Nonce{byte(n), byte(size >> 8), 1}, Data: make([]byte, size)}
	}
	require.NoError(t, s.Append(t.Context(), stream, commit(1, 100), nil))
	require.NoError(t, s.writer.conn.script("PRAGMA max_page_count = 1")) // no more than there are
	row := eventstore.Row{Stream: stream, Version: 2, Workflow: "order"}
	err := s.Append(t.Context(), stream, commit(2, 200_000), &row)
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	require.ErrorContains(t, err, "full")
	head, err := s.Head(t.Context(), stream)
	require.NoError(t, err)
	require.EqualValues(t, 1, head)
	require.NoError(t, s.writer.conn.script("PRAGMA max_page_count = 1000000"))
	require.NoError(t, s.Append(t.Context(), stream, commit(2, 200_000), &row), "what was remembered of the stream is not that of the failed transaction")
	require.NoError(t, s.Integrity(t.Context()))
	proof, err := eventstore.Verify(t.Context(), s, stream)
	var corrupt *eventstore.CorruptError
	require.ErrorAs(t, err, &corrupt, "these commits are not chained")
	require.Equal(t, 1, proof.Commits)
}

// TestLargeBatches queues more than one transaction may hold.
func TestLargeBatches(t *testing.T) {
	s := openTest(t)
	var group sync.WaitGroup
	const writers = 2 * maxBatch
	for w := range writers {
		group.Go(func() {
			stream := eventstore.Stream{Tenant: "acme", ID: fmt.Sprint("order-", w)}
			size := 10
			if w%16 == 0 {
				size = eventstore.MaxCommit
			}
			if err := s.Append(t.Context(), stream, eventstore.Commit{First: 1, Last: 1, Nonce: eventstore.Nonce{1}, Data: make([]byte, size)}, nil); err != nil {
				t.Errorf("append: %v", err)
			}
		})
	}
	group.Wait()
	require.Greater(t, s.Stats().Transactions, int64(writers/16*eventstore.MaxCommit/maxBatchBytes))
	for w := range writers {
		head, err := s.Head(t.Context(), eventstore.Stream{Tenant: "acme", ID: fmt.Sprint("order-", w)})
		require.NoError(t, err)
		require.EqualValues(t, 1, head)
	}
}

// TestCacheIsBounded writes to more streams than the writer remembers, then to all of them again.
func TestCacheIsBounded(t *testing.T) {
	var c streamCache
	for i := range 5 * maxCached {
		c.put(eventstore.Stream{ID: fmt.Sprint(i)}, &streamState{id: int64(i)})
		require.LessOrEqual(t, len(c.young)+len(c.old), 2*maxCached)
		require.NotNil(t, c.get(eventstore.Stream{ID: "0"}), "what is used stays")
	}
	require.Nil(t, c.get(eventstore.Stream{ID: "1"}))
	require.EqualValues(t, 5*maxCached-1, c.get(eventstore.Stream{ID: fmt.Sprint(5*maxCached - 1)}).id)
}

// TestQueriesUseIndexes explains every query of a list: none may sort or walk a whole table.
func TestQueriesUseIndexes(t *testing.T) {
	s := openTest(t)
	filters := map[string]eventstore.Filter{
		"all": {}, "status": {Status: "x"}, "workflow": {Workflow: "x"}, "parent": {Parent: "x"}, "label": {Label: eventstore.Label{Key: "x"}},
		"status and workflow": {Status: "x", Workflow: "y"},
	}
	for name, f := range filters {
		_, _, err := s.List(t.Context(), "acme", f, eventstore.Page{})
		require.NoError(t, err, name)
	}
	stream := eventstore.Stream{Tenant: "acme", ID: "order-1"}
	_, _ = s.Tail(t.Context(), stream)
	_, _ = s.Page(t.Context(), stream, 1, 1)
	_, _ = s.ReadCommit(t.Context(), stream, 1)
	_, _, _ = s.Overdue(t.Context(), 1, 1, eventstore.Page{})
	_, _, _ = s.Purgeable(t.Context(), 1, 1, eventstore.Page{})
	_, _, _ = s.Workflows(t.Context(), "acme", eventstore.Page{})
	_, _, _ = s.Versions(t.Context(), "acme", "order", eventstore.Page{})
	_, _, _ = s.Aliases(t.Context(), "acme", "order", eventstore.Page{})
	_, _, _ = s.DeadLetters(t.Context(), "acme", eventstore.Page{})
	topic := eventstore.Topic{Tenant: "acme", Type: "t"}
	_, _ = s.PutEvent(t.Context(), topic, eventstore.Event{ID: "e", Expires: 9})
	_, _ = s.ReadEvents(t.Context(), topic, 1, 1, 1)
	_, _, _ = s.Subscribers(t.Context(), topic, eventstore.Page{})
	for range 4 {
		_, _ = s.Expire(t.Context(), 1, 1)
	}
	explained := 0
	conns := []*conn{s.writer.conn}
	for range readers {
		c := <-s.pool
		conns = append(conns, c)
		defer func() { s.pool <- c }()
	}
	for _, c := range conns {
		var queries []string
		for query := range c.stmts {
			if strings.HasPrefix(query, "SELECT") && !strings.Contains(query, "sqlite_schema") {
				queries = append(queries, query)
			}
		}
		for _, query := range queries {
			explained++
			args := make([]any, 20)
			require.NoError(t, c.query("EXPLAIN QUERY PLAN "+query, func(r row) error {
				plan := r.text(3)
				require.NotContains(t, plan, "TEMP B-TREE", query)
				if strings.HasPrefix(plan, "SCAN") {
					require.Contains(t, plan, "CONSTANT ROW", query)
				}
				return nil
			}, args...))
		}
	}
	require.Greater(t, explained, 20)
}

// pagesTouched counts the pages that readers asked for so far.
func (s *Store) pagesTouched(t *testing.T) (n int) {
	for range readers {
		c := <-s.pool
		for _, op := range []driver.DBStatusOp{driver.DBStatusCacheHit, driver.DBStatusCacheMiss} {
			count, _, err := c.db.(driver.DBStatus).Status(op, false)
			require.NoError(t, err)
			n += count
		}
		s.pool <- c
	}
	return n
}

// TestPagesDoNotGrow counts the pages of the file that each page of a list touches: the last ones no more than the first.
func TestPagesDoNotGrow(t *testing.T) {
	s := openTest(t)
	const rows = 20_000
	require.NoError(t, s.write(t.Context(), nil, 0, func(w *writer) error {
		for i := range rows {
			r := eventstore.Row{
				Stream: eventstore.Stream{Tenant: "acme", ID: fmt.Sprint("order-", i)}, Version: 1, Workflow: "order", Status: "running", Parent: "batch",
				Started: int64(1 + i), Due: int64(1 + i), Purge: int64(1 + i), Labels: []eventstore.Label{{Key: "team", Value: "commerce"}},
			}
			if _, err := w.create(r.Stream, 0, &r); err != nil {
				return err
			}
		}
		return nil
	}))
	list := func(f eventstore.Filter) func(eventstore.Page) ([]eventstore.Row, string, error) {
		return func(p eventstore.Page) ([]eventstore.Row, string, error) { return s.List(t.Context(), "acme", f, p) }
	}
	for name, read := range map[string]func(eventstore.Page) ([]eventstore.Row, string, error){
		"all": list(eventstore.Filter{}), "status": list(eventstore.Filter{Status: "running"}), "workflow": list(eventstore.Filter{Workflow: "order"}),
		"parent": list(eventstore.Filter{Parent: "batch"}), "label": list(eventstore.Filter{Label: eventstore.Label{Key: "team", Value: "commerce"}}),
		"from": list(eventstore.Filter{StartedFrom: 1}), "before": list(eventstore.Filter{StartedBefore: rows + 1}),
		"overdue": func(p eventstore.Page) ([]eventstore.Row, string, error) {
			return s.Overdue(t.Context(), 0, eventstore.MaxTime, p)
		},
		"purgeable": func(p eventstore.Page) ([]eventstore.Row, string, error) {
			return s.Purgeable(t.Context(), 0, eventstore.MaxTime, p)
		},
	} {
		var touched []int
		seen := 0
		for cursor := ""; ; {
			before := s.pagesTouched(t)
			page, next, err := read(eventstore.Page{Cursor: cursor, Limit: 500})
			require.NoError(t, err)
			touched = append(touched, s.pagesTouched(t)-before)
			seen += len(page)
			if cursor = next; next == "" {
				break
			}
		}
		require.Equal(t, rows, seen, name)
		require.LessOrEqual(t, slices.Max(touched[1:]), touched[0]*3/2+20, name)
	}
}

// TestLoadDoesNotGrow counts the pages that a load touches after a short history and after one of 20,000 commits.
func TestLoadDoesNotGrow(t *testing.T) {
	s := openTest(t)
	touched := func(commits int, read func(eventstore.Stream) (int, error)) int {
		stream := eventstore.Stream{Tenant: "acme", ID: fmt.Sprint("commits-", commits)}
		if head, err := s.Head(t.Context(), stream); err != nil || head == 0 { // in one transaction, since 20,000 take long
			require.NoError(t, s.write(t.Context(), err, 0, func(w *writer) error {
				for i := range uint64(commits) {
					c := eventstore.Commit{First: i + 1, Last: i + 1, Nonce: eventstore.Nonce{1}, Checkpoint: max(1, uint64(commits-19)), Data: make([]byte, 500)}
					if err := w.append(stream, c, nil); err != nil {
						return err
					}
				}
				return nil
			}))
		}
		before := s.pagesTouched(t)
		n, err := read(stream)
		require.NoError(t, err)
		require.Equal(t, 20, n)
		return s.pagesTouched(t) - before
	}
	for name, read := range map[string]func(eventstore.Stream) (int, error){
		"tail": func(x eventstore.Stream) (int, error) { all, err := s.Tail(t.Context(), x); return len(all), err },
		"page": func(x eventstore.Stream) (int, error) {
			head, err := s.Head(t.Context(), x)
			require.NoError(t, err)
			all, err := s.Page(t.Context(), x, head-20, 100)
			return len(all), err
		},
	} {
		short, long := touched(100, read), touched(20_000, read)
		require.NotZero(t, short, name)
		require.LessOrEqual(t, long, short+12, "%s: some levels of a tree more, no more", name)
	}
}
