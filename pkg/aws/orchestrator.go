package aws

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/aws/aws-lambda-go/events"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
)

// Orchestrator handles a batch of the inbox: messages of one execution in their order and together, executions beside each other. The answer
// names those that are to come again: of an execution, everything from the first of them on.
func (p *Platform) Orchestrator(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	ctx, cancel := within(ctx)
	defer cancel()
	var failed failures
	var group sync.WaitGroup
	for _, batch := range p.batches(ctx, e, &failed) {
		group.Go(func() { p.decide(ctx, batch, &failed) })
	}
	group.Wait()
	return failed.response(), nil
}

// batch is the messages of one execution.
type batch struct {
	stream   eventstore.Stream
	records  []received
	messages []worker.Message
}

// batches sorts a batch by execution. A message that is none of ours is buried; one that cannot be read now comes again, with those behind it.
func (p *Platform) batches(ctx context.Context, e events.SQSEvent, failed *failures) []*batch {
	var out []*batch
	byGroup := map[string]*batch{}
	broken := map[string]bool{}
	for _, record := range e.Records {
		group := record.Attributes["MessageGroupId"]
		if broken[group] {
			failed.add(record.MessageId)
			continue
		}
		m, err := p.bodies.message(ctx, record.Body)
		if err != nil {
			if p.unreadable(ctx, record, err) {
				continue
			}
			broken[group] = true
			p.comesAgain(ctx, p.inbox.queue, received{record, receives(record)}, worker.Answer{After: p.Worker.Limits.Retry, Err: err}, failed)
			continue
		}
		b := byGroup[group]
		if b == nil {
			b = &batch{stream: m.Stream}
			byGroup[group] = b
			out = append(out, b)
		}
		r := received{record, receives(record)}
		m.Again = r.receives > 1
		b.records, b.messages = append(b.records, r), append(b.messages, m)
	}
	return out
}

// receives is how often a message was received, this time included.
func receives(m events.SQSMessage) int {
	n, err := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
	if err != nil {
		return 1
	}
	return n
}

// decide handles the messages of one execution.
func (p *Platform) decide(ctx context.Context, b *batch, failed *failures) {
	answers := p.hands.inbox(ctx, b.stream, b.messages)
	broken := false
	for i, a := range answers {
		r := b.records[i]
		if !broken && !a.Done && p.hopeless(a, r) && p.hands.buryMessage(ctx, b.messages[i], a.Err) == nil {
			a.Done = true
		}
		if a.Done && !broken {
			continue
		}
		broken = true
		p.comesAgain(ctx, p.inbox.queue, r, a, failed)
	}
}

// hideTime bounds the call that hides a message which comes again: ten of them fit into the margin.
const hideTime = margin / 12

// hopeless reports whether a message has failed too often for reasons of its own.
func (p *Platform) hopeless(a worker.Answer, r received) bool {
	return a.Err != nil && !worker.Passing(a.Err) && r.receives >= stack.MaxFailures
}

// comesAgain leaves a message in its queue, hidden for as long as the worker wants.
func (p *Platform) comesAgain(ctx context.Context, q queue, r received, a worker.Answer, failed *failures) {
	failed.add(r.MessageId)
	if a.Err != nil {
		p.Log.Warn("message comes back", "queue", r.EventSourceARN, "message", r.MessageId, "receives", r.receives, "after", a.After.String(), "cause", a.Err)
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), hideTime)
	defer cancel()
	if err := q.hide(late, r.ReceiptHandle, a.After); err != nil {
		p.Log.Warn("message keeps its visibility", "message", r.MessageId, "cause", err)
	}
}

// unreadable buries a message that is none of ours, or that nobody could read in many tries, and reports whether it is done with.
func (p *Platform) unreadable(ctx context.Context, record events.SQSMessage, cause error) bool {
	body := &BodyError{Queue: "inbox"}
	if !errors.As(cause, &body) && !p.hopeless(worker.Answer{Err: cause}, received{record, receives(record)}) {
		return false
	}
	p.Log.Error("message goes to the dead letters", "queue", record.EventSourceARN, "message", record.MessageId, "cause", cause)
	text := []byte(record.Body)
	err := p.Store.PutDeadLetter(ctx, eventstore.DeadLetter{Tenant: p.config.Tenant, ID: record.MessageId, Queue: body.Queue, Code: "unreadable", Cause: cause.Error()[:min(len(cause.Error()), eventstore.MaxDeadLetterCause)],
		At: p.Worker.Clock.Now(), Body: text[:min(len(text), eventstore.MaxDeadLetter)]})
	if err != nil {
		p.Log.Warn("dead letter not stored", "message", record.MessageId, "cause", err)
	}
	return err == nil
}
