package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// sized is one value of the contract with a limit: put stores it with a size.
type sized struct {
	name  string
	limit int
	put   func(size int) error
}

func (s *suite) sizes() []sized {
	text := func(n int) string { return strings.Repeat("x", n) }
	append1 := func(stream eventstore.Stream, data []byte) error {
		return s.Store.Append(s.ctx, stream, eventstore.Commit{First: 1, Last: 1, Nonce: freshNonce(), Data: data}, nil)
	}
	row := func(change func(*eventstore.Row, string)) func(int) error {
		return func(n int) error {
			r := someRow("order-1", 5)
			r.Version = versions.Add(1)
			change(&r, text(n))
			_, err := s.Store.PutRow(s.ctx, r)
			return err
		}
	}
	claim := func(k eventstore.ClaimKey, c eventstore.Claim) error {
		_, err := s.Store.Claim(s.ctx, k, c)
		return err
	}
	event := func(t eventstore.Topic, e eventstore.Event) error {
		_, err := s.Store.PutEvent(s.ctx, t, e)
		return err
	}
	letter := func(change func(*eventstore.DeadLetter, string)) func(int) error {
		return func(n int) error {
			d := eventstore.DeadLetter{Tenant: "acme", ID: "m"}
			change(&d, text(n))
			return s.Store.PutDeadLetter(s.ctx, d)
		}
	}
	page := func(n int) eventstore.Page { return eventstore.Page{Limit: n} }
	return []sized{
		{"tenant", eventstore.MaxTenant, func(n int) error { return append1(eventstore.Stream{Tenant: text(n), ID: "a"}, nil) }},
		{"execution", eventstore.MaxName, func(n int) error { return append1(eventstore.Stream{Tenant: "acme", ID: text(n)}, nil) }},
		{"commit", eventstore.MaxCommit, func(n int) error { return append1(order, make([]byte, n)) }},
		{"attempt", eventstore.MaxName, func(n int) error { return claim(key(text(n), 1), eventstore.Claim{Owner: "o"}) }},
		{"claim owner", eventstore.MaxName, func(n int) error { return claim(key("owner", 1), eventstore.Claim{Owner: text(n)}) }},
		{"claim worker", eventstore.MaxName, func(n int) error { return claim(key("worker", 1), eventstore.Claim{Owner: "o", Worker: text(n)}) }},
		{"notice", eventstore.MaxName, func(n int) error { return s.Store.Acknowledge(s.ctx, order, text(n)) }},
		{"definition", eventstore.MaxDefinition, func(n int) error {
			return s.Store.PutDefinition(s.ctx, eventstore.Definition{Tenant: "acme", Workflow: "w", Version: 1, Bytes: make([]byte, n)})
		}},
		{"workflow", eventstore.MaxName, func(n int) error {
			return s.Store.PutDefinition(s.ctx, eventstore.Definition{Tenant: "acme", Workflow: text(n), Version: 1})
		}},
		{"alias", eventstore.MaxType, func(n int) error {
			return s.Store.PutAlias(s.ctx, eventstore.Alias{Tenant: "acme", Workflow: "w", Name: text(n), Revision: 1})
		}},
		{"alias targets", eventstore.MaxAliasTargets, func(n int) error {
			return s.Store.PutAlias(s.ctx, eventstore.Alias{Tenant: "acme", Workflow: "w", Name: "a", Revision: 1, Targets: make([]eventstore.Target, n)})
		}},
		{"row workflow", eventstore.MaxName, row(func(r *eventstore.Row, x string) { r.Workflow = x })},
		{"row parent", eventstore.MaxName, row(func(r *eventstore.Row, x string) { r.Parent = x })},
		{"row status", eventstore.MaxType, row(func(r *eventstore.Row, x string) { r.Status = x })},
		{"row outcome", eventstore.MaxType, row(func(r *eventstore.Row, x string) { r.Outcome = x })},
		{"label key", eventstore.MaxLabelKey, row(func(r *eventstore.Row, x string) { r.Labels = []eventstore.Label{{Key: x}} })},
		{"label value", eventstore.MaxLabelValue, row(func(r *eventstore.Row, x string) { r.Labels = []eventstore.Label{{Key: "k", Value: x}} })},
		{"labels", eventstore.MaxLabels, row(func(r *eventstore.Row, x string) {
			for i := range len(x) {
				r.Labels = append(r.Labels, eventstore.Label{Key: fmt.Sprintf("%03d", i)})
			}
		})},
		{"event type", eventstore.MaxType, func(n int) error { return event(eventstore.Topic{Tenant: "acme", Type: text(n)}, someEvent("e")) }},
		{"event key", eventstore.MaxName, func(n int) error {
			return event(eventstore.Topic{Tenant: "acme", Type: "t", Key: text(n)}, someEvent("e"))
		}},
		{"event ID", eventstore.MaxName, func(n int) error { return event(paid, someEvent(text(n))) }},
		{"event source", eventstore.MaxName, func(n int) error { e := someEvent("s"); e.Source = text(n); return event(paid, e) }},
		{"event data", eventstore.MaxEventData, func(n int) error { e := someEvent("d"); e.Data = make([]byte, n); return event(paid, e) }},
		{"subscription execution", eventstore.MaxName, func(n int) error {
			return s.Store.Subscribe(s.ctx, eventstore.Subscription{Topic: paid, Execution: text(n), Waiter: "w"})
		}},
		{"subscription waiter", eventstore.MaxName, func(n int) error {
			return s.Store.Subscribe(s.ctx, eventstore.Subscription{Topic: paid, Execution: "e", Waiter: text(n)})
		}},
		{"dead letter", eventstore.MaxName, letter(func(d *eventstore.DeadLetter, x string) { d.ID = x })},
		{"dead letter execution", eventstore.MaxName, letter(func(d *eventstore.DeadLetter, x string) { d.Execution = x })},
		{"dead letter queue", eventstore.MaxName, letter(func(d *eventstore.DeadLetter, x string) { d.Queue = x })},
		{"dead letter code", eventstore.MaxName, letter(func(d *eventstore.DeadLetter, x string) { d.Code = x })},
		{"dead letter cause", eventstore.MaxDeadLetterCause, letter(func(d *eventstore.DeadLetter, x string) { d.Cause = x })},
		{"dead letter body", eventstore.MaxDeadLetter, letter(func(d *eventstore.DeadLetter, x string) { d.Body = []byte(x) })},
		{"page of commits", eventstore.MaxPage, func(n int) error { _, err := s.Store.Page(s.ctx, order, 0, n); return err }},
		{"page of events", eventstore.MaxPage, func(n int) error { _, err := s.Store.ReadEvents(s.ctx, paid, 0, 1, n); return err }},
		{"page of rows", eventstore.MaxPage, func(n int) error { _, _, err := s.Store.List(s.ctx, "acme", eventstore.Filter{}, page(n)); return err }},
		{"page of overdue", eventstore.MaxPage, func(n int) error { _, _, err := s.Store.Overdue(s.ctx, 0, 1, page(n)); return err }},
		{"page of purgeable", eventstore.MaxPage, func(n int) error { _, _, err := s.Store.Purgeable(s.ctx, 0, 1, page(n)); return err }},
		{"page of workflows", eventstore.MaxPage, func(n int) error { _, _, err := s.Store.Workflows(s.ctx, "acme", page(n)); return err }},
		{"page of versions", eventstore.MaxPage, func(n int) error { _, _, err := s.Store.Versions(s.ctx, "acme", "w", page(n)); return err }},
		{"page of aliases", eventstore.MaxPage, func(n int) error { _, _, err := s.Store.Aliases(s.ctx, "acme", "w", page(n)); return err }},
		{"page of subscribers", eventstore.MaxPage, func(n int) error { _, _, err := s.Store.Subscribers(s.ctx, paid, page(n)); return err }},
		{"page of dead letters", eventstore.MaxPage, func(n int) error { _, _, err := s.Store.DeadLetters(s.ctx, "acme", page(n)); return err }},
	}
}

