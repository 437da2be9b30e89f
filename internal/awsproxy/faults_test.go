package awsproxy_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	buses "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	messages "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	smithy "github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/awsproxy"
)

// suffering is a proxy whose calls all suffer one fault, and a configuration that sends each call once.
func suffering(t *testing.T, kind awsproxy.Fault) (aws.Config, *awsproxy.Faults, *awsproxy.Proxy) {
	p, cfg := behind(t, "Activity")
	cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	f := &awsproxy.Faults{Rate: 1, Kinds: []awsproxy.Fault{kind}, Longest: time.Millisecond}
	f.Seed(1)
	return cfg, f, p
}

// TestRefusalsAreThoseOfTheServices shows that the SDK takes a refusal for what it is on AWS: of each service, throttling is throttling and a failure one of the
// server, both of which it tries again.
func TestRefusalsAreThoseOfTheServices(t *testing.T) {
	for _, kind := range []awsproxy.Fault{awsproxy.Throttled, awsproxy.Failed} {
		cfg, f, p := suffering(t, kind)
		p.Suffer(f)
		ctx := t.Context()
		for name, call := range map[string]func() error{
			"dynamodb": func() error {
				_, err := dynamodb.NewFromConfig(cfg).GetItem(ctx, &dynamodb.GetItemInput{TableName: ptr("items"), Key: map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: "k"}}})
				return err
			},
			"sqs": func() error {
				_, err := sqs.NewFromConfig(cfg).SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: ptr("http://localhost/1/q"), MessageBody: ptr("b")})
				return err
			},
			"events": func() error {
				_, err := eventbridge.NewFromConfig(cfg).PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []buses.PutEventsRequestEntry{{Source: ptr("s"), DetailType: ptr("t"), Detail: ptr("{}")}}})
				return err
			},
			"scheduler": func() error {
				_, err := scheduler.NewFromConfig(cfg).GetSchedule(ctx, &scheduler.GetScheduleInput{Name: ptr("n")})
				return err
			},
			"lambda": func() error {
				_, err := lambda.NewFromConfig(cfg).Invoke(ctx, &lambda.InvokeInput{FunctionName: ptr("f")})
				return err
			},
			"secretsmanager": func() error {
				_, err := secretsmanager.NewFromConfig(cfg).GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: ptr("s")})
				return err
			},
			"ssm": func() error {
				_, err := ssm.NewFromConfig(cfg).GetParameter(ctx, &ssm.GetParameterInput{Name: ptr("/s")})
				return err
			},
			"s3": func() error {
				_, err := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true }).GetObject(ctx, &s3.GetObjectInput{Bucket: ptr("bucket"), Key: ptr("k")})
				return err
			},
		} {
			t.Run(fmt.Sprint(kind, " by ", name), func(t *testing.T) {
				for range 8 { // all forms that there are
					err := call()
					var said smithy.APIError
					require.ErrorAs(t, err, &said)
					require.NotEqual(t, "UnknownError", said.ErrorCode())
					if said.ErrorCode() == "KMS.ThrottlingException" {
						continue // the SDK does not try that again: whoever calls must
					}
					require.True(t, retry.NewStandard().IsErrorRetryable(err), "%v", err)
					if kind == awsproxy.Throttled {
						require.True(t, retry.ThrottleErrorCode{Codes: retry.DefaultThrottleErrorCodes}.IsErrorThrottle(err).Bool(), "%v", err)
					}
				}
			})
		}
	}
}

