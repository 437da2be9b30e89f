package secret

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Reader masks a JSON text as it is read, as JSON does, without holding more of it than the longest form of a secret and the longest number.
// A number that holds a secret becomes the text [secret:name]; one of more than 4 KiB fails with activity.output. It closes r.
func (m *Mask) Reader(r io.ReadCloser) io.ReadCloser {
	if m.empty() {
		return r
	}
	return &maskReader{mask: m, from: r, in: bufio.NewReaderSize(r, max(32<<10, 4*widest*m.longest))}
}

// maxNumber is the most bytes of one number.
const maxNumber = 4 << 10

// widest is the most bytes in which JSON writes one byte of a text: \u0061.
const widest = 6

type maskReader struct {
	mask   *Mask
	from   io.Closer
	in     *bufio.Reader
	out    []byte // masked, not handed out yet
	spent  []byte // the array behind out
	quoted bool   // inside a JSON string
	hidden int    // bytes to come that a label already stands for
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
		end -= widest * (r.mask.longest + 2) // an escape at the end is whole
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
		if n == 0 {
			break
		}
		i += n
	}
	_, _ = r.in.Discard(min(i, len(text))) // they are in the buffer
	r.out, r.spent = out, out
}

// inside masks what stands at the beginning of s, in a string, or passes on what can be no secret up to limit. Escapes are read, and what is
// no secret stays as it was written.
func (r *maskReader) inside(out []byte, s string, limit int) ([]byte, int) {
	n := 0
	for r.hidden == 0 && n < limit && n+1 < len(s) && s[n] != '"' && s[n] != '\\' && s[n+1] != '\\' && !r.mask.mayBegin(s[n], s[n+1]) {
		n++
	}
	if n > 0 {
		return append(out, s[:n]...), n
	}
	if label, length := r.mask.written(s); length > 0 {
		if r.hidden == 0 {
			out = append(out, label...)
		}
		r.hidden = max(r.hidden, length)
	}
	_, _, n = letter(s)
	if r.hidden > 0 {
		r.hidden = max(0, r.hidden-n)
		return out, n
	}
	if s[0] == '"' {
		r.quoted = false
	}
	return append(out, s[:n]...), n
}

// written returns the label of the longest pattern that stands at the beginning of s, the inside of a JSON string, and in how many bytes it
// is written there; 0 if there is none.
func (m *Mask) written(s string) (label string, length int) {
	var plain []byte
	var ends []int // where the letter of each byte of plain ends in s
	more := func(until int) {
		at := 0
		if len(ends) > 0 {
			at = ends[len(ends)-1]
		}
		for len(plain) < until && at < len(s) && s[at] != '"' {
			text, size, n := letter(s[at:])
			at += n
			plain = append(plain, text[:size]...)
			for range size {
				ends = append(ends, at)
			}
		}
	}
	if more(MinLength); len(plain) < MinLength || !m.mayBegin(plain[0], plain[1]) {
		return "", 0
	}
	if len(m.byHead[binary.LittleEndian.Uint32(plain)]) == 0 {
		return "", 0
	}
	more(m.longest)
	p, ok := m.at(string(plain))
	if !ok {
		return "", 0
	}
	return p.label, ends[len(p.text)-1]
}

// letter reads one byte, or one escape, of the inside of a JSON string: the size bytes of the text that it stands for, and its length.
func letter(s string) (text [utf8.UTFMax]byte, size, length int) {
	if s[0] != '\\' || len(s) < 2 {
		text[0] = s[0]
		return text, 1, 1
	}
	if s[1] != 'u' {
		text[0] = s[1]
		if i := strings.IndexByte("bfnrt", s[1]); i >= 0 {
			text[0] = "\b\f\n\r\t"[i]
		}
		return text, 1, 2
	}
	r, ok := hexRune(s)
	if !ok { // no JSON
		text[0] = s[0]
		return text, 1, 1
	}
	length = widest
	if utf16.IsSurrogate(r) {
		low, _ := hexRune(s[widest:])
		if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
			length = 2 * widest
		}
	}
	return text, utf8.EncodeRune(text[:], r), length
}

// hexRune reads \uXXXX.
func hexRune(s string) (rune, bool) {
	if len(s) < widest || s[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:widest], 16, 16)
	return rune(n), err == nil
}

// outside passes on what stands between strings; a number is looked into. It takes nothing where more of a number may follow.
func (r *maskReader) outside(out []byte, s string) ([]byte, int) {
	if !bare(s[0]) {
		r.quoted = s[0] == '"'
		return append(out, s[0]), 1
	}
	n := 1
	for n < len(s) && n <= maxNumber && bare(s[n]) {
		n++
	}
	if n > maxNumber {
		r.err = workflow.Errorf("activity.output", workflow.CategoryActivity, "the output has a number of more than %d bytes: write it as a text", maxNumber)
		return out, 0
	}
	if n == len(s) && r.err == nil {
		return out, 0
	}
	if _, p, ok := r.mask.find(s[:n]); ok {
		return append(append(append(out, '"'), p.label...), '"'), n
	}
	return append(out, s[:n]...), n
}
