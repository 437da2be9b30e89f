// Command activities measures what each kind of activity costs above the bare call of the same thing, by the contract as a worker
// calls it, with a secret that is masked; what a cold script costs; and what an activity that waits keeps in memory.
//
//	go run ./bench/activities
//
// It prints a table. The bare call and the kind take turns, so that what else the machine does meets both.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/secret"
)

// pair is one thing done twice: bare, and by a kind.
type pair struct {
	name string
	n    int
	bare func() error
	kind activity.Kind
	task activity.Task
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "echo" {
		echo()
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "activities:", err)
		os.Exit(1)
	}
}

func run() error {
	p, err := newPeers()
	if err != nil {
		return err
	}
	defer p.close()
	tw := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "call\tbare, p50\tkind, p50\tabove it\tbare, p99\tkind, p99\tcalls")
	for _, each := range p.pairs() {
		if err := each.measure(tw); err != nil {
			return fmt.Errorf("%s: %w", each.name, err)
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Println()
	if err := p.cold(); err != nil {
		return err
	}
	fmt.Println()
	return p.memory()
}

// mask is what every call of a worker that has read a few secrets is masked with.
var mask = secret.NewMask(
	secret.Value{Name: "pay", Text: "sk_live_51H8xYzKq0aBcDeFgHiJkLmN"}, secret.Value{Name: "db", Text: "correct horse battery staple"},
	secret.Value{Name: "mail", Text: "SG.aBcDeFgHiJkLmNoPqRsTuV.wXyZ0123456789"})

// call runs a kind once, as a worker does.
func call(ctx context.Context, k activity.Kind, t activity.Task) error {
	t.Tenant, t.Execution, t.Workflow, t.Step, t.Attempt, t.IdempotencyKey, t.Kind = "acme", "e1", "bench", "a", 1, "e1/a", k.Name
	t.Mask = func() *secret.Mask { return mask }
	res, err := activity.Run(ctx, k.Activity, &t)
	if err == nil && res.Stream != nil {
		err = res.Stream.Close()
	}
	return err
}

func doc(v any) activity.Document {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // ours
	}
	return activity.NewDocument(b)
}

// measure takes turns between bare and kind.
func (p pair) measure(tw *tabwriter.Writer) error {
	bare, kind := make([]time.Duration, 0, p.n), make([]time.Duration, 0, p.n)
	for i := range p.n + p.n/10 {
		began := time.Now()
		if err := p.bare(); err != nil {
			return err
		}
		between := time.Now()
		if err := call(context.Background(), p.kind, p.task); err != nil {
			return err
		}
		if i >= p.n/10 { // the first are to warm up
			bare, kind = append(bare, between.Sub(began)), append(kind, time.Since(between))
		}
	}
	slices.Sort(bare)
	slices.Sort(kind)
	at := func(list []time.Duration, q int) time.Duration { return list[len(list)*q/100] }
	_, err := fmt.Fprintf(tw, "%s\t%v\t%v\t%v\t%v\t%v\t%d\n", p.name, short(at(bare, 50)), short(at(kind, 50)), short(at(kind, 50)-at(bare, 50)),
		short(at(bare, 99)), short(at(kind, 99)), p.n)
	return err
}

func short(d time.Duration) time.Duration {
	if d > time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(10 * time.Nanosecond)
}

// memory measures what activities keep while they wait for their peers.
func (p *peers) memory() error {
	tw := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "waiting at once\tactivities\tmemory of the worker for each")
	for _, each := range p.waits() {
		ctx, cancel := context.WithCancel(context.Background())
		var all sync.WaitGroup
		before := inUse()
		for range each.n {
			all.Go(func() { _ = call(ctx, each.kind, each.task) }) // they are cancelled
		}
		for range each.n {
			<-p.arrived
		}
		used := inUse() - before
		cancel()
		all.Wait()
		fmt.Fprintf(tw, "%s\t%d\t%.1f KiB\n", each.name, each.n, float64(used)/float64(each.n)/1024)
	}
	return tw.Flush()
}

// inUse is memory of the heap and of stacks after a collection.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
