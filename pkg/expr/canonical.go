package expr

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/wovyr/wovyr/pkg/workflow"
)

const (
	// MaxDepth is how deep JSON values may nest.
	MaxDepth = 1000
	// MaxResult is the largest result of an expression or template, in bytes of JSON.
	MaxResult = 4 << 20
)

// Canonical makes one JSON value canonical: see workflow.Value for the form. Numbers without fraction and
// exponent are ints, beyond 64 bits doubles; -0 is 0. It is strict: duplicate keys, invalid UTF-8, escapes that are half
// a character, numbers no double can hold, nesting above MaxDepth and trailing text are a *workflow.Error
// with code payload.invalid and the offset in its details. A NUL character in a string is kept (as \u0000).
func Canonical(text []byte) (workflow.Value, error) {
	c := canonizer{text: text, out: make([]byte, 0, len(text))}
	if err := c.document(); err != nil {
		return nil, err
	}
	return c.out, nil
}

// Marshal is encoding/json of v in canonical form.
func Marshal(v any) (workflow.Value, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, workflow.Errorf(CodeInvalid, workflow.CategoryWorkflow, "%v", err)
	}
	return Canonical(text)
}

// canonizer reads JSON and writes it canonically.
type canonizer struct {
	text    []byte
	pos     int
	out     []byte
	members []member // of the objects that are open, innermost last
	scratch []byte
}

// member is one entry of an open object: its text in out, and its key (a part of the text where that has no escapes).
type member struct {
	from, to int
	key      []byte
}

type syntaxError struct {
	offset int
	what   string
}

func (c *canonizer) document() (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case syntaxError:
			details := workflow.Value(`{"offset":` + strconv.Itoa(r.offset) + `}`)
			err = &workflow.Error{Code: CodeInvalid, Category: workflow.CategoryWorkflow,
				Message: fmt.Sprintf("not JSON at byte %d: %s", r.offset, r.what), Details: details}
		default:
			panic(r)
		}
	}()
	c.space()
	c.value(0)
	c.space()
	if c.pos < len(c.text) {
		c.fail("more text after the value")
	}
	return nil
}

func (c *canonizer) fail(format string, args ...any) {
	panic(syntaxError{c.pos, fmt.Sprintf(format, args...)})
}

