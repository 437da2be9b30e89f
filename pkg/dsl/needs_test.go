package dsl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// outlined prints what analysis makes of each step of a body, a line each: needs (* is implied), the steps that may pick
// it; then the last steps. Bodies follow their step, set in.
func outlined(b *workflow.Body, indent string) string {
	var out strings.Builder
	for i := range b.Steps {
		st := &b.Steps[i]
		out.WriteString(indent + st.Name + ":")
		for _, n := range st.Needs {
			out.WriteString(" " + n.Step + strings.TrimSuffix(":"+string(n.End), ":"+string(workflow.EndMet)))
			if n.Implied {
				out.WriteString("*")
			}
		}
		if len(st.Picked) > 0 {
			fmt.Fprintf(&out, " picked by %s", strings.Join(st.Picked, ", "))
		}
		if st.Exit {
			out.WriteString(" exit")
		}
		out.WriteString("\n")
		for _, inner := range innerBodies(st) {
			out.WriteString(outlined(inner, indent+"  "))
		}
	}
	fmt.Fprintf(&out, "%slast %v\n", indent, b.Last)
	return out.String()
}

func innerBodies(st *workflow.Step) (all []*workflow.Body) {
	switch {
	case st.Foreach != nil:
		all = append(all, &st.Foreach.Body)
	case st.Loop != nil:
		all = append(all, &st.Loop.Body)
	case st.Group != nil:
		all = append(all, &st.Group.Body)
	case st.Race != nil:
		for i := range st.Race.Branches {
			all = append(all, &st.Race.Branches[i].Body)
		}
	}
	return all
}

