package aws

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/wovyr/wovyr/pkg/worker"
)

// Activity handles a batch of tasks: it runs each, and those that its result leads to, until it has to hand over (commit protocol, point 7).
func (p *Platform) Activity(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	end := until(ctx)
	ctx, cancel := within(ctx)
	defer cancel()
	var failed failures
	var group sync.WaitGroup
	for _, record := range e.Records {
		group.Go(func() { p.run(ctx, received{record, receives(record)}, end, &failed) })
	}
	group.Wait()
	return failed.response(), nil
}

// run runs one task.
func (p *Platform) run(ctx context.Context, r received, end time.Time, failed *failures) {
	q := p.tasks.queues[p.config.Class]
	t, answer, err := p.bodies.task(ctx, r.Body)
	if err != nil {
		if !p.unreadable(ctx, r.SQSMessage, err) {
			p.comesAgain(ctx, q, r, worker.Answer{After: p.Worker.Limits.Retry, Err: err}, failed)
		}
		return
	}
	defer p.issued.hold(t.Stream, t.AttemptRef, answer)()
	d := worker.Delivery{Task: t, Receive: p.Worker.Entropy.ID(), Extend: func(ctx context.Context, d time.Duration) error { return q.hide(ctx, r.ReceiptHandle, d) }}
	if !end.IsZero() {
		d.Until = end.UnixNano()
	}
	// The queue's own visibility is as long as a function may run. A lease is shorter, so that a crash is noticed soon.
	var hidden sync.WaitGroup
	defer hidden.Wait()
	hidden.Go(func() {
		if err := q.hide(ctx, r.ReceiptHandle, p.Worker.Limits.Lease+p.Worker.Limits.Retry); err != nil {
			p.Log.Warn("task keeps its visibility", "execution", t.Stream.ID, "step", t.Step, "cause", err)
		}
	})
	a := p.hands.task(ctx, d)
	hidden.Wait()
	if !a.Done && p.hopeless(a, r) && p.hands.buryTask(ctx, t, a.Err) == nil {
		a.Done = true
	}
	if !a.Done {
		p.comesAgain(ctx, q, r, a, failed)
	}
}
