// Command waiting measures what executions cost that wait: for an event and for a time, a year away. It starts many of them on a store on
// disk, then begins a new process on the same folder, as after a restart, and measures that one: the time until it serves, memory, and
// processor time while nothing happens. Each figure is a line of JSON on standard output.
//
//	go run ./bench/waiting               100,000 executions, one minute of quiet
//	go run ./bench/waiting -n 10000 -quiet 10s
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/local"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

var (
	n     = flag.Int("n", 100_000, "how many executions wait")
	quiet = flag.Duration("quiet", time.Minute, "for how long processor time is measured")
	data  = flag.String("data", "", "folder of the store; empty: a new one, removed at the end")
	again = flag.Int64("restarted", 0, "for the new process: when it was begun, in nanoseconds since 1970")
)

const tenant = "bench"

// starters is how many start executions at once: they share fsyncs.
const starters = 64

// document waits for whichever comes first.
const document = `
dsl: wovyr/v1
name: waiting
limits: { timeout: 366d }
steps:
  first:
    race:
      event: { steps: { paid: { event: { type: Paid, key: execution.id } } } }
      timer: { steps: { late: { timer: { for: 365d } } } }
`

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	if *again != 0 {
		return restarted()
	}
	folder := *data
	if folder == "" {
		var err error
		if folder, err = os.MkdirTemp("", "wovyr-waiting-*"); err != nil {
			return err
		}
		defer os.RemoveAll(folder)
	}
	if err := fill(folder); err != nil {
		return err
	}
	c := exec.Command(os.Args[0], "-n", strconv.Itoa(*n), "-quiet", quiet.String(), "-data", folder, "-restarted", strconv.FormatInt(time.Now().UnixNano(), 10))
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c.Run()
}

// open opens the platform and runs it.
func open(folder string, committed func(eventstore.Stream, []workflow.Recorded, *workflow.State)) (*local.Platform, func() error, error) {
	p, err := local.Open(folder, local.Options{Committed: committed})
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, time.Minute) }()
	return p, func() error { cancel(); return <-done }, nil
}

func request(i int) worker.StartRequest {
	return worker.StartRequest{Tenant: tenant, Workflow: "waiting", Key: strconv.Itoa(i), Input: workflow.Value(`{}`)}
}

// fill starts the executions and stops the platform when all of them wait.
func fill(folder string) error {
	p, stop, err := open(folder, nil)
	if err != nil {
		return err
	}
	def, diagnostics := dsl.Compile("waiting.yaml", []byte(document))
	if def == nil {
		return fmt.Errorf("the workflow is refused: %v", diagnostics)
	}
	if _, _, err := p.Worker.Deploy(context.Background(), tenant, def); err != nil {
		return err
	}
	began := time.Now()
	var left atomic.Int64
	left.Store(int64(*n))
	var group sync.WaitGroup
	errs := make(chan error, starters)
	for range starters {
		group.Go(func() {
			for i := left.Add(-1); i >= 0; i = left.Add(-1) {
				if _, err := p.Worker.Start(context.Background(), request(int(i))); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	group.Wait()
	select {
	case err := <-errs:
		return err
	default:
	}
	report("executions", float64(*n), "that wait")
	report("start", float64(*n)/time.Since(began).Seconds(), "starts/s, 64 at a time")
	return stop()
}

// restarted is the new process.
func restarted() error {
	p, stop, err := open(*data, nil)
	if err != nil {
		return err
	}
	began := time.Unix(0, *again)
	report("open", ms(time.Since(began)), "ms from the start of the process to an open store")
	// It serves when it has decided on an input that somebody sent.
	stream := eventstore.Stream{Tenant: tenant, ID: p.Worker.ExecutionID(request(0))}
	if err := p.Ask(context.Background(), stream, workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: "nobody waits for it", Kind: "Other"}}); err != nil {
		return err
	}
	report("serve", ms(time.Since(began)), "ms from the start of the process to the answer of its first input")
	settle()
	report("settle", ms(time.Since(began)), "ms from the start of the process until it is quiet")
	before := cpu()
	time.Sleep(*quiet)
	report("cpu", 100*float64(cpu()-before)/float64(*quiet), "% of one processor, over "+quiet.String())
	resident, err := status("VmRSS:")
	if err != nil {
		return err
	}
	report("rss", resident, "MB resident")
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	report("heap", float64(m.HeapAlloc)/1e6, "MB of live heap, of which 67 are set aside and take no memory (pkg/local/heap.go)")
	if info, err := os.Stat(*data + "/wovyr.db"); err == nil {
		report("disk", float64(info.Size())/float64(*n), "bytes of the store for each execution")
	}
	wake := time.Now()
	paid := workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: "paid", Kind: "Paid", Key: stream.ID}}
	if err := p.Ask(context.Background(), stream, paid); err != nil {
		return err
	}
	snap, err := p.Worker.Inspect(context.Background(), stream)
	if err != nil {
		return err
	}
	if !snap.Status.Terminal() {
		return fmt.Errorf("the execution that was woken is %s", snap.Status)
	}
	report("wake", ms(time.Since(wake)), "ms from an event to the end of the execution that waited for it")
	// What the sweep does every six hours, at once.
	swept, busy := time.Now(), cpu()
	until := swept.Add(worker.DefaultLimits().Recheck).UnixNano() // whatever is looked at comes later than that next time
	for shard := range eventstore.Shards {
		if _, err := p.Worker.Sweep(context.Background(), shard, until); err != nil {
			return err
		}
	}
	report("sweep", time.Since(swept).Seconds(), "s to look at all of them once, one after the other")
	report("sweep-cpu", (cpu() - busy).Seconds(), "s of processor time for that")
	return stop()
}

// settle returns when a second has gone by in which the process did next to nothing.
func settle() {
	for {
		before := cpu()
		time.Sleep(time.Second)
		if cpu()-before < 20*time.Millisecond {
			return
		}
	}
}

// report writes one figure.
func report(name string, value float64, unit string) {
	line, err := json.Marshal(struct {
		Name  string  `json:"name"`
		Value float64 `json:"value"`
		Unit  string  `json:"unit"`
	}{name, value, unit})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// cpu is the processor time of this process.
func cpu() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// status is a line of /proc/self/status, in MB.
func status(name string) (float64, error) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), name); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1000, err
		}
	}
	return 0, fmt.Errorf("no %s in /proc/self/status", name)
}
