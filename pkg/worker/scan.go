package worker

import (
	"bufio"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// scanner reads JSON from a stream in bounded memory, whatever the size of its parts: a string of any length passes through a small buffer.
// It takes what expr.Canonical takes, but for keys that stand twice in one object and numbers out of range.
type scanner struct {
	r     *bufio.Reader
	at    int64 // bytes read
	depth int
}

const scanBuffer = 32 << 10

func newScanner(r io.Reader) *scanner { return &scanner{r: bufio.NewReaderSize(r, scanBuffer)} }

// sink takes pieces of JSON text; nil throws them away.
type sink func(text []byte) error

func (k sink) put(text []byte) error {
	if k == nil {
		return nil
	}
	return k(text)
}

func (s *scanner) fail(format string, args ...any) error {
	return workflow.Errorf("activity.output", workflow.CategoryActivity, "the output is not JSON at byte %d: %s", s.at, fmt.Sprintf(format, args...))
}

// broken is an error of the source: its end is one of the text.
func (s *scanner) broken(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return s.fail("it ends too early")
	}
	return err
}

func (s *scanner) skipBytes(n int) {
	s.at += int64(n)
	_, _ = s.r.Discard(n) // they were peeked at
}

// peek returns the first byte of the next token and does not read it.
func (s *scanner) peek() (byte, error) {
	for {
		b, err := s.r.Peek(1)
		if err != nil {
			return 0, s.broken(err)
		}
		switch b[0] {
		case ' ', '\t', '\n', '\r':
			s.skipBytes(1)
		default:
			return b[0], nil
		}
	}
}

// end reads what stands behind the value, up to the end of the source.
func (s *scanner) end() error {
	for {
		b, err := s.r.Peek(1)
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case b[0] != ' ' && b[0] != '\t' && b[0] != '\n' && b[0] != '\r':
			return workflow.Errorf("activity.output", workflow.CategoryActivity, "the output is more than one JSON value: at byte %d there is more", s.at)
		}
		s.skipBytes(1)
	}
}

// take reads the byte that was peeked at.
func (s *scanner) take(to sink, b byte) error {
	s.skipBytes(1)
	return to.put([]byte{b})
}

// open reads the start of an object or list.
func (s *scanner) open() error {
	if s.depth++; s.depth > expr.MaxDepth {
		return s.fail("it nests more than %d levels deep", expr.MaxDepth)
	}
	s.skipBytes(1)
	return nil
}

// more reads up to the next member or item of what was opened, and reports whether there is one; if not, it reads the end.
func (s *scanner) more(first bool, closing byte) (bool, error) {
	b, err := s.peek()
	switch {
	case err != nil:
		return false, err
	case b == closing:
		s.depth--
		s.skipBytes(1)
		return false, nil
	case first:
		return true, nil
	case b != ',':
		return false, s.fail("expected ',' or %q and found %q", closing, b)
	}
	s.skipBytes(1)
	if b, err = s.peek(); err == nil && b == closing {
		err = s.fail("a comma before %q", b)
	}
	return err == nil, err
}

// key reads the key of a member, with its quotes, and the colon.
func (s *scanner) key(to sink) error {
	b, err := s.peek()
	if err != nil {
		return err
	}
	if b != '"' {
		return s.fail("expected a key in double quotes and found %q", b)
	}
	if err := s.str(to); err != nil {
		return err
	}
	if b, err = s.peek(); err != nil {
		return err
	}
	if b != ':' {
		return s.fail("expected ':' behind a key and found %q", b)
	}
	s.skipBytes(1)
	return nil
}

// value reads the next value and puts its text, without white space, into a sink.
func (s *scanner) value(to sink) error {
	var stack []byte // the ends of what is open
	first := true
	for {
		if n := len(stack); n > 0 {
			closing := stack[n-1]
			more, err := s.more(first, closing)
			if err != nil {
				return err
			}
			if !more {
				if err := to.put(stack[n-1:]); err != nil {
					return err
				}
				if stack = stack[:n-1]; n == 1 {
					return nil
				}
				first = false
				continue
			}
			if err := s.before(to, first, closing); err != nil {
				return err
			}
		}
		b, err := s.peek()
		if err != nil {
			return err
		}
		first = b == '{' || b == '['
		if first {
			if err := s.open(); err != nil {
				return err
			}
			if err := to.put([]byte{b}); err != nil {
				return err
			}
			stack = append(stack, b+2) // the closing bracket stands two behind the opening one
			continue
		}
		if err := s.scalar(to, b); err != nil || len(stack) == 0 {
			return err
		}
	}
}

// before writes the comma before a value, and reads and writes its key.
func (s *scanner) before(to sink, first bool, closing byte) error {
	if !first {
		if err := to.put([]byte{','}); err != nil {
			return err
		}
	}
	if closing != '}' {
		return nil
	}
	if err := s.key(to); err != nil {
		return err
	}
	return to.put([]byte{':'})
}

