package aws

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/worker"
)

// Activity handles a batch of tasks: it runs each, and those that its result leads to, until it has to hand over (commit protocol, point 7). Tasks
// run together, but for two kinds, which come after the others and one at a time: what was received before may have brought that invocation down, and would
// take the others along again; and what may need more than its share of the memory gets all of it.
func (p *Platform) Activity(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	end := until(ctx)
	ctx, cancel := within(ctx)
	defer cancel()
	var failed failures
	var group sync.WaitGroup
	var alone []taskReceived
	began := time.Now()
	for _, record := range e.Records {
		r := taskReceived{received: received{record, receives(record)}}
		if r.Task, r.answer, r.err = p.bodies.task(ctx, record.Body); len(e.Records) > 1 && r.alone() {
			alone = append(alone, r)
			continue
		}
		group.Go(func() { p.run(ctx, r, end, &failed) })
	}
	group.Wait()
	for _, r := range alone {
		if !end.IsZero() && time.Since(began) > time.Until(end) { // it may want more time than is left: the next invocation has all of it
			p.comesAgain(ctx, p.tasks.queues[p.config.Class], r.received, worker.Answer{}, &failed)
			continue
		}
		p.run(ctx, r, end, &failed)
	}
	return failed.response(), nil
}

// taskReceived is a task as it was received; err says that it could not be read.
type taskReceived struct {
	received
	worker.Task
	answer *callback
	err    error
}

// alone reports whether a task should not run beside others.
func (r taskReceived) alone() bool {
	return r.receives > 1 || r.Command != nil && r.Command.MaxMemory > (stack.ActivityMemory<<20)/stack.OwnTasksBatch
}

// briefly is how long a task may take before it is hidden for as long as its lease only.
const briefly = time.Second

// hideLater shortens the visibility of a task to its lease, so that a crash is noticed soon: the queue's own is as long as a function may run. Most
// tasks are over before, and save the call; after a crash within that time the sweep finds the lease that is over, a minute or two later. The returned
// function ends the waiting, and a call that is under way.
func (p *Platform) hideLater(ctx context.Context, q queue, r received, t worker.Task) (stop func()) {
	over := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		timer := time.NewTimer(briefly)
		defer timer.Stop()
		select {
		case <-over:
			return
		case <-timer.C:
		}
		if err := q.hide(ctx, r.ReceiptHandle, p.Worker.Limits.Lease+p.Worker.Limits.Retry); err != nil {
			p.Log.Warn("task keeps its visibility", "execution", t.Stream.ID, "step", t.Step, "cause", err)
		}
	})
	return func() {
		close(over)
		waiting.Wait()
	}
}

// run runs one task.
func (p *Platform) run(ctx context.Context, r taskReceived, end time.Time, failed *failures) {
	q, t := p.tasks.queues[p.config.Class], r.Task
	if r.err != nil {
		if !p.unreadable(ctx, r.SQSMessage, r.err) {
			p.comesAgain(ctx, q, r.received, worker.Answer{After: p.Worker.Limits.Retry, Err: r.err}, failed)
		}
		return
	}
	defer p.issued.hold(t.Stream, t.AttemptRef, r.answer)()
	d := worker.Delivery{Task: t, Receive: p.Worker.Entropy.ID(), Extend: func(ctx context.Context, d time.Duration) error { return q.hide(ctx, r.ReceiptHandle, d) }}
	if !end.IsZero() {
		d.Until = end.UnixNano()
	}
	hidden := p.hideLater(ctx, q, r.received, t)
	a := p.hands.task(ctx, d)
	hidden()
	if !a.Done && p.hopeless(a, r.received) && p.hands.buryTask(ctx, t, a.Err) == nil {
		a.Done = true
	}
	if !a.Done {
		p.comesAgain(ctx, q, r.received, a, failed)
	}
}
