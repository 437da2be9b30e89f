package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// testSchema is the JSON Schema of `input` in testdata/check.
const testSchema = `{
	"type": "object",
	"required": ["total", "name"],
	"properties": {
		"total": {"type": "number"}, "count": {"type": "integer"}, "ratio": {"type": "number", "minimum": 0},
		"name": {"type": "string"}, "vip": {"type": "boolean"}, "note": {"type": ["string", "null"]}, "any": {},
		"tags": {"type": "array", "items": {"type": "string"}},
		"items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
		"customer": {"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": false},
		"loose": {"type": "object", "additionalProperties": true},
		"extra": true,
		"guess": {"type": "object", "required": ["known"]},
		"union": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
		"maybe": {"oneOf": [{"type": "integer"}, {"type": "null"}]},
		"code": {"enum": ["a", "b"]}, "level": {"const": 3},
		"node": {"$ref": "#/$defs/node"},
		"counts": {"type": "object", "additionalProperties": {"type": "integer"}}
	},
	"$defs": {
		"item": {"type": "object", "properties": {"sku": {"type": "string"}, "qty": {"type": "integer"}, "price": {"type": "number"}}},
		"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "value": {"type": "integer"}}}
	}
}`

func testScope(t testing.TB) *Scope {
	step := Record(map[string]*Type{
		"output": Record(map[string]*Type{"id": String}, false), "status": String, "error": Dyn, "attempts": Int,
		"started_at": Timestamp, "completed_at": Timestamp,
	}, true)
	return NewScope().
		With("input", SchemaType(mustCanonical(t, testSchema))).
		With("vars", Record(map[string]*Type{"count": Int}, true)).
		With("steps", Record(map[string]*Type{"charge": step, "ship": step}, true)).
		With("execution", Record(map[string]*Type{"id": String, "started_at": Timestamp}, true)).
		With("secrets", Record(map[string]*Type{"token": String}, true)).
		With("index", Int)
}

// TestCheck holds the type of every expression of testdata/check/types.txt and what the check says of it.
func TestCheck(t *testing.T) {
	golden(t, "testdata/check/types.txt", func(src string) string {
		e, issues := Compile(src, workflow.Position{Line: 1, Column: 1}, testScope(t))
		var lines []string
		for _, issue := range issues {
			lines = append(lines, "? "+issueText(issue))
		}
		if e != nil {
			lines = append(lines, e.Type().String())
		}
		return strings.Join(lines, "\n")
	})
}

// TestReads holds what every expression of testdata/check/reads.txt reads, and whether it is nothing but a path.
func TestReads(t *testing.T) {
	golden(t, "testdata/check/reads.txt", func(src string) string {
		e, err := Load(&workflow.Expr{Source: src})
		require.NoError(t, err, src)
		var reads []string
		for _, r := range e.Reads() {
			reads = append(reads, r.String())
		}
		line := strings.Join(reads, ", ")
		if whole, ok := e.Whole(); ok {
			line += " = " + whole.Root + fmt.Sprint(whole.Path)
		}
		if e.Deferred() {
			line += " deferred"
		}
		if line == "" {
			return "nothing"
		}
		return line
	})
}