// scalar reads a string, number or word that starts with b.
func (s *scanner) scalar(to sink, b byte) error {
	switch {
	case b == '"':
		return s.str(to)
	case b == '-' || b >= '0' && b <= '9':
		return s.number(to)
	case b == 't':
		return s.word(to, "true")
	case b == 'f':
		return s.word(to, "false")
	case b == 'n':
		return s.word(to, "null")
	}
	return s.fail("%q starts no value", b)
}

func (s *scanner) word(to sink, word string) error {
	got, err := s.r.Peek(len(word))
	if string(got) != word {
		if err != nil && err != io.EOF {
			return err
		}
		return s.fail("expected %s", word)
	}
	s.skipBytes(len(word))
	return to.put([]byte(word))
}

// number reads a number of any length.
func (s *scanner) number(to sink) error {
	b, err := s.next()
	if err == nil && b == '-' {
		if err = s.take(to, b); err == nil {
			b, err = s.next()
		}
	}
	if err != nil {
		return err
	}
	if b == '0' {
		err = s.take(to, b)
	} else {
		err = s.digits(to)
	}
	if err != nil {
		return err
	}
	if b, err = s.next(); err == nil && b == '.' {
		if err = s.take(to, b); err == nil {
			err = s.digits(to)
		}
		if err == nil {
			b, err = s.next()
		}
	}
	if err != nil || b != 'e' && b != 'E' {
		return err
	}
	if err = s.take(to, b); err != nil {
		return err
	}
	if b, err = s.next(); err == nil && (b == '+' || b == '-') {
		err = s.take(to, b)
	}
	if err != nil {
		return err
	}
	return s.digits(to)
}

// next returns the next byte, white space or not, and does not read it; 0 at the end.
func (s *scanner) next() (byte, error) {
	b, err := s.r.Peek(1)
	switch {
	case err == io.EOF:
		return 0, nil
	case err != nil:
		return 0, err
	}
	return b[0], nil
}

// digits reads one digit or more.
func (s *scanner) digits(to sink) error {
	for n := 0; ; n++ {
		b, err := s.next()
		switch {
		case err != nil:
			return err
		case b >= '0' && b <= '9':
			if err := s.take(to, b); err != nil {
				return err
			}
		case n == 0:
			return s.fail("not a number")
		default:
			return nil
		}
	}
}

// str reads a string with its quotes.
func (s *scanner) str(to sink) error {
	if err := s.take(to, '"'); err != nil {
		return err
	}
	for {
		if _, err := s.r.Peek(1); err != nil {
			return s.broken(err)
		}
		text, _ := s.r.Peek(s.r.Buffered())
		n := 0
		for n < len(text) && text[n] >= 0x20 && text[n] < utf8.RuneSelf && text[n] != '"' && text[n] != '\\' {
			n++
		}
		if err := s.pass(to, n); err != nil {
			return err
		}
		if n == len(text) {
			continue
		}
		switch b := text[n]; {
		case b == '"':
			return s.take(to, b)
		case b < 0x20:
			return s.fail("a control character in a string")
		default:
			length, err := s.special(b)
			if err != nil {
				return err
			}
			if err := s.pass(to, length); err != nil {
				return err
			}
		}
	}
}

// pass reads so many bytes that are in the buffer.
func (s *scanner) pass(to sink, n int) error {
	text, err := s.r.Peek(n)
	if err == nil {
		err = to.put(text)
	}
	s.skipBytes(n)
	return err
}

// special returns the length of the escape or the character beyond ASCII that starts with b.
func (s *scanner) special(b byte) (int, error) {
	if b != '\\' {
		text, err := s.r.Peek(utf8.UTFMax)
		if err != nil && err != io.EOF {
			return 0, err
		}
		if r, n := utf8.DecodeRune(text); r != utf8.RuneError || n > 1 {
			return n, nil
		}
		return 0, s.fail("invalid UTF-8 in a string")
	}
	text, err := s.r.Peek(12)
	if err != nil && err != io.EOF {
		return 0, err
	}
	if len(text) < 2 {
		return 0, s.broken(io.EOF)
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	}
	r, ok := hex4(text)
	if ok && !utf16.IsSurrogate(r) {
		return 6, nil
	}
	if ok && len(text) == 12 {
		if low, half := hex4(text[6:]); half && utf16.DecodeRune(r, low) != utf8.RuneError {
			return 12, nil
		}
	}
	return 0, s.fail("an invalid escape in a string")
}

// hex4 reads \uXXXX.
func hex4(text []byte) (r rune, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	for _, b := range text[2:6] {
		switch {
		case b >= '0' && b <= '9':
			b -= '0'
		case b >= 'a' && b <= 'f':
			b -= 'a' - 10
		case b >= 'A' && b <= 'F':
			b -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(b)
	}
	return r, true
}
