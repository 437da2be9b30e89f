// Command temporal takes the figures of Temporal: worker and client of the Go SDK in this process, the server beside it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/wovyr/wovyr/bench/peers/harness"
)

const queue, namespace = "bench", "bench"

var (
	address = flag.String("address", "127.0.0.1:7233", "the server's frontend")
	steps   = harness.NewSteps()
)

func step(_ context.Context, id string) (int, error) { return steps.Ran(id), nil }

func work(ctx workflow.Context, kind harness.Kind, n int) (int, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	id := workflow.GetInfo(ctx).WorkflowExecution.ID
	call := func() (x int, err error) {
		err = workflow.ExecuteActivity(ctx, step, id).Get(ctx, &x)
		return x, err
	}
	if kind == harness.Fan {
		return fan(ctx, id, n)
	}
	sum := 0
	for range n {
		x, err := call()
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
		workflow.GetSignalChannel(ctx, strconv.Itoa(k)).Receive(ctx, nil)
		if _, err := call(); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

func fan(ctx workflow.Context, id string, n int) (int, error) {
	running := make([]workflow.Future, n)
	for i := range running {
		running[i] = workflow.ExecuteActivity(ctx, step, id)
	}
	sum := 0
	for _, r := range running {
		var x int
		if err := r.Get(ctx, &x); err != nil {
			return 0, err
		}
		sum += x
	}
	return sum, nil
}

type engine struct {
	client client.Client
	worker worker.Worker
}

// Start implements harness.Restarter.
func (e *engine) Start() error {
	e.worker = worker.New(e.client, queue, worker.Options{})
	e.worker.RegisterWorkflow(work)
	e.worker.RegisterActivity(step)
	return e.worker.Start()
}

// Stop implements harness.Restarter. The cache of workflows is the process' own, so it is emptied too.
func (e *engine) Stop() error {
	e.worker.Stop()
	worker.PurgeStickyWorkflowCache()
	return nil
}

func (e *engine) begin(ctx context.Context, kind harness.Kind, n int, id string) (client.WorkflowRun, error) {
	return e.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: queue}, work, kind, n)
}

// Run implements harness.Engine.
func (e *engine) Run(ctx context.Context, kind harness.Kind, n int, id string) (sum int, err error) {
	r, err := e.begin(ctx, kind, n, id)
	if err != nil {
		return 0, err
	}
	err = r.Get(ctx, &sum)
	return sum, err
}

// Park implements harness.Engine.
func (e *engine) Park(ctx context.Context, n int, id string) error {
	_, err := e.begin(ctx, harness.Park, n, id)
	return err
}

// Signal implements harness.Engine.
func (e *engine) Signal(ctx context.Context, id string, k int) error {
	return e.client.SignalWorkflow(ctx, id, "", strconv.Itoa(k), nil)
}

// silent leaves out the SDK's log but for errors.
type silent struct{}

func (silent) Debug(string, ...any)              {}
func (silent) Info(string, ...any)               {}
func (silent) Warn(string, ...any)               {}
func (silent) Error(message string, args ...any) { fmt.Fprintln(os.Stderr, message, args) }

// connect waits until the server is up and knows the namespace.
func connect(ctx context.Context) (client.Client, error) {
	options := client.Options{HostPort: *address, Namespace: namespace, Logger: silent{}}
	names, err := client.NewNamespaceClient(options)
	if err != nil {
		return nil, err
	}
	defer names.Close()
	if err := patiently(ctx, func(ctx context.Context) error {
		err := names.Register(ctx, &workflowservice.RegisterNamespaceRequest{Namespace: namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour)})
		var there *serviceerror.NamespaceAlreadyExists
		if err != nil && !errors.As(err, &there) {
			return err
		}
		_, err = names.Describe(ctx, namespace)
		return err
	}); err != nil {
		return nil, err
	}
	var c client.Client
	err = patiently(ctx, func(ctx context.Context) (err error) {
		if c == nil {
			if c, err = client.DialContext(ctx, options); err != nil {
				return err
			}
		}
		_, err = c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace})
		return err
	})
	return c, err
}

// patiently tries something for a minute.
func patiently(ctx context.Context, try func(context.Context) error) (err error) {
	for range 60 {
		attempt, cancel := context.WithTimeout(ctx, 5*time.Second)
		err = try(attempt)
		cancel()
		if err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func main() {
	flag.Parse()
	e := &engine{}
	var err error
	e.client, err = connect(context.Background())
	harness.Must(err)
	harness.Must(e.Start())
	harness.Main(e, e, steps)
}
