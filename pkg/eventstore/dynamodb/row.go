package dynamodb

import (
	"encoding/binary"
	"errors"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// rowForm is the first byte of each packed part of a row.
const rowForm = 1

// A row is packed in two parts, for only one of them changes, and the index of lists holds what lists are filtered by. Times are offsets:
// from the start, and from the last change.

// packFixed packs the group that never changes.
func packFixed(b []byte, r *eventstore.Row) []byte {
	b = append(b, rowForm)
	b = appendText(b, r.Workflow)
	b = binary.AppendUvarint(b, r.Definition)
	b = appendText(b, r.Parent)
	b = binary.AppendVarint(b, r.Started)
	b = binary.AppendUvarint(b, uint64(len(r.Labels)))
	for _, l := range r.Labels {
		b = appendText(appendText(b, l.Key), l.Value)
	}
	return b
}

// packCurrent packs what a list shows and is filtered by of the rest.
func packCurrent(b []byte, r *eventstore.Row) []byte {
	open := byte(0)
	if r.Open {
		open = 1
	}
	b = append(b, rowForm, open)
	return appendText(appendText(b, r.Status), r.Outcome)
}

// packTimes packs the rest.
func packTimes(b []byte, r *eventstore.Row) []byte {
	b = append(b, rowForm)
	b = binary.AppendVarint(b, r.Updated-r.Started)
	for _, t := range []int64{r.Wake, r.Due, r.Purge} {
		if t == 0 {
			b = append(b, 0)
			continue
		}
		b = binary.AppendVarint(append(b, 1), t-r.Updated)
	}
	return binary.AppendUvarint(b, uint64(r.Repairs))
}

// packRow packs all of a row but its stream, version and revision, which its commit knows. Nil of nil.
func packRow(r *eventstore.Row) []byte {
	if r == nil {
		return nil
	}
	return packTimes(packCurrent(packFixed(nil, r), r), r)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errRow = errors.New("dynamodb: a row of the index is not what this program writes: was it written by a newer one?")

// unpacker reads what was packed. After the first mistake it reads zeros.
type unpacker struct {
	b   []byte
	bad bool
}

func (u *unpacker) form() {
	if u.byte() != rowForm {
		u.bad = true
	}
}

func (u *unpacker) byte() byte {
	if len(u.b) == 0 {
		u.bad = true
		return 0
	}
	x := u.b[0]
	u.b = u.b[1:]
	return x
}

func (u *unpacker) uvarint() uint64 {
	x, n := binary.Uvarint(u.b)
	if n <= 0 {
		u.bad = true
		return 0
	}
	u.b = u.b[n:]
	return x
}

func (u *unpacker) varint() int64 {
	x, n := binary.Varint(u.b)
	if n <= 0 {
		u.bad = true
		return 0
	}
	u.b = u.b[n:]
	return x
}

func (u *unpacker) text() string {
	n := u.uvarint()
	if n > uint64(len(u.b)) {
		u.bad = true
		return ""
	}
	s := string(u.b[:n])
	u.b = u.b[n:]
	return s
}

func (u *unpacker) fixed(r *eventstore.Row) {
	u.form()
	r.Workflow, r.Definition, r.Parent, r.Started = u.text(), u.uvarint(), u.text(), u.varint()
	for n := u.uvarint(); n > 0 && !u.bad; n-- {
		r.Labels = append(r.Labels, eventstore.Label{Key: u.text(), Value: u.text()})
	}
}

func (u *unpacker) current(r *eventstore.Row) {
	u.form()
	r.Open = u.byte() == 1
	r.Status, r.Outcome = u.text(), u.text()
}

func (u *unpacker) times(r *eventstore.Row) {
	u.form()
	r.Updated = r.Started + u.varint()
	for _, t := range []*int64{&r.Wake, &r.Due, &r.Purge} {
		if u.byte() == 1 {
			*t = r.Updated + u.varint()
		}
	}
	r.Repairs = uint32(u.uvarint())
}

// done returns whether all was read as it was packed.
func (u *unpacker) done() error {
	if u.bad || len(u.b) > 0 {
		return errRow
	}
	return nil
}

// unpackRow undoes packRow.
func unpackRow(b []byte, r *eventstore.Row) error {
	u := unpacker{b: b}
	u.fixed(r)
	u.current(r)
	u.times(r)
	return u.done()
}
