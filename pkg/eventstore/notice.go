package eventstore

import "context"

// Notices remember what a terminal execution still owed and has got rid of: its notice to the parent, the start of its successor
// (commit protocol, point 13). A terminal history is immutable, so this stands beside it.
type Notices interface {
	// Acknowledge records that a notice of an execution arrived. Once is enough, more do no harm.
	Acknowledge(ctx context.Context, s Stream, notice string) error
	// Acknowledged reports whether it did. It is strongly consistent.
	Acknowledged(ctx context.Context, s Stream, notice string) (bool, error)
}

// CheckNotice returns a *LimitError or *InvalidError for a notice that no store takes.
func CheckNotice(s Stream, notice string) error {
	return checks(s.Check(), checkName("notice", notice, MaxName))
}
