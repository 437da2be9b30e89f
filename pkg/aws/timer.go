package aws

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// sweepers is how many shards are swept at once.
const sweepers = 8

// purges reports whether a shard is purged in this minute: each once an hour, a minute for one or two of them.
func purges(shard int, now time.Time) bool { return shard%60 == now.Minute() }

// Timer handles timers that have come, and the sweep: whatever its event is.
func (p *Platform) Timer(ctx context.Context, event json.RawMessage) (any, error) {
	var e struct {
		events.SQSEvent
		Wovyr string `json:"wovyr"`
	}
	if err := json.Unmarshal(event, &e); err != nil {
		return nil, fmt.Errorf("aws: the timer function got an event that is none: %w", err)
	}
	ctx, cancel := within(ctx)
	defer cancel()
	if e.Wovyr == stack.SweepEvent {
		return p.Sweep(ctx)
	}
	var failed failures
	var group sync.WaitGroup
	for _, record := range e.Records {
		group.Go(func() { p.fire(ctx, received{record, receives(record)}, &failed) })
	}
	group.Wait()
	return failed.response(), nil
}

// fire tells an execution that its timer is due. One that is early is delayed again: a message about the past would be taken for a duplicate,
// and the timer lost.
func (p *Platform) fire(ctx context.Context, r received, failed *failures) {
	a, err := parseAlarm(r.Body)
	if err != nil {
		if !p.unreadable(ctx, r.SQSMessage, err) {
			p.comesAgain(ctx, p.timers.queue, r, worker.Answer{After: p.Worker.Limits.Retry, Err: err}, failed)
		}
		return
	}
	if rest := time.Duration(a.At - p.Worker.Clock.Now()); rest > 0 {
		err = p.timers.delay(ctx, a, rest)
	} else {
		err = p.inbox.Send(ctx, worker.Message{ID: p.Worker.Entropy.ID(), Stream: a.stream(), Input: workflow.Tick{}})
	}
	if err != nil {
		p.comesAgain(ctx, p.timers.queue, r, worker.Answer{After: p.Worker.Limits.Retry, Err: err}, failed)
	}
}

// Swept is what a sweep of all shards came to.
type Swept struct {
	Looked, Repaired, Stuck, Purged int
	// Unfinished is how many shards there was no time for: the next sweep begins elsewhere.
	Unfinished int
}

// Sweep looks at the executions that should have moved, in all shards, beginning at a random one, and removes what has had its time from those shards
// whose minute it is.
func (p *Platform) Sweep(ctx context.Context) (Swept, error) {
	now := time.Unix(0, p.Worker.Clock.Now())
	var out Swept
	var mu sync.Mutex
	shards := make(chan int)
	var group sync.WaitGroup
	for range sweepers {
		group.Go(func() {
			for shard := range shards {
				s, purged, err := p.sweepShard(ctx, shard, now)
				mu.Lock()
				out.Looked, out.Repaired, out.Stuck, out.Purged = out.Looked+s.Looked, out.Repaired+s.Repaired, out.Stuck+len(s.Stuck), out.Purged+purged
				if err != nil {
					out.Unfinished++
					p.Log.Warn("shard not swept to its end", "shard", shard, "cause", err)
				}
				mu.Unlock()
			}
		})
	}
	first := rand.IntN(eventstore.Shards)
	for i := range eventstore.Shards {
		shards <- (first + i) % eventstore.Shards
	}
	close(shards)
	group.Wait()
	p.metrics.count(metric{stack.MetricStuck, float64(out.Stuck), "Count"}, metric{stack.MetricRepaired, float64(out.Repaired), "Count"},
		metric{stack.MetricUnswept, float64(out.Unfinished), "Count"})
	return out, nil
}

func (p *Platform) sweepShard(ctx context.Context, shard int, now time.Time) (s worker.Swept, purged int, err error) {
	if s, err = p.Worker.Sweep(ctx, shard, now.UnixNano()); err != nil || !purges(shard, now) {
		return s, 0, err
	}
	purged, err = p.Worker.Purge(ctx, shard, now.UnixNano())
	return s, purged, err
}
