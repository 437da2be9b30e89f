package secret

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Value is a secret with its name.
type Value struct {
	Name, Text string
}

// Mask replaces the values of secrets by [secret:name]. It never changes and is safe for concurrent use; nil masks nothing.
type Mask struct {
	// byHead finds what may begin at a place by its first four bytes; heads says quickly that nothing can.
	byHead map[uint32][]pattern
	heads  [1 << 16 / 64]uint64
	// longest is the most bytes of a pattern.
	longest int
	// sorted are the texts of all patterns, to find what one may begin with.
	sorted []string
}

// pattern is one form in which a value may come back.
type pattern struct{ text, label string }

// NewMask makes the mask of values; those that are too short are left out. Of two forms that begin at the same place the longer one counts.
func NewMask(values ...Value) *Mask {
	m := &Mask{byHead: map[uint32][]pattern{}}
	seen := map[string]bool{}
	for _, v := range values {
		label := "[secret:" + plainName(v.Name) + "]"
		for _, text := range forms(v.Text) {
			if len(text) < MinLength || seen[text] {
				continue
			}
			seen[text] = true
			head := binary.LittleEndian.Uint32([]byte(text))
			m.byHead[head] = append(m.byHead[head], pattern{text: text, label: label})
			m.heads[uint16(head)/64] |= 1 << (uint16(head) % 64)
			m.longest = max(m.longest, len(text))
			m.sorted = append(m.sorted, text)
		}
	}
	slices.Sort(m.sorted)
	for _, list := range m.byHead { // order-free: each list by itself
		slices.SortFunc(list, func(a, b pattern) int {
			return cmp.Or(cmp.Compare(len(b.text), len(a.text)), cmp.Compare(a.text, b.text))
		})
	}
	return m
}

// plainName makes a name harmless in a JSON text.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, name)
}

// empty reports that there is nothing to mask.
func (m *Mask) empty() bool { return m == nil || m.longest == 0 }

// at returns the longest pattern that stands at the beginning of b.
func (m *Mask) at(b string) (pattern, bool) {
	if len(b) < MinLength {
		return pattern{}, false
	}
	if !m.mayBegin(b[0], b[1]) {
		return pattern{}, false
	}
	for _, p := range m.byHead[binary.LittleEndian.Uint32([]byte(b[:4]))] {
		if strings.HasPrefix(b, p.text) {
			return p, true
		}
	}
	return pattern{}, false
}

// unfinished reports that a pattern begins with all of tail, and has more.
func (m *Mask) unfinished(tail string) bool {
	if len(tail) > 1 && !m.mayBegin(tail[0], tail[1]) {
		return false
	}
	i, there := slices.BinarySearch(m.sorted, tail)
	if there {
		i++
	}
	return i < len(m.sorted) && strings.HasPrefix(m.sorted[i], tail)
}

// mayBegin reports whether a pattern begins with two bytes.
func (m *Mask) mayBegin(a, b byte) bool {
	head := uint16(a) | uint16(b)<<8
	return m.heads[head/64]&(1<<(head%64)) != 0
}

// find returns the first place of a secret in s, or ok false.
func (m *Mask) find(s string) (at int, p pattern, ok bool) {
	for i := 0; i+MinLength <= len(s); i++ {
		if p, ok := m.at(s[i:]); ok {
			return i, p, true
		}
	}
	return 0, pattern{}, false
}

// String masks a text. Where secrets overlap, all that any of them covers goes, and the name of the first stands for it.
func (m *Mask) String(s string) string {
	if m.empty() {
		return s
	}
	if _, _, ok := m.find(s); !ok {
		return s
	}
	out, _ := m.cover(nil, s, 0, len(s))
	return string(out)
}

// cover masks what begins in the first limit bytes of s, and appends it to out. A secret that was found before covers the first covered bytes,
// and its label was written. The result says how many bytes behind limit are covered likewise.
func (m *Mask) cover(out []byte, s string, covered, limit int) (masked []byte, behind int) {
	from, end := 0, covered // what is not written yet, and what is covered
	for i := 0; i < limit; i++ {
		p, ok := m.at(s[i:])
		if !ok {
			continue
		}
		if i >= end {
			out = append(append(out, s[max(from, end):i]...), p.label...)
			from = i
		}
		end = max(end, i+len(p.text))
	}
	if rest := max(from, end); rest < limit {
		out = append(out, s[rest:limit]...)
	}
	return out, max(0, end-limit)
}

// JSON masks the strings of a JSON text, however they are escaped, and its numbers: one that holds a secret becomes the text
// [secret:name]. What is not JSON is masked as a text.
func (m *Mask) JSON(text []byte) []byte {
	if m.empty() || len(text) == 0 {
		return text
	}
	if !json.Valid(text) {
		return []byte(m.String(string(text)))
	}
	var out []byte
	s := string(text)
	changed := false
	for i := 0; i < len(s); {
		end := tokenEnd(s, i)
		token := s[i:end]
		if masked := m.token(token); masked != token {
			changed = true
			token = masked
		}
		out = append(out, token...)
		i = end
	}
	if !changed {
		return text
	}
	return out
}

// token masks one token of a JSON text.
func (m *Mask) token(token string) string {
	if token[0] != '"' {
		if _, p, ok := m.find(token); ok {
			return `"` + p.label + `"`
		}
		return token
	}
	inner := token[1 : len(token)-1]
	if strings.IndexByte(inner, '\\') < 0 {
		return `"` + m.String(inner) + `"` // labels are harmless
	}
	var plain string
	if json.Unmarshal([]byte(token), &plain) != nil {
		return token
	}
	masked := m.String(plain)
	if masked == plain {
		return token
	}
	return quote(masked)
}

// quote writes a JSON string without escapes that JSON does not ask for.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always can be
	return strings.TrimSuffix(b.String(), "\n")
}

// tokenEnd returns where the token that begins at i ends: a string, a number or word, or one other byte.
func tokenEnd(s string, i int) int {
	switch c := s[i]; {
	case c == '"':
		for j := i + 1; ; j++ {
			switch s[j] {
			case '\\':
				j++
			case '"':
				return j + 1
			}
		}
	case bare(c):
		j := i + 1
		for j < len(s) && bare(s[j]) {
			j++
		}
		return j
	}
	return i + 1
}

// bare reports a byte of a number, or of true, false and null.
func bare(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E'
}

// Error masks an error; it returns e itself if there is nothing in it to mask.
func (m *Mask) Error(e *workflow.Error) *workflow.Error {
	if e == nil || m.empty() {
		return e
	}
	masked := *e
	masked.Code, masked.Category = m.String(e.Code), workflow.Category(m.String(string(e.Category)))
	masked.Message, masked.Details = m.String(e.Message), m.JSON(e.Details)
	if masked.Code == e.Code && masked.Category == e.Category && masked.Message == e.Message && string(masked.Details) == string(e.Details) {
		return e
	}
	return &masked
}
