package dsl_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/dsl"
)

// TestSecrets: every place where a secret can be named is found, wherever the step stands, with its place.
func TestSecrets(t *testing.T) {
	const document = `dsl: wovyr/v1
name: all
on_failure: compensate
triggers:
  - webhook: { path: /hooks/pay, verify: { hmac_sha256: hooks, header: X-Signature } }
  - webhook: { path: /hooks/ship, verify: { bearer: ship } }
steps:
  a:
    http:
      url: https://x.example
      headers:
        Authorization: 'Bearer ${ secrets.one }'
        X: '${ secrets["two"] + secrets.one }'
    compensate: { function: f, with: { list: [ 1, 'x ${ secrets.three }' ] } }
  each: { foreach: { items: '${ [ 1 ] }', as: it, steps: { b: { function: f, with: '${ secrets.four }' } } } }
  r: { race: { x: { steps: { c: { function: f, with: '${ secrets.?five.orValue("") }' } } }, y: { steps: { d: { timer: { for: 1h } } } } } }
  l: { loop: { max: 2, on_max: stop, until: false, steps: { e: { group: { steps: { f: { function: f, with: '${ secrets.six }' } } } } } } }
  ask: { human: { title: x, notify: { function: f, with: '${ secrets.seven }' } }, timeout: 1d }
  none: { function: f, with: 'secrets.eight' }
`
	def, found := dsl.Compile("all.yaml", []byte(document))
	require.NotNil(t, def, "%v", found)
	var got []string
	for _, use := range dsl.Secrets(def) {
		got = append(got, fmt.Sprintf("%s %d", use.Name, use.At.Line))
	}
	require.Equal(t, []string{"one 12", "two 13", "three 14", "four 15", "five 16", "six 17", "seven 18", "hooks 0", "ship 0"}, got)
}
