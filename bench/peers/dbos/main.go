// Command dbos takes the figures of DBOS Transact for Go: a library, whose state is in PostgreSQL here. A step runs inside the
// function of its workflow.
package main

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"strconv"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/wovyr/wovyr/bench/peers/harness"
)

var (
	database = flag.String("database", "", "URL of the PostgreSQL database")
	steps    = harness.NewSteps()
	quiet    = slog.New(slog.NewTextHandler(io.Discard, nil))
)

// order is the input of a workflow.
type order struct {
	Kind harness.Kind
	ID   string
	N    int
}

func work(ctx dbos.Context, in order) (int, error) {
	step := func(context.Context) (int, error) { return steps.Ran(in.ID), nil }
	if in.Kind == harness.Fan {
		return fan(ctx, in.N, step)
	}
	sum := 0
	for range in.N {
		n, err := dbos.RunAsStep(ctx, step)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	if in.Kind != harness.Park {
		return sum, nil
	}
	for k := 1; k <= 2; k++ {
		steps.Parked(in.ID, k)
		if _, err := dbos.Recv[string](ctx, strconv.Itoa(k), time.Hour); err != nil {
			return 0, err
		}
		if _, err := dbos.RunAsStep(ctx, step); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

func fan(ctx dbos.Context, n int, step dbos.Step[int]) (int, error) {
	running := make([]<-chan dbos.StepOutcome[int], n)
	for i := range running {
		var err error
		if running[i], err = dbos.Go(ctx, step); err != nil {
			return 0, err
		}
	}
	sum := 0
	for _, r := range running {
		o := <-r
		if o.Err != nil {
			return 0, o.Err
		}
		sum += o.Result
	}
	return sum, nil
}

type engine struct {
	worker dbos.Context
	client dbos.Client
}

// Start implements harness.Restarter.
func (e *engine) Start() (err error) {
	e.worker, err = dbos.NewContext(context.Background(), dbos.Config{DatabaseURL: *database, AppName: "bench", ApplicationVersion: "1", Logger: quiet})
	if err != nil {
		return err
	}
	dbos.RegisterWorkflow(e.worker, work)
	return dbos.Launch(e.worker)
}

// Stop implements harness.Restarter.
func (e *engine) Stop() error { return dbos.Shutdown(e.worker, 5*time.Second) }

// Run implements harness.Engine.
func (e *engine) Run(_ context.Context, kind harness.Kind, n int, id string) (int, error) {
	h, err := dbos.RunWorkflow(e.worker, work, order{kind, id, n}, dbos.WithWorkflowID(id))
	if err != nil {
		return 0, err
	}
	return h.GetResult()
}

// Park implements harness.Engine.
func (e *engine) Park(_ context.Context, n int, id string) error {
	_, err := dbos.RunWorkflow(e.worker, work, order{harness.Park, id, n}, dbos.WithWorkflowID(id))
	return err
}

// Signal implements harness.Engine.
func (e *engine) Signal(_ context.Context, id string, k int) error {
	return dbos.Send(e.client, id, "go", strconv.Itoa(k))
}

func main() {
	flag.Parse()
	e := &engine{}
	harness.Must(e.Start())
	var err error
	e.client, err = dbos.NewClient(context.Background(), dbos.ClientConfig{DatabaseURL: *database, AppName: "bench", Logger: quiet})
	harness.Must(err)
	harness.Main(e, e, steps)
}
