package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/memory"
	"github.com/wovyr/wovyr/pkg/worker"
)

// store is the event store as a worker sees it through a network: each call is an effect, calls fail, and writes succeed whose
// answers never come.
type store struct {
	*memory.Store
	w *world
}

// sealed is all of the store that a worker has which may not commit (commit protocol, point 15): claims. A call of anything else finds no store, and its
// execution never ends.
type sealed struct {
	worker.Store
	claims store
}

// Claim implements eventstore.Claims.
func (s sealed) Claim(ctx context.Context, k eventstore.ClaimKey, c eventstore.Claim) (eventstore.Claim, error) {
	return s.claims.Claim(ctx, k, c)
}

// Extend implements eventstore.Claims.
func (s sealed) Extend(ctx context.Context, k eventstore.ClaimKey, held eventstore.Claim, until int64) (eventstore.Claim, error) {
	return s.claims.Extend(ctx, k, held, until)
}

// ReadClaim implements eventstore.Claims.
func (s sealed) ReadClaim(ctx context.Context, k eventstore.ClaimKey) (eventstore.Claim, error) {
	return s.claims.ReadClaim(ctx, k)
}

// storeOf is the store of a process.
func (w *world) storeOf(p *process) worker.Store {
	s := store{w.store, w}
	if p.commits() {
		return s
	}
	return sealed{claims: s}
}

// lostAnswer is the fault of a write that was done.
func (w *world) lostAnswer(op string) error {
	if w.faulty() && w.chance(w.config.Rates.LostAnswer) {
		w.note("answer lost: %s", op)
		return &eventstore.UnknownOutcomeError{Op: op, Tries: 1, Err: fmt.Errorf("simulated")}
	}
	return nil
}

// derive writes a row some time after its commit, if that came to be: late, and more often than once, as a publisher may (commit protocol, point 14).
func (s store) derive(stream eventstore.Stream, c eventstore.Commit, row eventstore.Row) {
	w := s.w
	put := func() {
		if there, err := s.Store.ReadCommit(background(), stream, c.First); err != nil || there.Nonce != c.Nonce {
			return // it never came to be, or is gone again
		}
		_, err := s.Store.PutRow(background(), row)
		w.note("row of %s at %d: %v", stream.ID, row.Version, err)
	}
	lag := w.between(0, 2*time.Second)
	if w.faulty() && w.chance(20) {
		lag = w.between(0, 10*time.Minute)
	}
	w.in(4*time.Second+lag, put) // after the latest time at which the commit may land
	if w.chance(2) {
		w.in(lag, put)
	}
}

// Append implements eventstore.Committer. Its answer may be lost before or after the write, and the write may land later.
func (s store) Append(ctx context.Context, stream eventstore.Stream, c eventstore.Commit, row *eventstore.Row) error {
	w := s.w
	if err := w.call("append"); err != nil {
		return err
	}
	if w.config.Derived && row != nil {
		s.derive(stream, c, *row)
		row = nil
	}
	unknown := &eventstore.UnknownOutcomeError{Op: "append", Tries: 1, Err: fmt.Errorf("simulated")}
	if w.faulty() && w.chance(w.config.Rates.LostAnswer) {
		switch w.rng.IntN(3) {
		case 0:
			w.note("append %d to %s: lost", c.First, stream.ID)
			return unknown
		case 1:
			w.note("append %d to %s: late", c.First, stream.ID)
			w.in(w.between(0, 3*time.Second), func() {
				if s.Store.Append(ctx, stream, c, row) == nil {
					w.committed(stream, c)
				}
			})
			return unknown
		}
		if err := s.Store.Append(ctx, stream, c, row); err != nil {
			return err
		}
		w.committed(stream, c)
		w.note("append %d to %s: stored, answer lost", c.First, stream.ID)
		return unknown
	}
	if err := s.Store.Append(ctx, stream, c, row); err != nil {
		w.note("append %d to %s: %v", c.First, stream.ID, err)
		if there, missing := s.Store.ReadCommit(ctx, stream, c.First); w.config.bug(KeyByLast) && missing == nil && there.Last != c.Last {
			return nil
		}
		return err
	}
	w.committed(stream, c)
	if w.running != nil && w.running.p.cut > w.now {
		return unknown // cut off while it was done
	}
	return nil
}

// read is a call that changes nothing.
func read[T any](s store, op string, call func() (T, error)) (T, error) {
	if err := s.w.call(op); err != nil {
		var none T
		return none, err
	}
	return call()
}

// write is a call whose answer can be lost.
func write[T any](s store, op string, call func() (T, error)) (T, error) {
	v, err := read(s, op, call)
	if err == nil {
		err = s.w.lostAnswer(op)
	}
	return v, err
}

func only(err error) (struct{}, error) { return struct{}{}, err }

// ReadCommit implements eventstore.Committer.
func (s store) ReadCommit(ctx context.Context, stream eventstore.Stream, first uint64) (eventstore.Commit, error) {
	return read(s, "read a commit", func() (eventstore.Commit, error) { return s.Store.ReadCommit(ctx, stream, first) })
}

