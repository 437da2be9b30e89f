// Command local measures the engine on one machine, with its store on a disk and every commit synced: what docs/benchmarks.md compares
// with other engines. Each figure is a line of JSON on standard output.
//
//	go run ./bench/local                 all figures, once
//	go run ./bench/local -reps 5 -only chain,throughput
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/local"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

var (
	reps = flag.Int("reps", 1, "how often each figure is taken")
	only = flag.String("only", "", "names of figures, with commas; empty: all")
	data = flag.String("data", "", "folder of the store; empty: a new one, removed at the end")
)

const tenant = "bench"

// figures are what is measured, by name.
var figures = []struct {
	name, unit string
	take       func(b *bench) ([]float64, map[string]float64)
}{
	{"start", "ms from start to the first activity", (*bench).start},
	{"ten", "ms for 10 steps in a row, one workflow at a time", (*bench).ten},
	{"chain", "ms a step, in a chain of 100", (*bench).chain},
	{"fan", "ms for 100 activities at once and their merge", (*bench).fan},
	{"throughput", "steps/s, 500 workflows of 10 steps, 50 at a time", (*bench).throughput},
	{"resume-10", "ms from an event to the next step, after 10 steps and a restart", resumeAfter(10)},
	{"resume-1000", "ms from an event to the next step, after 1,000 steps and a restart", resumeAfter(1000)},
	{"resume-10000", "ms from an event to the next step, after 10,000 steps and a restart", resumeAfter(10_000)},
}

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	folder := *data
	if folder == "" {
		var err error
		if folder, err = os.MkdirTemp("", "wovyr-bench-*"); err != nil {
			return err
		}
		defer os.RemoveAll(folder)
	}
	b := &bench{folder: folder, began: map[string]time.Time{}}
	if err := b.open(); err != nil {
		return err
	}
	for rep := range *reps {
		for _, f := range figures {
			if *only != "" && !slices.Contains(strings.Split(*only, ","), f.name) {
				continue
			}
			values, extra := f.take(b)
			report(f.name, f.unit, rep+1, values, extra)
		}
	}
	return b.close()
}

// report writes one figure.
func report(name, unit string, rep int, values []float64, extra map[string]float64) {
	slices.Sort(values)
	at := func(p float64) float64 { return values[int(p*float64(len(values)-1)+0.5)] }
	line, err := json.Marshal(struct {
		Name  string             `json:"name"`
		Unit  string             `json:"unit"`
		Rep   int                `json:"rep"`
		N     int                `json:"n"`
		Min   float64            `json:"min"`
		P50   float64            `json:"p50"`
		P99   float64            `json:"p99"`
		Max   float64            `json:"max"`
		Load  string             `json:"load"`
		Extra map[string]float64 `json:"extra,omitempty"`
	}{name, unit, rep, len(values), values[0], at(0.5), at(0.99), at(1), load(), extra})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

// load is the machine's load average, without which no time means much.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// cpu is the processor time of this process.
func cpu() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// bench is one platform that can be stopped and opened again.
type bench struct {
	folder   string
	platform *local.Platform
	stop     func() error

	mu     sync.Mutex
	began  map[string]time.Time // first activity of each execution
	last   map[string]time.Time // the newest one
	ends   sync.Map             // execution → chan struct{}
	parked sync.Map
}

func (b *bench) open() error {
	kinds := activity.NewRegistry()
	if err := kinds.Functions.Add(activity.Func("step", func(ctx context.Context, _ activity.Document) (int, error) {
		now, id := time.Now(), activity.Info(ctx).Execution
		b.mu.Lock()
		defer b.mu.Unlock()
		if _, ok := b.began[id]; !ok {
			b.began[id] = now
		}
		b.last[id] = now
		return 1, nil
	})); err != nil {
		return err
	}
	b.last = map[string]time.Time{}
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
func sequence(name string, n int) string { return "dsl: wovyr/v1\nname: " + name + "\n" + steps(n) }

func steps(n int) string {
	var b strings.Builder
	b.WriteString("steps:\n")
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

// begin starts an execution; the channel is closed at its end.
func (b *bench) begin(name string) (id string, end chan struct{}) {
	key := fmt.Sprintf("%s-%d-%d", name, os.Getpid(), serial.Add(1))
	r := worker.StartRequest{Tenant: tenant, Workflow: name, Key: key, Input: workflow.Value("{}")}
	end = make(chan struct{})
	id = b.platform.Worker.ExecutionID(r)
	b.ends.Store(id, end)
	if _, err := b.platform.Worker.Start(context.Background(), r); err != nil {
		panic(err)
	}
	return id, end
}

func (b *bench) finish(name string) string {
	id, end := b.begin(name)
	<-end
	b.ends.Delete(id)
	return id
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func (b *bench) seen(id string) (first, last time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.began[id], b.last[id]
}

func (b *bench) start() (out []float64, _ map[string]float64) {
	for range 100 {
		t := time.Now()
		first, _ := b.seen(b.finish("one"))
		out = append(out, ms(first.Sub(t)))
	}
	return out, nil
}

func (b *bench) ten() (out []float64, _ map[string]float64) {
	for range 50 {
		t := time.Now()
		b.finish("ten")
		out = append(out, ms(time.Since(t)))
	}
	return out, nil
}

func (b *bench) chain() (out []float64, _ map[string]float64) {
	for range 5 {
		first, last := b.seen(b.finish("hundred"))
		out = append(out, ms(last.Sub(first))/99)
	}
	return out, nil
}

func (b *bench) fan() (out []float64, _ map[string]float64) {
	for range 10 {
		t := time.Now()
		b.finish("fan")
		out = append(out, ms(time.Since(t)))
	}
	return out, nil
}

func (b *bench) throughput() ([]float64, map[string]float64) {
	const workflows, atATime = 500, 50
	before, began := cpu(), time.Now()
	var all sync.WaitGroup
	var left atomic.Int64
	left.Store(workflows)
	for range atATime {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				b.finish("ten")
			}
		})
	}
	all.Wait()
	seconds := time.Since(began).Seconds()
	return []float64{workflows * 10 / seconds}, map[string]float64{"cpu_ms_per_step": ms(cpu()-before) / (workflows * 10), "workflows_per_s": workflows / seconds}
}

// resumeAfter parks a workflow after n steps, restarts the platform so that nothing is in memory, and measures from an event to the next step.
func resumeAfter(n int) func(b *bench) ([]float64, map[string]float64) {
	return func(b *bench) ([]float64, map[string]float64) {
		name := fmt.Sprintf("park%d", n)
		text := fmt.Sprintf(`
dsl: wovyr/v1
name: %s
limits: { timeout: 1d }
steps:
  before: { loop: { until: iteration >= %d, max: %d, steps: { s: { function: step, with: { n: "${ iteration }" } } } } }
  wait: { needs: [before], event: { type: Go } }
  next: { needs: [wait], function: step }
`, name, n, n)
		if err := b.deploy(text); err != nil {
			panic(err)
		}
		id, end := b.begin(name)
		for parked := false; !parked; _, parked = b.parked.Load(id) {
			time.Sleep(time.Millisecond)
		}
		if err := b.stop(); err != nil {
			panic(err)
		}
		if err := b.open(); err != nil {
			panic(err)
		}
		b.ends.Store(id, end)
		t := time.Now()
		signal := workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: "go-" + id, Kind: "Go"}}
		if err := b.platform.Ask(context.Background(), eventstore.Stream{Tenant: tenant, ID: id}, signal); err != nil {
			panic(err)
		}
		<-end
		_, last := b.seen(id)
		return []float64{ms(last.Sub(t))}, nil
	}
}
