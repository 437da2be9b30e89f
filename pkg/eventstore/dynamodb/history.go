package dynamodb

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// tailFirst is how many commits the first query of a Tail reads. It is the whole tail of most executions: the worker writes a checkpoint
// after 16 KB of commits.
const tailFirst = 12

// absent is the condition of a put that replaces nothing.
const absent = "attribute_not_exists(p)"

// Append implements eventstore.Committer.
func (s *Store) Append(ctx context.Context, id eventstore.Stream, c eventstore.Commit, row *eventstore.Row) error {
	if err := s.enter(ctx, c.Check(id, row)); err != nil {
		return err
	}
	// A writer got its head from this store, so that this costs nothing. One that did not might write into the middle of a batch.
	if end, known := s.ends.Get(id); c.First > 1 && !(known && end == c.First-1) {
		head, err := s.Head(ctx, id)
		if err != nil {
			return err
		}
		if head != c.First-1 {
			return s.late(ctx, id, c, head)
		}
	}
	i := commitItem(id, c, packRow(row))
	if i.size() > maxItem && row != nil {
		if err := s.putRowFar(ctx, id, c, row); err != nil {
			return err
		}
		delete(i, attrRow)
		i[attrRowFar] = &types.AttributeValueMemberBOOL{Value: true}
	}
	err := s.put(ctx, "append", s.tables.History, i, absent, nil)
	if stands, refused := refusal(err); refused {
		return s.refuse(ctx, id, c, stands)
	}
	if err == nil {
		s.ends.Add(id, c.Last)
	}
	return err
}

// put puts an item on a condition. A condition that failed is the error that refusal knows.
func (s *Store) put(ctx context.Context, op, table string, i item, condition string, values item) error {
	in := &sdk.PutItemInput{TableName: &table, Item: i}
	if condition != "" {
		in.ConditionExpression, in.ReturnValuesOnConditionCheckFailure = &condition, types.ReturnValuesOnConditionCheckFailureAllOld
	}
	if len(values) > 0 {
		in.ExpressionAttributeValues = values
	}
	return s.write(ctx, op, func(ctx context.Context) error {
		_, err := s.db.PutItem(ctx, in)
		return err
	})
}

// putRowFar stores the row of a commit that has no room for it. It counts for nothing until the commit stands.
func (s *Store) putRowFar(ctx context.Context, id eventstore.Stream, c eventstore.Commit, row *eventstore.Row) error {
	i := key(historyPartition(id), rowKey(c))
	i[attrRow] = binaryValue(packRow(row))
	err := s.put(ctx, "append a row", s.tables.History, i, "", nil)
	if errors.Is(err, eventstore.ErrUnknownOutcome) { // the commit itself was not sent yet
		err = &eventstore.UnavailableError{Op: "append", Err: err}
	}
	return err
}

// refuse answers a put that met another item: this very commit, which the SDK or the caller repeated, or somebody else's.
func (s *Store) refuse(ctx context.Context, id eventstore.Stream, c eventstore.Commit, stands item) error {
	if stands.has(attrTomb) {
		return &eventstore.PurgedError{Stream: id}
	}
	stored, err := readCommit(stands)
	if err != nil {
		return err
	}
	if stored.Nonce == c.Nonce {
		s.ends.Add(id, stored.Last)
		return nil
	}
	head, err := s.Head(ctx, id)
	if err != nil {
		head = stored.Last // as far as is known
	}
	return &eventstore.ConflictError{What: "history " + id.String(), Expected: c.First - 1, Actual: head}
}

// late answers a commit that does not stand right after the head.
func (s *Store) late(ctx context.Context, id eventstore.Stream, c eventstore.Commit, head uint64) error {
	if c.First <= head {
		stored, err := s.ReadCommit(ctx, id, c.First)
		if err == nil && stored.Nonce == c.Nonce {
			return nil
		}
		if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
			return err
		}
	}
	return &eventstore.ConflictError{What: "history " + id.String(), Expected: c.First - 1, Actual: head}
}

// ReadCommit implements eventstore.Committer.
func (s *Store) ReadCommit(ctx context.Context, id eventstore.Stream, first uint64) (c eventstore.Commit, err error) {
	found, err := s.get(ctx, "read a commit", id.Check(), s.tables.History, key(historyPartition(id), commitKey(first)))
	if err == nil && (found == nil || found.has(attrTomb)) {
		err = &eventstore.NotFoundError{What: "commit of history " + id.String()}
	}
	if err != nil {
		return c, err
	}
	c, err = readCommit(found)
	s.count(c)
	return c, err
}

// get reads an item, strongly; nil if there is none.
func (s *Store) get(ctx context.Context, op string, wrong error, table string, at item) (found item, err error) {
	err = s.read(ctx, op, wrong, func() error {
		out, err := s.db.GetItem(ctx, &sdk.GetItemInput{TableName: &table, Key: at, ConsistentRead: aws.Bool(true)})
		if err == nil && len(out.Item) > 0 {
			found = out.Item
		}
		return err
	})
	return found, err
}

func (s *Store) count(c eventstore.Commit) {
	s.commitsRead.Add(1)
	s.bytesRead.Add(int64(len(c.Data)))
}

