package eventstore_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// TestHashIsForEver holds the hash of a commit: histories that were written chain by it.
func TestHashIsForEver(t *testing.T) {
	s := eventstore.Stream{Tenant: "acme", ID: "order-17"}
	c := eventstore.Commit{First: 4, Last: 6, Checkpoint: 1, Nonce: eventstore.Nonce{1, 2, 3}, Prev: eventstore.Hash{4, 5, 6}, Data: []byte("data")}
	require.Equal(t, "860f916cc1bc02139e22de756485019dce1ce1e18431bc365b9e20ba27332ede", c.Hash(s).String())
}

// TestHashCoversAll changes each part of a commit and of its stream's name: the hash must tell.
func TestHashCoversAll(t *testing.T) {
	s := eventstore.Stream{Tenant: "acme", ID: "order"}
	c := eventstore.Commit{First: 4, Last: 6, Checkpoint: 1, Nonce: eventstore.Nonce{1}, Prev: eventstore.Hash{1}, Data: []byte("data")}
	seen := map[eventstore.Hash]string{c.Hash(s): "unchanged"}
	try := func(name string, s eventstore.Stream, c eventstore.Commit) {
		h := c.Hash(s)
		require.Empty(t, seen[h], "%s has the hash of another", name)
		seen[h] = name
	}
	for name, change := range map[string]func(*eventstore.Commit){
		"first": func(c *eventstore.Commit) { c.First++ }, "last": func(c *eventstore.Commit) { c.Last++ },
		"checkpoint": func(c *eventstore.Commit) { c.Checkpoint = 4 }, "nonce": func(c *eventstore.Commit) { c.Nonce[15]++ },
		"prev": func(c *eventstore.Commit) { c.Prev[31]++ }, "data": func(c *eventstore.Commit) { c.Data = []byte("date") },
		"more data": func(c *eventstore.Commit) { c.Data = []byte("data\x00") }, "no data": func(c *eventstore.Commit) { c.Data = nil },
	} {
		changed := c
		change(&changed)
		try(name, s, changed)
	}
	try("tenant", eventstore.Stream{Tenant: "acm", ID: "eorder"}, c)
	try("execution", eventstore.Stream{Tenant: "acme", ID: "order2"}, c)
	try("shifted", eventstore.Stream{Tenant: "acmeo", ID: "rder"}, c)
}

// TestShardsAreForEver holds the shards of some executions, which stand in stores, and that they are spread.
func TestShardsAreForEver(t *testing.T) {
	require.Equal(t, []int{39, 22, 58}, []int{
		eventstore.Stream{Tenant: "acme", ID: "order-17"}.Shard(),
		eventstore.Stream{Tenant: "acme", ID: "order-18"}.Shard(),
		eventstore.Stream{Tenant: "", ID: "é"}.Shard(),
	})
	counts := make([]int, eventstore.Shards)
	for i := range 6400 {
		counts[eventstore.Stream{Tenant: "acme", ID: fmt.Sprint("order-", i)}.Shard()]++
	}
	for shard, n := range counts {
		require.InDelta(t, 100, n, 60, "shard %d", shard)
	}
}

func TestCursors(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		number := rapid.Int64().Draw(r, "number")
		parts := rapid.SliceOfN(rapid.String(), 0, 3).Draw(r, "parts")
		cursor := eventstore.NewCursor(number, parts...)
		gotNumber, gotParts, err := eventstore.ParseCursor(cursor, len(parts))
		require.NoError(r, err)
		require.Equal(r, number, gotNumber)
		require.Len(r, gotParts, len(parts))
		for i := range parts {
			require.Equal(r, parts[i], gotParts[i])
		}
		_, _, err = eventstore.ParseCursor(cursor, len(parts)+1)
		var invalid *eventstore.InvalidError
		require.ErrorAs(r, err, &invalid)
	})
}

// FuzzCursor feeds cursors that no list made, as a client of the API can: an error, never a panic.
func FuzzCursor(f *testing.F) {
	f.Add(eventstore.NewCursor(1, "a", "b"), 2)
	f.Add("", 0)
	f.Add("AP_______________w", 1)
	f.Fuzz(func(t *testing.T, cursor string, parts int) {
		if parts < 0 || parts > 4 {
			return
		}
		number, got, err := eventstore.ParseCursor(cursor, parts)
		if err == nil && len(got) != parts {
			t.Fatalf("%d %v", number, got)
		}
	})
}

// FuzzRef parses references, which users may hand in: what parses prints the same.
func FuzzRef(f *testing.F) {
	f.Add(eventstore.Ref{Size: 3}.String())
	f.Add("sha256::")
	f.Add("sha256:00:-1")
	f.Fuzz(func(t *testing.T, text string) {
		if ref, err := eventstore.ParseRef(text); err == nil && ref.String() != text {
			t.Fatalf("%q parses, but prints %q", text, ref)
		}
	})
}

