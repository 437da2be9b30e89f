package engine_test

import (
	"fmt"

	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// A start is decided, its events are stored by the shell, and only then its command is carried out.
func ExampleDecide() {
	def, problems := dsl.Compile("greet.yaml", []byte(`
dsl: wovyr/v1
name: greet
steps:
  hello: { function: hello, with: { to: '${ input }' } }
`))
	if def == nil {
		panic(problems)
	}
	program, err := engine.Link(def)
	if err != nil {
		panic(err)
	}
	start := workflow.Start{Execution: "e1", Tenant: "acme", Workflow: "greet", Definition: "1", Hash: dsl.Hash(def), Input: workflow.Inline(workflow.Value(`"Ann"`))}
	decision, err := engine.Decide(program, nil, start, engine.Env{Now: 1, Worker: "w1"})
	if err != nil {
		panic(err)
	}
	for _, e := range decision.Events {
		fmt.Println(e.Version, e.Event.Type())
	}
	for _, c := range decision.Commands {
		run := c.(workflow.RunActivity)
		fmt.Println("run", run.Name, "with", run.Input.JSON)
	}
	// Output:
	// 1 WorkflowCreated
	// 2 WorkflowValidated
	// 3 WorkflowScheduled
	// 4 WorkflowStarted
	// 5 ActivityReady
	// 6 ActivityScheduled
	// run hello with {"to":"Ann"}
}
