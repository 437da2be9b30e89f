package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// ErrContended says that a decision was made as often as Limits allow, and somebody else always wrote first.
var ErrContended = errors.New("worker: others keep writing to the execution")

// errNoExecution says that a message is for an execution that does not exist.
var errNoExecution = errors.New("worker: there is no such execution")

// maxRevocations bounds how often one decision is made anew because attempts that it wanted to end had been claimed: each
// time brings all claims that were found, so more rounds mean new claims made meanwhile.
const maxRevocations = 16

// proposal is one decision to be made and stored. It may be made several times, on newer states.
type proposal struct {
	stream eventstore.Stream
	floor  uint64
	by     string
	causes []string
	// open names the program of an execution that has no events yet, or returns errNoExecution; nil: it must have some.
	open func(ctx context.Context, x *execution) error
	// feed hands the inputs to a turn.
	feed func(x *execution, t *engine.Turn) error
	// extend may add to a decision that has been made, in the same commit; nil for none.
	extend func(x *execution, d *engine.Decision) error
}

// decided is a proposal as it was stored. Decision is zero if nothing was decided.
type decided struct {
	*execution
	engine.Decision
}

// decide makes a decision and stores it. A *engine.RefusedError or an error of feed is returned as it is.
func (w *Worker) decide(ctx context.Context, p proposal) (decided, error) {
	w.enter(p.stream)
	defer w.leave(p.stream)
	var claimed []workflow.Claimed
	revocations := 0
	load := func() (*execution, error) { return w.load(ctx, p.stream, p.floor) }
	for conflicts := 0; conflicts <= w.Limits.Conflicts; {
		x, err := load()
		if err != nil {
			return decided{}, err
		}
		if x.state == nil {
			if p.open == nil {
				return decided{}, errNoExecution
			}
			if err := p.open(ctx, x); err != nil {
				return decided{}, err
			}
		}
		version := x.version()
		d, err := w.propose(x, p, claimed)
		if x.warm && (err != nil || len(d.Events) == 0) {
			head, headErr := w.Store.Head(ctx, p.stream)
			if headErr != nil {
				return decided{}, headErr
			}
			if head != version {
				load = func() (*execution, error) { return w.load(ctx, p.stream, head) }
				continue
			}
		}
		if err != nil {
			return decided{}, err
		}
		if len(d.Events) == 0 {
			x.state = d.State
			w.keep(x)
			return decided{execution: x}, nil
		}
		found, err := w.revoke(ctx, p.stream, d.Revoke)
		if err != nil {
			return decided{}, err
		}
		if len(found) > 0 {
			if claimed = append(claimed, found...); revocations == maxRevocations {
				return decided{}, ErrContended
			}
			revocations++
			continue
		}
		if p.extend != nil {
			if err := p.extend(x, &d); err != nil {
				return decided{}, err
			}
		}
		err = w.commit(ctx, x, &d, p.causes)
		var conflict *eventstore.ConflictError
		switch {
		case err == nil:
			w.keep(x)
			return decided{x, d}, nil
		case !errors.As(err, &conflict):
			return decided{}, fmt.Errorf("worker: store a decision on %s: %w", p.stream, err)
		}
		conflicts++
	}
	return decided{}, ErrContended
}

// propose makes the decision on a loaded execution.
func (w *Worker) propose(x *execution, p proposal, claimed []workflow.Claimed) (engine.Decision, error) {
	t := engine.NewTurn(x.program, x.state, engine.Env{Now: w.Clock.Now(), Worker: w.Name, By: p.by})
	for _, c := range claimed {
		if err := t.Handle(c); err != nil {
			return engine.Decision{}, err
		}
	}
	if err := p.feed(x, t); err != nil {
		return engine.Decision{}, err
	}
	return t.Decision(), nil
}

// claimKey is where the claim of an attempt stands. The fence tells attempts of a step apart.
func claimKey(s eventstore.Stream, ref workflow.AttemptRef) eventstore.ClaimKey {
	return eventstore.ClaimKey{Stream: s, Attempt: ref.Step, Fence: uint64(ref.Fence)}
}

// revoke takes the claims of attempts that a decision ends before they have started (commit protocol, point 6), and returns
// those that had been claimed: they count as started.
func (w *Worker) revoke(ctx context.Context, s eventstore.Stream, refs []workflow.AttemptRef) ([]workflow.Claimed, error) {
	var found []workflow.Claimed
	for _, ref := range refs {
		now := w.Clock.Now()
		c, err := eventstore.Revoke(ctx, w.Store, claimKey(s, ref), w.Name, now, now+int64(w.Limits.ClaimLife))
		if err != nil {
			return nil, fmt.Errorf("worker: revoke %s of %s: %w", ref.Step, s, err)
		}
		if !c.Revoked() {
			found = append(found, workflow.Claimed{AttemptRef: ref, Worker: c.Worker, StartedAt: c.Started, LeaseUntil: c.Until})
		}
	}
	return found, nil
}
