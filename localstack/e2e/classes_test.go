package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/client"
)

var shop = flag.String("shop", "", "name of the deployed stack of examples/aws-inventory; empty: it is not tested")

// openShop opens the stack of the example, and gives each test workflows of its own.
func openShop(t *testing.T) *shopping {
	if *shop == "" {
		t.Skip("no stack of examples/aws-inventory: deploy it, and name it with -shop shop, as localstack/aws-local.sh test does")
	}
	return &shopping{openStack(t, *shop), fmt.Sprint(time.Now().UnixNano())}
}

type shopping struct {
	*deployed
	mark string
}

// run deploys a document under a name of the test's own, runs it, and returns how it ended.
func (s *shopping) run(t *testing.T, name, text, input string) client.Execution {
	id := s.start(t, name, text, input)
	return eventually(t, name+" ends", func() (client.Execution, bool) {
		e, err := s.client.Get(t.Context(), id)
		return e, err == nil && e.Ended()
	})
}

func (s *shopping) start(t *testing.T, name, text, input string) string {
	w := name + "-" + s.mark
	_, err := s.client.Deploy(t.Context(), name+".yaml", []byte("dsl: wovyr/v1\nname: "+w+"\n"+text))
	require.NoError(t, err)
	e, err := s.client.Start(t.Context(), client.StartRequest{Workflow: w, Input: json.RawMessage(input)})
	require.NoError(t, err)
	return e.ID
}

// document is the example's own document, without its first lines, which name it.
func document(t *testing.T) string {
	text, err := os.ReadFile("../../examples/aws-inventory/order.yaml")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "name: order\n")
	require.True(t, ok)
	return rest
}

// TestClass runs Go activities of a user's own in the function of their worker class, which may not touch a history.
func TestClass(t *testing.T) {
	s := openShop(t)
	arn := s.outputs["PriceArn"]
	e := s.run(t, "order", document(t), fmt.Sprintf(`{"sku":"tea","count":3,"price_arn":%q}`, arn))
	require.Equal(t, "completed", e.Outcome, "%+v", e.Error)
	var out struct {
		Reservation string
		Total       int
	}
	require.NoError(t, json.Unmarshal(e.Output, &out))
	require.Equal(t, 12, out.Total)
	require.Contains(t, out.Reservation, "reserve", "the function was told its idempotency key")

	e = s.run(t, "order-undone", document(t), fmt.Sprintf(`{"sku":"gold","count":3,"price_arn":%q}`, arn))
	require.Equal(t, "compensated", e.Outcome)
	require.Equal(t, "price.unknown", e.Error.Code, "what the Python function raised")

	e = s.run(t, "order-short", document(t), fmt.Sprintf(`{"sku":"tea","count":30,"price_arn":%q}`, arn))
	require.Equal(t, "stock.short", e.Error.Code, "what the Go function returned")

	large := strings.Repeat("x", 300<<10)
	e = s.run(t, "large", "input: { schema: { type: object, properties: { sku: { type: string } } } }\nsteps:\n  a: { function: inventory.reserve, with: { sku: '${ input.sku }', count: 1 } }\noutput: '${ steps.a.output.count }'",
		fmt.Sprintf(`{"sku":%q}`, large))
	require.Equal(t, "completed", e.Outcome, "%+v", e.Error)
	require.JSONEq(t, `1`, string(e.Output))

	e = s.run(t, "large-kind", "input: { schema: { type: object, properties: { sku: { type: string } } } }\nsteps:\n  a: { function: inventory.fingerprint, with: '${ input.sku }' }\noutput: '${ size(steps.a.output) }'", fmt.Sprintf(`{"sku":%q}`, large))
	require.JSONEq(t, `64`, string(e.Output), "a kind of its own that streams its input: %+v", e.Error)

	e = s.run(t, "wide", "input: { schema: { type: object } }\nsteps:\n  all:\n    foreach: { items: '${ [1,2,3,4,5,6,7,8,9,10,11,12] }', as: n, steps: { one: { function: inventory.reserve, with: { sku: tea, count: '${ n - n + 1 }' }, idempotent: true } } }\noutput: '${ size(steps.all.output) }'", `{}`)
	require.JSONEq(t, `12`, string(e.Output), "%+v", e.Error)
}

