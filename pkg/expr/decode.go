package expr

import (
	"sort"
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// decode makes a run-time value from JSON. Lists and objects are decoded one level at a time, as they
// are read. Values are canonical by contract; any valid JSON is read all the same, and text that is none panics
// with invalid.
func decode(src string, holes *holeTree) any {
	if holes != nil && holes.hole != nil {
		return newHole(holes.hole)
	}
	r := reader{src: src}
	r.space()
	v := r.value(holes)
	r.space()
	if r.pos != len(src) {
		panic(invalid{r.pos})
	}
	return v
}

// settled decodes all of a value, so that nothing of it changes any more and goroutines can share it.
func settled(v any) any {
	switch v := v.(type) {
	case *list:
		for _, item := range v.all() {
			settled(item)
		}
	case *object:
		for i := range v.keys {
			settled(v.at(i))
		}
		v.spans, v.holes = nil, nil
	}
	return v
}

// decodePayload makes a run-time value from a payload; absent is null.
func decodePayload(p workflow.Payload) any {
	if len(p.JSON) == 0 && len(p.Holes) == 0 {
		return nil
	}
	src := string(p.JSON)
	if src == "" {
		src = "null"
	}
	return decode(src, newHoleTree(p.Holes))
}

type reader struct {
	src string
	pos int
}

func (r *reader) peek() byte {
	if r.pos < len(r.src) {
		return r.src[r.pos]
	}
	panic(invalid{r.pos})
}

func (r *reader) space() {
	for r.pos < len(r.src) {
		switch r.src[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

func (r *reader) expect(b byte) {
	if r.peek() != b {
		panic(invalid{r.pos})
	}
	r.pos++
}

func (r *reader) value(holes *holeTree) any {
	switch r.peek() {
	case '{':
		return r.object(holes)
	case '[':
		return r.list(holes)
	case '"':
		return r.string()
	case 't':
		return r.word("true", true)
	case 'f':
		return r.word("false", false)
	case 'n':
		return r.word("null", nil)
	}
	end, ok := scanNumber(r.src, r.pos)
	if !ok {
		panic(invalid{r.pos})
	}
	n, ok := numberOf(r.src[r.pos:end])
	if !ok {
		panic(invalid{r.pos})
	}
	r.pos = end
	return n
}

func (r *reader) word(word string, v any) any {
	if len(r.src)-r.pos < len(word) || r.src[r.pos:r.pos+len(word)] != word {
		panic(invalid{r.pos})
	}
	r.pos += len(word)
	return v
}

func (r *reader) string() string {
	from := r.pos
	if plain := r.skipString(); plain {
		return r.src[from+1 : r.pos-1]
	}
	s, bad := unescapeJSON(r.src[from+1 : r.pos-1])
	if bad >= 0 {
		panic(invalid{from + bad})
	}
	return s
}

func (r *reader) list(holes *holeTree) any {
	start := r.pos
	r.pos++
	l := &list{src: r.src, holes: holes}
	for r.space(); r.peek() != ']'; r.next(']') {
		from := r.pos
		l.depth = max(l.depth, r.skip())
		l.spans = append(l.spans, span{uint32(from), uint32(r.pos)})
	}
	r.pos++
	l.raw = r.src[start:r.pos]
	l.depth++
	l.vals = make([]any, len(l.spans))
	return l
}

func (r *reader) object(holes *holeTree) any {
	start := r.pos
	r.pos++
	o := &object{src: r.src, holes: holes, keys: make([]string, 0, 8), spans: make([]span, 0, 8)}
	for r.space(); r.peek() != '}'; r.next('}') {
		if r.peek() != '"' {
			panic(invalid{r.pos})
		}
		o.keys = append(o.keys, r.string())
		r.space()
		r.expect(':')
		r.space()
		from := r.pos
		o.depth = max(o.depth, r.skip())
		o.spans = append(o.spans, span{uint32(from), uint32(r.pos)})
	}
	r.pos++
	o.raw = r.src[start:r.pos]
	o.depth++
	o.vals = make([]any, len(o.keys))
	if !sort.StringsAreSorted(o.keys) {
		o.sort()
	}
	return o
}

// sort puts the members of an object that was not canonical into order.
func (o *object) sort() {
	for i, s := range o.spans {
		o.vals[i] = s
	}
	sort.Stable(&byKey{o.keys, o.vals})
	for i, v := range o.vals {
		o.spans[i], o.vals[i] = v.(span), nil
	}
	o.raw = ""
}

// next reads what stands between two items, up to the next item or the end.
func (r *reader) next(end byte) {
	r.space()
	if r.peek() == end {
		return
	}
	r.expect(',')
	r.space()
	if r.peek() == end {
		panic(invalid{r.pos})
	}
}

// skip passes over one value without decoding it, and says how deep it nests.
func (r *reader) skip() (depth int) {
	switch r.peek() {
	case '"':
		r.skipString()
	case '{', '[':
		return r.skipNested()
	default:
		r.skipScalar()
	}
	return 0
}

// skipString passes over a string; plain means that it holds no escapes.
func (r *reader) skipString() (plain bool) {
	from := r.pos + 1
	end := strings.IndexByte(r.src[from:], '"')
	if end < 0 {
		panic(invalid{r.pos})
	}
	if strings.IndexByte(r.src[from:from+end], '\\') < 0 {
		r.pos = from + end + 1
		return true
	}
	for i := from; i < len(r.src); i++ {
		switch r.src[i] {
		case '"':
			r.pos = i + 1
			return false
		case '\\':
			i++
		}
	}
	panic(invalid{r.pos})
}

func (r *reader) skipNested() (deepest int) {
	for depth := 0; ; {
		switch r.peek() {
		case '"':
			r.skipString()
			continue
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
		r.pos++
		if depth == 0 {
			return deepest
		}
	}
}

func (r *reader) skipScalar() {
	from := r.pos
	for r.pos < len(r.src) {
		switch r.src[r.pos] {
		case ',', ']', '}', ' ', '\t', '\n', '\r', ':':
			if r.pos == from {
				panic(invalid{from})
			}
			return
		}
		r.pos++
	}
}
