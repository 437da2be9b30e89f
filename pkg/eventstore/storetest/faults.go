package storetest

import (
	"context"
	"errors"
	"sync"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// Fault is what happens to one call of Append.
type Fault int

// The faults of a network between a writer and its store.
const (
	None        Fault = iota
	Unavailable       // refused: nothing was written
	LostRequest       // never arrives; the writer does not know
	LostAnswer        // is written; the writer does not know
	Late              // the writer does not know; it is written when Land is called
	LateTwice         // like Late, and lands twice
)

// errLost is what a lost call looks like.
var errLost = errors.New("no answer")

// Faults is a Committer in front of another one, whose calls of Append suffer the faults of Plan, one after the other, and none
// after the last. The first ReadFaults calls of ReadCommit fail.
type Faults struct {
	eventstore.Committer
	Plan       []Fault
	ReadFaults int

	mu   sync.Mutex
	late []func(context.Context)
}

// Append suffers the next fault.
func (f *Faults) Append(ctx context.Context, s eventstore.Stream, c eventstore.Commit, row *eventstore.Row) error {
	unknown := &eventstore.UnknownOutcomeError{Op: "append", Tries: 1, Err: errLost}
	switch fault := f.next(); fault {
	case Unavailable:
		return &eventstore.UnavailableError{Op: "append", Err: errLost}
	case LostRequest:
		return unknown
	case LostAnswer:
		_ = f.Committer.Append(ctx, s, c, row)
		return unknown
	case Late, LateTwice:
		f.mu.Lock()
		defer f.mu.Unlock()
		for range int(fault-Late) + 1 {
			f.late = append(f.late, func(ctx context.Context) { _ = f.Committer.Append(ctx, s, c, row) })
		}
		return unknown
	}
	return f.Committer.Append(ctx, s, c, row)
}

func (f *Faults) next() Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.Plan) == 0 {
		return None
	}
	fault := f.Plan[0]
	f.Plan = f.Plan[1:]
	return fault
}

// ReadCommit fails as long as ReadFaults says.
func (f *Faults) ReadCommit(ctx context.Context, s eventstore.Stream, first uint64) (eventstore.Commit, error) {
	f.mu.Lock()
	fails := f.ReadFaults > 0
	f.ReadFaults--
	f.mu.Unlock()
	if fails {
		return eventstore.Commit{}, &eventstore.UnavailableError{Op: "read", Err: errLost}
	}
	return f.Committer.ReadCommit(ctx, s, first)
}

// Land lets all late writes arrive, in the order in which they were sent.
func (f *Faults) Land(ctx context.Context) {
	f.mu.Lock()
	late := f.late
	f.late = nil
	f.mu.Unlock()
	for _, land := range late {
		land(ctx)
	}
}
