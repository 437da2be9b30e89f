package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// TestMemory: what a step asks for is held against the limit of the workflow and the memory of the workers before each attempt is dispatched.
func TestMemory(t *testing.T) {
	const doc = `
limits: { max_memory: WHOLE }
steps:
  a: { function: f, limits: { max_memory: STEP }, on_error: [ { match: error.code == "limits.memory", continue: '${ error.message }' } ] }
`
	for name, c := range map[string]struct {
		whole, step string
		workers     int64
		max         int64 // of the attempt; 0: refused
		says        string
	}{
		"the step's own":          {whole: "512MiB", step: "256MiB", max: 256 << 20},
		"equal":                   {whole: "256MiB", step: "256MiB", workers: 256 << 20, max: 256 << 20},
		"more than the workflow":  {whole: "256MiB", step: "512MiB", says: "the workflow allows 268435456"},
		"more than the workers":   {whole: "1GiB", step: "512MiB", workers: 256 << 20, says: "the workers that run it have 268435456"},
		"workers without a limit": {whole: "1GiB", step: "1GiB", max: 1 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			r := &run{t: t, p: compile(t, strings.NewReplacer("WHOLE", c.whole, "STEP", c.step).Replace(doc)), now: epoch, tries: map[string]int{}}
			r.memory = func(kind, name string) int64 {
				require.Equal(t, "function f", kind+" "+name)
				return c.workers
			}
			r.do(workflow.Start{Execution: "e1", Tenant: "acme", Workflow: "test", Definition: "1", Hash: "h"})
			if c.max > 0 {
				require.Equal(t, c.max, command[workflow.RunActivity](t, r).MaxMemory)
				return
			}
			require.Equal(t, "Completed", r.s.Status.String(), "nothing was dispatched, and the workflow caught it")
			require.Contains(t, r.outcome(), c.says)
		})
	}
}

// TestMemoryOfWorkflow: without a limit of its own a step has the workflow's; workers that have less refuse it. A retry is asked about anew.
func TestMemoryOfWorkflow(t *testing.T) {
	r := &run{t: t, p: compile(t, "limits: { max_memory: 512MiB }\nsteps: { a: { function: f, retry: { delay: 1s } } }\n"), now: epoch, tries: map[string]int{}}
	have := int64(1 << 30)
	r.memory = func(string, string) int64 { return have }
	r.do(workflow.Start{Execution: "e1", Tenant: "acme", Workflow: "test", Definition: "1", Hash: "h"})
	c := command[workflow.RunActivity](t, r)
	require.EqualValues(t, 512<<20, c.MaxMemory)
	r.do(workflow.ActivityResult{AttemptRef: c.AttemptRef, Worker: "w1", StartedAt: r.now,
		Error: &workflow.Error{Code: "http.503", Category: workflow.CategoryExternal, Retryable: true}})
	have = 256 << 20 // the workers were deployed with less meanwhile
	r.now += 2e9
	r.do(workflow.Tick{})
	require.Equal(t, "Failed", r.s.Status.String())
	require.Equal(t, "limits.memory", r.s.Error.Code)
}
