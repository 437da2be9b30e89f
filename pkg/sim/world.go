package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/memory"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Rates are how often faults happen: once in so many times; 0 is never.
type Rates struct {
	Crash         int // before an effect
	LostAnswer    int // of a write or a send
	Unavailable   int // a call that does nothing
	Duplicate     int // a task or a timer comes twice
	Lose          int // a task, message or timer never comes
	Slow          int // an effect or delivery takes a minute
	Early         int // a timer fires early
	ActivityFails int
}

// HeavyRates make nearly everything go wrong within a few executions.
func HeavyRates() Rates {
	return Rates{Crash: 60, LostAnswer: 40, Unavailable: 80, Duplicate: 15, Lose: 60, Slow: 40, Early: 8, ActivityFails: 12}
}

// Config is one simulation.
type Config struct {
	Seed      uint64
	Processes int
	Rates     Rates
	// Faults is how long faults happen, in virtual time. Afterwards everything must end within Patience.
	Faults, Patience time.Duration
	// Scenarios are what runs; each of Executions picks one.
	Scenarios  []Scenario
	Executions int
	// Bug is a bug of the simulated platform, for showing that the checkers see it.
	Bug Bug
	// Trace hears what happens; nil: nobody.
	Trace io.Writer
}

// Scenario is a workflow with what comes to it from outside.
type Scenario struct {
	Name string
	// Definitions are the workflow and those that it starts; the first is the one to run.
	Definitions []*workflow.Definition
	Input       workflow.Value
	// Outside lists what may come from outside, at random times.
	Outside []Outside
}

// Outside is one input from outside. Exactly one of Event, Signal, Decision and Cancel is set.
type Outside struct {
	// Within bounds the random time after the start.
	Within time.Duration
	// OneIn lets it come once in so many runs; 0: always.
	OneIn    int
	Event    *worker.Event
	Signal   *workflow.ExternalEvent
	Decision *workflow.TaskDecision
	Cancel   *workflow.Cancel
}

// Report is what a run came to.
type Report struct {
	Seed       uint64
	Violations []string
	// Effects counts effects on the outside, Faults those that went wrong, Commits the stored decisions, Activities the runs of activities.
	Effects, Faults, Commits, Activities int
	// Virtual is how long it took, in virtual time.
	Virtual time.Duration
}

const tenant = "sim"

// tick is the input of every timer.
var tick = workflow.Tick{}

type world struct {
	schedule
	config    Config
	store     *memory.Store
	payloads  *memory.Payloads
	programs  *worker.Programs
	processes []*process
	running   *routine
	groups    map[eventstore.Stream]*group
	taken     map[string]int64
	entry     map[eventstore.Stream]int64
	runs      []*run
	ledgers   map[eventstore.Stream]*ledger
	report    Report
	effects   int
	faults    int
}

// Run makes one run.
func Run(c Config) (Report, error) {
	w := &world{
		schedule: schedule{now: int64(time.Hour), rng: rand.New(rand.NewPCG(c.Seed, 0x9e3779b97f4a7c15))},
		config:   c, store: memory.New(), payloads: memory.NewPayloads(0),
		groups: map[eventstore.Stream]*group{}, taken: map[string]int64{}, entry: map[eventstore.Stream]int64{}, ledgers: map[eventstore.Stream]*ledger{},
	}
	w.programs = worker.NewPrograms(w.store)
	if err := w.deploy(); err != nil {
		return Report{}, err
	}
	for i := range c.Processes {
		p := &process{world: w, number: i}
		p.boot()
		w.processes = append(w.processes, p)
	}
	for range c.Executions {
		w.launch(c.Scenarios[w.rng.IntN(len(c.Scenarios))])
	}
	if c.Bug != NoSweep {
		w.in(sweepEvery, w.sweep)
	}
	start := w.now
	end := start + int64(c.Faults+c.Patience)
	for !w.over() && w.now < end && w.step() {
	}
	w.check()
	w.report.Seed, w.report.Effects, w.report.Faults, w.report.Virtual = c.Seed, w.effects, w.faults, time.Duration(w.now-start)
	w.close()
	return w.report, nil
}

// close ends what is still at work.
func (w *world) close() {
	for _, p := range w.processes {
		for _, r := range p.routines {
			r.killed = true
			r.stop()
		}
	}
}

func (w *world) faulty() bool { return w.now < int64(time.Hour)+int64(w.config.Faults) }

func (c Config) bug(b Bug) bool { return c.Bug == b }

func (w *world) note(format string, args ...any) {
	if w.config.Trace != nil {
		fmt.Fprintf(w.config.Trace, "%12.3fs  %s\n", time.Duration(w.now-int64(time.Hour)).Seconds(), fmt.Sprintf(format, args...))
	}
}

func (w *world) violation(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.note("VIOLATION: %s", text)
	w.report.Violations = append(w.report.Violations, text)
}

func (w *world) anyProcess() *process { return w.processes[w.rng.IntN(len(w.processes))] }

