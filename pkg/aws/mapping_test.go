package aws

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// mapping does what Lambda's event source mapping of a queue does: it receives, calls the handler, and removes what the answer does not name.
type mapping struct {
	client *sqs.Client
	url    string
	batch  int32
	handle func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error)
}

// poll works until ctx ends.
func (m mapping) poll(ctx context.Context) {
	for ctx.Err() == nil {
		out, err := m.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &m.url, MaxNumberOfMessages: m.batch, WaitTimeSeconds: 1,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll}})
		if err != nil || len(out.Messages) == 0 {
			continue
		}
		var e events.SQSEvent
		for _, r := range out.Messages {
			e.Records = append(e.Records, events.SQSMessage{MessageId: *r.MessageId, ReceiptHandle: *r.ReceiptHandle, Body: *r.Body, Attributes: r.Attributes, EventSource: "aws:sqs", EventSourceARN: m.url})
		}
		answer, err := m.handle(ctx, e)
		if err != nil {
			continue // as after a crash: all of them come again when their visibility is over
		}
		m.remove(ctx, e, answer)
	}
}

// remove removes what an answer does not name.
func (m mapping) remove(ctx context.Context, e events.SQSEvent, answer events.SQSEventResponse) {
	failed := map[string]bool{}
	for _, f := range answer.BatchItemFailures {
		failed[f.ItemIdentifier] = true
	}
	var done []types.DeleteMessageBatchRequestEntry
	for i, r := range e.Records {
		if !failed[r.MessageId] {
			done = append(done, types.DeleteMessageBatchRequestEntry{Id: sdk.String(strconv.Itoa(i)), ReceiptHandle: sdk.String(r.ReceiptHandle)})
		}
	}
	if len(done) > 0 {
		_, _ = m.client.DeleteMessageBatch(context.WithoutCancel(ctx), &sqs.DeleteMessageBatchInput{QueueUrl: &m.url, Entries: done}) // else it comes again
	}
}

// poll starts pollers of mappings, and ends them with the test.
func poll(t *testing.T, pollers int, mappings ...mapping) {
	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for _, m := range mappings {
		for range pollers {
			group.Go(func() { m.poll(ctx) })
		}
	}
	t.Cleanup(func() { stop(); group.Wait() })
}

// timerOf is the timer function as a handler of messages.
func timerOf(p *Platform) func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	return func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
		text, err := json.Marshal(e)
		if err != nil {
			return events.SQSEventResponse{}, err
		}
		answer, err := p.Timer(ctx, text)
		if err != nil {
			return events.SQSEventResponse{}, err
		}
		return answer.(events.SQSEventResponse), nil
	}
}

// newQueue makes a queue as the stack does, with a visibility of its own.
func newQueue(t *testing.T, client *sqs.Client, name string, fifo bool, visibility time.Duration) string {
	attributes := map[string]string{"VisibilityTimeout": strconv.Itoa(int(visibility.Seconds())), "MessageRetentionPeriod": strconv.Itoa(int(stack.MessageLife.Seconds()))}
	if fifo {
		name += ".fifo"
		attributes["FifoQueue"], attributes["DeduplicationScope"], attributes["FifoThroughputLimit"] = "true", "messageGroup", "perMessageGroupId"
	}
	out, err := client.CreateQueue(context.Background(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	require.NoError(t, err)
	return *out.QueueUrl
}