func testLimits(t *testing.T, s *suite) {
	for _, value := range s.sizes() {
		require.NoError(t, value.put(value.limit), "%s at its limit", value.name)
		err := value.put(value.limit + 1)
		var limit *eventstore.LimitError
		require.ErrorAs(t, err, &limit, "%s over its limit", value.name)
		require.EqualValues(t, value.limit, limit.Limit, value.name)
		require.EqualValues(t, value.limit+1, limit.Actual, value.name)
	}
	commit := func(c eventstore.Commit) error { return s.Store.Append(s.ctx, order, c, nil) }
	n := freshNonce()
	row := someRow("order-1", 5)
	for name, err := range map[string]error{
		"no event":             commit(eventstore.Commit{Nonce: n}),
		"last before first":    commit(eventstore.Commit{First: 5, Last: 4, Nonce: n}),
		"no nonce":             commit(eventstore.Commit{First: 2, Last: 2}),
		"checkpoint ahead":     commit(eventstore.Commit{First: 2, Last: 4, Checkpoint: 3, Nonce: n}),
		"sequence too large":   commit(eventstore.Commit{First: 2, Last: eventstore.MaxSequence + 1, Nonce: n}),
		"row of another":       s.Store.Append(s.ctx, eventstore.Stream{Tenant: "acme", ID: "x"}, eventstore.Commit{First: 1, Last: 1, Nonce: n}, &row),
		"row of other version": s.Store.Append(s.ctx, order, eventstore.Commit{First: 2, Last: 3, Nonce: n}, &row),
		"negative page":        pageError(s.Store.List(s.ctx, "acme", eventstore.Filter{}, eventstore.Page{Limit: -1})),
		"lease after limit":    claimError(s.Store.Claim(s.ctx, key("a", 1), eventstore.Claim{Owner: "o", Until: 10, Limit: 9})),
		"fence too large":      claimError(s.Store.Claim(s.ctx, key("a", eventstore.MaxSequence+1), eventstore.Claim{Owner: "o"})),
		"event expired":        eventError(s.Store.PutEvent(s.ctx, paid, eventstore.Event{ID: "e", At: 5, Expires: 5})),
		"version 0":            s.Store.PutDefinition(s.ctx, eventstore.Definition{Tenant: "acme", Workflow: "w"}),
		"revision 0":           s.Store.PutAlias(s.ctx, eventstore.Alias{Tenant: "acme", Workflow: "w", Name: "a"}),
		"labels unsorted":      rowError(s.Store.PutRow(s.ctx, withLabels(row, "b", "a"))),
		"labels twice":         rowError(s.Store.PutRow(s.ctx, withLabels(row, "a", "a"))),
		"row without version":  rowError(s.Store.PutRow(s.ctx, eventstore.Row{Stream: order, Workflow: "w"})),
		"negative time":        rowError(s.Store.PutRow(s.ctx, eventstore.Row{Stream: order, Workflow: "w", Version: 1, Due: -1})),
		"label without key":    pageError(s.Store.List(s.ctx, "acme", eventstore.Filter{Label: eventstore.Label{Value: "v"}}, eventstore.Page{})),
	} {
		var invalid *eventstore.InvalidError
		require.ErrorAs(t, err, &invalid, name)
	}
	largest := eventstore.Stream{Tenant: "acme", ID: "largest"}
	c := eventstore.Commit{First: 1, Last: eventstore.MaxSequence, Nonce: n}
	require.NoError(t, s.Store.Append(s.ctx, largest, c, nil))
	head, err := s.Store.Head(s.ctx, largest)
	require.NoError(t, err)
	require.EqualValues(t, eventstore.MaxSequence, head)
}

