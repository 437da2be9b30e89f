package sqlite

import (
	"database/sql/driver"
	"encoding/binary"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// streamState is what the writer remembers of a stream, so that a commit needs no read.
type streamState struct {
	id   int64
	head uint64
	// Of the row in the index. version 0: there is none.
	version         uint64
	revision        uint32
	status, outcome string
	open            bool
	due, purge      int64
}

// maxCached bounds each half of the cache, about 300 bytes an entry.
const maxCached = 20_000

// streamCache holds the streams that were used last, at least maxCached of them: when the young half is full it becomes the old
// one, and the old one is forgotten.
type streamCache struct {
	young, old map[eventstore.Stream]*streamState
}

func (c *streamCache) get(s eventstore.Stream) *streamState {
	if st := c.young[s]; st != nil {
		return st
	}
	st := c.old[s]
	if st != nil {
		c.put(s, st)
	}
	return st
}

func (c *streamCache) put(s eventstore.Stream, st *streamState) {
	if c.young == nil || len(c.young) >= maxCached {
		c.young, c.old = make(map[eventstore.Stream]*streamState), c.young
	}
	c.young[s] = st
}

func (c *streamCache) remove(s eventstore.Stream) {
	delete(c.young, s)
	delete(c.old, s)
}

func (c *streamCache) clear() { c.young, c.old = nil, nil }

// stream returns the state of a stream, nil if there is none.
func (w *writer) stream(s eventstore.Stream) (*streamState, error) {
	if st := w.streams.get(s); st != nil {
		return st, nil
	}
	st := &streamState{}
	found, err := w.conn.one(`SELECT id, head, version, revision, status, outcome, open, due, purge FROM streams WHERE tenant=? AND name=?`,
		func(r row) error {
			*st = streamState{
				id: r.int(0), head: r.uint(1), version: r.uint(2), revision: uint32(r.int(3)),
				status: r.text(4), outcome: r.text(5), open: r.int(6) != 0, due: r.int(7), purge: r.int(8),
			}
			return nil
		}, s.Tenant, s.ID)
	if err != nil || !found {
		return nil, err
	}
	w.streams.put(s, st)
	return st, nil
}

// create makes a stream with a head, and with its row unless that is nil.
func (w *writer) create(s eventstore.Stream, head uint64, r *eventstore.Row) (*streamState, error) {
	st := &streamState{head: head}
	var result driver.Result
	var err error
	if r == nil {
		result, err = w.conn.exec(`INSERT INTO streams(tenant, name, head) VALUES(?, ?, ?)`, s.Tenant, s.ID, head)
	} else {
		st.took(*r)
		result, err = w.conn.exec(`INSERT INTO streams(tenant, name, head, version, revision, updated, wake, repairs, due, purge, open, status, outcome,
			workflow, definition, parent, started, labels) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			s.Tenant, s.ID, head, r.Version, r.Revision, r.Updated, r.Wake, r.Repairs, null(r.Due), null(r.Purge), r.Open, r.Status, r.Outcome,
			r.Workflow, r.Definition, null(r.Parent), r.Started, packLabels(r.Labels))
	}
	if err != nil {
		return nil, err
	}
	if st.id, err = result.LastInsertId(); err != nil {
		return nil, &dbError{"last insert", err}
	}
	w.streams.put(s, st)
	if r == nil {
		return st, nil
	}
	return st, w.putLabels(st.id, *r)
}

// ensure returns the state of a stream, and makes the stream if it is not there.
func (w *writer) ensure(s eventstore.Stream) (*streamState, error) {
	st, err := w.stream(s)
	if st != nil || err != nil {
		return st, err
	}
	return w.create(s, 0, nil)
}

// setRow stores the row of a stream, and with it a head. It is newer than the one that stands.
func (w *writer) setRow(st *streamState, r eventstore.Row, head uint64) error {
	same := st.version != 0 && st.status == r.Status && st.outcome == r.Outcome && st.open == r.Open && st.purge == r.Purge
	var err error
	switch {
	case same && st.due == r.Due: // a column that is not set is not touched in its index
		_, err = w.conn.exec(`UPDATE streams SET head=?, version=?, revision=?, updated=?, wake=?, repairs=? WHERE id=?`,
			head, r.Version, r.Revision, r.Updated, r.Wake, r.Repairs, st.id)
	case same:
		_, err = w.conn.exec(`UPDATE streams SET head=?, version=?, revision=?, updated=?, wake=?, repairs=?, due=? WHERE id=?`,
			head, r.Version, r.Revision, r.Updated, r.Wake, r.Repairs, null(r.Due), st.id)
	default:
		_, err = w.conn.exec(`UPDATE streams SET head=?, version=?, revision=?, updated=?, wake=?, repairs=?, due=?, purge=?, open=?, status=?, outcome=? WHERE id=?`,
			head, r.Version, r.Revision, r.Updated, r.Wake, r.Repairs, null(r.Due), null(r.Purge), r.Open, r.Status, r.Outcome, st.id)
	}
	if err == nil && st.version == 0 {
		err = w.fixRow(st.id, r)
	}
	st.head = head
	st.took(r)
	return err
}

// null is NULL for a zero value, which is then in no index.
func null[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// took remembers a row.
func (st *streamState) took(r eventstore.Row) {
	st.version, st.revision = r.Version, r.Revision
	st.status, st.outcome, st.open, st.due, st.purge = r.Status, r.Outcome, r.Open, r.Due, r.Purge
}

// fixRow stores the part of a row that never changes.
func (w *writer) fixRow(id int64, r eventstore.Row) error {
	_, err := w.conn.exec(`UPDATE streams SET workflow=?, definition=?, parent=?, started=?, labels=? WHERE id=?`,
		r.Workflow, r.Definition, null(r.Parent), r.Started, packLabels(r.Labels), id)
	if err != nil {
		return err
	}
	return w.putLabels(id, r)
}

func (w *writer) putLabels(id int64, r eventstore.Row) error {
	for _, l := range r.Labels {
		if _, err := w.conn.exec(`INSERT INTO labels(tenant, key, value, started, stream) VALUES(?, ?, ?, ?, ?)`,
			r.Stream.Tenant, l.Key, l.Value, r.Started, id); err != nil {
			return err
		}
	}
	return nil
}

func packLabels(labels []eventstore.Label) []byte {
	var b []byte
	for _, l := range labels {
		for _, text := range [2]string{l.Key, l.Value} {
			b = binary.AppendUvarint(b, uint64(len(text)))
			b = append(b, text...)
		}
	}
	return b
}

// unpackLabels undoes packLabels, as far as the bytes are sound.
func unpackLabels(b []byte) []eventstore.Label {
	var texts []string
	for len(b) > 0 {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			break
		}
		texts = append(texts, string(b[n:n+int(size)]))
		b = b[n+int(size):]
	}
	var labels []eventstore.Label
	for i := 0; i+1 < len(texts); i += 2 {
		labels = append(labels, eventstore.Label{Key: texts[i], Value: texts[i+1]})
	}
	return labels
}
