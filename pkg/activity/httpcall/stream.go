package httpcall

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/wovyr/wovyr/pkg/activity"
)

// chunk is how many bytes of a stream are turned into JSON at a time; it is a multiple of 3.
const chunk = 24 << 10

// oneValue passes JSON on, and fails when it is not one value. Text that closes its value and goes on would otherwise become members of
// the object around it. Whether it is JSON at all is found out by whoever reads the whole: here it need only be certain that, if the
// whole is JSON, this is one value of it.
type oneValue struct {
	from    io.Reader
	depth   int
	quoted  bool // inside a string
	escaped bool // behind a backslash in it
	begun   bool // something came that is no white space
	ended   bool // and is complete
}

// Read implements io.Reader.
func (v *oneValue) Read(p []byte) (int, error) {
	n, err := v.from.Read(p)
	for _, c := range p[:n] {
		if !v.takes(c) {
			return 0, activity.NewError(activity.CodeOutput, "the answer is more than one JSON value, or none; read it as it is by response: text")
		}
	}
	return n, err
}

func (v *oneValue) takes(c byte) bool {
	switch {
	case v.escaped:
		v.escaped = false
	case v.quoted && c == '\\':
		v.escaped = true
	case v.quoted && c == '"':
		v.quoted, v.ended = false, v.depth == 0
	case v.quoted:
	case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		v.ended = v.ended || v.begun && v.depth == 0
	case v.ended:
		return false
	case c == '"':
		if v.depth == 0 && v.begun {
			return false
		}
		v.begun, v.quoted = true, true
	case c == '{' || c == '[':
		if v.depth == 0 && v.begun {
			return false
		}
		v.begun = true
		v.depth++
	case c == '}' || c == ']':
		if v.depth--; v.depth < 0 {
			return false
		}
		v.ended = v.depth == 0
	default:
		v.begun = true
	}
	return true
}

// filter turns what it reads into a JSON string, piece by piece.
type filter struct {
	from io.Reader
	// turn appends the JSON of a piece to out and returns how much of it is left for the next one.
	turn func(out *bytes.Buffer, piece []byte, last bool) (left int)
	in   []byte
	kept int // bytes at the beginning of in that are left
	out  bytes.Buffer
	done bool
}

func newFilter(from io.Reader, turn func(out *bytes.Buffer, piece []byte, last bool) int) *filter {
	f := &filter{from: from, turn: turn, in: make([]byte, chunk)}
	f.out.WriteByte('"')
	return f
}

// Read implements io.Reader.
func (f *filter) Read(p []byte) (int, error) {
	for f.out.Len() == 0 {
		if f.done {
			return 0, io.EOF
		}
		n, err := io.ReadFull(f.from, f.in[f.kept:])
		n += f.kept
		last := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !last {
			return 0, err
		}
		left := f.turn(&f.out, f.in[:n], last)
		f.kept = copy(f.in, f.in[n-left:n])
		if last {
			f.out.WriteByte('"')
			f.done = true
		}
	}
	return f.out.Read(p)
}

// newBase64 reads bytes as a JSON string in base64.
func newBase64(from io.Reader) io.Reader {
	return newFilter(from, func(out *bytes.Buffer, piece []byte, last bool) int {
		left := 0
		if !last {
			left = len(piece) % 3
		}
		out.Write(base64.StdEncoding.AppendEncode(out.AvailableBuffer(), piece[:len(piece)-left]))
		return left
	})
}

// newQuote reads UTF-8 as a JSON string; bytes that are none become U+FFFD.
func newQuote(from io.Reader) io.Reader {
	return newFilter(from, func(out *bytes.Buffer, piece []byte, last bool) int {
		left := 0
		if !last {
			left = unfinished(piece)
		}
		text, _ := json.Marshal(string(piece[:len(piece)-left])) // a string always can be
		out.Write(text[1 : len(text)-1])
		return left
	})
}

// unfinished is how many bytes at the end are the beginning of a rune.
func unfinished(piece []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(piece); n++ {
		if tail := piece[len(piece)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
