package dsl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// used prints what is read of the input, of each output and of each item: "a: x.y, z (pass)".
func used(def *workflow.Definition) string {
	var out strings.Builder
	line := func(name string, uses []workflow.Use) {
		if len(uses) == 0 {
			return
		}
		var all []string
		for _, u := range uses {
			text := "." + strings.Join(u.Path, ".")
			if u.Pass {
				text += " pass"
			}
			if u.Size {
				text += " size"
			}
			all = append(all, text)
		}
		fmt.Fprintf(&out, "%s: %s\n", name, strings.Join(all, ", "))
	}
	line("input", def.InputUses)
	var walk func(b *workflow.Body)
	walk = func(b *workflow.Body) {
		for i := range b.Steps {
			st := &b.Steps[i]
			line(st.Name, st.Uses)
			if st.Foreach != nil {
				line(st.Name+" items", st.Foreach.ItemUses)
			}
			for _, inner := range innerBodies(st) {
				walk(inner)
			}
		}
	}
	walk(&def.Body)
	return out.String()
}

func TestUses(t *testing.T) {
	tests := []struct{ name, doc, want string }{
		{"parts, whole values, sizes", `
output: 1
steps:
  a: { function: f }
  b: { function: f, when: steps.a.output.x.y > 1 && size(steps.a.output.list) > 0 }
  c: { function: f, with: { x: '${ steps.a.output.big }', y: 'no. ${ steps.a.output.n }', z: '${ input }' } }
  d: { function: f, when: steps.b.output != null, with: { s: '${ steps.b.status }', e: '${ steps.b.attempts }' } }
  e: { function: f, with: { x: '${ steps.d.output }', y: '${ steps.d.output.z }', w: '${ input.q }' } }
  g: { function: f, when: 'keys(steps.c.output.m).size() > 0', with: { x: '${ steps.c.output.m.k }', y: '${ steps.c.output.m }' } }
  h: { function: f, with: { x: '${ steps.e }', y: '${ steps.g.output[input.i] }' } }
`, `
input: . pass, .i
a: .big pass, .list size, .n, .x.y
b: . size
c: .m
d: . pass
e: . pass
g: .
`},
		{"own results in policies", `
on_failure: compensate
output: 1
steps:
  a: { function: f, compensate: { function: undo, with: { id: '${ output.id }', all: '${ output }' }, timeout: '${ output.t }' } }
`, `
a: . pass, .t
`},
		{"what a value hands on is read where the value is read", `
steps:
  a: { function: f }
  b: { value: { one: '${ steps.a.output.x }', two: '${ {"deep": steps.a.output.y, "not": 1} }', three: '${ input.c ? steps.a.output.p : steps.a.output.q }' } }
  c: { function: f, when: steps.b.output.one.k == 1 && steps.b.output.two.deep.m == 2 && steps.b.output.three.r == 3 }
  d: { function: f, with: { x: '${ steps.b.output.two }' } }
  e: { value: '${ steps.a.output.w }' }
  g: { value: '${ steps.e.output.v }' }
  h: { function: f, when: steps.g.output.u }
output: '${ steps.d.output }'
`, `
input: .c
a: .p pass, .p.r, .q pass, .q.r, .w pass, .w.v.u, .x pass, .x.k, .y pass, .y.m
b: .one.k, .three.r, .two pass, .two.deep.m
d: . pass
e: .v pass, .v.u
g: .u
`},
		{"what is read whole is read whole where it comes from", `
steps:
  a: { function: f }
  b: { value: { x: '${ steps.a.output }' } }
  c: { function: f, when: 'json.encode(steps.b.output).size() > 3' }
output: 1
`, `
a: .
b: .
`},
		{"items and what is collected", `
steps:
  list: { function: f }
  each:
    foreach:
      items: '${ steps.list.output.rows }'
      as: row
      until: collected.size() > 3 && collected[0].price > 1
      collect: '${ {"price": steps.p.output.price, "row": row.id} }'
      steps:
        p: { function: f, when: row.ok, with: { sku: '${ row.sku }', i: '${ index }' } }
  again: { foreach: { items: '${ steps.each.output }', steps: { q: { function: f, when: item.row > 1, with: { x: '${ item.price }' } } } } }
  some: { foreach: { items: [ '${ steps.list.output.a }', { k: '${ steps.list.output.b }' } ], collect: '${ item.k }', steps: { q: { function: f } } } }
output: '${ steps.each.output[0].price }'
`, `
list: .a pass, .b pass, .rows pass size
each: . pass size
each items: .id, .ok, .sku pass
p: .price
again items: .price pass, .row
q: . pass
some items: .k pass
`},
		{"variables", `
vars: { v: '${ input.first }', l: [] }
steps:
  a: { function: f }
  b: { set: { v: '${ steps.a.output.x }' } }
  c: { needs: [ b ], set: { l: { value: '${ steps.a.output.y }', reduce: append } } }
  d: { needs: [ c ], function: f, when: vars.v.k == 1, with: { x: '${ vars.l[0].m + 1 }' } }
output: 1
`, `
input: .first pass, .first.k
a: .x pass, .x.k, .y pass, .y.m
`},
		{"bodies without an output of their own yield that of their last steps", `
steps:
  g: { group: { steps: { a: { function: f }, b: { function: f } } } }
  r: { race: { one: { steps: { c: { function: f } } }, two: { steps: { d: { function: f }, e: { function: f } } } } }
  l: { loop: { max: 2, on_max: stop, steps: { h: { function: f, with: { x: '${ previous.?h.output.next }' } } } } }
  m: { loop: { max: 2, on_max: stop, collect: steps.i.output.p, steps: { i: { function: f } } } }
  u: { function: f, when: "steps.g.output.a.x == 1 && steps.r.output.winner == 'one' && steps.r.output.output.y == 1 && steps.l.output.h.z == 1 && steps.m.output[1].q == 1" }
output: '${ steps.g.output }'
`, `
g: . pass, .a.x
a: . pass, .x
b: . pass
r: .output.y, .winner
c: . pass, .y
d: . pass
e: . pass
l: .h.z
h: . pass, .next pass size, .z
m: .1.q
i: .p pass, .p.q
`},
		{"what stands in yields for what it stands in for", `
steps:
  a: { function: f, on_error: [ { match: error.retryable, then: b }, { continue: { x: '${ steps.c.output.k }' } } ] }
  b: { function: f }
  c: { function: f }
  d: { function: f, when: steps.a.output.x.y == 1 }
output: 1
`, `
a: .x.y
b: .x.y
c: .k pass, .k.y
`},
		{"several that stand in yield by name", `
steps:
  a: { function: f, on_error: [ { match: error.retryable, then: [ b, c ] }, { then: d } ] }
  b: { function: f }
  c: { function: f }
  d: { function: f }
  e: { function: f, when: steps.a.output.b.y == 1 || steps.a.output.z == 1 }
output: 1
`, `
a: .b.y, .z
b: .y
d: .b.y, .z
`},
		{"a match yields its value", `
steps:
  a: { function: f }
  b: { match: steps.a.output, cases: [ { else: c } ] }
  c: { function: f, when: steps.b.output.x == 1, with: { y: '${ steps.b.output.y }' } }
output: 1
`, `
a: .x, .y pass
b: .x, .y pass
`},
		{"a match looks at what its cases name", `
steps:
  a: { function: f }
  b:
    match: steps.a.output
    cases:
      - { like: { type: invoice, id: $id, items: [ _, { n: '${ value > 1 }' } ] }, then: c }
      - { like: { kind: 'x*', who: $who }, when: who.vip, then: c }
      - { else: c }
  c: { function: f }
output: 1
`, `
a: . size, .id size, .items size, .items.0 size, .items.1 size, .items.1.n, .kind, .type, .who
`},
		{"secrets make what stands beside them known", `
steps:
  a: { function: f }
  b: { function: f, with: { x: '${ {"k": secrets.k, "v": steps.a.output.v} }', y: '${ steps.a.output.w }' } }
output: 1
`, `
a: .v, .w pass
`},
		{"values that go round in loops", `
vars: { v: null }
steps:
  a: { loop: { max: 3, on_max: stop, collect: '${ {"b": steps.b.output} }', steps: { b: { value: '${ coalesce(previous.?b.output.next, {"next": steps.c.output}) }' }, c: { function: f }, d: { needs: [ b ], set: { v: '${ {"w": vars.v} }' } } } } }
  e: { function: f, when: 'steps.a.output[0].b.k == 1 && vars.v.w.w.x == 1', needs: [ a ] }
output: 1
`, `
a: .0.b.k
b: .
c: .
`},
		{"without an output the workflow yields that of its last steps", `
steps:
  a: { function: f }
  b: { function: f, needs: [ a ] }
`, `
b: . pass
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			def, found := Compile("test.yaml", []byte(preamble+strings.TrimLeft(test.doc, "\n")))
			require.NotNil(t, def, found)
			require.Equal(t, strings.TrimLeft(test.want, "\n"), used(def))
		})
	}
}
