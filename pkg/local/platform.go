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
	"sync/atomic"
	"time"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/folder"
	"github.com/wovyr/wovyr/pkg/eventstore/sqlite"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/worker/machine"
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
	// Announce is told of the commits that hold an event which Announces names, such as ends of executions: at least once each, in the order of
	// their execution, even if the process is killed in between. An error lets it be told again. Both are set or none.
	Announces func(e workflow.Event) bool
	Announce  func(ctx context.Context, s eventstore.Stream, c eventstore.Commit) error
	// Retention is how long executions are kept after their end; 0: 30 days, negative: for ever.
	Retention time.Duration
	// Trouble hears why the store cannot be written or read, once a minute while that lasts, and nil when it can again; nil: the log does. What
	// waits is tried again by itself. It must not block.
	Trouble func(err error)
	Log     *slog.Logger
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
	publisher   *publisher
	trouble     trouble
	concurrency int
	log         *slog.Logger
}

// DefaultRetention is how long executions are kept after their end. It is longer than events are kept (worker.Limits), whose data may be held
// by the execution that emitted them.
const DefaultRetention = 30 * 24 * time.Hour

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
	holdFloor()
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
	p.hub, p.publisher = newHub(), newPublisher(store, store, p.log)
	p.trouble.tell = o.Trouble
	if p.trouble.tell == nil {
		p.trouble.tell = p.logTrouble
	}
	name := "local/" + rand.Text()
	limits := worker.DefaultLimits()
	if limits.Retention = o.Retention; limits.Retention == 0 {
		limits.Retention = DefaultRetention
	}
	p.Worker = &worker.Worker{
		Name: name, Class: worker.DefaultClass, Commits: true,
		Store: store, Payloads: payloads, Programs: worker.NewPrograms(store), Clock: machine.Clock{}, Entropy: machine.Entropy{},
		Activities: o.Activities, Secrets: o.Secrets, Links: o.Links, Committed: p.heard(o), Announces: o.Announces, Limits: limits, Log: p.log,
		// The folder is this process' alone: every other incarnation is gone, and its leases with it.
		Gone: func(other string) bool { return other != name },
	}
	p.inbox = newInbox(p.handleMessages, p.Worker.BuryMessage, later)
	p.tasks = newTasks(p.handleTask, p.Worker.BuryTask, later)
	p.timers = newTimers(machine.Clock{}.Now, p.tick)
	p.publisher.pass, p.publisher.bury = p.pass(o), p.Worker.BuryEmission
	p.Worker.Inbox, p.Worker.Tasks, p.Worker.Timers = p.inbox, p.tasks, p.timers
	if err := p.Worker.Init(); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return p, nil
}

// heard passes news of a commit on within this process.
func (p *Platform) heard(o Options) func(eventstore.Stream, []workflow.Recorded, *workflow.State) {
	return func(s eventstore.Stream, events []workflow.Recorded, state *workflow.State) {
		if o.Committed != nil {
			o.Committed(s, events, state)
		}
		p.hub.moved(s)
		p.trouble.over()
		if p.Worker.Published(events) {
			p.publisher.wake()
		}
	}
}

// pass passes on what a commit holds for others.
func (p *Platform) pass(o Options) func(context.Context, eventstore.Stream, eventstore.Commit) error {
	return func(ctx context.Context, s eventstore.Stream, c eventstore.Commit) error {
		if err := p.Worker.Emit(ctx, s, c); err != nil || o.Announce == nil {
			return err
		}
		return o.Announce(ctx, s, c)
	}
}

func later(d time.Duration, f func()) { time.AfterFunc(d, f) }

// handlers of inbox messages: they wait for the disk, so more of them share an fsync.
const inboxHandlers = 64

// Run takes up what was open and works until ctx ends, or the store has to be opened again, which is then the error. Then nothing new is begun: activities that run may finish their step for at most grace, what
// they came to is stored, and the store is closed.
func (p *Platform) Run(ctx context.Context, grace time.Duration) error {
	hard, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var failed atomic.Pointer[error]
	p.trouble.fatal = func(err error) {
		failed.CompareAndSwap(nil, &err)
		fail(err)
		stop() // nothing can be stored any more
	}
	var activities, others sync.WaitGroup
	for range p.concurrency {
		activities.Go(func() { p.tasks.run(hard) })
	}
	for range inboxHandlers {
		others.Go(func() { p.inbox.run(hard) })
	}
	others.Go(func() { p.timers.run(ctx) })
	others.Go(func() { p.publisher.run(ctx) })
	others.Go(func() { p.sweep(ctx) })
	<-ctx.Done()
	p.Worker.Drain()
	p.tasks.close()
	cut := time.AfterFunc(grace, func() {
		p.log.Info("activities are cut off: they will be run again", "after", grace)
		stop()
	})
	activities.Wait()
	p.inbox.drain(hard) // results of activities are among the messages
	cut.Stop()
	p.inbox.close()
	others.Wait()
	err := p.Store.Close()
	if why := failed.Load(); why != nil {
		err = errors.Join(*why, err)
	}
	return err
}

// Ask hands an input to an execution and returns when it is decided on, durably.
func (p *Platform) Ask(ctx context.Context, s eventstore.Stream, in workflow.Input) error {
	return p.inbox.Ask(ctx, worker.Message{ID: machine.Entropy{}.ID(), Stream: s, Input: in})
}

func (p *Platform) tick(s eventstore.Stream) {
	_ = p.inbox.Send(context.Background(), worker.Message{ID: machine.Entropy{}.ID(), Stream: s, Input: workflow.Tick{}}) // it never fails
}

func (p *Platform) logTrouble(err error) {
	if err == nil {
		p.log.Info("the store works again")
		return
	}
	p.log.Error("the store does not work: tried again until it does", "cause", err)
}

func (p *Platform) handleMessages(ctx context.Context, s eventstore.Stream, messages []worker.Message) []worker.Answer {
	answers := p.Worker.HandleInbox(ctx, s, messages)
	p.trouble.met(answers[len(answers)-1].Err)
	return answers
}

func (p *Platform) handleTask(ctx context.Context, t worker.Task) worker.Answer {
	a := p.Worker.HandleTask(ctx, received(t))
	p.trouble.met(a.Err)
	if a.Err != nil && ctx.Err() == nil {
		p.log.Warn("task comes back", "execution", t.Stream.ID, "step", t.Step, "cause", a.Err)
	}
	return a
}

// received is one receive of a task. It never ends, and the task is handed to nobody else meanwhile.
func received(t worker.Task) worker.Delivery {
	return worker.Delivery{Task: t, Receive: machine.Entropy{}.ID()}
}
