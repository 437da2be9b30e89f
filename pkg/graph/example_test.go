package graph_test

import (
	"fmt"
	"strings"

	"github.com/wovyr/wovyr/pkg/graph"
	"github.com/wovyr/wovyr/pkg/workflow"
)

func ExampleOf() {
	def := &workflow.Definition{Name: "two", Body: workflow.Body{Steps: []workflow.Step{
		{Name: "pack", Kind: workflow.KindFunction, Call: &workflow.Call{Name: "pack"}},
		{Name: "ship", Kind: workflow.KindFunction, Call: &workflow.Call{Name: "ship"}, Needs: []workflow.Need{{Step: "pack", End: workflow.EndMet}}},
	}}}
	for line := range strings.Lines(graph.Of(def).Mermaid()) {
		if strings.Contains(line, "-->") {
			fmt.Print(strings.TrimSpace(line))
		}
	}
	// Output: n.pack --> n.ship
}