// TestWhatWasCarriedOut shows for each fault whether the caller hears of it, and whether the write is there.
func TestWhatWasCarriedOut(t *testing.T) {
	type fate struct{ told, done bool }
	for kind, want := range map[awsproxy.Fault]fate{
		awsproxy.Throttled: {true, false}, awsproxy.Failed: {true, false}, awsproxy.FailedAfter: {true, true}, awsproxy.Unsent: {true, false},
		awsproxy.Lost: {true, true}, awsproxy.Cut: {true, true}, awsproxy.Slow: {false, true},
	} {
		t.Run(string(kind), func(t *testing.T) {
			cfg, f, p := suffering(t, kind)
			objects := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
			bucket := bucketName()
			_, err := objects.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket})
			require.NoError(t, err)
			p.Suffer(f)
			db := dynamodb.NewFromConfig(cfg)
			_, err = db.CreateTable(t.Context(), &dynamodb.CreateTableInput{TableName: ptr("items"), BillingMode: types.BillingModePayPerRequest,
				KeySchema:            []types.KeySchemaElement{{AttributeName: ptr("p"), KeyType: types.KeyTypeHash}},
				AttributeDefinitions: []types.AttributeDefinition{{AttributeName: ptr("p"), AttributeType: types.ScalarAttributeTypeS}}})
			require.Equal(t, want.told, err != nil, "%v", err)
			p.Suffer(nil)
			_, err = db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: ptr("items")})
			require.Equal(t, want.done, err == nil, "%v", err)
			require.Equal(t, map[awsproxy.Fault]int{kind: 1}, f.Counts())
			p.Suffer(f)
			_, err = objects.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: ptr("k"), Body: bytes.NewReader(bytes.Repeat([]byte("x"), 100))})
			// The answer to a put has no body, so half of it is all of it, and then the connection is cut.
			require.Equal(t, want.told, err != nil || kind == awsproxy.Cut, "%v", err)
			p.Suffer(nil)
			_, err = objects.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: ptr("k")})
			require.Equal(t, want.done, err == nil, "%v", err)
		})
	}
}

func TestAnObjectThatBreaksOff(t *testing.T) {
	cfg, f, p := suffering(t, awsproxy.Cut)
	objects := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	bucket := bucketName()
	_, err := objects.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket})
	require.NoError(t, err)
	_, err = objects.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: ptr("k"), Body: bytes.NewReader([]byte("value"))})
	require.NoError(t, err)
	p.Suffer(f)
	got, err := objects.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: ptr("k")})
	require.NoError(t, err)
	defer got.Body.Close()
	_, err = io.ReadAll(got.Body)
	require.True(t, errors.Is(err, io.ErrUnexpectedEOF), "%v", err)
}

// TestPartialBatches shows that what a batch refuses and what it takes is the whole batch.
func TestPartialBatches(t *testing.T) {
	cfg, f, p := suffering(t, awsproxy.Partial)
	ctx := t.Context()
	queues, db := sqs.NewFromConfig(cfg), dynamodb.NewFromConfig(cfg)
	q, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: ptr("q")})
	require.NoError(t, err)
	_, err = db.CreateTable(ctx, &dynamodb.CreateTableInput{TableName: ptr("items"), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: ptr("p"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: ptr("p"), AttributeType: types.ScalarAttributeTypeS}}})
	require.NoError(t, err)
	p.Suffer(f)
	const n = 6
	var entries []messages.SendMessageBatchRequestEntry
	var events []buses.PutEventsRequestEntry
	var writes []types.WriteRequest
	var keys []map[string]types.AttributeValue
	for i := range n {
		id := fmt.Sprint(i)
		key := map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: id}}
		entries = append(entries, messages.SendMessageBatchRequestEntry{Id: &id, MessageBody: &id})
		events = append(events, buses.PutEventsRequestEntry{Source: ptr("s"), DetailType: ptr("t"), Detail: ptr("{}")})
		writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: key}})
		keys = append(keys, key)
	}
	for range 5 {
		sent, err := queues.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: q.QueueUrl, Entries: entries})
		require.NoError(t, err)
		require.NotEmpty(t, sent.Failed)
		require.Equal(t, n, len(sent.Failed)+len(sent.Successful))

		put, err := eventbridge.NewFromConfig(cfg).PutEvents(ctx, &eventbridge.PutEventsInput{Entries: events})
		require.NoError(t, err)
		require.Len(t, put.Entries, n)
		refused := 0
		for _, e := range put.Entries {
			if e.ErrorCode != nil {
				refused++
			} else {
				require.NotEmpty(t, aws.ToString(e.EventId))
			}
		}
		require.NotZero(t, refused)
		require.EqualValues(t, put.FailedEntryCount, refused)
	}
	wrote, err := db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"items": writes}})
	require.NoError(t, err)
	left := len(wrote.UnprocessedItems["items"])
	require.NotZero(t, left)
	p.Suffer(nil)
	there, err := db.Scan(ctx, &dynamodb.ScanInput{TableName: ptr("items")})
	require.NoError(t, err)
	require.EqualValues(t, n-left, there.Count)
	_, err = db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"items": writes}})
	require.NoError(t, err)
	p.Suffer(f)
	got, err := db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{"items": {Keys: keys}}})
	require.NoError(t, err)
	require.NotEmpty(t, got.UnprocessedKeys["items"].Keys)
	require.Equal(t, n, len(got.Responses["items"])+len(got.UnprocessedKeys["items"].Keys))
}

