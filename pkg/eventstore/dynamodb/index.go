package dynamodb

import (
	"cmp"
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// Attributes of a row beside those of package schema.
const (
	attrVersion  = "v"
	attrRevision = "r"
	attrTimes    = "m"
)

// newer is the condition on which a row replaces another.
const newer = "attribute_not_exists(v) OR v < :v OR (v = :v AND r < :r)"

func rowAt(s eventstore.Stream) item { return item{schema.Partition: text(streamKey(s))} }

// PutRow implements eventstore.Index: one update, which leaves the fixed group as it is.
func (s *Store) PutRow(ctx context.Context, r eventstore.Row) (bool, error) {
	if err := s.enter(ctx, r.Check()); err != nil {
		return false, err
	}
	// The fixed group of the row that stands may be another: then its times are packed as offsets from another start.
	values := item{
		":v": unsigned(r.Version), ":r": number(int64(r.Revision)), ":f": binaryValue(packFixed(nil, &r)), ":z": binaryValue(packCurrent(nil, &r)),
		":m": binaryValue(packTimes(nil, &eventstore.Row{Updated: r.Updated, Wake: r.Wake, Repairs: r.Repairs})),
		":h": number(int64(r.Stream.Shard())), ":l": text(listPartition(r.Stream)), ":o": text(listOrder(r.Started, r.Stream.ID)),
	}
	set := "SET v = :v, r = :r, z = :z, m = :m, h = :h, f = if_not_exists(f, :f), l = if_not_exists(l, :l), o = if_not_exists(o, :o)"
	remove := ""
	for name, t := range map[string]int64{schema.Due: r.Due, schema.Purge: r.Purge} {
		if t == 0 {
			remove += ", " + name
			continue
		}
		values[":"+name] = number(t)
		set += ", " + name + " = :" + name
	}
	if remove != "" {
		set += " REMOVE " + remove[2:]
	}
	err := s.write(ctx, "put a row", func(ctx context.Context) error {
		_, err := s.db.UpdateItem(ctx, &sdk.UpdateItemInput{
			TableName: &s.tables.Index, Key: rowAt(r.Stream), UpdateExpression: &set, ConditionExpression: aws.String(newer), ExpressionAttributeValues: values,
		})
		return err
	})
	if _, refused := refusal(err); refused {
		return false, nil
	}
	return err == nil, err
}

// readRow reads the item of a row. A tombstone is none.
func readRow(i item) (r eventstore.Row, found bool, err error) {
	if !i.has(schema.Fixed) {
		return r, false, nil
	}
	if r.Stream, err = parseStream(i.text(schema.Partition)); err != nil {
		return r, false, err
	}
	r.Version, r.Revision = i.unsigned(attrVersion), uint32(i.number(attrRevision))
	for _, part := range []struct {
		name string
		read func(*unpacker)
	}{
		{schema.Fixed, func(u *unpacker) { u.fixed(&r) }},
		{schema.Current, func(u *unpacker) { u.current(&r) }},
		{attrTimes, func(u *unpacker) {
			var t eventstore.Row
			u.times(&t)
			r.Updated, r.Wake, r.Repairs = t.Updated, t.Wake, t.Repairs
		}},
	} {
		u := unpacker{b: i.bytes(part.name)}
		part.read(&u)
		if err := u.done(); err != nil {
			return r, false, err
		}
	}
	r.Due, r.Purge = i.number(schema.Due), i.number(schema.Purge)
	return r, true, nil
}

// Row implements eventstore.Index.
func (s *Store) Row(ctx context.Context, id eventstore.Stream) (eventstore.Row, error) {
	i, err := s.get(ctx, "read a row", id.Check(), s.tables.Index, rowAt(id))
	if err != nil {
		return eventstore.Row{}, err
	}
	r, found, err := readRow(i)
	if err == nil && !found {
		err = &eventstore.NotFoundError{What: "row of execution " + id.String()}
	}
	return r, err
}

// The rows of a tenant lie in so many partitions of the list, since new ones all go to its start, and a partition takes a thousand
// writes a second.
const listShards = 8

func listPartition(s eventstore.Stream) string {
	return partition(string(rune('0'+s.Shard()%listShards))+"/", s.Tenant)
}

// listOrder puts the newest start first.
func listOrder(started int64, id string) string { return sorted(backward(started) + "/" + id) }

// List implements eventstore.Index. The index of lists holds what a filter asks for, so that only what a page shows is read from the table.
func (s *Store) List(ctx context.Context, tenant string, f eventstore.Filter, p eventstore.Page) ([]eventstore.Row, string, error) {
	limit, wrong := p.Size()
	after := ""
	if p.Cursor != "" && wrong == nil {
		started, id, err := eventstore.ParseCursor(p.Cursor, 1)
		if wrong = err; err == nil {
			after = listOrder(started, id[0])
		}
	}
	if err := s.enter(ctx, cmp.Or(eventstore.CheckTenant(tenant), f.Check(), wrong)); err != nil {
		return nil, "", err
	}
	var page []eventstore.Row
	next := ""
	err := s.read(ctx, "list", nil, func() error {
		m, err := s.merge(ctx, tenant, f, after, limit)
		if err != nil {
			return err
		}
		var wanted []eventstore.Row
		var last *entry
		for examined := 0; ; examined++ {
			e, err := m.peek(ctx)
			if err != nil {
				return err
			}
			if e == nil {
				break
			}
			if len(wanted) == limit || examined == eventstore.MaxExamined {
				next = eventstore.NewCursor(last.row.Started, last.row.Stream.ID)
				break
			}
			last = m.pop()
			if f.Accepts(last.row) {
				wanted = append(wanted, last.row)
			}
		}
		page, err = s.rows(ctx, wanted, f.Accepts)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return page, next, nil
}

// entry is one of the index of lists: of its row, what filters ask for.
type entry struct {
	order string
	row   eventstore.Row
}

// merger walks the partitions of a list as one.
type merger struct{ shards []*listShard }

// listShard is one partition of a list, from a place on.
type listShard struct {
	store     *Store
	partition string
	from, to  string // keys between which it is read, from excluded
	chunk     int
	entries   []entry
	end       bool
}

// merge begins at the newest start, or after a place. The partitions are asked at once for as much of the page as each is likely to have.
func (s *Store) merge(ctx context.Context, tenant string, f eventstore.Filter, after string, limit int) (*merger, error) {
	from, to := "", "~" // above all hexadecimal digits
	if f.StartedBefore != 0 {
		from = backward(f.StartedBefore - 1) // without what follows, it sorts before all of that start
	}
	if f.StartedFrom != 0 {
		to = backward(f.StartedFrom) + "0" // "/" sorts before it
	}
	m := &merger{}
	errs := make(chan error, listShards)
	for n := range listShards {
		shard := &listShard{store: s, partition: partition(string(rune('0'+n))+"/", tenant), from: max(from, after), to: to, chunk: limit/listShards + limit/listShards/2 + 2}
		m.shards = append(m.shards, shard)
		go func() { errs <- shard.fill(ctx) }()
	}
	var err error
	for range listShards {
		err = cmp.Or(err, <-errs)
	}
	return m, err
}

// fill reads the next entries of a partition.
func (l *listShard) fill(ctx context.Context) error {
	if l.from >= l.to {
		l.end = true
		return nil
	}
	in := &sdk.QueryInput{
		TableName: &l.store.tables.Index, IndexName: aws.String(schema.IndexList), Limit: aws.Int32(int32(l.chunk)),
		KeyConditionExpression:    aws.String("l = :l AND o BETWEEN :from AND :to"),
		ExpressionAttributeValues: item{":l": text(l.partition), ":from": text(l.from + "\x00"), ":to": text(l.to)},
	}
	out, err := l.store.db.Query(ctx, in)
	if err != nil {
		return err
	}
	for _, i := range out.Items {
		e, err := readEntry(i)
		if err != nil {
			return err
		}
		l.entries = append(l.entries, e)
		l.from = e.order
	}
	l.end = len(out.LastEvaluatedKey) == 0
	l.chunk = min(4*l.chunk, eventstore.MaxExamined) // many are passed over
	return nil
}

func readEntry(i item) (e entry, err error) {
	if e.row.Stream, err = parseStream(i.text(schema.Partition)); err != nil {
		return e, err
	}
	e.order = i.text(schema.Order)
	for name, read := range map[string]func(*unpacker){
		schema.Fixed: func(u *unpacker) { u.fixed(&e.row) }, schema.Current: func(u *unpacker) { u.current(&e.row) },
	} {
		u := unpacker{b: i.bytes(name)}
		if read(&u); u.done() != nil {
			return e, errRow
		}
	}
	return e, nil
}

// peek returns the next entry of all, nil at the end.
func (m *merger) peek(ctx context.Context) (*entry, error) {
	var first *entry
	for _, l := range m.shards {
		for len(l.entries) == 0 && !l.end {
			if err := l.fill(ctx); err != nil {
				return nil, err
			}
		}
		if len(l.entries) > 0 && (first == nil || l.entries[0].order < first.order) {
			first = &l.entries[0]
		}
	}
	return first, nil
}

// pop takes what peek returned.
func (m *merger) pop() *entry {
	var from *listShard
	for _, l := range m.shards {
		if len(l.entries) > 0 && (from == nil || l.entries[0].order < from.entries[0].order) {
			from = l
		}
	}
	e := from.entries[0]
	from.entries = from.entries[1:]
	return &e
}
