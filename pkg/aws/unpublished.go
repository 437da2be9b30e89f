package aws

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// failedBatch is what Lambda says of a part of the stream that the publisher did not get done. It has no records.
type failedBatch struct {
	Context struct {
		Condition string `json:"condition"`
	} `json:"requestContext,omitzero"`
	Batch *struct {
		Shard     string `json:"shardId"`
		From      string `json:"startSequenceNumber"`
		To        string `json:"endSequenceNumber"`
		Since     string `json:"approximateArrivalOfFirstRecord"`
		Until     string `json:"approximateArrivalOfLastRecord"`
		Size      int    `json:"batchSize"`
		StreamARN string `json:"streamArn"`
	} `json:"DDBStreamBatchInfo,omitempty"`
	// Commits are in messages of our own, which take the place of Lambda's while the stream still has the records: later only the history has them.
	Commits []stack.Unpublished `json:"commits,omitempty"`
}

const (
	// replayHide is how long a message is hidden while it is looked at: longer than the publisher may run.
	replayHide = 2 * stack.PublisherTimeout
	// lookHide is the same where it is only looked at.
	lookHide = 5 * time.Second
	// defaultReplayDelay is how long what fails again stays hidden.
	defaultReplayDelay = time.Minute
	// maxStreamPages bounds the calls by which the records of one message are read.
	maxStreamPages = 50
)

// Replay publishes what the publisher could not: the queue of its failures says where in the stream that was, the commits are read again from the
// history. What fails again stays in the queue, with its cause.
func (p *Platform) Replay(ctx context.Context, request stack.ReplayRequest) (stack.Replayed, error) {
	out := stack.Replayed{Kept: []stack.Unpublished{}}
	hide := replayHide
	if request.Look {
		hide = lookHide
	}
	seen := map[string]bool{}
	for {
		got, err := p.unpublished.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &p.unpublished.url, MaxNumberOfMessages: maxEntries, WaitTimeSeconds: 1, VisibilityTimeout: visibility(hide)})
		if err != nil {
			if ctx.Err() != nil {
				out.More = true
				return out, nil
			}
			return out, passing("receive failures", err)
		}
		fresh := slices.DeleteFunc(got.Messages, func(m types.Message) bool { return seen[*m.MessageId] })
		if len(fresh) == 0 {
			return out, nil
		}
		for _, m := range fresh {
			seen[*m.MessageId] = true
			if err := p.replayMessage(ctx, m, request.Look, &out); err != nil {
				if ctx.Err() != nil {
					out.More = true
					return out, nil
				}
				return out, err
			}
		}
	}
}

// replayMessage publishes what one message is about. Only what its queue refuses is an error.
func (p *Platform) replayMessage(ctx context.Context, m types.Message, look bool, out *stack.Replayed) error {
	out.Messages++
	var f failedBatch
	if err := json.Unmarshal([]byte(sdk.ToString(m.Body)), &f); err != nil || f.Batch == nil && len(f.Commits) == 0 {
		out.Kept = append(out.Kept, stack.Unpublished{Cause: "a message that is none of Lambda's or ours: " + clipped(sdk.ToString(m.Body))})
		return nil
	}
	commits := f.Commits
	if f.Batch != nil {
		var err error
		if commits, err = p.commitsOf(ctx, f); err != nil {
			out.Kept = append(out.Kept, stack.Unpublished{Since: f.Batch.Since, Until: f.Batch.Until, Cause: err.Error()})
			return nil
		}
	}
	if look {
		out.Kept = append(out.Kept, commits...)
		return nil
	}
	var left []stack.Unpublished
	for _, c := range commits {
		switch err := p.replayCommit(ctx, c); {
		case errors.Is(err, eventstore.ErrNotFound):
			out.Gone++
		case err != nil:
			p.Log.Warn("commit not published again", "execution", c.Execution, "version", c.Version, "cause", err)
			c.Cause = err.Error()
			left = append(left, c)
		default:
			out.Published++
		}
	}
	out.Kept = append(out.Kept, left...)
	if f.Batch == nil && len(left) == len(commits) {
		return p.unpublished.hide(ctx, *m.ReceiptHandle, p.replayDelay)
	}
	return p.replace(ctx, m, left)
}

