package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

const (
	// maxReduced bounds what reduce keeps of a stream, in bytes.
	maxReduced = 8 << 20
	// smallText is how long the text of a value is that is kept as it stands, wherever it was looked for.
	smallText = 128
)

// filler stands for something that nobody reads. It is so large that nobody takes what is left of a whole for the whole: expr.KnownParts keeps
// small values and not their sizes.
var filler = []byte(`"` + strings.Repeat("x", 2*smallText) + `"`)

// fillerKey is a key that nobody asks for.
var fillerKey = []byte(`"\u0000filler":`)

// reduce reads one JSON value to its end and returns a smaller one for which expr.KnownParts finds out as much: what the uses look at stands as
// it stood, what they lead to is there or not, and of what they ask the size of there are as many. Of what is only handed on there is enough
// to tell its kind. So a value of any size passes by in bounded memory. An error is a *workflow.Error if the text is no JSON or too much of it is
// looked at.
func reduce(r io.Reader, uses []workflow.Use) ([]byte, error) {
	d := &reducer{scanner: newScanner(r)}
	var paths []wantedPath
	for _, u := range uses {
		paths = append(paths, wantedPath{path: u.Path, size: u.Size, pass: u.Pass && !u.Size})
	}
	err := d.value(paths)
	if err == nil {
		err = d.end()
	}
	return d.out.Bytes(), err
}

// wantedPath is the rest of a path, and what is wanted at its end: the value itself, or only its size, or only that it is handed on.
type wantedPath struct {
	path       []string
	size, pass bool
}

type reducer struct {
	*scanner
	out bytes.Buffer
}

// keep is the sink of what stays.
func (d *reducer) keep(text []byte) error {
	if d.out.Len()+len(text) > maxReduced {
		return workflow.Errorf("payload.too_large", workflow.CategoryWorkflow,
			"expressions read more of the output than the %d bytes that are kept at hand: read less of it, or let an activity do it", maxReduced)
	}
	d.out.Write(text)
	return nil
}

// wanted is what paths want of one value.
type wanted struct {
	whole, size, pass bool // it ends here
	below             bool // it goes on
}

func wantedOf(paths []wantedPath) (w wanted) {
	for _, p := range paths {
		switch {
		case len(p.path) > 0:
			w.below = true
		case p.size:
			w.size = true
		case p.pass:
			w.pass = true
		default:
			w.whole = true
		}
	}
	return w
}

// value reads the next value and keeps of it what paths want.
func (d *reducer) value(paths []wantedPath) error {
	if len(paths) == 0 {
		return d.skip("null")
	}
	b, err := d.peek()
	if err != nil {
		return err
	}
	w := wantedOf(paths)
	small, err := d.small()
	switch {
	case err != nil:
		return err
	case w.whole || small:
		return d.scanner.value(d.keep)
	case b == '{':
		return d.object(paths, w)
	case b == '[':
		return d.list(paths, w)
	case b == '"' && !w.size: // only its kind matters
		return d.skip(string(filler))
	}
	return d.scanner.value(d.keep)
}

// skip reads the next value and keeps a text in its place.
func (d *reducer) skip(instead string) error {
	if err := d.scanner.value(nil); err != nil {
		return err
	}
	return d.keep([]byte(instead))
}

// small looks whether the text of the next value is short, and reads nothing. One that is no JSON is not: whoever reads it says so.
func (d *reducer) small() (bool, error) {
	ahead, err := d.r.Peek(smallText)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	s := newScanner(bytes.NewReader(ahead))
	if s.value(nil) != nil {
		return false, nil
	}
	return s.at < int64(len(ahead)) || err != nil, nil // a number may go on where the view ends
}

// object keeps the members that paths lead to, all keys if the size is asked for, and a filler if it is asked for at all.
func (d *reducer) object(paths []wantedPath, w wanted) error {
	if err := d.open(); err != nil {
		return err
	}
	n, filled := 0, false
	comma := func() error {
		if n++; n > 1 {
			return d.keep([]byte{','})
		}
		return nil
	}
	if err := d.keep([]byte{'{'}); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := d.more(first, '}')
		if err != nil {
			return err
		}
		if !more {
			break
		}
		var name bytes.Buffer
		if err := d.key(bounded(&name)); err != nil {
			return err
		}
		var key string
		if err := json.Unmarshal(name.Bytes(), &key); err != nil {
			return d.fail("a key: %v", err)
		}
		inner := below(paths, key)
		if len(inner) == 0 && !w.size {
			if err := d.scanner.value(nil); err != nil {
				return err
			}
			continue
		}
		if err := errors.Join(comma(), d.keep(append(name.Bytes(), ':'))); err != nil {
			return err
		}
		if err := d.member(inner, !filled); err != nil {
			return err
		}
		filled = filled || len(inner) == 0
	}
	if w.pass && !w.size {
		if err := errors.Join(comma(), d.keep(fillerKey), d.keep(filler)); err != nil {
			return err
		}
	}
	return d.keep([]byte{'}'})
}

// bounded collects a key.
func bounded(b *bytes.Buffer) sink {
	return func(text []byte) error {
		if b.Len()+len(text) > maxReduced {
			return workflow.Errorf("payload.too_large", workflow.CategoryWorkflow, "a key in the output has more than %d bytes", maxReduced)
		}
		b.Write(text)
		return nil
	}
}

// list keeps the items that paths lead to where they stand, as many as there are if the size is asked for, and a filler among them. A path that
// leads to none of them is told how many there are.
func (d *reducer) list(paths []wantedPath, w wanted) error {
	if err := d.open(); err != nil {
		return err
	}
	if err := d.keep([]byte{'['}); err != nil {
		return err
	}
	filled := false
	for i := 0; ; i++ {
		more, err := d.more(i == 0, ']')
		if err != nil {
			return err
		}
		if !more {
			break
		}
		inner := below(paths, strconv.Itoa(i))
		if len(inner) == 0 && !w.size && !w.below && filled {
			if err := d.scanner.value(nil); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			if err := d.keep([]byte{','}); err != nil {
				return err
			}
		}
		if err := d.member(inner, !filled); err != nil {
			return err
		}
		filled = filled || len(inner) == 0
	}
	return d.keep([]byte{']'})
}

// member keeps what paths want of a part; of one that nobody wants, a filler or as little as there can be.
func (d *reducer) member(paths []wantedPath, fill bool) error {
	switch {
	case len(paths) > 0:
		return d.value(paths)
	case fill:
		return d.skip(string(filler))
	}
	return d.skip("0")
}

// below are the paths that go on under a key.
func below(paths []wantedPath, key string) []wantedPath {
	var out []wantedPath
	for _, p := range paths {
		if len(p.path) > 0 && p.path[0] == key {
			p.path = p.path[1:]
			out = append(out, p)
		}
	}
	return slices.Clip(out)
}
