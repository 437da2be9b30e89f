package worker

import (
	"encoding/json"
	"io"
	"strconv"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// partReader streams the part of a stored JSON value at a path.
type partReader struct {
	*io.PipeReader
	source io.Closer
}

// newPartReader reads r as far as the part at path reaches. A part that is not there reads as null.
func newPartReader(r io.ReadCloser, path []string) io.ReadCloser {
	reading, writing := io.Pipe()
	go func() { writing.CloseWithError(copyPart(writing, r, path)) }()
	return &partReader{PipeReader: reading, source: r}
}

// Close ends the copying and closes the source.
func (p *partReader) Close() error {
	_ = p.PipeReader.Close()
	return p.source.Close()
}

func copyPart(w io.Writer, r io.Reader, path []string) error {
	d := &reducer{dec: json.NewDecoder(r)}
	d.dec.UseNumber()
	for _, key := range path {
		found, err := d.enter(key)
		if err != nil {
			return err
		}
		if !found {
			_, err := io.WriteString(w, "null")
			return err
		}
	}
	return d.copy(w)
}

// enter goes into the member or item of the next value, if there is one.
func (d *reducer) enter(key string) (bool, error) {
	t, err := d.token()
	if err != nil {
		return false, err
	}
	switch t {
	case json.Delim('{'):
		for d.dec.More() {
			name, err := d.token()
			if err != nil {
				return false, err
			}
			if name == key {
				return true, nil
			}
			if err := d.skip(); err != nil {
				return false, err
			}
		}
	case json.Delim('['):
		for i := 0; d.dec.More(); i++ {
			if strconv.Itoa(i) == key {
				return true, nil
			}
			if err := d.skip(); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// copy writes the next value, token by token.
func (d *reducer) copy(w io.Writer) error {
	type level struct {
		object bool
		n      int // tokens so far
	}
	var stack []level
	for {
		t, err := d.token()
		if err != nil {
			return err
		}
		closing := t == json.Delim('}') || t == json.Delim(']')
		before := ""
		if n := len(stack); n > 0 && !closing {
			top := &stack[n-1]
			switch {
			case top.object && top.n%2 == 1:
				before = ":"
			case top.n > 0:
				before = ","
			}
			top.n++
		}
		text := []byte(before)
		switch t := t.(type) {
		case json.Delim:
			text = append(text, t.String()...)
			if closing {
				stack = stack[:len(stack)-1]
			} else {
				stack = append(stack, level{object: t == '{'})
			}
		default:
			b, err := json.Marshal(t)
			if err != nil {
				return workflow.Errorf("activity.output", workflow.CategoryActivity, "the stored value is not JSON: %v", err)
			}
			text = append(text, b...)
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		if len(stack) == 0 {
			return nil
		}
	}
}
