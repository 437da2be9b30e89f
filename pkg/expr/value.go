package expr

import (
	"encoding/binary"
	"math"
	"sort"
	"strings"
	"time"
)

// Run-time values. A value is one of
//
//	nil (null) · bool · int64 · uint64 · float64 · string · octets · time.Time · time.Duration
//	*list · *object · *optional · typeName
//	*hole (content that is not here)  ·  *lazy (a structured name such as `steps`)
//
// Values are immutable but for the caches of decoded JSON in *list and *object, which belong to one
// Activation and so to one goroutine.

// octets are bytes; a string type, so that a value cannot be changed.
type octets string

// typeName is what type(x) yields.
type typeName string

// optional is a value that may be absent.
type optional struct {
	has bool
	val any
}

var none = &optional{}

// some is the optional of a value. Null and absent are one, so that of null is empty; no optional holds null.
func some(v any) *optional {
	if v == nil {
		return none
	}
	return &optional{has: true, val: v}
}

// span is a part of a JSON text.
type span struct{ from, to uint32 }

// list is a list, decoded item by item as it is read.
type list struct {
	vals  []any
	spans []span // of items in src, or nil when vals is complete
	src   string
	holes *holeTree
	raw   string // the list's own canonical JSON, or "" if it was computed
	depth int    // of raw
}

func newList(vals []any) *list { return &list{vals: vals} }

func (l *list) size() int { return len(l.vals) }

func (l *list) at(i int) any {
	if v := l.vals[i]; v != nil || l.spans == nil {
		return v
	}
	v := decode(l.src[l.spans[i].from:l.spans[i].to], l.holes.index(i))
	l.vals[i] = v
	return v
}

// all returns every item; callers do not change the slice.
func (l *list) all() []any {
	if l.spans != nil {
		for i := range l.vals {
			l.at(i)
		}
		l.spans, l.holes = nil, nil
	}
	return l.vals
}

// slice shares memory with l.
func (l *list) slice(from, to int) *list {
	if from == 0 && to == len(l.vals) {
		return l
	}
	return newList(l.all()[from:to:to])
}

// object is a map with its keys in order, decoded member by member as it is read. Keys that are no
// strings stand in an encoded form, see keyOf.
type object struct {
	keys  []string
	vals  []any
	spans []span // of values in src, or nil when vals is complete
	src   string
	holes *holeTree
	raw   string // the object's own canonical JSON, or "" if it was computed
	depth int    // of raw
}

func (o *object) size() int { return len(o.keys) }

func (o *object) at(i int) any {
	if v := o.vals[i]; v != nil || o.spans == nil {
		return v
	}
	v := decode(o.src[o.spans[i].from:o.spans[i].to], o.holes.child(o.keys[i]))
	o.vals[i] = v
	return v
}

func (o *object) find(key string) int {
	if len(o.keys) <= 8 {
		for i, k := range o.keys {
			if k == key {
				return i
			}
		}
		return -1
	}
	if i := sort.SearchStrings(o.keys, key); i < len(o.keys) && o.keys[i] == key {
		return i
	}
	return -1
}

func (o *object) get(key string) (any, bool) {
	if i := o.find(key); i >= 0 {
		return o.at(i), true
	}
	return nil, false
}

// objectOf builds an object from entries in any order. It reports the first key that occurs twice.
func objectOf(keys []string, vals []any) (o *object, twice string, ok bool) {
	if !sort.StringsAreSorted(keys) {
		sort.Sort(&byKey{keys, vals})
	}
	for i := 1; i < len(keys); i++ {
		if keys[i] == keys[i-1] {
			return nil, keys[i], false
		}
	}
	return &object{keys: keys, vals: vals}, "", true
}

type byKey struct {
	keys []string
	vals []any
}

func (s *byKey) Len() int           { return len(s.keys) }
func (s *byKey) Less(i, j int) bool { return s.keys[i] < s.keys[j] }
func (s *byKey) Swap(i, j int) {
	s.keys[i], s.keys[j] = s.keys[j], s.keys[i]
	s.vals[i], s.vals[j] = s.vals[j], s.vals[i]
}

// Keys of maps: CEL allows strings, ints, uints and bools. All are held as Go strings whose byte
// order is the key order of the language: strings, then bools, then numbers. What is no string starts
// with byte 0xFF, which no UTF-8 text contains, then has a byte for the kind and eight for the content.
// Equal numbers are equal keys.
const (
	keyMark   = 0xFF
	keyBool   = 'b'
	keyInt    = 'i'
	keyUint   = 'u' // above the range of int
	keyLength = 10
)

