package dsl

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
)

// Schema returns the JSON Schema (2020-12) of the language, for editors: it completes and explains words and finds what
// can be seen without reading expressions. It is derived from the table that Compile checks by. Compile refuses whatever it
// refuses, and more.
func Schema() []byte {
	d := &definitions{schemas: map[string]any{
		"expression": map[string]any{
			"type": "string", "pattern": `^\s*\$\{[\s\S]*\}\s*$`,
			"description": "One expression in ${ … }.",
		},
		"condition": map[string]any{
			"anyOf": []any{
				reference("expression"),
				map[string]any{"type": []string{"boolean", "number"}},
				map[string]any{"type": "string", "allOf": []any{map[string]any{"pattern": `\S`}, map[string]any{"pattern": noBraces}}},
			},
			"description": "An expression; the braces ${ … } may be left out.",
		},
	}}
	root := workflowShape.schema(d)
	document := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     "urn:wovyr:dsl:v1",
		"title":   "Wovyr workflow, version wovyr/v1",
		"$ref":    root["$ref"],
		"$defs":   d.schemas,
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(document); err != nil {
		panic("dsl: the schema always has a JSON form: " + err.Error())
	}
	return b.Bytes()
}

// noBraces matches a text that has ${ only in texts of its own, as bracesOutsideTexts says.
const (
	quotedTexts = `"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'`
	openText    = `"(?:[^"\\]|\\[\s\S])*\\?|'(?:[^'\\]|\\[\s\S])*\\?`
	noBraces    = `^(?:[^"'$]|\$+(?:[^{"'$]|` + quotedTexts + `)|` + quotedTexts + `)*\$*(?:` + openText + `)?$`
)

// definitions collects the named shapes of a schema.
type definitions struct{ schemas map[string]any }

func reference(name string) map[string]any { return map[string]any{"$ref": "#/$defs/" + name} }

// orExpression adds the expression to what a place accepts.
func orExpression(schema map[string]any) map[string]any {
	return map[string]any{"anyOf": []any{schema, reference("expression")}}
}

// slug is the name of a mapping's definition and the anchor of its section.
func (o *object) slug() string { return strings.ReplaceAll(o.name, " ", "-") }

func (o *object) schema(d *definitions) map[string]any {
	name := o.slug()
	if _, known := d.schemas[name]; known {
		return reference(name)
	}
	properties := map[string]any{}
	schema := map[string]any{"type": "object", "description": o.doc, "properties": properties, "additionalProperties": false}
	d.schemas[name] = schema // before its words, which may lead back here
	if o.reserved() {
		schema["not"] = map[string]any{}
		return reference(name)
	}
	var required []string
	dependent := map[string]any{}
	for i := range o.words {
		w := &o.words[i]
		if w.reserved != "" {
			continue
		}
		properties[w.name] = w.schema(d)
		if w.required {
			required = append(required, w.name)
		}
		if len(w.only) > 0 {
			dependent[w.name] = map[string]any{"anyOf": requireEach(w.only)}
		}
	}
	if required != nil {
		schema["required"] = required
	}
	if len(dependent) > 0 {
		schema["dependentSchemas"] = dependent
	}
	o.together(schema)
	return reference(name)
}

// together adds what holds between words.
func (o *object) together(schema map[string]any) {
	if len(o.one) > 0 {
		schema["oneOf"] = requireEach(o.one)
	}
	var not []any
	for _, set := range o.most {
		for i := range set {
			for j := range i {
				not = append(not, map[string]any{"not": map[string]any{"required": []string{set[j], set[i]}}})
			}
		}
	}
	if not != nil {
		schema["allOf"] = not
	}
	if len(o.pairs) > 0 {
		dependent := map[string]any{}
		for _, pair := range o.pairs {
			dependent[pair[0]] = []string{pair[1]}
		}
		schema["dependentRequired"] = dependent
	}
}

func requireEach(words []string) []any {
	all := make([]any, len(words))
	for i, w := range words {
		all[i] = map[string]any{"required": []string{w}}
	}
	return all
}

// schema is the shape of a word's value with what editors show of it.
func (w *word) schema(d *definitions) map[string]any {
	schema := map[string]any{}
	maps.Copy(schema, w.value.schema(d))
	schema["description"] = w.doc
	if w.fallback != "" {
		schema["description"] = w.doc + " Default: " + w.fallback + "."
	}
	schema["examples"] = []any{w.sample().plain()}
	return schema
}

