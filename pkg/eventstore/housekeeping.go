package eventstore

import "context"

// Housekeeping removes what has had its time.
type Housekeeping interface {
	// Purge removes an execution: its history, claims and notices, and last its row in the index, so that a Purge that broke off
	// is found and repeated. Its payloads are released before (Owners). Nobody may append to it any more.
	Purge(ctx context.Context, s Stream) error
	// Expire removes claims, events, subscriptions and dead letters that expired by now, as far as it gets with looking at
	// about budget items, and goes on from there when it is called again; it reports how many it removed. Until
	// then expired items may still be seen where a method does not say otherwise. In DynamoDB: nothing to do, items
	// have a time to live.
	Expire(ctx context.Context, now int64, budget int) (int, error)
}
