package aws

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore"
)

const (
	// maxEntries and maxBatchBytes are what SQS takes in one call.
	maxEntries    = 10
	maxBatchBytes = 256 << 10
	// entryBytes is what an entry costs beside its body.
	entryBytes = 512
	// sendTries is how often entries are sent that the service did not take.
	sendTries = 5
	// callTime bounds a call, with the SDK's own repeats of it. The SDK waits for an answer as long as its context lasts, and a connection that hangs
	// must neither keep those who wait for their turn nor outlast the heartbeats of a lease.
	callTime = 10 * time.Second
)

// queue sends to one queue.
type queue struct {
	client *sqs.Client
	url    string
}

// send sends entries in as few calls as it can. When it returns nil, all of them are safe. What failed is sent again under the same
// deduplication ID, so that a queue with one keeps it once.
func (q queue) send(ctx context.Context, entries []types.SendMessageBatchRequestEntry) error {
	for len(entries) > 0 {
		n := fitting(len(entries), func(i int) int { return len(*entries[i].MessageBody) + entryBytes })
		if err := q.sendBatch(ctx, entries[:n]); err != nil {
			return err
		}
		entries = entries[n:]
	}
	return nil
}

// fitting is how many of n entries go out in one call: the services count them, and weigh them together.
func fitting(n int, size func(i int) int) int {
	count, sum := 0, 0
	for count < n && count < maxEntries {
		if sum += size(count); count > 0 && sum > maxBatchBytes {
			break
		}
		count++
	}
	return count
}

func (q queue) sendBatch(ctx context.Context, batch []types.SendMessageBatchRequestEntry) error {
	for i := range batch {
		id := strconv.Itoa(i)
		batch[i].Id = &id
	}
	for try := 1; ; try++ {
		out, err := q.call(ctx, batch)
		if err != nil {
			return passing("send", err)
		}
		if len(out.Failed) == 0 {
			return nil
		}
		for _, f := range out.Failed {
			if f.SenderFault { // the same message would be refused again
				return fmt.Errorf("aws: the queue refuses a message: %s: %s", sdk.ToString(f.Code), sdk.ToString(f.Message))
			}
		}
		if f := out.Failed[0]; try == sendTries {
			return passing("send", fmt.Errorf("%s: %s", sdk.ToString(f.Code), sdk.ToString(f.Message)))
		}
		if batch, err = unsent(batch, out.Failed); err != nil {
			return err
		}
	}
}

func (q queue) call(ctx context.Context, batch []types.SendMessageBatchRequestEntry) (*sqs.SendMessageBatchOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return q.client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &q.url, Entries: batch})
}

// unsent is what is to be sent again: in a FIFO queue everything from the first failure of a group on, so that its order holds.
func unsent(batch []types.SendMessageBatchRequestEntry, failed []types.BatchResultErrorEntry) ([]types.SendMessageBatchRequestEntry, error) {
	broken := map[string]bool{}
	groups := map[string]bool{}
	for _, f := range failed {
		broken[sdk.ToString(f.Id)] = true
	}
	var out []types.SendMessageBatchRequestEntry
	for _, e := range batch {
		group := sdk.ToString(e.MessageGroupId)
		if broken[*e.Id] || group != "" && e.MessageDeduplicationId != nil && groups[group] {
			groups[group] = true
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("aws: a queue refused messages that were not sent to it")
	}
	return out, nil
}

// hide keeps a message that was received from being received again for a time, at most 12 hours.
func (q queue) hide(ctx context.Context, receipt string, d time.Duration) error {
	seconds := visibility(d)
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_, err := q.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &q.url, ReceiptHandle: &receipt, VisibilityTimeout: seconds})
	if err != nil {
		return passing("hide a message", err)
	}
	return nil
}

// visibility is a duration in the service's seconds: rounded up, for nothing may be seen too early.
func visibility(d time.Duration) int32 {
	return int32(min(math.Ceil(max(d, 0).Seconds()), (12 * time.Hour).Seconds()))
}

// delaySeconds is a delay in the service's seconds, rounded up, at most stack.MaxDelay.
func delaySeconds(d time.Duration) int32 {
	return int32(min(math.Ceil(max(d, 0).Seconds()), stack.MaxDelay.Seconds()))
}

// passing says of a failed call that it may succeed later. What was asked for may have happened.
func passing(op string, err error) error {
	return &eventstore.UnavailableError{Op: "aws: " + op, Err: err}
}
