package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// expireAll calls Expire until it has gone round.
func (s *suite) expireAll(now int64) int {
	s.Helper()
	total := 0
	for range 20 {
		n, err := s.Store.Expire(s.ctx, now, 1000)
		require.NoError(s, err)
		total += n
	}
	return total
}

func testDeadLetters(t *testing.T, s *suite) {
	letter := func(i int) eventstore.DeadLetter {
		return eventstore.DeadLetter{
			Tenant: "acme", ID: fmt.Sprint("message-", i), Execution: "order-1", Queue: "inbox", Code: "event.unknown", Cause: "it is of no known type",
			At: int64(100 + i/2), Expires: 1000, Body: fmt.Appendf(nil, "body %d", i),
		}
	}
	_, err := s.Store.DeadLetter(s.ctx, "acme", "message-0")
	require.ErrorIs(t, err, eventstore.ErrNotFound)
	var want []eventstore.DeadLetter
	for i := range 9 {
		require.NoError(t, s.Store.PutDeadLetter(s.ctx, letter(i)))
		want = append(want, letter(i))
	}
	slices.SortStableFunc(want, func(a, b eventstore.DeadLetter) int { return int(b.At - a.At) })
	again := letter(3)
	again.Cause, again.At = "something else", 500
	require.NoError(t, s.Store.PutDeadLetter(s.ctx, again), "the first stands")
	other := letter(3)
	other.Tenant = "acm"
	require.NoError(t, s.Store.PutDeadLetter(s.ctx, other))
	for _, limit := range []int{1, 4, 9} {
		require.Equal(t, want, pages(t, limit, func(p eventstore.Page) ([]eventstore.DeadLetter, string, error) {
			return s.Store.DeadLetters(s.ctx, "acme", p)
		}))
	}
	got, err := s.Store.DeadLetter(s.ctx, "acme", "message-3")
	require.NoError(t, err)
	require.Equal(t, letter(3), got)
	for range 2 {
		require.NoError(t, s.Store.RemoveDeadLetter(s.ctx, "acme", "message-3"))
	}
	_, err = s.Store.DeadLetter(s.ctx, "acme", "message-3")
	require.ErrorIs(t, err, eventstore.ErrNotFound)
	got, err = s.Store.DeadLetter(s.ctx, "acm", "message-3")
	require.NoError(t, err)
	require.Equal(t, other, got)

	for i := range 5 {
		big := letter(100 + i)
		big.Body = make([]byte, eventstore.MaxDeadLetter)
		require.NoError(t, s.Store.PutDeadLetter(s.ctx, big))
	}
	page, next, err := s.Store.DeadLetters(s.ctx, "acme", eventstore.Page{Limit: 10})
	require.NoError(t, err)
	require.Len(t, page, 3, "MaxPageBytes ends a page")
	require.NotEmpty(t, next)
	require.Len(t, pages(t, 10, func(p eventstore.Page) ([]eventstore.DeadLetter, string, error) {
		return s.Store.DeadLetters(s.ctx, "acme", p)
	}), 13)
}

