package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

var order = eventstore.Stream{Tenant: "acme", ID: "order-1"}

func testAppend(t *testing.T, s *suite) {
	head, err := s.Store.Head(s.ctx, order)
	require.NoError(t, err)
	require.Zero(t, head)
	tail, err := s.Store.Tail(s.ctx, order)
	require.NoError(t, err)
	require.Empty(t, tail)
	_, err = s.Store.ReadCommit(s.ctx, order, 1)
	require.ErrorIs(t, err, eventstore.ErrNotFound)

	a := &author{stream: order}
	all := s.fill(a, 3, 0)
	empty := a.next(1, nil)
	s.append(a, empty, nil)
	all = append(all, empty)

	head, err = s.Store.Head(s.ctx, order)
	require.NoError(t, err)
	require.EqualValues(t, 10, head)
	for _, c := range all {
		got, err := s.Store.ReadCommit(s.ctx, order, c.First)
		require.NoError(t, err)
		s.requireCommits([]eventstore.Commit{c}, []eventstore.Commit{got})
	}
	_, err = s.Store.ReadCommit(s.ctx, order, 2)
	require.ErrorIs(t, err, eventstore.ErrNotFound, "the key is the FIRST event of a batch")
	_, err = s.Store.ReadCommit(s.ctx, eventstore.Stream{Tenant: "other", ID: order.ID}, 1)
	require.ErrorIs(t, err, eventstore.ErrNotFound, "tenants are apart")
	tail, err = s.Store.Tail(s.ctx, order)
	require.NoError(t, err)
	s.requireCommits(all, tail)
	proof, err := eventstore.Verify(s.ctx, s.Store, order)
	require.NoError(t, err)
	require.Equal(t, eventstore.Proof{Commits: 4, Last: 10, Hash: empty.Hash(order)}, proof)
}

func testConflict(t *testing.T, s *suite) {
	a := &author{stream: order}
	s.fill(a, 2, 0)
	for name, c := range map[string]eventstore.Commit{
		"same key":          {First: 4, Last: 4, Nonce: freshNonce()},
		"longer batch":      {First: 4, Last: 40, Nonce: freshNonce()},
		"first":             {First: 1, Last: 6, Nonce: freshNonce()},
		"inside a batch":    {First: 5, Last: 7, Nonce: freshNonce()},
		"ends like another": {First: 6, Last: 6, Nonce: freshNonce()},
	} {
		err := s.Store.Append(s.ctx, order, c, nil)
		var conflict *eventstore.ConflictError
		require.ErrorAs(t, err, &conflict, name)
		require.Equal(t, c.First-1, conflict.Expected, name)
		require.EqualValues(t, 6, conflict.Actual, name)
	}
	_, err := eventstore.Verify(s.ctx, s.Store, order)
	require.NoError(t, err)
	require.NoError(t, s.Store.Append(s.ctx, order, a.next(1, nil), nil), "a conflict leaves nothing behind")
}

func testRepeat(t *testing.T, s *suite) {
	a := &author{stream: order}
	first := a.next(2, []byte("first"))
	s.append(a, first, nil)
	require.NoError(t, s.Store.Append(s.ctx, order, first, nil), "the same commit again is done already")
	second := a.next(1, []byte("second"))
	s.append(a, second, nil)
	require.NoError(t, s.Store.Append(s.ctx, order, first, nil), "however late")
	tail, err := s.Store.Tail(s.ctx, order)
	require.NoError(t, err)
	s.requireCommits([]eventstore.Commit{first, second}, tail)
}

