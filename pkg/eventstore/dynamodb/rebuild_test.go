package dynamodb_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// smallPages lets scans return a few items at a time.
func smallPages(o *sdk.Options) {
	o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("pages", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			if scan, ok := in.Parameters.(*sdk.ScanInput); ok {
				scan.Limit = aws.Int32(4)
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
	})
}

// paged is a store whose scans have small pages.
func (w *world) paged(o dynamodb.Options) *dynamodb.Store {
	return dynamodb.New(sdk.New(w.client.Options(), smallPages), w.tables, o)
}

// history writes an execution of so many commits, and returns its last row.
func history(t *testing.T, s *dynamodb.Store, id eventstore.Stream, commits uint64, open bool) eventstore.Row {
	t.Helper()
	var row eventstore.Row
	for n := range commits {
		row = rowOf(id, n+1)
		row.Labels = []eventstore.Label{{Key: "order", Value: id.ID}}
		if n+1 == commits && !open {
			row.Open, row.Status, row.Outcome, row.Due, row.Purge = false, "completed", "completed", 0, 99_000
		}
		require.NoError(t, s.Append(t.Context(), id, commit(n+1, byte(n+1)), &row))
	}
	return row
}

func (w *world) damage(id eventstore.Stream, expression string, values map[string]types.AttributeValue) {
	_, err := w.client.UpdateItem(w.t.Context(), &sdk.UpdateItemInput{TableName: &w.tables.Index, Key: map[string]types.AttributeValue{schema.Partition: &types.AttributeValueMemberS{Value: id.Tenant + "/" + id.ID}},
		UpdateExpression: &expression, ExpressionAttributeValues: values})
	require.NoError(w.t, err)
}

func num(n int) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }

