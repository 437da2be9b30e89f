package expr

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// codecFunctions turn values into texts and back.
var codecFunctions = []*function{
	def("json.encode", "dyn -> string", callJSONEncode),
	def("json.decode", "string -> dyn; bytes -> dyn", callJSONDecode),
	def("base64.encode", "string -> string; bytes -> string", callBase64Encode),
	def("base64.decode", "string -> bytes", callBase64Decode),
	def("url.encode", "string -> string", callURLEncode),
	def("sha256", "string -> string; bytes -> string", callSHA256),
	def("uuid", "string -> string", callUUID, func(fn *function) { fn.reads = []*path{{"execution", []string{"id"}}} }),
}

func callJSONEncode(f *frame, args []any) (any, *failure) {
	if _, ok := args[0].(*hole); ok {
		return nil, wrong
	}
	s, bad := encodeJSON(f, args[0])
	if bad != nil {
		return nil, bad
	}
	return s, nil
}

// encodeJSON is the canonical JSON of a value without holes.
func encodeJSON(f *frame, v any) (string, *failure) {
	e := encoder{limit: min(MaxResult, max(f.memory/2, 0))}
	if bad := e.value(v, 0); bad != nil {
		if bad.code == CodeTooLarge && e.limit < MaxResult {
			return "", f.bytes(maxBytes + 1)
		}
		return "", bad
	}
	if len(e.holes) > 0 {
		return "", holeFailure(e.holes[0])
	}
	if bad := f.work(len(e.buf) / 2); bad != nil {
		return "", bad
	}
	return string(e.buf), f.bytes(3 * len(e.buf))
}

func holeFailure(h workflow.Hole) *failure {
	return unreadable(&hole{ref: h.Ref, deferred: h.Deferred})
}

func callJSONDecode(f *frame, args []any) (any, *failure) {
	src, ok := args[0].(string)
	if b, isBytes := args[0].(octets); isBytes {
		src, ok = string(b), true
	}
	if !ok {
		return nil, wrong
	}
	// A decoded value takes several times its text: "[1,1,…".
	if bad := f.bytes(12 * len(src)); bad != nil {
		return nil, bad
	}
	if bad := f.work(2 * len(src)); bad != nil {
		return nil, bad
	}
	v, err := Canonical([]byte(src))
	if err != nil {
		return nil, failf(CodeRange, "json.decode: %s", err.(*workflow.Error).Message)
	}
	return decode(string(v), nil), nil
}

func callBase64Encode(f *frame, args []any) (any, *failure) {
	var s string
	switch v := args[0].(type) {
	case string:
		s = v
	case octets:
		s = string(v)
	default:
		return nil, wrong
	}
	out, bad := encodeBase64(f, s)
	if bad != nil {
		return nil, bad
	}
	return out, nil
}

func encodeBase64(f *frame, s string) (string, *failure) {
	if bad := f.bytes(base64.StdEncoding.EncodedLen(len(s))); bad != nil {
		return "", bad
	}
	return base64.StdEncoding.EncodeToString([]byte(s)), nil
}

// callBase64Decode takes padding or its absence.
func callBase64Decode(f *frame, args []any) (any, *failure) {
	s, ok := args[0].(string)
	if !ok {
		return nil, wrong
	}
	if bad := f.bytes(len(s)); bad != nil {
		return nil, bad
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		b, err = base64.RawStdEncoding.DecodeString(s)
	}
	if err != nil {
		return nil, failf(CodeRange, "not base64")
	}
	return octets(b), nil
}

// callURLEncode escapes all but the unreserved characters of RFC 3986, so that a value stays one part of a path or query.
func callURLEncode(f *frame, args []any) (any, *failure) {
	s, ok := args[0].(string)
	if !ok {
		return nil, wrong
	}
	if bad := f.bytes(3 * len(s)); bad != nil {
		return nil, bad
	}
	const hex = "0123456789ABCDEF"
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '.', c == '_', c == '~':
			out = append(out, c)
		default:
			out = append(out, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(out), nil
}

func callSHA256(f *frame, args []any) (any, *failure) {
	var s string
	switch v := args[0].(type) {
	case string:
		s = v
	case octets:
		s = string(v)
	default:
		return nil, wrong
	}
	if bad := f.work(20 + len(s)/4); bad != nil {
		return nil, bad
	}
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:]), nil
}

// uuidSpace is the name space (RFC 9562 §5.5) of the UUIDs of executions. It never changes.
var uuidSpace = [16]byte{0x6f, 0x1b, 0x3d, 0x52, 0x0c, 0x5e, 0x5b, 0x8a, 0x9d, 0x47, 0x2e, 0x74, 0xa1, 0x90, 0xc6, 0x3b}

// callUUID is the version 5 UUID of the execution's ID and a name: unique and the same in every replay.
func callUUID(f *frame, args []any) (any, *failure) {
	name, ok := args[0].(string)
	if !ok {
		return nil, wrong
	}
	execution, found := f.act.resolve("execution")
	if !found {
		return nil, noName("execution").or("uuid(name) can be used only inside of an execution")
	}
	v, _, bad := memberOf(execution, "id")
	if bad != nil {
		return nil, bad
	}
	id, ok := v.(string)
	if !ok {
		return nil, failf(CodeMissing, "execution.id is not a text")
	}
	if bad := f.work(100 + len(name)/8); bad != nil {
		return nil, bad
	}
	h := sha1.New()
	h.Write(uuidSpace[:])
	h.Write([]byte(id))
	h.Write([]byte{0})
	h.Write([]byte(name))
	u := h.Sum(nil)[:16]
	u[6] = u[6]&0x0f | 0x50
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]), nil
}
