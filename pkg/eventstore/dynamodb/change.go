package dynamodb

import (
	"context"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// Change is a new commit, as the stream of the history table tells of it.
type Change struct {
	Stream eventstore.Stream
	// Commit has Publish as its writer said it.
	Commit eventstore.Commit
	// Row is the execution's row as of the commit; nil if its writer gave none, or if it had no room (Far).
	Row *eventstore.Row
	// Far says that the row stands in an item of its own, which PutNewest reads.
	Far bool
}

// ReadChange reads the new image of a record of the history table's stream. It reports whether that is a commit at all: a filter
// (schema.StreamFilter) keeps most others away.
func ReadChange(image map[string]types.AttributeValue) (Change, bool, error) {
	i := item(image)
	p, isHistory := strings.CutPrefix(i.text(schema.Partition), schema.CommitPartition)
	if !isHistory || !strings.HasPrefix(i.text(schema.Sort), commitSort) || i.has(attrTomb) {
		return Change{}, false, nil
	}
	stream, err := parseStream(p)
	if err != nil {
		return Change{}, false, err
	}
	c := Change{Stream: stream, Far: i.has(attrRowFar)}
	if c.Commit, err = readCommit(i); err != nil {
		return Change{}, false, err
	}
	c.Commit.Publish = i.has(attrPublish)
	if packed := i.bytes(attrRow); packed != nil {
		c.Row, err = c.row(packed)
	}
	return c, err == nil, err
}

func (c *Change) row(packed []byte) (*eventstore.Row, error) {
	r := &eventstore.Row{Stream: c.Stream, Version: c.Commit.Last}
	return r, unpackRow(packed, r)
}

// putHands is how many rows are put at a time.
const putHands = 8

// PutNewest brings the index up to a batch of changes: of each execution it puts the newest row alone, for that tells all that earlier ones
// did. Order and repeats do not matter. It returns the changes whose rows could not be put, with the first error; an execution that was
// purged meanwhile needs none.
func (s *Store) PutNewest(ctx context.Context, changes []Change) (failed []Change, err error) {
	newest := map[eventstore.Stream]int{}
	for i, c := range changes {
		if j, ok := newest[c.Stream]; (c.Row != nil || c.Far) && (!ok || changes[j].Commit.Last < c.Commit.Last) {
			newest[c.Stream] = i
		}
	}
	errs := make([]error, len(changes))
	hands := make(chan struct{}, putHands)
	var group sync.WaitGroup
	for _, i := range newest { // order-free: rows of different executions
		hands <- struct{}{}
		group.Go(func() {
			errs[i] = s.putNewestRow(ctx, changes[i])
			<-hands
		})
	}
	group.Wait()
	for i, e := range errs { // in the order of the batch
		if e != nil {
			failed = append(failed, changes[i])
			if err == nil {
				err = e
			}
		}
	}
	return failed, err
}

func (s *Store) putNewestRow(ctx context.Context, c Change) error {
	if c.Row == nil {
		i, err := s.get(ctx, "read a row", nil, s.tables.History, key(historyPartition(c.Stream), rowKey(c.Commit)))
		if err != nil || i == nil {
			return err
		}
		if c.Row, err = c.row(i.bytes(attrRow)); err != nil {
			return err
		}
	}
	_, err := s.PutRow(ctx, *c.Row)
	return err
}

// RebuildIndex makes the index anew from one of so many segments of the history table, which many may walk at once, and returns how many executions
// it found there. Rows that are newer already stay. It reads all of the table, so it is paid for by its size.
func (s *Store) RebuildIndex(ctx context.Context, segment, segments int, found func(executions int)) (int, error) {
	if err := s.enter(ctx, nil); err != nil {
		return 0, err
	}
	in := &sdk.ScanInput{
		TableName: &s.tables.History, Segment: aws.Int32(int32(segment)), TotalSegments: aws.Int32(int32(segments)),
		ProjectionExpression: aws.String("p, s, h, r, f, t"), FilterExpression: aws.String("begins_with(p, :p) AND begins_with(s, :s)"),
		ExpressionAttributeValues: item{":p": text(schema.CommitPartition), ":s": text(commitSort)},
	}
	var last *Change
	n := 0
	flush := func(next *Change) error {
		done := last
		if last = next; done == nil || next != nil && next.Stream == done.Stream {
			return nil
		}
		n++
		if found != nil {
			found(n)
		}
		return s.putNewestRow(ctx, *done)
	}
	for {
		var out *sdk.ScanOutput
		err := s.read(ctx, "rebuild the index", nil, func() (err error) { out, err = s.db.Scan(ctx, in); return err })
		if err != nil {
			return n, err
		}
		for _, i := range out.Items { // the items of a partition come together, by their sort keys
			c, ok, err := ReadChange(i)
			if ok && (c.Row != nil || c.Far) {
				err = flush(&c)
			}
			if err != nil {
				return n, err
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return n, flush(nil)
		}
	}
}
