package meter_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/internal/emulator"
	"github.com/wovyr/wovyr/pkg/aws/meter"
	store "github.com/wovyr/wovyr/pkg/eventstore/dynamodb"
)

// tables makes the store's tables on the emulator, by a client that nobody counts.
func tables(t *testing.T, cfg aws.Config) store.Tables {
	names := store.TablesOf("wovyr-")
	require.NoError(t, names.Create(t.Context(), dynamodb.NewFromConfig(cfg)))
	return names
}

// TestSizesAreThoseOfTheService puts items of sizes around whole units and compares what the service says that it took.
func TestSizesAreThoseOfTheService(t *testing.T) {
	cfg := emulator.Config(t)
	client, table := dynamodb.NewFromConfig(cfg), tables(t, cfg).History
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++ // a key of its own: what stands there counts too
		item := map[string]types.AttributeValue{
			"p": &types.AttributeValueMemberS{Value: fmt.Sprint(n, rapid.StringN(1, 40, 80).Draw(r, "p"))}, "s": &types.AttributeValueMemberS{Value: "s"},
			"n": &types.AttributeValueMemberN{Value: rapid.StringMatching(`-?[1-9][0-9]{0,18}`).Draw(r, "n")},
			"t": &types.AttributeValueMemberBOOL{Value: true},
			"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberNULL{Value: true}, &types.AttributeValueMemberS{Value: "x"}}},
		}
		units := rapid.IntRange(1, 4).Draw(r, "units")
		fill := units*1024 - meter.Size(item) - 1 + rapid.IntRange(-3, 3).Draw(r, "off")
		item["d"] = &types.AttributeValueMemberB{Value: make([]byte, fill)}
		out, err := client.PutItem(r.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
		require.NoError(r, err)
		require.InDelta(r, *out.ConsumedCapacity.CapacityUnits, float64((meter.Size(item)+1023)/1024), 0.001, "%d bytes", meter.Size(item))
	})
}

// TestEachCallIsCounted compares single calls with what AWS bills for them.
func TestEachCallIsCounted(t *testing.T) {
	cfg := emulator.Config(t)
	table := tables(t, cfg).History
	var m meter.Meter
	m.Install(&cfg)
	client, queues := dynamodb.NewFromConfig(cfg), sqs.NewFromConfig(cfg)
	item := func(bytes int) map[string]types.AttributeValue {
		i := map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: fmt.Sprint("p", bytes)}, "s": &types.AttributeValueMemberS{Value: "s"}}
		i["d"] = &types.AttributeValueMemberB{Value: make([]byte, bytes-meter.Size(i)-1)}
		return i
	}
	key := map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: "p5000"}, "s": &types.AttributeValueMemberS{Value: "s"}}
	standard, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("tasks")})
	require.NoError(t, err)
	fifo, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("inbox.fifo"), Attributes: map[string]string{"FifoQueue": "true"}})
	require.NoError(t, err)
	for _, test := range []struct {
		name string
		call func(ctx context.Context) error
		want map[meter.Unit]float64
	}{
		{"put of a unit", func(ctx context.Context) error {
			_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: item(1024)})
			return err
		}, map[meter.Unit]float64{meter.Write: 1}},
		{"put of more", func(ctx context.Context) error {
			_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: item(5000)})
			return err
		}, map[meter.Unit]float64{meter.Write: 5}},
		{"condition that fails", func(ctx context.Context) error {
			_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: item(5000), ConditionExpression: aws.String("attribute_not_exists(p)"),
				ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld})
			require.ErrorContains(t, err, "ConditionalCheckFailed")
			return nil
		}, map[meter.Unit]float64{meter.Write: 5}},
		{"refused request", func(ctx context.Context) error {
			_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: map[string]types.AttributeValue{}})
			require.Error(t, err)
			return nil
		}, map[meter.Unit]float64{}},
		{"strong read", func(ctx context.Context) error {
			_, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: aws.Bool(true)})
			return err
		}, map[meter.Unit]float64{meter.Read: 2}},
		{"read", func(ctx context.Context) error {
			_, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: key})
			return err
		}, map[meter.Unit]float64{meter.Read: 1}},
		{"transaction", func(ctx context.Context) error {
			_, err := client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
				{Put: &types.Put{TableName: &table, Item: item(100)}}, {Put: &types.Put{TableName: &table, Item: item(1025)}},
			}})
			return err
		}, map[meter.Unit]float64{meter.Write: 6}},
		{"message", func(ctx context.Context) error {
			_, err := queues.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: standard.QueueUrl, MessageBody: aws.String("x")})
			return err
		}, map[meter.Unit]float64{meter.Queue: 1}},
		{"large message of a group", func(ctx context.Context) error {
			_, err := queues.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: fifo.QueueUrl, MessageBody: aws.String(strings.Repeat("x", 150_000)), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("d")})
			return err
		}, map[meter.Unit]float64{meter.FIFOQueue: 3}},
		{"batch", func(ctx context.Context) error {
			_, err := queues.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: standard.QueueUrl, Entries: []sqstypes.SendMessageBatchRequestEntry{
				{Id: aws.String("1"), MessageBody: aws.String("x")}, {Id: aws.String("2"), MessageBody: aws.String(strings.Repeat("y", 65_536))},
			}})
			return err
		}, map[meter.Unit]float64{meter.Queue: 2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			label := meter.Label{Execution: "order-1", Step: test.name}
			require.NoError(t, test.call(meter.With(context.Background(), label)))
			require.Equal(t, test.want, m.Usage(label).Units)
		})
	}
	require.Len(t, m.Labels(), 11, "and what was called for nobody")
	require.Equal(t, 5, m.Total().Requests["DynamoDB.PutItem"]-m.Usage(meter.Label{}).Requests["DynamoDB.PutItem"]+1)
	m.Reset()
	require.Empty(t, m.Labels())
}

