package dynamodb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// Rebuild compares the index with the histories, and makes it what they say. Executions may run meanwhile: nothing is put in the place of anything
// newer, and whatever the index could not be sure of is read again, strongly, before it is called different. It reads the whole history and index
// tables, which is paid for by their size.
type Rebuild struct {
	// DryRun changes nothing.
	DryRun bool
	// Segments is how many parts of the tables are walked at once; 4 if zero. A Progress has its own.
	Segments int
	// From is where an earlier one was left; nil: the beginning.
	From *Progress
	// Different hears of each row that differs, Step how far it has got after each page. Neither is called twice at once.
	Different func(Difference)
	Step      func(Progress)
}

// Difference is a row of the index that does not say what the history says.
type Difference struct {
	Stream eventstore.Stream
	Kind   DifferenceKind
	// What says what differs, for people.
	What string
	// Repaired says that the index is right now.
	Repaired bool
}

// DifferenceKind is how a row differs.
type DifferenceKind string

// The kinds of differences.
const (
	Missing   DifferenceKind = "missing"    // there is a history, and no row
	Behind    DifferenceKind = "behind"     // the row tells of an older version, for longer than the publisher may take
	Wrong     DifferenceKind = "wrong"      // the row says of a version what is not so
	NoHistory DifferenceKind = "no history" // there is a row, and no history
	// Unreadable is a history that this program does not understand: written by a newer one, or damaged. Its row stays as it is.
	Unreadable DifferenceKind = "unreadable"
)

// Progress is how far a Rebuild has got. It can be written down as JSON, and gone on from.
type Progress struct {
	Segments []Segment `json:"segments"`
	// Items is how many items were read, Executions how many histories were looked at (one that spans two pages counts twice), Different and
	// Repaired how many rows (one that is interrupted while it is written may be left out).
	Items      int `json:"items"`
	Executions int `json:"executions"`
	Different  int `json:"different"`
	Repaired   int `json:"repaired"`
}

// Segment is how far one part of the tables is done: first of the histories, then of the index.
type Segment struct {
	History Place `json:"history"`
	Index   Place `json:"index"`
}

// Place is a place in a table.
type Place struct {
	Partition string `json:"p,omitempty"`
	Sort      string `json:"s,omitempty"`
	Done      bool   `json:"done,omitempty"`
}

const (
	defaultSegments = 4
	// rebuildHands is how many rows of a segment are looked at at once.
	rebuildHands = 8
	// publisherLag is how far the index may be behind a history without anything being wrong.
	publisherLag = time.Minute
	// replaceTries is how often a row is looked at anew that changes while it is replaced.
	replaceTries = 3
)

// rebuilding is one Rebuild under way.
type rebuilding struct {
	*Store
	Rebuild
	mu       sync.Mutex
	progress Progress
	// told are the executions of this page and of the one before, by segment, that a difference was told of: a history may span two.
	told []pages
}

type pages struct{ before, now map[eventstore.Stream]bool }

