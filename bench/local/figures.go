package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// figure is one list of values.
type figure struct {
	name, unit string
	values     []float64
	extra      map[string]float64
}

// measurements are what is measured, by name. Each gives one figure or more.
var measurements = []struct {
	name string
	take func(b *bench) []figure
}{
	{"start", (*bench).start},
	{"ten", (*bench).ten},
	{"chain", (*bench).chain},
	{"fan", (*bench).fan},
	{"throughput", (*bench).throughput},
	{"rate", (*bench).rate},
	{"resume-10", resumeAfter(10)},
	{"resume-1000", resumeAfter(1000)},
	{"resume-10000", resumeAfter(10_000)},
}

func (b *bench) start() []figure {
	f := figure{name: "start", unit: "ms from start to the first activity"}
	for range 100 {
		began := time.Now()
		x, _ := b.finish("one")
		f.values = append(f.values, ms(x.first.Sub(began)))
	}
	return []figure{f}
}

func (b *bench) ten() []figure {
	f := figure{name: "ten", unit: "ms for 10 steps in a row, one workflow at a time"}
	for range 50 {
		began := time.Now()
		b.finish("ten")
		f.values = append(f.values, ms(time.Since(began)))
	}
	return []figure{f}
}

func (b *bench) chain() []figure {
	f := figure{name: "chain", unit: "ms a step, in a chain of 100", extra: map[string]float64{}}
	const workflows = 5
	before := cpu()
	for range workflows {
		x, _ := b.finish("hundred")
		f.values = append(f.values, ms(x.last.Sub(x.first))/99)
	}
	f.extra["cpu_ms_per_step"] = ms(cpu()-before) / (workflows * 100)
	return []figure{f}
}

func (b *bench) fan() []figure {
	whole := figure{name: "fan", unit: "ms for 100 activities at once and their merge"}
	queued := figure{name: "fan-queued", unit: "ms from the commit that schedules an activity to its begin, 100 at once"}
	for range 10 {
		began := time.Now()
		x, _ := b.finish("fan")
		whole.values = append(whole.values, ms(time.Since(began)))
		queued.values = append(queued.values, x.queued...)
	}
	return []figure{whole, queued}
}

// latencies are those that the specification bounds (WF-001 §18, WF-006 §28), of many executions. Safe for concurrent use.
type latencies struct {
	mu                                 sync.Mutex
	started, queued, next, transitions figure
}

func newLatencies(name, load string) *latencies {
	kind := func(what, unit string) figure {
		return figure{name: name + "-" + what, unit: "ms " + unit + ", " + load}
	}
	return &latencies{
		started:     kind("start", "until a start is durable"),
		queued:      kind("queued", "from the commit that schedules an activity to its begin through the queue"),
		next:        kind("next", "from the return of an activity to the begin of the next"),
		transitions: kind("transition", "from the return of an activity until what it led to is durable"),
	}
}

func (l *latencies) add(x *execution, start time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started.values = append(l.started.values, ms(start))
	l.queued.values = append(l.queued.values, x.queued...)
	l.next.values = append(l.next.values, x.next...)
	l.transitions.values = append(l.transitions.values, x.transitions...)
}

func (l *latencies) figures() []figure {
	return []figure{l.started, l.queued, l.next, l.transitions}
}

// throughput keeps the platform as busy as it can be: each of the workflows at a time waits for all others.
func (b *bench) throughput() []figure {
	const workflows, atATime, steps = 500, 50, 10
	l := newLatencies("busy", "when as much is done as can be, 50 workflows at a time")
	before, began := cpu(), time.Now()
	var all sync.WaitGroup
	var left atomic.Int64
	left.Store(workflows)
	for range atATime {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				l.add(b.finish("ten"))
			}
		})
	}
	all.Wait()
	seconds := time.Since(began).Seconds()
	rate := figure{name: "throughput", unit: "steps/s, 500 workflows of 10 steps, 50 at a time", values: []float64{workflows * steps / seconds},
		extra: map[string]float64{"cpu_ms_per_step": ms(cpu()-before) / (workflows * steps), "workflows_per_s": workflows / seconds}}
	return append([]figure{rate}, l.figures()...)
}

// rate starts workflows at fixed times, whether those before have ended or not.
func (b *bench) rate() []figure {
	const workflows, every = 1000, 4 * time.Millisecond
	l := newLatencies("rate", "250 workflows of 10 steps started each second")
	began := time.Now()
	var all sync.WaitGroup
	for i := range workflows {
		time.Sleep(time.Until(began.Add(time.Duration(i) * every)))
		all.Go(func() { l.add(b.finish("ten")) })
	}
	all.Wait()
	return l.figures()
}

// resumeAfter parks a workflow after n steps, restarts the platform so that nothing is in memory, and measures from an event to the next step.
func resumeAfter(n int) func(b *bench) []figure {
	return func(b *bench) []figure {
		f := figure{name: fmt.Sprintf("resume-%d", n), unit: fmt.Sprintf("ms from an event to the next step, after %d steps and a restart", n)}
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
		id, end, _ := b.begin(name)
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
		f.values = []float64{ms(b.clock.take(id).last.Sub(t))}
		return []figure{f}
	}
}