func TestParseRef(t *testing.T) {
	ref := eventstore.Ref{Hash: eventstore.Hash{0xab, 1}, Size: 1 << 40}
	got, err := eventstore.ParseRef(ref.String())
	require.NoError(t, err)
	require.Equal(t, ref, got)
	for _, text := range []string{"", "sha256:", "sha256:ab:1", ref.String() + "0x", ref.String()[7:], "md5:" + ref.String()[7:], ref.String() + " ", "sha256:" + ref.Hash.String() + ":-1"} {
		_, err := eventstore.ParseRef(text)
		var invalid *eventstore.InvalidError
		require.ErrorAs(t, err, &invalid, "%q", text)
	}
}

// TestErrorsTellTheWayOut holds the texts of the errors, which people read.
func TestErrorsTellTheWayOut(t *testing.T) {
	s := eventstore.Stream{Tenant: "acme", ID: "order-17"}
	k := eventstore.ClaimKey{Stream: s, Attempt: "charge/1", Fence: 2}
	cause := fmt.Errorf("disk full")
	for want, err := range map[string]error{
		"alias live: expected version 3, found 4: load it again and decide again":                     &eventstore.ConflictError{What: "alias live", Expected: 3, Actual: 4},
		"append: the outcome of the write is unknown after 2 tries: disk full":                        &eventstore.UnknownOutcomeError{Op: "append", Tries: 2, Err: cause},
		"append: the store is unavailable, nothing was written: disk full":                            &eventstore.UnavailableError{Op: "append", Err: cause},
		"row of execution acme/order-17: not found":                                                   &eventstore.NotFoundError{What: "row of execution " + s.String()},
		"workflow w version 1 exists with other content and never changes: use a new name or version": &eventstore.ExistsError{What: "workflow w version 1"},
		"attempt charge/1 of acme/order-17 under fence 2 has no claim":                                &eventstore.NotOwnerError{Key: k},
		"attempt charge/1 of acme/order-17 under fence 2 is claimed by revoked":                       &eventstore.NotOwnerError{Key: k, Claim: eventstore.Claim{Owner: eventstore.Revoked}},
		"commit is 7, over the limit of 6":                                                            &eventstore.LimitError{Field: "commit", Limit: 6, Actual: 7},
		"cursor: it is not one that the same list returned":                                           &eventstore.InvalidError{Field: "cursor", Reason: "it is not one that the same list returned"},
		"history acme/order-17 is corrupt at 4: a reason: it was changed after it was written; put a backup of the store in its place (other executions are not concerned)": &eventstore.CorruptError{Stream: s, First: 4, Reason: "a reason"},
		"payload sha256:" + eventstore.Hash{}.String() + ":3 is corrupt: a reason: put the file from a backup in its place":                                                 &eventstore.CorruptPayloadError{Ref: eventstore.Ref{Size: 3}, Reason: "a reason"},
		"event acme/paid/k keeps 1000 events already: send fewer, spread them over more keys, or keep them for a shorter time":                                              &eventstore.QuotaError{Topic: eventstore.Topic{Tenant: "acme", Type: "paid", Key: "k"}, Limit: 1000},
	} {
		require.EqualError(t, err, want)
	}
	require.ErrorIs(t, &eventstore.UnknownOutcomeError{Err: cause}, eventstore.ErrUnknownOutcome)
	require.ErrorIs(t, &eventstore.UnknownOutcomeError{Err: cause}, cause)
	require.NotErrorIs(t, &eventstore.UnknownOutcomeError{Err: cause}, eventstore.ErrUnavailable)
	require.ErrorIs(t, &eventstore.UnavailableError{Err: cause}, eventstore.ErrUnavailable)
	require.ErrorIs(t, &eventstore.UnavailableError{Err: cause}, cause)
	require.ErrorIs(t, &eventstore.NotFoundError{}, eventstore.ErrNotFound)
}

// TestVerifyTail refuses tails that are no tails.
func TestVerifyTail(t *testing.T) {
	s := eventstore.Stream{Tenant: "acme", ID: "order-17"}
	first := eventstore.Commit{First: 1, Last: 2, Nonce: eventstore.Nonce{1}}
	second := eventstore.Commit{First: 3, Last: 3, Checkpoint: 3, Nonce: eventstore.Nonce{2}, Prev: first.Hash(s)}
	third := eventstore.Commit{First: 4, Last: 4, Checkpoint: 3, Nonce: eventstore.Nonce{3}, Prev: second.Hash(s)}
	require.NoError(t, eventstore.VerifyTail(s, nil))
	require.NoError(t, eventstore.VerifyTail(s, []eventstore.Commit{first}))
	require.NoError(t, eventstore.VerifyTail(s, []eventstore.Commit{second, third}))
	changed := third
	changed.Prev[0]++
	early := third
	early.Checkpoint = 1
	for name, tail := range map[string][]eventstore.Commit{
		"starts nowhere": {third}, "gap": {first, third}, "chain": {second, changed}, "checkpoint inside": {first, second}, "other checkpoint": {second, early},
	} {
		var corrupt *eventstore.CorruptError
		require.ErrorAs(t, eventstore.VerifyTail(s, tail), &corrupt, name)
	}
}
