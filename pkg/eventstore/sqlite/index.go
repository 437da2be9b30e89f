package sqlite

import (
	"cmp"
	"context"
	"strconv"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// PutRow implements eventstore.Index.
func (s *Store) PutRow(ctx context.Context, r eventstore.Row) (stored bool, err error) {
	err = s.write(ctx, r.Check(), 0, func(w *writer) error {
		st, err := w.stream(r.Stream)
		if err != nil {
			return err
		}
		if st == nil {
			stored = true
			_, err := w.create(r.Stream, 0, &r)
			return err
		}
		if stored = r.Newer(eventstore.Row{Version: st.version, Revision: st.revision}); !stored {
			return nil
		}
		return w.setRow(st, r, st.head)
	})
	return stored && err == nil, err
}

// columns are those of a row, for readRow; the last is for the cursor.
const columns = `s.tenant, s.name, s.workflow, s.definition, s.parent, s.started, s.labels, s.version, s.revision, s.status, s.outcome, s.open, s.updated,
	s.wake, s.due, s.purge, s.repairs, s.id `

func readRow(r row) eventstore.Row {
	return eventstore.Row{
		Stream: eventstore.Stream{Tenant: r.text(0), ID: r.text(1)}, Workflow: r.text(2), Definition: r.uint(3), Parent: r.text(4),
		Started: r.int(5), Labels: unpackLabels(r.blob(6)), Version: r.uint(7), Revision: uint32(r.int(8)), Status: r.text(9), Outcome: r.text(10),
		Open: r.int(11) != 0, Updated: r.int(12), Wake: r.int(13), Due: r.int(14), Purge: r.int(15), Repairs: uint32(r.int(16)),
	}
}

// Row implements eventstore.Index.
func (s *Store) Row(ctx context.Context, id eventstore.Stream) (found eventstore.Row, err error) {
	err = s.read(ctx, id.Check(), func(c *conn) error {
		ok, err := c.one(`SELECT `+columns+`FROM streams s WHERE tenant=? AND name=? AND workflow IS NOT NULL`,
			func(r row) error { found = readRow(r); return nil }, id.Tenant, id.ID)
		if err == nil && !ok {
			err = &eventstore.NotFoundError{What: "row of execution " + id.String()}
		}
		return err
	})
	return found, err
}

// place is where a page of rows goes on: after the row with this time and number of its stream.
type place struct{ at, stream int64 }

func (p place) cursor() string { return eventstore.NewCursor(p.at, strconv.FormatInt(p.stream, 10)) }

// parsePlace reads a cursor; start is the place before everything.
func parsePlace(cursor string, start place) (place, error) {
	if cursor == "" {
		return start, nil
	}
	at, parts, err := eventstore.ParseCursor(cursor, 1)
	if err != nil {
		return start, err
	}
	id, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return start, &eventstore.InvalidError{Field: "cursor", Reason: "it is not one that the same list returned"}
	}
	return place{at, id}, nil
}

// listing is the query that walks the rows which a filter accepts by the index that leaves the fewest of them. The rest of the
// filter is applied to what comes out, so that what is looked at can be counted.
func listing(tenant string, f eventstore.Filter) (string, []any) {
	const from = `SELECT ` + columns + `FROM streams s INDEXED BY `
	switch {
	case f.Parent != "":
		return from + `streams_parent WHERE s.workflow IS NOT NULL AND s.tenant=? AND s.parent=?`, []any{tenant, f.Parent}
	case f.Label.Key != "":
		return `SELECT ` + columns + `FROM labels l CROSS JOIN streams s ON s.id=l.stream WHERE l.tenant=? AND l.key=? AND l.value=?`,
			[]any{tenant, f.Label.Key, f.Label.Value}
	case f.Status != "":
		return from + `streams_status WHERE s.workflow IS NOT NULL AND s.tenant=? AND s.status=?`, []any{tenant, f.Status}
	case f.Workflow != "":
		return from + `streams_workflow WHERE s.workflow IS NOT NULL AND s.tenant=? AND s.workflow=?`, []any{tenant, f.Workflow}
	}
	return from + `streams_started WHERE s.workflow IS NOT NULL AND s.tenant=?`, []any{tenant}
}

// List implements eventstore.Index.
func (s *Store) List(ctx context.Context, tenant string, f eventstore.Filter, p eventstore.Page) ([]eventstore.Row, string, error) {
	limit, wrong := p.Size()
	last, bad := parsePlace(p.Cursor, place{eventstore.MaxTime, eventstore.MaxTime})
	query, args := listing(tenant, f)
	started, stream := "s.started", "s.id"
	if f.Parent == "" && f.Label.Key != "" {
		started, stream = "l.started", "l.stream"
	}
	query += ` AND ` + started + `>=? AND ` + started + `<=? AND (` + started + `<? OR ` + stream + `>?) ORDER BY ` + started + ` DESC, ` + stream + ` LIMIT ?`
	newest := last.at
	if f.StartedBefore != 0 {
		newest = min(newest, f.StartedBefore-1)
	}
	args = append(args, f.StartedFrom, newest, last.at, last.stream, eventstore.MaxExamined+1)

	var page []eventstore.Row
	next, examined := "", 0
	err := s.read(ctx, cmp.Or(eventstore.CheckTenant(tenant), f.Check(), wrong, bad), func(c *conn) error {
		return c.query(query, func(r row) error {
			if len(page) == limit || examined == eventstore.MaxExamined {
				next = last.cursor()
				return errFull
			}
			examined++
			found := readRow(r)
			last = place{found.Started, r.int(17)}
			if f.Accepts(found) {
				page = append(page, found)
			}
			return nil
		}, args...)
	})
	if err != nil && err != errFull {
		return nil, "", err
	}
	return page, next, nil
}

// Overdue implements eventstore.Wakes.
func (s *Store) Overdue(ctx context.Context, shard int, until int64, p eventstore.Page) ([]eventstore.Row, string, error) {
	return s.wakes(ctx, shard, until, p, 14, `SELECT `+columns+`FROM streams s INDEXED BY streams_due
		WHERE due>=? AND due<=? AND (due>? OR id>?) ORDER BY due, id LIMIT ?`)
}

// Purgeable implements eventstore.Wakes.
func (s *Store) Purgeable(ctx context.Context, shard int, until int64, p eventstore.Page) ([]eventstore.Row, string, error) {
	return s.wakes(ctx, shard, until, p, 15, `SELECT `+columns+`FROM streams s INDEXED BY streams_purge
		WHERE purge>=? AND purge<=? AND (purge>? OR id>?) ORDER BY purge, id LIMIT ?`)
}

// wakes reads a page in the order of a time that is the given column. All rows are in shard 0: one process sweeps alone.
func (s *Store) wakes(ctx context.Context, shard int, until int64, p eventstore.Page, column int, query string) ([]eventstore.Row, string, error) {
	limit, wrong := p.Size()
	last, bad := parsePlace(p.Cursor, place{0, 0})
	if shard > 0 && shard < eventstore.Shards {
		return nil, "", cmp.Or(wrong, bad)
	}
	var page []eventstore.Row
	next := ""
	err := s.read(ctx, cmp.Or(eventstore.CheckShard(shard), wrong, bad), func(c *conn) error {
		return c.query(query, func(r row) error {
			if len(page) == limit {
				next = last.cursor()
				return errFull
			}
			last = place{r.int(column), r.int(17)}
			page = append(page, readRow(r))
			return nil
		}, last.at, until, last.at, last.stream, limit+1)
	})
	if err != nil && err != errFull {
		return nil, "", err
	}
	return page, next, nil
}
