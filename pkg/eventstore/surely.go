package eventstore

import (
	"context"
	"errors"
	"fmt"
)

// Patience bounds how long AppendSurely insists.
type Patience struct {
	// Tries is how often the commit is put, at least once.
	Tries int
	// Wait waits before try 2, 3, …; an error ends the trying. Nil waits not at all.
	Wait func(ctx context.Context, try int) error
}

// AppendSurely appends a commit and insists until the outcome is known (commit protocol, point 1). After an unknown outcome it
// reads the key back: the commit's own nonce means success, another one conflict. If nothing is there, the put may still be on
// its way, so the identical commit is put again; deciding anew at that moment could let both decisions in, one after the other.
//
// Returns nil, a *ConflictError (Actual is then the head as far as it is known), whatever error says that nothing was written,
// or an *UnknownOutcomeError when patience ends. After that one the caller must not decide anything for this stream but let
// another attempt load it afresh: the message that led here is put back.
func AppendSurely(ctx context.Context, c Committer, s Stream, commit Commit, row *Row, p Patience) error {
	op := fmt.Sprintf("append %d to %s", commit.First, s)
	var unknown error // once set, only the key itself can tell
	for try := 1; ; try++ {
		err := c.Append(ctx, s, commit, row)
		var conflict *ConflictError
		switch {
		case err == nil || errors.As(err, &conflict):
			return err
		case errors.Is(err, ErrUnknownOutcome):
			unknown = err
		case unknown == nil:
			return err
		}
		stored, err := c.ReadCommit(ctx, s, commit.First)
		switch {
		case err == nil && stored.Nonce == commit.Nonce:
			return nil
		case err == nil:
			return &ConflictError{What: "history " + s.String(), Expected: commit.First - 1, Actual: stored.Last}
		case !errors.Is(err, ErrNotFound):
			unknown = err
		}
		if try >= p.Tries {
			return &UnknownOutcomeError{Op: op, Tries: try, Err: unknown}
		}
		if p.Wait != nil {
			if err := p.Wait(ctx, try); err != nil {
				return &UnknownOutcomeError{Op: op, Tries: try, Err: err}
			}
		}
	}
}