func TestNeeds(t *testing.T) {
	tests := []struct{ name, doc, want string }{
		{"every expression implies needs, compensations and the output do not", `
on_failure: compensate
output: '${ steps.a.output }'
steps:
  a: { function: f }
  b: { function: f, when: steps.a.output.x, compensate: { function: f, with: { x: '${ steps.e.output }', y: '${ output }' } } }
  c: { function: f, timeout: '${ steps.a.output.t }', retry: { delay: '${ steps.b.output.t }' }, on_error: { match: steps.d.output, continue: 1 } }
  d: { function: f, on_error: { continue: '${ steps.a.output }' } }
  e: { human: { title: '${ steps.a.output }', notify: { function: f, with: { x: '${ steps.b.output }' } }, remind: [ '${ steps.c.output }' ], timeout: 1d } }
`, `
a:
b: a*
c: a* b* d*
d: a*
e: a* b* c*
last [e]
`},
		{"declared needs stay as they are", `
steps:
  a: { function: f }
  b: { function: f }
  c: { function: f, needs: [ { a: failed }, b ], with: { e: '${ steps.a.error }', x: '${ steps.b.output }', s: '${ steps.d.status }' } }
  d: { function: f, needs: [ { a: ended } ] }
`, `
a:
b:
c: a:failed b d*
d: a:ended
last [c]
`},
		{"what a body reads outside, its step needs", `
steps:
  a: { function: f }
  b: { function: f }
  each:
    foreach:
      items: '${ steps.a.output }'
      collect: '${ {"x": steps.one.output, "y": steps.b.output} }'
      steps:
        one: { function: f, with: { x: '${ steps.b.output }', y: '${ item }' } }
        grp:
          group:
            output: '${ steps.deep.output }'
            steps:
              deep: { function: f, needs: [ ], with: { x: '${ steps.c.output }', y: '${ steps.one.output }' } }
  c: { function: f }
`, `
a:
b:
each: a* b* c*
  one:
  grp: one*
    deep:
    last [deep]
  last [grp]
c:
last [each]
`},
		{"loops: the iteration before is no dependency", `
steps:
  lp:
    loop:
      max: 3
      while: coalesce(previous.b.output.more, true)
      collect: '${ steps.b.output }'
      steps:
        a: { function: f, with: { x: '${ previous.?b.output }', y: '${ previous.?a.output }' } }
        b: { function: f, with: { x: '${ steps.a.output }' } }
`, `
lp:
  a:
  b: a*
  last [b]
last [lp]
`},
		{"picked steps", `
steps:
  route: { switch: [ { when: input.x, then: [ a, b ] }, { else: c } ] }
  kind: { match: input.y, cases: [ { like: 1, then: a }, { else: d } ] }
  a: { function: f }
  b: { function: f, needs: [ a ] }
  c: { function: f }
  d: { function: f }
  e: { function: f, needs: [ b, c ] }
`, `
route:
kind:
a: picked by kind, route
b: a picked by route
c: picked by route
d: picked by kind
e: b c
last [d e]
`},
		{"a step that only stands in is not last, what it stands in for may be", `
steps:
  a: { function: f, on_error: b }
  b: { function: f, with: { x: '${ steps.a.error.code }' } }
  c: { function: f, on_error: [ { match: error.retryable, then: d }, { continue: null } ] }
  d: { function: f }
  e: { function: f, needs: [ c ] }
  f: { function: f, needs: [ d ] }
`, `
a:
b: a* picked by a
c:
d: picked by c
e: c
f: d
last [a e f]
`},
		{"on_exit: no implied needs, not last", `
on_exit: [ x, y ]
steps:
  a: { function: f }
  b: { function: f, needs: [ a ] }
  x: { function: f, with: { x: '${ steps.b.output }', s: '${ steps.a.status }' } }
  y: { function: f, needs: [ { x: failed } ], with: { x: '${ steps.x.error }' } }
`, `
a:
b: a
x: exit
y: x:failed exit
last [b]
`},
		{"race and several last steps", `
steps:
  first:
    race:
      quick: { steps: { a: { function: f }, b: { function: f } } }
      late: { steps: { t: { timer: { for: 1h } }, u: { function: f, needs: [ t ] } } }
`, `
first:
  a:
  b:
  last [a b]
  t:
  u: t
  last [u]
last [first]
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			def, _ := requireMarks(t, test.doc)
			require.NotNil(t, def)
			require.Equal(t, strings.TrimLeft(test.want, "\n"), outlined(&def.Body, ""))
		})
	}
}

func TestCycles(t *testing.T) {
	requireRules(t, map[string]string{
		"needs": `
steps:
  a: { function: f, needs: [ b ] } #! cycle
  b: { function: f, needs: [ c ] }
  c: { function: f, needs: [ a ] }
`,
		"itself": `
steps:
  a: { function: f, needs: [ a ] } #! cycle
`,
		"reads": `
steps:
  a: { function: f, with: { x: '${ steps.b.output }' } } #! cycle
  b: { function: f, when: steps.a.status == 'failed' }
`,
		"through a body": `
steps:
  a:
    group:
      steps:
        b: { group: { steps: { c: { function: f, with: { x: '${ steps.d.output }' } } } } } #! cycle
  d: { function: f, needs: [ a ] }
`,
		"a picker that waits for what it picks": `
steps:
  a: { switch: [ { when: steps.b.output.x, then: b } ] } #! cycle
  b: { function: f }
`,
		"through what was picked": `
steps:
  a: { switch: [ { else: b } ], needs: [ c ] } #! cycle
  b: { function: f }
  c: { function: f, needs: [ b ] }
`,
		"what stands in waits for what waits for it": `
steps:
  risky: { function: f, on_error: other }
  other: { function: f, needs: [ check ] }
  check: { function: f, needs: [ risky ] } #! cycle
  fine: { function: f, needs: [ { risky: completed }, check ] }
`,
		"what stands in may read the error": `
steps:
  risky: { function: f, on_error: [ { match: error.retryable, then: [ one, two ] }, { then: three } ] }
  one: { function: f, with: { e: '${ steps.risky.error }' } }
  two: { function: f, needs: [ one, risky ] }
  three: { function: f, needs: [ { risky: ended } ] }
  check: { function: f, needs: [ risky ] }
`,
		"what waits for another end does not wait for a stand-in": `
steps:
  risky: { function: f, on_error: [ { match: error.retryable, then: other } ] }
  other: { function: f, needs: [ check ] }
  check: { function: f, needs: [ { risky: failed } ] }
`,
		"several cycles at once": `
steps:
  a: { function: f, needs: [ b ] } #! cycle
  b: { function: f, needs: [ a ] }
  c: { function: f, needs: [ d, a ] } #! cycle
  d: { function: f, needs: [ c ] }
  e: { group: { steps: { f: { function: f, needs: [ g ] }, g: { function: f, needs: [ f ] } } } } #! cycle
`,
		"loops that share a step": `
steps:
  a: { function: f, needs: [ b, c ] } #! cycle cycle
  b: { function: f, needs: [ a ] }
  c: { function: f, needs: [ a ] }
`,
	})
}

func TestLongCycle(t *testing.T) {
	var doc strings.Builder
	doc.WriteString(preamble + "steps:\n")
	const n = 2000
	for i := range n {
		fmt.Fprintf(&doc, "  s%d: { function: f, needs: [ s%d ] }\n", i, (i+1)%n)
	}
	_, found := Compile("test.yaml", []byte(doc.String()))
	require.Len(t, found, 1)
	require.Less(t, len(found[0].Message), 400)
	require.Contains(t, found[0].Message, "s0 → s1 → s2 → s3 → s4 → s5 → … → s0")
	require.Contains(t, found[0].Message, "`s0` needs `s1` (4:31)")
	require.Regexp(t, `and so on over 1989 more$`, found[0].Message)
}