func (w *world) newWorker(name string) *worker.Worker {
	kinds := activity.NewRegistry()
	if err := kinds.Replace(activity.Kind{Name: workflow.KindFunction, Activity: function{w}}); err != nil {
		panic(err) // the kind is there
	}
	limits := worker.DefaultLimits()
	limits.Lease = 20 * time.Second
	limits.Checkpoint = 2 << 10 // so that histories have several
	out := &worker.Worker{
		Name: name, Class: worker.DefaultClass, Commits: true, Store: store{w.store, w}, Payloads: w.payloads, Programs: w.programs,
		Clock: clock{w}, Entropy: entropy{w}, Inbox: inbox{w}, Tasks: tasks{w}, Timers: timers{w}, Activities: kinds, Limits: limits,
	}
	if w.config.Trace != nil {
		out.Log = slog.New(slog.NewTextHandler(w.config.Trace, &slog.HandlerOptions{ReplaceAttr: timeless}))
	}
	if err := out.Init(); err != nil {
		panic(err)
	}
	return out
}

func (w *world) deploy() error {
	seen := map[string]bool{}
	for _, s := range w.config.Scenarios {
		for _, def := range s.Definitions {
			if seen[def.Name] {
				continue
			}
			seen[def.Name] = true
			text, err := json.Marshal(def)
			if err != nil {
				return fmt.Errorf("sim: %s: %w", def.Name, err)
			}
			if err := w.store.PutDefinition(context.Background(), eventstore.Definition{Tenant: tenant, Workflow: def.Name, Version: 1, Bytes: text, Hash: eventstore.Hash{1}}); err != nil {
				return fmt.Errorf("sim: %s: %w", def.Name, err)
			}
		}
	}
	return nil
}

// run is one execution that was asked for.
type run struct {
	scenario Scenario
	stream   eventstore.Stream
	// asked is set once the client has had an answer; one that never asks again leaves it to the sweep.
	asked bool
}

const sweepEvery = 30 * time.Second

func (w *world) sweep() {
	w.anyProcess().start(func(r *routine) {
		for shard := range eventstore.Shards {
			if _, err := r.p.worker.Sweep(background(), shard, w.now); err != nil {
				w.note("%s: sweep: %v", r.p.worker.Name, err)
				return
			}
		}
	}, func() {})
	w.in(sweepEvery, w.sweep)
}

// launch asks for an execution, again and again until there is an answer, and sends what comes from outside.
func (w *world) launch(s Scenario) {
	r := &run{scenario: s}
	key := fmt.Sprintf("run-%d", len(w.runs))
	w.runs = append(w.runs, r)
	var ask func()
	ask = func() {
		w.anyProcess().start(func(ro *routine) {
			started, err := ro.p.worker.Start(background(), worker.StartRequest{Tenant: tenant, Workflow: s.Definitions[0].Name, Key: key, Input: s.Input})
			if err == nil && !r.asked {
				r.asked, r.stream = true, eventstore.Stream{Tenant: tenant, ID: started.Execution}
				w.note("%s is %s", started.Execution, s.Name)
				w.fromOutside(r)
			}
		}, func() {})
		w.in(w.between(time.Second, 10*time.Second), func() {
			if !r.asked {
				ask()
			}
		})
	}
	w.in(w.between(0, 5*time.Second), ask)
}

func (w *world) fromOutside(r *run) {
	for i, o := range r.scenario.Outside {
		if o.OneIn > 0 && !w.chance(o.OneIn) {
			continue
		}
		id := fmt.Sprintf("outside-%s-%d", r.stream.ID, i)
		w.in(w.between(0, o.Within), func() { w.deliver(r, o, id) })
	}
}

// deliver sends one input from outside until it is accepted, as a client would.
func (w *world) deliver(r *run, o Outside, id string) {
	var in workflow.Input
	switch {
	case o.Event != nil:
		w.publish(r, *o.Event, id)
		return
	case o.Signal != nil:
		signal := *o.Signal
		signal.ID = id
		in = signal
	case o.Decision != nil:
		decision := *o.Decision
		decision.ID = id
		in = decision
	case o.Cancel != nil:
		cancel := *o.Cancel
		cancel.ID = id
		in = cancel
	}
	// The queue has it when the client hears so: this send is never lost.
	g := w.groups[r.stream]
	if g == nil {
		g = &group{stream: r.stream}
		w.groups[r.stream] = g
	}
	g.messages = append(g.messages, worker.Message{ID: id, Stream: r.stream, Input: in})
	w.in(w.delivery(), func() { inbox{w}.deliver(g) })
	if o.Decision != nil {
		// A person decides when the task is there; one that comes too early is refused and decided again.
		w.in(w.between(30*time.Second, 2*time.Minute), func() {
			if !w.ended(r.stream) {
				w.deliver(r, o, id+"+")
			}
		})
	}
}

func (w *world) publish(r *run, e worker.Event, id string) {
	e.ID = id
	if e.Key == "" {
		e.Key = r.stream.ID
	}
	done := false
	var try func()
	try = func() {
		if done {
			return
		}
		w.anyProcess().start(func(ro *routine) {
			if ro.p.worker.Publish(background(), tenant, e) == nil {
				done = true
			}
		}, func() {})
		w.in(w.between(5*time.Second, 30*time.Second), try)
	}
	try()
}

// over reports that everything has ended and been told.
func (w *world) over() bool {
	for _, r := range w.runs {
		if !r.asked {
			return false
		}
	}
	for s := range w.ledgers { // order-free: all must be
		if !w.ended(s) {
			return false
		}
	}
	return true
}

// ended reports whether an execution is terminal, as the store has it.
func (w *world) ended(s eventstore.Stream) bool {
	l := w.ledgers[s]
	return l != nil && l.state != nil && l.state.Status.Terminal()
}

// timeless leaves the real time out of logs, so that two traces of a seed are the same.
func timeless(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
