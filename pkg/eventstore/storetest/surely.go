package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// errorAs is errors.As for goroutines of tests.
func errorAs[E error](err error, to *E) bool { return errors.As(err, to) }

func testSurely(t *testing.T, s *suite) {
	errGaveUp := errors.New("gave up")
	other := func(c eventstore.Commit) eventstore.Commit { c.Nonce, c.Last = freshNonce(), c.Last+3; return c }
	for _, test := range []struct {
		name       string
		plan       []Fault
		readFaults int
		occupied   bool // somebody else's commit stands there already
		patience   eventstore.Patience
		want       error // nil, or what the error is
		stored     bool
	}{
		{name: "no fault", stored: true},
		{name: "conflict", occupied: true, want: &eventstore.ConflictError{}},
		{name: "unavailable", plan: []Fault{Unavailable}, want: eventstore.ErrUnavailable},
		{name: "answer lost", plan: []Fault{LostAnswer}, patience: eventstore.Patience{Tries: 2}, stored: true},
		{name: "answer lost, one try", plan: []Fault{LostAnswer}, stored: true},
		{name: "request lost", plan: []Fault{LostRequest}, patience: eventstore.Patience{Tries: 2}, stored: true},
		{name: "request lost five times", plan: []Fault{LostRequest, LostRequest, LostRequest, LostRequest, LostRequest}, patience: eventstore.Patience{Tries: 6}, stored: true},
		{name: "request lost, no patience", plan: []Fault{LostRequest}, want: eventstore.ErrUnknownOutcome},
		{name: "request lost, then unavailable", plan: []Fault{LostRequest, Unavailable}, patience: eventstore.Patience{Tries: 3}, stored: true},
		{name: "answer lost, then unavailable", plan: []Fault{LostAnswer}, readFaults: 1, patience: eventstore.Patience{Tries: 2}, stored: true},
		{name: "reads fail", plan: []Fault{LostAnswer, LostRequest, LostRequest}, readFaults: 3, patience: eventstore.Patience{Tries: 3}, want: eventstore.ErrUnknownOutcome, stored: true},
		{name: "request lost, other stands there", plan: []Fault{LostRequest}, occupied: true, want: &eventstore.ConflictError{}},
		{name: "waiting ends", plan: []Fault{LostRequest}, want: errGaveUp,
			patience: eventstore.Patience{Tries: 9, Wait: func(context.Context, int) error { return errGaveUp }}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := &author{stream: eventstore.Stream{Tenant: "acme", ID: test.name}}
			s.fill(a, 1, 0)
			c := a.next(2, []byte("wanted"))
			if test.occupied {
				require.NoError(t, s.Store.Append(s.ctx, a.stream, other(c), nil))
			}
			faults := &Faults{Committer: s.Store, Plan: test.plan, ReadFaults: test.readFaults}
			err := eventstore.AppendSurely(s.ctx, faults, a.stream, c, nil, test.patience)
			var conflict *eventstore.ConflictError
			switch want := test.want.(type) {
			case nil:
				require.NoError(t, err)
			case *eventstore.ConflictError:
				require.ErrorAs(t, err, &conflict)
				require.Equal(t, eventstore.ConflictError{What: "history " + a.stream.String(), Expected: 3, Actual: 8}, *conflict)
			default:
				require.ErrorIs(t, err, want)
			}
			stored, err := s.Store.ReadCommit(s.ctx, a.stream, c.First)
			if test.stored || test.occupied {
				require.NoError(t, err)
				require.Equal(t, test.stored, stored.Nonce == c.Nonce)
			} else {
				require.ErrorIs(t, err, eventstore.ErrNotFound)
			}
		})
	}
}

