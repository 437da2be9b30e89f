package expr_test

import (
	"fmt"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// input binds the name input to a JSON value.
func input(json string) *expr.Activation {
	return expr.NewActivation(func(name string) (expr.Binding, bool) {
		return expr.OfValue(workflow.Value(json)), name == "input"
	})
}

func Example() {
	schema := workflow.Value(`{"properties":{"items":{"items":{"properties":{"price":{"type":"number"}}}},"total":{"type":"number"}}}`)
	scope := expr.NewScope().With("input", expr.SchemaType(schema))

	// The compiler of definitions checks, and says what to write instead.
	_, issues := expr.Compile("input.totl > 1000", workflow.Position{Line: 12, Column: 11}, scope)
	fmt.Println(issues[0])

	// The engine evaluates what was stored.
	x, _ := expr.Compile("input.items.map(i, i.price).sum()", workflow.Position{}, scope)
	stored := x.Definition()
	loaded, _ := expr.Load(stored)
	result, err := loaded.Eval(input(`{"items":[{"price":99.5},{"price":10}]}`))
	fmt.Println(result.JSON, err)
	// Output:
	// 12:17: there is no field `totl` [expression.name]; did you mean `total`?
	// 109.5 <nil>
}

func ExampleTemplate() {
	src := workflow.Value(`{"to":"${ input.email }","text":"Order ${ input.id }: ${ input.total } EUR","auth":"Bearer ${ secrets.mail }"}`)
	t, _ := expr.CompileTemplate(src, nil, nil)
	p, err := t.Render(input(`{"email":"ada@example.org","id":7,"total":12.5}`))
	fmt.Println(p.JSON, err)

	// The secret is read by the worker that runs the activity.
	hole := p.Holes[0]
	v, err := expr.ResolveDeferred(*hole.Deferred, func(root string) (expr.Binding, bool) {
		return expr.OfValue(workflow.Value(`{"mail":"t0ken"}`)), root == "secrets"
	})
	fmt.Println(hole.At, v, err)
	// Output:
	// {"auth":null,"text":"Order 7: 12.5 EUR","to":"ada@example.org"} <nil>
	// /auth "Bearer t0ken" <nil>
}

func ExamplePattern() {
	p, _ := expr.CompilePattern(workflow.Value(`{"type":"invoice","total":"${ value > 1000 }","id":"$id"}`), nil, nil, nil)
	binds, ok, err := p.Match(expr.OfValue(workflow.Value(`{"id":"in_1","total":1500,"type":"invoice"}`)), input(`null`))
	fmt.Println(ok, binds["id"].JSON, err)
	// Output: true "in_1" <nil>
}

func ExampleExpr_Reads() {
	x, _ := expr.Compile("steps.risk.output.score > 0.8 && size(input.items) > 3", workflow.Position{}, nil)
	for _, read := range x.Reads() {
		fmt.Println(read)
	}
	// Output:
	// input.items (size)
	// steps.risk.output.score
}

func ExampleCanonical() {
	v, _ := expr.Canonical([]byte(`{"b": [1, 2.50, 1e2], "a": "\u00e9\/"}`))
	fmt.Println(v)
	_, err := expr.Canonical([]byte(`{"a": 1, "a": 2}`))
	fmt.Println(err)
	// Output:
	// {"a":"é/","b":[1,2.5,100.0]}
	// payload.invalid: not JSON at byte 15: the key "a" stands twice in this object
}

func ExampleParseDuration() {
	d, _ := expr.ParseDuration("1d12h")
	fmt.Println(expr.FormatDuration(d))
	_, err := expr.ParseDuration("2 weeks")
	fmt.Println(err)
	// Output:
	// 36h
	// expression.range: "2 weeks" is no duration; write it as 30s, 15m, 36h, 1d12h or 500ms
}
