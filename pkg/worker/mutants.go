package worker

// Mutant is a rule of the commit protocol that a build with the tag `mutants` can break on purpose. The simulator must find a
// violation for each: that shows why the rule is there, and that the checkers can see. In any other build the rules cannot be
// broken, and the questions cost nothing.
type Mutant string

// The mutants of the worker. Those of the platform are sim.Bugs.
const (
	// AcknowledgeGuard acknowledges a message while an attempt under its guard runs, instead of putting it back (point 4).
	AcknowledgeGuard Mutant = "acknowledge the guard of a running attempt"
	// NotRevoked ends a scheduled attempt without taking its claim first (point 6).
	NotRevoked Mutant = "revoked claim missing"
	// ExpireAtOnce commits the expiry of a lease where it is found, not behind what is in the inbox (point 6).
	ExpireAtOnce Mutant = "lease expiry committed by the receiver"
	// DecideAnew takes an unknown write for a failed one and decides anew, under a new nonce (point 1).
	DecideAnew Mutant = "new nonce after an unknown write"
	// CancelNobody throws the cancel of a child away that does not exist yet (point 13).
	CancelNobody Mutant = "child started after its cancel"
	// CarryEvent sends content events themselves instead of hints (point 12).
	CarryEvent Mutant = "event taken twice"
	// DispatchFirst sends commands before their commit is stored (point 4).
	DispatchFirst Mutant = "dispatch first"
	// AnyFence takes results of attempts that were replaced (point 6).
	AnyFence Mutant = "fence unchecked"
	// DropEarly acknowledges a timer that comes too early and does not arm it again (point 11).
	DropEarly Mutant = "early timer dropped"
	// PutBackAtOnce puts the guard of a running attempt back with visibility 0 (point 6).
	PutBackAtOnce Mutant = "put back with visibility 0"
	// NoResend acknowledges a redelivered message without sending what it owes (point 4).
	NoResend Mutant = "no resend on redelivery"
	// TrustStale takes a state in memory for the newest when it decides that there is nothing to decide (point 3).
	TrustStale Mutant = "stale warm state trusted"
	// BeatForever extends a lease past the timeout of its step (point 6).
	BeatForever Mutant = "lease past the timeout"
	// ReadThenSubscribe looks for events before it subscribes to them (point 12).
	ReadThenSubscribe Mutant = "subscription after the read"
	// ForgetNotice leaves the notice of a terminal child to its one message: the sweep looks neither at the child nor, for its parent, after
	// it (point 13).
	ForgetNotice Mutant = "notice not owed"
	// ForgetContinue does not send the message that goes on with what a bound left undone (point 2).
	ForgetContinue Mutant = "rest of a decision forgotten"
	// SkipBefore takes an event found among those of all keys although an earlier one of its key is there (point 12).
	SkipBefore Mutant = "event passed over"
	// StartAnew starts an execution each time that an event is passed on, not once for each event (point 5).
	StartAnew Mutant = "event starts twice"
	// StaleRow leaves the row of a commit out although the sweep has to look earlier than the last one says (point 13).
	StaleRow Mutant = "row left out that the sweep needs"
	// ForgetHold takes references to payloads of others without holding them (point 10).
	ForgetHold Mutant = "payloads of others not held"
)

// Mutants lists them.
var Mutants = []Mutant{
	AcknowledgeGuard, NotRevoked, ExpireAtOnce, DecideAnew, CancelNobody, CarryEvent, DispatchFirst, AnyFence, DropEarly, PutBackAtOnce,
	NoResend, TrustStale, BeatForever, ReadThenSubscribe, ForgetNotice, ForgetContinue, ForgetHold, SkipBefore, StartAnew, StaleRow,
}
