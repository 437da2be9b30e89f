package dynamodb

import (
	"context"
	"math"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// Purge implements eventstore.Housekeeping. Commits go newest first, so that whatever is left if it breaks off is a sound history. With
// Options.Tombstones, one takes the place of the first commit and one that of the row, so that neither comes back by a late message.
func (s *Store) Purge(ctx context.Context, id eventstore.Stream) error {
	if err := s.enter(ctx, id.Check()); err != nil {
		return err
	}
	s.ends.Remove(id)
	first := commitKey(1)
	for _, p := range []string{claimsPartition(id), historyPartition(id)} {
		var keys []item
		err := s.read(ctx, "read what to purge", nil, func() error {
			return s.query(ctx, &sdk.QueryInput{
				TableName: &s.tables.History, ScanIndexForward: aws.Bool(false), ProjectionExpression: aws.String("s"), ConsistentRead: aws.Bool(true),
				KeyConditionExpression: aws.String("p = :p"), ExpressionAttributeValues: item{":p": text(p)},
			}, func(i item) (bool, error) {
				if sort := i.text(schema.Sort); s.o.Tombstones == 0 || sort != first {
					keys = append(keys, key(p, sort))
				}
				return true, nil
			})
		})
		if err == nil {
			err = s.remove(ctx, "purge", keys)
		}
		if err != nil {
			return err
		}
	}
	if s.o.Tombstones == 0 {
		return s.write(ctx, "purge a row", func(ctx context.Context) error {
			_, err := s.db.DeleteItem(ctx, &sdk.DeleteItemInput{TableName: &s.tables.Index, Key: rowAt(id)})
			return err
		})
	}
	until := number(seconds(s.o.Now() + int64(s.o.Tombstones)))
	tomb := key(historyPartition(id), first)
	tomb[attrTomb], tomb[schema.Expires] = &types.AttributeValueMemberBOOL{Value: true}, until
	if err := s.put(ctx, "purge", s.tables.History, tomb, "", nil); err != nil {
		return err
	}
	tomb = rowAt(id)
	tomb[attrVersion], tomb[attrRevision], tomb[schema.Expires] = unsigned(math.MaxInt64), number(math.MaxInt32), until
	return s.put(ctx, "purge a row", s.tables.Index, tomb, "", nil)
}

// removeBatch is how many items DynamoDB removes for one request.
const removeBatch = 25

// remove removes items of the history table, in their order, a batch at a time.
func (s *Store) remove(ctx context.Context, op string, keys []item) error {
	for len(keys) > 0 {
		part := keys[:min(removeBatch, len(keys))]
		keys = keys[len(part):]
		requests := make([]types.WriteRequest, len(part))
		for i, k := range part {
			requests[i].DeleteRequest = &types.DeleteRequest{Key: k}
		}
		if err := s.write(ctx, op, func(ctx context.Context) error { return s.removeAll(ctx, requests) }); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) removeAll(ctx context.Context, requests []types.WriteRequest) error {
	for try := 0; len(requests) > 0; try++ {
		if err := pause(ctx, try); err != nil {
			return &eventstore.UnavailableError{Op: "remove items", Err: err}
		}
		out, err := s.db.BatchWriteItem(ctx, &sdk.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{s.tables.History: requests}})
		if err != nil {
			return err
		}
		requests = out.UnprocessedItems[s.tables.History]
	}
	return nil
}

// expiry is how far Expire has got.
type expiry struct {
	sync.Mutex
	after item
}

// Expire implements eventstore.Housekeeping. DynamoDB removes expired items by itself, at no cost, within days; this walks the whole history
// table instead, which is paid for, and is here for tests and for emulators without a time to live.
func (s *Store) Expire(ctx context.Context, now int64, budget int) (int, error) {
	if err := s.enter(ctx, nil); err != nil || budget < 1 {
		return 0, err
	}
	s.expiring.Lock()
	defer s.expiring.Unlock()
	in := &sdk.ScanInput{
		TableName: &s.tables.History, Limit: aws.Int32(int32(min(budget, math.MaxInt32))), ExclusiveStartKey: s.expiring.after, ProjectionExpression: aws.String("p, s, i"),
		FilterExpression: aws.String("attribute_exists(x) AND e <= :now"), ExpressionAttributeValues: item{":now": number(now)}, ConsistentRead: aws.Bool(true),
	}
	var over []item
	err := s.read(ctx, "expire", nil, func() error {
		out, err := s.db.Scan(ctx, in)
		if err != nil {
			return err
		}
		for _, i := range out.Items {
			over = append(over, i)
		}
		s.expiring.after = out.LastEvaluatedKey
		return nil
	})
	removed := 0
	for _, i := range over {
		if err != nil {
			break
		}
		var again bool
		if again, err = s.removeExpired(ctx, i, now); err == nil && !again {
			removed++
		}
	}
	return removed, err
}

// removeExpired removes an item unless it was put again meanwhile, which it reports.
func (s *Store) removeExpired(ctx context.Context, at item, now int64) (again bool, err error) {
	err = s.write(ctx, "expire", func(ctx context.Context) error {
		_, err := s.db.DeleteItem(ctx, &sdk.DeleteItemInput{
			TableName: &s.tables.History, Key: key(at.text(schema.Partition), at.text(schema.Sort)),
			ConditionExpression: aws.String("e <= :now"), ExpressionAttributeValues: item{":now": number(now)},
		})
		return err
	})
	if _, refused := refusal(err); refused {
		return true, nil
	}
	if err == nil && strings.HasPrefix(at.text(schema.Partition), schema.LetterPartition) {
		err = s.remove(ctx, "expire", []item{key(at.text(schema.Partition), named(letterID, at.text(attrID)))})
	}
	return false, err
}
