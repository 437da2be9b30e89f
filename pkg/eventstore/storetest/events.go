package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

var paid = eventstore.Topic{Tenant: "acme", Type: "payment.received", Key: "order-1"}

// someEvent returns an event that is kept from 100 to 200.
func someEvent(id string) eventstore.Event {
	return eventstore.Event{ID: id, Source: "webhook", Data: []byte("data of " + id), At: 100, Expires: 200}
}

func (s *suite) putEvent(t eventstore.Topic, e eventstore.Event) eventstore.Event {
	s.Helper()
	stored, err := s.Store.PutEvent(s.ctx, t, e)
	require.NoError(s, err)
	e.Number, e.Sliding = stored.Number, false
	require.Equal(s, e, stored)
	return stored
}

// readEvents returns all kept events above a number, in pages.
func (s *suite) readEvents(t eventstore.Topic, after uint64, now int64, limit int) []eventstore.Event {
	s.Helper()
	var all []eventstore.Event
	for {
		page, err := s.Store.ReadEvents(s.ctx, t, after, now, limit)
		require.NoError(s, err)
		require.LessOrEqual(s, len(page), limit)
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		after = page[len(page)-1].Number
	}
}

func testEventNumbers(t *testing.T, s *suite) {
	require.Empty(t, s.readEvents(paid, 0, 100, 10))
	var want []eventstore.Event
	for i := range 7 {
		e := s.putEvent(paid, someEvent(fmt.Sprint("event-", i)))
		require.EqualValues(t, i+1, e.Number)
		want = append(want, e)
	}
	for _, other := range []eventstore.Topic{
		{Tenant: "acme", Type: "payment.received", Key: "order-2"}, {Tenant: "acme", Type: "payment", Key: "order-1"},
		{Tenant: "acm", Type: "payment.received", Key: "order-1"}, {Tenant: "acme", Type: "payment.received"},
	} {
		require.EqualValues(t, 1, s.putEvent(other, someEvent("event-0")).Number, "topics are apart")
	}
	for _, limit := range []int{1, 3, 100} {
		require.Equal(t, want, s.readEvents(paid, 0, 100, limit))
		require.Equal(t, want[4:], s.readEvents(paid, 4, 100, limit))
	}
	require.Empty(t, s.readEvents(paid, 7, 100, 10))
	require.Empty(t, s.readEvents(paid, 1<<64-1, 100, 10))

	again := someEvent("event-3")
	again.Data = []byte("something else")
	stored, err := s.Store.PutEvent(s.ctx, paid, again)
	require.NoError(t, err)
	require.Equal(t, want[3], stored, "an ID that is there already is returned as it is there")
	require.Equal(t, want, s.readEvents(paid, 0, 100, 10))

	renamed := someEvent("event-6 again")
	renamed.At, renamed.Before, renamed.Since = 110, "event-6", 100
	stored, err = s.Store.PutEvent(s.ctx, paid, renamed)
	require.NoError(t, err)
	require.Equal(t, want[6], stored, "nor one that came under another ID")
	renamed.Since = 101
	elsewhere := eventstore.Topic{Tenant: "acme", Type: "payment", Key: "order-6"}
	s.putEvent(elsewhere, someEvent("event-6"))
	stored, err = s.Store.PutEvent(s.ctx, elsewhere, renamed)
	require.NoError(t, err)
	require.EqualValues(t, 2, stored.Number, "but for one that came too long ago")
	require.Equal(t, stored.Stored(), stored, "what is said once is not read back")

	for i := range eventstore.DedupeWindow {
		s.putEvent(paid, someEvent(fmt.Sprint("more-", i)))
	}
	stored, err = s.Store.PutEvent(s.ctx, paid, someEvent("more-0"))
	require.NoError(t, err)
	require.EqualValues(t, 8, stored.Number, "the window is as long as it says")
	stored, err = s.Store.PutEvent(s.ctx, paid, someEvent("event-6"))
	require.NoError(t, err)
	require.EqualValues(t, 8+eventstore.DedupeWindow, stored.Number, "and not longer")
}

func testEventRace(t *testing.T, s *suite) {
	const senders, each = 16, 10
	var group sync.WaitGroup
	numbers := make([][]uint64, senders)
	for i := range senders {
		group.Go(func() {
			for n := range each {
				e, err := s.Store.PutEvent(s.ctx, paid, someEvent(fmt.Sprint(i, "-", n)))
				if err != nil {
					t.Errorf("put event: %v", err)
					return
				}
				numbers[i] = append(numbers[i], e.Number)
			}
		})
	}
	group.Wait()
	all := slices.Concat(numbers...)
	slices.Sort(all)
	for i, n := range all {
		require.EqualValues(t, i+1, n, "each number once")
	}
	for _, own := range numbers {
		require.True(t, slices.IsSorted(own), "a sender's later event has a higher number")
	}
	require.Len(t, s.readEvents(paid, 0, 100, 7), senders*each)
}