// TestRebuild damages an index in every way, and compares what a rebuild makes of it with the index as it was.
func TestRebuild(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.paged(dynamodb.Options{Tombstones: time.Hour}), t.Context()
	id := func(name string) eventstore.Stream { return eventstore.Stream{Tenant: "acme", ID: name} }
	want := map[string]eventstore.Row{}
	for i, name := range []string{"missing", "behind", "status", "garbage", "ahead", "unlisted", "unsharded", "labels", "bare", "fine", "swept", "purging", "behind-and-labels"} {
		want[name] = history(t, s, id(name), uint64(1+i%5), name != "fine" && name != "purging")
	}
	history(t, s, id("purged"), 3, false)
	w.settle(s)
	require.NoError(t, s.Purge(ctx, id("purged")))
	swept := want["swept"]
	swept.Revision, swept.Repairs, swept.Due = 2, 2, 77_000
	_, err := s.PutRow(ctx, swept)
	require.NoError(t, err)
	sparse := id("sparse") // its newest commits came without a row, and the sweep wrote one at the head
	want["sparse"] = history(t, s, sparse, 2, true)
	for n := range uint64(3) {
		require.NoError(t, s.Append(ctx, sparse, commit(n+3, byte(n+3)), nil))
	}
	later := want["sparse"]
	later.Version, later.Revision, later.Updated, later.Due = 5, 0, later.Updated+7, 66_000
	_, err = s.PutRow(ctx, later)
	require.NoError(t, err)
	want["sparse"] = later
	again := later
	again.Revision, again.Repairs, again.Due = 1, 1, 88_000 // and once more
	_, err = s.PutRow(ctx, again)
	require.NoError(t, err)
	want["sparse-status"] = history(t, s, id("sparse-status"), 2, true)
	require.NoError(t, s.Append(ctx, id("sparse-status"), commit(3, 3), nil))
	w.settle(s)
	before := w.items(w.tables.Index)
	rows := func() map[string]eventstore.Row {
		out := map[string]eventstore.Row{}
		for name := range want { // order-free: a map again
			r, err := s.Row(ctx, id(name))
			require.NoError(t, err, name)
			r.Revision, r.Due, r.Repairs = 0, want[name].Due, 0 // what the sweep moves
			out[name] = r
		}
		return out
	}

	nothing, err := s.Rebuild(ctx, dynamodb.Rebuild{Segments: 3})
	require.NoError(t, err)
	require.Zero(t, nothing.Different, "a sound index stays as it is")
	require.Equal(t, before, w.items(w.tables.Index))

	require.NoError(t, clearRow(w, id("missing")))
	behind := want["behind"]
	require.NoError(t, clearRow(w, id("behind")))
	behind.Version, behind.Status = 1, "created"
	_, err = s.PutRow(ctx, behind)
	require.NoError(t, err)
	status := want["status"]
	status.Revision, status.Status, status.Open = 1, "failed", false
	_, err = s.PutRow(ctx, status)
	require.NoError(t, err)
	status = want["sparse-status"]
	status.Version, status.Status, status.Open = 3, "failed", false // of a commit that there is, but not so
	_, err = s.PutRow(ctx, status)
	require.NoError(t, err)
	w.damage(id("garbage"), "SET z = :z", map[string]types.AttributeValue{":z": &types.AttributeValueMemberB{Value: []byte("garbage")}})
	w.damage(id("ahead"), "SET v = :v", map[string]types.AttributeValue{":v": num(1_000_000)})
	w.damage(id("unlisted"), "REMOVE l, o", nil)
	w.damage(id("unsharded"), "SET h = :h", map[string]types.AttributeValue{":h": num(63 - id("unsharded").Shard()%2)})
	for _, name := range []string{"labels", "behind-and-labels"} {
		other := want[name]
		other.Labels = nil
		require.NoError(t, clearRow(w, id(name)))
		if name != "labels" {
			other.Version--
		}
		_, err = s.PutRow(ctx, other)
		require.NoError(t, err)
	}
	w.damage(id("bare"), "REMOVE f, z, m", nil)
	w.damage(id("purging"), "SET v = :v", map[string]types.AttributeValue{":v": num(9)}) // as where the newest commits are gone already
	_, err = s.PutRow(ctx, rowOf(id("ghost"), 4))
	require.NoError(t, err)
	for name, first := range map[string]string{"newer": "ca1", "fine": "ca9"} { // commits of a newer program
		_, err = w.client.PutItem(ctx, &sdk.PutItemInput{TableName: &w.tables.History, Item: map[string]types.AttributeValue{
			schema.Partition: &types.AttributeValueMemberS{Value: "x/acme/" + name}, schema.Sort: &types.AttributeValueMemberS{Value: first}, "h": &types.AttributeValueMemberB{Value: []byte{99}}}})
		require.NoError(t, err)
	}
	damaged := w.items(w.tables.Index)

	differences := func(r dynamodb.Rebuild) (found map[string]dynamodb.Difference, p dynamodb.Progress) {
		found = map[string]dynamodb.Difference{}
		r.Different = func(d dynamodb.Difference) { found[d.Stream.ID] = d }
		p, err := s.Rebuild(ctx, r)
		require.NoError(t, err)
		return found, p
	}
	found, p := differences(dynamodb.Rebuild{DryRun: true})
	require.Equal(t, damaged, w.items(w.tables.Index), "a dry run changes nothing")
	kinds := map[string]dynamodb.DifferenceKind{"missing": dynamodb.Missing, "behind": dynamodb.Behind, "behind-and-labels": dynamodb.Behind, "ghost": dynamodb.NoHistory,
		"newer": dynamodb.Unreadable, "fine": dynamodb.Unreadable}
	for _, name := range []string{"status", "sparse-status", "garbage", "ahead", "unlisted", "unsharded", "labels", "bare"} {
		kinds[name] = dynamodb.Wrong
	}
	got := map[string]dynamodb.DifferenceKind{}
	for name, d := range found { // order-free: a map again
		got[name] = d.Kind
		require.NotEmpty(t, d.What, name)
		require.False(t, d.Repaired)
	}
	require.Equal(t, kinds, got)
	require.Equal(t, len(kinds), p.Different)
	require.Zero(t, p.Repaired)

	_, p = differences(dynamodb.Rebuild{Segments: 2})
	require.Equal(t, len(kinds)-2, p.Repaired)
	delete(want, "purging") // left to the purge
	wanted := maps.Clone(want)
	require.Equal(t, wanted, rows())
	_, err = s.Row(ctx, id("ghost"))
	require.ErrorIs(t, err, eventstore.ErrNotFound)
	_, err = s.Row(ctx, id("purged"))
	require.ErrorIs(t, err, eventstore.ErrNotFound)
	listed := map[string]bool{}
	all, _, err := s.List(ctx, "acme", eventstore.Filter{}, eventstore.Page{Limit: 100})
	require.NoError(t, err)
	for _, r := range all {
		listed[r.Stream.ID] = true
	}
	for name := range want { // order-free: a set
		require.True(t, listed[name], name)
	}
	found, _ = differences(dynamodb.Rebuild{})
	require.ElementsMatch(t, []string{"newer", "fine"}, slices.Collect(maps.Keys(found)), "a second one finds what nobody can read, and nothing else")
}

