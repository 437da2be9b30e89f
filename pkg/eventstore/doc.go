// Package eventstore is the contract of everything durable: histories, claims, the catalogue of definitions, the
// index of executions, content events, notices, dead letters and payloads. It knows no engine and no workflow: a commit
// is bytes to it. Packages memory, sqlite and dynamodb implement it (payloads: memory, folder and s3); storetest is the suite that
// every implementation passes.
//
// # Rules that hold for every method
//
//   - Every write may be repeated. A write whose answer was lost is made again, exactly as it was, and says the same.
//   - An error says what is known. ErrUnavailable: nothing was written. ErrUnknownOutcome: it may have been, now or later,
//     so repeat it. Any other error is an answer, and nothing was written.
//   - A read sees every write that was answered before it, except where a method says that it may lag (the index: a
//     platform may derive it from the histories).
//   - No method reads a clock: times are arguments, in nanoseconds since 1970 UTC. Zero means none.
//   - No method is unbounded: lists come in pages, and every size has a limit (limits.go) that ends in a *LimitError.
//   - Names are UTF-8 of any characters, never empty, compared byte by byte.
//   - What a method returns belongs to the caller; what it was given, the store copies.
//   - All methods may be called concurrently.
//
// # The history (commit protocol, points 1 to 3)
//
// A Stream is the history of one execution: commits, each holding the events of one decision under consecutive sequence
// numbers, without gaps, from 1. A commit's key is the number of its FIRST event. Two writers that decided on the same
// head therefore write the same key, whatever the lengths of their batches, and one conditional put lets one of them win;
// the other gets a *ConflictError. A key by the last number would let both in.
//
// A writer that does not learn the outcome must find it out before it decides anything anew: AppendSurely does that.
//
// A commit names the newest commit that carries a checkpoint, so Tail is one bounded backward read, however long the
// history; and it holds the hash of the commit before it, so Verify finds what was changed, removed or put in.
//
// # Where to start reading
//
// Committer and History (commit.go) first; then Claims (claim.go) and Index (index.go). Store lists all of them.
package eventstore
