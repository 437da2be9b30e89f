package storetest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// testFeed looks at the feed of a store that has one.
func testFeed(t *testing.T, s *suite) {
	feed, ok := s.Store.(eventstore.Feed)
	if !ok {
		t.Skip("this store has no feed")
	}
	a := &author{stream: eventstore.Stream{Tenant: "acme", ID: "order-1"}}
	b := &author{stream: eventstore.Stream{Tenant: "acme", ID: "order-2"}}
	var want []eventstore.FeedEntry
	put := func(x *author, publish bool) eventstore.Commit {
		c := x.next(2, []byte("data"))
		c.Publish = publish
		require.NoError(t, s.Store.Append(s.ctx, x.stream, c, nil))
		x.head, x.hash = c.Last, c.Hash(x.stream)
		if publish {
			want = append(want, eventstore.FeedEntry{Stream: x.stream, First: c.First})
		}
		return c
	}
	numbered := func(entries []eventstore.FeedEntry) []eventstore.FeedEntry {
		out := slices.Clone(entries)
		for i := range out {
			if i > 0 {
				require.Greater(t, out[i].Number, entries[i-1].Number)
			}
			out[i].Number = 0
		}
		return out
	}
	unpublished := func(after uint64, limit int) []eventstore.FeedEntry {
		entries, err := feed.Unpublished(s.ctx, after, limit)
		require.NoError(t, err)
		return entries
	}
	require.Empty(t, unpublished(0, 10))
	put(a, true)
	put(a, false)
	put(b, true)
	third := put(a, true)
	require.NoError(t, s.Store.Append(s.ctx, a.stream, third, nil), "the same commit again")
	stale := third
	stale.Nonce = freshNonce()
	require.Error(t, s.Store.Append(s.ctx, a.stream, stale, nil), "one that loses")
	all := unpublished(0, 10)
	require.Equal(t, want, numbered(all), "once each, in the order of the commits, and only those that were stored")
	require.Equal(t, all[1:], unpublished(all[0].Number, 10))
	require.Equal(t, all[:2], unpublished(0, 2))
	read, err := s.Store.ReadCommit(s.ctx, a.stream, third.First)
	require.NoError(t, err)
	third.Publish = false
	require.Equal(t, third, read, "the mark is not part of the commit")

	for range 2 {
		require.NoError(t, feed.Published(s.ctx, all[0].Number, all[2].Number))
	}
	require.Equal(t, all[1:2], unpublished(0, 10))
	put(b, true)
	last := unpublished(0, 10)
	require.Len(t, last, 2)
	require.Greater(t, last[1].Number, all[2].Number, "numbers are never used again")
	if s.Reopen != nil {
		s.Store = s.Reopen()
		feed = s.Store.(eventstore.Feed)
		require.Equal(t, last, unpublished(0, 10), "the feed outlives its process")
	}
	require.NoError(t, s.Store.Purge(s.ctx, b.stream))
	require.Empty(t, unpublished(0, 10), "it goes with its history")
}
