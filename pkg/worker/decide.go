package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

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
	// open names the program of an execution that has no events yet, or returns errNoExecution; nil: it must have some.
	open func(ctx context.Context, x *execution) error
	// feed hands the inputs to a turn.
	feed func(x *execution, t *engine.Turn) error
	// causes are the messages that the decision comes from, asked for once it is made.
	causes func() []string
	// brings are payloads of others that the inputs refer to, asked for once the decision is made; nil for none.
	brings func() refs
	// extend may add to a decision that has been made, in the same commit; nil for none. If it cannot, the decision is made anew without.
	extend func(x *execution, d *engine.Decision) (added bool, err error)
}

func cause(id string) func() []string { return func() []string { return []string{id} } }

// decided is a proposal as it was stored. Decision is zero if nothing was decided.
type decided struct {
	*execution
	engine.Decision
}

// decide makes a decision and stores it. A *engine.RefusedError or an error of feed is returned as it is. The execution is the caller's, who
// keeps it when nothing reads its state any more.
func (w *Worker) decide(ctx context.Context, p proposal) (decided, error) {
	w.enter(p.stream)
	defer w.leave(p.stream)
	var claimed []workflow.Claimed
	for conflicts, revocations := 0, 0; conflicts <= w.Limits.Conflicts && revocations <= maxRevocations; {
		x, err := w.load(ctx, p.stream, p.floor)
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
		if w.SparseRows && x.state != nil && x.row == nil {
			x.row = w.row(x) // now, for a decision may use the state up
		}
		version := x.version()
		d, err := w.propose(x, p, claimed)
		if err != nil || len(d.Events) == 0 {
			stale, headErr := w.stale(ctx, x, version)
			switch {
			case headErr != nil:
				return decided{}, headErr
			case stale > 0:
				p.floor = stale
				conflicts++
				continue
			case err != nil:
				return decided{}, err
			}
			x.state = d.State
			return decided{execution: x}, nil
		}
		found, err := w.revoke(ctx, p.stream, d.Revoke)
		if err != nil {
			return decided{}, err
		}
		if len(found) > 0 {
			claimed = append(claimed, found...)
			revocations++
			continue
		}
		if p.extend != nil {
			added, err := p.extend(x, &d)
			if err != nil {
				return decided{}, err
			}
			if !added {
				p.extend = nil
				continue
			}
		}
		if p.brings != nil {
			if err := w.hold(ctx, p.stream, p.brings()); err != nil {
				return decided{}, err
			}
		}
		if mutated(DispatchFirst) {
			x.state = d.State
			if err := w.dispatch(ctx, x, d.Commands); err != nil {
				return decided{}, err
			}
			d.Commands = nil
		}
		err = w.commit(ctx, x, &d, p.causes())
		var conflict *eventstore.ConflictError
		switch {
		case err == nil:
			w.tellAborted(ctx, p.stream, d.Abort)
			return decided{x, d}, nil
		case !errors.As(err, &conflict):
			return decided{}, fmt.Errorf("worker: store a decision on %s: %w", p.stream, err)
		}
		conflicts++
	}
	return decided{}, ErrContended
}

// stale looks whether a state from memory is still the newest, for whoever concludes from it that nothing is to be done: an older state that
// decides something wrongly meets a conflict, one that decides nothing would go unnoticed. It returns the newer version, or 0.
func (w *Worker) stale(ctx context.Context, x *execution, version uint64) (uint64, error) {
	if !x.warm || mutated(TrustStale) {
		return 0, nil
	}
	head, err := w.Store.Head(ctx, x.stream)
	if err != nil {
		return 0, fmt.Errorf("worker: load %s: %w", x.stream, err)
	}
	if head == version {
		return 0, nil
	}
	return head, nil
}

// propose makes the decision on a loaded execution.
func (w *Worker) propose(x *execution, p proposal, claimed []workflow.Claimed) (engine.Decision, error) {
	t := engine.NewTurn(x.program, x.state, w.env(w.Clock.Now(), p.by))
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

// env is what a decision knows of its moment.
func (w *Worker) env(now int64, by string) engine.Env {
	return engine.Env{Now: now, Worker: w.Name, By: by, Misfit: w.schemas.Misfit, Memory: w.memoryOf}
}

// claimKey is where the claim of an attempt stands. The fence tells attempts of a step apart.
func claimKey(s eventstore.Stream, ref workflow.AttemptRef) eventstore.ClaimKey {
	return eventstore.ClaimKey{Stream: s, Attempt: ref.Step, Fence: uint64(ref.Fence)}
}

// revoke takes the claims of attempts that a decision ends before they have started (commit protocol, point 6), and returns
// those that had been claimed: they count as started.
func (w *Worker) revoke(ctx context.Context, s eventstore.Stream, refs []workflow.AttemptRef) ([]workflow.Claimed, error) {
	if mutated(NotRevoked) {
		return nil, nil
	}
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
