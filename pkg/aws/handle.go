package aws

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// margin is what an invocation leaves of its time, for the writes and answers that end it.
const margin = stack.AnswerMargin

// until is when handling must be over: the invocation's deadline less the margin, or half of its time if that is short; zero without one.
func until(ctx context.Context) time.Time {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Time{}
	}
	left := time.Until(deadline)
	return deadline.Add(-min(margin, left/2))
}

// within returns a context that ends in time for the answers of the invocation.
func within(ctx context.Context) (context.Context, context.CancelFunc) {
	if end := until(ctx); !end.IsZero() {
		return context.WithDeadline(ctx, end)
	}
	return context.WithCancel(ctx)
}

// lastCall returns a context that ends when the invocation must answer, whoever is still at work: a quarter of the margin before its deadline, in which
// what comes again is hidden.
func lastCall(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(context.WithoutCancel(ctx))
	}
	return context.WithDeadline(context.WithoutCancel(ctx), deadline.Add(-deadline.Sub(until(ctx))/4))
}

// received is a message of a batch.
type received struct {
	events.SQSMessage
	receives int
}

// failures gathers the messages of a batch that are to come again.
type failures struct {
	mu  sync.Mutex
	ids []events.SQSBatchItemFailure
}

func (f *failures) add(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids = append(f.ids, events.SQSBatchItemFailure{ItemIdentifier: id})
}

func (f *failures) response() events.SQSEventResponse {
	f.mu.Lock()
	defer f.mu.Unlock()
	// Never null: the service takes that for "none", an emulator may not.
	return events.SQSEventResponse{BatchItemFailures: append([]events.SQSBatchItemFailure{}, f.ids...)}
}