func testRace(t *testing.T, s *suite) {
	const writers, rounds = 32, 20
	a := &author{stream: order}
	for range rounds {
		var won atomic.Pointer[eventstore.Commit]
		var wins, conflicts atomic.Int32
		var group sync.WaitGroup
		start := make(chan struct{})
		for w := range writers {
			c := a.next(1+w%7, fmt.Appendf(nil, "writer %d", w))
			group.Go(func() {
				<-start
				err := s.Store.Append(s.ctx, order, c, nil)
				var conflict *eventstore.ConflictError
				switch {
				case err == nil:
					wins.Add(1)
					won.Store(&c)
				case errorAs(err, &conflict) && conflict.Expected == c.First-1 && conflict.Actual > conflict.Expected:
					conflicts.Add(1)
				default:
					t.Errorf("neither won nor conflict: %v", err)
				}
			})
		}
		close(start)
		group.Wait()
		require.EqualValues(t, 1, wins.Load())
		require.EqualValues(t, writers-1, conflicts.Load())
		a.wrote(*won.Load())
		head, err := s.Store.Head(s.ctx, order)
		require.NoError(t, err)
		require.Equal(t, a.head, head)
	}
	proof, err := eventstore.Verify(s.ctx, s.Store, order)
	require.NoError(t, err)
	require.Equal(t, rounds, proof.Commits)
}

func testManyStreams(t *testing.T, s *suite) {
	const streams, commits = 40, 25
	var group sync.WaitGroup
	for i := range streams {
		a := &author{stream: eventstore.Stream{Tenant: fmt.Sprint("tenant-", i%3), ID: fmt.Sprint("order-", i)}}
		group.Go(func() {
			for n := range commits {
				c := a.next(1+n%4, bytes.Repeat([]byte{byte(i)}, 10+n*20))
				if err := s.Store.Append(s.ctx, a.stream, c, nil); err != nil {
					t.Errorf("append: %v", err)
					return
				}
				a.wrote(c)
			}
			proof, err := eventstore.Verify(s.ctx, s.Store, a.stream)
			if err != nil || proof.Last != a.head || proof.Hash != a.hash || proof.Commits != commits {
				t.Errorf("verify %s: %v, %v", a.stream, proof, err)
			}
		})
	}
	group.Wait()
}

func testPages(t *testing.T, s *suite) {
	a := &author{stream: order}
	all := s.fill(a, 23, 5)
	s.fill(&author{stream: eventstore.Stream{Tenant: "acme", ID: "order-2"}}, 3, 0)
	for _, limit := range []int{1, 2, 10, 23, 24, eventstore.MaxPage} {
		var got []eventstore.Commit
		after := uint64(0)
		for {
			page, err := s.Store.Page(s.ctx, order, after, limit)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page), limit)
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			after = page[len(page)-1].Last
		}
		s.requireCommits(all, got)
	}
	page, err := s.Store.Page(s.ctx, order, 0, 0)
	require.NoError(t, err)
	require.Len(t, page, 23, "limit 0 is DefaultPage")
	for _, after := range []uint64{69, 70, eventstore.MaxSequence, 1<<64 - 1} {
		page, err := s.Store.Page(s.ctx, order, after, 10)
		require.NoError(t, err)
		require.Empty(t, page)
	}
	page, err = s.Store.Page(s.ctx, eventstore.Stream{Tenant: "acme", ID: "none"}, 0, 10)
	require.NoError(t, err)
	require.Empty(t, page)
}

func testPageInsideBatch(t *testing.T, s *suite) {
	a := &author{stream: order}
	all := s.fill(a, 4, 0) // 1-3, 4-6, 7-9, 10-12
	for after, from := range map[uint64]int{0: 0, 2: 0, 3: 1, 4: 1, 5: 1, 6: 2, 11: 3} {
		page, err := s.Store.Page(s.ctx, order, after, 10)
		require.NoError(t, err)
		s.requireCommits(all[from:], page)
	}
}

func testPageBytes(t *testing.T, s *suite) {
	a := &author{stream: order}
	for range 7 {
		s.append(a, a.next(1, make([]byte, 300_000)), nil)
	}
	page, err := s.Store.Page(s.ctx, order, 0, 100)
	require.NoError(t, err)
	require.Len(t, page, 3, "MaxPageBytes ends a page")
	_, err = eventstore.Verify(s.ctx, s.Store, order)
	require.NoError(t, err)
}

func testTail(t *testing.T, s *suite) {
	a := &author{stream: order}
	s.fill(a, 4, 0)
	at := a.nextCheckpoint(3, []byte("state"))
	s.append(a, at, nil)
	tail, err := s.Store.Tail(s.ctx, order)
	require.NoError(t, err)
	s.requireCommits([]eventstore.Commit{at}, tail)
	all := append([]eventstore.Commit{at}, s.fill(a, 3, 0)...)
	tail, err = s.Store.Tail(s.ctx, order)
	require.NoError(t, err)
	s.requireCommits(all, tail)
	require.NoError(t, eventstore.VerifyTail(order, tail))
}

