package schema_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/schema"
	"github.com/wovyr/wovyr/pkg/workflow"
)

func TestCheck(t *testing.T) {
	c := schema.New()
	const order = `{"type":"object","required":["id","total"],"properties":{"id":{"type":"string"},"total":{"type":"number","minimum":0}},"additionalProperties":false}`
	for _, k := range []struct{ name, schema, value, says string }{
		{"no schema", ``, `[1]`, ""},
		{"fits", order, `{"id":"a","total":1.5}`, ""},
		{"an int is a number", order, `{"id":"a","total":1}`, ""},
		{"missing", order, `{"id":"a"}`, "missing property 'total'"},
		{"wrong type", order, `{"id":7,"total":1}`, "/id: got number, want string"},
		{"out of range", order, `{"id":"a","total":-1}`, "/total: minimum"},
		{"unknown field", order, `{"id":"a","total":1,"x":1}`, "additional properties 'x' not allowed"},
		{"absent is null", order, ``, "at its top: got null, want object"},
		{"several", `{"items":{"type":"string"}}`, `[1,2,3,4,5,6,7]`, "and 2 more"},
		{"large integers keep their digits", `{"const":9007199254740993}`, `9007199254740992`, "9007199254740993"},
		{"nothing is loaded", `{"$ref":"https://example.com/x.json"}`, `1`, "cannot be used"},
		{"without end", `{"$ref":"#"}`, `1`, "cannot be used: it refers to itself"},
		{"without end, further in", `{"$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"}]}},"properties":{"x":{"$ref":"#/$defs/a"}}}`, `{"x":1}`, "cannot be used: it refers to itself"},
		{"comes back for a part", `{"type":"object","properties":{"next":{"$ref":"#"}}}`, `{"next":{"next":1}}`, "/next/next: got number"},
		{"nothing there", `{"$ref":"#/a/b"}`, `1`, "#/a/b"},
		{"no schema at all", `{"type":7}`, `1`, "cannot be used"},
		{"not JSON", `{}`, `{`, "is not JSON"},
	} {
		t.Run(k.name, func(t *testing.T) {
			for range 2 { // compiled, and kept
				err := c.Check(workflow.Value(k.schema), workflow.Value(k.value), "input.invalid", "the input")
				if k.says == "" {
					require.Nil(t, err)
					require.True(t, c.Fits(workflow.Value(k.schema), workflow.Value(k.value)))
					continue
				}
				require.NotNil(t, err)
				require.Contains(t, err.Message, k.says)
				require.NotContains(t, err.Message, "urn:")
				require.False(t, c.Fits(workflow.Value(k.schema), workflow.Value(k.value)))
			}
		})
	}
}

func Example() {
	err := schema.New().Check(workflow.Value(`{"required":["id"]}`), workflow.Value(`{}`), "input.invalid", "the input")
	fmt.Println(err)
	// Output: input.invalid: the input does not fit its JSON Schema: at its top: missing property 'id'
}
