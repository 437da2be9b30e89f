package dsl

import "testing"

func TestVariablesAreOrdered(t *testing.T) {
	requireRules(t, map[string]string{
		"two writers at once": `
vars: { n: 0 }
output: '${ vars.n }'
steps:
  a: { set: { n: 1 } }
  b: { set: { n: 2 } } #! var-race
  c: { set: { n: 3 } } #! var-race
`,
		"ordered by needs, near and far": `
vars: { n: 0 }
output: '${ vars.n }'
steps:
  a: { set: { n: 1 } }
  b: { function: f, needs: [ a ] }
  c: { function: f, with: { x: '${ steps.b.output }' } }
  d: { needs: [ c ], set: { n: '${ vars.n + 1 }' } }
  e: { needs: [ { d: ended } ], set: { n: 3 } }
`,
		"all say how to combine": `
vars: { n: 0, l: [] }
output: '${ vars }'
steps:
  a: { set: { n: { value: 1, reduce: sum }, l: { value: 1, reduce: append } } }
  b: { set: { n: { value: 2, reduce: sum }, l: { value: 2, reduce: append } } }
  c: { set: { n: { value: 2, reduce: max } } } #! var-race
  d: { set: { l: [ 1 ] } } #! var-race
  e: { needs: [ a, b, c, d ], set: { n: 0, l: [ ] } }
`,
		"a read beside a write": `
vars: { n: 0 }
steps:
  a: { set: { n: 1 } }
  b: { function: f, with: { x: '${ vars.n }' } } #! var-race
  c: { function: f, needs: [ a, e ], with: { x: '${ vars.n }' } }
  d: { function: f, with: { x: '${ vars }' } } #! var-race
  e: { needs: [ f ], set: { n: { value: 1, reduce: sum } } } #! var-race
  f: { function: f, when: vars.n > 1 } #! var-race
`,
		"a set may read what it writes": `
vars: { n: 0 }
output: '${ vars.n }'
steps:
  a: { set: { n: '${ vars.n + 1 }' } }
`,
		"branches of one switch exclude each other": `
vars: { n: 0 }
output: '${ vars.n }'
steps:
  route: { switch: [ { when: input.x, then: [ a, aa ] }, { when: input.y, then: b }, { else: c } ] }
  a: { set: { n: 1 } }
  aa: { set: { n: 2 } } #! var-race
  b: { set: { n: 2 } }
  c: { switch: [ { when: input.z, then: d }, { else: e } ] }
  d: { set: { n: 3 } }
  e: { function: f }
  g: { needs: [ e ], set: { n: 4 } }
  h: { needs: [ b, e ], set: { n: 5 } } #! var-race
  i: { needs: [ a, aa, b, d, g, h ], set: { n: 6 } }
`,
		"branches of two switches do not": `
vars: { n: 0 }
output: '${ vars.n }'
steps:
  one: { switch: [ { when: input.x, then: a }, { else: b } ] }
  two: { match: input.y, cases: [ { like: 1, then: c }, { else: d } ] }
  a: { set: { n: 1 } }
  b: { function: f }
  c: { set: { n: 2 } } #! var-race
  d: { function: f }
`,
		"what stands in, and what ends differently": `
vars: { n: 0 }
output: '${ vars.n }'
steps:
  a: { function: f, on_error: [ { match: error.retryable, then: b }, { then: c } ] }
  b: { set: { n: 1 } }
  c: { set: { n: 2 } }
  d: { needs: [ a ], set: { n: 3 } }
  e: { function: f }
  f: { needs: [ { e: failed }, d ], set: { n: 4 } }
  g: { function: f, needs: [ d ] }
  h: { needs: [ { g: failed }, f ], set: { n: 5 } }
  i: { needs: [ { g: failed } ], set: { n: 6 } } #! var-race
`,
		"failed and completed exclude each other": `
vars: { n: 0 }
output: '${ vars.n }'
steps:
  a: { function: f }
  b: { needs: [ { a: failed } ], set: { n: 1 } }
  c: { needs: [ { a: completed } ], set: { n: 2 } }
`,
		"a join of any waits for one only": `
vars: { n: 0 }
output: '${ vars.n }'
steps:
  z: { set: { n: 0 } }
  a: { needs: [ z ], set: { n: 1 } }
  b: { needs: [ z ], function: f }
  c: { needs: [ a, b ], join: any, set: { n: 2 } } #! var-race
  d: { needs: [ z ], function: f }
  e: { needs: [ b, d ], join: any, function: f }
  g: { needs: [ e, c ], set: { n: 2 } } #! var-race
`,
		"a join of any keeps what all its needs have behind them": `
vars: { n: 0 }
output: '${ vars.n }'
steps:
  z: { set: { n: 0 } }
  a: { needs: [ z ], function: f }
  b: { needs: [ z ], function: f }
  c: { needs: [ a, b ], join: any, set: { n: 2 } }
`,
		"a step that is not picked does not wait for its needs": `
vars: { n: 0 }
output: '${ vars.n }'
steps:
  slow: { set: { n: 1 } } #! var-race
  route: { switch: [ { when: input.x, then: a }, { else: b } ] }
  a: { function: f, needs: [ slow ] }
  b: { function: f }
  c: { needs: [ a, b ], set: { n: 2 } }
  d: { needs: [ a, slow ], function: f, with: { x: '${ vars.n }' } } #! var-race
  e: { needs: [ c, slow ], function: f, with: { x: '${ vars.n }' } }
`,
		"a missed need ends the wait for the others": `
vars: { n: 0 }
output: '${ vars.n }'
steps:
  slow: { set: { n: 1 } } #! var-race
  a: { function: f }
  b: { function: f, needs: [ slow, { a: failed } ] }
  c: { needs: [ { b: ended } ], set: { n: 2 } }
`,
		"a need on a picker is met by being picked": `
vars: { n: 0 }
output: '${ vars.n }'
steps:
  one: { switch: [ { when: input.x, then: a } ] }
  slow: { set: { n: 1 } } #! var-race
  two: { needs: [ slow ], switch: [ { when: input.y, then: a }, { else: b } ] }
  a: { needs: [ two ], set: { n: 2 } }
  b: { function: f }
`,
		"needs that must be met exclude each other": `
vars: { n: 0 }
output: '${ vars.n }'
steps:
  a: { function: f }
  x: { function: f }
  b: { needs: [ { a: failed }, x ], set: { n: 1 } }
  c: { needs: [ { a: completed }, x ], set: { n: 2 } }
`,
		"items of a foreach": `
vars: { n: 0, l: [], seq: 0 }
output: '${ vars }'
steps:
  a:
    foreach:
      items: '${ input.items }'
      steps:
        b: { set: { n: '${ vars.n + 1 }' } } #! var-race var-race
        c: { set: { l: { value: '${ item }', reduce: append } } }
        d: { function: f, needs: [ b ], when: vars.n > 3 } #! var-race
        e: { needs: [ b ], set: { n: { value: 1, reduce: sum } } } #! var-race
  g: { needs: [ a ], set: { n: 0 } }
  h: { foreach: { items: [ 1 ], max_parallelism: 1, steps: { i: { set: { seq: '${ vars.seq + item }' } }, j: { needs: [ i ], when: vars.seq > 1, function: f } } } }
  k: { foreach: { items: [ 1 ], max_parallelism: '${ input.n }', steps: { m: { foreach: { items: [ 1 ], max_parallelism: 1, steps: { p: { needs: [ ], set: { seq: 1 } } } } } } }, needs: [ h ] } #! var-race
`,
		"until and collect of a foreach": `
vars: { n: 0, m: 0 }
output: '${ vars }'
steps:
  a:
    foreach:
      items: '${ input.items }'
      until: vars.n > 5 #! var-race
      collect: '${ vars.n }' #! var-race
      steps:
        b: { set: { n: { value: 1, reduce: sum } } }
  c:
    foreach:
      items: '${ vars.m > 0 ? [1] : [2] }'
      max_parallelism: 1
      collect: '${ vars.m }'
      steps:
        b: { set: { m: 1 } }
`,
		"loops run one iteration after the other": `
vars: { n: 0 }
output: '${ vars.n }'
steps:
  a:
    loop:
      max: 5
      while: vars.n < 3
      collect: '${ vars.n }'
      steps:
        b: { set: { n: '${ vars.n + 1 }' } }
        c: { function: f, with: { x: '${ vars.n }' } } #! var-race
  d: { function: f, with: { x: '${ vars.n }' } } #! var-race
  e: { function: f, needs: [ a ], with: { x: '${ vars.n }' } }
`,
		"branches of a race run at once": `
vars: { n: 0 }
output: '${ vars.n }'
steps:
  r:
    race:
      one: { steps: { a: { function: f }, b: { needs: [ a ], set: { n: 1 } } } }
      two: { steps: { c: { set: { n: 2 } } } } #! var-race
      three: { steps: { d: { function: f, with: { x: '${ vars.n }' } } } } #! var-race
`,
		"groups keep order inside": `
vars: { n: 0 }
output: '${ vars.n }'
steps:
  g:
    group:
      output: '${ vars.n }'
      steps:
        a: { set: { n: 1 } }
        b: { needs: [ a ], set: { n: 2 } }
        c: { group: { steps: { d: { set: { n: 3 } } } } } #! var-race
  e: { needs: [ g ], set: { n: 1 } }
`,
		"compensation, on_exit and the output come last": `
vars: { n: 0 }
on_failure: compensate
on_exit: [ x, y ]
output: '${ vars.n }'
steps:
  a: { function: f, compensate: { function: f, with: { n: '${ vars.n }' } } }
  b: { set: { n: 1 } }
  x: { set: { n: '${ vars.n + 1 }' } }
  y: { function: f, with: { n: '${ vars.n }' } }
`,
		"one finding for each, against the first by name": `
vars: { n: 0 }
output: '${ vars.n }'
steps:
  z: { set: { n: 1 } } #! var-race
  y: { set: { n: 1 } } #! var-race
  x: { set: { n: 1 } }
  r: { function: f, with: { x: '${ vars.n }', y: '${ vars.n + 1 }' }, when: vars.n > 0 } #! var-race var-race
`,
	})
}
