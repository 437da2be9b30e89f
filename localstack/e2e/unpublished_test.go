package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/aws/connect"
	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// TestUnpublished puts a commit into the history that the publisher does not understand, as a newer program could. What Lambda says of it when it
// gives up is put into the queue of failures by hand, for emulators give nothing up: a replay says why it stays, and once it is understood (here:
// gone) a replay empties the queue.
func TestUnpublished(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute: what fails again is hidden for that long")
	}
	d := open(t)
	t.Parallel()
	s, err := connect.Find(t.Context(), d.cfg, *name)
	require.NoError(t, err)
	id := fmt.Sprintf("poison-%d", time.Now().UnixNano())
	table := dynamodb.NewFromConfig(d.cfg)
	history := d.outputs[stack.OutputHistory]
	key := map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: "x/default/" + id}, "s": &types.AttributeValueMemberS{Value: "ca1"}}
	item := map[string]types.AttributeValue{"p": key["p"], "s": key["s"], "h": &types.AttributeValueMemberB{Value: []byte{99}}, "e": &types.AttributeValueMemberBOOL{Value: true}}
	_, err = table.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &history, Item: item})
	require.NoError(t, err)
	d.giveUp(t, history, "x/default/"+id)

	about := func(r stack.Replayed) (found []stack.Unpublished) {
		for _, u := range r.Kept {
			if u.Execution == id {
				found = append(found, u)
			}
		}
		return found
	}
	kept := eventually(t, "a replay says why the change stays", func() ([]stack.Unpublished, bool) {
		r, err := s.Replay(t.Context(), false)
		require.NoError(t, err)
		return about(r), len(about(r)) == 1
	})
	require.EqualValues(t, 1, kept[0].Version)
	require.Contains(t, kept[0].Cause, "newer")

	_, err = table.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &history, Key: key})
	require.NoError(t, err)
	eventually(t, "a replay empties the queue", func() (stack.Replayed, bool) {
		r, err := s.Replay(t.Context(), false)
		require.NoError(t, err)
		require.Empty(t, about(r))
		return r, r.Gone == 1
	})
}

// giveUp puts into the queue of failures what Lambda would of the change that has a partition key.
func (d *deployed) giveUp(t *testing.T, history, partition string) {
	described, err := dynamodb.NewFromConfig(d.cfg).DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &history})
	require.NoError(t, err)
	arn := described.Table.LatestStreamArn
	client := dynamodbstreams.NewFromConfig(d.cfg)
	at := eventually(t, "the stream has the change", func() (place [2]string, ok bool) {
		out, err := client.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
		require.NoError(t, err)
		for _, s := range out.StreamDescription.Shards {
			it, err := client.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: s.ShardId, ShardIteratorType: streams.ShardIteratorTypeTrimHorizon})
			require.NoError(t, err)
			for next := it.ShardIterator; next != nil; {
				page, err := client.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: next})
				require.NoError(t, err)
				for _, r := range page.Records {
					if k, ok := r.Dynamodb.Keys["p"].(*streams.AttributeValueMemberS); ok && k.Value == partition {
						return [2]string{*s.ShardId, *r.Dynamodb.SequenceNumber}, true
					}
				}
				if next = page.NextShardIterator; len(page.Records) == 0 {
					break
				}
			}
		}
		return place, false
	})
	function, err := lambda.NewFromConfig(d.cfg).GetFunctionConfiguration(t.Context(), &lambda.GetFunctionConfigurationInput{FunctionName: aws.String(d.outputs[stack.OutputPublisher])})
	require.NoError(t, err)
	queue := function.Environment.Variables[stack.EnvUnpublishedQueue]
	require.NotEmpty(t, queue)
	body := fmt.Sprintf(`{"requestContext":{"condition":"RetryAttemptsExhausted"},"version":"1.0","DDBStreamBatchInfo":{"shardId":%q,"startSequenceNumber":%q,"endSequenceNumber":%[2]q,
		"approximateArrivalOfFirstRecord":"2026-11-14T00:13:19Z","approximateArrivalOfLastRecord":"2026-11-14T00:13:19Z","batchSize":1,"streamArn":%[3]q}}`, at[0], at[1], *arn)
	_, err = sqs.NewFromConfig(d.cfg).SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &queue, MessageBody: &body})
	require.NoError(t, err)
}
