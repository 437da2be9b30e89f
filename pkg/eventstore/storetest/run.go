package storetest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// Subject is one store under test, fresh and empty, and what the tests need to know of its kind.
type Subject struct {
	Store eventstore.Store
	// Reopen closes the store and opens the same data again. Nil if a store of this kind does not outlive its process.
	Reopen func() eventstore.Store
	// Settle returns when the index shows every commit that was answered. Nil if it always does.
	Settle func()
	// Tamper replaces a history behind the store's back.
	Tamper func(s eventstore.Stream, change func([]eventstore.Commit) []eventstore.Commit)
	// Reads counts the commits and bytes that were read.
	Reads func() (commits, bytes int64)
}

// Run tests a kind of store. Open makes a fresh one, which the test closes.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	run := func(name string, test func(*testing.T, *suite)) {
		t.Run(name, func(t *testing.T) {
			s := &suite{T: t, Subject: open(t), ctx: t.Context()}
			if s.Settle == nil {
				s.Settle = func() {}
			}
			t.Cleanup(func() { require.NoError(t, s.Store.Close()) })
			test(t, s)
		})
	}
	run("history/append and read", testAppend)
	run("history/conflict", testConflict)
	run("history/repeat", testRepeat)
	run("history/one of 32 writers wins", testRace)
	run("history/many streams at once", testManyStreams)
	run("history/pages", testPages)
	run("history/page inside a batch", testPageInsideBatch)
	run("history/pages end by bytes", testPageBytes)
	run("history/tail from the checkpoint", testTail)
	run("history/tail without a checkpoint is bounded", testTailLimit)
	run("history/100,000 events", testLongHistory)
	run("history/readers beside writers", testReaders)
	run("history/verify finds tampering", testTampering)
	run("history/row with the commit", testRowWithCommit)
	run("surely/each fault", testSurely)
	run("surely/late writes", testLateWrites)
	run("surely/property", testSurelyProperty)
	run("claims/one owner", testClaims)
	run("claims/extend", testExtend)
	run("claims/revoke", testRevoke)
	run("claims/end", testEnd)
	run("claims/race", testClaimRace)
	run("notices", testNotices)
	run("catalogue/definitions", testDefinitions)
	run("catalogue/lists", testCatalogueLists)
	run("catalogue/aliases", testAliases)
	run("index/older never replaces newer", testRowOrder)
	run("index/race of versions", testRowRace)
	run("index/filters", testFilters)
	run("index/cursor under changes", testCursorUnderChanges)
	run("index/examines a bounded number", testExamined)
	run("index/overdue and purgeable", testWakes)
	run("events/numbers", testEventNumbers)
	run("events/race", testEventRace)
	run("events/kept for a time", testEventExpiry)
	run("events/quota", testEventQuota)
	run("events/waiter and sender meet", testWaiterAndSender)
	run("events/subscriptions", testSubscriptions)
	run("dead letters", testDeadLetters)
	run("feed", testFeed)
	run("purge", testPurge)
	run("expire", testExpire)
	run("limits", testLimits)
	run("names", testNames)
	run("copies", testCopies)
	run("ended context", testContext)
	run("close", testClose)
	run("reopen", testReopen)
	run("model", testModel)
}

// suite is one test with its subject.
type suite struct {
	*testing.T
	Subject
	ctx context.Context
}

// author writes one history as an engine would: it knows the head, the hash chain and the last checkpoint.
type author struct {
	stream     eventstore.Stream
	head       uint64
	hash       eventstore.Hash
	checkpoint uint64
}

var nonces, versions atomic.Uint64

// freshNonce returns one that no other call returns.
func freshNonce() (n eventstore.Nonce) {
	binary.BigEndian.PutUint64(n[:], nonces.Add(1))
	return n
}

// next returns the commit that comes next.
func (a *author) next(events int, data []byte) eventstore.Commit {
	return eventstore.Commit{
		First: a.head + 1, Last: a.head + uint64(events), Checkpoint: a.checkpoint, Nonce: freshNonce(), Prev: a.hash, Data: data,
	}
}

// nextCheckpoint returns the commit that comes next and carries a checkpoint.
func (a *author) nextCheckpoint(events int, data []byte) eventstore.Commit {
	c := a.next(events, data)
	c.Checkpoint = c.First
	return c
}

// wrote tells that a commit was stored.
func (a *author) wrote(c eventstore.Commit) {
	a.head, a.hash, a.checkpoint = c.Last, c.Hash(a.stream), c.Checkpoint
}

// append stores the next commit of an author.
func (s *suite) append(a *author, c eventstore.Commit, row *eventstore.Row) {
	s.Helper()
	require.NoError(s, s.Store.Append(s.ctx, a.stream, c, row))
	a.wrote(c)
}

// fill appends so many commits of three events each, a checkpoint every so many (0: none).
func (s *suite) fill(a *author, commits, every int) []eventstore.Commit {
	s.Helper()
	var all []eventstore.Commit
	for i := range commits {
		data := fmt.Appendf(nil, "commit %d of %s", i, a.stream.ID)
		c := a.next(3, data)
		if every > 0 && i%every == every-1 {
			c = a.nextCheckpoint(3, data)
		}
		s.append(a, c, nil)
		all = append(all, c)
	}
	return all
}

// together calls f with 0 to n-1, many at a time, since a durable store takes a while for one after the other.
func (s *suite) together(n int, f func(i int) error) {
	s.Helper()
	const hands = 64
	errs := make([]error, hands)
	var group sync.WaitGroup
	for hand := range hands {
		group.Go(func() {
			for i := hand; i < n && errs[hand] == nil; i += hands {
				errs[hand] = f(i)
			}
		})
	}
	group.Wait()
	require.NoError(s, errors.Join(errs...))
}

// requireCommits compares commits; empty and absent data are the same.
func (s *suite) requireCommits(want, got []eventstore.Commit) {
	s.Helper()
	require.Len(s, got, len(want))
	for i := range want {
		w, g := want[i], got[i]
		require.Equal(s, string(w.Data), string(g.Data), "data of commit %d", i)
		w.Data, g.Data = nil, nil
		require.Equal(s, w, g, "commit %d", i)
	}
}

// pages collects all pages of a list, each of at most limit items, and requires that no page is over it.
func pages[T any](t require.TestingT, limit int, list func(eventstore.Page) ([]T, string, error)) []T {
	var all []T
	cursor := ""
	for {
		page, next, err := list(eventstore.Page{Cursor: cursor, Limit: limit})
		require.NoError(t, err)
		require.LessOrEqual(t, len(page), limit)
		all = append(all, page...)
		if next == "" {
			return all
		}
		require.NotEqual(t, cursor, next, "the cursor does not move")
		cursor = next
	}
}
