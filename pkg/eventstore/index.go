package eventstore

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
)

// Index holds a row for each execution: what lists show, and when it must be looked at again. It can be rebuilt from the
// histories (commit protocol, points 13 and 14). Where a platform derives it from them, it lags.
type Index interface {
	// PutRow stores a row unless one of the same or a newer Version (then Revision) stands, and reports whether it did.
	// In DynamoDB: a put on that condition.
	PutRow(ctx context.Context, r Row) (bool, error)
	// Row returns an execution's row, or a *NotFoundError.
	Row(ctx context.Context, s Stream) (Row, error)
	// List returns the rows of a tenant that a filter accepts, newest start first (those of one moment in an order that stays),
	// and the cursor of the next page, empty at the end. A page may be short, even empty, with more to come (MaxExamined). The
	// start of a row never changes, so a row that is there all the while, and accepted all the while, comes exactly once.
	List(ctx context.Context, tenant string, f Filter, p Page) ([]Row, string, error)
}

// Wakes are the two sparse indexes of the sweep, over all tenants. They come in Shards shards, which are asked one by one: each row
// is in one of them, always the same; a store that need not spread its load may have all rows in one. In DynamoDB: two secondary
// indexes that hold only rows with the attribute, partitioned by Stream.Shard.
type Wakes interface {
	// Overdue returns the rows of a shard whose Due is at most until, the longest overdue first. With until MaxTime it
	// walks all open executions, as a restart does.
	Overdue(ctx context.Context, shard int, until int64, p Page) ([]Row, string, error)
	// Purgeable returns the rows of a shard whose Purge is at most until, the oldest first.
	Purgeable(ctx context.Context, shard int, until int64, p Page) ([]Row, string, error)
}

// Shards is the number of shards of the Wakes.
const Shards = 64

// MaxTime is a time that never comes.
const MaxTime = 1<<63 - 1

// Shard returns the shard of an execution in a store that spreads its load, 0 to Shards-1.
func (s Stream) Shard() int {
	h := fnv.New32a()
	h.Write([]byte(s.Tenant))
	h.Write([]byte{0xff}) // never in UTF-8
	h.Write([]byte(s.ID))
	return int(h.Sum32() % Shards)
}

// Row is one execution in the index. The first group never changes: whoever writes the row of a later version repeats it.
type Row struct {
	Stream     Stream
	Workflow   string // name
	Definition uint64 // its version
	Parent     string // ID of the execution that started this one, of the same tenant; empty if none did
	Started    int64
	Labels     []Label // sorted by key, each key once

	// Version is the sequence number of the event up to which the row tells; Revision orders rows of one version, for what
	// happens beside the history: a sweep that backs off, a notice acknowledged.
	Version  uint64
	Revision uint32
	Status   string
	Outcome  string
	Open     bool
	Updated  int64
	// Wake is the execution's earliest timer, exactly; Due the latest time at which it must have moved. Purge is when it
	// may be removed, with its history. 0: never.
	Wake, Due, Purge int64
	// Repairs counts what the sweep did since the version was written.
	Repairs uint32
}

// Label is one key and value for finding executions.
type Label struct{ Key, Value string }

// Filter selects rows. A zero field accepts everything.
type Filter struct {
	Workflow string
	Status   string
	Outcome  string
	Parent   string
	Label    Label // one key and value
	// OpenOnly and ClosedOnly exclude each other.
	OpenOnly, ClosedOnly bool
	// StartedFrom and StartedBefore bound the start: from ≤ start < before.
	StartedFrom, StartedBefore int64
}

// Check returns a *LimitError or *InvalidError for a row that no store takes.
func (r Row) Check() error {
	switch {
	case r.Version == 0 || r.Version > MaxSequence:
		return &InvalidError{Field: "row", Reason: "it has no version: an execution without events has no row"}
	case r.Definition > MaxSequence:
		return &InvalidError{Field: "row", Reason: "the version of its definition is over MaxSequence"}
	case r.Started < 0 || r.Wake < 0 || r.Due < 0 || r.Purge < 0:
		return &InvalidError{Field: "row", Reason: "a time is negative"}
	case len(r.Labels) > MaxLabels:
		return checkLimit("labels", len(r.Labels), MaxLabels)
	case !slices.IsSortedFunc(r.Labels, func(a, b Label) int { return cmp.Compare(a.Key, b.Key) }):
		return &InvalidError{Field: "row", Reason: "its labels are not sorted by key"}
	}
	for i, l := range r.Labels {
		if i > 0 && r.Labels[i-1].Key == l.Key {
			return &InvalidError{Field: "row", Reason: "it has two labels of one key"}
		}
		if err := checks(checkName("label key", l.Key, MaxLabelKey), checkText("label value", l.Value, MaxLabelValue)); err != nil {
			return err
		}
	}
	return checks(
		r.Stream.Check(),
		checkName("workflow", r.Workflow, MaxName),
		checkText("parent", r.Parent, MaxName),
		checkText("status", r.Status, MaxType),
		checkText("outcome", r.Outcome, MaxType),
	)
}

// Newer reports whether r may replace a row.
func (r Row) Newer(than Row) bool {
	return r.Version > than.Version || r.Version == than.Version && r.Revision > than.Revision
}

// Check returns an *InvalidError for a filter that could accept nothing.
func (f Filter) Check() error {
	if f.OpenOnly && f.ClosedOnly {
		return &InvalidError{Field: "filter", Reason: "OpenOnly and ClosedOnly exclude each other"}
	}
	if f.Label.Key == "" && f.Label.Value != "" {
		return &InvalidError{Field: "filter", Reason: "a label's value without its key"}
	}
	return nil
}

// Accepts reports whether the filter selects a row.
func (f Filter) Accepts(r Row) bool {
	return (f.Workflow == "" || f.Workflow == r.Workflow) &&
		(f.Status == "" || f.Status == r.Status) &&
		(f.Outcome == "" || f.Outcome == r.Outcome) &&
		(f.Parent == "" || f.Parent == r.Parent) &&
		(f.Label.Key == "" || slices.Contains(r.Labels, f.Label)) &&
		(!f.OpenOnly || r.Open) && (!f.ClosedOnly || !r.Open) &&
		r.Started >= f.StartedFrom && (f.StartedBefore == 0 || r.Started < f.StartedBefore)
}

// CheckShard returns an *InvalidError for a shard that is none.
func CheckShard(shard int) error {
	if shard < 0 || shard >= Shards {
		return &InvalidError{Field: "shard", Reason: "shards run from 0 to Shards-1"}
	}
	return nil
}
