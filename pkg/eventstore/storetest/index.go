package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// someRow returns a row of acme's.
func someRow(id string, started int64) eventstore.Row {
	return eventstore.Row{
		Stream: eventstore.Stream{Tenant: "acme", ID: id}, Workflow: "order", Definition: 1, Started: started,
		Version: 1, Status: "running", Open: true, Updated: started,
	}
}

func (s *suite) putRow(r eventstore.Row) {
	s.Helper()
	stored, err := s.Store.PutRow(s.ctx, r)
	require.NoError(s, err)
	require.True(s, stored)
}

func testRowOrder(t *testing.T, s *suite) {
	_, err := s.Store.Row(s.ctx, order)
	require.ErrorIs(t, err, eventstore.ErrNotFound)
	at := func(version uint64, revision uint32) eventstore.Row {
		r := someRow("order-1", 5)
		r.Labels = []eventstore.Label{{Key: "a", Value: ""}, {Key: "b", Value: "2"}}
		r.Parent = "batch-1"
		r.Version, r.Revision, r.Status = version, revision, fmt.Sprint(version, ".", revision)
		r.Due, r.Wake, r.Purge, r.Repairs = int64(version)*10, int64(version)*9, int64(version)*100, revision
		return r
	}
	stands := at(3, 0)
	s.putRow(stands)
	for _, step := range []struct {
		version  uint64
		revision uint32
		newer    bool
	}{{3, 0, false}, {2, 9, false}, {3, 1, true}, {3, 1, false}, {3, 0, false}, {4, 0, true}, {3, 7, false}, {9, 3, true}, {9, 2, false}} {
		r := at(step.version, step.revision)
		stored, err := s.Store.PutRow(s.ctx, r)
		require.NoError(t, err)
		require.Equal(t, step.newer, stored, "%d.%d", step.version, step.revision)
		if step.newer {
			stands = r
		}
		got, err := s.Store.Row(s.ctx, order)
		require.NoError(t, err)
		require.Equal(t, stands, got)
	}
	moved := at(10, 0)
	moved.Workflow, moved.Definition, moved.Parent, moved.Started, moved.Labels = "other", 9, "other", 99, nil
	s.putRow(moved)
	got, err := s.Store.Row(s.ctx, order)
	require.NoError(t, err)
	require.Equal(t, at(10, 0), got, "the fixed group stays")
	head, err := s.Store.Head(s.ctx, order)
	require.NoError(t, err)
	require.Zero(t, head, "a row is no history")
	_, err = s.Store.Row(s.ctx, eventstore.Stream{Tenant: "acme", ID: "order-2"})
	require.ErrorIs(t, err, eventstore.ErrNotFound)
}

func testRowRace(t *testing.T, s *suite) {
	var group sync.WaitGroup
	const newest = 40
	for v := range newest {
		group.Go(func() {
			r := someRow("order-1", 5)
			r.Version, r.Due = uint64(1+(v*7)%newest), int64(v+1)
			if _, err := s.Store.PutRow(s.ctx, r); err != nil {
				t.Errorf("put row: %v", err)
			}
		})
	}
	group.Wait()
	s.Settle()
	got, err := s.Store.Row(s.ctx, order)
	require.NoError(t, err)
	require.EqualValues(t, newest, got.Version)
	require.Equal(t, []eventstore.Row{got}, s.wakes(s.Store.Overdue, eventstore.MaxTime, 10), "one row, once")
}

// list returns all that a filter accepts, in pages, and requires that the newest start comes first. Rows of one moment are put
// in the order of their IDs, since the contract leaves theirs open.
func (s *suite) list(tenant string, f eventstore.Filter, limit int) []eventstore.Row {
	s.Helper()
	all := pages(s, limit, func(p eventstore.Page) ([]eventstore.Row, string, error) { return s.Store.List(s.ctx, tenant, f, p) })
	require.True(s, slices.IsSortedFunc(all, func(a, b eventstore.Row) int { return cmp.Compare(b.Started, a.Started) }))
	sortRows(all)
	return all
}

func sortRows(rows []eventstore.Row) {
	slices.SortFunc(rows, func(a, b eventstore.Row) int {
		return cmp.Or(cmp.Compare(b.Started, a.Started), strings.Compare(a.Stream.ID, b.Stream.ID))
	})
}

