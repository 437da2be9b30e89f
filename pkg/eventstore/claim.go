package eventstore

import (
	"context"
	"fmt"
)

// Claims are the leases of attempts (commit protocol, point 6). Each claim is an item of its own, so attempts that run in
// parallel never contend, and claiming does not touch the history.
type Claims interface {
	// Claim puts c if the attempt has no claim yet, and returns the claim that then stands: it is the caller's if its Owner is.
	// A claim is never replaced, not even after its lease: a recovered attempt has the next fence, and so another key.
	// In DynamoDB: a put with attribute_not_exists, which returns the stored item if it fails.
	Claim(ctx context.Context, k ClaimKey, c Claim) (Claim, error)
	// Extend moves the end of the lease of a claim that the caller holds to until, but never past its Limit and never back, and
	// returns the claim that then stands. Held is the claim as Claim or Extend returned it. If the attempt has no claim or
	// another owner's, Extend returns a *NotOwnerError.
	// In DynamoDB: an update on condition of the owner; the limit is applied before, since held knows it.
	Extend(ctx context.Context, k ClaimKey, held Claim, until int64) (Claim, error)
	// ReadClaim returns the claim of an attempt, or a *NotFoundError. It is strongly consistent.
	ReadClaim(ctx context.Context, k ClaimKey) (Claim, error)
	// End writes into the claim of an attempt that the attempt is over, for workers that may not read the history: its owner is then Ended
	// and its lease has run out, so that whoever holds it hears of that when he extends it, and nobody runs it any more. An attempt
	// without a claim gets one; a claim that has no Expires gets this one. To end an attempt twice is harmless.
	// In DynamoDB: an update without a condition.
	End(ctx context.Context, k ClaimKey, expires int64) error
}

// ClaimKey names one attempt under one fence.
type ClaimKey struct {
	Stream  Stream
	Attempt string // step instance and number of the attempt, at most MaxName bytes
	Fence   uint64
}

// Claim says who runs an attempt, and until when.
type Claim struct {
	// Owner names the one receive that claimed the attempt, never used twice (not the worker: it may receive the same message
	// again). Revoked and Ended name nobody: no one may run the attempt.
	Owner string
	// Worker is for people, and for whoever knows that a worker is gone.
	Worker string
	// Started is when the attempt started.
	Started int64
	// Until is the end of the lease, and Limit the latest time to which it may be extended: the step's timeout. Limit 0: none.
	Until, Limit int64
	// Expires is when the claim may be forgotten, later than any message about the attempt can come. 0: with its execution.
	Expires int64
}

// Revoked is the owner of a claim that keeps everybody from running the attempt.
const Revoked = "revoked"

// Revoked reports whether nobody may run the attempt.
func (c Claim) Revoked() bool { return c.Owner == Revoked }

// Ended is the owner of the claim of an attempt that is over: decided, or replaced under another fence.
const Ended = "ended"

// Ended reports whether the history has decided the attempt.
func (c Claim) Ended() bool { return c.Owner == Ended }

// Live reports whether the lease runs at a time.
func (c Claim) Live(now int64) bool { return c.Until > now }

// String is for messages.
func (k ClaimKey) String() string {
	return fmt.Sprintf("attempt %s of %s under fence %d", k.Attempt, k.Stream, k.Fence)
}

// Check returns a *LimitError or *InvalidError for a key that no store takes.
func (k ClaimKey) Check() error {
	if k.Fence > MaxSequence {
		return &InvalidError{Field: "fence", Reason: "it is over MaxSequence"}
	}
	return checks(k.Stream.Check(), checkName("attempt", k.Attempt, MaxName))
}

// Check returns a *LimitError or *InvalidError for a claim that no store takes.
func (c Claim) Check() error {
	if c.Limit != 0 && c.Until > c.Limit {
		return &InvalidError{Field: "claim", Reason: "its lease ends after its limit"}
	}
	return checks(checkName("claim owner", c.Owner, MaxName), checkText("claim worker", c.Worker, MaxName))
}

// Extended returns c with its lease moved to until, as Extend does it.
func (c Claim) Extended(until int64) Claim {
	if c.Limit != 0 {
		until = min(until, c.Limit)
	}
	c.Until = max(c.Until, until)
	return c
}

// Revoke keeps everybody from running an attempt, unless it is claimed already. It returns the claim that then stands:
// Revoked() means that the attempt never starts; otherwise it counts as started.
func Revoke(ctx context.Context, claims Claims, k ClaimKey, by string, now, expires int64) (Claim, error) {
	return claims.Claim(ctx, k, Claim{Owner: Revoked, Worker: by, Started: now, Expires: expires})
}