func testLateWrites(t *testing.T, s *suite) {
	a := &author{stream: order}
	s.fill(a, 1, 0)

	// The put is on its way; the writer reads nothing, puts again, goes on; then the first one lands.
	first := a.next(1, []byte("first"))
	faults := &Faults{Committer: s.Store, Plan: []Fault{LateTwice}}
	require.NoError(t, eventstore.AppendSurely(s.ctx, faults, order, first, nil, eventstore.Patience{Tries: 2}))
	a.wrote(first)
	second := a.next(1, []byte("second"))
	s.append(a, second, nil)
	faults.Land(s.ctx)

	// The put is on its way, patience ends, another writer decides; then the first one lands: too late.
	lost := a.next(2, []byte("lost"))
	faults = &Faults{Committer: s.Store, Plan: []Fault{Late}}
	require.ErrorIs(t, eventstore.AppendSurely(s.ctx, faults, order, lost, nil, eventstore.Patience{}), eventstore.ErrUnknownOutcome)
	third := a.next(1, []byte("third"))
	s.append(a, third, nil)
	faults.Land(s.ctx)

	// The same, but it lands before the other writer decides.
	landed := a.next(2, []byte("landed"))
	faults = &Faults{Committer: s.Store, Plan: []Fault{Late}}
	require.ErrorIs(t, eventstore.AppendSurely(s.ctx, faults, order, landed, nil, eventstore.Patience{}), eventstore.ErrUnknownOutcome)
	faults.Land(s.ctx)
	var conflict *eventstore.ConflictError
	require.ErrorAs(t, s.Store.Append(s.ctx, order, a.next(1, nil), nil), &conflict)

	tail, err := s.Store.Tail(s.ctx, order)
	require.NoError(t, err)
	s.requireCommits([]eventstore.Commit{first, second, third, landed}, tail[1:])
	require.NoError(t, eventstore.VerifyTail(order, tail))
}

// testSurelyProperty lets writers that share a stream suffer random faults. What AppendSurely says must be true for ever, also
// after all late writes have landed: nil means that the commit is in the history, a conflict that it never will be.
func testSurelyProperty(t *testing.T, s *suite) {
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		a := &author{stream: eventstore.Stream{Tenant: "acme", ID: fmt.Sprint("property-", n)}}
		fault := rapid.SliceOfN(rapid.SampledFrom([]Fault{None, Unavailable, LostRequest, LostAnswer, Late, LateTwice}), 0, 4)
		said := map[eventstore.Nonce]error{}
		var late []*Faults
		for range rapid.IntRange(1, 12).Draw(r, "commits") {
			c := a.next(rapid.IntRange(1, 4).Draw(r, "events"), []byte("x"))
			faults := &Faults{Committer: s.Store, Plan: fault.Draw(r, "faults"), ReadFaults: rapid.IntRange(0, 2).Draw(r, "read faults")}
			late = append(late, faults)
			said[c.Nonce] = eventstore.AppendSurely(s.ctx, faults, a.stream, c, nil, eventstore.Patience{Tries: rapid.IntRange(1, 4).Draw(r, "tries")})
			if rapid.Bool().Draw(r, "land") {
				rapid.SampledFrom(late).Draw(r, "whose").Land(s.ctx)
			}
			if rapid.Bool().Draw(r, "look") { // else the writer goes on with what it believed
				tail, err := s.Store.Tail(s.ctx, a.stream)
				require.NoError(r, err)
				require.NoError(r, eventstore.VerifyTail(a.stream, tail))
				if len(tail) > 0 {
					a.wrote(tail[len(tail)-1])
				}
			}
		}
		for _, f := range late {
			f.Land(s.ctx)
		}
		tail, err := s.Store.Tail(s.ctx, a.stream)
		require.NoError(r, err)
		require.NoError(r, eventstore.VerifyTail(a.stream, tail))
		times := map[eventstore.Nonce]int{}
		for _, c := range tail {
			times[c.Nonce]++
		}
		for nonce, err := range said {
			var conflict *eventstore.ConflictError
			switch {
			case err == nil:
				require.Equal(r, 1, times[nonce], "said to be stored")
			case errors.As(err, &conflict) || errors.Is(err, eventstore.ErrUnavailable) && !errors.Is(err, eventstore.ErrUnknownOutcome):
				require.Zero(r, times[nonce], "said not to be stored: %v", err)
			default:
				require.ErrorIs(r, err, eventstore.ErrUnknownOutcome)
				require.LessOrEqual(r, times[nonce], 1)
			}
		}
	})
}
