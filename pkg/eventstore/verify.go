package eventstore

import (
	"context"
	"fmt"
)

// Proof is what Verify found to hold together.
type Proof struct {
	Commits int
	Last    uint64 // sequence number of the last event
	Hash    Hash   // of the last commit; compare it with one published earlier
}

// Verify reads a whole history, page by page, and checks that it is one chain: sequence numbers without gaps from 1, each
// commit with the hash of the one before, checkpoints where they are said to be, and nothing cut off before the head. Returns a
// *CorruptError if not.
//
// It finds every change to a commit that another commit follows, and every commit that was removed, put in or moved. It cannot
// find a last commit replaced by somebody who may write to the store, nor a history rewritten as a whole: for those, compare
// the Proof with a head hash that was published before.
func Verify(ctx context.Context, h History, s Stream) (Proof, error) {
	head, err := h.Head(ctx, s)
	if err != nil {
		return Proof{}, err
	}
	var p Proof
	var checkpoint uint64
	for {
		page, err := h.Page(ctx, s, p.Last, MaxPage)
		if err != nil {
			return p, err
		}
		if len(page) == 0 {
			break
		}
		for _, c := range page {
			if c.Checkpoint == c.First {
				checkpoint = c.First
			}
			if c.Checkpoint != checkpoint {
				return p, &CorruptError{Stream: s, First: c.First, Reason: fmt.Sprintf("it names %d as the last checkpoint, but that is %d", c.Checkpoint, checkpoint)}
			}
			if err := follows(s, p.Last, p.Hash, c); err != nil {
				return p, err
			}
			p = Proof{Commits: p.Commits + 1, Last: c.Last, Hash: c.Hash(s)}
		}
	}
	if p.Last < head {
		return p, &CorruptError{Stream: s, First: p.Last + 1, Reason: fmt.Sprintf("it ends here, but its head is %d", head)}
	}
	return p, nil
}

// VerifyTail checks a Tail: that it starts at the first event or at the checkpoint that its commits name, and that each commit
// follows the one before it (commit protocol, point 8). Returns a *CorruptError if not.
func VerifyTail(s Stream, tail []Commit) error {
	if len(tail) == 0 {
		return nil
	}
	first := tail[0]
	if first.Checkpoint != first.First && first.First != 1 {
		return &CorruptError{Stream: s, First: first.First, Reason: "the tail starts neither at the first event nor at a checkpoint"}
	}
	for i, c := range tail[1:] {
		if err := follows(s, tail[i].Last, tail[i].Hash(s), c); err != nil {
			return err
		}
		if c.Checkpoint != tail[0].Checkpoint {
			return &CorruptError{Stream: s, First: c.First, Reason: fmt.Sprintf("it names %d as the last checkpoint, but that is %d", c.Checkpoint, tail[0].Checkpoint)}
		}
	}
	return nil
}

// follows checks that c comes right after a commit with the given last number and hash.
func follows(s Stream, last uint64, hash Hash, c Commit) error {
	switch {
	case c.First != last+1:
		return &CorruptError{Stream: s, First: last + 1, Reason: fmt.Sprintf("the next commit starts with %d", c.First)}
	case c.Last < c.First:
		return &CorruptError{Stream: s, First: c.First, Reason: fmt.Sprintf("it ends with %d", c.Last)}
	case c.Prev != hash:
		return &CorruptError{Stream: s, First: c.First, Reason: "the commit before it is not the one that it followed when it was written"}
	}
	return nil
}
