package eventstore

import "context"

// Feed lists the commits that hold something for others and were marked so by their writer (Commit.Publish), until somebody has passed it on
// (commit protocol, point 14). A commit enters the feed in the transaction that stores it, so nothing is passed on that was not committed, and
// nothing that was committed is forgotten. A platform with a stream of changes of its own, as DynamoDB has, needs none.
type Feed interface {
	// Unpublished returns the oldest entries with a number above after: at most limit (Page.Size) of them.
	Unpublished(ctx context.Context, after uint64, limit int) ([]FeedEntry, error)
	// Published removes entries. It is not an error if one is not there.
	Published(ctx context.Context, numbers ...uint64) error
}

// FeedEntry names one commit of the feed.
type FeedEntry struct {
	// Number is unique; within a stream entries come in the order of its commits.
	Number uint64
	Stream Stream
	// First is the key of the commit.
	First uint64
}
