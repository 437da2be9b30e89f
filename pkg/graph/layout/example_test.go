package layout_test

import (
	"fmt"

	"github.com/wovyr/wovyr/pkg/graph/layout"
)

func ExampleLayered() {
	nodes := []layout.Size{{Width: 80, Height: 30}, {Width: 80, Height: 30}, {Width: 80, Height: 30}}
	edges := []layout.Edge{{From: 0, To: 1}, {From: 0, To: 2}}
	drawing := layout.Layered(nodes, edges, layout.Options{NodeGap: 20, LayerGap: 50})
	for _, place := range drawing.Nodes {
		fmt.Println(place)
	}
	// Output:
	// {50 0 80 30}
	// {0 80 80 30}
	// {100 80 80 30}
}
