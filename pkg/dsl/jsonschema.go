package dsl

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Bounds of the JSON Schemas of a document, in values. Compiling one costs about 25 µs.
const (
	maxSchemaNodes = 2_000  // in one schema
	maxSchemaTotal = 40_000 // in all that differ
)

// jsonSchema is a JSON Schema (2020-12 unless it says otherwise) that refers to nothing outside itself.
type jsonSchema struct{}

func (jsonSchema) label() string { return "a JSON Schema" }

func (j jsonSchema) check(c *checker, n *node, pointer string) {
	if n.kind != kindObject && n.kind != kindBool {
		c.mismatch(n, pointer, j.label(), "write a mapping such as { type: object }")
		return
	}
	if n.count(maxSchemaNodes+1) > maxSchemaNodes {
		c.sink.errorf(pointer, "dsl/limit", "describe less, or split the value", "the JSON Schema has more than %d values", maxSchemaNodes)
		return
	}
	if outside(n, pointer, c) || dangling(n, n, pointer, c) || endless(n, pointer, c) {
		return
	}
	err := c.compile(n)
	if c.schemaNodes > maxSchemaTotal {
		c.sink.errorf(pointer, "dsl/limit", "describe less, or use the same schema again", "the JSON Schemas of the document have more than %d values", maxSchemaTotal)
		return
	}
	var invalid *jsonschema.SchemaValidationError
	var report *jsonschema.ValidationError
	var pattern *jsonschema.InvalidRegexError
	switch {
	case err == nil:
	case errors.As(err, &invalid) && errors.As(invalid.Err, &report):
		seen := map[string]bool{} // where several forms would do, one finding is enough
		for _, unit := range leafErrors(report.DetailedOutput(), nil) {
			if seen[unit.InstanceLocation] {
				continue
			}
			seen[unit.InstanceLocation] = true
			c.schemaFinding(pointer+unit.InstanceLocation, unit)
		}
	case errors.As(err, &pattern):
		c.sink.errorf(pointer, "dsl/schema", "use a regular expression without look-around and back references", "the JSON Schema has a pattern that cannot be used: %q", clip(pattern.Regex))
	default:
		c.sink.errorf(pointer, "dsl/schema", "see json-schema.org, draft 2020-12", "this JSON Schema cannot be used: %s", clipTo(strings.ReplaceAll(err.Error(), schemaBase, ""), 200))
	}
}

// schemaTypeNames are the types of JSON Schema in the words of our messages.
var schemaTypeNames = map[string]string{"array": "a list", "object": "a mapping", "string": "a text", "integer": "a whole number", "number": "a number",
	"boolean": "`true` or `false`", "null": "null"}

// schemaTypeSynonyms are the names of types in other languages.
var schemaTypeSynonyms = map[string]string{"int": "integer", "long": "integer", "float": "number", "double": "number", "decimal": "number", "str": "string",
	"text": "string", "bool": "boolean", "list": "array", "map": "object", "dict": "object", "nil": "null", "none": "null"}

// schemaFinding reports one finding about a schema at its place.
func (c *checker) schemaFinding(pointer string, unit jsonschema.OutputUnit) {
	n := c.source.node(pointer)
	switch k := unit.Error.Kind.(type) {
	case *kind.Enum:
		words := make([]string, len(k.Want))
		for i, w := range k.Want {
			words[i] = fmt.Sprint(w)
		}
		suggestion := "write " + oneOf(words)
		if n == nil {
			break
		}
		if right := schemaTypeSynonyms[n.text]; right != "" && slices.Contains(words, right) {
			suggestion = "write `" + right + "`"
		} else if near := nearest(n.text, words); near != "" {
			suggestion = "did you mean `" + near + "`?"
		}
		c.sink.errorf(pointer, "dsl/schema", suggestion, "%s of a JSON Schema must be %s, not %s", c.about(pointer), oneOf(words), c.shown(n))
		return
	case *kind.Type:
		if n == nil || len(k.Want) != 1 || schemaTypeNames[k.Want[0]] == "" {
			break
		}
		suggestion := "write " + schemaTypeNames[k.Want[0]]
		if k.Want[0] == "array" && n.kind == kindString {
			suggestion = "write [ " + clip(n.text) + " ]"
		}
		c.sink.errorf(pointer, "dsl/schema", suggestion, "%s of a JSON Schema must be %s, not %s", c.about(pointer), schemaTypeNames[k.Want[0]], c.shown(n))
		return
	}
	c.sink.errorf(pointer, "dsl/schema", "see json-schema.org, draft 2020-12", "this is not JSON Schema: %s", clipTo(unit.Error.String(), 200))
}