func testTailLimit(t *testing.T, s *suite) {
	a := &author{stream: order}
	data := make([]byte, eventstore.MaxCommit)
	for range eventstore.MaxTail / len(data) {
		s.append(a, a.next(1, data), nil)
	}
	tail, err := s.Store.Tail(s.ctx, order)
	require.NoError(t, err)
	require.Len(t, tail, eventstore.MaxTail/len(data))
	s.append(a, a.next(1, data), nil)
	_, err = s.Store.Tail(s.ctx, order)
	var limit *eventstore.LimitError
	require.ErrorAs(t, err, &limit)
	require.EqualValues(t, eventstore.MaxTail, limit.Limit)
}

// testLongHistory shows that a load reads the same whatever lies before the checkpoint.
func testLongHistory(t *testing.T, s *suite) {
	const perCommit, every = 100, 10
	a := &author{stream: order}
	data := make([]byte, 400)
	type cost struct{ commits, bytes int64 }
	var costs []cost
	for n := 1; a.head < 100_000; n++ {
		c := a.next(perCommit, data)
		if n%every == 0 {
			c = a.nextCheckpoint(perCommit, data)
		}
		s.append(a, c, nil)
		if a.head == 1_500 || a.head == 10_500 || a.head == 99_500 {
			commits, bytes := s.Reads()
			tail, err := s.Store.Tail(s.ctx, order)
			require.NoError(t, err)
			require.NoError(t, eventstore.VerifyTail(order, tail))
			nowCommits, nowBytes := s.Reads()
			costs = append(costs, cost{nowCommits - commits, nowBytes - bytes})
		}
	}
	require.Len(t, costs, 3)
	require.NotZero(t, costs[0].commits)
	require.Equal(t, costs[0], costs[1], "a load at 10,000 events costs as much as at 1,000")
	require.Equal(t, costs[0], costs[2], "and at 99,500 too")
	proof, err := eventstore.Verify(s.ctx, s.Store, order)
	require.NoError(t, err)
	require.EqualValues(t, 100_000, proof.Last)
}

// testReaders reads while others write: every answer must be a state that was there.
func testReaders(t *testing.T, s *suite) {
	const commits = 150
	a := &author{stream: order}
	s.fill(a, 1, 0)
	var done atomic.Bool
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			last := uint64(0)
			for !done.Load() {
				head, err := s.Store.Head(s.ctx, order)
				if err != nil || head < last {
					t.Errorf("head went from %d to %d: %v", last, head, err)
					return
				}
				last = head
				tail, err := s.Store.Tail(s.ctx, order)
				if err != nil || eventstore.VerifyTail(order, tail) != nil || tail[len(tail)-1].Last < last {
					t.Errorf("tail at %d: %v, %v", last, err, eventstore.VerifyTail(order, tail))
					return
				}
				if _, err := eventstore.Verify(s.ctx, s.Store, order); err != nil {
					t.Errorf("verify: %v", err)
					return
				}
			}
		})
	}
	s.fill(a, commits, 7)
	done.Store(true)
	group.Wait()
}