func testPurge(t *testing.T, s *suite) {
	const commits = 600 // more than one step of a store that purges in steps
	other := eventstore.Stream{Tenant: "acme", ID: "order-2"}
	for _, stream := range []eventstore.Stream{order, other} {
		a := &author{stream: stream}
		for i := range commits {
			c := a.next(1, nil)
			if i%50 != 0 {
				s.append(a, c, nil)
				continue
			}
			row := someRow(stream.ID, 7)
			row.Version, row.Due, row.Purge = c.Last, 8, 9
			row.Labels = []eventstore.Label{{Key: "team", Value: "commerce"}}
			s.append(a, c, &row)
		}
		for i := range 3 {
			_, err := s.Store.Claim(s.ctx, eventstore.ClaimKey{Stream: stream, Attempt: fmt.Sprint("charge/", i)}, eventstore.Claim{Owner: "receive"})
			require.NoError(t, err)
			require.NoError(t, s.Store.Acknowledge(s.ctx, stream, fmt.Sprint("notice-", i)))
		}
	}
	s.Settle()
	for range 2 {
		require.NoError(t, s.Store.Purge(s.ctx, order))
	}
	for stream, there := range map[eventstore.Stream]bool{order: false, other: true} {
		count := 0
		if there {
			count = 1
		}
		head, err := s.Store.Head(s.ctx, stream)
		require.NoError(t, err)
		require.Equal(t, there, head > 0)
		proof, err := eventstore.Verify(s.ctx, s.Store, stream)
		require.NoError(t, err)
		require.Equal(t, commits*count, proof.Commits)
		_, err = s.Store.ReadClaim(s.ctx, eventstore.ClaimKey{Stream: stream, Attempt: "charge/1"})
		require.Equal(t, there, err == nil)
		acknowledged, err := s.Store.Acknowledged(s.ctx, stream, "notice-1")
		require.NoError(t, err)
		require.Equal(t, there, acknowledged)
		_, err = s.Store.Row(s.ctx, stream)
		require.Equal(t, there, err == nil)
	}
	require.Len(t, s.wakes(s.Store.Overdue, eventstore.MaxTime, 10), 1)
	require.Len(t, s.wakes(s.Store.Purgeable, eventstore.MaxTime, 10), 1)
	for _, f := range []eventstore.Filter{{}, {Label: eventstore.Label{Key: "team", Value: "commerce"}}, {Workflow: "order"}, {Status: "running"}} {
		require.Len(t, s.list("acme", f, 10), 1)
	}
	a := &author{stream: order}
	row := someRow(order.ID, 70)
	row.Version = 2
	s.append(a, a.next(2, nil), &row)
	s.Settle()
	got, err := s.Store.Row(s.ctx, order)
	require.NoError(t, err)
	require.Equal(t, row, got, "nothing of the old one is left")
}

func testExpire(t *testing.T, s *suite) {
	const each = 60
	a := &author{stream: order}
	s.fill(a, 3, 0)
	s.together(each, func(i int) error {
		expires := int64(i%3) * 100 // 0: never
		e := someEvent(fmt.Sprint("event-", i))
		e.At, e.Expires = 50, max(expires, 90)
		_, err1 := s.Store.PutEvent(s.ctx, paid, e)
		_, err2 := s.Store.Claim(s.ctx, key(fmt.Sprint("step/", i), 1), eventstore.Claim{Owner: "receive", Expires: expires})
		err3 := s.Store.Subscribe(s.ctx, eventstore.Subscription{Topic: paid, Execution: fmt.Sprint("order-", i), Waiter: "pay", Expires: expires})
		err4 := s.Store.PutDeadLetter(s.ctx, eventstore.DeadLetter{Tenant: "acme", ID: fmt.Sprint("message-", i), Expires: expires})
		return errors.Join(err1, err2, err3, err4)
	})
	last := someEvent("last") // the newest of a topic stays
	last.Expires = 5000
	s.putEvent(paid, last)
	count := func() (int, int, int, int) {
		claims := 0
		for i := range each {
			if _, err := s.Store.ReadClaim(s.ctx, key(fmt.Sprint("step/", i), 1)); err == nil {
				claims++
			}
		}
		subs, _, err := s.Store.Subscribers(s.ctx, paid, eventstore.Page{})
		require.NoError(t, err)
		letters, _, err := s.Store.DeadLetters(s.ctx, "acme", eventstore.Page{})
		require.NoError(t, err)
		return claims, len(subs), len(letters), len(s.readEvents(paid, 0, 89, 100))
	}
	n, err := s.Store.Expire(s.ctx, 80, 1000)
	require.NoError(t, err)
	require.Zero(t, n)
	total, calls := 0, 0
	for ; total < 3*20+40 && calls < 200; calls++ {
		n, err := s.Store.Expire(s.ctx, 100, 10)
		require.NoError(t, err)
		require.LessOrEqual(t, n, 10, "a budget of 10")
		total += n
	}
	require.Equal(t, 3*20+40, total)
	claims, subs, letters, events := count()
	require.Equal(t, []int{40, 40, 40, 21}, []int{claims, subs, letters, events})
	s.expireAll(1000)
	claims, subs, letters, events = count()
	require.Equal(t, []int{20, 20, 20}, []int{claims, subs, letters}, "what never expires stays")
	require.Equal(t, 1, events)
	_, err = eventstore.Verify(s.ctx, s.Store, order)
	require.NoError(t, err)
}
