package dsl

import "testing"

func TestReach(t *testing.T) {
	requireRules(t, map[string]string{
		"conditions that are always false": `
steps:
  a: { function: f, when: 'false' } #! never-runs
  b: { function: f, when: 1 > 2 } #! never-runs
  c: { function: f, when: 2 > 1, needs: [ a, b ] }
  d: { function: f, needs: [ { a: completed } ] } #! unreachable
  e: { function: f, needs: [ { a: skipped }, { d: skipped }, { c: ended } ] }
  g: { function: f, needs: [ { c: skipped } ] }
  h: { function: f, needs: [ { i: skipped } ] } #! unreachable
  i: { function: f }
`,
		"branches behind one that is always taken": `
steps:
  a: { switch: [ { when: 'true', then: x }, { when: input.y, then: y }, { else: z } ] } #! dead-branch dead-branch
  b: { switch: [ { when: 1 > 2, then: w }, { else: z2 } ] } #! dead-branch
  c: { match: input.x, cases: [ { like: 1, then: x }, { like: _, then: x }, { like: 2, then: v } ] } #! dead-branch
  d: { match: input.x, cases: [ { like: _, when: input.y, then: u }, { else: z2 } ] }
  e: { function: f, on_error: [ { match: error.retryable, then: t }, { continue: 1 }, { then: s } ] } #! dead-branch
  x: { function: f }
  y: { function: f } #! unreachable
  z: { function: f } #! unreachable
  z2: { function: f }
  w: { function: f } #! unreachable
  v: { function: f, needs: [ x ] } #! unreachable
  u: { function: f }
  t: { function: f }
  s: { function: f } #! unreachable
  after: { function: f, needs: [ y, z ] } #! unreachable
  alive: { function: f, needs: [ y, x ] }
`,
		"needs that are never met": `
steps:
  a: { fail: { code: x.y } }
  b: { function: f, needs: [ a ] } #! unreachable
  c: { function: f, needs: [ { a: failed } ] }
  d: { function: f, needs: [ { a: completed }, c ] } #! unreachable
  e: { function: f, needs: [ { g: failed } ] } #! unreachable
  g: { function: f, on_error: { continue: 1 } }
  h: { fail: { code: x.y }, when: input.x }
  i: { function: f, needs: [ h ] }
  j: { function: f, needs: [ a, i ], join: any }
  k: { continue_as_new: { input: 1 }, needs: [ c ] }
  l: { function: f, needs: [ k ] } #! unreachable
  m: { fail: { code: x.y }, on_error: { continue: 1 } }
  n: { function: f, needs: [ m ] }
`,
	})
}

func TestTimeouts(t *testing.T) {
	requireRules(t, map[string]string{
		"limits inside of limits": `
limits: { timeout: 1h }
steps:
  a: { function: f, timeout: 1h } #! timeout-order
  b: { function: f, timeout: 59m, heartbeat: 1h } #! timeout-order
  c: { timer: { for: 2h } } #! timeout-order
  d: { event: { type: A, timeout: 3d } } #! timeout-order
  e: { group: { steps: { a: { function: f, timeout: 20m }, b: { function: f, timeout: 5m } } }, timeout: 10m } #! timeout-order
  g: { human: { title: x, timeout: 30m, remind: [ 10m, 40m ], escalate: [ { after: 30m, to: x } ] } } #! timeout-order timeout-order
  h: { function: f, timeout: '${ input.t }' }
`,
		"retries": `
limits: { timeout: 1h }
steps:
  a: { function: f, retry: { attempts: 20 } } #! retry-timeout
  b: { function: f, retry: { attempts: 20, max_delay: 1m } }
  c: { function: f, retry: { attempts: 7, strategy: fixed, delay: 10m } } #! retry-timeout
  d: { function: f, retry: { attempts: 5, strategy: linear, delay: 5m } }
  e: { function: f, retry: { attempts: 6, strategy: linear, delay: 5m } } #! retry-timeout
  g: { function: f, timeout: 20m, retry: { attempts: 3 } } #! retry-timeout
  h: { group: { steps: { a: { function: f, timeout: 1m, retry: { attempts: 10, strategy: fixed } } } }, timeout: 5m } #! retry-timeout
  i: { function: f, timeout: 20m, retry: { attempts: '${ input.n }' } }
  j: { function: f, timeout: 20m, retry: { attempts: 2 } }
`,
		"retries by defaults": `
limits: { timeout: 1m }
defaults: { timeout: 30s, retry: { attempts: 2 } }
steps:
  a: { function: f } #! retry-timeout
  b: { function: f, retry: { attempts: 1 } }
`,
		"waits without end": `
steps:
  a: { human: { title: x } } #! endless-wait
  b: { event: { type: A } } #! endless-wait
  c: { function: f, callback: true } #! endless-wait
  d: { human: { title: x, escalate: [ { after: 1d, to: x } ] } }
  e: { human: { title: x, timeout: 1d } }
  g: { function: f, callback: true, wait_timeout: 1d }
  h: { group: { steps: { a: { event: { type: A } } } }, timeout: 1h }
  i: { race: { a: { steps: { x: { event: { type: A } } } }, b: { steps: { y: { timer: { for: 1d } } } } } }
`,
		"waits within the workflow's timeout": `
limits: { timeout: 1d }
on_exit: [ x ]
steps:
  a: { human: { title: x } }
  b: { event: { type: A } }
  x: { event: { type: A } } #! endless-wait
`,
	})
}

