package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// model is what a store must do, written without any thought of speed: lists that are searched from the front.
type model struct {
	commits map[eventstore.Stream][]eventstore.Commit
	claims  map[eventstore.ClaimKey]eventstore.Claim
	rows    map[eventstore.Stream]eventstore.Row
	events  map[eventstore.Topic][]eventstore.Event
	subs    map[eventstore.Topic][]string
}

func (m *model) head(s eventstore.Stream) uint64 {
	head := uint64(0)
	for _, c := range m.commits[s] {
		head = c.Last
	}
	return head
}

func (m *model) append(s eventstore.Stream, c eventstore.Commit, row *eventstore.Row) error {
	for _, old := range m.commits[s] {
		if old.First == c.First && old.Nonce == c.Nonce {
			return nil
		}
	}
	if m.head(s) != c.First-1 {
		return &eventstore.ConflictError{What: "history " + s.String(), Expected: c.First - 1, Actual: m.head(s)}
	}
	m.commits[s] = append(m.commits[s], c)
	if row != nil {
		m.putRow(*row)
	}
	return nil
}

func (m *model) putRow(r eventstore.Row) bool {
	old, ok := m.rows[r.Stream]
	if ok && !(r.Version > old.Version || r.Version == old.Version && r.Revision > old.Revision) {
		return false
	}
	if ok {
		r.Workflow, r.Definition, r.Parent, r.Started, r.Labels = old.Workflow, old.Definition, old.Parent, old.Started, old.Labels
	}
	m.rows[r.Stream] = r
	return true
}

func (m *model) putEvent(t eventstore.Topic, e eventstore.Event) (eventstore.Event, error) {
	var kept []eventstore.Event
	for _, old := range m.events[t] {
		if old.Expires > e.At {
			kept = append(kept, old)
		}
	}
	for i, old := range slices.Backward(kept) {
		if e.Repeats(old.ID, old.At) && i >= len(kept)-eventstore.DedupeWindow {
			return old, nil
		}
	}
	e = e.Stored()
	e.Number = uint64(len(m.events[t]) + 1) // the model forgets none
	m.events[t] = append(m.events[t], e)
	return e, nil
}

// testModel makes random calls of a store and of the model, and compares their answers.
func testModel(t *testing.T, s *suite) {
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++ // a tenant of its own instead of a store of its own
		m := &machine{suite: s, tenant: fmt.Sprint("tenant-", round), model: model{
			commits: map[eventstore.Stream][]eventstore.Commit{}, claims: map[eventstore.ClaimKey]eventstore.Claim{},
			rows: map[eventstore.Stream]eventstore.Row{}, events: map[eventstore.Topic][]eventstore.Event{}, subs: map[eventstore.Topic][]string{},
		}}
		r.Repeat(map[string]func(*rapid.T){
			"append":      m.append,
			"repeat":      m.repeat,
			"claim":       m.claim,
			"extend":      m.extend,
			"put row":     m.putRow,
			"put event":   m.putEvent,
			"expire":      m.expire,
			"subscribe":   m.subscribe,
			"unsubscribe": m.unsubscribe,
			"purge":       m.purge,
			"":            m.compare,
		})
		for _, id := range []string{"a", "b", "a/b"} { // so that the lists over all tenants stay short
			require.NoError(r, s.Store.Purge(s.ctx, eventstore.Stream{Tenant: m.tenant, ID: id}))
		}
	})
}

// machine is the model beside the store.
type machine struct {
	*suite
	model  model
	tenant string
	now    int64
}

func (m *machine) stream(r *rapid.T) eventstore.Stream {
	return eventstore.Stream{Tenant: m.tenant, ID: rapid.SampledFrom([]string{"a", "b", "a/b"}).Draw(r, "stream")}
}

func (m *machine) topic(r *rapid.T) eventstore.Topic {
	return eventstore.Topic{Tenant: m.tenant, Type: rapid.SampledFrom([]string{"t", "tk"}).Draw(r, "type"), Key: rapid.SampledFrom([]string{"k", ""}).Draw(r, "key")}
}

func (m *machine) key(r *rapid.T) eventstore.ClaimKey {
	return eventstore.ClaimKey{Stream: m.stream(r), Attempt: rapid.SampledFrom([]string{"x/1", "x/2"}).Draw(r, "attempt"), Fence: rapid.Uint64Range(0, 2).Draw(r, "fence")}
}

func (m *machine) row(r *rapid.T, s eventstore.Stream, version uint64) eventstore.Row {
	row := eventstore.Row{
		Stream: s, Version: version, Workflow: rapid.SampledFrom([]string{"w", "v"}).Draw(r, "workflow"), Started: rapid.Int64Range(0, 3).Draw(r, "started"),
		Status: rapid.SampledFrom([]string{"running", "waiting", "done"}).Draw(r, "status"), Open: rapid.Bool().Draw(r, "open"),
		Parent: rapid.SampledFrom([]string{"", "p"}).Draw(r, "parent"), Due: rapid.Int64Range(0, 5).Draw(r, "due"), Purge: rapid.Int64Range(0, 5).Draw(r, "purge"),
		Updated: m.now, Wake: m.now,
	}
	if rapid.Bool().Draw(r, "labelled") {
		row.Labels = []eventstore.Label{{Key: "k", Value: rapid.SampledFrom([]string{"1", "2"}).Draw(r, "label")}}
	}
	return row
}

