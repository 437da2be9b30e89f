package local

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/worker/machine"
	"github.com/wovyr/wovyr/pkg/worker/porttest"
)

// TestPorts runs the contract of the ports on the queues and timers of this package, in virtual time.
func TestPorts(t *testing.T) {
	traits := porttest.Traits{Virtual: true, Exact: true, Late: time.Millisecond, Patience: time.Hour, Receives: maxReceives, Horizon: window,
		Classes: []string{worker.DefaultClass}}
	porttest.Run(t, traits, func(t *testing.T, c porttest.Consumer, test func(*testing.T, porttest.Platform)) {
		synctest.Test(t, func(t *testing.T) {
			p := &Platform{log: slog.New(slog.DiscardHandler)}
			p.inbox = newInbox(c.Inbox, c.BuryMessage, later)
			p.tasks = newTasks(func(ctx context.Context, t worker.Task) worker.Answer {
				return c.Task(ctx, worker.DefaultClass, received(t))
			}, c.BuryTask, later)
			p.timers = newTimers(machine.Clock{}.Now, p.tick)
			ctx, stop := context.WithCancel(t.Context())
			var running sync.WaitGroup
			for range 8 {
				running.Go(func() { p.inbox.run(ctx) })
				running.Go(func() { p.tasks.run(ctx) })
			}
			running.Go(func() { p.timers.run(ctx) })
			defer running.Wait()
			defer p.inbox.close()
			defer p.tasks.close()
			defer stop()
			test(t, porttest.Platform{
				Inbox: p.inbox, Tasks: p.tasks, Timers: p.timers, Clock: machine.Clock{}, Entropy: machine.Entropy{},
				Pass: func(d time.Duration) { <-time.After(d) },
				Go:   func(f func()) { go f() },
			})
		})
	})
}
