package expr

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// maxSchemaParts bounds the work on one JSON Schema; what lies beyond is Dyn.
const maxSchemaParts = 10_000

// SchemaType makes a type of a JSON Schema: of type, properties, required, additionalProperties, items, enum,
// const, anyOf, oneOf, local $ref and nullable. What it does not understand is Dyn. Where properties are listed and
// additionalProperties is not given, reading another property is an issue: that it might be there by accident helps nobody.
func SchemaType(schema workflow.Value) *Type {
	if len(schema) == 0 {
		return Dyn
	}
	t := Dyn
	func() {
		var err error
		defer recoverInvalid(&err)
		s := schemaReader{root: decode(string(schema), nil), refs: map[string]*Type{}}
		t = s.read(s.root)
	}()
	return t
}

type schemaReader struct {
	root  any
	parts int
	refs  map[string]*Type // by reference; nil while one is being read
}

func (s *schemaReader) read(schema any) *Type {
	o, ok := schema.(*object)
	if s.parts++; !ok || s.parts > maxSchemaParts {
		return Dyn
	}
	if ref, ok := get[string](o, "$ref"); ok {
		return s.reference(ref)
	}
	t := s.base(o)
	if nullable, _ := get[bool](o, "nullable"); nullable {
		t = t.OrNull()
	}
	return t
}

// get reads a field that should be of one kind.
func get[T any](o *object, key string) (T, bool) {
	v, _ := o.get(key)
	t, ok := v.(T)
	return t, ok
}

func (s *schemaReader) reference(ref string) *Type {
	if t, seen := s.refs[ref]; seen {
		if t == nil {
			return Dyn // a type within itself
		}
		return t
	}
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || (pointer != "" && pointer[0] != '/') {
		return Dyn
	}
	target, ok := follow(s.root, splitPointer(pointer))
	if !ok {
		return Dyn
	}
	s.refs[ref] = nil
	t := s.read(target)
	s.refs[ref] = t
	return t
}

func (s *schemaReader) base(o *object) *Type {
	if v, ok := o.get("const"); ok {
		return valueType(v)
	}
	if values, ok := get[*list](o, "enum"); ok && values.size() > 0 {
		return joinAll(values, valueType)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if options, ok := get[*list](o, key); ok && options.size() > 0 {
			return joinAll(options, s.read)
		}
	}
	if v, ok := o.get("type"); ok {
		if names, ok := v.(*list); ok && names.size() > 0 {
			return joinAll(names, func(name any) *Type { return s.named(name, o) })
		}
		return s.named(v, o)
	}
	if o.find("properties") >= 0 {
		return s.named("object", o)
	}
	if o.find("items") >= 0 {
		return s.named("array", o)
	}
	return Dyn
}

func joinAll(l *list, typ func(any) *Type) *Type {
	t := typ(l.at(0))
	for i := 1; i < l.size() && t.kind != kindDyn; i++ {
		t = join(t, typ(l.at(i)))
	}
	return t
}

// valueType is the type of a constant.
func valueType(v any) *Type {
	switch v := v.(type) {
	case *list:
		if v.size() == 0 {
			return ListOf(Dyn)
		}
		return ListOf(joinAll(v, valueType))
	case *object:
		t := &Type{kind: kindMap, elem: Dyn, open: oneOfUs}
		for i, key := range v.keys {
			t.fields = append(t.fields, field{key, valueType(v.at(i)), true})
		}
		return t
	}
	return scalarType(v)
}

func (s *schemaReader) named(name any, o *object) *Type {
	switch name {
	case "null":
		return Null
	case "boolean":
		return Bool
	case "integer":
		return Int
	case "number":
		return Number
	case "string":
		return String
	case "array":
		if items, ok := o.get("items"); ok {
			return ListOf(s.read(items))
		}
		return ListOf(Dyn)
	case "object":
		return s.object(o)
	}
	return Dyn
}

func (s *schemaReader) object(o *object) *Type {
	t := &Type{kind: kindMap, elem: Dyn}
	required := map[string]bool{}
	if names, ok := get[*list](o, "required"); ok {
		for _, v := range names.all() {
			if name, ok := v.(string); ok {
				required[name] = true
			}
		}
	}
	props, declared := get[*object](o, "properties")
	if declared {
		for i, name := range props.keys {
			t.fields = append(t.fields, field{name, s.read(props.at(i)), required[name]})
			delete(required, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(required)) {
		t.fields = append(t.fields, field{name, Dyn, true})
	}
	sort.Slice(t.fields, func(i, j int) bool { return t.fields[i].name < t.fields[j].name })
	t.elem, t.open = s.others(o, declared && props.size() > 0, len(t.fields) > 0)
	return t
}

// others says what fields without declaration are.
func (s *schemaReader) others(o *object, declared, known bool) (*Type, openness) {
	more, given := o.get("additionalProperties")
	switch {
	case o.find("patternProperties") >= 0:
		return Dyn, anyField
	case given && more == false:
		return Dyn, oneOfUs
	case given:
		return s.read(more), anyField
	case declared:
		return Dyn, oneOfUs
	case known:
		return Dyn, guessable
	}
	return Dyn, anyField
}