// span is a part of a history: commits whose keys lie between two, both included.
type span struct {
	from, to string
	backward bool
	limit    int
}

// all is a whole history: what sorts below commitSort and before the next letter.
var all = span{from: commitSort, to: commitSort + "~"}

// commits calls keep with the commits of a part of a history, until it returns false or limit of them were read.
func (s *Store) commits(ctx context.Context, op string, wrong error, id eventstore.Stream, p span, keep func(eventstore.Commit) (bool, error)) error {
	in := &sdk.QueryInput{
		TableName: &s.tables.History, ConsistentRead: aws.Bool(true), ScanIndexForward: aws.Bool(!p.backward),
		KeyConditionExpression:    aws.String("p = :p AND s BETWEEN :from AND :to"),
		ExpressionAttributeValues: item{":p": text(historyPartition(id)), ":from": text(p.from), ":to": text(p.to)},
	}
	if p.limit > 0 {
		in.Limit = aws.Int32(int32(p.limit))
	}
	left := p.limit
	return s.read(ctx, op, cmp.Or(id.Check(), wrong), func() error {
		return s.query(ctx, in, func(i item) (bool, error) {
			if i.has(attrTomb) {
				return true, nil
			}
			c, err := readCommit(i)
			if err != nil {
				return false, err
			}
			s.count(c)
			left--
			more, err := keep(c)
			return more && left != 0, err
		})
	})
}

// Head implements eventstore.History.
func (s *Store) Head(ctx context.Context, id eventstore.Stream) (head uint64, err error) {
	p := all
	p.backward, p.limit = true, 1
	err = s.commits(ctx, "read the head", nil, id, p, func(c eventstore.Commit) (bool, error) {
		head = c.Last
		return false, nil
	})
	if err == nil && head > 0 {
		s.ends.Add(id, head)
	}
	return head, err
}

// Tail implements eventstore.History. The first query goes backward from the head and has the whole tail of most executions; its newest commit
// says where the checkpoint is, so that a second one reads no further. Commits never change, so both together are one state.
func (s *Store) Tail(ctx context.Context, id eventstore.Stream) ([]eventstore.Commit, error) {
	var tail []eventstore.Commit
	size := 0
	keep := func(c eventstore.Commit) error {
		if size += len(c.Data); size > eventstore.MaxTail {
			return &eventstore.LimitError{Field: "tail of history " + id.String(), Limit: eventstore.MaxTail, Actual: int64(size)}
		}
		tail = append(tail, c)
		return nil
	}
	p := all
	p.backward, p.limit = true, tailFirst
	floor := uint64(1)
	err := s.commits(ctx, "load", nil, id, p, func(c eventstore.Commit) (bool, error) {
		if len(tail) == 0 {
			floor = max(floor, c.Checkpoint)
		}
		if c.First < floor { // read for nothing
			return false, nil
		}
		return true, keep(c)
	})
	if err != nil || len(tail) == 0 {
		return nil, err
	}
	s.ends.Add(id, tail[0].Last)
	oldest := tail[len(tail)-1].First
	slices.Reverse(tail)
	if oldest == floor {
		return tail, nil
	}
	newer := tail
	tail = nil
	rest := span{from: commitKey(floor), to: commitKey(oldest - 1)}
	err = s.commits(ctx, "load", nil, id, rest, func(c eventstore.Commit) (bool, error) { return true, keep(c) })
	if err != nil {
		return nil, err
	}
	return append(tail, newer...), nil
}

// Page implements eventstore.History.
func (s *Store) Page(ctx context.Context, id eventstore.Stream, after uint64, limit int) ([]eventstore.Commit, error) {
	limit, wrong := eventstore.Page{Limit: limit}.Size()
	next := min(after, eventstore.MaxSequence-1) + 1
	var page []eventstore.Commit
	size := 0
	keep := func(c eventstore.Commit) (bool, error) {
		if c.Last < next {
			return true, nil
		}
		if size += len(c.Data); size > eventstore.MaxPageBytes && len(page) > 0 {
			return false, nil
		}
		page = append(page, c)
		return true, nil
	}
	p := span{from: commitKey(next), to: all.to, limit: limit}
	if err := s.commits(ctx, "read a page", wrong, id, p, keep); err != nil {
		return nil, err
	}
	if len(page) > 0 && page[0].First == next {
		return page, nil
	}
	// The commit with the next event begins before it, or there is none.
	var before []eventstore.Commit
	p = span{from: all.from, to: commitKey(next), backward: true, limit: 1}
	err := s.commits(ctx, "read a page", nil, id, p, func(c eventstore.Commit) (bool, error) {
		if c.Last >= next {
			before = append(before, c)
		}
		return false, nil
	})
	if err != nil || len(before) == 0 {
		return page, err
	}
	return bounded(append(before, page...), limit), nil
}

// bounded cuts a page to what a page may hold.
func bounded(page []eventstore.Commit, limit int) []eventstore.Commit {
	size := 0
	for i, c := range page {
		if size += len(c.Data); i == limit || i > 0 && size > eventstore.MaxPageBytes {
			return page[:i]
		}
	}
	return page
}
