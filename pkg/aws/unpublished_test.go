package aws

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore"
)

// newReplayRig is a rig whose publisher has a queue of failures.
func newReplayRig(t *testing.T) *rig {
	r := newRig(t)
	r.unpublished.url = newQueue(t, sqs.NewFromConfig(r.cfg), "unpublished", false, time.Second)
	return r
}

// fail puts into the queue of failures what Lambda says of a batch that it gave up.
func (r *rig) fail(e events.DynamoDBEvent) {
	table, err := r.stream.tables.DescribeTable(r.Context(), &awsdynamodb.DescribeTableInput{TableName: &r.stream.table})
	require.NoError(r, err)
	out, err := r.stream.client.DescribeStream(r.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: table.Table.LatestStreamArn})
	require.NoError(r, err)
	require.Len(r, out.StreamDescription.Shards, 1)
	r.failAt(*table.Table.LatestStreamArn, *out.StreamDescription.Shards[0].ShardId, e)
}

func (r *rig) failAt(arn, shard string, e events.DynamoDBEvent) {
	first, last := e.Records[0].Change.SequenceNumber, e.Records[len(e.Records)-1].Change.SequenceNumber
	r.failed(fmt.Sprintf(`{"requestContext":{"requestId":"r","functionArn":"f","condition":"RetryAttemptsExhausted","approximateInvokeCount":11},
		"responseContext":{"statusCode":200,"executedVersion":"$LATEST","functionError":"Unhandled"},"version":"1.0","timestamp":"2026-11-14T00:38:06.021Z",
		"DDBStreamBatchInfo":{"shardId":%q,"startSequenceNumber":%q,"endSequenceNumber":%q,"approximateArrivalOfFirstRecord":"2026-11-14T00:13:19Z",
		"approximateArrivalOfLastRecord":"2026-11-14T00:13:20Z","batchSize":%d,"streamArn":%q}}`, shard, first, last, len(e.Records), arn))
}

func (r *rig) failed(body string) {
	_, err := r.unpublished.client.SendMessage(r.Context(), &sqs.SendMessageInput{QueueUrl: &r.unpublished.url, MessageBody: &body})
	require.NoError(r, err)
}

// replay lets the publisher look after its failures, as a rule or an operator does.
func (r *rig) replay(look bool) stack.Replayed {
	r.Helper()
	text, err := json.Marshal(stack.ReplayRequest{Wovyr: stack.ReplayEvent, Look: look})
	require.NoError(r, err)
	out, err := r.Publisher(r.Context(), text)
	require.NoError(r, err)
	return out.(stack.Replayed)
}

// eventually replays until a condition holds: what failed again is hidden for a moment.
func (r *rig) eventually(look bool, ok func(stack.Replayed) bool) (last stack.Replayed) {
	r.Helper()
	over := time.NewTimer(time.Minute)
	defer over.Stop()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		if last = r.replay(look); ok(last) {
			return last
		}
		select {
		case <-over.C:
			require.Fail(r, "it did not happen", "%+v", last)
		case <-again.C:
		}
	}
}

const announcing = `
dsl: wovyr/v1
name: announcing
input: { schema: { type: object, properties: { n: { type: integer } } } }
steps:
  tell: { emit: { type: Told, key: '"k"', data: '${ input.n }' } }
`

