package dynamodb

import (
	"cmp"
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// Overdue implements eventstore.Wakes.
func (s *Store) Overdue(ctx context.Context, shard int, until int64, p eventstore.Page) ([]eventstore.Row, string, error) {
	return s.wakes(ctx, schema.IndexDue, schema.Due, shard, until, p, func(r eventstore.Row) bool { return r.Due != 0 && r.Due <= until })
}

// Purgeable implements eventstore.Wakes.
func (s *Store) Purgeable(ctx context.Context, shard int, until int64, p eventstore.Page) ([]eventstore.Row, string, error) {
	return s.wakes(ctx, schema.IndexPurge, schema.Purge, shard, until, p, func(r eventstore.Row) bool { return r.Purge != 0 && r.Purge <= until })
}

// wakes reads a page of one of the sparse indexes, which has the keys only, and the rows themselves from the table: those that moved
// in between are left out.
func (s *Store) wakes(ctx context.Context, index, at string, shard int, until int64, p eventstore.Page, still func(eventstore.Row) bool) ([]eventstore.Row, string, error) {
	limit, wrong := p.Size()
	in := &sdk.QueryInput{
		TableName: &s.tables.Index, IndexName: &index, Limit: aws.Int32(int32(limit)),
		KeyConditionExpression:    aws.String("h = :h AND " + at + " <= :t"),
		ExpressionAttributeValues: item{":h": number(int64(shard)), ":t": number(until)},
	}
	if p.Cursor != "" && wrong == nil {
		t, id, err := eventstore.ParseCursor(p.Cursor, 2)
		if wrong = err; err == nil {
			in.ExclusiveStartKey = rowAt(eventstore.Stream{Tenant: id[0], ID: id[1]})
			in.ExclusiveStartKey[schema.Shard], in.ExclusiveStartKey[at] = number(int64(shard)), number(t)
			if t > until { // DynamoDB refuses to begin after what it is asked for
				return nil, "", nil
			}
		}
	}
	if err := s.enter(ctx, cmp.Or(eventstore.CheckShard(shard), wrong)); err != nil {
		return nil, "", err
	}
	var rows []eventstore.Row
	next := ""
	err := s.read(ctx, "read "+index, nil, func() error {
		out, err := s.db.Query(ctx, in)
		if err != nil {
			return err
		}
		var wanted []eventstore.Row
		for _, i := range out.Items {
			stream, err := parseStream(item(i).text(schema.Partition))
			if err != nil {
				return err
			}
			wanted = append(wanted, eventstore.Row{Stream: stream})
		}
		if len(out.LastEvaluatedKey) > 0 {
			last := wanted[len(wanted)-1].Stream
			next = eventstore.NewCursor(item(out.Items[len(out.Items)-1]).number(at), last.Tenant, last.ID)
		}
		rows, err = s.rows(ctx, wanted, still)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return rows, next, nil
}

// batch is how many items DynamoDB returns for one request.
const batch = 100

// rows reads the rows of streams from the table, in their order, and keeps those that are still accepted.
func (s *Store) rows(ctx context.Context, wanted []eventstore.Row, accepts func(eventstore.Row) bool) ([]eventstore.Row, error) {
	var out []eventstore.Row
	for len(wanted) > 0 {
		part := wanted[:min(batch, len(wanted))]
		wanted = wanted[len(part):]
		found := map[eventstore.Stream]eventstore.Row{}
		keys := make([]map[string]types.AttributeValue, len(part))
		for i, r := range part {
			keys[i] = rowAt(r.Stream)
		}
		if err := s.batchGet(ctx, s.tables.Index, keys, func(i item) error {
			r, there, err := readRow(i)
			if there {
				found[r.Stream] = r
			}
			return err
		}); err != nil {
			return nil, err
		}
		for _, w := range part {
			if r, ok := found[w.Stream]; ok && accepts(r) {
				out = append(out, r)
			}
		}
	}
	return out, nil
}

// batchGet reads items by their keys. What DynamoDB leaves out it is asked for again, after a pause.
func (s *Store) batchGet(ctx context.Context, table string, keys []map[string]types.AttributeValue, keep func(item) error) error {
	request := map[string]types.KeysAndAttributes{table: {Keys: keys}}
	for try := 0; len(request) > 0; try++ {
		if err := pause(ctx, try); err != nil {
			return err
		}
		out, err := s.db.BatchGetItem(ctx, &sdk.BatchGetItemInput{RequestItems: request})
		if err != nil {
			return err
		}
		for _, i := range out.Responses[table] {
			if err := keep(i); err != nil {
				return err
			}
		}
		request = out.UnprocessedKeys
	}
	return nil
}