// Rebuild carries out r, and returns how far it got, also where it is interrupted: what is put right stays so.
func (s *Store) Rebuild(ctx context.Context, r Rebuild) (Progress, error) {
	if err := s.enter(ctx, nil); err != nil {
		return Progress{}, err
	}
	b := &rebuilding{Store: s, Rebuild: r}
	if r.From != nil && len(r.From.Segments) > 0 {
		b.progress = *r.From
		b.progress.Segments = slices.Clone(r.From.Segments)
	} else {
		n := r.Segments
		if n < 1 {
			n = defaultSegments
		}
		b.progress.Segments = make([]Segment, n)
	}
	b.told = make([]pages, len(b.progress.Segments))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	for i := range b.progress.Segments {
		group.Go(func() {
			if err := b.segment(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	return b.progress, context.Cause(ctx)
}

// segment walks one part: the histories, for rows that are not as they say, then the index, for rows without one.
func (b *rebuilding) segment(ctx context.Context, n int) error {
	at := b.progress.Segments[n]
	err := b.walk(ctx, n, &at.History, b.tables.History, &sdk.ScanInput{
		ProjectionExpression: aws.String("p, s, h, r, f, t"), FilterExpression: aws.String("begins_with(p, :p) AND begins_with(s, :s)"),
		ExpressionAttributeValues: item{":p": text(schema.CommitPartition), ":s": text(commitSort)},
	}, b.histories, func(s *Segment) { s.History = at.History })
	if err != nil {
		return err
	}
	return b.walk(ctx, n, &at.Index, b.tables.Index, &sdk.ScanInput{FilterExpression: aws.String("attribute_exists(" + schema.Fixed + ")")},
		b.rowsAlone, func(s *Segment) { s.Index = at.Index })
}

// walk scans a part of a table from a place on, and notes after each page how far it is.
func (b *rebuilding) walk(ctx context.Context, n int, at *Place, table string, in *sdk.ScanInput, look func(context.Context, int, []item) (int, error), note func(*Segment)) error {
	in.TableName, in.Segment, in.TotalSegments = &table, aws.Int32(int32(n)), aws.Int32(int32(len(b.progress.Segments)))
	for !at.Done {
		if in.ExclusiveStartKey = nil; at.Partition != "" {
			in.ExclusiveStartKey = item{schema.Partition: text(at.Partition)}
			if at.Sort != "" {
				in.ExclusiveStartKey[schema.Sort] = text(at.Sort)
			}
		}
		var out *sdk.ScanOutput
		if err := b.read(ctx, "rebuild the index", nil, func() (err error) { out, err = b.db.Scan(ctx, in); return err }); err != nil {
			return err
		}
		items := make([]item, len(out.Items))
		for i, found := range out.Items {
			items[i] = found
		}
		b.told[n] = pages{before: b.told[n].now, now: map[eventstore.Stream]bool{}} // nobody else looks at it now
		executions, err := look(ctx, n, items)
		if err != nil {
			return err
		}
		last := item(out.LastEvaluatedKey)
		*at = Place{Partition: last.text(schema.Partition), Sort: last.text(schema.Sort), Done: len(last) == 0}
		b.step(func(p *Progress) {
			note(&p.Segments[n])
			p.Items, p.Executions = p.Items+int(out.ScannedCount), p.Executions+executions
		})
	}
	return nil
}

func (b *rebuilding) step(change func(*Progress)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.progress)
	if b.Step != nil {
		now := b.progress
		now.Segments = slices.Clone(now.Segments)
		b.Step(now)
	}
}

// different counts a difference and tells of it.
func (b *rebuilding) different(n int, d Difference) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.told[n].before[d.Stream] || b.told[n].now[d.Stream] {
		return
	}
	b.told[n].now[d.Stream] = true
	b.progress.Different++
	if d.Repaired {
		b.progress.Repaired++
	}
	if b.Different != nil {
		b.Different(d)
	}
}

// each calls look with many at once, and returns the first error.
func each[T any](list []T, look func(T) error) error {
	errs := make([]error, len(list))
	hands := make(chan struct{}, rebuildHands)
	var group sync.WaitGroup
	for i, x := range list {
		hands <- struct{}{}
		group.Go(func() {
			errs[i] = look(x)
			<-hands
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// histories looks at the rows of the executions whose commits a page has.
func (b *rebuilding) histories(ctx context.Context, n int, page []item) (int, error) {
	newest := map[eventstore.Stream]Change{}
	for _, i := range page {
		c, ok, err := ReadChange(i)
		if err != nil {
			id, first, _ := CommitAt(i.text(schema.Partition), i.text(schema.Sort))
			b.different(n, Difference{Stream: id, Kind: Unreadable, What: fmt.Sprintf("commit %d: %v", first, err)})
			continue
		}
		if ok && (c.Row != nil || c.Far) && newest[c.Stream].Commit.Last < c.Commit.Last {
			newest[c.Stream] = c
		}
	}
	return len(newest), each(slices.Collect(maps.Values(newest)), func(c Change) error { return b.check(ctx, n, c) })
}

// check looks at the row of one execution, of which a commit was seen.
func (b *rebuilding) check(ctx context.Context, n int, seen Change) error {
	stands, err := b.get(ctx, "read a row", nil, b.tables.Index, rowAt(seen.Stream))
	if err != nil {
		return err
	}
	if seen.Row != nil && stands != nil && sameRow(stands, *seen.Row) == "" {
		return nil // as usual
	}
	for try := 1; ; try++ {
		// The row was read before the history: a sound row is never ahead of it.
		truth, head, found, err := b.truth(ctx, seen.Stream)
		if errors.Is(err, errRow) || errors.Is(err, errHead) {
			b.different(n, Difference{Stream: seen.Stream, Kind: Unreadable, What: err.Error()})
			return nil
		}
		if err != nil || !found {
			return err
		}
		d, differs := difference(stands, truth, head)
		recent := d.Kind != Wrong && truth.Updated > b.o.Now()-int64(publisherLag)
		switch {
		case !differs || b.DryRun && recent:
			return nil
		case b.DryRun:
			b.different(n, d)
			return nil
		}
		done, err := b.repair(ctx, d.Kind, stands, truth)
		if err != nil {
			return err
		}
		if done || try == replaceTries {
			if d.Repaired = done; !recent {
				b.different(n, d)
			}
			return nil
		}
		if stands, err = b.get(ctx, "read a row", nil, b.tables.Index, rowAt(seen.Stream)); err != nil {
			return err
		}
	}
}

// truth is the newest row that the history of an execution has, and its head: commits that change nothing of what lists show may come without a row.
func (b *rebuilding) truth(ctx context.Context, id eventstore.Stream) (row eventstore.Row, head uint64, found bool, err error) {
	in := &sdk.QueryInput{
		TableName: &b.tables.History, ConsistentRead: aws.Bool(true), ScanIndexForward: aws.Bool(false), Limit: aws.Int32(tailFirst),
		KeyConditionExpression:    aws.String("p = :p AND s BETWEEN :from AND :to"),
		ExpressionAttributeValues: item{":p": text(historyPartition(id)), ":from": text(all.from), ":to": text(all.to)},
	}
	var newest *Change
	err = b.read(ctx, "read the newest row", nil, func() error {
		return b.query(ctx, in, func(i item) (bool, error) {
			c, ok, err := ReadChange(i)
			if err != nil {
				return false, err
			}
			if ok {
				head = max(head, c.Commit.Last)
			}
			if ok && (c.Row != nil || c.Far) {
				newest = &c
			}
			return newest == nil, nil
		})
	})
	if err != nil || newest == nil {
		return row, head, false, err
	}
	if err := b.nearRow(ctx, newest); err != nil || newest.Row == nil {
		return row, head, false, err
	}
	return *newest.Row, head, true, nil
}

// difference says how a row that stands differs from what the history says.
func difference(stands item, truth eventstore.Row, head uint64) (Difference, bool) {
	d := Difference{Stream: truth.Stream}
	if stands == nil {
		d.Kind, d.What = Missing, fmt.Sprintf("version %d, %s", truth.Version, truth.Status)
		return d, true
	}
	if !stands.has(schema.Fixed) && stands.has(schema.Expires) {
		return d, false // it is being purged
	}
	row, ok, err := readRow(stands)
	switch {
	case err != nil || !ok:
		d.Kind, d.What = Wrong, "it cannot be read"
		return d, true
	case row.Version < truth.Version:
		d.Kind, d.What = Behind, fmt.Sprintf("version %d, %s; the history: version %d, %s", row.Version, row.Status, truth.Version, truth.Status)
		return d, true
	case row.Version > head && !row.Open && row.Purge != 0:
		return d, false // a purge removes the newest commits first
	case row.Version > head:
		d.Kind, d.What = Wrong, fmt.Sprintf("version %d, which the history does not have: it ends at %d", row.Version, head)
		return d, true
	case row.Version > truth.Version: // the sweep wrote it at a commit without a row: that changed nothing else
		truth.Version, truth.Updated, truth.Due, truth.Purge = row.Version, row.Updated, row.Due, row.Purge
	}
	d.Kind, d.What = Wrong, sameRow(stands, truth)
	return d, d.What != ""
}

// sameRow says in which of its parts a row of the same version differs from the one that its commit has; empty if it does not. The sweep moves Due and
// Purge of later revisions.
func sameRow(stands item, want eventstore.Row) string {
	row, ok, err := readRow(stands)
	if err != nil || !ok {
		return "it cannot be read"
	}
	var wrong []string
	say := func(name string, same bool) {
		if !same {
			wrong = append(wrong, name)
		}
	}
	say("version", row.Version == want.Version)
	say("workflow", row.Workflow == want.Workflow && row.Definition == want.Definition)
	say("parent", row.Parent == want.Parent)
	say("labels", slices.Equal(row.Labels, want.Labels))
	say("start", row.Started == want.Started)
	say("status", row.Status == want.Status && row.Outcome == want.Outcome && row.Open == want.Open)
	say("times", row.Updated == want.Updated && row.Wake == want.Wake && (row.Revision > 0 || row.Due == want.Due && row.Purge == want.Purge))
	say("keys", sameKeys(stands, want))
	return strings.Join(wrong, ", ")
}

// sameKeys reports whether what never changes of a row's item is as it must be: a put of a newer row leaves it alone.
func sameKeys(stands item, want eventstore.Row) bool {
	i := rowItem(want)
	return bytes.Equal(stands.bytes(schema.Fixed), i.bytes(schema.Fixed)) && stands.number(schema.Shard) == i.number(schema.Shard) &&
		stands.text(schema.List) == i.text(schema.List) && stands.text(schema.Order) == i.text(schema.Order)
}

// repair makes a row what the history says. It reports false if the row changed meanwhile.
func (b *rebuilding) repair(ctx context.Context, kind DifferenceKind, stands item, truth eventstore.Row) (bool, error) {
	if kind == Missing || kind == Behind && sameKeys(stands, truth) {
		_, err := b.PutRow(ctx, truth) // refused by what is newer, which is right then
		return err == nil, err
	}
	if stands.unsigned(attrVersion) == truth.Version { // so that no late record of the stream takes its place
		truth.Revision = uint32(min(max(stands.number(attrRevision), 0)+1, 1<<32-1))
	}
	condition, values := unchanged(stands)
	err := b.write(ctx, "replace a row", func(ctx context.Context) error {
		_, err := b.db.PutItem(ctx, &sdk.PutItemInput{TableName: &b.tables.Index, Item: rowItem(truth), ConditionExpression: &condition, ExpressionAttributeValues: values})
		return err
	})
	if _, refused := refusal(err); refused {
		return false, nil
	}
	return err == nil, err
}

// unchanged is the condition that an item of the index is still what it was.
func unchanged(stands item) (string, item) {
	var parts []string
	values := item{}
	for _, name := range []string{attrVersion, attrRevision, schema.Fixed, schema.Current, attrTimes, schema.Due, schema.Purge, schema.Shard, schema.List, schema.Order} {
		if v, ok := stands[name]; ok {
			parts = append(parts, name+" = :"+name)
			values[":"+name] = v
			continue
		}
		parts = append(parts, "attribute_not_exists("+name+")")
	}
	return strings.Join(parts, " AND "), values
}

// rowItem is the item of a row.
func rowItem(r eventstore.Row) item {
	i := rowAt(r.Stream)
	i[attrVersion], i[attrRevision] = unsigned(r.Version), number(int64(r.Revision))
	i[schema.Fixed], i[schema.Current] = binaryValue(packFixed(nil, &r)), binaryValue(packCurrent(nil, &r))
	i[attrTimes] = binaryValue(packTimes(nil, &eventstore.Row{Updated: r.Updated, Wake: r.Wake, Repairs: r.Repairs}))
	i[schema.Shard], i[schema.List], i[schema.Order] = number(int64(r.Stream.Shard())), text(listPartition(r.Stream)), text(listOrder(r.Started, r.Stream.ID))
	i.setNumber(schema.Due, r.Due)
	i.setNumber(schema.Purge, r.Purge)
	return i
}

// rowsAlone looks for rows without a history.
func (b *rebuilding) rowsAlone(ctx context.Context, n int, page []item) (int, error) {
	return 0, each(page, func(i item) error {
		id, err := parseStream(i.text(schema.Partition))
		if err == nil {
			if head, err := b.newest(ctx, id); err != nil || head {
				return err
			}
		}
		d := Difference{Stream: id, Kind: NoHistory, What: fmt.Sprintf("version %d", i.unsigned(attrVersion))}
		if err != nil {
			d.What = fmt.Sprintf("its key %q is none of an execution", i.text(schema.Partition))
		}
		if b.DryRun {
			b.different(n, d)
			return nil
		}
		condition, values := unchanged(i)
		err = b.write(ctx, "remove a row", func(ctx context.Context) error {
			_, err := b.db.DeleteItem(ctx, &sdk.DeleteItemInput{TableName: &b.tables.Index, Key: item{schema.Partition: i[schema.Partition]}, ConditionExpression: &condition, ExpressionAttributeValues: values})
			return err
		})
		if _, refused := refusal(err); refused {
			return nil // it changed meanwhile: it was purged
		}
		if d.Repaired = err == nil; d.Repaired {
			b.different(n, d)
		}
		return err
	})
}

// newest reports whether there is a history, or what a purge left of it.
func (b *rebuilding) newest(ctx context.Context, id eventstore.Stream) (found bool, err error) {
	in := b.sorts(b.tables.History, historyPartition(id), all.from, all.to, 1)
	in.ConsistentRead = aws.Bool(true)
	err = b.read(ctx, "look for a history", nil, func() error {
		return b.query(ctx, in, func(item) (bool, error) {
			found = true
			return false, nil
		})
	})
	return found, err
}
