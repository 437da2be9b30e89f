package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// listed is the key of a row in lists: newest start first.
type listed struct {
	tenant  string
	started int64
	id      string
}

func compareListed(a, b listed) int {
	return cmp.Or(strings.Compare(a.tenant, b.tenant), cmp.Compare(b.started, a.started), strings.Compare(a.id, b.id))
}

// waking is the key of a row in Wakes.
type waking struct {
	shard  int
	at     int64
	stream eventstore.Stream
}

func compareWaking(a, b waking) int {
	return cmp.Or(cmp.Compare(a.shard, b.shard), cmp.Compare(a.at, b.at), compareStreams(a.stream, b.stream))
}

// putRow stores a row if it is newer. The caller holds the lock.
func (s *Store) putRow(r eventstore.Row) bool {
	old, ok := s.rows[r.Stream]
	if ok && !r.Newer(old) {
		return false
	}
	if ok { // the fixed group stays
		r.Workflow, r.Definition, r.Parent, r.Started, r.Labels = old.Workflow, old.Definition, old.Parent, old.Started, old.Labels
		s.dropRow(old)
	} else {
		r.Labels = slices.Clone(r.Labels)
	}
	s.rows[r.Stream] = r
	s.list.put(listed{r.Stream.Tenant, r.Started, r.Stream.ID})
	if r.Due != 0 {
		s.due.put(waking{r.Stream.Shard(), r.Due, r.Stream})
	}
	if r.Purge != 0 {
		s.purge.put(waking{r.Stream.Shard(), r.Purge, r.Stream})
	}
	return true
}

// dropRow removes a row from all lists. The caller holds the lock.
func (s *Store) dropRow(r eventstore.Row) {
	delete(s.rows, r.Stream)
	s.list.remove(listed{r.Stream.Tenant, r.Started, r.Stream.ID})
	s.due.remove(waking{r.Stream.Shard(), r.Due, r.Stream})
	s.purge.remove(waking{r.Stream.Shard(), r.Purge, r.Stream})
}

// row returns a copy of the row of a stream.
func (s *Store) row(id eventstore.Stream) eventstore.Row {
	r := s.rows[id]
	r.Labels = slices.Clone(r.Labels)
	return r
}

// PutRow implements eventstore.Index.
func (s *Store) PutRow(ctx context.Context, r eventstore.Row) (bool, error) {
	if err := s.enter(ctx, r.Check()); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	return s.putRow(r), nil
}

// Row implements eventstore.Index.
func (s *Store) Row(ctx context.Context, id eventstore.Stream) (eventstore.Row, error) {
	if err := s.enter(ctx, id.Check()); err != nil {
		return eventstore.Row{}, err
	}
	defer s.mu.Unlock()
	if _, ok := s.rows[id]; !ok {
		return eventstore.Row{}, &eventstore.NotFoundError{What: "row of execution " + id.String()}
	}
	return s.row(id), nil
}

// List implements eventstore.Index.
func (s *Store) List(ctx context.Context, tenant string, f eventstore.Filter, p eventstore.Page) ([]eventstore.Row, string, error) {
	limit, wrong := p.Size()
	last := listed{tenant: tenant, started: eventstore.MaxTime}
	if p.Cursor != "" && wrong == nil {
		started, id, err := eventstore.ParseCursor(p.Cursor, 1)
		wrong = err
		if err == nil {
			last = listed{tenant, started, id[0]}
		}
	}
	if err := s.enter(ctx, cmp.Or(eventstore.CheckTenant(tenant), f.Check(), wrong)); err != nil {
		return nil, "", err
	}
	defer s.mu.Unlock()
	var page []eventstore.Row
	for i, key := range s.list.after(last) {
		if key.tenant != tenant {
			break
		}
		if len(page) == limit || i == eventstore.MaxExamined {
			return page, eventstore.NewCursor(last.started, last.id), nil
		}
		last = key
		if r := s.row(eventstore.Stream{Tenant: tenant, ID: key.id}); f.Accepts(r) {
			page = append(page, r)
		}
	}
	return page, "", nil
}

// Overdue implements eventstore.Wakes.
func (s *Store) Overdue(ctx context.Context, shard int, until int64, p eventstore.Page) ([]eventstore.Row, string, error) {
	return s.wakes(ctx, &s.due, shard, until, p)
}

// Purgeable implements eventstore.Wakes.
func (s *Store) Purgeable(ctx context.Context, shard int, until int64, p eventstore.Page) ([]eventstore.Row, string, error) {
	return s.wakes(ctx, &s.purge, shard, until, p)
}

func (s *Store) wakes(ctx context.Context, order *ordered[waking], shard int, until int64, p eventstore.Page) ([]eventstore.Row, string, error) {
	limit, wrong := p.Size()
	last := waking{shard: shard}
	if p.Cursor != "" && wrong == nil {
		at, id, err := eventstore.ParseCursor(p.Cursor, 2)
		wrong = err
		if err == nil {
			last = waking{shard, at, eventstore.Stream{Tenant: id[0], ID: id[1]}}
		}
	}
	if err := s.enter(ctx, cmp.Or(eventstore.CheckShard(shard), wrong)); err != nil {
		return nil, "", err
	}
	defer s.mu.Unlock()
	var page []eventstore.Row
	for _, key := range order.after(last) {
		if key.shard != shard || key.at > until {
			break
		}
		if len(page) == limit {
			return page, eventstore.NewCursor(last.at, last.stream.Tenant, last.stream.ID), nil
		}
		last = key
		page = append(page, s.row(key.stream))
	}
	return page, "", nil
}