func pageError(_ []eventstore.Row, _ string, err error) error { return err }
func claimError(_ eventstore.Claim, err error) error          { return err }
func eventError(_ eventstore.Event, err error) error          { return err }
func rowError(_ bool, err error) error                        { return err }

func withLabels(r eventstore.Row, keys ...string) eventstore.Row {
	r.Labels = nil
	for _, k := range keys {
		r.Labels = append(r.Labels, eventstore.Label{Key: k})
	}
	return r
}

// names are legal, however strange. Those that differ are different.
var names = []string{
	"plain", "Plain", "plain ", " plain", "with space", "a/b", "a", "a/", "/", "//", "..", ".", "a\\b", "a\x00b", "a\x00", "\x00", "\x00\x00", "a\nb", "\r\n", "\t",
	"'", "''", `"`, "';--", "%", "%25", "_", "*", "?", "#", "|", "a|b", "a:b", "a#1", "ä", "a\u0308", "日本語", "🙂", "\U0010ffff", "\ufeff", "\u202e", "é",
	"\x7f", "1", "01", "1.0", "null", "NULL", "true", "[]", "{}", "$ref", "~", strings.Repeat("é", 128), strings.Repeat("z", 256),
}

// namedRow is a row with a name wherever one may stand.
func namedRow(s eventstore.Stream, i int, name string) eventstore.Row {
	return eventstore.Row{
		Stream: s, Version: 1, Workflow: name, Parent: name, Status: name, Outcome: name, Started: int64(i), Due: 5,
		Labels: []eventstore.Label{{Key: short(name), Value: name}},
	}
}

