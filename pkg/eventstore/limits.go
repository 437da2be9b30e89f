package eventstore

import (
	"math"
	"unicode/utf8"
)

// The limits of the contract, the same in every store, chosen so that the narrowest one (DynamoDB: items of 400 KiB,
// partition keys of 2,048 bytes) can keep them. Sizes are in bytes.
const (
	MaxTenant = 256
	// MaxName holds for IDs of executions, attempts, event keys, workflows, statuses, owners and the like.
	MaxName = 1024
	// MaxType is for the type of a content event, which shares its key with the tenant and the event's key.
	MaxType = 256

	// MaxCommit is one decision's events (200 KB at most) with a checkpoint (200 KB at most).
	MaxCommit = 400_000
	// MaxTail is what a Tail may hold. A writer that keeps the rule for checkpoints stays far below.
	MaxTail = 32 << 20
	// MaxSequence is the largest sequence number.
	MaxSequence = math.MaxInt64

	// MaxDefinition is for the bytes of a compiled workflow; a store with smaller items splits them.
	MaxDefinition   = 4 << 20
	MaxAliasTargets = 8

	MaxLabels     = 32
	MaxLabelKey   = 128
	MaxLabelValue = 256

	// MaxEventData is for the data of a content event. More goes to the payload store first.
	MaxEventData = 200_000
	// MaxKeptEvents is the quota of a topic: from its oldest kept event to its newest.
	MaxKeptEvents = 1000
	// DedupeWindow is how many of the newest kept events of a topic PutEvent compares IDs with.
	DedupeWindow = 32

	MaxDeadLetter      = 300_000 // Body
	MaxDeadLetterCause = 4096

	// MaxPage is the most that a page may be asked for, and DefaultPage what a Limit of zero means.
	MaxPage     = 1000
	DefaultPage = 100
	// MaxPageBytes ends a page of commits, events or dead letters early; the first item is always in it.
	MaxPageBytes = 1 << 20
	// MaxExamined is how many rows List looks at for one page. It is why a page can be short, even empty, with more to come.
	MaxExamined = 10_000

	// MaxPayload is what S3 takes in one put.
	MaxPayload = 5 << 30
)

// Page asks for one page of a list.
type Page struct {
	// Cursor is what the page before returned; empty for the first.
	Cursor string
	// Limit is the most items to return; zero means DefaultPage, more than MaxPage is a *LimitError.
	Limit int
}

// Size returns the number of items asked for, or a *LimitError or *InvalidError.
func (p Page) Size() (int, error) {
	switch {
	case p.Limit < 0:
		return 0, &InvalidError{Field: "page limit", Reason: "it is negative"}
	case p.Limit == 0:
		return DefaultPage, nil
	}
	return p.Limit, checkLimit("page limit", p.Limit, MaxPage)
}

func checkLimit(field string, actual, limit int) error {
	if actual > limit {
		return &LimitError{Field: field, Limit: int64(limit), Actual: int64(actual)}
	}
	return nil
}

// checkName checks a name that must be there.
func checkName(field, name string, limit int) error {
	if name == "" {
		return &InvalidError{Field: field, Reason: "it is empty"}
	}
	return checkText(field, name, limit)
}

// checkText checks a text that may be empty.
func checkText(field, text string, limit int) error {
	if err := checkLimit(field, len(text), limit); err != nil {
		return err
	}
	if !utf8.ValidString(text) {
		return &InvalidError{Field: field, Reason: "it is not UTF-8"}
	}
	return nil
}

// checks returns the first error.
func checks(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
