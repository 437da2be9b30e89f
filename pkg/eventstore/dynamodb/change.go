package dynamodb

import (
	"context"
	"strings"
	"sync"

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
	if err := s.nearRow(ctx, &c); err != nil || c.Row == nil {
		return err
	}
	_, err := s.PutRow(ctx, *c.Row)
	return err
}

// nearRow reads the row of a change that stands in an item of its own. It stays nil where that is gone: the execution was purged.
func (s *Store) nearRow(ctx context.Context, c *Change) error {
	if c.Row != nil {
		return nil
	}
	i, err := s.get(ctx, "read a row", nil, s.tables.History, key(historyPartition(c.Stream), rowKey(c.Commit)))
	if err != nil || i == nil {
		return err
	}
	c.Row, err = c.row(i.bytes(attrRow))
	return err
}