func testFilters(t *testing.T, s *suite) {
	var all []eventstore.Row
	for i := range 60 {
		r := someRow(fmt.Sprint("order-", i), int64(1000+i/3)) // three of each moment
		r.Workflow = []string{"order", "refund"}[i%2]
		r.Status = []string{"running", "waiting", "completed"}[i%3]
		r.Open = i%3 != 2
		if !r.Open {
			r.Outcome = []string{"succeeded", "compensated"}[i%2]
		}
		if i%5 == 0 {
			r.Parent = "batch-1"
		}
		r.Labels = []eventstore.Label{{Key: "shop", Value: fmt.Sprint(i % 4)}, {Key: "team", Value: "commerce"}}
		s.putRow(r)
		all = append(all, r)
	}
	other := someRow("order-1", 1000)
	other.Stream.Tenant = "acm"
	s.putRow(other)
	s.Settle()
	for name, f := range map[string]eventstore.Filter{
		"all":                    {},
		"workflow":               {Workflow: "refund"},
		"no such workflow":       {Workflow: "refun"},
		"status":                 {Status: "waiting"},
		"outcome":                {Outcome: "compensated"},
		"parent":                 {Parent: "batch-1"},
		"label":                  {Label: eventstore.Label{Key: "shop", Value: "2"}},
		"label of all":           {Label: eventstore.Label{Key: "team", Value: "commerce"}},
		"label with other value": {Label: eventstore.Label{Key: "team", Value: "2"}},
		"open":                   {OpenOnly: true},
		"closed":                 {ClosedOnly: true},
		"from":                   {StartedFrom: 1010},
		"before":                 {StartedBefore: 1010},
		"between":                {StartedFrom: 1005, StartedBefore: 1006},
		"everything together": {Workflow: "order", Status: "waiting", Parent: "batch-1", Label: eventstore.Label{Key: "shop", Value: "0"},
			OpenOnly: true, StartedFrom: 1001, StartedBefore: 1018},
		"label, workflow, status": {Workflow: "order", Status: "completed", Label: eventstore.Label{Key: "shop", Value: "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			want := slices.DeleteFunc(slices.Clone(all), func(r eventstore.Row) bool { return !f.Accepts(r) })
			sortRows(want)
			for _, limit := range []int{1, 7, 100} {
				got := s.list("acme", f, limit)
				require.Len(t, got, len(want))
				for i := range want {
					require.Equal(t, want[i], got[i])
				}
			}
		})
	}
	require.Equal(t, []eventstore.Row{other}, s.list("acm", eventstore.Filter{}, 10))
	var invalid *eventstore.InvalidError
	_, _, err := s.Store.List(s.ctx, "acme", eventstore.Filter{OpenOnly: true, ClosedOnly: true}, eventstore.Page{})
	require.ErrorAs(t, err, &invalid)
	for _, cursor := range []string{"x", "!", "AAAA", eventstore.NewCursor(1), eventstore.NewCursor(1, "a", "b")} {
		_, _, err = s.Store.List(s.ctx, "acme", eventstore.Filter{}, eventstore.Page{Cursor: cursor})
		require.ErrorAs(t, err, &invalid, cursor)
	}
}

// testCursorUnderChanges walks a list while rows are put, changed and removed. Those that are there all the while come once.
func testCursorUnderChanges(t *testing.T, s *suite) {
	for i := range 50 {
		s.putRow(someRow(fmt.Sprintf("stays-%02d", i), int64(1000+i/4)))
		s.putRow(someRow(fmt.Sprintf("goes-%02d", i), int64(1000+i/4)))
	}
	seen := map[string]int{}
	cursor, n := "", 0
	for {
		page, next, err := s.Store.List(s.ctx, "acme", eventstore.Filter{Workflow: "order", Status: "running"}, eventstore.Page{Cursor: cursor, Limit: 3})
		require.NoError(t, err)
		for _, r := range page {
			seen[r.Stream.ID]++
		}
		if next == "" {
			break
		}
		cursor = next
		for i := range 3 {
			s.putRow(someRow(fmt.Sprint("new-", n, "-", i), int64(1000+n%14)))
		}
		changed := someRow(fmt.Sprintf("stays-%02d", n%50), int64(1000+n%50/4))
		changed.Version = uint64(2 + n/50)
		changed.Due = int64(n)
		s.putRow(changed)
		require.NoError(t, s.Store.Purge(s.ctx, eventstore.Stream{Tenant: "acme", ID: fmt.Sprintf("goes-%02d", n%50)}))
		closed := someRow(fmt.Sprint("new-", n, "-", 0), int64(1000+n%14))
		closed.Version, closed.Status, closed.Open = 2, "completed", false
		s.putRow(closed)
		n++
	}
	for id, times := range seen {
		require.Equal(t, 1, times, "%s came more than once", id)
	}
	for i := range 50 {
		require.Contains(t, seen, fmt.Sprintf("stays-%02d", i))
	}
}

