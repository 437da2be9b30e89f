package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/local"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

const tenant = "bench"

// bench is one platform that can be stopped and opened again.
type bench struct {
	folder   string
	platform *local.Platform
	stop     func() error
	clock    *clock

	ends   sync.Map // execution → chan struct{}
	parked sync.Map
}

func (b *bench) open() error {
	b.clock = newClock()
	kinds := activity.NewRegistry()
	if err := kinds.Functions.Add(activity.Func("step", func(ctx context.Context, _ activity.Document) (int, error) {
		info := activity.Info(ctx)
		b.clock.begins(info.Execution, info.Step)
		defer b.clock.returns(info.Execution)
		return 1, nil
	})); err != nil {
		return err
	}
	p, err := local.Open(b.folder, local.Options{Activities: kinds, Committed: b.committed})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, time.Minute) }()
	b.platform = p
	b.stop = func() error { cancel(); return <-done }
	for _, text := range []string{sequence("one", 1), sequence("ten", 10), sequence("hundred", 100), fanOut} {
		if err := b.deploy(text); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) close() error { return b.stop() }

func (b *bench) committed(s eventstore.Stream, events []workflow.Recorded, state *workflow.State) {
	b.clock.commits(s.ID, events)
	if state.Status.Terminal() {
		if c, ok := b.ends.Load(s.ID); ok {
			close(c.(chan struct{}))
		}
	}
	for _, e := range events {
		if _, ok := e.Event.(workflow.EventAwaited); ok {
			b.parked.Store(s.ID, true)
		}
	}
}

func (b *bench) deploy(text string) error {
	def, diagnostics := dsl.Compile("bench.yaml", []byte(text))
	if def == nil {
		return fmt.Errorf("the workflow is refused: %v", diagnostics)
	}
	_, _, err := b.platform.Worker.Deploy(context.Background(), tenant, def)
	return err
}

const fanOut = `
dsl: wovyr/v1
name: fan
steps:
  all: { foreach: { items: '${ range(100) }', as: n, max_parallelism: 100, steps: { s: { function: step, with: { n: '${ n }' } } } } }
output: '${ sum(steps.all.output) }'
`

// sequence is a workflow of n steps in a row.
func sequence(name string, n int) string {
	var b strings.Builder
	b.WriteString("dsl: wovyr/v1\nname: " + name + "\nsteps:\n")
	for i := range n {
		needs := ""
		if i > 0 {
			needs = fmt.Sprintf("needs: [s%d], ", i-1)
		}
		fmt.Fprintf(&b, "  s%d: { %sfunction: step, with: { n: %d } }\n", i, needs, i)
	}
	return b.String()
}

var serial atomic.Int64

// begin starts an execution; the channel is closed at its end. took is how long the start itself took.
func (b *bench) begin(name string) (id string, end chan struct{}, took time.Duration) {
	key := fmt.Sprintf("%s-%d-%d", name, os.Getpid(), serial.Add(1))
	r := worker.StartRequest{Tenant: tenant, Workflow: name, Key: key, Input: workflow.Value("{}")}
	end = make(chan struct{})
	id = b.platform.Worker.ExecutionID(r)
	b.ends.Store(id, end)
	began := time.Now()
	if _, err := b.platform.Worker.Start(context.Background(), r); err != nil {
		panic(err)
	}
	return id, end, time.Since(began)
}

// finish runs an execution to its end and returns its times. took is as in begin.
func (b *bench) finish(name string) (times *execution, took time.Duration) {
	id, end, took := b.begin(name)
	<-end
	b.ends.Delete(id)
	return b.clock.take(id), took
}
