package workflow

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Value is one JSON value in canonical form, or nil for "absent".
//
// Canonical means: object keys in byte order without duplicates, no white space, strings escaped
// minimally, an int without fraction or exponent, a double always with one of them (3.0 stays 3.0,
// so that int and double survive a round trip). Package expr makes canonical values; equal values
// have equal bytes.
type Value []byte

// Null is the JSON null. Null and absent are one for most of the language (DSL.md, Expressions).
var Null = Value("null")

// IsNull reports whether v is absent or null.
func (v Value) IsNull() bool { return len(v) == 0 || string(v) == "null" }

// MarshalJSON writes the value as it stands.
func (v Value) MarshalJSON() ([]byte, error) {
	if len(v) == 0 {
		return Null, nil
	}
	return v, nil
}

// UnmarshalJSON keeps a copy of the bytes, without what encoding/json adds to a value on its way out: white space, and
// escapes of <, >, & and two line separators. So a canonical value comes back as it was; one that is not
// canonical does not become so.
func (v *Value) UnmarshalJSON(b []byte) error {
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		return err
	}
	*v = unescapeHTML(out.Bytes())
	return nil
}

// htmlEscapes are what encoding/json escapes although JSON does not ask for it.
var htmlEscapes = map[string]string{
	`\u003c`: "<", `\u003e`: ">", `\u0026`: "&", `\u2028`: "\u2028", `\u2029`: "\u2029",
}

// unescapeHTML undoes htmlEscapes in a JSON text.
func unescapeHTML(text []byte) []byte {
	out := text[:0]
	for i := 0; i < len(text); {
		if text[i] != '\\' {
			out = append(out, text[i])
			i++
			continue
		}
		if plain, ok := htmlEscapes[string(text[i:min(i+6, len(text))])]; ok {
			out = append(out, plain...)
			i += 6
			continue
		}
		out = append(out, text[i:min(i+2, len(text))]...) // so that an escaped backslash starts no escape
		i += 2
	}
	return out
}

// String returns the JSON text.
func (v Value) String() string {
	if len(v) == 0 {
		return "null"
	}
	return string(v)
}

// Payload is a Value with holes: places whose content is not in the history, because it is large
// (a reference into the payload store, DESIGN.md point 10) or must not be there (a secret, a callback
// token). Holes stand beside the JSON and not inside it, so that no user data can forge one. At each
// hole's pointer the JSON holds null.
type Payload struct {
	JSON  Value  `json:"json" cbor:"1,keyasint,omitempty"`
	Holes []Hole `json:"holes,omitempty" cbor:"2,keyasint,omitempty"`
}

// Inline returns a Payload without holes.
func Inline(v Value) Payload { return Payload{JSON: v} }

// IsZero reports whether p holds nothing at all.
func (p Payload) IsZero() bool { return len(p.JSON) == 0 && len(p.Holes) == 0 }

// Hole says how to fill one place of a Payload. Exactly one of Ref and Deferred is set.
type Hole struct {
	// At is the RFC 6901 JSON pointer of the place; "" is the whole value.
	At string `json:"at" cbor:"1,keyasint,omitempty"`
	// Ref is a value kept in the payload store.
	Ref *Ref `json:"ref,omitempty" cbor:"2,keyasint,omitempty"`
	// Deferred is an expression that only the worker that runs the activity may evaluate.
	Deferred *Deferred `json:"deferred,omitempty" cbor:"3,keyasint,omitempty"`
}

// Ref names a value in the payload store: content-addressed, per tenant.
type Ref struct {
	// Hash is the hex SHA-256 of the stored bytes; empty for a value that is not stored, see Inline.
	Hash string `json:"hash" cbor:"1,keyasint,omitempty"`
	// Size is in bytes.
	Size int64 `json:"size" cbor:"2,keyasint,omitempty"`
	// Path selects a part of the stored value, outermost key first; empty is all of it.
	Path []string `json:"path,omitempty" cbor:"3,keyasint,omitempty"`
	// Known holds, as a JSON object keyed by JSON pointer, those parts of the value that the definition's expressions read
	// (Definition.Uses), so that decisions never load the payload.
	Known Value `json:"known,omitempty" cbor:"4,keyasint,omitempty"`
}

// Inline returns the value of a reference without a hash: an object all of whose members are known. Such a reference
// stands for a value that is small but must not be taken for what it describes: the manifest of a large foreach.
func (r *Ref) Inline() (Value, bool) {
	if r.Hash != "" || len(r.Path) > 0 {
		return nil, false
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(r.Known, &members); err != nil {
		return nil, false
	}
	out := []byte{'{'}
	for i, pointer := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendQuote(out, strings.TrimPrefix(pointer, "/"))
		out = append(append(out, ':'), members[pointer]...)
	}
	return append(out, '}'), true
}

// Deferred is an expression over names that exist only in an activity's worker: secrets, callback
// and task links. Env binds the other names it reads, captured when the input was decided.
type Deferred struct {
	// Expr is the source of the expression or interpolated string (with its ${…} braces).
	Expr string `json:"expr" cbor:"1,keyasint,omitempty"`
	// Env is a JSON object from root name to what the expression reads of it, or nil.
	Env Value `json:"env,omitempty" cbor:"2,keyasint,omitempty"`
}
