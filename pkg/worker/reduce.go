package worker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// maxReduced bounds what reduce keeps of a stream, in bytes.
const maxReduced = 8 << 20

// filler stands for a part that nobody reads in a list or object of which the size is asked: it is large enough that nobody
// takes what is left of the whole for the whole.
var filler = `"` + strings.Repeat("x", 8<<10) + `"`

// looked are the uses of a value that need some of it at hand; a part that is only handed on needs nothing.
func looked(uses []workflow.Use) []workflow.Use {
	return slices.DeleteFunc(slices.Clone(uses), func(u workflow.Use) bool { return u.Pass && !u.Size })
}

// reduce reads one JSON value to its end and returns a smaller one in which everything that the uses look at stands as it stood, and
// lists and objects have their sizes. The rest is null, or left out where neither an index nor a count can show it. So
// expr.KnownParts gives the same for both, and a value of any size passes by in bounded memory. An error is a *workflow.Error if the
// text is no JSON or too much of it is looked at.
func reduce(r io.Reader, uses []workflow.Use) ([]byte, error) {
	d := &reducer{dec: json.NewDecoder(r)}
	d.dec.UseNumber()
	var paths []wantedPath
	for _, u := range looked(uses) {
		paths = append(paths, wantedPath{path: u.Path, size: u.Size})
	}
	if err := d.value(paths); err != nil {
		return nil, err
	}
	if _, err := d.dec.Token(); err != io.EOF {
		return nil, workflow.Errorf("activity.output", workflow.CategoryActivity, "the output is more than one JSON value")
	}
	return d.out.Bytes(), nil
}

type wantedPath struct {
	path []string
	size bool
}

type reducer struct {
	dec *json.Decoder
	out bytes.Buffer
}

func (d *reducer) token() (json.Token, error) {
	t, err := d.dec.Token()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if _, syntax := err.(*json.SyntaxError); syntax || err == io.ErrUnexpectedEOF {
		return nil, workflow.Errorf("activity.output", workflow.CategoryActivity, "the output is not JSON: %v", err)
	}
	return t, err
}

// value copies the next value as far as paths want it.
func (d *reducer) value(paths []wantedPath) error {
	if d.out.Len() > maxReduced {
		return workflow.Errorf("payload.too_large", workflow.CategoryWorkflow,
			"expressions read more of the output than the %d bytes that are kept at hand: read less of it, or let an activity do it", maxReduced)
	}
	t, err := d.token()
	if err != nil {
		return err
	}
	whole := slices.ContainsFunc(paths, func(p wantedPath) bool { return len(p.path) == 0 && !p.size })
	counted := whole || slices.ContainsFunc(paths, func(p wantedPath) bool { return len(p.path) == 0 })
	switch t {
	case json.Delim('{'):
		return d.object(paths, whole, counted)
	case json.Delim('['):
		return d.list(paths, whole, counted)
	}
	if !counted {
		d.out.WriteString("null")
		return nil
	}
	text, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("worker: reduce: %w", err)
	}
	d.out.Write(text)
	return nil
}

var wholePath = []wantedPath{{}}

func (d *reducer) object(paths []wantedPath, whole, counted bool) error {
	d.out.WriteByte('{')
	filled := !counted // whether the filler stands already
	for first := true; d.dec.More(); {
		t, err := d.token()
		if err != nil {
			return err
		}
		key := t.(string) // the decoder takes nothing else here
		inner := below(paths, key)
		if whole {
			inner = wholePath
		}
		if len(inner) == 0 && !counted {
			if err := d.skip(); err != nil {
				return err
			}
			continue
		}
		if !first {
			d.out.WriteByte(',')
		}
		first = false
		name, err := json.Marshal(key)
		if err != nil {
			return fmt.Errorf("worker: reduce: %w", err)
		}
		d.out.Write(append(name, ':'))
		if err := d.member(inner, &filled); err != nil {
			return err
		}
	}
	d.out.WriteByte('}')
	_, err := d.token()
	return err
}

func (d *reducer) list(paths []wantedPath, whole, counted bool) error {
	d.out.WriteByte('[')
	filled := !counted
	indexed := slices.ContainsFunc(paths, func(p wantedPath) bool { return len(p.path) > 0 })
	for i := 0; d.dec.More(); i++ {
		if !counted && !indexed {
			if err := d.skip(); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			d.out.WriteByte(',')
		}
		inner := below(paths, strconv.Itoa(i))
		if whole {
			inner = wholePath
		}
		if err := d.member(inner, &filled); err != nil {
			return err
		}
	}
	d.out.WriteByte(']')
	_, err := d.token()
	return err
}

// member copies the next part of a list or object as far as paths want it.
func (d *reducer) member(paths []wantedPath, filled *bool) error {
	if len(paths) > 0 || *filled {
		return d.value(paths)
	}
	*filled = true
	d.out.WriteString(filler)
	return d.skip()
}

// skip reads the next value and keeps nothing of it.
func (d *reducer) skip() error {
	for depth := 0; ; {
		t, err := d.token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// below are the paths that go on under a key.
func below(paths []wantedPath, key string) []wantedPath {
	var out []wantedPath
	for _, p := range paths {
		if len(p.path) > 0 && p.path[0] == key {
			out = append(out, wantedPath{path: p.path[1:], size: p.size})
		}
	}
	return out
}