// sameError requires that two errors say the same.
func sameError(r *rapid.T, want, got error) {
	if want == nil {
		require.NoError(r, got)
		return
	}
	require.Equal(r, want.Error(), fmt.Sprint(got))
}

func (m *machine) append(r *rapid.T) {
	s := m.stream(r)
	first := max(1, int64(m.model.head(s))+rapid.Int64Range(-3, 4).Draw(r, "off"))
	if rapid.IntRange(0, 3).Draw(r, "right") > 0 {
		first = int64(m.model.head(s)) + 1
	}
	c := eventstore.Commit{
		First: uint64(first), Last: uint64(first) + rapid.Uint64Range(0, 3).Draw(r, "more"), Nonce: freshNonce(), Data: rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(r, "data"),
	}
	for _, old := range m.model.commits[s] {
		c.Prev, c.Checkpoint = old.Hash(s), old.Checkpoint
	}
	if rapid.IntRange(0, 3).Draw(r, "checkpoint") == 0 || c.Checkpoint > c.First {
		c.Checkpoint = c.First
	}
	var row *eventstore.Row
	if rapid.Bool().Draw(r, "with row") {
		x := m.row(r, s, c.Last)
		row = &x
	}
	sameError(r, m.model.append(s, c, row), m.Store.Append(m.ctx, s, c, row))
}

func (m *machine) repeat(r *rapid.T) {
	s := m.stream(r)
	if len(m.model.commits[s]) == 0 {
		r.Skip("nothing to repeat")
	}
	c := rapid.SampledFrom(m.model.commits[s]).Draw(r, "commit")
	require.NoError(r, m.Store.Append(m.ctx, s, c, nil))
}

func (m *machine) claim(r *rapid.T) {
	k := m.key(r)
	c := eventstore.Claim{Owner: rapid.SampledFrom([]string{"o", "p", eventstore.Revoked}).Draw(r, "owner"), Until: m.now + 3, Limit: m.now + 5}
	if _, ok := m.model.claims[k]; !ok {
		m.model.claims[k] = c
	}
	got, err := m.Store.Claim(m.ctx, k, c)
	require.NoError(r, err)
	require.Equal(r, m.model.claims[k], got)
}

func (m *machine) extend(r *rapid.T) {
	k := m.key(r)
	held := m.model.claims[k]
	if held.Owner == "" || rapid.IntRange(0, 4).Draw(r, "wrong") == 0 {
		_, err := m.Store.Extend(m.ctx, k, eventstore.Claim{Owner: "nobody"}, m.now+9)
		var notOwner *eventstore.NotOwnerError
		require.ErrorAs(r, err, &notOwner)
		require.Equal(r, held, notOwner.Claim)
		return
	}
	until := m.now + rapid.Int64Range(0, 9).Draw(r, "until")
	held.Until = max(held.Until, min(until, held.Limit))
	m.model.claims[k] = held
	got, err := m.Store.Extend(m.ctx, k, held, until)
	require.NoError(r, err)
	require.Equal(r, held, got)
}

func (m *machine) putRow(r *rapid.T) {
	row := m.row(r, m.stream(r), rapid.Uint64Range(1, 12).Draw(r, "version"))
	row.Revision = rapid.Uint32Range(0, 2).Draw(r, "revision")
	got, err := m.Store.PutRow(m.ctx, row)
	require.NoError(r, err)
	require.Equal(r, m.model.putRow(row), got)
}

func (m *machine) putEvent(r *rapid.T) {
	t := m.topic(r)
	e := eventstore.Event{ID: rapid.SampledFrom([]string{"1", "2", "3"}).Draw(r, "id"), Data: []byte("x"), At: m.now, Expires: m.now + rapid.Int64Range(1, 4).Draw(r, "kept")}
	if rapid.Bool().Draw(r, "under another ID too") {
		e.Before, e.Since = rapid.SampledFrom([]string{"1", "2", "3"}).Draw(r, "before"), m.now-rapid.Int64Range(0, 3).Draw(r, "since")
	}
	want, wantErr := m.model.putEvent(t, e)
	got, err := m.Store.PutEvent(m.ctx, t, e)
	sameError(r, wantErr, err)
	require.Equal(r, want, got)
}

func (m *machine) expire(r *rapid.T) {
	m.now += rapid.Int64Range(0, 3).Draw(r, "passes")
	_, err := m.Store.Expire(m.ctx, m.now, rapid.IntRange(1, 20).Draw(r, "budget"))
	require.NoError(r, err)
}

func (m *machine) subscribe(r *rapid.T) {
	t, waiter := m.topic(r), rapid.SampledFrom([]string{"v", "w"}).Draw(r, "waiter")
	require.NoError(r, m.Store.Subscribe(m.ctx, eventstore.Subscription{Topic: t, Execution: "a", Waiter: waiter}))
	if !slices.Contains(m.model.subs[t], waiter) {
		m.model.subs[t] = append(m.model.subs[t], waiter)
	}
}

