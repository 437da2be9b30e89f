package expr

import (
	"maps"
	"slices"
	"sort"
	"strings"
)

// Type is a static type, for the check only. Types are immutable. Where a type is not known it is Dyn, which
// goes with everything.
type Type struct {
	kind   typeKind
	elem   *Type   // of a list or optional; of a map: of values whose key is no field
	fields []field // of a map, sorted by name; of a list: of the map that may stand in its place
	open   openness
	null   bool // or null
}

type typeKind byte

const (
	kindDyn typeKind = iota
	kindNull
	kindBool
	kindInt
	kindUint
	kindDouble
	kindNumber // int or double
	kindString
	kindBytes
	kindTimestamp
	kindDuration
	kindTypeName
	kindList
	kindMap
	kindOptional
	kindVariable // in signatures; elem is nil, fields[0].name its letter
)

// openness says what a field that is not declared means.
type openness byte

const (
	anyField  openness = iota // fields need no declaration
	oneOfUs                   // fields are declared: another name is a mistake
	guessable                 // some fields are known by name: a name close to one of them is probably a mistake
)

type field struct {
	name     string
	typ      *Type
	required bool
}

// The types without parts. Number is int or double.
var (
	Dyn       = &Type{kind: kindDyn}
	Null      = &Type{kind: kindNull}
	Bool      = &Type{kind: kindBool}
	Int       = &Type{kind: kindInt}
	Double    = &Type{kind: kindDouble}
	Number    = &Type{kind: kindNumber}
	String    = &Type{kind: kindString}
	Bytes     = &Type{kind: kindBytes}
	Timestamp = &Type{kind: kindTimestamp}
	Duration  = &Type{kind: kindDuration}

	uintType = &Type{kind: kindUint}
	typeType = &Type{kind: kindTypeName}
)

// ListOf is the type of lists of elem.
func ListOf(elem *Type) *Type { return &Type{kind: kindList, elem: elem} }

// Or is a list or, in its place, a map with these fields: both ways to read it are possible, and which of them works shows when it is read.
func (t *Type) Or(fields map[string]*Type) *Type {
	c := *t
	c.fields = Record(fields, true).fields
	return &c
}

// MapOf is the type of maps with any keys and values of type elem.
func MapOf(elem *Type) *Type { return &Type{kind: kindMap, elem: elem} }

// Record is the type of maps with these fields. A closed record has no others: reading one is an issue.
func Record(fields map[string]*Type, closed bool) *Type {
	t := &Type{kind: kindMap, elem: Dyn}
	if closed {
		t.open = oneOfUs
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		t.fields = append(t.fields, field{name: name, typ: fields[name], required: true})
	}
	return t
}

func optionalOf(elem *Type) *Type { return &Type{kind: kindOptional, elem: elem.withoutNull()} }

// OrNull is t or null.
func (t *Type) OrNull() *Type {
	if t.null || t.kind == kindNull || t.kind == kindDyn {
		return t
	}
	c := *t
	c.null = true
	return &c
}

func (t *Type) withoutNull() *Type {
	if !t.null {
		return t
	}
	c := *t
	c.null = false
	return &c
}

func (t *Type) is(kinds ...typeKind) bool {
	for _, k := range kinds {
		if t.kind == k {
			return true
		}
	}
	return false
}

func (t *Type) isNumber() bool { return t.is(kindInt, kindUint, kindDouble, kindNumber) }

// Field is the type of one field of a map, or Dyn.
func (t *Type) Field(name string) *Type {
	if f := t.field(name); f != nil {
		return f.typ
	}
	if t.kind == kindMap && t.open != oneOfUs {
		return t.elem
	}
	return Dyn
}

// Lacks reports that no value of the type has a field: one may read it, but it is never there.
func (t *Type) Lacks(name string) bool {
	return t.kind == kindMap && t.open == oneOfUs && t.field(name) == nil
}

// Item is the type of the items of a list, or Dyn.
func (t *Type) Item() *Type {
	if t.kind == kindList {
		return t.elem
	}
	return Dyn
}

func (t *Type) field(name string) *field {
	i := sort.Search(len(t.fields), func(i int) bool { return t.fields[i].name >= name })
	if i < len(t.fields) && t.fields[i].name == name {
		return &t.fields[i]
	}
	return nil
}

