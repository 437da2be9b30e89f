package aws

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

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
	byStream := map[eventstore.Stream]*batch{}
	broken := map[string]bool{}
	for _, record := range e.Records {
		group, r := record.Attributes["MessageGroupId"], received{record, receives(record)}
		if broken[group] {
			p.comesAgain(ctx, p.inbox.queue, r, worker.Answer{}, failed)
			continue
		}
		m, err := p.bodies.message(ctx, record.Body)
		if err == nil {
			err = p.config.maySend(record, m.Input)
		}
		if err != nil {
			if p.unreadable(ctx, record, err) {
				continue
			}
			broken[group] = true
			p.comesAgain(ctx, p.inbox.queue, r, worker.Answer{After: p.Worker.Limits.Retry, Err: err}, failed)
			continue
		}
		b := byStream[m.Stream] // not by the group, which is the sender's word
		if b == nil {
			b = &batch{stream: m.Stream}
			byStream[m.Stream] = b
			out = append(out, b)
		}
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

// hopeless reports whether a message has failed too often for reasons of its own. A class that may not write dead letters leaves it to those of the
// queue, which come after stack.MaxReceives.
func (p *Platform) hopeless(a worker.Answer, r received) bool {
	return p.config.Commits && a.Err != nil && !worker.Passing(a.Err) && r.receives >= stack.MaxFailures
}

// longestRest is the longest that a message rests which failed for a passing reason.
const longestRest = 5 * time.Minute

// rest is how long a message rests that comes again. For a passing reason that doubles with each receive: a queue gives a message up after
// stack.MaxReceives of them, and an outage of hours must not use those up.
func rest(a worker.Answer, receives int) time.Duration {
	if a.Err == nil || !worker.Passing(a.Err) {
		return a.After
	}
	return max(a.After, min(a.After<<min(receives-1, 16), longestRest))
}

// comesAgain leaves a message in its queue, hidden for as long as the worker wants, or longer if that failed before.
func (p *Platform) comesAgain(ctx context.Context, q queue, r received, a worker.Answer, failed *failures) {
	failed.add(r.MessageId)
	after := rest(a, r.receives)
	if a.Err != nil {
		p.Log.Warn("message comes back", "queue", r.EventSourceARN, "message", r.MessageId, "receives", r.receives, "after", after.String(), "cause", a.Err)
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), hideTime)
	defer cancel()
	if err := q.hide(late, r.ReceiptHandle, after); err != nil {
		p.Log.Warn("message keeps its visibility", "message", r.MessageId, "cause", err)
	}
}

// unreadable buries a message that is none of ours, or that nobody could read in many tries, and reports whether it is done with.
func (p *Platform) unreadable(ctx context.Context, record events.SQSMessage, cause error) bool {
	body := &BodyError{Queue: record.EventSourceARN[strings.LastIndexByte(record.EventSourceARN, ':')+1:]}
	if strings.HasSuffix(p.config.EventsQueue, "/"+body.Queue) {
		body.Queue = queueEvents
	}
	if !p.config.Commits || !errors.As(cause, &body) && !p.hopeless(worker.Answer{Err: cause}, received{record, receives(record)}) {
		return false
	}
	p.Log.Error("message goes to the dead letters", "queue", record.EventSourceARN, "message", record.MessageId, "cause", cause)
	text, why := []byte(record.Body), cause.Error()
	err := p.Worker.Store.PutDeadLetter(ctx, eventstore.DeadLetter{Tenant: p.config.Tenant, ID: record.MessageId, Queue: body.Queue, Code: "unreadable",
		Cause: strings.ToValidUTF8(why[:min(len(why), eventstore.MaxDeadLetterCause)], ""), // the cut may go through a character
		At:    p.Worker.Clock.Now(), Body: text[:min(len(text), eventstore.MaxDeadLetter)]})
	if err != nil {
		p.Log.Warn("dead letter not stored", "message", record.MessageId, "cause", err)
	}
	return err == nil
}
