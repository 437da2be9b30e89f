package sqlite

import (
	"cmp"
	"context"
	"errors"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// Append implements eventstore.Committer.
func (s *Store) Append(ctx context.Context, id eventstore.Stream, c eventstore.Commit, row *eventstore.Row) error {
	return s.write(ctx, c.Check(id, row), len(c.Data), func(w *writer) error { return w.append(id, c, row) })
}

func (w *writer) append(id eventstore.Stream, c eventstore.Commit, row *eventstore.Row) error {
	st, err := w.stream(id)
	if err != nil {
		return err
	}
	var head uint64
	if st != nil {
		head = st.head
	}
	if c.First != head+1 {
		return w.refuse(id, st, c, head)
	}
	switch {
	case st == nil:
		st, err = w.create(id, c.Last, row)
	case row != nil && row.Newer(eventstore.Row{Version: st.version, Revision: st.revision}):
		err = w.setRow(st, *row, c.Last)
	default:
		st.head = c.Last
		_, err = w.conn.exec(`UPDATE streams SET head=? WHERE id=?`, c.Last, st.id)
	}
	if err != nil {
		return err
	}
	_, err = w.conn.exec(`INSERT INTO commits(stream, first, last, checkpoint, nonce, prev, data) VALUES(?, ?, ?, ?, ?, ?, ?)`,
		st.id, c.First, c.Last, c.Checkpoint, c.Nonce[:], c.Prev[:], c.Data)
	if err == nil && c.Publish {
		_, err = w.conn.exec(`INSERT INTO feed(stream, first) VALUES(?, ?)`, st.id, c.First)
	}
	return err
}

// refuse answers a commit that does not stand right after the head: it is there already, or somebody else wrote.
func (w *writer) refuse(id eventstore.Stream, st *streamState, c eventstore.Commit, head uint64) error {
	if c.First <= head {
		repeated := false
		_, err := w.conn.one(`SELECT nonce FROM commits WHERE stream=? AND first=?`, func(r row) error {
			repeated = string(r.blob(0)) == string(c.Nonce[:])
			return nil
		}, st.id, c.First)
		if repeated || err != nil {
			return err
		}
	}
	return &eventstore.ConflictError{What: "history " + id.String(), Expected: c.First - 1, Actual: head}
}

// The queries of a history. Their subqueries do not depend on the row that is looked at, so SQLite answers them once and seeks.
const (
	thisStream   = `(SELECT id FROM streams WHERE tenant=?1 AND name=?2)`
	selectCommit = `SELECT first, last, checkpoint, nonce, prev, data FROM commits WHERE stream=` + thisStream
	fromKey      = selectCommit + ` AND first=?3`
	fromTail     = selectCommit + ` AND first >= (SELECT checkpoint FROM commits WHERE stream=` + thisStream + ` ORDER BY first DESC LIMIT 1) ORDER BY first`
	// The commit with the given event may begin before it.
	fromEvent = selectCommit + ` AND first >= coalesce((SELECT first FROM commits WHERE stream=` + thisStream + ` AND first <= ?3 ORDER BY first DESC LIMIT 1), 0)
		AND last >= ?3 ORDER BY first LIMIT ?4`
)

// commits appends the commits that a query selects, and counts them.
func (s *Store) commits(ctx context.Context, wrong error, id eventstore.Stream, keep func(eventstore.Commit) error, query string, args ...any) error {
	return s.read(ctx, cmp.Or(id.Check(), wrong), func(c *conn) error {
		return c.query(query, func(r row) error {
			commit := eventstore.Commit{First: r.uint(0), Last: r.uint(1), Checkpoint: r.uint(2), Data: r.blob(5)}
			copy(commit.Nonce[:], r.blob(3))
			copy(commit.Prev[:], r.blob(4))
			s.commitsRead.Add(1)
			s.bytesRead.Add(int64(len(commit.Data)))
			return keep(commit)
		}, append([]any{id.Tenant, id.ID}, args...)...)
	})
}

// ReadCommit implements eventstore.Committer.
func (s *Store) ReadCommit(ctx context.Context, id eventstore.Stream, first uint64) (eventstore.Commit, error) {
	var found eventstore.Commit
	err := s.commits(ctx, nil, id, func(c eventstore.Commit) error { found = c; return nil }, fromKey, first)
	if err == nil && found.First == 0 {
		err = &eventstore.NotFoundError{What: "commit of history " + id.String()}
	}
	return found, err
}

// Head implements eventstore.History.
func (s *Store) Head(ctx context.Context, id eventstore.Stream) (uint64, error) {
	var head uint64
	err := s.read(ctx, id.Check(), func(c *conn) error {
		_, err := c.one(`SELECT head FROM streams WHERE tenant=? AND name=?`, func(r row) error { head = r.uint(0); return nil }, id.Tenant, id.ID)
		return err
	})
	return head, err
}

// Tail implements eventstore.History. One statement, so one state of the file.
func (s *Store) Tail(ctx context.Context, id eventstore.Stream) ([]eventstore.Commit, error) {
	var tail []eventstore.Commit
	size := 0
	err := s.commits(ctx, nil, id, func(c eventstore.Commit) error {
		if size += len(c.Data); size > eventstore.MaxTail {
			return &eventstore.LimitError{Field: "tail of history " + id.String(), Limit: eventstore.MaxTail, Actual: int64(size)}
		}
		tail = append(tail, c)
		return nil
	}, fromTail)
	if err != nil {
		return nil, err
	}
	return tail, nil
}

// errFull ends a query early.
var errFull = errors.New("the page is full")

// Page implements eventstore.History.
func (s *Store) Page(ctx context.Context, id eventstore.Stream, after uint64, limit int) ([]eventstore.Commit, error) {
	limit, wrong := eventstore.Page{Limit: limit}.Size()
	var page []eventstore.Commit
	size := 0
	err := s.commits(ctx, wrong, id, func(c eventstore.Commit) error {
		if size += len(c.Data); size > eventstore.MaxPageBytes && len(page) > 0 {
			return errFull
		}
		page = append(page, c)
		return nil
	}, fromEvent, min(after, eventstore.MaxSequence-1)+1, limit)
	if err != nil && err != errFull {
		return nil, err
	}
	return page, nil
}