// putName uses a name for everything that has one.
func (s *suite) putName(i int, name string) error {
	var errs []error
	for _, x := range []eventstore.Stream{{Tenant: name, ID: "order"}, {Tenant: "acme", ID: name}} {
		row := namedRow(x, i, name)
		errs = append(errs, s.Store.Append(s.ctx, x, eventstore.Commit{First: 1, Last: 1, Nonce: freshNonce(), Data: []byte(name)}, &row))
		_, err := s.Store.Claim(s.ctx, eventstore.ClaimKey{Stream: x, Attempt: name, Fence: 1}, eventstore.Claim{Owner: name, Worker: name})
		errs = append(errs, err, s.Store.Acknowledge(s.ctx, x, name))
	}
	topic := eventstore.Topic{Tenant: name, Type: name, Key: name}
	_, err := s.Store.PutEvent(s.ctx, topic, someEvent(name))
	return errors.Join(append(errs, err,
		s.Store.Subscribe(s.ctx, eventstore.Subscription{Topic: topic, Execution: name, Waiter: name}),
		s.Store.PutDefinition(s.ctx, eventstore.Definition{Tenant: "acme", Workflow: name, Version: 1}),
		s.Store.PutAlias(s.ctx, eventstore.Alias{Tenant: "acme", Workflow: "w", Name: name, Revision: 1}),
		s.Store.PutDeadLetter(s.ctx, eventstore.DeadLetter{Tenant: "acme", ID: name, At: int64(i % 3)}),
	)...)
}

