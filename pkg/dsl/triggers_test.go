package dsl

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTriggers(t *testing.T) {
	requireRules(t, map[string]string{
		"what a schedule gives": `
input: { schema: { type: object, required: [ day, n ], properties: { day: { type: string, minLength: 2 }, n: { type: integer }, deep: { $ref: '#/$defs/d' } }, $defs: { d: { type: object, required: [ x ] } } } }
triggers:
  - schedule: { every: 1h } #! trigger-input
  - schedule: { every: 1h, input: { day: mon, n: 1 } }
  - schedule: { every: 1h, input: { day: mon } } #! trigger-input
  - schedule: { every: 1h, input: { day: m, n: 1 } } #! trigger-input
  - schedule: { every: 1h, input: { day: mon, n: 1, deep: {} } } #! trigger-input
  - schedule: { every: 1h, input: [ 1 ] } #! trigger-input
  - schedule: { every: 1h, input: { day: '${ string(event.received_at) }', n: 1 } }
steps: { a: { function: f } }
`,
		"what events and requests give": `
input: { schema: { type: object, required: [ day ], properties: { day: { type: string }, n: { type: [ integer, 'null' ] } }, allOf: [ { required: [ n ] } ], anyOf: [ { type: object }, { type: array } ] } }
triggers:
  - event: { type: A }
  - event: { type: B, input: '${ event.data }' }
  - event: { type: C, input: { day: '${ event.data.day }', n: '${ event.data.n }', more: 1 } }
  - event: { type: D, input: { day: '${ event.data.day }', n: '${ event.data.?n }' } }
  - event: { type: E, input: { day: '${ event.data.day }' } } #! trigger-input
  - event: { type: F, input: { n: '${ event.data.n }' } } #! trigger-input
  - event: { type: G, input: { day: '${ size(event.type) }', n: 1 } } #! trigger-input
  - event: { type: H, input: { day: '${ event.data.at }', n: '${ event.type }' } } #! trigger-input
  - event: { type: I, input: '${ [ event.data ] }' } #! trigger-input
  - webhook: { path: /a, verify: { bearer: k } }
  - webhook: { path: /b, verify: { bearer: k }, input: { day: monday, n: null } }
  - webhook: { path: /c, verify: { bearer: k }, input: {} } #! trigger-input
steps: { a: { function: f } }
`,
		"without a schema": `
triggers: [ { schedule: { every: 1h } }, { event: { type: A, input: 5 } } ]
steps: { a: { function: f } }
`,
		"a schema that leads back into itself": `
input: { schema: { type: object, properties: { next: { $ref: '#' } }, required: [ v ] } }
triggers:
  - event: { type: A, input: { v: 1, next: { v: '${ event.data }', next: { v: 2 } } } }
  - event: { type: B, input: { v: 1, next: { v: '${ event.data }', next: {} } } } #! trigger-input
  - event: { type: C, input: { v: 1, next: '${ event.data }' } }
steps: { a: { function: f } }
`,
		"webhooks of one path": `
triggers:
  - webhook: { path: /hooks/a, verify: { bearer: k } }
  - event: { type: A }
  - webhook: { path: /hooks/a, verify: { hmac_sha256: k } } #! duplicate
  - webhook: { path: /hooks/b, verify: { bearer: k } }
  - webhook: { path: /hooks/a/b, verify: { bearer: k } }
steps: { a: { function: f } }
`,
		"children outside of what is allowed": `
steps:
  a: { workflow: { name: x, allow: [ y, z ] } } #! conflict
  b: { workflow: { name: y, allow: [ y, z ] } }
  c: { workflow: { name: x } }
  d: { workflow: { name: '${ input.x }', allow: [ y ] } }
`,
	})
}

// TestTriggerInputsThatAreNotKnown: of an input with a mistake in it nothing else is said.
func TestTriggerInputsThatAreNotKnown(t *testing.T) {
	_, found := Compile("test.yaml", []byte(preamble+`
input: { schema: { type: object, required: [ a ] } }
triggers: [ { event: { type: A, input: { b: '${ event.data + }' } } } ]
steps: { a: { function: f } }
`))
	require.Len(t, found, 1)
	require.Equal(t, "dsl/expression-syntax", found[0].Code)
}