// dangling refuses references to parts of the schema that are not there, at their place.
func dangling(n, root *node, pointer string, c *checker) (found bool) {
	for _, e := range n.entries {
		here := pointer + "/" + escape(e.key.text)
		target, local := strings.CutPrefix(e.value.text, "#")
		if e.key.text == "$ref" && e.value.kind == kindString && local && (target == "" || target[0] == '/') && !root.holds(target) {
			c.sink.errorf(here, "dsl/schema", "define it there, or correct the reference", "the JSON Schema has nothing at %q", clip(e.value.text))
			found = true
		}
		found = dangling(e.value, root, here, c) || found
	}
	for i, item := range n.items {
		found = dangling(item, root, pointer+"/"+strconv.Itoa(i), c) || found
	}
	return found
}

// holds reports whether a tree has a value at a JSON pointer. A pointer with percent signs, as URIs have them
// (RFC 6901 §6), is left to the library.
func (n *node) holds(pointer string) bool {
	if strings.Contains(pointer, "%") {
		return true
	}
	for _, token := range strings.Split(pointer, "/")[1:] {
		next, _ := n.child(unescape(token))
		if next == nil {
			return false
		}
		n = next
	}
	return true
}

// count counts the values of a tree up to a bound.
func (n *node) count(bound int) int {
	total := 1
	for i := 0; i < len(n.items) && total < bound; i++ {
		total += n.items[i].count(bound - total)
	}
	for i := 0; i < len(n.entries) && total < bound; i++ {
		total += n.entries[i].value.count(bound - total)
	}
	return total
}

// leafErrors are the findings that have no finer one below them.
func leafErrors(unit *jsonschema.OutputUnit, leaves []jsonschema.OutputUnit) []jsonschema.OutputUnit {
	if len(unit.Errors) == 0 {
		return append(leaves, *unit)
	}
	for i := range unit.Errors {
		leaves = leafErrors(&unit.Errors[i], leaves)
	}
	return leaves
}

// outside refuses references that lead out of the schema, at their place.
func outside(n *node, pointer string, c *checker) bool {
	found := false
	for _, e := range n.entries {
		here := pointer + "/" + escape(e.key.text)
		switch {
		case (e.key.text == "$ref" || e.key.text == "$dynamicRef") && e.value.kind == kindString && !strings.HasPrefix(e.value.text, "#"):
			c.sink.errorf(here, "dsl/schema", "put the definition under $defs and write #/$defs/name", "the JSON Schema refers to %q, outside itself", clip(e.value.text))
			found = true
		case e.key.text == "$id" && e.value.kind == kindString && !strings.Contains(pointer+"/", "/properties/"):
			c.sink.errorf(here, "dsl/schema", "leave it out", "a JSON Schema in a workflow has no `$id`: it refers to nothing outside itself")
			found = true
		case outside(e.value, here, c):
			found = true
		}
	}
	for i, item := range n.items {
		if outside(item, pointer+"/"+strconv.Itoa(i), c) {
			found = true
		}
	}
	return found
}

// schemaBase is the address under which schemas of a document are compiled. Nothing is ever loaded from it.
const schemaBase = "urn:wovyr:schema:"

// noLoader refuses every address.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is outside the document", url)
}

// compile compiles one schema. Equal schemas of a document are compiled once.
func (c *checker) compile(n *node) (err error) {
	key := string(n.json(nil, plainText))
	if err, known := c.compiled[key]; known {
		return err
	}
	if c.schemaNodes += n.count(maxSchemaNodes); c.schemaNodes > maxSchemaTotal {
		return nil
	}
	if c.schemas == nil {
		c.schemas, c.compiled = jsonschema.NewCompiler(), map[string]error{}
		c.schemas.UseLoader(noLoader{})
		c.schemas.DefaultDraft(jsonschema.Draft2020)
	}
	url := schemaBase + strconv.Itoa(len(c.compiled))
	if err = c.schemas.AddResource(url, n.plain()); err == nil {
		_, err = c.schemas.Compile(url)
	}
	c.compiled[key] = err
	return err
}

// plain returns a node as encoding/json would decode it, with json.Number.
func (n *node) plain() any {
	switch n.kind {
	case kindBool:
		return n.text == "true"
	case kindInt, kindFloat:
		return json.Number(n.text)
	case kindString:
		return n.text
	case kindList:
		list := make([]any, len(n.items))
		for i, item := range n.items {
			list[i] = item.plain()
		}
		return list
	case kindObject:
		object := make(map[string]any, len(n.entries))
		for _, e := range n.entries {
			object[e.key.text] = e.value.plain()
		}
		return object
	}
	return nil
}
