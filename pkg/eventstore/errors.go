package eventstore

import (
	"errors"
	"fmt"
)

// What can be wrong, for errors.Is. The structs below carry the data.
var (
	// ErrUnavailable: nothing was written, and the same call may succeed later (a full disk, a throttled table).
	ErrUnavailable = errors.New("the store is unavailable")
	// ErrUnknownOutcome: the write may have happened, or may still happen. Repeat it exactly as it was.
	ErrUnknownOutcome = errors.New("the outcome of the write is unknown")
	// ErrNotFound: there is nothing under that key.
	ErrNotFound = errors.New("not found")
	// ErrClosed: the store was closed. Nothing was written.
	ErrClosed = errors.New("the store is closed")
)

// ConflictError is the answer to a writer whose view was stale: somebody else wrote first. Load again, decide again.
type ConflictError struct {
	// What was written to: a history, an alias.
	What string
	// Expected is the version that the writer took for the newest, Actual the newest as far as the store knows.
	Expected, Actual uint64
}

// Error names both versions.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s: expected version %d, found %d: load it again and decide again", e.What, e.Expected, e.Actual)
}

// UnknownOutcomeError is ErrUnknownOutcome with its cause.
type UnknownOutcomeError struct {
	Op    string
	Tries int // how often it was tried
	Err   error
}

// Error names the operation and the last cause.
func (e *UnknownOutcomeError) Error() string {
	return fmt.Sprintf("%s: %v after %d tries: %v", e.Op, ErrUnknownOutcome, e.Tries, e.Err)
}

// Is makes errors.Is(err, ErrUnknownOutcome) true.
func (e *UnknownOutcomeError) Is(target error) bool { return target == ErrUnknownOutcome }

// Unwrap returns the last cause.
func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// UnavailableError is ErrUnavailable with its cause.
type UnavailableError struct {
	Op  string
	Err error
}

// Error names the operation and the cause.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("%s: %v, nothing was written: %v", e.Op, ErrUnavailable, e.Err)
}

// Is makes errors.Is(err, ErrUnavailable) true.
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// NotFoundError is ErrNotFound with what was looked for.
type NotFoundError struct{ What string }

// Error names what was looked for.
func (e *NotFoundError) Error() string { return e.What + ": " + ErrNotFound.Error() }

// Is makes errors.Is(err, ErrNotFound) true.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// ExistsError refuses to put something else where something immutable stands.
type ExistsError struct{ What string }

// Error says what stands there.
func (e *ExistsError) Error() string {
	return e.What + " exists with other content and never changes: use a new name or version"
}

// PurgedError refuses to write to an execution that was purged, in a store that remembers it for a time: a message came late.
type PurgedError struct{ Stream Stream }

// Error names the execution and the way out.
func (e *PurgedError) Error() string {
	return fmt.Sprintf("execution %s was removed after its retention: start a new one under another key", e.Stream)
}

// NotOwnerError refuses to extend a claim that is not the caller's.
type NotOwnerError struct {
	Key ClaimKey
	// Claim is the one that stands, zero if there is none.
	Claim Claim
}

// Error names the owner.
func (e *NotOwnerError) Error() string {
	if e.Claim.Owner == "" {
		return fmt.Sprintf("%s has no claim", e.Key)
	}
	return fmt.Sprintf("%s is claimed by %s", e.Key, e.Claim.Owner)
}

// QuotaError refuses a content event because its topic holds too many.
type QuotaError struct {
	Topic Topic
	Limit int
}

// Error names the topic and the way out.
func (e *QuotaError) Error() string {
	return fmt.Sprintf("event %s keeps %d events already: send fewer, spread them over more keys, or keep them for a shorter time", e.Topic, e.Limit)
}

// LimitError refuses a value over one of the limits of limits.go.
type LimitError struct {
	Field         string
	Limit, Actual int64
}

// Error names the value and the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s is %d, over the limit of %d", e.Field, e.Actual, e.Limit)
}

// InvalidError refuses an argument that could never be right: a bug of the caller.
type InvalidError struct{ Field, Reason string }

// Error names the argument and the reason.
func (e *InvalidError) Error() string { return fmt.Sprintf("%s: %s", e.Field, e.Reason) }

// CorruptError tells that a history is not what was written: changed, cut, or with a gap.
type CorruptError struct {
	Stream Stream
	// First is the sequence number under which the fault shows.
	First  uint64
	Reason string
}

// Error names the place and the reason.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("history %s is corrupt at %d: %s: it was changed after it was written; put a backup of the store in its place (other executions are not concerned)", e.Stream, e.First, e.Reason)
}

// CorruptPayloadError tells that the bytes of a payload are not those that were put.
type CorruptPayloadError struct {
	Ref    Ref
	Reason string
}

// Error names the payload and the reason.
func (e *CorruptPayloadError) Error() string {
	return fmt.Sprintf("payload %s is corrupt: %s: put the file from a backup in its place", e.Ref, e.Reason)
}
