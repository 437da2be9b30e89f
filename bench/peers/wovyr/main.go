// Command wovyr takes the figures of this engine: the local platform in this process, its state in a file of SQLite, every commit synced.
package main

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wovyr/wovyr/bench/peers/harness"
	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/local"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

var (
	folder = flag.String("data", "", "folder of the store, which is made")
	steps  = harness.NewSteps()
)

const tenant = "bench"

type engine struct {
	platform *local.Platform
	stop     func() error
	names    map[string]string // execution → the ID that the harness knows it by; the key of its start
	ends     map[string]chan ending
	mu       sync.Mutex
}

// ending is how an execution ended.
type ending struct {
	output string
	err    error
}

// Start implements harness.Restarter.
func (e *engine) Start() error {
	kinds := activity.NewRegistry()
	if err := kinds.Functions.Add(activity.Func("step", func(ctx context.Context, _ activity.Document) (int, error) {
		return steps.Ran(e.name(activity.Info(ctx).Execution)), nil
	})); err != nil {
		return err
	}
	p, err := local.Open(*folder, local.Options{Activities: kinds, Committed: e.committed})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, time.Minute) }()
	e.platform, e.stop = p, func() error { cancel(); return <-done }
	return nil
}

// Stop implements harness.Restarter. The store is closed too.
func (e *engine) Stop() error { return e.stop() }

// committed hears of every commit once it is durable.
func (e *engine) committed(s eventstore.Stream, events []workflow.Recorded, state *workflow.State) {
	if state.Status.Terminal() {
		e.ended(s.ID, state)
	}
	for _, r := range events {
		if awaited, ok := r.Event.(workflow.EventAwaited); ok {
			k, _ := strconv.Atoi(strings.TrimPrefix(awaited.Patterns[0].Kind, "Go"))
			steps.Parked(e.name(s.ID), k)
		}
	}
}

func (e *engine) ended(id string, state *workflow.State) {
	e.mu.Lock()
	end := e.ends[id]
	delete(e.ends, id)
	delete(e.names, id)
	e.mu.Unlock()
	if end == nil {
		return
	}
	outcome := ending{output: string(state.Output.JSON)}
	if state.Ending != nil && state.Ending.Error != nil {
		outcome.err = state.Ending.Error
	}
	end <- outcome
}

// name is the ID by which the harness knows an execution. Parts of a workflow, such as the shards of a foreach, are named after it.
func (e *engine) name(execution string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	whole, _, _ := strings.Cut(execution, "/")
	return e.names[whole]
}

// Run implements harness.Engine.
func (e *engine) Run(ctx context.Context, kind harness.Kind, n int, id string) (int, error) {
	end, err := e.begin(ctx, kind, n, id)
	if err != nil {
		return 0, err
	}
	outcome := <-end
	if outcome.err != nil {
		return 0, outcome.err
	}
	return strconv.Atoi(outcome.output)
}

// Park implements harness.Engine.
func (e *engine) Park(ctx context.Context, n int, id string) error {
	if err := e.deploy(ctx, harness.Park, n); err != nil {
		return err
	}
	_, err := e.begin(ctx, harness.Park, n, id)
	return err
}

func (e *engine) begin(ctx context.Context, kind harness.Kind, n int, id string) (<-chan ending, error) {
	r := worker.StartRequest{Tenant: tenant, Workflow: workflowName(kind, n), Key: id, Input: workflow.Value("{}")}
	execution, end := e.platform.Worker.ExecutionID(r), make(chan ending, 1)
	e.mu.Lock()
	e.names[execution], e.ends[execution] = id, end
	e.mu.Unlock()
	_, err := e.platform.Worker.Start(ctx, r)
	return end, err
}

// Signal implements harness.Engine.
func (e *engine) Signal(ctx context.Context, id string, k int) error {
	e.mu.Lock()
	var execution string
	for x, name := range e.names { // order-free: names are unique
		if name == id {
			execution = x
		}
	}
	e.mu.Unlock()
	event := workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: fmt.Sprintf("%s-%d", id, k), Kind: fmt.Sprintf("Go%d", k)}}
	return e.platform.Ask(ctx, eventstore.Stream{Tenant: tenant, ID: execution}, event)
}

func workflowName(kind harness.Kind, n int) string { return fmt.Sprintf("%s-%d", kind, n) }

// deploy makes a workflow known.
func (e *engine) deploy(ctx context.Context, kind harness.Kind, n int) error {
	text := "dsl: wovyr/v1\nname: " + workflowName(kind, n) + "\n" + bodies[kind](n)
	def, diagnostics := dsl.Compile("bench.yaml", []byte(text))
	if def == nil {
		return fmt.Errorf("the workflow is refused: %v", diagnostics)
	}
	_, _, err := e.platform.Worker.Deploy(ctx, tenant, def)
	return err
}

// bodies are the workflows of n steps. All return the sum of what their steps returned.
var bodies = map[harness.Kind]func(n int) string{
	harness.Sequence: func(n int) string {
		var b strings.Builder
		sum := make([]string, n)
		b.WriteString("steps:\n  s0: { function: step, with: { n: 0 } }\n")
		for i := range n {
			sum[i] = fmt.Sprintf("steps.s%d.output", i)
			if i > 0 {
				fmt.Fprintf(&b, "  s%d: { needs: [s%d], function: step, with: { n: %d } }\n", i, i-1, i)
			}
		}
		return b.String() + "output: '${ sum([" + strings.Join(sum, ", ") + "]) }'\n"
	},
	harness.Fan: func(n int) string {
		return fmt.Sprintf(`steps:
  all: { foreach: { items: '${ range(%d) }', as: n, max_parallelism: %d, steps: { s: { function: step, with: { n: '${ n }' } } } } }
output: '${ sum(steps.all.output) }'
`, n, n)
	},
	harness.Park: func(n int) string {
		return fmt.Sprintf(`limits: { timeout: 1d }
steps:
  before: { loop: { until: iteration >= %d, max: %d, steps: { s: { function: step, with: { n: '${ iteration }' } } } } }
  wait1: { needs: [before], event: { type: Go1 } }
  next1: { needs: [wait1], function: step }
  wait2: { needs: [next1], event: { type: Go2 } }
  next2: { needs: [wait2], function: step }
`, n, n)
	},
}

func main() {
	flag.Parse()
	e := &engine{names: map[string]string{}, ends: map[string]chan ending{}}
	harness.Must(e.Start())
	for _, w := range []struct {
		kind harness.Kind
		n    int
	}{{harness.Sequence, 1}, {harness.Sequence, 10}, {harness.Sequence, 100}, {harness.Fan, 100}} {
		harness.Must(e.deploy(context.Background(), w.kind, w.n))
	}
	harness.Main(e, e, steps)
}
