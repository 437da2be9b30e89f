// Command goworkflows takes the figures of cschleiden/go-workflows: a library, whose state is in a file of SQLite here, with its worker in
// this process.
package main

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"strconv"
	"time"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/monoprocess"
	"github.com/cschleiden/go-workflows/backend/sqlite"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"

	"github.com/wovyr/wovyr/bench/peers/harness"
)

var (
	file  = flag.String("file", "", "file of SQLite, which is made")
	steps = harness.NewSteps()
)

func step(_ context.Context, id string) (int, error) { return steps.Ran(id), nil }

func call(ctx workflow.Context, id string) workflow.Future[int] {
	return workflow.ExecuteActivity[int](ctx, workflow.DefaultActivityOptions, step, id)
}

func work(ctx workflow.Context, kind harness.Kind, id string, n int) (int, error) {
	if kind == harness.Fan {
		return fan(ctx, id, n)
	}
	sum := 0
	for range n {
		x, err := call(ctx, id).Get(ctx)
		if err != nil {
			return 0, err
		}
		sum += x
	}
	if kind != harness.Park {
		return sum, nil
	}
	for k := 1; k <= 2; k++ {
		steps.Parked(id, k)
		workflow.NewSignalChannel[int](ctx, strconv.Itoa(k)).Receive(ctx)
		if _, err := call(ctx, id).Get(ctx); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

func fan(ctx workflow.Context, id string, n int) (int, error) {
	running := make([]workflow.Future[int], n)
	for i := range running {
		running[i] = call(ctx, id)
	}
	sum := 0
	for _, r := range running {
		x, err := r.Get(ctx)
		if err != nil {
			return 0, err
		}
		sum += x
	}
	return sum, nil
}

type engine struct {
	backend backend.Backend
	client  *client.Client
	worker  *worker.Worker
	stop    context.CancelFunc
}

// Start implements harness.Restarter. A new worker has an empty cache.
func (e *engine) Start() error {
	e.worker = worker.New(e.backend, &worker.DefaultOptions)
	if err := e.worker.RegisterWorkflow(work); err != nil {
		return err
	}
	if err := e.worker.RegisterActivity(step); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.stop = cancel
	return e.worker.Start(ctx)
}

// Stop implements harness.Restarter.
func (e *engine) Stop() error {
	e.stop()
	return e.worker.WaitForCompletion()
}

func (e *engine) begin(ctx context.Context, kind harness.Kind, n int, id string) (*workflow.Instance, error) {
	return e.client.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{InstanceID: id}, work, kind, id, n)
}

// Run implements harness.Engine. The client looks for the result again and again, at growing intervals of its own.
func (e *engine) Run(ctx context.Context, kind harness.Kind, n int, id string) (int, error) {
	i, err := e.begin(ctx, kind, n, id)
	if err != nil {
		return 0, err
	}
	return client.GetWorkflowResult[int](ctx, e.client, i, 10*time.Minute)
}

// Park implements harness.Engine.
func (e *engine) Park(ctx context.Context, n int, id string) error {
	_, err := e.begin(ctx, harness.Park, n, id)
	return err
}

// Signal implements harness.Engine.
func (e *engine) Signal(ctx context.Context, id string, k int) error {
	return e.client.SignalWorkflow(ctx, id, strconv.Itoa(k), 1)
}

func main() {
	flag.Parse()
	options := sqlite.WithBackendOptions(backend.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))), backend.WithMaxHistorySize(1_000_000))
	// In one process, workers are woken at once instead of looking every 200 ms.
	b := monoprocess.NewMonoprocessBackend(sqlite.NewSqliteBackend(*file, options))
	e := &engine{backend: b, client: client.New(b)}
	harness.Must(e.Start())
	harness.Main(e, e, steps)
}
