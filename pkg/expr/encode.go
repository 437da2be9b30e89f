package expr

import (
	"bytes"
	"encoding/base64"
	"math"
	"sort"
	"strconv"
	"time"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// encoder writes run-time values as canonical JSON.
type encoder struct {
	buf   []byte
	holes []workflow.Hole
	path  []string // to the value that is written
	limit int      // of buf
}

// payload is the result.
func (e *encoder) payload() workflow.Payload {
	sort.SliceStable(e.holes, func(i, j int) bool { return e.holes[i].At < e.holes[j].At })
	return workflow.Payload{JSON: e.buf, Holes: e.holes}
}

func (e *encoder) value(v any, depth int) *failure {
	switch v := v.(type) {
	case nil:
		e.buf = append(e.buf, "null"...)
	case bool:
		e.buf = strconv.AppendBool(e.buf, v)
	case int64:
		e.buf = strconv.AppendInt(e.buf, v, 10)
	case uint64:
		return e.uint(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return failf(CodeRange, "the result is %v, which JSON cannot hold", v).
				or("divide by something else, or test with math.isFinite(x)")
		}
		e.buf = appendDouble(e.buf, v)
	case string:
		e.buf = appendString(e.buf, v)
	case octets:
		e.buf = append(e.buf, '"')
		e.buf = base64.StdEncoding.AppendEncode(e.buf, []byte(v))
		e.buf = append(e.buf, '"')
	case time.Time:
		e.buf = appendString(e.buf, timeText(v))
	case time.Duration:
		e.buf = appendString(e.buf, FormatDuration(v))
	case *list:
		return e.list(v, depth+1)
	case *optional:
		return e.value(v.val, depth)
	case *hole:
		return e.hole(v, depth)
	case typeName:
		return failf(CodeType, "a type cannot be a result").or("write string(type(x))")
	default:
		return e.object(v, depth+1)
	}
	return e.check(depth)
}

// uint writes a uint as the int it is for every other reader.
func (e *encoder) uint(v uint64) *failure {
	if v > math.MaxInt64 {
		return failf(CodeRange, "the uint %d is above the largest int", v).or("write double(x) or string(x)")
	}
	e.buf = strconv.AppendUint(e.buf, v, 10)
	return e.check(0)
}

func (e *encoder) check(depth int) *failure {
	if len(e.buf) > e.limit {
		return e.tooLarge()
	}
	if depth > MaxDepth {
		return failf(CodeRange, "the result is nested deeper than %d", MaxDepth)
	}
	return nil
}

func (e *encoder) tooLarge() *failure {
	return failf(CodeTooLarge, "the result is larger than %d bytes", e.limit).or("take a part of it")
}

func (e *encoder) hole(h *hole, depth int) *failure {
	e.holes = append(e.holes, h.place(pointerOf(e.path)))
	e.buf = append(e.buf, "null"...)
	return e.check(depth)
}

// verbatim writes a value that was read and never changed.
func (e *encoder) verbatim(raw string, holes *holeTree, depth int) *failure {
	if len(raw) > e.limit {
		return e.tooLarge()
	}
	e.buf = append(e.buf, raw...)
	if holes != nil {
		e.holes = holes.appendTo(e.holes, pointerOf(e.path))
	}
	return e.check(depth)
}

func (e *encoder) list(l *list, depth int) *failure {
	if l.raw != "" {
		return e.verbatim(l.raw, l.holes, depth-1+l.depth)
	}
	e.buf = append(e.buf, '[')
	for i := range l.size() {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		e.path = append(e.path, strconv.Itoa(i))
		if bad := e.value(l.at(i), depth); bad != nil {
			return bad
		}
		e.path = e.path[:len(e.path)-1]
	}
	e.buf = append(e.buf, ']')
	return e.check(depth)
}

func (e *encoder) object(v any, depth int) *failure {
	o, ok := mapOf(v)
	if !ok {
		return failf(CodeType, "this name cannot be used as a whole").or("name the field you need")
	}
	if o.raw != "" {
		return e.verbatim(o.raw, o.holes, depth-1+o.depth)
	}
	o, bad := withTextKeys(o)
	if bad != nil {
		return bad
	}
	e.buf = append(e.buf, '{')
	for i, key := range o.keys {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		e.buf = append(appendString(e.buf, key), ':')
		e.path = append(e.path, key)
		if bad := e.value(o.at(i), depth); bad != nil {
			return bad
		}
		e.path = e.path[:len(e.path)-1]
	}
	e.buf = append(e.buf, '}')
	return e.check(depth)
}

// withTextKeys writes keys that are no strings as JSON must.
func withTextKeys(o *object) (*object, *failure) {
	if n := o.size(); n == 0 || !isSpecialKey(o.keys[n-1]) {
		return o, nil
	}
	keys, vals := make([]string, o.size()), make([]any, o.size())
	for i, key := range o.keys {
		keys[i], vals[i] = keyText(key), o.at(i)
	}
	text, twice, ok := objectOf(keys, vals)
	if !ok {
		return nil, failf(CodeType, "two keys of the result are %q in JSON", twice).or("use strings as keys")
	}
	return text, nil
}

// CheckSize fails with payload.too_large when the JSON of p has more than limit bytes.
func CheckSize(p workflow.Payload, limit int) error {
	if len(p.JSON) <= limit {
		return nil
	}
	return workflow.Errorf(CodeTooLarge, workflow.CategoryWorkflow, "the value has %d bytes; %d are allowed here", len(p.JSON), limit)
}

// appendDouble writes a finite double so that it reads back as the same double, and as no int.
func appendDouble(out []byte, x float64) []byte {
	from := len(out)
	if a := math.Abs(x); a != 0 && (a < 1e-6 || a >= 1e21) {
		out = strconv.AppendFloat(out, x, 'e', -1, 64)
		// e-09 is written e-9, as encoding/json and JavaScript do.
		if n := len(out); n >= 4 && out[n-4] == 'e' && out[n-3] == '-' && out[n-2] == '0' {
			out[n-2] = out[n-1]
			out = out[:n-1]
		}
		return out
	}
	out = strconv.AppendFloat(out, x, 'f', -1, 64)
	if bytes.IndexByte(out[from:], '.') < 0 {
		out = append(out, '.', '0')
	}
	return out
}

// appendString writes s as a JSON string with the fewest escapes.
func appendString(out []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	out = append(out, '"')
	done := 0
	for i := 0; i < len(s); i++ {
		b := s[i]
		if b >= 0x20 && b != '"' && b != '\\' {
			continue
		}
		out = append(out, s[done:i]...)
		done = i + 1
		switch b {
		case '"', '\\':
			out = append(out, '\\', b)
		case '\b':
			out = append(out, '\\', 'b')
		case '\f':
			out = append(out, '\\', 'f')
		case '\n':
			out = append(out, '\\', 'n')
		case '\r':
			out = append(out, '\\', 'r')
		case '\t':
			out = append(out, '\\', 't')
		default:
			out = append(out, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&15])
		}
	}
	out = append(out, s[done:]...)
	return append(out, '"')
}