// keyOf returns the map key for v. ok is false if v can be no key.
func keyOf(v any) (key string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		if v {
			return specialKey(keyBool, 1), true
		}
		return specialKey(keyBool, 0), true
	case int64:
		return specialKey(keyInt, uint64(v)^(1<<63)), true
	case uint64:
		if v <= math.MaxInt64 {
			return specialKey(keyInt, v^(1<<63)), true
		}
		return specialKey(keyUint, v), true
	case float64:
		if v == math.Trunc(v) && v >= -(1<<63) && v < 1<<63 {
			return specialKey(keyInt, uint64(int64(v))^(1<<63)), true
		}
	}
	return "", false
}

func specialKey(kind byte, n uint64) string {
	var b [keyLength]byte
	b[0], b[1] = keyMark, kind
	binary.BigEndian.PutUint64(b[2:], n)
	return string(b[:])
}

// isSpecialKey reports whether a key is no string.
func isSpecialKey(key string) bool { return len(key) == keyLength && key[0] == keyMark }

// keyValue is the value a key stands for.
func keyValue(key string) any {
	if !isSpecialKey(key) {
		return key
	}
	n := binary.BigEndian.Uint64([]byte(key[2:]))
	switch key[1] {
	case keyBool:
		return n == 1
	case keyInt:
		return int64(n ^ (1 << 63))
	default:
		return n
	}
}

// keyText is a key as JSON and messages show it.
func keyText(key string) string {
	switch v := keyValue(key).(type) {
	case string:
		return v
	default:
		s, _ := plainText(v)
		return s
	}
}

// lazy is a structured name whose fields are asked for one by one.
type lazy struct {
	get    func(field string) (Binding, bool)
	fields func() []string
	read   []lazyField
	whole  *object
}

type lazyField struct {
	name  string
	val   any
	found bool
}

func (z *lazy) field(name string) (any, bool) {
	for i := range z.read {
		if z.read[i].name == name {
			return z.read[i].val, z.read[i].found
		}
	}
	b, found := z.get(name)
	var v any
	if found {
		v = b.value()
	}
	z.read = append(z.read, lazyField{name, v, found})
	return v, found
}

// object reads all fields. ok is false if the name cannot be used as a whole.
func (z *lazy) object() (o *object, ok bool) {
	if z.whole == nil {
		if z.fields == nil {
			return nil, false
		}
		names := append([]string(nil), z.fields()...)
		sort.Strings(names)
		o := &object{}
		for _, name := range names {
			if v, found := z.field(name); found {
				o.keys, o.vals = append(o.keys, name), append(o.vals, v)
			}
		}
		z.whole = o
	}
	return z.whole, true
}

// mapOf returns v as an object if it is a map.
func mapOf(v any) (*object, bool) {
	switch v := v.(type) {
	case *object:
		return v, true
	case *lazy:
		return v.object()
	}
	return nil, false
}

// kindName names the type of a value for messages.
func kindName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "bool"
	case int64:
		return "int"
	case uint64:
		return "uint"
	case float64:
		return "double"
	case string:
		return "string"
	case octets:
		return "bytes"
	case time.Time:
		return "timestamp"
	case time.Duration:
		return "duration"
	case *list:
		return "list"
	case *object, *lazy:
		return "map"
	case *optional:
		return "optional"
	case typeName:
		return "type"
	case *hole:
		return "reference"
	}
	panic("expr: not a value")
}

// typeOf is what type(x) yields: CEL's names.
func typeOf(v any) (typeName, bool) {
	switch v.(type) {
	case nil:
		return "null_type", true
	case time.Time:
		return "google.protobuf.Timestamp", true
	case time.Duration:
		return "google.protobuf.Duration", true
	case *optional:
		return "optional_type", true
	case *hole:
		return "", false
	}
	return typeName(kindName(v)), true
}

// typeNames are the identifiers that name types.
var typeNames = map[string]bool{
	"null_type": true, "bool": true, "int": true, "uint": true, "double": true, "string": true, "bytes": true,
	"list": true, "map": true, "type": true, "optional_type": true,
	"google.protobuf.Timestamp": true, "google.protobuf.Duration": true,
}

func kindNames(vals []any) string {
	names := make([]string, len(vals))
	for i, v := range vals {
		names[i] = kindName(v)
	}
	return strings.Join(names, ", ")
}