// TestRebuildGoesOn interrupts a rebuild again and again, and goes on from where it was.
func TestRebuildGoesOn(t *testing.T) {
	w := newWorld(t)
	s := w.paged(dynamodb.Options{})
	const executions = 25
	for n := range executions {
		history(t, s, eventstore.Stream{Tenant: "acme", ID: fmt.Sprint("order-", n)}, 3, true)
	}
	var at *dynamodb.Progress
	rounds := 0
	for ; ; rounds++ {
		ctx, interrupt := context.WithCancel(t.Context())
		steps := 0
		p, err := s.Rebuild(ctx, dynamodb.Rebuild{Segments: 2, From: at, Step: func(dynamodb.Progress) {
			if steps++; steps == 3 {
				interrupt()
			}
		}})
		interrupt()
		if err == nil {
			at = &p
			break
		}
		require.ErrorIs(t, err, context.Canceled)
		text, err := json.Marshal(p)
		require.NoError(t, err)
		at = &dynamodb.Progress{}
		require.NoError(t, json.Unmarshal(text, at))
		require.Less(t, rounds, 200, "it gets on")
	}
	require.Greater(t, rounds, 2)
	require.LessOrEqual(t, at.Repaired, executions, "none is counted twice")
	again, err := s.Rebuild(t.Context(), dynamodb.Rebuild{DryRun: true})
	require.NoError(t, err)
	require.Zero(t, again.Different, "none is left out")
	rows, _, err := s.List(t.Context(), "acme", eventstore.Filter{}, eventstore.Page{Limit: 100})
	require.NoError(t, err)
	require.Len(t, rows, executions)
}

// TestRebuildWhileExecutionsRun rebuilds again and again while commits, the publisher and the sweep write.
func TestRebuildWhileExecutionsRun(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.paged(dynamodb.Options{}), t.Context()
	const executions, commits = 6, 12
	var group sync.WaitGroup
	last := make([]eventstore.Row, executions)
	for n := range executions {
		group.Go(func() {
			id := eventstore.Stream{Tenant: "acme", ID: fmt.Sprint("order-", n)}
			for v := range uint64(commits) {
				row := rowOf(id, v+1)
				row.Status = fmt.Sprint("state ", v)
				c := commit(v+1, byte(v+1))
				if err := s.Append(ctx, id, c, &row); err != nil {
					t.Errorf("append: %v", err)
					return
				}
				if rand.IntN(2) == 0 { // a publisher that is late, or that has lost it
					if _, err := s.PutNewest(ctx, []dynamodb.Change{{Stream: id, Commit: c, Row: &row}}); err != nil {
						t.Errorf("publish: %v", err)
					}
				}
				if rand.IntN(4) == 0 {
					swept := row
					swept.Revision, swept.Repairs, swept.Due = 1, 1, 8_000
					if _, err := s.PutRow(ctx, swept); err != nil {
						t.Errorf("sweep: %v", err)
					}
				}
				last[n] = row
			}
		})
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		_, err := s.Rebuild(ctx, dynamodb.Rebuild{Segments: 2, Different: func(d dynamodb.Difference) {
			if d.Kind == dynamodb.Wrong || d.Kind == dynamodb.NoHistory {
				t.Errorf("a sound row is called %s: %+v", d.Kind, d)
			}
		}})
		require.NoError(t, err)
	}
	for _, want := range last {
		got, err := s.Row(ctx, want.Stream)
		require.NoError(t, err)
		got.Revision, got.Repairs, got.Due = 0, 0, want.Due
		require.Equal(t, want, got)
	}
}

// TestRebuildKnowsThePublisher: what the publisher may still bring is no difference, and is put right all the same.
func TestRebuildKnowsThePublisher(t *testing.T) {
	w := newWorld(t)
	id := eventstore.Stream{Tenant: "acme", ID: "new"}
	now := int64(2_001)
	s := w.open(dynamodb.Options{Now: func() int64 { return now }})
	want := history(t, s, id, 1, true)
	p, err := s.Rebuild(t.Context(), dynamodb.Rebuild{DryRun: true})
	require.NoError(t, err)
	require.Zero(t, p.Different)
	now += int64(2 * time.Minute)
	p, err = s.Rebuild(t.Context(), dynamodb.Rebuild{DryRun: true})
	require.NoError(t, err)
	require.Equal(t, 1, p.Different, "after that it is")
	now = 2_001
	p, err = s.Rebuild(t.Context(), dynamodb.Rebuild{})
	require.NoError(t, err)
	require.Zero(t, p.Different)
	got, err := s.Row(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