func testTampering(t *testing.T, s *suite) {
	flip := func(i int, change func(*eventstore.Commit)) func([]eventstore.Commit) []eventstore.Commit {
		return func(all []eventstore.Commit) []eventstore.Commit {
			all[i].Data = slices.Clone(all[i].Data)
			change(&all[i])
			return all
		}
	}
	n := 0
	for name, change := range map[string]func([]eventstore.Commit) []eventstore.Commit{
		"a byte of the data": flip(4, func(c *eventstore.Commit) { c.Data[3] ^= 1 }),
		"data cut":           flip(4, func(c *eventstore.Commit) { c.Data = c.Data[:3] }),
		"data of the first":  flip(0, func(c *eventstore.Commit) { c.Data[0] ^= 1 }),
		"nonce":              flip(4, func(c *eventstore.Commit) { c.Nonce[0] ^= 1 }),
		"previous hash":      flip(4, func(c *eventstore.Commit) { c.Prev[0] ^= 1 }),
		"last":               flip(4, func(c *eventstore.Commit) { c.Last++ }),
		"checkpoint":         flip(8, func(c *eventstore.Commit) { c.Checkpoint = 1 }),
		"checkpoint hidden":  flip(6, func(c *eventstore.Commit) { c.Checkpoint = 0 }),
		"commit removed":     func(all []eventstore.Commit) []eventstore.Commit { return slices.Delete(all, 4, 5) },
		"first removed":      func(all []eventstore.Commit) []eventstore.Commit { return all[1:] },
		"history cut":        func(all []eventstore.Commit) []eventstore.Commit { return all[:len(all)-1] },
		"history emptied":    func([]eventstore.Commit) []eventstore.Commit { return nil },
		"all of another one": func([]eventstore.Commit) []eventstore.Commit { return otherHistory(10) },
		"one of another one": func(all []eventstore.Commit) []eventstore.Commit { all[4] = otherHistory(10)[4]; return all },
		"a commit split":     splitCommit,
		"two commits swapped": func(all []eventstore.Commit) []eventstore.Commit {
			all[3].Data, all[4].Data = all[4].Data, all[3].Data
			return all
		},
	} {
		t.Run(name, func(t *testing.T) {
			n++
			a := &author{stream: eventstore.Stream{Tenant: "acme", ID: fmt.Sprint("order-", n)}}
			s.fill(a, 10, 7)
			proof, err := eventstore.Verify(s.ctx, s.Store, a.stream)
			require.NoError(t, err)
			s.Tamper(a.stream, change)
			found, err := eventstore.Verify(s.ctx, s.Store, a.stream)
			if err == nil { // a store whose head is that of the last commit
				require.NotEqual(t, proof, found, "a published head tells")
				require.Contains(t, []string{"history cut", "history emptied"}, name)
				return
			}
			var corrupt *eventstore.CorruptError
			require.ErrorAs(t, err, &corrupt)
			require.Equal(t, a.stream, corrupt.Stream)
		})
	}
}

// otherHistory is a sound history of another stream.
func otherHistory(commits int) []eventstore.Commit {
	a := &author{stream: eventstore.Stream{Tenant: "acme", ID: "another"}}
	var all []eventstore.Commit
	for i := range commits {
		c := a.next(3, fmt.Appendf(nil, "forged %d", i))
		a.wrote(c)
		all = append(all, c)
	}
	return all
}

// splitCommit makes two commits of one, without a gap.
func splitCommit(all []eventstore.Commit) []eventstore.Commit {
	second := all[4]
	all[4].Last = second.First
	second.First++
	second.Nonce = freshNonce()
	return slices.Insert(all, 5, second)
}

func testRowWithCommit(t *testing.T, s *suite) {
	a := &author{stream: order}
	row := eventstore.Row{
		Stream: order, Workflow: "order", Definition: 3, Started: 100, Status: "running", Open: true, Updated: 100, Due: 160, Wake: 150,
		Labels: []eventstore.Label{{Key: "env", Value: "prod"}, {Key: "team", Value: "commerce"}},
	}
	for i := range 5 {
		c := a.next(2, nil)
		row.Version, row.Updated, row.Due = c.Last, int64(100+i), int64(160+i)
		if i == 4 {
			row.Status, row.Outcome, row.Open, row.Due, row.Wake, row.Purge = "completed", "succeeded", false, 0, 0, 900
		}
		s.append(a, c, &row)
		s.Settle()
		got, err := s.Store.Row(s.ctx, order)
		require.NoError(t, err)
		require.Equal(t, row, got)
	}
	lost := eventstore.Commit{First: 3, Last: 3, Nonce: freshNonce()}
	late := row
	late.Version, late.Status = 3, "wrong"
	var conflict *eventstore.ConflictError
	require.ErrorAs(t, s.Store.Append(s.ctx, order, lost, &late), &conflict)
	s.Settle()
	got, err := s.Store.Row(s.ctx, order)
	require.NoError(t, err)
	require.Equal(t, row, got, "a commit that lost leaves no row")
}