// clientContext is what an emulator may leave out (leftOut).
const clientContext = "a function hears its idempotency key"

// TestInvoke calls a function of another language in both ways: waiting for it, and letting it answer by the callback's address.
func TestInvoke(t *testing.T) {
	s := openShop(t)
	const input = "input: { schema: { type: object, properties: { sku: { type: string } } } }\n"
	arn := s.outputs["PriceArn"]
	for _, test := range []struct{ name, step, sku, outcome, want string }{
		{"waiting", "with: { sku: '${ input.sku }' }", "cup", "completed", `9`},
		{"answered-later", "callback: true, timeout: 5m, with: { sku: '${ input.sku }', callback: '${ callback.url }' }", "tea", "completed", `4`},
		{"refused", "with: { sku: '${ input.sku }' }", "gold", "failed", "price.unknown"},
		{"refused-later", "callback: true, timeout: 5m, with: { sku: '${ input.sku }', callback: '${ callback.url }' }", "gold", "failed", "price.unknown"},
		{"broken", "with: { goods: '${ input.sku }' }", "tea", "failed", "lambda.function_error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := s.run(t, test.name, input+"steps:\n  a: { function: { arn: '"+arn+"' }, "+test.step+" }\noutput: '${ steps.a.output.price }'", fmt.Sprintf(`{"sku":%q}`, test.sku))
			require.Equal(t, test.outcome, e.Outcome, "%+v", e.Error)
			switch {
			case test.outcome == "failed":
				require.Equal(t, test.want, e.Error.Code, "%+v", e.Error)
			case test.want != "":
				require.JSONEq(t, test.want, string(e.Output))
			}
		})
	}
	if leftOut[*emulator][clientContext] == "" {
		e := s.run(t, "told", input+"steps:\n  a: { function: { arn: '"+arn+"' }, with: { sku: '${ input.sku }' } }\noutput: '${ steps.a.output.quote }'", `{"sku":"tea"}`)
		require.JSONEq(t, fmt.Sprintf("%q", e.ID+"/a"), string(e.Output), "the function was told the idempotency key of the step")
	}
	e := s.run(t, "nobody", input+"steps:\n  a: { function: { arn: '${ input.sku }' } }", fmt.Sprintf(`{"sku":%q}`, strings.Replace(arn, "Price", "Nobody", 1)))
	require.Equal(t, "lambda.not_found", e.Error.Code)
}

// TestRefusedAtDeploy: what the deployment can never run is refused with the place and the way out, before anybody starts it.
func TestRefusedAtDeploy(t *testing.T) {
	s := openShop(t)
	for step, code := range map[string]string{
		"function: inventory.reserve, timeout: 1h":             "aws/timeout",
		"function: inventry.reserve":                           "aws/unknown-function",
		"function: { arn: '" + s.outputs["PriceArn"] + "-2' }": "aws/not-allowed",
		"function: { command: [python3, price.py] }":           "aws/no-programs",
	} {
		_, err := s.client.Deploy(t.Context(), "wrong.yaml", []byte("dsl: wovyr/v1\nname: wrong\nsteps:\n  a: { "+step+" }\n"))
		var refused *client.Problem
		require.ErrorAs(t, err, &refused, step)
		require.Equal(t, "document.refused", refused.Code)
		var found []struct {
			Line             int
			Code, Suggestion string
		}
		require.NoError(t, json.Unmarshal(refused.Diagnostics, &found))
		require.Len(t, found, 1)
		require.Equal(t, code, found[0].Code)
		require.Equal(t, 4, found[0].Line)
		require.NotEmpty(t, found[0].Suggestion)
	}
}
