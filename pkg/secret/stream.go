package secret

import (
	"bufio"
	"errors"
	"io"
)

// Reader masks a JSON text as it is read, without holding more of it than the longest form of a secret and the longest number. A
// number that holds a secret becomes the text [secret:name]. It closes r if it can be closed.
func (m *Mask) Reader(r io.ReadCloser) io.ReadCloser {
	if m.empty() {
		return r
	}
	return &maskReader{mask: m, from: r, in: bufio.NewReaderSize(r, max(32<<10, 4*m.longest))}
}

// maxNumber is the most bytes of one number that are looked into.
const maxNumber = 4 << 10

type maskReader struct {
	mask   *Mask
	from   io.Closer
	in     *bufio.Reader
	out    []byte // masked, not handed out yet
	spent  []byte // the array behind out
	quoted bool   // inside a JSON string
	err    error
}

// Close implements io.Closer.
func (r *maskReader) Close() error { return r.from.Close() }

// Read implements io.Reader.
func (r *maskReader) Read(b []byte) (int, error) {
	for len(r.out) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.fill()
	}
	n := copy(b, r.out)
	r.out = r.out[n:]
	return n, nil
}

// fill masks what the buffer holds, as far as it can be judged.
func (r *maskReader) fill() {
	text, err := r.in.Peek(r.in.Size())
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		r.err = err
	}
	end := len(text)
	if r.err == nil {
		end -= max(r.mask.longest, 2)
	}
	out, i := r.spent[:0], 0
	s := string(text)
	for i < end {
		n := 0
		if r.quoted {
			out, n = r.inside(out, s[i:], end-i)
		} else {
			out, n = r.outside(out, s[i:])
		}
		i += n
	}
	_, _ = r.in.Discard(min(i, len(text))) // they are in the buffer
	r.out, r.spent = out, out
}

// inside masks what stands at the beginning of s, in a string, or passes on what can be no secret up to limit.
func (r *maskReader) inside(out []byte, s string, limit int) ([]byte, int) {
	n := 0
	for n < limit && n+1 < len(s) && s[n] != '"' && s[n] != '\\' && !r.mask.mayBegin(s[n], s[n+1]) {
		n++
	}
	if n > 0 {
		return append(out, s[:n]...), n
	}
	if p, ok := r.mask.at(s); ok && p.quotable {
		return append(out, p.label...), len(p.text)
	}
	switch {
	case s[0] == '\\' && len(s) > 1:
		return append(out, s[:2]...), 2
	case s[0] == '"':
		r.quoted = false
	}
	return append(out, s[0]), 1
}

// outside passes on what stands between strings; a number is looked into.
func (r *maskReader) outside(out []byte, s string) ([]byte, int) {
	if !bare(s[0]) {
		r.quoted = s[0] == '"'
		return append(out, s[0]), 1
	}
	n := 1
	for n < len(s) && n < maxNumber && bare(s[n]) {
		n++
	}
	if _, p, ok := r.mask.find(s[:n]); ok {
		return append(append(append(out, '"'), p.label...), '"'), n
	}
	return append(out, s[:n]...), n
}
