package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
	return workflow.Step{
		Name: name, Kind: workflow.KindFunction, Join: workflow.Join{Mode: workflow.JoinAll},
		Call: &workflow.Call{Name: "f", Target: &workflow.Template{JSON: workflow.Value(`"f"`)}, With: &workflow.Template{JSON: payload256}},
	}
}

var payload256 = workflow.Value(`"` + strings.Repeat("x", 254) + `"`)

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

var startInput = workflow.Start{Execution: "e1", Tenant: "acme", Workflow: "bench", Definition: "1"}

// drive runs a whole execution, one decision for each result together with the eager start of what follows.
func drive(tb testing.TB, p *Program, keep bool) (decisions int, history []workflow.Recorded) {
	env := Env{Now: epoch, Worker: "w1", By: "m1"}
	d, err := Decide(p, nil, startInput, env)
	require.NoError(tb, err)
	if keep {
		history = append(history, d.Events...)
	}
	decisions++
	queue := d.Commands
	for len(queue) > 0 && !d.State.Status.Terminal() {
		c := queue[0]
		queue = queue[1:]
		t := NewTurn(p, d.State, env)
		switch c := c.(type) {
		case workflow.RunActivity:
			err = t.Handle(workflow.ActivityResult{AttemptRef: c.AttemptRef, Worker: "w1", StartedAt: env.Now, Output: workflow.Payload{JSON: payload256}})
		case workflow.SendContinue:
			err = t.Handle(workflow.Continue{})
		default:
			continue
		}
		if err != nil {
			tb.Fatal(err)
		}
		d = t.Decision()
		decisions++
		queue = append(queue, d.Commands...)
		if keep {
			history = append(history, d.Events...)
		}
	}
	if !d.State.Status.Terminal() {
		tb.Fatalf("the execution is %s", d.State.Status)
	}
	return decisions, history
}

func BenchmarkDecide(b *testing.B) {
	shapes := []struct {
		name string
		of   func(int) *workflow.Definition
	}{{"chain", chainOf}, {"parallel", parallelOf}}
	for _, shape := range shapes {
		for _, n := range []int{10, 100, 1000, 10000} {
			b.Run(fmt.Sprintf("%s/%d", shape.name, n), func(b *testing.B) {
				p, err := Link(shape.of(n))
				require.NoError(b, err)
				b.ReportAllocs()
				steps := 0
				for b.Loop() {
					d, _ := drive(b, p, false)
					steps += d
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/decision")
			})
		}
	}
}

func BenchmarkReplay(b *testing.B) {
	for _, n := range []int{2, 200, 20000} { // five events a step
		p, err := Link(chainOf(n))
		require.NoError(b, err)
		_, history := drive(b, p, true)
		b.Run(fmt.Sprint(len(history)), func(b *testing.B) {
			for b.Loop() {
				if _, err := Replay(p, nil, history); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(history))*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
