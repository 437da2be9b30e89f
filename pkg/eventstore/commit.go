package eventstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Committer writes histories (commit protocol, point 1).
type Committer interface {
	// Append stores a commit whose First is the head of the stream + 1. If that key holds another commit, or the head is not
	// First-1, it returns a *ConflictError; if it holds this very commit (the same nonce), Append is done and returns nil.
	// In DynamoDB: one put with attribute_not_exists, which returns the stored item if it fails. A First beyond the head + 1
	// is a conflict where the store can tell; a writer that got its head from the store never has one.
	//
	// row is the execution's index row as of this commit, or nil: Version is the commit's Last, Revision 0. A store with
	// transactions writes it in that of the commit; in others it reaches the index later, by the publisher.
	Append(ctx context.Context, s Stream, c Commit, row *Row) error
	// ReadCommit returns the commit under a key, or a *NotFoundError. It is strongly consistent.
	ReadCommit(ctx context.Context, s Stream, first uint64) (Commit, error)
}

// History reads histories.
type History interface {
	// Head returns the sequence number of the last event; 0 for a stream that has none. It is strongly consistent.
	Head(ctx context.Context, s Stream) (uint64, error)
	// Tail returns the commits from the newest checkpoint to the head, oldest first; all of them if there is no checkpoint,
	// none for an empty stream. It reads nothing older, however long the history. More than MaxTail bytes are a *LimitError.
	// In DynamoDB: a backward query, ended by the item that says that it carries a checkpoint.
	Tail(ctx context.Context, s Stream) ([]Commit, error)
	// Page returns, oldest first, the commits that hold events after the given sequence number: at most limit (Page.Size) of
	// them, and at most MaxPageBytes or one. Go on after the Last of the last one; an empty page is the end.
	Page(ctx context.Context, s Stream, after uint64, limit int) ([]Commit, error)
}

// Commit is one decision of one execution, stored as one item.
type Commit struct {
	// First and Last are the sequence numbers of its events. First is its key.
	First, Last uint64
	// Checkpoint is the First of the newest commit that carries a checkpoint: this one's own First if it does, 0 if none does.
	Checkpoint uint64
	// Nonce is the writer's, fresh for each decision, so that it knows its own commit again.
	Nonce Nonce
	// Prev is the Hash of the commit before; zero in the first.
	Prev Hash
	// Data is what the writer makes of it, at most MaxCommit bytes. It need not repeat what stands above.
	Data []byte
	// Publish puts the commit into the store's Feed, if it has one. It is said once, and not read back.
	Publish bool
}

// Nonce tells commits under the same key apart.
type Nonce [16]byte

// Hash is a SHA-256.
type Hash [32]byte

// String is lower-case hexadecimal.
func (n Nonce) String() string { return hex.EncodeToString(n[:]) }

// String is lower-case hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Hash covers the commit and the stream that it belongs to, and through Prev all commits before it (commit protocol, point 15).
func (c Commit) Hash(s Stream) Hash {
	b := make([]byte, 0, 192+len(s.Tenant)+len(s.ID))
	b = append(b, "wovyr commit 1\n"...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(s.Tenant)))
	b = append(b, s.Tenant...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(s.ID)))
	b = append(b, s.ID...)
	b = binary.BigEndian.AppendUint64(b, c.First)
	b = binary.BigEndian.AppendUint64(b, c.Last)
	b = binary.BigEndian.AppendUint64(b, c.Checkpoint)
	b = append(b, c.Nonce[:]...)
	b = append(b, c.Prev[:]...)
	d := sha256.New()
	d.Write(b)
	d.Write(c.Data)
	var h Hash
	d.Sum(h[:0])
	return h
}

// Check returns a *LimitError or *InvalidError for a commit that no store takes, with its row.
func (c Commit) Check(s Stream, row *Row) error {
	if err := s.Check(); err != nil {
		return err
	}
	switch {
	case c.First == 0 || c.Last < c.First:
		return &InvalidError{Field: "commit", Reason: "it holds no event: First must be at least 1, Last at least First"}
	case c.Last > MaxSequence:
		return &InvalidError{Field: "commit", Reason: "its sequence numbers are over MaxSequence"}
	case c.Checkpoint > c.First:
		return &InvalidError{Field: "commit", Reason: "its checkpoint lies after it"}
	case c.Nonce == Nonce{}:
		return &InvalidError{Field: "commit", Reason: "it has no nonce"}
	}
	if err := checkLimit("commit", len(c.Data), MaxCommit); err != nil {
		return err
	}
	switch {
	case row == nil:
		return nil
	case row.Stream != s:
		return &InvalidError{Field: "row", Reason: "it belongs to another stream than its commit"}
	case row.Version != c.Last || row.Revision != 0:
		return &InvalidError{Field: "row", Reason: "its version is not that of its commit"}
	}
	return row.Check()
}
