package engine

import (
	"fmt"
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// chainOf is a workflow of n activities, one after the other, without expressions.
func chainOf(n int) *workflow.Definition {
	def := &workflow.Definition{Format: workflow.FormatV1, Name: "chain"}
	for i := range n {
		st := callStep(fmt.Sprintf("s%d", i))
		if i > 0 {
			st.Needs = []workflow.Need{{Step: fmt.Sprintf("s%d", i-1), End: workflow.EndMet}}
		}
		def.Body.Steps = append(def.Body.Steps, st)
	}
	def.Body.Last = []string{fmt.Sprintf("s%d", n-1)}
	return def
}

func callStep(name string) workflow.Step {
	with := workflow.Value(`"` + strings.Repeat("x", 254) + `"`)
	return workflow.Step{
		Name: name, Kind: workflow.KindFunction, Join: workflow.Join{Mode: workflow.JoinAll},
		Call: &workflow.Call{Name: "f", Target: &workflow.Template{JSON: workflow.Value(`"f"`)}, With: &workflow.Template{JSON: with}},
	}
}

// parallelOf is n activities side by side and one that joins them.
func parallelOf(n int) *workflow.Definition {
	def := &workflow.Definition{Format: workflow.FormatV1, Name: "parallel"}
	join := callStep("join")
	for i := range n {
		st := callStep(fmt.Sprintf("s%05d", i))
		def.Body.Steps = append(def.Body.Steps, st)
		join.Needs = append(join.Needs, workflow.Need{Step: st.Name, End: workflow.EndMet})
	}
	def.Body.Steps = append(def.Body.Steps, join)
	def.Body.Last = []string{"join"}
	return def
}