func TestPolicies(t *testing.T) {
	requireRules(t, map[string]string{
		"compensations that never run": `
on_failure: compensate
on_exit: [ x ]
steps:
  a: { function: f, compensate: { function: undo } }
  b: { fail: { code: x.y }, compensate: { function: undo } } #! compensation-unused
  c: { fail: { code: x.y }, compensate: { function: undo, on: attempted } }
  d: { function: f, when: 'false', compensate: { function: undo } } #! never-runs compensation-unused
  x: { function: f, compensate: { function: undo } } #! compensation-unused
`,
		"without on_failure: compensate": `
steps:
  a: { function: f, compensate: { function: undo } } #! compensation-unused
`,
		"an operator may compensate": `
on_failure: pause
steps:
  a: { function: f, compensate: { function: undo } }
`,
		"words that a kind ignores": `
limits: { timeout: 1d }
steps:
  a: { timer: { for: 1h }, timeout: 1h, wait_timeout: 1h }
  b: { value: 1, retry: { attempts: 2 }, needs: [ a ] } #! policy-ignored
  c: { switch: [ { else: d } ], heartbeat: 1s, schedule_timeout: 1s } #! policy-ignored policy-ignored
  d: { group: { steps: { x: { function: f } } }, timeout: 1h, retry: { attempts: 2 }, idempotent: true } #! policy-ignored policy-ignored
  e: { function: f, wait_timeout: 1h } #! policy-ignored
  g: { human: { title: x }, timeout: 1h, limits: { max_memory: 1MiB }, max_recoveries: 1 } #! policy-ignored policy-ignored
  h: { workflow: { name: w }, timeout: 1h, wait_timeout: 1h, retry: { attempts: 2 }, schedule_timeout: 1m } #! policy-ignored
  i: { function: f, timeout: 1h, heartbeat: 1s, schedule_timeout: 1s, idempotent: true, max_recoveries: 1, limits: { max_memory: 1MiB } }
`,
		"repeating what must not be repeated": `
steps:
  a: { function: f, idempotent: false, retry: { attempts: 2 } } #! retry-idempotent
  b: { function: f, idempotent: false, retry: { attempts: 1 } }
  c: { function: f, idempotent: true, retry: { attempts: 2 } }
  d: { function: f, idempotent: false }
  e: { function: f, idempotent: false, retry: { attempts: '${ input.n }' } } #! retry-idempotent
`,
		"errors that cannot be there": `
steps:
  a: { function: f }
  b: { function: f, with: { e: '${ steps.a.error }' } } #! no-error
  c: { function: f, needs: [ { a: completed } ], when: steps.a.error.code == 'x' } #! no-error
  d: { function: f, needs: [ { a: ended } ], with: { e: '${ steps.a.error }' } }
  e: { function: f, needs: [ { a: failed } ], with: { e: '${ steps.a.error }' } }
  g: { function: f, on_error: { continue: 1 } }
  h: { function: f, with: { e: '${ steps.g.error }' } }
`,
		"many at once": `
limits: { max_parallelism: 5000 } #! parallelism
steps:
  a: { foreach: { items: '${ input.items }', max_parallelism: 2000, steps: { x: { function: f } } } } #! parallelism
  b: { foreach: { items: '${ input.items }', max_parallelism: 200, steps: { x: { function: f } } } }
`,
		"what nobody reads": `
vars: { a: 1, b: 2, c: 3 } #! unused-var unused-var
output: '${ steps.z.output }'
steps:
  s: { set: { a: 1 } }
  v: { value: 1 } #! unused-value
  w: { value: '${ vars.c }' }
  x: { value: 2 }
  y: { function: f, needs: [ x ] }
  z: { function: f, with: { n: '${ steps.w.output }' } }
`,
		"what the last steps yield is read": `
vars: { a: 1 }
steps:
  v: { value: 1 }
  g: { group: { steps: { w: { value: 1 }, x: { value: '${ vars }', when: "steps.w.status == 'completed'" } } } }
`,
	})
}
