package worker

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
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
	s := newScanner(r)
	for _, key := range path {
		found, err := s.enter(key)
		if err != nil {
			return err
		}
		if !found {
			_, err := io.WriteString(w, "null")
			return err
		}
	}
	out := bufio.NewWriterSize(w, scanBuffer)
	if err := s.value(func(text []byte) error { _, err := out.Write(text); return err }); err != nil {
		return err
	}
	return out.Flush()
}

// enter goes into the member or item of the next value, if there is one.
func (s *scanner) enter(key string) (bool, error) {
	b, err := s.peek()
	if err != nil || b != '{' && b != '[' {
		return false, err
	}
	if err := s.open(); err != nil {
		return false, err
	}
	for i := 0; ; i++ {
		more, err := s.more(i == 0, b+2)
		if err != nil || !more {
			return false, err
		}
		name := strconv.Itoa(i)
		if b == '{' {
			if name, err = s.name(len(key)); err != nil {
				return false, err
			}
		}
		if name == key {
			return true, nil
		}
		if err := s.value(nil); err != nil {
			return false, err
		}
	}
}

// name reads a key as a text. Of one that is longer than a limit there is only so much that it cannot be mistaken.
func (s *scanner) name(limit int) (string, error) {
	var raw []byte
	long := false
	err := s.key(func(text []byte) error {
		if long = long || len(raw)+len(text) > 6*limit+2; !long { // an escape has six bytes for one
			raw = append(raw, text...)
		}
		return nil
	})
	if err != nil || long {
		return "\x00long", err
	}
	var key string
	if err := json.Unmarshal(raw, &key); err != nil {
		return "", s.fail("a key: %v", err)
	}
	return key, nil
}