// Head implements eventstore.History.
func (s store) Head(ctx context.Context, stream eventstore.Stream) (uint64, error) {
	return read(s, "read the head", func() (uint64, error) { return s.Store.Head(ctx, stream) })
}

// Tail implements eventstore.History.
func (s store) Tail(ctx context.Context, stream eventstore.Stream) ([]eventstore.Commit, error) {
	return read(s, "load", func() ([]eventstore.Commit, error) { return s.Store.Tail(ctx, stream) })
}

// Claim implements eventstore.Claims.
func (s store) Claim(ctx context.Context, k eventstore.ClaimKey, c eventstore.Claim) (eventstore.Claim, error) {
	return write(s, "claim", func() (eventstore.Claim, error) { return s.Store.Claim(ctx, k, c) })
}

// Extend implements eventstore.Claims.
func (s store) Extend(ctx context.Context, k eventstore.ClaimKey, held eventstore.Claim, until int64) (eventstore.Claim, error) {
	return write(s, "extend a claim", func() (eventstore.Claim, error) { return s.Store.Extend(ctx, k, held, until) })
}

// ReadClaim implements eventstore.Claims.
func (s store) ReadClaim(ctx context.Context, k eventstore.ClaimKey) (eventstore.Claim, error) {
	return read(s, "read a claim", func() (eventstore.Claim, error) { return s.Store.ReadClaim(ctx, k) })
}

// End implements eventstore.Claims.
func (s store) End(ctx context.Context, k eventstore.ClaimKey, expires int64) error {
	_, err := write(s, "end an attempt", func() (struct{}, error) { return only(s.Store.End(ctx, k, expires)) })
	return err
}

// PutRow implements eventstore.Index.
func (s store) PutRow(ctx context.Context, r eventstore.Row) (bool, error) {
	return write(s, "put a row", func() (bool, error) { return s.Store.PutRow(ctx, r) })
}

// PutEvent implements eventstore.Events.
func (s store) PutEvent(ctx context.Context, t eventstore.Topic, e eventstore.Event) (eventstore.Event, error) {
	return write(s, "put an event", func() (eventstore.Event, error) { return s.Store.PutEvent(ctx, t, e) })
}

// ReadEvents implements eventstore.Events.
func (s store) ReadEvents(ctx context.Context, t eventstore.Topic, after uint64, now int64, limit int) ([]eventstore.Event, error) {
	return read(s, "read events", func() ([]eventstore.Event, error) { return s.Store.ReadEvents(ctx, t, after, now, limit) })
}

// Subscribe implements eventstore.Subscriptions.
func (s store) Subscribe(ctx context.Context, sub eventstore.Subscription) error {
	_, err := write(s, "subscribe", func() (struct{}, error) { return only(s.Store.Subscribe(ctx, sub)) })
	return err
}

// Subscribers implements eventstore.Subscriptions.
func (s store) Subscribers(ctx context.Context, t eventstore.Topic, p eventstore.Page) (list []eventstore.Subscription, next string, err error) {
	list, err = read(s, "read subscribers", func() (l []eventstore.Subscription, err error) {
		l, next, err = s.Store.Subscribers(ctx, t, p)
		return l, err
	})
	return list, next, err
}

// Acknowledge implements eventstore.Notices.
func (s store) Acknowledge(ctx context.Context, stream eventstore.Stream, notice string) error {
	_, err := write(s, "acknowledge a notice", func() (struct{}, error) { return only(s.Store.Acknowledge(ctx, stream, notice)) })
	return err
}

// Acknowledged implements eventstore.Notices.
func (s store) Acknowledged(ctx context.Context, stream eventstore.Stream, notice string) (bool, error) {
	return read(s, "read a notice", func() (bool, error) { return s.Store.Acknowledged(ctx, stream, notice) })
}

// PutDeadLetter implements eventstore.DeadLetters.
func (s store) PutDeadLetter(ctx context.Context, d eventstore.DeadLetter) error {
	_, err := write(s, "put a dead letter", func() (struct{}, error) { return only(s.Store.PutDeadLetter(ctx, d)) })
	return err
}

// Unpublished implements eventstore.Feed.
func (s store) Unpublished(ctx context.Context, after uint64, limit int) ([]eventstore.FeedEntry, error) {
	return read(s, "read the feed", func() ([]eventstore.FeedEntry, error) { return s.Store.Unpublished(ctx, after, limit) })
}

// Published implements eventstore.Feed.
func (s store) Published(ctx context.Context, numbers ...uint64) error {
	_, err := write(s, "strike from the feed", func() (struct{}, error) { return only(s.Store.Published(ctx, numbers...)) })
	return err
}

// Purgeable implements eventstore.Housekeeping.
func (s store) Purgeable(ctx context.Context, shard int, until int64, p eventstore.Page) (list []eventstore.Row, next string, err error) {
	list, err = read(s, "list what has had its time", func() (l []eventstore.Row, err error) {
		l, next, err = s.Store.Purgeable(ctx, shard, until, p)
		return l, err
	})
	return list, next, err
}

// Purge implements eventstore.Housekeeping.
func (s store) Purge(ctx context.Context, stream eventstore.Stream) error {
	_, err := write(s, "purge", func() (struct{}, error) { return only(s.Store.Purge(ctx, stream)) })
	return err
}