func testNames(t *testing.T, s *suite) {
	s.together(len(names), func(i int) error { return s.putName(i, names[i]) })
	s.Settle()
	for i, name := range names {
		for _, x := range []eventstore.Stream{{Tenant: name, ID: "order"}, {Tenant: "acme", ID: name}} {
			tail, err := s.Store.Tail(s.ctx, x)
			require.NoError(t, err)
			require.Len(t, tail, 1, "%q is not another name", name)
			require.Equal(t, name, string(tail[0].Data))
			got, err := s.Store.Row(s.ctx, x)
			require.NoError(t, err)
			require.Equal(t, namedRow(x, i, name), got)
			claim, err := s.Store.ReadClaim(s.ctx, eventstore.ClaimKey{Stream: x, Attempt: name, Fence: 1})
			require.NoError(t, err)
			require.Equal(t, eventstore.Claim{Owner: name, Worker: name}, claim)
			acknowledged, err := s.Store.Acknowledged(s.ctx, x, name)
			require.NoError(t, err)
			require.True(t, acknowledged)
		}
		topic := eventstore.Topic{Tenant: name, Type: name, Key: name}
		events := s.readEvents(topic, 0, 100, 10)
		require.Len(t, events, 1, "%q is not another name", name)
		require.Equal(t, name, events[0].ID)
		waiters, _, err := s.Store.Subscribers(s.ctx, topic, eventstore.Page{})
		require.NoError(t, err)
		require.Equal(t, []eventstore.Subscription{{Topic: topic, Execution: name, Waiter: name}}, waiters)
	}
	sorted := slices.Sorted(slices.Values(names))
	for i, d := range pages(t, 5, func(p eventstore.Page) ([]eventstore.Definition, string, error) {
		return s.Store.Workflows(s.ctx, "acme", p)
	}) {
		require.Equal(t, sorted[i], d.Workflow, "by bytes")
	}
	for i, a := range pages(t, 5, func(p eventstore.Page) ([]eventstore.Alias, string, error) {
		return s.Store.Aliases(s.ctx, "acme", "w", p)
	}) {
		require.Equal(t, sorted[i], a.Name, "by bytes")
	}
	require.Len(t, pages(t, 5, func(p eventstore.Page) ([]eventstore.DeadLetter, string, error) {
		return s.Store.DeadLetters(s.ctx, "acme", p)
	}), len(names))
	require.Len(t, s.list("acme", eventstore.Filter{}, 7), len(names))
	for _, name := range names {
		for field, f := range map[string]eventstore.Filter{
			"workflow": {Workflow: name}, "status": {Status: name}, "outcome": {Outcome: name}, "parent": {Parent: name},
			"label": {Label: eventstore.Label{Key: short(name), Value: name}},
		} {
			got := s.list("acme", f, 7)
			require.Len(t, got, 1, "%s %q", field, name)
			require.Equal(t, name, got[0].Stream.ID)
		}
		require.Len(t, s.list(name, eventstore.Filter{}, 7), 1)
	}
	for _, bad := range []string{"", "\xff", "a\xc3", "\xed\xa0\x80"} {
		_, err := s.Store.Head(s.ctx, eventstore.Stream{Tenant: "acme", ID: bad})
		var invalid *eventstore.InvalidError
		require.ErrorAs(t, err, &invalid, "%q", bad)
		_, err = s.Store.Head(s.ctx, eventstore.Stream{Tenant: bad, ID: "order"})
		require.ErrorAs(t, err, &invalid, "%q", bad)
	}
}

// short cuts a name to the length of a label's key, between characters.
func short(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), eventstore.MaxLabelKey)], "")
}

// testCopies changes what was given to the store, and what it returned: neither may change what it holds.
func testCopies(t *testing.T, s *suite) {
	a := &author{stream: order}
	c := a.next(1, []byte("data"))
	row := someRow(order.ID, 5)
	row.Labels = []eventstore.Label{{Key: "a", Value: "1"}}
	require.NoError(t, s.Store.Append(s.ctx, order, c, &row))
	c.Data[0], row.Labels[0].Value, row.Status = 'X', "X", "X"
	s.Settle()
	for range 2 {
		tail, err := s.Store.Tail(s.ctx, order)
		require.NoError(t, err)
		require.Equal(t, "data", string(tail[0].Data))
		tail[0].Data[0] = 'X'
		got, err := s.Store.Row(s.ctx, order)
		require.NoError(t, err)
		require.Equal(t, "1", got.Labels[0].Value)
		require.Equal(t, "running", got.Status)
		got.Labels[0].Value = "X"
	}
	e := someEvent("e")
	stored, err := s.Store.PutEvent(s.ctx, paid, e)
	require.NoError(t, err)
	e.Data[0], stored.Data[0] = 'X', 'X'
	for range 2 {
		events := s.readEvents(paid, 0, 100, 1)
		require.Equal(t, "data of e", string(events[0].Data))
		events[0].Data[0] = 'X'
	}
	d := eventstore.Definition{Tenant: "acme", Workflow: "w", Version: 1, Bytes: []byte("bytes")}
	require.NoError(t, s.Store.PutDefinition(s.ctx, d))
	d.Bytes[0] = 'X'
	letter := eventstore.DeadLetter{Tenant: "acme", ID: "m", Body: []byte("body")}
	require.NoError(t, s.Store.PutDeadLetter(s.ctx, letter))
	letter.Body[0] = 'X'
	for range 2 {
		got, err := s.Store.Definition(s.ctx, "acme", "w", 1)
		require.NoError(t, err)
		require.Equal(t, "bytes", string(got.Bytes))
		got.Bytes[0] = 'X'
		one, err := s.Store.DeadLetter(s.ctx, "acme", "m")
		require.NoError(t, err)
		require.Equal(t, "body", string(one.Body))
		one.Body[0] = 'X'
	}
}

