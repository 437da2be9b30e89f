package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// stream is one history.
type stream struct{ commits []eventstore.Commit }

func (t *stream) head() uint64 {
	if t == nil || len(t.commits) == 0 {
		return 0
	}
	return t.commits[len(t.commits)-1].Last
}

// find returns the place of the commit with a First, or where it would stand.
func (t *stream) find(first uint64) (int, bool) {
	if t == nil {
		return 0, false
	}
	return slices.BinarySearchFunc(t.commits, first, func(c eventstore.Commit, first uint64) int { return cmp.Compare(c.First, first) })
}

// Append implements eventstore.Committer.
func (s *Store) Append(ctx context.Context, id eventstore.Stream, c eventstore.Commit, row *eventstore.Row) error {
	if err := s.enter(ctx, c.Check(id, row)); err != nil {
		return err
	}
	defer s.mu.Unlock()
	t := s.streams[id]
	if i, ok := t.find(c.First); ok && t.commits[i].Nonce == c.Nonce {
		return nil
	}
	if head := t.head(); head != c.First-1 {
		return &eventstore.ConflictError{What: "history " + id.String(), Expected: c.First - 1, Actual: head}
	}
	if t == nil {
		t = &stream{}
		s.streams[id] = t
	}
	if c.Publish {
		s.fed++
		s.feed = append(s.feed, eventstore.FeedEntry{Number: s.fed, Stream: id, First: c.First})
	}
	c.Data, c.Publish = bytes.Clone(c.Data), false
	t.commits = append(t.commits, c)
	if row != nil {
		s.putRow(*row)
	}
	return nil
}

// ReadCommit implements eventstore.Committer.
func (s *Store) ReadCommit(ctx context.Context, id eventstore.Stream, first uint64) (eventstore.Commit, error) {
	if err := s.enter(ctx, id.Check()); err != nil {
		return eventstore.Commit{}, err
	}
	defer s.mu.Unlock()
	t := s.streams[id]
	i, ok := t.find(first)
	if !ok {
		return eventstore.Commit{}, &eventstore.NotFoundError{What: "commit of history " + id.String()}
	}
	return s.read(t.commits[i : i+1])[0], nil
}

// Head implements eventstore.History.
func (s *Store) Head(ctx context.Context, id eventstore.Stream) (uint64, error) {
	if err := s.enter(ctx, id.Check()); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return s.streams[id].head(), nil
}

// Tail implements eventstore.History.
func (s *Store) Tail(ctx context.Context, id eventstore.Stream) ([]eventstore.Commit, error) {
	if err := s.enter(ctx, id.Check()); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	t := s.streams[id]
	if t.head() == 0 {
		return nil, nil
	}
	from, _ := t.find(t.commits[len(t.commits)-1].Checkpoint)
	size := 0
	for _, c := range t.commits[from:] {
		size += len(c.Data)
	}
	if size > eventstore.MaxTail {
		return nil, &eventstore.LimitError{Field: "tail of history " + id.String(), Limit: eventstore.MaxTail, Actual: int64(size)}
	}
	return s.read(t.commits[from:]), nil
}

// Page implements eventstore.History.
func (s *Store) Page(ctx context.Context, id eventstore.Stream, after uint64, limit int) ([]eventstore.Commit, error) {
	limit, wrong := eventstore.Page{Limit: limit}.Size()
	if err := s.enter(ctx, cmp.Or(id.Check(), wrong)); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	t := s.streams[id]
	if t == nil {
		return nil, nil
	}
	i, inside := slices.BinarySearchFunc(t.commits, after, func(c eventstore.Commit, after uint64) int { return cmp.Compare(c.Last, after) })
	if inside { // after is the end of this one
		i++
	}
	page, _ := pageOf(t.commits[i:], limit, func(c eventstore.Commit) int { return len(c.Data) })
	return s.read(page), nil
}

// read copies commits out and counts them.
func (s *Store) read(commits []eventstore.Commit) []eventstore.Commit {
	out := slices.Clone(commits)
	for i := range out {
		out[i].Data = bytes.Clone(out[i].Data)
		s.reads.Commits++
		s.reads.Bytes += int64(len(out[i].Data))
	}
	return out
}

// Rewrite replaces a history, as somebody would who may write to the store's bytes: for tests of Verify.
func (s *Store) Rewrite(id eventstore.Stream, change func([]eventstore.Commit) []eventstore.Commit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[id] = &stream{commits: change(slices.Clone(s.streams[id].commits))}
}
