// Command restate takes the figures of Restate: the service is in this process, the server beside it. A step is a Run of the SDK.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	restate "github.com/restatedev/sdk-go"
	"github.com/restatedev/sdk-go/ingress"
	"github.com/restatedev/sdk-go/server"

	"github.com/wovyr/wovyr/bench/peers/harness"
)

var (
	ingressURL = flag.String("ingress", "http://127.0.0.1:8080", "the server's ingress")
	adminURL   = flag.String("admin", "http://127.0.0.1:9070", "the server's admin API")
	listen     = flag.String("listen", "127.0.0.1:9080", "address of the service in this process")
	steps      = harness.NewSteps()
)

// order is the input of a workflow.
type order struct {
	Kind harness.Kind
	ID   string
	N    int
}

// Work is the workflow. Its name is that of the service.
type Work struct{}

// Run is the workflow itself.
func (Work) Run(ctx restate.WorkflowContext, in order) (int, error) {
	step := func(restate.RunContext) (int, error) { return steps.Ran(in.ID), nil }
	if in.Kind == harness.Fan {
		return fan(ctx, in.N, step)
	}
	sum := 0
	for range in.N {
		n, err := restate.Run(ctx, step)
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
		if _, err := restate.Promise[bool](ctx, promise(k)).Result(); err != nil {
			return 0, err
		}
		if _, err := restate.Run(ctx, step); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

func promise(k int) string { return fmt.Sprintf("go%d", k) }

func fan(ctx restate.WorkflowContext, n int, step func(restate.RunContext) (int, error)) (int, error) {
	running := make([]restate.RunAsyncFuture[int], n)
	for i := range running {
		running[i] = restate.RunAsync(ctx, step)
	}
	sum := 0
	for _, r := range running {
		x, err := r.Result()
		if err != nil {
			return 0, err
		}
		sum += x
	}
	return sum, nil
}

// Go keeps the promise that the workflow waits for.
func (Work) Go(ctx restate.WorkflowSharedContext, k int) (restate.Void, error) {
	return restate.Void{}, restate.Promise[bool](ctx, promise(k)).Resolve(true)
}

type engine struct {
	client *ingress.Client
	stop   context.CancelFunc
	done   chan error
}

// Start implements harness.Restarter. A waiting workflow is suspended after 100 ms instead of a minute, so that a restart finds it at rest.
func (e *engine) Start() error {
	ctx, cancel := context.WithCancel(context.Background())
	e.stop, e.done = cancel, make(chan error, 1)
	service := server.NewRestate().WithLogger(slog.NewTextHandler(io.Discard, nil), true).
		Bind(restate.Reflect(Work{}, restate.WithInactivityTimeout(100*time.Millisecond)))
	go func() { e.done <- service.Start(ctx, *listen) }()
	for {
		c, err := net.Dial("tcp", *listen)
		if err == nil {
			return c.Close()
		}
		select {
		case err := <-e.done:
			return err
		case <-time.After(time.Millisecond):
		}
	}
}

// Stop implements harness.Restarter.
func (e *engine) Stop() error {
	e.stop()
	<-e.done
	return nil
}

// Run implements harness.Engine.
func (e *engine) Run(ctx context.Context, kind harness.Kind, n int, id string) (int, error) {
	return ingress.Workflow[order, int](e.client, "Work", id, "Run").Request(ctx, order{kind, id, n})
}

// Park implements harness.Engine.
func (e *engine) Park(ctx context.Context, n int, id string) error {
	_, err := ingress.WorkflowSend[order](e.client, "Work", id, "Run").Send(ctx, order{harness.Park, id, n})
	return err
}

// Signal implements harness.Engine.
func (e *engine) Signal(ctx context.Context, id string, k int) error {
	_, err := ingress.WorkflowSend[int](e.client, "Work", id, "Go").Send(ctx, k)
	return err
}

// register tells the server of the service.
func register() error {
	body, err := json.Marshal(map[string]any{"uri": "http://" + *listen, "force": true})
	if err != nil {
		return err
	}
	res, err := http.Post(*adminURL+"/deployments", "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); res.StatusCode >= 300 {
		return fmt.Errorf("register the service: %s: %s", res.Status, text)
	}
	return nil
}

func main() {
	flag.Parse()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}}
	e := &engine{client: ingress.NewClient(*ingressURL, ingress.WithHttpClient(client))}
	harness.Must(e.Start())
	harness.Must(register())
	time.Sleep(time.Second) // the server makes the service known to its partitions
	harness.Main(e, e, steps)
}