// TestMessagesTwice shows that a FIFO queue holds a message twice, although it has one deduplication ID.
func TestMessagesTwice(t *testing.T) {
	cfg, f, p := suffering(t, awsproxy.Twice)
	ctx := t.Context()
	queues := sqs.NewFromConfig(cfg)
	for _, fifo := range []bool{false, true} {
		p.Suffer(nil)
		in := &sqs.CreateQueueInput{QueueName: ptr("q")}
		entry := messages.SendMessageBatchRequestEntry{Id: ptr("0"), MessageBody: ptr("b")}
		if fifo {
			in.QueueName, in.Attributes = ptr("q.fifo"), map[string]string{"FifoQueue": "true"}
			entry.MessageGroupId, entry.MessageDeduplicationId = ptr("g"), ptr("d")
		}
		q, err := queues.CreateQueue(ctx, in)
		require.NoError(t, err)
		p.Suffer(f)
		_, err = queues.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: q.QueueUrl, Entries: []messages.SendMessageBatchRequestEntry{entry}})
		require.NoError(t, err)
		got, err := queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: q.QueueUrl, AttributeNames: []messages.QueueAttributeName{messages.QueueAttributeNameApproximateNumberOfMessages}})
		require.NoError(t, err)
		require.Equal(t, "2", got.Attributes["ApproximateNumberOfMessages"])
	}
}

// TestLateMessages shows that a message of a standard queue is delayed, and one of a FIFO queue is not.
func TestLateMessages(t *testing.T) {
	cfg, f, p := suffering(t, awsproxy.Late)
	ctx := t.Context()
	queues := sqs.NewFromConfig(cfg)
	q, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: ptr("q")})
	require.NoError(t, err)
	p.Suffer(f)
	_, err = queues.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: q.QueueUrl, MessageBody: ptr("b")})
	require.NoError(t, err)
	got, err := queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: q.QueueUrl, AttributeNames: []messages.QueueAttributeName{messages.QueueAttributeNameApproximateNumberOfMessagesDelayed}})
	require.NoError(t, err)
	require.Equal(t, "1", got.Attributes["ApproximateNumberOfMessagesDelayed"])
}

// TestWhoIsSpared shows that nobody but functions suffers, and none that Spare names.
func TestWhoIsSpared(t *testing.T) {
	p, cfg := behind(t, "")
	p.Suffer(&awsproxy.Faults{Rate: 1, Kinds: []awsproxy.Fault{awsproxy.Failed}})
	_, err := sqs.NewFromConfig(cfg).ListQueues(t.Context(), &sqs.ListQueuesInput{})
	require.NoError(t, err)
	cfg, f, p := suffering(t, awsproxy.Failed)
	f.Spare = func(c awsproxy.Call) bool { return c.Operation == "ListQueues" }
	p.Suffer(f)
	_, err = sqs.NewFromConfig(cfg).ListQueues(t.Context(), &sqs.ListQueuesInput{})
	require.NoError(t, err)
	_, err = sqs.NewFromConfig(cfg).GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: ptr("q")})
	require.Error(t, err)
	require.Equal(t, map[awsproxy.Fault]int{awsproxy.Failed: 1}, f.Counts())
}

// TestAnOutageEnds shows that all calls of a service fail for a time, and then come through again.
func TestAnOutageEnds(t *testing.T) {
	cfg, f, p := suffering(t, awsproxy.Slow)
	f.Rate, f.Outages, f.Longest = 0, 1, 50*time.Millisecond
	p.Suffer(f)
	call := func() error {
		_, err := sqs.NewFromConfig(cfg).ListQueues(t.Context(), &sqs.ListQueuesInput{})
		return err
	}
	require.Error(t, call())
	f.Outages = 0
	require.Eventually(t, func() bool { return call() == nil }, 10*time.Second, 10*time.Millisecond)
}