func testExamined(t *testing.T, s *suite) {
	const rows = eventstore.MaxExamined + 50
	s.together(rows, func(i int) error {
		r := someRow(fmt.Sprint("order-", i), int64(1+i))
		if i < 20 {
			r.Outcome = "rare"
		}
		_, err := s.Store.PutRow(s.ctx, r)
		return err
	})
	s.Settle()
	page, next, err := s.Store.List(s.ctx, "acme", eventstore.Filter{Outcome: "rare"}, eventstore.Page{Limit: 10})
	require.NoError(t, err)
	require.NotEmpty(t, next)
	require.Empty(t, page, "the first MaxExamined rows have none")
	require.Len(t, s.list("acme", eventstore.Filter{Outcome: "rare"}, 10), 20)
	require.Len(t, s.list("acme", eventstore.Filter{}, eventstore.MaxPage), rows)
}

// wakes walks all shards of one of the Wakes, in pages, and requires that each row comes once, in each shard by time.
func (s *suite) wakes(list func(context.Context, int, int64, eventstore.Page) ([]eventstore.Row, string, error), until int64, limit int) []eventstore.Row {
	s.Helper()
	var all []eventstore.Row
	seen := map[eventstore.Stream]bool{}
	for shard := range eventstore.Shards {
		rows := pages(s, limit, func(p eventstore.Page) ([]eventstore.Row, string, error) { return list(s.ctx, shard, until, p) })
		require.True(s, slices.IsSortedFunc(rows, func(a, b eventstore.Row) int { return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.Purge, b.Purge)) }))
		for _, r := range rows {
			require.False(s, seen[r.Stream], "%s came twice", r.Stream)
			seen[r.Stream] = true
		}
		all = append(all, rows...)
	}
	return all
}

func testWakes(t *testing.T, s *suite) {
	const rows = 300
	s.together(rows, func(i int) error {
		r := someRow(fmt.Sprint("order-", i), 1)
		r.Stream.Tenant = fmt.Sprint("tenant-", i%4)
		switch i % 3 {
		case 0:
			r.Due = int64(1000 + i/9) // some of one moment
		case 1:
			r.Open, r.Purge = false, int64(1000+i/9)
		}
		_, err := s.Store.PutRow(s.ctx, r)
		return err
	})
	s.Settle()
	for until, want := range map[int64]int{999: 0, 1000: 3, 1010: 33, eventstore.MaxTime: 100} {
		require.Len(t, s.wakes(s.Store.Overdue, until, 2), want, "overdue at %d", until)
		require.Len(t, s.wakes(s.Store.Purgeable, until, 2), want, "purgeable at %d", until)
	}
	moved := someRow("order-0", 1)
	moved.Stream.Tenant, moved.Version, moved.Revision, moved.Due = "tenant-0", 1, 1, 5000
	s.putRow(moved)
	gone := someRow("order-9", 1)
	gone.Stream.Tenant, gone.Version = "tenant-1", 2
	s.putRow(gone)
	s.Settle()
	found := s.wakes(s.Store.Overdue, 4999, 10)
	require.Len(t, found, 98)
	for _, r := range found {
		require.NotEqual(t, moved.Stream, r.Stream, "a sweep that backs off is not asked again")
		require.NotEqual(t, gone.Stream, r.Stream)
	}
	var invalid *eventstore.InvalidError
	for _, shard := range []int{-1, eventstore.Shards} {
		_, _, err := s.Store.Overdue(s.ctx, shard, 1, eventstore.Page{})
		require.ErrorAs(t, err, &invalid)
		_, _, err = s.Store.Purgeable(s.ctx, shard, 1, eventstore.Page{})
		require.ErrorAs(t, err, &invalid)
	}
}
