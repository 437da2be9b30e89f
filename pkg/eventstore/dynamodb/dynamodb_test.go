package dynamodb_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/emulator"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb"
	"github.com/wovyr/wovyr/pkg/eventstore/storetest"
)

// world is tables of their own on the emulator, and what reads their stream.
type world struct {
	t       testing.TB
	config  aws.Config
	client  *sdk.Client
	tables  dynamodb.Tables
	streams *dynamodbstreams.Client
	read    map[string]*string // the sequence number of the last record read of each shard
}

var worlds atomic.Int64

func newWorld(t testing.TB, options ...func(*sdk.Options)) *world {
	c := emulator.Config(t)
	w := &world{t: t, config: c, client: sdk.NewFromConfig(c, options...), streams: dynamodbstreams.NewFromConfig(c), read: map[string]*string{}}
	w.tables = dynamodb.TablesOf(fmt.Sprintf("wovyr-test-%d-", worlds.Add(1)))
	require.NoError(t, w.tables.Create(t.Context(), sdk.NewFromConfig(c)))
	t.Cleanup(func() {
		for _, r := range w.tables.Requests() {
			_, err := sdk.NewFromConfig(c).DeleteTable(context.Background(), &sdk.DeleteTableInput{TableName: r.TableName})
			require.NoError(t, err)
		}
	})
	return w
}

func (w *world) open(o dynamodb.Options) *dynamodb.Store {
	return dynamodb.New(w.client, w.tables, o)
}

// changes reads what came to the stream since the last time.
func (w *world) changes() []dynamodb.Change {
	table, err := w.client.DescribeTable(context.Background(), &sdk.DescribeTableInput{TableName: &w.tables.History})
	require.NoError(w.t, err)
	out, err := w.streams.DescribeStream(context.Background(), &dynamodbstreams.DescribeStreamInput{StreamArn: table.Table.LatestStreamArn})
	require.NoError(w.t, err)
	var changes []dynamodb.Change
	for _, s := range out.StreamDescription.Shards {
		changes = append(changes, w.shard(table.Table.LatestStreamArn, *s.ShardId)...)
	}
	return changes
}

// shard reads what came to one shard since the last time: its records after the last one read, or all that it still has.
func (w *world) shard(arn *string, id string) (changes []dynamodb.Change) {
	in := &dynamodbstreams.GetShardIteratorInput{ShardId: &id, StreamArn: arn, ShardIteratorType: streams.ShardIteratorTypeTrimHorizon}
	if last := w.read[id]; last != nil {
		in.ShardIteratorType, in.SequenceNumber = streams.ShardIteratorTypeAfterSequenceNumber, last
	}
	it, err := w.streams.GetShardIterator(context.Background(), in)
	require.NoError(w.t, err)
	for next := it.ShardIterator; next != nil; {
		records, err := w.streams.GetRecords(context.Background(), &dynamodbstreams.GetRecordsInput{ShardIterator: next})
		require.NoError(w.t, err)
		if len(records.Records) == 0 {
			break
		}
		for _, r := range records.Records {
			changes = append(changes, w.change(r)...)
			w.read[id] = r.Dynamodb.SequenceNumber
		}
		next = records.NextShardIterator
	}
	return changes
}

// change reads one record, as the filter of the event source lets it through.
func (w *world) change(r streams.Record) []dynamodb.Change {
	if r.EventName != streams.OperationTypeInsert {
		return nil
	}
	image, err := attributevalue.FromDynamoDBStreamsMap(r.Dynamodb.NewImage)
	require.NoError(w.t, err)
	c, ok, err := dynamodb.ReadChange(image)
	require.NoError(w.t, err)
	if !ok {
		return nil
	}
	return []dynamodb.Change{c}
}

// settle does what the publisher does.
func (w *world) settle(s *dynamodb.Store) {
	failed, err := s.PutNewest(context.Background(), w.changes())
	require.NoError(w.t, err)
	require.Empty(w.t, failed)
}

// tamper replaces a history as anybody may who has the right to write to the table.
func (w *world) tamper(s *dynamodb.Store, id eventstore.Stream, change func([]eventstore.Commit) []eventstore.Commit) {
	ctx := context.Background()
	var commits []eventstore.Commit
	for after := uint64(0); ; {
		page, err := s.Page(ctx, id, after, 0)
		require.NoError(w.t, err)
		if len(page) == 0 {
			break
		}
		commits = append(commits, page...)
		after = page[len(page)-1].Last
	}
	require.NoError(w.t, s.Purge(ctx, id))
	for _, c := range change(commits) {
		_, err := w.client.PutItem(ctx, &sdk.PutItemInput{TableName: &w.tables.History, Item: dynamodb.CommitItem(id, c)})
		require.NoError(w.t, err)
	}
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		w := newWorld(t)
		s := w.open(dynamodb.Options{})
		return storetest.Subject{
			Store: s,
			Reopen: func() eventstore.Store {
				require.NoError(t, s.Close())
				s = w.open(dynamodb.Options{})
				return s
			},
			Settle: func() { w.settle(s) },
			Tamper: func(id eventstore.Stream, change func([]eventstore.Commit) []eventstore.Commit) {
				w.tamper(s, id, change)
			},
			Reads: func() (int64, int64) { r := s.Stats(); return r.CommitsRead, r.BytesRead },
		}
	})
}
