package dynamodb_test

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

func rowOf(id eventstore.Stream, version uint64) eventstore.Row {
	return eventstore.Row{Stream: id, Workflow: "order", Definition: 3, Started: 1_000, Version: version, Status: "running", Open: true, Updated: 2_000 + int64(version), Due: 9_000}
}

// items returns all items of a table, by their keys.
func (w *world) items(table string) []map[string]types.AttributeValue {
	out, err := w.client.Scan(w.t.Context(), &sdk.ScanInput{TableName: &table})
	require.NoError(w.t, err)
	slices.SortFunc(out.Items, func(a, b map[string]types.AttributeValue) int {
		return cmp.Or(strings.Compare(attribute(a, schema.Partition), attribute(b, schema.Partition)), strings.Compare(attribute(a, schema.Sort), attribute(b, schema.Sort)))
	})
	return out.Items
}

func attribute(i map[string]types.AttributeValue, name string) string {
	switch v := i[name].(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

// TestKeys shows where everything lies, as docs/adr/0011-items-in-dynamodb.md says it.
func TestKeys(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.open(dynamodb.Options{}), t.Context()
	for n := range uint64(11) {
		row := rowOf(stream, n+1)
		require.NoError(t, s.Append(ctx, stream, commit(n+1, byte(n+1)), &row))
	}
	topic := eventstore.Topic{Tenant: "acme", Type: "paid", Key: "order/1"}
	must := func(_ any, err error) { t.Helper(); require.NoError(t, err) }
	must(s.Claim(ctx, eventstore.ClaimKey{Stream: stream, Attempt: "charge/1", Fence: 2}, eventstore.Claim{Owner: "o", Expires: 5e9 + 1}))
	require.NoError(t, s.Acknowledge(ctx, stream, "parent"))
	for n := range int64(2) {
		must(s.PutEvent(ctx, topic, eventstore.Event{ID: fmt.Sprint(n), At: 1, Expires: 7e9 + n}))
	}
	require.NoError(t, s.Subscribe(ctx, eventstore.Subscription{Topic: topic, Execution: "order-1", Waiter: "pay"}))
	require.NoError(t, s.PutDeadLetter(ctx, eventstore.DeadLetter{Tenant: "acme", ID: "m-1", At: 16}))
	require.NoError(t, s.PutDefinition(ctx, eventstore.Definition{Tenant: "acme", Workflow: "order", Version: 1}))
	require.NoError(t, s.PutAlias(ctx, eventstore.Alias{Tenant: "acme", Workflow: "order", Name: "live", Revision: 1}))
	w.settle(s)
	var got []string
	for _, table := range []string{w.tables.History, w.tables.Catalogue, w.tables.Index} {
		for _, i := range w.items(table) {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s | %s %s", attribute(i, schema.Partition), strings.ReplaceAll(attribute(i, schema.Sort), "\x00\x01", "<01>"), attribute(i, schema.Expires))))
		}
	}
	require.Equal(t, []string{
		"d/acme | i/m-1", "d/acme | l7fffffffffffffef/m-1",
		"k/acme/order-1 | a2/charge/1 6",
		"t/acme/paid/order/1 | ea1 7", "t/acme/paid/order/1 | ea2", "t/acme/paid/order/1 | sorder-1<01>pay",
		"x/acme/order-1 | ca1", "x/acme/order-1 | ca2", "x/acme/order-1 | ca3", "x/acme/order-1 | ca4", "x/acme/order-1 | ca5", "x/acme/order-1 | ca6",
		"x/acme/order-1 | ca7", "x/acme/order-1 | ca8", "x/acme/order-1 | ca9", "x/acme/order-1 | cb10", "x/acme/order-1 | cb11", "x/acme/order-1 | n/parent",
		"a/acme/order | live", "n/acme | order", "w/acme/order | va1",
		"acme/order-1 |",
	}, got)
}

// TestTablesAreThoseOfTheSchema compares what is asked for with the description that the stack uses too.
func TestTablesAreThoseOfTheSchema(t *testing.T) {
	requests := dynamodb.TablesOf("p-").Requests()
	require.Len(t, requests, len(schema.Tables))
	for i, in := range requests {
		want := schema.Tables[i]
		require.Equal(t, "p-"+want.Name, *in.TableName)
		require.Equal(t, types.BillingModePayPerRequest, in.BillingMode)
		require.Equal(t, want.Stream, in.StreamSpecification != nil)
		require.Len(t, in.GlobalSecondaryIndexes, len(want.Indexes))
		defined := map[string]string{}
		for _, d := range in.AttributeDefinitions {
			defined[*d.AttributeName] = string(d.AttributeType)
		}
		keys := []schema.Key{want.Partition, want.Sort}
		for _, x := range want.Indexes {
			keys = append(keys, x.Partition, x.Sort)
		}
		for _, k := range keys {
			require.Equal(t, k.Type, defined[k.Name], k.Name)
		}
	}
}

// TestSpareReads counts requests: a load of a usual execution is one query, an append one put, whatever was there before.
func TestSpareReads(t *testing.T) {
	counted := &counter{}
	w := newWorld(t, counted.options)
	s, ctx := w.open(dynamodb.Options{}), t.Context()
	a := commit(1, 1)
	for n := range uint64(40) {
		a = commit(n+1, byte(n+1))
		a.Checkpoint = n / 10 * 10 // 0, 10, 20, 30
		if a.Checkpoint > 0 {
			a.Checkpoint++
		}
		require.NoError(t, s.Append(ctx, stream, a, nil))
	}
	require.Equal(t, map[string]int{"PutItem": 40}, counted.take(), "one put for each commit, and nothing else")
	tail, err := s.Tail(ctx, stream)
	require.NoError(t, err)
	require.Len(t, tail, 10)
	require.Equal(t, map[string]int{"Query": 1}, counted.take())
	other := w.open(dynamodb.Options{}) // another process
	_, err = other.Tail(ctx, stream)
	require.NoError(t, err)
	require.NoError(t, other.Append(ctx, stream, commit(41, 41), nil))
	require.Equal(t, map[string]int{"Query": 1, "PutItem": 1}, counted.take())
	require.NoError(t, s.Append(ctx, eventstore.Stream{Tenant: "acme", ID: "new"}, commit(1, 1), nil))
	require.Equal(t, map[string]int{"PutItem": 1}, counted.take(), "nothing is read before a start")
}

// TestRowFar puts a commit and a row that together are more than an item holds.
func TestRowFar(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.open(dynamodb.Options{}), t.Context()
	row := rowOf(stream, 1)
	for i := range eventstore.MaxLabels {
		row.Labels = append(row.Labels, eventstore.Label{Key: fmt.Sprintf("%0128d", i), Value: strings.Repeat("v", eventstore.MaxLabelValue)})
	}
	c := eventstore.Commit{First: 1, Last: 1, Nonce: eventstore.Nonce{1}, Data: bytes.Repeat([]byte{7}, eventstore.MaxCommit)}
	require.NoError(t, s.Append(ctx, stream, c, &row))
	tail, err := s.Tail(ctx, stream)
	require.NoError(t, err)
	require.Equal(t, []eventstore.Commit{c}, tail)
	w.settle(s)
	got, err := s.Row(ctx, stream)
	require.NoError(t, err)
	require.Equal(t, row, got)
	require.NoError(t, s.Purge(ctx, stream))
	require.Empty(t, w.items(w.tables.History))
}

// TestTombstones lets messages come too late.
func TestTombstones(t *testing.T) {
	w := newWorld(t)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	s, ctx := w.open(dynamodb.Options{Tombstones: time.Hour, Now: func() int64 { return now }}), t.Context()
	for n := range uint64(30) {
		row := rowOf(stream, n+1)
		require.NoError(t, s.Append(ctx, stream, commit(n+1, byte(n+1)), &row))
	}
	late := w.changes()
	require.Len(t, late, 30)
	for range 2 {
		require.NoError(t, s.Purge(ctx, stream))
	}
	var purged *eventstore.PurgedError
	require.ErrorAs(t, s.Append(ctx, stream, commit(1, 99), nil), &purged)
	require.Equal(t, stream, purged.Stream)
	require.ErrorAs(t, w.open(dynamodb.Options{}).Append(ctx, stream, commit(1, 1), nil), &purged, "its own first commit too")
	var conflict *eventstore.ConflictError
	require.ErrorAs(t, s.Append(ctx, stream, commit(31, 31), nil), &conflict)
	failed, err := s.PutNewest(ctx, late)
	require.NoError(t, err)
	require.Empty(t, failed)
	_, err = s.Row(ctx, stream)
	require.ErrorIs(t, err, eventstore.ErrNotFound, "a late record of the stream does not bring the row back")
	rows, _, err := s.List(ctx, "acme", eventstore.Filter{}, eventstore.Page{})
	require.NoError(t, err)
	require.Empty(t, rows)
	head, err := s.Head(ctx, stream)
	require.NoError(t, err)
	require.Zero(t, head)
	rebuilt, err := s.Rebuild(ctx, dynamodb.Rebuild{Segments: 1})
	require.NoError(t, err)
	require.Zero(t, rebuilt.Executions)
	require.Zero(t, rebuilt.Different)
	for _, table := range []string{w.tables.History, w.tables.Index} {
		left := w.items(table)
		require.Len(t, left, 1)
		require.Equal(t, fmt.Sprint(now/1e9+3600), attribute(left[0], schema.Expires), "they go by themselves")
	}
}

// TestSendersInTwoProcesses races for the numbers of one topic.
func TestSendersInTwoProcesses(t *testing.T) {
	w := newWorld(t)
	topic := eventstore.Topic{Tenant: "acme", Type: "paid"}
	const each = 40
	var group sync.WaitGroup
	for p := range 2 {
		s := w.open(dynamodb.Options{})
		for h := range 3 {
			group.Go(func() {
				for n := range each {
					if _, err := s.PutEvent(t.Context(), topic, eventstore.Event{ID: fmt.Sprint(p, h, n), At: 1, Expires: 100}); err != nil {
						t.Errorf("put event: %v", err)
						return
					}
				}
			})
		}
	}
	group.Wait()
	events, err := w.open(dynamodb.Options{}).ReadEvents(t.Context(), topic, 0, 1, eventstore.MaxPage)
	require.NoError(t, err)
	require.Len(t, events, 6*each)
	ids := map[string]bool{}
	for i, e := range events {
		require.EqualValues(t, i+1, e.Number)
		ids[e.ID] = true
	}
	require.Len(t, ids, 6*each)
}

// TestChangesInAnyOrder brings the changes of some executions to the index in batches, in any order and more than once.
func TestChangesInAnyOrder(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.open(dynamodb.Options{}), t.Context()
	want := map[eventstore.Stream]eventstore.Row{}
	for e := range 3 {
		id := eventstore.Stream{Tenant: "acme", ID: fmt.Sprint("order-", e)}
		for n := range uint64(5) {
			row := rowOf(id, n+1)
			row.Status = fmt.Sprint("state ", n)
			row.Labels = []eventstore.Label{{Key: "e", Value: fmt.Sprint(e)}}
			require.NoError(t, s.Append(ctx, id, commit(n+1, byte(n+1)), &row))
			want[id] = row
		}
	}
	changes := w.changes()
	require.Len(t, changes, 15)
	rapid.Check(t, func(r *rapid.T) {
		for id := range want {
			require.NoError(r, clearRow(w, id))
		}
		order := append(rapid.Permutation(changes).Draw(r, "order"), rapid.SliceOfN(rapid.SampledFrom(changes), 0, 5).Draw(r, "again")...)
		for len(order) > 0 {
			n := rapid.IntRange(1, len(order)).Draw(r, "batch")
			failed, err := s.PutNewest(r.Context(), order[:n])
			require.NoError(r, err)
			require.Empty(r, failed)
			order = order[n:]
		}
		for id, row := range want {
			got, err := s.Row(r.Context(), id)
			require.NoError(r, err)
			require.Equal(r, row, got)
		}
	})
	for id := range want {
		require.NoError(t, clearRow(w, id))
	}
	rebuilt, err := s.Rebuild(ctx, dynamodb.Rebuild{Segments: 3})
	require.NoError(t, err)
	require.Equal(t, len(want), rebuilt.Repaired)
	for id, row := range want {
		got, err := s.Row(ctx, id)
		require.NoError(t, err)
		require.Equal(t, row, got)
	}
}

func clearRow(w *world, id eventstore.Stream) error {
	_, err := w.client.DeleteItem(w.t.Context(), &sdk.DeleteItemInput{TableName: aws.String(w.tables.Index), Key: map[string]types.AttributeValue{
		schema.Partition: &types.AttributeValueMemberS{Value: id.Tenant + "/" + id.ID},
	}})
	return err
}

// TestPublishIsSaidInTheStream and nowhere else.
func TestPublishIsSaidInTheStream(t *testing.T) {
	w := newWorld(t)
	s := w.open(dynamodb.Options{})
	c := commit(1, 1)
	c.Publish = true
	require.NoError(t, s.Append(t.Context(), stream, c, nil))
	require.NoError(t, s.Append(t.Context(), stream, commit(2, 2), nil))
	require.NoError(t, s.Acknowledge(t.Context(), stream, "parent"))
	changes := w.changes()
	require.Equal(t, []dynamodb.Change{{Stream: stream, Commit: c}, {Stream: stream, Commit: commit(2, 2)}}, changes)
	read, err := s.ReadCommit(t.Context(), stream, 1)
	require.NoError(t, err)
	require.False(t, read.Publish)
}
