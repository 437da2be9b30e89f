package awsproxy_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	buses "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	schedules "github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/awsproxy"
	"github.com/wovyr/wovyr/internal/emulator"
	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// behind starts a proxy before the emulator, and returns it with the configuration that the SDK has in a function with this application ID.
func behind(t *testing.T, application string) (*awsproxy.Proxy, aws.Config) {
	endpoint, err := emulator.Endpoint()
	require.NoError(t, err)
	p, err := awsproxy.Start(endpoint)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	t.Setenv(stack.EnvApplication, application)
	cfg, err := config.LoadDefaultConfig(t.Context(), config.WithRegion("us-east-1"), config.WithCredentialsProvider(emulator.Config(t).Credentials))
	require.NoError(t, err)
	cfg.BaseEndpoint = &p.URL
	return p, cfg
}

// bucketName is a name that nobody has: buckets of all accounts share them.
func bucketName() string { return fmt.Sprintf("bucket-%016x", rand.Uint64()) }

func ptr(s string) *string { return &s }

// TestCalls makes each kind of call that the functions make, and looks at what the proxy tells of it.
func TestCalls(t *testing.T) {
	p, cfg := behind(t, "Orchestrator")
	ctx := t.Context()
	db, queues, objects := dynamodb.NewFromConfig(cfg), sqs.NewFromConfig(cfg), s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	key := func(k string) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: k}}
	}
	calls := []struct {
		do   func() error
		want []string
	}{
		{func() error {
			_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: ptr("T"), Item: key("x/1")})
			return err
		}, []string{"dynamodb PutItem T x/1"}},
		{func() error {
			_, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: ptr("T"), Key: key("x/1")})
			return err
		}, []string{"dynamodb GetItem T x/1"}},
		{func() error {
			_, err := db.Query(ctx, &dynamodb.QueryInput{TableName: ptr("T"), KeyConditionExpression: ptr("p = :p AND s > :s"),
				ExpressionAttributeValues: map[string]types.AttributeValue{":p": &types.AttributeValueMemberS{Value: "x/2"}, ":s": &types.AttributeValueMemberS{Value: "c"}}})
			return err
		}, []string{"dynamodb Query T x/2"}},
		{func() error {
			_, err := db.Query(ctx, &dynamodb.QueryInput{TableName: ptr("T"), IndexName: ptr("due"), KeyConditionExpression: ptr("h = :h"), ExpressionAttributeValues: map[string]types.AttributeValue{":h": &types.AttributeValueMemberN{Value: "1"}}})
			return err
		}, []string{"dynamodb Query T/index/due "}},
		{func() error {
			_, err := db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{"T": {Keys: []map[string]types.AttributeValue{key("r/1"), key("r/2")}}}})
			return err
		}, []string{"dynamodb BatchGetItem T r/1", "dynamodb BatchGetItem T r/2"}},
		{func() error {
			_, err := db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{
				"T": {{PutRequest: &types.PutRequest{Item: key("w/1")}}, {DeleteRequest: &types.DeleteRequest{Key: key("w/2")}}}}})
			return err
		}, []string{"dynamodb BatchWriteItem T w/1", "dynamodb BatchWriteItem T w/2"}},
		{func() error {
			_, err := db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
				{Put: &types.Put{TableName: ptr("T"), Item: key("d/1")}}, {Delete: &types.Delete{TableName: ptr("T"), Key: key("d/2")}}}})
			return err
		}, []string{"dynamodb DeleteItem T d/2", "dynamodb PutItem T d/1"}},
		{func() error {
			_, err := queues.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: ptr("http://localhost:4566/000000000000/inbox.fifo"), MessageBody: ptr("b")})
			return err
		}, []string{"sqs SendMessage inbox.fifo "}},
		{func() error {
			_, err := objects.PutObject(ctx, &s3.PutObjectInput{Bucket: ptr("payloads"), Key: ptr("a/b c"), Body: strings.NewReader("x")})
			return err
		}, []string{"s3 PutObject payloads/a/b c "}},
		{func() error {
			_, err := objects.HeadObject(ctx, &s3.HeadObjectInput{Bucket: ptr("payloads"), Key: ptr("k")})
			return err
		}, []string{"s3 HeadObject payloads/k "}},
		{func() error {
			_, err := objects.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: ptr("payloads")})
			return err
		}, []string{"s3 ListObjectsV2 payloads "}},
		{func() error {
			_, err := objects.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: ptr("payloads"), Key: ptr("k")})
			return err
		}, []string{"s3 CreateMultipartUpload payloads/k "}},
		{func() error {
			_, err := objects.UploadPart(ctx, &s3.UploadPartInput{Bucket: ptr("payloads"), Key: ptr("k"), UploadId: ptr("u"), PartNumber: aws.Int32(1), Body: strings.NewReader("x")})
			return err
		}, []string{"s3 UploadPart payloads/k "}},
		{func() error {
			_, err := objects.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: ptr("payloads"), Key: ptr("k"), UploadId: ptr("u")})
			return err
		}, []string{"s3 CompleteMultipartUpload payloads/k "}},
		{func() error {
			_, err := objects.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: ptr("payloads"), Key: ptr("k"), UploadId: ptr("u")})
			return err
		}, []string{"s3 AbortMultipartUpload payloads/k "}},
		{func() error {
			_, err := eventbridge.NewFromConfig(cfg).PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []buses.PutEventsRequestEntry{
				{EventBusName: ptr("bus"), Source: ptr("s"), DetailType: ptr("t"), Detail: ptr("{}")}, {EventBusName: ptr("bus"), Source: ptr("s"), DetailType: ptr("t"), Detail: ptr("{}")}}})
			return err
		}, []string{"events PutEvents bus ", "events PutEvents bus "}},
		{func() error {
			_, err := scheduler.NewFromConfig(cfg).CreateSchedule(ctx, &scheduler.CreateScheduleInput{GroupName: ptr("g"), Name: ptr("n"), ScheduleExpression: ptr("at(2100-01-01T00:00:00)"),
				FlexibleTimeWindow: &schedules.FlexibleTimeWindow{Mode: "OFF"}, Target: &schedules.Target{Arn: ptr("arn:aws:sqs:us-east-1:1:q"), RoleArn: ptr("arn:aws:iam::1:role/r")}})
			return err
		}, []string{"scheduler CreateSchedule g/n "}},
		{func() error {
			_, err := lambda.NewFromConfig(cfg).Invoke(ctx, &lambda.InvokeInput{FunctionName: ptr("arn:aws:lambda:us-east-1:1:function:f")})
			return err
		}, []string{"lambda Invoke arn:aws:lambda:us-east-1:1:function:f "}},
		{func() error {
			_, err := lambda.NewFromConfig(cfg).GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: ptr("f")})
			return err
		}, []string{"lambda GetFunctionConfiguration f "}},
		{func() error {
			_, err := secretsmanager.NewFromConfig(cfg).GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: ptr("wovyr/key")})
			return err
		}, []string{"secretsmanager GetSecretValue wovyr/key "}},
		{func() error {
			_, err := ssm.NewFromConfig(cfg).GetParameter(ctx, &ssm.GetParameterInput{Name: ptr("/wovyr/key")})
			return err
		}, []string{"ssm GetParameter /wovyr/key "}},
	}
	before := map[string]int{}
	for _, c := range calls {
		_ = c.do() // what is not there is asked for all the same
		after := map[string]int{}
		for call, n := range p.Calls() { // order-free: into a map again
			require.Equal(t, "Orchestrator", call.Function)
			after[fmt.Sprintf("%s %s %s %s", call.Service, call.Operation, call.Resource, call.Key)] = n
		}
		var fresh []string
		for _, line := range slices.Sorted(maps.Keys(after)) {
			for range after[line] - before[line] {
				fresh = append(fresh, line)
			}
		}
		require.Equal(t, c.want, fresh)
		before = after
	}
}

// TestAnswersPassThrough shows that the SDK works through the proxy as without it.
func TestAnswersPassThrough(t *testing.T) {
	_, cfg := behind(t, "Api")
	objects := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	bucket := bucketName()
	_, err := objects.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket})
	require.NoError(t, err)
	_, err = objects.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: ptr("key with + and ä"), Body: strings.NewReader("value")})
	require.NoError(t, err)
	got, err := objects.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: ptr("key with + and ä")})
	require.NoError(t, err)
	defer got.Body.Close()
	require.EqualValues(t, len("value"), aws.ToInt64(got.ContentLength))
	_, err = dynamodb.NewFromConfig(cfg).DescribeTable(context.Background(), &dynamodb.DescribeTableInput{TableName: ptr("none")})
	var missing *types.ResourceNotFoundException
	require.ErrorAs(t, err, &missing)
}
