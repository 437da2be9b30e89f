package aws

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/wovyr/wovyr/pkg/worker"
)

// inbox is worker.Inbox on an SQS FIFO queue: one message group for each execution (commit protocol, point 5).
type inbox struct {
	queue
	bodies
	combiner combiner
}

// Send implements worker.Inbox. The deduplication ID is the message's own, which is fresh for each logical send, so that the queue never
// swallows a wake-up.
func (i *inbox) Send(ctx context.Context, messages ...worker.Message) error {
	entries := make([]types.SendMessageBatchRequestEntry, len(messages))
	for n, m := range messages {
		body, err := i.ofMessage(ctx, m)
		if err != nil {
			return err
		}
		group, id := groupOf(m.Stream), deduplicationID(m.ID)
		entries[n] = types.SendMessageBatchRequestEntry{MessageBody: &body, MessageGroupId: &group, MessageDeduplicationId: &id}
	}
	return i.combiner.send(ctx, i.queue, entries)
}

// deduplicationID fits a message's ID into what SQS takes: at most 128 characters of a small alphabet.
func deduplicationID(id string) string {
	if len(id) <= 128 {
		plain := true
		for i := range len(id) {
			c := id[i]
			plain = plain && c > ' ' && c < 0x7f
		}
		if plain && id != "" {
			return id
		}
	}
	return "h-" + fairGroup(id)
}