// replayCommit publishes one commit as the stream would have.
func (p *Platform) replayCommit(ctx context.Context, at stack.Unpublished) error {
	c, err := p.Store.ReadBack(ctx, eventstore.Stream{Tenant: at.Tenant, ID: at.Execution}, at.Version)
	if err != nil {
		return err
	}
	if _, err := p.Store.PutNewest(ctx, []dynamodb.Change{c}); err != nil {
		return err
	}
	return p.pass(ctx, c)
}

// replace puts what is left of a message in its place, first the new ones: at worst something is published twice.
func (p *Platform) replace(ctx context.Context, m types.Message, left []stack.Unpublished) error {
	var entries []types.SendMessageBatchRequestEntry
	for part := range slices.Chunk(left, stack.StreamBatch) {
		body, err := encodeBody(failedBatch{Commits: part})
		if err != nil {
			return fmt.Errorf("aws: failures of the publisher: %w", err)
		}
		entries = append(entries, types.SendMessageBatchRequestEntry{MessageBody: &body, DelaySeconds: delaySeconds(p.replayDelay)})
	}
	if err := p.unpublished.send(ctx, entries); err != nil {
		return err
	}
	if _, err := p.unpublished.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &p.unpublished.url, ReceiptHandle: m.ReceiptHandle}); err != nil {
		return passing("remove a failure", err)
	}
	return nil
}

// errTrimmed says that the stream has forgotten what a message is about.
var errTrimmed = errors.New("the stream keeps records for a day, and these are gone: `wovyr index rebuild` brings the lists up to date; " +
	"lifecycle events of that time are in the histories only")

// commitsOf reads from the stream which commits a failed part of it has.
func (p *Platform) commitsOf(ctx context.Context, f failedBatch) ([]stack.Unpublished, error) {
	client := dynamodbstreams.NewFromConfig(p.sdk)
	from, err := client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &f.Batch.StreamARN, ShardId: &f.Batch.Shard, ShardIteratorType: streams.ShardIteratorTypeAtSequenceNumber, SequenceNumber: &f.Batch.From})
	if err != nil {
		return nil, streamError(err)
	}
	var commits []stack.Unpublished
	at := from.ShardIterator
	for range maxStreamPages {
		if at == nil {
			return commits, nil
		}
		page, err := client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: at})
		if err != nil {
			return nil, streamError(err)
		}
		for _, r := range page.Records {
			if r.Dynamodb == nil {
				continue
			}
			if later(sdk.ToString(r.Dynamodb.SequenceNumber), f.Batch.To) {
				return commits, nil
			}
			if s, first, ok := dynamodb.CommitAt(keyOf(r, schema.Partition), keyOf(r, schema.Sort)); ok && r.EventName == streams.OperationTypeInsert {
				commits = append(commits, stack.Unpublished{Tenant: s.Tenant, Execution: s.ID, Version: first, Cause: f.Context.Condition})
			}
			if sdk.ToString(r.Dynamodb.SequenceNumber) == f.Batch.To {
				return commits, nil
			}
		}
		at = page.NextShardIterator
	}
	return nil, fmt.Errorf("aws: the stream does not come to record %s within %d pages", f.Batch.To, maxStreamPages)
}

func streamError(err error) error {
	var api smithy.APIError
	if errors.As(err, &api) && (api.ErrorCode() == "TrimmedDataAccessException" || api.ErrorCode() == "ResourceNotFoundException") {
		return errTrimmed
	}
	return passing("read the stream", err)
}

// later compares sequence numbers: numbers of many digits, without leading zeros that differ.
func later(a, b string) bool {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return len(a) > len(b) || len(a) == len(b) && a > b
}

func keyOf(r streams.Record, name string) string {
	if v, ok := r.Dynamodb.Keys[name].(*streams.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

// clipped is the beginning of a text that nobody knows.
func clipped(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
