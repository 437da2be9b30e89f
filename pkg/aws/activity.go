package aws

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/worker"
)

// Activity handles a batch of tasks: it runs each, and those that its result leads to, until it has to hand over (commit protocol, point 7). Tasks
// run together, but for two kinds, which come after the others and one at a time: what was received before may have brought that invocation down, and would
// take the others along again; and what may need more than its share of the memory gets all of it. A task that does not end comes again, and keeps no answer
// of the others.
func (p *Platform) Activity(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	i := &invocation{end: until(ctx)}
	last, release := lastCall(ctx)
	defer release()
	i.last = last.Done()
	ctx, cancel := within(ctx)
	defer cancel()
	var group sync.WaitGroup
	var alone []taskReceived
	began := time.Now()
	for _, record := range e.Records {
		r := taskReceived{received: received{record, receives(record)}}
		if r.Task, r.answer, r.err = p.bodies.task(ctx, record.Body); len(e.Records) > 1 && r.alone() {
			alone = append(alone, r)
			continue
		}
		group.Go(func() { p.run(ctx, r, i) })
	}
	group.Wait()
	for _, r := range alone {
		if !i.end.IsZero() && time.Since(began) > time.Until(i.end) { // it may want more time than is left: the next invocation has all of it
			group.Go(func() { p.comesAgain(ctx, p.tasks.queues[p.config.Class], r.received, worker.Answer{}, &i.failed) })
			continue
		}
		p.run(ctx, r, i)
	}
	group.Wait()
	cancel()
	i.hiding.Wait()
	return i.failed.response(), nil
}

// invocation is what the tasks of a batch share.
type invocation struct {
	// end is when handling must be over; zero without a deadline.
	end time.Time
	// last is closed when whoever is still at work is no longer waited for.
	last <-chan struct{}
	// hiding are those that keep tasks hidden that are over.
	hiding sync.WaitGroup
	failed failures
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
// function ends the waiting. A call that is under way gets hideTime more: it should not land after the one that hides the task because it comes again.
// It reports whether there was one.
func (p *Platform) hideLater(ctx context.Context, q queue, r received, t worker.Task) (stop func() (hidden bool)) {
	over := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	hidden := false
	waiting.Go(func() {
		timer := time.NewTimer(briefly)
		defer timer.Stop()
		select {
		case <-over:
			return
		case <-timer.C:
		}
		hidden = true
		if err := q.hide(ctx, r.ReceiptHandle, p.Worker.Limits.Lease+p.Worker.Limits.Retry); err != nil {
			p.Log.Warn("task keeps its visibility", "execution", t.Stream.ID, "step", t.Step, "cause", err)
		}
	})
	return func() bool {
		close(over)
		defer cancel()
		defer time.AfterFunc(hideTime, cancel).Stop()
		waiting.Wait()
		return hidden
	}
}

// stayHidden hides a task that is over for as long as its batch may take, if others of it are still at work in a moment: the queue removes a batch as a
// whole, and by then the lease for which the task was hidden may have ended. It would come again, for nothing.
func (p *Platform) stayHidden(ctx context.Context, q queue, r received, i *invocation) {
	i.hiding.Go(func() {
		timer := time.NewTimer(min(briefly, p.Worker.Limits.Retry/2)) // a task stays hidden for Limits.Retry after its lease
		defer timer.Stop()
		select {
		case <-ctx.Done(): // the batch is over
			return
		case <-timer.C:
		}
		if err := q.hide(ctx, r.ReceiptHandle, time.Until(i.end)+margin+p.Worker.Limits.Retry); err != nil && ctx.Err() == nil {
			p.Log.Warn("task that is over may come again", "message", r.MessageId, "cause", err)
		}
	})
}

// errUnended is why a task comes again that was still at it when its invocation had to answer.
var errUnended = errors.New("it did not end in time for the answer of the invocation")

// waitFor runs a task, and waits for it until last is over: code of users may not hear that its context has ended, and a connection may hang. What is left
// running then may go on in a later invocation of the sandbox, like a worker that was paused: its claim and the versions of its writes tell it so.
func (p *Platform) waitFor(ctx context.Context, d worker.Delivery, last <-chan struct{}) worker.Answer {
	answer := make(chan worker.Answer, 1)
	go func() { answer <- p.hands.task(ctx, d) }()
	select {
	case a := <-answer:
		return a
	case <-last:
		return worker.Answer{After: p.Worker.Limits.Retry, Err: passing("run a task", errUnended)}
	}
}

// run runs one task.
func (p *Platform) run(ctx context.Context, r taskReceived, i *invocation) {
	q, t := p.tasks.queues[p.config.Class], r.Task
	if r.err != nil {
		if !p.unreadable(ctx, r.SQSMessage, r.err) {
			p.comesAgain(ctx, q, r.received, worker.Answer{After: p.Worker.Limits.Retry, Err: r.err}, &i.failed)
		}
		return
	}
	defer p.issued.hold(t.Stream, t.AttemptRef, r.answer)()
	d := worker.Delivery{Task: t, Receive: p.Worker.Entropy.ID(), Extend: func(ctx context.Context, d time.Duration) error { return q.hide(ctx, r.ReceiptHandle, d) }}
	if !i.end.IsZero() {
		d.Until = i.end.UnixNano()
	}
	stop := p.hideLater(ctx, q, r.received, t)
	a := p.waitFor(ctx, d, i.last)
	hidden := stop()
	if !a.Done && p.hopeless(a, r.received) && p.hands.buryTask(ctx, t, a.Err) == nil {
		a.Done = true
	}
	switch {
	case !a.Done:
		p.comesAgain(ctx, q, r.received, a, &i.failed)
	case hidden && !i.end.IsZero():
		p.stayHidden(ctx, q, r.received, i)
	}
}