func (t *Type) fieldNames() []string {
	names := make([]string, len(t.fields))
	for i, f := range t.fields {
		names[i] = f.name
	}
	return names
}

// values is the type of the values of a map, whatever the key.
func (t *Type) values() *Type {
	if t.open == oneOfUs && len(t.fields) > 0 {
		v := t.fields[0].typ
		for _, f := range t.fields[1:] {
			v = join(v, f.typ)
		}
		return v
	}
	v := t.elem
	for _, f := range t.fields {
		v = join(v, f.typ)
	}
	return v
}

var kindTexts = [...]string{"dyn", "null", "bool", "int", "uint", "double", "number", "string", "bytes", "timestamp", "duration",
	"type", "list", "map", "optional", ""}

// String is the type as messages show it.
func (t *Type) String() string {
	s := kindTexts[t.kind]
	switch {
	case t.kind == kindVariable:
		s = t.fields[0].name
	case t.kind == kindMap && len(t.fields) > 0:
		s = "{" + strings.Join(t.fieldNames(), ", ") + "}"
		if t.open != oneOfUs {
			s = s[:len(s)-1] + ", …}"
		}
	case t.elem != nil && t.elem.kind != kindDyn:
		s += "<" + t.elem.String() + ">"
	}
	if t.null {
		s += " or null"
	}
	return s
}

// maxJoin bounds the work of one join: types share parts, and without a bound a small expression could make
// a join of two of them go on for ever. What lies beyond is Dyn.
const maxJoin = 500

// join is the narrowest type that holds both.
func join(a, b *Type) *Type {
	j := joiner{left: maxJoin}
	return j.join(a, b)
}

type joiner struct{ left int }

func (j *joiner) join(a, b *Type) *Type {
	j.left--
	switch {
	case a == b:
		return a
	case a.kind == kindDyn || b.kind == kindDyn || j.left < 0:
		return Dyn
	case a.kind == kindNull:
		return b.OrNull()
	case b.kind == kindNull:
		return a.OrNull()
	case a.null || b.null:
		return j.join(a.withoutNull(), b.withoutNull()).OrNull()
	case a.isNumber() && b.isNumber():
		if a.kind == b.kind {
			return a
		}
		return Number
	case a.kind != b.kind:
		return Dyn
	case a.kind == kindList:
		t := ListOf(j.join(a.elem, b.elem))
		t.fields = slices.Concat(a.fields, b.fields)[:max(len(a.fields), len(b.fields))] // of one, or the same of both
		return t
	case a.kind == kindOptional:
		return optionalOf(j.join(a.elem, b.elem))
	case a.kind == kindMap:
		return j.maps(a, b)
	}
	return a
}

// maps keeps all fields of both; those that one side lacks are not required.
func (j *joiner) maps(a, b *Type) *Type {
	t := &Type{kind: kindMap, elem: j.join(a.elem, b.elem), open: oneOfUs}
	if a.open != oneOfUs || b.open != oneOfUs {
		t.open = anyField
	}
	for _, f := range a.fields {
		g := b.field(f.name)
		if g == nil {
			t.fields = append(t.fields, field{f.name, f.typ, false})
			continue
		}
		t.fields = append(t.fields, field{f.name, j.join(f.typ, g.typ), f.required && g.required})
	}
	for _, g := range b.fields {
		if a.field(g.name) == nil {
			t.fields = append(t.fields, field{g.name, g.typ, false})
		}
	}
	sort.Slice(t.fields, func(i, k int) bool { return t.fields[i].name < t.fields[k].name })
	return t
}

// disjoint reports whether no value is of both types, so that a comparison can never hold.
func disjoint(a, b *Type) bool {
	if a.kind == kindOptional {
		a = a.elem.OrNull()
	}
	if b.kind == kindOptional {
		b = b.elem.OrNull()
	}
	switch {
	case a.kind == kindDyn || b.kind == kindDyn, a.null && b.null:
		return false
	case a.kind == kindNull || b.kind == kindNull:
		return false // a test for null is never wrong: what is absent reads as null
	case a.isNumber() && b.isNumber():
		return false
	case a.kind == kindList && b.kind == kindList:
		return disjoint(a.elem, b.elem)
	}
	return a.kind != b.kind
}