// sample returns the word's example as a node.
func (w *word) sample() *node {
	k := newSink(w.name)
	s := load(w.name, []byte("value: "+w.example), k)
	if s == nil || k.failed() {
		panic("dsl: the example of " + w.name + " is not YAML: " + w.example)
	}
	return s.root.get("value")
}

var schemaTypes = map[nodeKind]string{kindBool: "boolean", kindInt: "integer", kindFloat: "number", kindString: "string"}

func (s *scalar) schema(*definitions) map[string]any {
	var types []string
	for _, kind := range s.accepted() {
		types = append(types, schemaTypes[kind])
	}
	schema := map[string]any{"type": types[0]}
	if len(types) > 1 {
		schema["type"] = types
	}
	if s.min > 0 {
		schema["minLength"] = s.min
	}
	if s.max > 0 {
		schema["maxLength"] = s.max
	}
	switch {
	case s.mixed && s.pattern == "" || s.verbatim:
		return schema
	case s.pattern != "":
		schema["pattern"] = s.pattern
	default:
		schema["not"] = map[string]any{"type": "string", "pattern": `\$\{`}
	}
	if s.dynamic {
		return orExpression(schema)
	}
	return schema
}

func (s *choice) schema(*definitions) map[string]any {
	schema := map[string]any{"enum": s.options}
	if s.dynamic {
		return orExpression(schema)
	}
	return schema
}

func (truth) schema(*definitions) map[string]any { return map[string]any{"type": "boolean"} }

func (s *count) schema(*definitions) map[string]any {
	schema := map[string]any{"type": "integer", "minimum": s.min, "maximum": s.max}
	if s.fixed {
		return schema
	}
	return orExpression(schema)
}

func (s *number) schema(*definitions) map[string]any {
	schema := map[string]any{"type": "number", "minimum": s.min, "maximum": s.max}
	if s.dynamic {
		return orExpression(schema)
	}
	return schema
}

func (expression) schema(*definitions) map[string]any { return reference("condition") }

func (s *anything) schema(*definitions) map[string]any {
	if s.bare {
		return map[string]any{"anyOf": []any{reference("condition"), map[string]any{"type": []string{"array", "object"}}}}
	}
	return map[string]any{}
}

func (s *list) schema(d *definitions) map[string]any {
	schema := map[string]any{"type": "array", "items": s.item.schema(d), "maxItems": s.max}
	if s.min > 0 {
		schema["minItems"] = s.min
	}
	if s.unique {
		schema["uniqueItems"] = true
	}
	if s.dynamic {
		return orExpression(schema)
	}
	return schema
}

func (s *dictionary) schema(d *definitions) map[string]any {
	schema := map[string]any{"type": "object", "additionalProperties": s.value.schema(d), "propertyNames": s.key.schema(), "maxProperties": s.max}
	if s.min > 0 {
		schema["minProperties"] = s.min
	}
	return schema
}

func (s *names) schema() map[string]any {
	schema := map[string]any{"pattern": s.pattern.String(), "maxLength": s.max}
	if s.taken != nil {
		schema["not"] = map[string]any{"enum": s.taken}
	}
	return schema
}

func (s *variants) schema(d *definitions) map[string]any {
	var all []any
	for _, v := range []shape{s.text, s.number, s.list, s.object} {
		switch {
		case v == nil:
		case v == s.list && takesNull(v): // any list
			all = append(all, map[string]any{"type": "array"})
		default:
			all = append(all, v.schema(d))
		}
	}
	return map[string]any{"anyOf": all}
}

func (jsonSchema) schema(*definitions) map[string]any {
	return map[string]any{"type": []string{"object", "boolean"}}
}

func (b body) schema(d *definitions) map[string]any {
	if _, known := d.schemas["steps"]; !known {
		d.schemas["steps"] = nil // before its steps, which may lead back here
		d.schemas["steps"] = b.steps().schema(d)
	}
	return reference("steps")
}

func (assignment) schema(d *definitions) map[string]any {
	return map[string]any{
		"if":   map[string]any{"type": "object", "required": []string{"reduce"}},
		"then": reduceShape.schema(d),
	}
}
