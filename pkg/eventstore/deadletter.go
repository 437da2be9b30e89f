package eventstore

import "context"

// DeadLetters keep messages that could not be handled, with their cause, for an operator (WF-001 §12).
type DeadLetters interface {
	// PutDeadLetter stores a letter, unless its tenant has one of that ID.
	PutDeadLetter(ctx context.Context, d DeadLetter) error
	// DeadLetter returns a letter, or a *NotFoundError.
	DeadLetter(ctx context.Context, tenant, id string) (DeadLetter, error)
	// RemoveDeadLetter removes it. It is not an error if it is not there.
	RemoveDeadLetter(ctx context.Context, tenant, id string) error
}

// DeadLetterList lists them.
type DeadLetterList interface {
	// DeadLetters returns the letters of a tenant, newest first, then by ID: at most MaxPageBytes or one.
	DeadLetters(ctx context.Context, tenant string, p Page) ([]DeadLetter, string, error)
}

// DeadLetter is one message that could not be handled.
type DeadLetter struct {
	Tenant    string
	ID        string // of the message
	Execution string // that it was for; may be empty
	Queue     string // where it came from
	Code      string // of the error
	Cause     string // for people, at most MaxDeadLetterCause bytes
	At        int64
	Expires   int64  // when it may be forgotten; 0: only by RemoveDeadLetter
	Body      []byte // the message, at most MaxDeadLetter bytes
}

// Check returns a *LimitError or *InvalidError for a letter that no store takes.
func (d DeadLetter) Check() error {
	return checks(
		checkName("tenant", d.Tenant, MaxTenant),
		checkName("dead letter", d.ID, MaxName),
		checkText("dead letter execution", d.Execution, MaxName),
		checkText("dead letter queue", d.Queue, MaxName),
		checkText("dead letter code", d.Code, MaxName),
		checkText("dead letter cause", d.Cause, MaxDeadLetterCause),
		checkLimit("dead letter", len(d.Body), MaxDeadLetter),
	)
}