func (m *machine) unsubscribe(r *rapid.T) {
	t, waiter := m.topic(r), rapid.SampledFrom([]string{"v", "w"}).Draw(r, "waiter")
	require.NoError(r, m.Store.Unsubscribe(m.ctx, eventstore.Subscription{Topic: t, Execution: "a", Waiter: waiter}))
	m.model.subs[t] = slices.DeleteFunc(m.model.subs[t], func(w string) bool { return w == waiter })
}

func (m *machine) purge(r *rapid.T) {
	if rapid.IntRange(0, 4).Draw(r, "rarely") > 0 {
		r.Skip("rarely")
	}
	s := m.stream(r)
	require.NoError(r, m.Store.Purge(m.ctx, s))
	delete(m.model.commits, s)
	delete(m.model.rows, s)
	for k := range m.model.claims {
		if k.Stream == s {
			delete(m.model.claims, k)
		}
	}
}

// compare reads everything from both.
func (m *machine) compare(r *rapid.T) {
	m.Settle()
	var rows []eventstore.Row
	for _, id := range []string{"a", "b", "a/b"} {
		s := eventstore.Stream{Tenant: m.tenant, ID: id}
		commits := m.model.commits[s]
		head, err := m.Store.Head(m.ctx, s)
		require.NoError(r, err)
		require.Equal(r, m.model.head(s), head)
		tail, err := m.Store.Tail(m.ctx, s)
		require.NoError(r, err)
		from := 0
		for i, c := range commits {
			if c.First == commits[len(commits)-1].Checkpoint {
				from = i
			}
		}
		require.Equal(r, orEmpty(commits[from:]), orEmpty(tail))
		page, err := m.Store.Page(m.ctx, s, head/2, 2)
		require.NoError(r, err)
		rest := slices.DeleteFunc(slices.Clone(commits), func(c eventstore.Commit) bool { return c.Last <= head/2 })
		require.Equal(r, orEmpty(rest[:min(2, len(rest))]), orEmpty(page))
		got, err := m.Store.Row(m.ctx, s)
		if row, ok := m.model.rows[s]; ok {
			require.NoError(r, err)
			require.Equal(r, row, got)
			rows = append(rows, row)
		} else {
			require.ErrorIs(r, err, eventstore.ErrNotFound)
		}
	}
	sortRows(rows)
	for _, f := range []eventstore.Filter{{}, {Status: "waiting"}, {Workflow: "w", OpenOnly: true}, {Parent: "p"}, {Label: eventstore.Label{Key: "k", Value: "1"}}, {StartedFrom: 1, StartedBefore: 3}} {
		want := slices.DeleteFunc(slices.Clone(rows), func(x eventstore.Row) bool { return !f.Accepts(x) })
		got := pages(r, 1, func(p eventstore.Page) ([]eventstore.Row, string, error) { return m.Store.List(m.ctx, m.tenant, f, p) })
		sortRows(got)
		require.Equal(r, orEmpty(want), orEmpty(got))
	}
	m.compareWakes(r, rows)
	for t, all := range m.model.events {
		want := slices.DeleteFunc(slices.Clone(all), func(e eventstore.Event) bool { return e.Number <= 1 || e.Expires <= m.now })
		got, err := m.Store.ReadEvents(m.ctx, t, 1, m.now, 100)
		require.NoError(r, err)
		require.Equal(r, orEmpty(want), orEmpty(got))
	}
	for t, want := range m.model.subs {
		got, _, err := m.Store.Subscribers(m.ctx, t, eventstore.Page{})
		require.NoError(r, err)
		var waiters []string
		for _, sub := range got {
			waiters = append(waiters, sub.Waiter)
		}
		require.Equal(r, orEmpty(slices.Sorted(slices.Values(want))), orEmpty(waiters))
	}
	for k, want := range m.model.claims {
		got, err := m.Store.ReadClaim(m.ctx, k)
		require.NoError(r, err)
		require.Equal(r, want, got)
	}
}

func (m *machine) compareWakes(r *rapid.T, rows []eventstore.Row) {
	due, purge := map[eventstore.Stream]bool{}, map[eventstore.Stream]bool{}
	for shard := range eventstore.Shards { // other tenants' rows are there too
		list, _, err := m.Store.Overdue(m.ctx, shard, 3, eventstore.Page{Limit: eventstore.MaxPage})
		require.NoError(r, err)
		for _, x := range list {
			due[x.Stream] = true
		}
		list, _, err = m.Store.Purgeable(m.ctx, shard, 3, eventstore.Page{Limit: eventstore.MaxPage})
		require.NoError(r, err)
		for _, x := range list {
			purge[x.Stream] = true
		}
	}
	for _, row := range rows {
		require.Equal(r, row.Due > 0 && row.Due <= 3, due[row.Stream])
		require.Equal(r, row.Purge > 0 && row.Purge <= 3, purge[row.Stream])
	}
}

// orEmpty makes nil and empty lists equal.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
