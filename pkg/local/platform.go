package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/folder"
	"github.com/wovyr/wovyr/pkg/eventstore/sqlite"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Options are the choices of a platform. The zero value is good for a laptop.
type Options struct {
	// Activities are the kinds and functions that workflows can call; nil: none but what the engine does itself.
	Activities *activity.Registry
	// Concurrency is how many activities run at once; 0: 64 for each processor.
	Concurrency int
	Secrets     worker.Secrets
	Links       worker.Links
	// Committed hears of each commit; see worker.Worker.
	Committed func(s eventstore.Stream, events []workflow.Recorded, state *workflow.State)
	Log       *slog.Logger
}

// Platform runs workflows on one machine. Open makes it, Run runs it.
type Platform struct {
	// Worker answers reads and starts; inputs to executions go through Ask.
	Worker *worker.Worker
	// Store is the open event store.
	Store *sqlite.Store

	hub         *hub
	inbox       *inbox
	tasks       *tasks
	timers      *timers
	concurrency int
	log         *slog.Logger
}

// payloadFolder is where large values are kept, in the data folder.
const payloadFolder = "payloads"

// Open opens the store of a data folder, which is made if it is not there, and takes up what was left open in it. Only one process can have a
// folder open: the others get a *sqlite.LockedError.
func Open(data string, o Options) (*Platform, error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, fmt.Errorf("local: data folder: %w", err)
	}
	store, err := sqlite.Open(data, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	payloads, err := folder.Open(filepath.Join(data, payloadFolder), folder.Options{})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	p := &Platform{Store: store, concurrency: o.Concurrency, log: o.Log}
	if p.concurrency == 0 {
		p.concurrency = 64 * runtime.GOMAXPROCS(0)
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if o.Activities == nil {
		o.Activities = activity.NewRegistry()
	}
	p.hub = &hub{waiting: map[eventstore.Stream][]chan struct{}{}}
	heard := func(s eventstore.Stream, events []workflow.Recorded, state *workflow.State) {
		if o.Committed != nil {
			o.Committed(s, events, state)
		}
		p.hub.moved(s)
	}
	name := "local/" + rand.Text()
	p.Worker = &worker.Worker{
		Name: name, Class: worker.DefaultClass, Commits: true,
		Store: store, Payloads: payloads, Programs: worker.NewPrograms(store), Clock: systemClock{}, Entropy: systemEntropy{},
		Activities: o.Activities, Secrets: o.Secrets, Links: o.Links, Committed: heard, Limits: worker.DefaultLimits(), Log: p.log,
		// The folder is this process' alone: every other incarnation is gone, and its leases with it.
		Gone: func(other string) bool { return other != name },
	}
	p.inbox = newInbox(p.Worker.HandleInbox, later)
	p.tasks = newTasks(p.handleTask, p.bury, later)
	p.timers = newTimers(systemClock{}.Now, p.tick)
	p.Worker.Inbox, p.Worker.Tasks, p.Worker.Timers = p.inbox, p.tasks, p.timers
	if err := p.Worker.Init(); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return p, nil
}

func later(d time.Duration, f func()) { time.AfterFunc(d, f) }

type systemEntropy struct{}

// ID implements worker.Entropy.
func (systemEntropy) ID() string { return rand.Text() }

// Nonce implements worker.Entropy.
func (systemEntropy) Nonce() (n eventstore.Nonce) {
	_, _ = rand.Read(n[:]) // it never fails
	return n
}

// handlers of inbox messages: they wait for the disk, so more of them share an fsync.
const inboxHandlers = 64

// Run takes up what was open and works until ctx ends; then it lets what runs hand over, for at most grace, and closes the store.
func (p *Platform) Run(ctx context.Context, grace time.Duration) error {
	hard, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var all sync.WaitGroup
	for range inboxHandlers {
		all.Go(func() { p.inbox.run(hard) })
	}
	for range p.concurrency {
		all.Go(func() { p.tasks.run(hard) })
	}
	all.Go(func() { p.timers.run(ctx) })
	all.Go(func() { p.sweep(ctx) })
	<-ctx.Done()
	p.Worker.Drain()
	p.tasks.close()
	p.inbox.close()
	finished := make(chan struct{})
	go func() { all.Wait(); close(finished) }()
	select {
	case <-finished:
	case <-time.After(grace):
		p.log.Info("activities are cut off: they will be run again", "after", grace)
		stop()
		<-finished
	}
	return p.Store.Close()
}

// Ask hands an input to an execution and returns when it is decided on, durably.
func (p *Platform) Ask(ctx context.Context, s eventstore.Stream, in workflow.Input) error {
	return p.inbox.Ask(ctx, worker.Message{ID: systemEntropy{}.ID(), Stream: s, Input: in})
}

func (p *Platform) tick(s eventstore.Stream) {
	_ = p.inbox.Send(context.Background(), worker.Message{ID: systemEntropy{}.ID(), Stream: s, Input: workflow.Tick{}}) // it never fails
}

func (p *Platform) handleTask(ctx context.Context, t worker.Task) worker.Answer {
	a := p.Worker.HandleTask(ctx, worker.Delivery{Task: t, Receive: systemEntropy{}.ID()})
	if a.Err != nil && ctx.Err() == nil {
		p.log.Warn("task comes back", "execution", t.Stream.ID, "step", t.Step, "cause", a.Err)
	}
	return a
}

func (p *Platform) bury(ctx context.Context, t worker.Task, cause error) error {
	return p.Worker.BuryTask(ctx, t, cause)
}

// sweep finds timers that come near and executions that should have moved.
func (p *Platform) sweep(ctx context.Context) {
	if err := p.takeUp(ctx); err != nil && ctx.Err() == nil {
		p.log.Error("taking up what was open", "cause", err)
	}
	ticker := time.NewTicker(window / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := p.look(ctx); err != nil && ctx.Err() == nil {
			p.log.Error("sweep", "cause", err)
		}
	}
}

// takeUp sends again whatever was on its way when the last process ended: nothing of it was in memory only.
func (p *Platform) takeUp(ctx context.Context) error {
	return p.repair(ctx, eventstore.MaxTime, func(r eventstore.Row) bool { return !p.Worker.Idle(r) })
}

// look arms the timers of the next window and repairs what is overdue.
func (p *Platform) look(ctx context.Context) error {
	now := systemClock{}.Now()
	return p.repair(ctx, now+2*int64(window), func(r eventstore.Row) bool { return r.Due <= now })
}

// repair goes through the open executions that are due by a time: those that lost says so of are repaired, the timers of the others armed.
func (p *Platform) repair(ctx context.Context, until int64, lost func(eventstore.Row) bool) error {
	for shard := range eventstore.Shards {
		// Repairing moves rows within the list that is being read, so the shard is read to its end first.
		var repair []eventstore.Row
		for page := (eventstore.Page{Limit: eventstore.MaxPage}); ; {
			rows, next, err := p.Store.Overdue(ctx, shard, until, page)
			if err != nil {
				return err
			}
			for _, r := range rows {
				switch {
				case lost(r):
					repair = append(repair, r)
				case r.Wake > 0:
					if err := p.timers.Arm(ctx, r.Stream, r.Wake, false); err != nil {
						return err
					}
				}
			}
			if next == "" {
				break
			}
			page.Cursor = next
		}
		for _, r := range repair {
			if _, err := p.Worker.Repair(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}
