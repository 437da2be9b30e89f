package dsl_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/wovyr/wovyr/pkg/dsl"
)

func ExampleCompile() {
	def, diagnostics := dsl.Compile("order.yaml", []byte(`
dsl: wovyr/v1
name: order
steps:
  reserve: { function: inventory.reserve, with: { items: '${ input.items }' } }
  ship:    { function: shipping.create, with: { from: '${ steps.reserve.output.warehouse }' } }
`))
	fmt.Println(len(diagnostics), "findings")
	for _, step := range def.Body.Steps {
		fmt.Println(step.Name, step.Kind, step.Needs)
	}
	// Output:
	// 0 findings
	// reserve function []
	// ship function [{reserve met true}]
}

func ExampleRender() {
	document := []byte(`dsl: wovyr/v1
name: order
steps:
  ship: { functoin: shipping.create, timeout: 30 }
`)
	_, diagnostics := dsl.Compile("order.yaml", document)
	if err := dsl.Render(os.Stdout, diagnostics, document); err != nil {
		panic(err)
	}
	// Output:
	// order.yaml:4:11: error: `functoin` is not a word of a step [dsl/unknown-word]
	//  4 |   ship: { functoin: shipping.create, timeout: 30 }
	//    |           ^^^^^^^^
	//    = did you mean `function`?
	//
	// order.yaml:4:47: error: `timeout` must be a duration or an expression, not a whole number (30) [dsl/type]
	//  4 |   ship: { functoin: shipping.create, timeout: 30 }
	//    |                                               ^^
	//    = write a number with a unit in one word, such as 30s, 15m, 2h, 7d or 1d12h
}

func ExampleHash() {
	def, _ := dsl.Compile("wait.yaml", []byte("{dsl: wovyr/v1, name: wait, steps: {wait: {timer: {for: 1h}}}}"))
	fmt.Println(len(dsl.Hash(def)), "hex digits")
	// Output: 64 hex digits
}

func ExampleSchema() {
	fmt.Println(strings.Contains(string(dsl.Schema()), `"title": "Wovyr workflow, version wovyr/v1"`))
	// Output: true
}

func ExampleReference() {
	title, _, _ := strings.Cut(string(dsl.Reference()), "\n")
	fmt.Println(title)
	// Output: # The workflow language, version wovyr/v1
}