func (c *canonizer) space() {
	for c.pos < len(c.text) {
		switch c.text[c.pos] {
		case ' ', '\t', '\n', '\r':
			c.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end (a NUL byte is no token either).
func (c *canonizer) peek() byte {
	if c.pos < len(c.text) {
		return c.text[c.pos]
	}
	return 0
}

func (c *canonizer) value(depth int) {
	switch b := c.peek(); {
	case b == '{':
		c.object(depth + 1)
	case b == '[':
		c.array(depth + 1)
	case b == '"':
		c.string()
	case b == '-' || (b >= '0' && b <= '9'):
		c.number()
	case b == 't':
		c.word("true")
	case b == 'f':
		c.word("false")
	case b == 'n':
		c.word("null")
	case c.pos >= len(c.text):
		c.fail("the text ends where a value should stand")
	default:
		c.fail("%q starts no value", rune(b))
	}
}

func (c *canonizer) word(word string) {
	if !bytes.HasPrefix(c.text[c.pos:], []byte(word)) {
		c.fail("not %s", word)
	}
	c.pos += len(word)
	c.out = append(c.out, word...)
}

func (c *canonizer) array(depth int) {
	c.open(depth, '[')
	for c.space(); c.peek() != ']'; {
		c.value(depth)
		c.more(']')
	}
	c.close(']')
}

func (c *canonizer) open(depth int, b byte) {
	if depth > MaxDepth {
		c.fail("nested deeper than %d", MaxDepth)
	}
	c.pos++
	c.out = append(c.out, b)
}

func (c *canonizer) close(b byte) {
	c.pos++
	c.out = append(c.out, b)
}

// more reads what stands between two items.
func (c *canonizer) more(end byte) {
	c.space()
	switch c.peek() {
	case end:
		return
	case ',':
		c.pos++
		c.out = append(c.out, ',')
		c.space()
		if c.peek() == end {
			c.fail("a comma before %q", rune(end))
		}
	default:
		c.fail("expected ',' or %q", rune(end))
	}
}

func (c *canonizer) object(depth int) {
	c.open(depth, '{')
	first, start := len(c.members), len(c.out)
	sorted := true
	for c.space(); c.peek() != '}'; {
		from := len(c.out)
		key := c.key()
		c.value(depth)
		if n := len(c.members); n > first && bytes.Compare(c.members[n-1].key, key) >= 0 {
			sorted = false
		}
		c.members = append(c.members, member{from, len(c.out), key})
		c.more('}')
	}
	if !sorted {
		c.sort(c.members[first:], start)
	}
	c.members = c.members[:first]
	c.close('}')
}

// key reads a key and its colon.
func (c *canonizer) key() []byte {
	if c.peek() != '"' {
		c.fail("expected a key in double quotes")
	}
	key := c.string()
	c.space()
	if c.peek() != ':' {
		c.fail("expected ':' after a key")
	}
	c.pos++
	c.space()
	c.out = append(c.out, ':')
	return key
}

// sort puts the members of an object, which stand in out from start on, into order.
func (c *canonizer) sort(members []member, start int) {
	slices.SortStableFunc(members, func(a, b member) int { return bytes.Compare(a.key, b.key) })
	c.scratch = c.scratch[:0]
	for i, m := range members {
		if i > 0 {
			if bytes.Equal(m.key, members[i-1].key) {
				c.fail("the key %q stands twice in this object", m.key)
			}
			c.scratch = append(c.scratch, ',')
		}
		c.scratch = append(c.scratch, c.out[m.from:m.to]...)
	}
	c.out = append(c.out[:start], c.scratch...)
}

// string reads a string, writes it and returns its content.
func (c *canonizer) string() []byte {
	start := c.pos
	plain := true
	for i := c.pos + 1; i < len(c.text); i++ {
		switch b := c.text[i]; {
		case b == '"':
			if raw := c.text[start+1 : i]; plain && utf8.Valid(raw) {
				c.pos = i + 1
				c.out = append(c.out, c.text[start:i+1]...)
				return raw
			}
			s := c.unescape(c.text[start+1:i], start+1)
			c.pos = i + 1
			c.out = appendString(c.out, s)
			return []byte(s)
		case b == '\\':
			plain = false
			i++
		case b < 0x20:
			c.pos = i
			c.fail("a control character in a string; write \\u%04x", b)
		}
	}
	c.fail("a string without end")
	return nil
}

func (c *canonizer) unescape(raw []byte, offset int) string {
	s, bad := unescapeJSON(string(raw))
	if bad >= 0 {
		c.pos = offset + bad
		c.fail("invalid UTF-8 or an invalid escape in a string")
	}
	return s
}

// unescapeJSON decodes the inside of a JSON string; bad is the offset of what is no valid text, or -1.
func unescapeJSON(raw string) (s string, bad int) {
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			r, n := utf8.DecodeRuneInString(raw[i:])
			if r == utf8.RuneError && n <= 1 {
				return "", i
			}
			b.WriteString(raw[i : i+n])
			i += n
			continue
		}
		r, n := unescapeOne(raw[i:])
		if n == 0 {
			return "", i
		}
		b.WriteRune(r)
		i += n
	}
	return b.String(), -1
}

// unescapeOne decodes the escape at the start of raw; n is 0 if it is none.
func unescapeOne(raw string) (r rune, n int) {
	if len(raw) < 2 {
		return 0, 0
	}
	if i := strings.IndexByte(`"\/bfnrt`, raw[1]); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), 2
	}
	r, ok := hex4(raw)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	low, ok := hex4(raw[6:])
	if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

// hex4 reads \uXXXX.
func hex4(raw string) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(raw[2:6], 16, 16)
	return rune(n), err == nil
}

func (c *canonizer) number() {
	end, ok := scanNumber(c.text, c.pos)
	if !ok {
		c.fail("not a number")
	}
	if isShortInt(c.text[c.pos:end]) {
		c.out = append(c.out, c.text[c.pos:end]...)
		c.pos = end
		return
	}
	text := string(c.text[c.pos:end])
	n, ok := numberOf(text)
	if !ok {
		c.fail("the number %s is out of range", shorten(text))
	}
	c.pos = end
	if i, whole := n.(int64); whole {
		c.out = strconv.AppendInt(c.out, i, 10)
		return
	}
	c.out = appendDouble(c.out, n.(float64))
}

// isShortInt reports whether a number is an int that surely fits and is canonical as it stands.
func isShortInt(text []byte) bool {
	if len(text) > 18 || text[0] == '-' && text[1] == '0' {
		return false
	}
	for _, b := range text {
		if b == '.' || b == 'e' || b == 'E' {
			return false
		}
	}
	return true
}

// scanNumber finds the end of the JSON number at pos.
func scanNumber[T string | []byte](text T, pos int) (end int, ok bool) {
	digits := func() bool {
		from := pos
		for pos < len(text) && text[pos] >= '0' && text[pos] <= '9' {
			pos++
		}
		return pos > from
	}
	at := func(chars string) bool { return pos < len(text) && strings.IndexByte(chars, text[pos]) >= 0 }
	if at("-") {
		pos++
	}
	if at("0") {
		pos++
	} else if !digits() {
		return pos, false
	}
	if at(".") {
		pos++
		if !digits() {
			return pos, false
		}
	}
	if at("eE") {
		pos++
		if at("+-") {
			pos++
		}
		if !digits() {
			return pos, false
		}
	}
	return pos, true
}

// numberOf is the value of a JSON number: an int64 or a float64. ok is false if it is too large for a double.
func numberOf(text string) (n any, ok bool) {
	if !strings.ContainsAny(text, ".eE") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, true
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil
}