// TestIndexesAreCounted writes a row of the index, which stands in three secondary indexes.
func TestIndexesAreCounted(t *testing.T) {
	cfg := emulator.Config(t)
	names := tables(t, cfg)
	var m meter.Meter
	m.Install(&cfg)
	s := store.New(dynamodb.NewFromConfig(cfg), names, store.Options{})
	put := func(version uint64, due int64, status string) float64 {
		m.Reset()
		r := row(version, status)
		if r.Due = due; status == "completed" {
			r.Open, r.Purge = false, 9000
		}
		stored, err := s.PutRow(t.Context(), r)
		require.NoError(t, err)
		require.True(t, stored)
		return m.Total().Units[meter.Write]
	}
	require.EqualValues(t, 3, put(1, 1000, "running"), "the row, its place in due, its place in the list")
	require.EqualValues(t, 1, put(2, 1000, "running"), "nothing that an index holds")
	require.EqualValues(t, 3, put(3, 2000, "running"), "out of due and in again")
	require.EqualValues(t, 2, put(4, 2000, "waiting"), "the list shows the status")
	require.EqualValues(t, 2, put(5, 0, "waiting"), "out of due")
	require.EqualValues(t, 3, put(6, 3000, "running"))
	require.EqualValues(t, 4, put(7, 0, "completed"), "out of due and into purge; the list shows the status")
}

// TestEveryUnitHasAPrice with a day and a source.
func TestEveryUnitHasAPrice(t *testing.T) {
	prices := meter.DefaultPrices()
	for _, u := range []meter.Unit{meter.Write, meter.Read, meter.Queue, meter.FairQueue, meter.FIFOQueue, meter.Schedule, meter.Event, meter.ObjectWrite, meter.ObjectRead,
		meter.Invocation, meter.GBSecond, meter.GBSecondX86, meter.HTTPRequest, meter.RESTRequest, meter.SecretRequest} {
		dollars, err := prices.Cost(meter.Usage{Units: map[meter.Unit]float64{u: 1}})
		require.NoError(t, err)
		require.Positive(t, dollars)
	}
	for _, p := range prices.Prices {
		require.Regexp(t, `^\d{4}-\d{2}-\d{2}$`, p.AsOf, p.Unit)
		require.Regexp(t, `^https://aws\.amazon\.com/`, p.Source, p.Unit)
	}
	var unpriced *meter.UnpricedError
	_, err := prices.Cost(meter.Usage{Units: map[meter.Unit]float64{"moon": 1}})
	require.ErrorAs(t, err, &unpriced)
	for _, bad := range []string{`{`, `{"prices":[{"unit":"sqs","dollars":1}]}`, `{"prices":[{"dollars":1,"per":1}]}`, `{"prices":[{"unit":"sqs","dollars":-1,"per":1}]}`} {
		_, err := meter.ParsePrices([]byte(bad))
		require.Error(t, err, bad)
	}
}
