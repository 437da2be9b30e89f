package dynamodb

import (
	"context"
	"strings"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// CommitAt says which commit has a key of the history table, and whether it is one at all.
func CommitAt(partition, sort string) (s eventstore.Stream, first uint64, ok bool) {
	p, history := strings.CutPrefix(partition, schema.CommitPartition)
	n, commit := strings.CutPrefix(sort, commitSort)
	if !history || !commit {
		return s, 0, false
	}
	s, err := parseStream(p)
	if err != nil {
		return s, 0, false
	}
	first, err = parseOrdered(n)
	return s, first, err == nil
}

// ReadBack reads a commit from the table as the stream told of it: a gap in the stream is filled from there (commit protocol, point 14). It is
// a NotFoundError where the execution was purged meanwhile.
func (s *Store) ReadBack(ctx context.Context, id eventstore.Stream, first uint64) (Change, error) {
	found, err := s.get(ctx, "read back a commit", id.Check(), s.tables.History, key(historyPartition(id), commitKey(first)))
	if err != nil {
		return Change{}, err
	}
	c, ok, err := ReadChange(found)
	if err == nil && !ok {
		err = &eventstore.NotFoundError{What: "commit of history " + id.String()}
	}
	return c, err
}
