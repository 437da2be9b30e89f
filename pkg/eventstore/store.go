package eventstore

import (
	"fmt"
	"io"
)

// Store is all of a platform's durable state but the payloads. A consumer asks for the small interfaces that it needs.
type Store interface {
	Committer
	History
	Claims
	Definitions
	Workflows
	Aliases
	Index
	Wakes
	Events
	Subscriptions
	Notices
	DeadLetters
	DeadLetterList
	Housekeeping
	io.Closer
}

// Stream names one execution of one tenant, and with it its history.
type Stream struct {
	Tenant string // at most MaxTenant bytes
	ID     string // at most MaxName bytes
}

// String is for messages, not for keys: it is not injective.
func (s Stream) String() string { return fmt.Sprintf("%s/%s", s.Tenant, s.ID) }

// Check returns a *LimitError or *InvalidError for a name that no store takes.
func (s Stream) Check() error {
	if err := checkName("tenant", s.Tenant, MaxTenant); err != nil {
		return err
	}
	return checkName("execution", s.ID, MaxName)
}