func testContext(t *testing.T, s *suite) {
	ended, cancel := context.WithCancel(s.ctx)
	cancel()
	require.ErrorIs(t, s.Store.Append(ended, order, eventstore.Commit{First: 1, Last: 1, Nonce: freshNonce()}, nil), context.Canceled)
	_, err := s.Store.Head(ended, order)
	require.ErrorIs(t, err, context.Canceled)
	head, err := s.Store.Head(s.ctx, order)
	require.NoError(t, err)
	require.Zero(t, head, "a call whose context had ended wrote nothing")
}

func testClose(t *testing.T, s *suite) {
	for range 2 {
		require.NoError(t, s.Store.Close())
	}
	require.ErrorIs(t, s.Store.Append(s.ctx, order, eventstore.Commit{First: 1, Last: 1, Nonce: freshNonce()}, nil), eventstore.ErrClosed)
	_, err := s.Store.Head(s.ctx, order)
	require.ErrorIs(t, err, eventstore.ErrClosed)
}

func testReopen(t *testing.T, s *suite) {
	if s.Reopen == nil {
		t.Skip("a store of this kind does not outlive its process")
	}
	a := &author{stream: order}
	row := someRow(order.ID, 5)
	row.Version, row.Due = 2, 50
	c := a.next(2, []byte("first"))
	s.append(a, c, &row)
	s.Settle()
	k := key("charge/1", 1)
	claim, err := s.Store.Claim(s.ctx, k, eventstore.Claim{Owner: "receive-1", Until: 9})
	require.NoError(t, err)
	e := s.putEvent(paid, someEvent("e"))
	d := eventstore.Definition{Tenant: "acme", Workflow: "w", Version: 1, Bytes: []byte("bytes")}
	require.NoError(t, s.Store.PutDefinition(s.ctx, d))
	for range 3 {
		s.Store = s.Reopen()
		tail, err := s.Store.Tail(s.ctx, order)
		require.NoError(t, err)
		s.requireCommits([]eventstore.Commit{c}, tail)
		got, err := s.Store.Row(s.ctx, order)
		require.NoError(t, err)
		require.Equal(t, row, got)
		stands, err := s.Store.ReadClaim(s.ctx, k)
		require.NoError(t, err)
		require.Equal(t, claim, stands)
		require.Equal(t, []eventstore.Event{e}, s.readEvents(paid, 0, 100, 10))
		definition, err := s.Store.Definition(s.ctx, "acme", "w", 0)
		require.NoError(t, err)
		require.Equal(t, d, definition)
		require.NoError(t, s.Store.Append(s.ctx, order, c, nil), "a repeat is known after a restart")
		var conflict *eventstore.ConflictError
		require.ErrorAs(t, s.Store.Append(s.ctx, order, eventstore.Commit{First: 1, Last: 1, Nonce: freshNonce()}, nil), &conflict)
	}
	s.append(a, a.next(1, nil), nil)
}