// TestReplay fails the publisher on purpose, and lets it publish what it left after the cause is gone.
func TestReplay(t *testing.T) {
	r := newReplayRig(t)
	r.replayDelay = 3 * time.Second // longer than a receive waits
	r.deploy(announcing)
	r.deploy("dsl: wovyr/v1\nname: listening\nsteps: { hear: { event: { type: Told, key: '\"k\"' } } }\n")
	listener := r.start("listening", `{}`)
	r.work()
	r.publish()

	first, second := r.start("announcing", `{"n": 1}`), r.start("announcing", `{"n": 2}`)
	e := r.stream.changes()
	require.NotEmpty(t, e.Records)
	r.fail(e)
	_, err := r.Store.Row(t.Context(), eventstore.Stream{Tenant: testTenant, ID: first})
	require.ErrorIs(t, err, eventstore.ErrNotFound, "nobody has published it")

	looked := r.replay(true)
	require.Len(t, looked.Kept, len(e.Records))
	require.Equal(t, "RetryAttemptsExhausted", looked.Kept[0].Cause)
	require.Zero(t, looked.Published, "a look publishes nothing")

	// While the bus is away, all of it stays, each commit with its cause, and the part of the stream is replaced by the names of its commits.
	r.wire.set(func(in any) (any, error) {
		if _, ok := in.(*eventbridge.PutEventsInput); ok {
			return nil, errors.New("the bus is away")
		}
		return nil, nil
	})
	out := r.eventually(false, func(o stack.Replayed) bool { return o.Messages > 0 })
	require.NotEmpty(t, out.Kept)
	for _, k := range out.Kept {
		require.Contains(t, k.Cause, "the bus is away")
		require.Contains(t, []string{first, second}, k.Execution)
		require.NotZero(t, k.Version)
	}
	row, err := r.Store.Row(t.Context(), eventstore.Stream{Tenant: testTenant, ID: first})
	require.NoError(t, err, "the row does not wait for the bus")
	require.False(t, row.Open)

	// The stream forgets; the history does not.
	kept := len(out.Kept)
	r.wire.set(func(in any) (any, error) {
		if _, ok := in.(*dynamodbstreams.GetShardIteratorInput); ok {
			return nil, &streams.TrimmedDataAccessException{}
		}
		return nil, nil
	})
	r.wire.forget()
	out = r.eventually(false, func(o stack.Replayed) bool { return o.Messages > 0 })
	require.Empty(t, out.Kept)
	require.Equal(t, kept, out.Published)
	var details []string
	for _, put := range callsOf[*eventbridge.PutEventsInput](r.wire) {
		for _, entry := range put.Entries {
			details = append(details, *entry.DetailType)
		}
	}
	require.Subset(t, details, []string{"Execution Started", "Told", "Execution Completed"})
	visible, hidden := r.waiting(r.unpublished.url)
	require.Zero(t, visible+hidden, "the queue is empty")

	r.work()
	got, err := r.Worker.Inspect(t.Context(), eventstore.Stream{Tenant: testTenant, ID: listener})
	require.NoError(t, err)
	require.True(t, got.Status.Terminal(), "whoever waited for an event of it has it, once: %v", got.Status)
}

// TestReplayOfWhatCannotBeReplayed: nothing is lost in silence, and nothing holds up the rest.
func TestReplayOfWhatCannotBeReplayed(t *testing.T) {
	r := newReplayRig(t)
	r.replayDelay = 3 * time.Second // longer than a receive waits
	r.deploy(announcing)
	id := r.start("announcing", `{"n": 1}`)
	e := r.stream.changes()
	gone := r.start("announcing", `{"n": 2}`)
	more := r.stream.changes()
	require.NoError(t, r.Store.Purge(t.Context(), eventstore.Stream{Tenant: testTenant, ID: gone}))

	r.failed(`what is this`)
	r.failAt("arn:aws:dynamodb:us-east-1:000000000000:table/h/stream/2020-01-01T00:00:00.000", "shardId-00000000000000000000-00000000", e)
	r.fail(e)
	r.fail(more)
	out := r.eventually(false, func(o stack.Replayed) bool { return o.Messages == 4 })
	require.Len(t, out.Kept, 2)
	for _, k := range out.Kept {
		if k.Since == "" {
			require.Contains(t, k.Cause, "what is this")
			continue
		}
		require.Equal(t, "2026-11-14T00:13:19Z", k.Since)
		require.Equal(t, "2026-11-14T00:13:20Z", k.Until)
		require.Contains(t, k.Cause, "wovyr index rebuild")
	}
	require.Equal(t, len(e.Records), out.Published)
	require.Equal(t, len(more.Records), out.Gone, "what was purged meanwhile needs nothing")
	_, err := r.Store.Row(t.Context(), eventstore.Stream{Tenant: testTenant, ID: id})
	require.NoError(t, err)
	visible, hidden := r.waiting(r.unpublished.url)
	require.Equal(t, 2, visible+hidden)
}

func TestSequenceNumbersAreNumbers(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		later bool
	}{{"9", "10", false}, {"10", "9", true}, {"800000000003126276362", "800000000003126276361", true}, {"5", "5", false}, {"005", "5", false}, {"00000000000000000010", "9", true}} {
		require.Equal(t, c.later, later(c.a, c.b), c)
	}
}
