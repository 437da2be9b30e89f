package local

import (
	"context"
	"sync"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker/machine"
)

const (
	// sweepEvery is the pause between two looks at the index.
	sweepEvery = window / 4
	// repairers is how many executions are repaired at once.
	repairers = 8
	// cleanEvery is the pause between two rounds of removing what has had its time, and cleanBudget how much of it a round looks at.
	cleanEvery  = time.Hour
	cleanBudget = 20_000
)

// sweep finds timers that come near, executions that should have moved, and what has had its time.
func (p *Platform) sweep(ctx context.Context) {
	began := time.Now()
	p.say(ctx, "taking up what was open", p.repair(ctx, eventstore.MaxTime, p.lost))
	p.log.Debug("taken up what was open", "took", time.Since(began))
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	var cleaned time.Time
	for {
		if time.Since(cleaned) > cleanEvery {
			cleaned = time.Now()
			p.say(ctx, "removing what has had its time", p.clean(ctx))
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		p.say(ctx, "sweep", p.look(ctx))
	}
}

func (p *Platform) say(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		p.trouble.met(err)
		p.log.Error(what, "cause", err)
	}
}

// lost reports whether something of an execution may have been in the memory of a process that has ended.
func (p *Platform) lost(r eventstore.Row) bool { return !p.Worker.Idle(r) }

// look arms the timers of the next window and repairs what is overdue.
func (p *Platform) look(ctx context.Context) error {
	now := machine.Clock{}.Now()
	return p.repair(ctx, now+2*int64(window), func(r eventstore.Row) bool { return r.Due <= now })
}

// repair goes through the executions that are due by a time: those that lost says so of are repaired, the timers of the others armed.
func (p *Platform) repair(ctx context.Context, until int64, lost func(eventstore.Row) bool) error {
	for shard := range eventstore.Shards {
		// Repairing moves rows within the list that is being read, so the shard is read to its end first.
		var list []eventstore.Row
		for page := (eventstore.Page{Limit: eventstore.MaxPage}); ; {
			rows, next, err := p.Store.Overdue(ctx, shard, until, page)
			if err != nil {
				return err
			}
			for _, r := range rows {
				switch {
				case lost(r):
					list = append(list, r)
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
		p.repairAll(ctx, list)
	}
	return ctx.Err()
}

// repairAll repairs executions, several at once. One that cannot be repaired is looked at again later, and logged by the worker.
func (p *Platform) repairAll(ctx context.Context, list []eventstore.Row) {
	work := make(chan eventstore.Row)
	var group sync.WaitGroup
	for range min(repairers, len(list)) {
		group.Go(func() {
			for r := range work {
				if _, err := p.Worker.Repair(ctx, r); err != nil && ctx.Err() == nil {
					p.log.Warn("execution not repaired", "execution", r.Stream.ID, "cause", err)
				}
			}
		})
	}
	for _, r := range list {
		if ctx.Err() != nil {
			break
		}
		work <- r
	}
	close(work)
	group.Wait()
}

// clean removes executions whose retention is over, and claims, events, subscriptions and dead letters that have expired.
func (p *Platform) clean(ctx context.Context) error {
	now := machine.Clock{}.Now()
	for shard := range eventstore.Shards {
		if _, err := p.Worker.Purge(ctx, shard, now); err != nil {
			return err
		}
	}
	_, err := p.Store.Expire(ctx, now, cleanBudget)
	return err
}