func testEventExpiry(t *testing.T, s *suite) {
	short, long := someEvent("short"), someEvent("long")
	short.Expires = 150
	short, long = s.putEvent(paid, short), s.putEvent(paid, long)
	require.Equal(t, []eventstore.Event{short, long}, s.readEvents(paid, 0, 149, 10))
	require.Equal(t, []eventstore.Event{long}, s.readEvents(paid, 0, 150, 10))
	require.Empty(t, s.readEvents(paid, 0, 200, 10))
	removed := s.expireAll(150)
	require.Equal(t, 1, removed)
	require.Equal(t, []eventstore.Event{long}, s.readEvents(paid, 0, 150, 10))
	s.expireAll(1000)
	require.Empty(t, s.readEvents(paid, 0, 1000, 10))
	later := someEvent("long")
	later.At, later.Expires = 1000, 2000
	require.EqualValues(t, 3, s.putEvent(paid, later).Number, "numbers go on when all events have expired, and IDs may come again")
	s.expireAll(5000)
	s.expireAll(9000)
	last := someEvent("last")
	last.At, last.Expires = 9000, 9999
	last = s.putEvent(paid, last)
	require.EqualValues(t, 4, last.Number)
	require.Equal(t, []eventstore.Event{last}, s.readEvents(paid, 3, 9000, 10))
}

func testEventQuota(t *testing.T, s *suite) {
	first := someEvent("event-0")
	first.Expires = 5100
	s.putEvent(paid, first)
	s.together(eventstore.MaxKeptEvents-1, func(i int) error {
		e := someEvent(fmt.Sprint("event-", i+1))
		e.Expires = 9000
		_, err := s.Store.PutEvent(s.ctx, paid, e)
		return err
	})
	e := someEvent("one more")
	e.At, e.Expires = 5099, 9000
	_, err := s.Store.PutEvent(s.ctx, paid, e)
	var quota *eventstore.QuotaError
	require.ErrorAs(t, err, &quota)
	require.Equal(t, eventstore.QuotaError{Topic: paid, Limit: eventstore.MaxKeptEvents}, *quota)
	newest := s.readEvents(paid, eventstore.MaxKeptEvents-1, 100, 1)[0]
	_, err = s.Store.PutEvent(s.ctx, paid, newest)
	require.NoError(t, err, "a repeat needs no room")
	e.At = 5100 // the first has expired
	require.EqualValues(t, eventstore.MaxKeptEvents+1, s.putEvent(paid, e).Number)
	e.ID = "yet another"
	_, err = s.Store.PutEvent(s.ctx, paid, e)
	require.ErrorAs(t, err, &quota)
	require.EqualValues(t, 1, s.putEvent(eventstore.Topic{Tenant: "acme", Type: "payment.received", Key: "order-2"}, e).Number)

	e.Sliding = true
	slid := s.putEvent(paid, e)
	require.EqualValues(t, eventstore.MaxKeptEvents+2, slid.Number)
	require.False(t, slid.Sliding, "it is not part of the event")
	kept := s.readEvents(paid, 0, 5100, eventstore.MaxPage)
	require.EqualValues(t, 3, kept[0].Number, "the oldest were forgotten")
	require.Equal(t, slid, s.readEvents(paid, eventstore.MaxKeptEvents+1, 5100, 1)[0])
}

// testWaiterAndSender races a waiter, who subscribes and then reads events, against a sender, who puts an event and then reads
// subscribers: at least one of them must see the other.
func testWaiterAndSender(t *testing.T, s *suite) {
	for round := range 100 {
		topic := eventstore.Topic{Tenant: "acme", Type: "payment.received", Key: fmt.Sprint("order-", round)}
		var sees, seen bool
		var group sync.WaitGroup
		group.Go(func() {
			if err := s.Store.Subscribe(s.ctx, eventstore.Subscription{Topic: topic, Execution: "order", Waiter: "pay"}); err != nil {
				t.Errorf("subscribe: %v", err)
			}
			events, err := s.Store.ReadEvents(s.ctx, topic, 0, 100, 10)
			if err != nil {
				t.Errorf("read events: %v", err)
			}
			sees = len(events) == 1
		})
		group.Go(func() {
			if _, err := s.Store.PutEvent(s.ctx, topic, someEvent("event")); err != nil {
				t.Errorf("put event: %v", err)
			}
			waiters, _, err := s.Store.Subscribers(s.ctx, topic, eventstore.Page{})
			if err != nil {
				t.Errorf("subscribers: %v", err)
			}
			seen = len(waiters) == 1
		})
		group.Wait()
		require.True(t, sees || seen, "round %d: the event is lost", round)
	}
}

func testSubscriptions(t *testing.T, s *suite) {
	var want []eventstore.Subscription
	for i := range 9 {
		sub := eventstore.Subscription{Topic: paid, Execution: fmt.Sprint("order-", i/3), Waiter: fmt.Sprint("wait-", i%3), Expires: int64(1000 + i)}
		require.NoError(t, s.Store.Subscribe(s.ctx, sub))
		want = append(want, sub)
		sub.Topic.Key = "order-2"
		require.NoError(t, s.Store.Subscribe(s.ctx, sub))
	}
	want[4].Expires = 5000
	require.NoError(t, s.Store.Subscribe(s.ctx, want[4]))
	for _, limit := range []int{1, 2, 9, 10} {
		require.Equal(t, want, pages(t, limit, func(p eventstore.Page) ([]eventstore.Subscription, string, error) {
			return s.Store.Subscribers(s.ctx, paid, p)
		}))
	}
	for range 2 {
		require.NoError(t, s.Store.Unsubscribe(s.ctx, want[1]))
	}
	want = slices.Delete(want, 1, 2)
	got, _, err := s.Store.Subscribers(s.ctx, paid, eventstore.Page{})
	require.NoError(t, err)
	require.Equal(t, want, got)
}
