package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/memory"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

const tenant = "sim"

// epoch is when every simulation begins, in nanoseconds.
const epoch = int64(time.Hour)

type world struct {
	schedule
	config    Config
	store     *memory.Store
	payloads  *memory.Payloads
	programs  *worker.Programs
	processes [len(classes)][]*process
	// consumer is who handles what the queues hand out: the workers.
	consumer consumer
	running  *routine
	groups   map[eventstore.Stream]*group
	taken    map[string]int64
	entry    map[eventstore.Stream]int64
	runs     []*run
	ledgers  map[eventstore.Stream]*ledger
	report   Report
	// outage is when the store is there again.
	outage int64
	// swept counts the sweeps that came to their end.
	swept int
	// faultsUntil is when faults stop to happen.
	faultsUntil int64
	// released are executions that let go of their payloads.
	released map[eventstore.Stream]bool
	// workflows are the names of those that are deployed.
	workflows []string
}

func newWorld(c Config) *world {
	w := &world{
		schedule: schedule{now: epoch, rng: rand.New(rand.NewPCG(c.Seed, 0x9e3779b97f4a7c15))},
		config:   c, store: memory.New(), payloads: memory.NewPayloads(0), report: Report{Seed: c.Seed, Outcomes: map[string]int{}},
		groups: map[eventstore.Stream]*group{}, taken: map[string]int64{}, entry: map[eventstore.Stream]int64{}, ledgers: map[eventstore.Stream]*ledger{},
		released: map[eventstore.Stream]bool{},
	}
	w.faultsUntil = epoch + int64(c.Faults)
	w.programs, w.consumer = worker.NewPrograms(w.store), workers{w}
	return w
}

// Run makes one run.
func Run(c Config) (Report, error) {
	w := newWorld(c)
	if err := w.deploy(); err != nil {
		return Report{}, err
	}
	w.bootAll()
	w.switchVersions()
	for range c.Executions {
		w.launch(w.pickScenario())
	}
	w.in(time.Minute, w.weather)
	w.in(publishEvery, w.publishFeed)
	w.in(time.Minute, w.operate)
	w.in(c.Faults, w.rescue)
	if !c.Unswept && c.Bug != NoSweep {
		w.in(sweepEvery, w.sweep)
	}
	end := epoch + int64(c.Faults+c.Patience)
	for !w.over() && w.now < end && w.step() {
	}
	w.check()
	if !c.Unswept && c.Bug == "" && len(w.report.Violations) == 0 {
		w.afterlife()
	}
	w.report.Virtual = time.Duration(w.now - epoch)
	w.close()
	return w.report, nil
}

// close ends what is still at work.
func (w *world) close() {
	for _, p := range w.all() {
		for _, r := range p.routines {
			r.killed = true
			r.stop()
		}
	}
}

func (w *world) faulty() bool { return w.now < w.faultsUntil }

func (c Config) bug(b Bug) bool { return c.Bug == b }

func (w *world) note(format string, args ...any) {
	if w.config.Trace != nil {
		fmt.Fprintf(w.config.Trace, "%12.3fs  %s\n", time.Duration(w.now-epoch).Seconds(), fmt.Sprintf(format, args...))
	}
}

func (w *world) violation(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.note("VIOLATION: %s", text)
	w.report.Violations = append(w.report.Violations, text)
}

func (w *world) newWorker(p *process) *worker.Worker {
	kinds := activity.NewRegistry()
	if err := kinds.Replace(activity.Kind{Name: workflow.KindFunction, Activity: function{w}}); err != nil {
		panic(err) // the kind is there
	}
	kinds.MustAdd(activity.Kind{Name: workflow.KindAI, Activity: agent{w}})
	limits := worker.DefaultLimits()
	limits.Lease = lease
	limits.Checkpoint = 2 << 10 // so that histories have several
	limits.Inline = 1 << 10     // so that results go to the payload store
	limits.Retention = retention
	if w.config.Many {
		limits.Crowd = 1
	}
	out := &worker.Worker{
		Name: p.name(), Class: classes[p.class], Commits: p.commits(), Store: w.storeOf(p), Payloads: payloads{w.payloads, w}, Programs: w.programs,
		Clock: clock{p}, Entropy: entropy{w}, Inbox: inbox{w}, Tasks: tasks{w}, Timers: timers{w}, Activities: kinds, Route: route, Links: links{},
		Committed: w.heard, SparseRows: w.config.Many, Limits: limits,
	}
	if w.config.Gone {
		out.Gone = w.gone
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
			w.workflows = append(w.workflows, def.Name)
			for _, s := range worker.Subscriptions(tenant, def) {
				if err := w.store.Subscribe(context.Background(), s); err != nil {
					return fmt.Errorf("sim: %s: %w", def.Name, err)
				}
			}
			for version := range byte(versions) {
				d := eventstore.Definition{Tenant: tenant, Workflow: def.Name, Version: uint64(version) + 1, Bytes: text, Hash: eventstore.Hash{version + 1}}
				if err := w.store.PutDefinition(context.Background(), d); err != nil {
					return fmt.Errorf("sim: %s: %w", def.Name, err)
				}
			}
		}
	}
	return nil
}

const sweepEvery = 30 * time.Second

func (w *world) sweep() {
	w.orchestrator().start(func(r *routine) {
		for shard := range eventstore.Shards {
			if _, err := r.p.worker.Sweep(background(), shard, r.p.now()); err != nil {
				w.note("%s: sweep: %v", r.p.worker.Name, err)
			}
		}
		w.swept++
	}, func() {})
	w.in(sweepEvery, w.sweep)
}

// over reports that everything has ended and been told, and that no sweep has anything left to look at.
func (w *world) over() bool {
	for _, r := range w.runs {
		if !r.over(w) {
			return false
		}
	}
	for s := range w.ledgers { // order-free: all must be
		if !w.ended(s) {
			return false
		}
	}
	return w.config.Unswept || w.config.Bug == NoSweep || len(w.dueRows()) == 0
}

// dueRows are the rows that a sweep is still to look at.
func (w *world) dueRows() []eventstore.Row {
	var out []eventstore.Row
	for shard := range eventstore.Shards {
		rows, _, err := w.store.Overdue(background(), shard, eventstore.MaxTime, eventstore.Page{Limit: eventstore.MaxPage})
		if err != nil {
			panic(err) // the store of the simulation is in memory
		}
		out = append(out, rows...)
	}
	return out
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
