package deployment

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/aws/meter"
)

// mapping is the event source mapping of a queue: it receives, invokes, and removes what the answer does not name. Receives that find nothing are
// no execution's and are not billed here.
type mapping struct {
	d     *Deployment
	f     *function
	url   string
	batch int
	queue *sqs.Client

	mu   sync.Mutex
	busy int
}

func (d *Deployment) mapping(function, url string, batch int) {
	d.mappings[url] = &mapping{d: d, f: d.functions[function], url: url, batch: batch, queue: sqs.NewFromConfig(d.plain)}
}

// arrive lets a message arrive after a time.
func (m *mapping) arrive(after time.Duration) {
	done := m.d.under()
	go func() {
		defer done()
		time.Sleep(after + m.d.dice.draw(queueDelivery))
		m.poll()
	}()
}

// poll takes batches as long as there are any and a poller is free.
func (m *mapping) poll() {
	for m.enter() {
		batch := m.receive()
		if len(batch) == 0 {
			m.leave()
			return
		}
		done := m.d.under()
		go func() {
			defer done()
			m.handle(batch)
			m.leave()
			m.poll()
		}()
	}
}

func (m *mapping) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy == pollers {
		return false
	}
	m.busy++
	return true
}

func (m *mapping) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy--
}

// ctx is one whose costs are the function's.
func (m *mapping) ctx() context.Context {
	return meter.With(context.Background(), meter.Label{Step: m.f.name})
}

func (m *mapping) receive() []types.Message {
	out, err := m.queue.ReceiveMessage(context.Background(), &sqs.ReceiveMessageInput{QueueUrl: &m.url, MaxNumberOfMessages: int32(m.batch),
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll}})
	require.NoError(m.d.t, err)
	if len(out.Messages) > 0 {
		m.d.bill(m.ctx(), &sqs.ReceiveMessageInput{QueueUrl: &m.url}, out)
	}
	return out.Messages
}

// handle invokes the function with a batch.
func (m *mapping) handle(batch []types.Message) {
	var e events.SQSEvent
	for _, r := range batch {
		e.Records = append(e.Records, events.SQSMessage{MessageId: *r.MessageId, ReceiptHandle: *r.ReceiptHandle, Body: *r.Body, Attributes: r.Attributes,
			EventSource: "aws:sqs", EventSourceARN: m.url})
	}
	out, err := m.f.invoke(e)
	require.NoError(m.d.t, err)
	text, err := json.Marshal(out)
	require.NoError(m.d.t, err)
	var answer events.SQSEventResponse
	require.NoError(m.d.t, json.Unmarshal(text, &answer))
	failed := map[string]bool{}
	for _, f := range answer.BatchItemFailures {
		failed[f.ItemIdentifier] = true
	}
	remove := &sqs.DeleteMessageBatchInput{QueueUrl: &m.url}
	for i, r := range batch {
		if failed[*r.MessageId] {
			m.again(*r.ReceiptHandle)
			continue
		}
		remove.Entries = append(remove.Entries, types.DeleteMessageBatchRequestEntry{Id: sdk.String(strconv.Itoa(i)), ReceiptHandle: r.ReceiptHandle})
	}
	if len(remove.Entries) > 0 {
		_, err := m.queue.DeleteMessageBatch(context.Background(), remove)
		require.NoError(m.d.t, err)
		m.d.bill(m.ctx(), remove, nil)
	}
}

// again lets a message come again when the time is over for which the function has hidden it. The emulator hides it in real time, which here does
// not pass.
func (m *mapping) again(receipt string) {
	m.d.mu.Lock()
	after := m.d.hidden[receipt]
	m.d.mu.Unlock()
	done := m.d.under()
	go func() {
		defer done()
		time.Sleep(after)
		_, err := m.queue.ChangeMessageVisibility(context.Background(), &sqs.ChangeMessageVisibilityInput{QueueUrl: &m.url, ReceiptHandle: &receipt})
		if old := (*types.ReceiptHandleIsInvalid)(nil); errors.As(err, &old) {
			return // it has come again by itself
		}
		require.NoError(m.d.t, err)
		m.arrive(0)
	}()
}

// put puts a message into a queue from outside, after a time.
func (d *Deployment) put(after time.Duration, url string, e types.SendMessageBatchRequestEntry) {
	done := d.under()
	go func() {
		defer done()
		time.Sleep(after)
		_, err := sqs.NewFromConfig(d.plain).SendMessage(context.Background(), &sqs.SendMessageInput{QueueUrl: &url, MessageBody: e.MessageBody,
			MessageGroupId: e.MessageGroupId, MessageDeduplicationId: e.MessageDeduplicationId})
		require.NoError(d.t, err)
		d.mappings[url].arrive(0)
	}()
}

// queueAt is the queue of an ARN.
func (d *Deployment) queueAt(arn string) string {
	require.True(d.t, strings.HasSuffix(arn, ":timers"), arn)
	return d.config.TimersQueue
}
