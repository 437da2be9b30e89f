package fit

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/dsl"
)

const price = "arn:aws:lambda:eu-north-1:111122223333:function:price"

// shop is a deployment with a class of its user's that may run a minute at a time.
var shop = stack.Deployment{Routes: []stack.Route{{Functions: "inventory.*", Class: "inventory"}, {Functions: "pay", Class: "money"}}, Timeouts: map[string]time.Duration{"inventory": time.Minute, "money": 4 * time.Second},
	Functions: []string{"std.echo", "std.sleep"}, Invoke: []string{price, "arn:aws:lambda:eu-north-1:111122223333:function:shop-*-v1"}}

// TestCheck: what can never run is found where it stands, with the way out; what may run is not.
func TestCheck(t *testing.T) {
	for name, test := range map[string]struct {
		steps string
		// found are code, line, and a part of what is said, of each finding; empty: none.
		found []string
		// unknown is what is found where the deployment is not known.
		unknown []string
	}{
		"as long as the function runs":  {steps: "  a: { function: std.echo, timeout: 14m55s }"},
		"longer than any function runs": {"  a: { function: std.echo, timeout: 15m }", []string{"aws/timeout 4 step a may take 15m, and the function of class default that runs it takes at most 14m55s"}, []string{"aws/timeout 4 no function on AWS runs longer than 14m55s"}},
		"longer than a request's": {"  a: { http: { url: https://shop.example/ }, timeout: 2h }", []string{"aws/timeout 4 step a may take 2h"},
			[]string{"aws/timeout 4 step a may take 2h"}},
		"a class of a minute":         {"  a:\n    function: inventory.reserve\n    timeout: 56s", []string{"aws/timeout 4 class inventory that runs it takes at most 55s"}, nil},
		"a class of four seconds":     {"  a: { function: pay, timeout: 3s }", []string{"aws/timeout 4 class money that runs it takes at most 2s"}, nil},
		"a minute is enough":          {steps: "  a: { function: inventory.reserve, timeout: 55s }"},
		"it answers later":            {steps: "  a: { function: { url: https://shop.example/ }, callback: true, timeout: 7d }"},
		"it only waits":               {steps: "  a: { event: { type: paid }, wait_timeout: 7d }\n  b: { timer: { for: 30d } }\n  c: { human: { title: ok?, timeout: 9d } }"},
		"an expression says how long": {steps: "  a: { function: std.echo, timeout: '${ input.long }' }"},
		"a default":                   {"  a: { function: std.echo }\ndefaults: { timeout: 1h }", []string{"aws/timeout 4 step a may take 1h"}, []string{"aws/timeout 4 step a may take 1h"}},
		"inside bodies": {"  all:\n    foreach: { items: '${ [1] }', steps: { a: { script: { js: '1' }, timeout: 1h } } }\n  r:\n    race: { x: { steps: { b: { script: { js: '1' }, timeout: 1h } } }, y: { steps: { c: { timer: { for: 1s } } } } }",
			[]string{"aws/timeout 5 step a", "aws/timeout 7 step b"}, []string{"aws/timeout 5 step a", "aws/timeout 7 step b"}},
		"a compensation":               {"  a: { function: std.echo, compensate: { function: std.echo, timeout: 20m } }", []string{"aws/timeout 4 the compensation of step a may take 20m"}, []string{"aws/timeout 4 may take 20m"}},
		"a function that nobody has":   {"  a: { function: inventry.reserve }", []string{`aws/unknown-function 4 no worker class of this deployment runs the function "inventry.reserve"`}, nil},
		"nearly one of ours":           {"  a: { function: std.ecko }", []string{`aws/unknown-function 4 did you mean "std.echo"?`}, nil},
		"an expression says which":     {steps: "  a: { function: '${ input.which }' }"},
		"a program":                    {"  a: { function: { command: [python3, price.py] } }", []string{"aws/no-programs 4 function: { arn: … }"}, []string{"aws/no-programs 4 `command`"}},
		"a Lambda function":            {steps: "  a: { function: { arn: '" + price + "' } }\n  b: { function: { arn: '" + strings.Replace(price, "price", "shop-x-v1", 1) + "' } }"},
		"one that may not be called":   {"  a: { function: { arn: '" + price + "-2' } }", []string{"aws/not-allowed 4 this deployment may not call " + price + "-2"}, nil},
		"an expression says its ARN":   {steps: "  a: { function: { arn: '${ input.arn }' } }"},
		"a kind that runs nowhere yet": {"  a: { ai: { model: m, prompt: hi } }", []string{"aws/unknown-kind 4 nothing on AWS runs steps of kind `ai` yet"}, []string{"aws/unknown-kind 4 `function`"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := "dsl: wovyr/v1\nname: w\nsteps:\n" + test.steps + "\n"
			def, diagnostics := dsl.Compile("w.yaml", []byte(text))
			require.NotNil(t, def, "%v", diagnostics)
			requireFound(t, test.found, Check(shop, "w.yaml", def))
			if test.unknown != nil || test.found == nil {
				requireFound(t, test.unknown, Check(stack.Deployment{Unknown: true}, "w.yaml", def))
			}
		})
	}
}

// requireFound compares findings with "code line part-of-what-is-said".
func requireFound(t *testing.T, want []string, found []dsl.Diagnostic) {
	t.Helper()
	require.Len(t, found, len(want), "%v", found)
	for i, w := range want {
		code, rest, _ := strings.Cut(w, " ")
		line, says, _ := strings.Cut(rest, " ")
		require.Equal(t, code, found[i].Code)
		require.Equal(t, line, strconv.Itoa(found[i].Line))
		require.Contains(t, found[i].Message+" "+found[i].Suggestion, says)
		require.NotEmpty(t, found[i].Suggestion, "the way out")
		require.Equal(t, dsl.SeverityError, found[i].Severity)
		require.Equal(t, "w.yaml", found[i].File)
	}
}
