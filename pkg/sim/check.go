package sim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

// check looks at everything once it is quiet.
func (w *world) check() {
	for _, l := range w.sorted() {
		if l.state == nil {
			continue
		}
		if !l.state.Status.Terminal() {
			if w.config.Unswept && w.report.Unguarded > 0 {
				continue
			}
			w.violation("%s (%s): still %s at version %d, with nothing to move it: %s", l.stream.ID, l.scenario, l.state.Status, l.state.Version, w.owed(l))
			continue
		}
		w.report.Outcomes[worker.Outcome(l.state)]++
		w.checkHistory(l)
		w.checkPayloads(l)
	}
	for i, r := range w.runs {
		if !r.over(w) {
			if r.asked && w.config.Unswept && w.report.Unguarded > 0 {
				continue
			}
			w.violation("run %d (%s) never started", i, r.scenario.Name)
			continue
		}
		l := w.ledgers[r.stream]
		if got := worker.Outcome(l.state); l.state.Status.Terminal() && len(r.scenario.Outcomes) > 0 && !slices.Contains(r.scenario.Outcomes, got) {
			w.violation("%s (%s): its outcome is %q: %v", r.stream.ID, r.scenario.Name, got, l.state.Error)
		}
	}
	if !w.config.Unswept && w.config.Bug != NoSweep {
		for _, r := range w.dueRows() {
			if w.ended(r.Stream) {
				w.violation("%s: it has ended, and the sweep still looks at it: %s", r.Stream.ID, w.owed(w.ledger(r.Stream)))
			}
		}
	}
	w.checkLetters()
}

// refusable are the inputs from outside that may come at the wrong time.
var refusable = []string{"refused.TaskDecision", "refused.ExternalEvent", "refused.OperatorMove"}

// checkLetters looks at what was refused: nothing that the worker sends itself.
func (w *world) checkLetters() {
	letters, _, err := w.store.DeadLetters(background(), tenant, eventstore.Page{Limit: eventstore.MaxPage})
	if err != nil {
		w.violation("dead letters: %v", err)
	}
	for _, d := range letters {
		if !slices.Contains(refusable, d.Code) {
			w.violation("%s: dead letter %s: %s", d.Execution, d.Code, d.Cause)
		}
	}
}

// checkHistory reads the history from the store as another worker would: whole, chained, and folding to the same state.
func (w *world) checkHistory(l *ledger) {
	proof, err := eventstore.Verify(background(), w.store, l.stream)
	if err != nil {
		w.violation("%s: %v", l.stream.ID, err)
		return
	}
	if proof.Last != l.last {
		w.violation("%s: the history ends at %d, but %d was committed", l.stream.ID, proof.Last, l.last)
	}
	replayed, err := engine.Replay(l.program, nil, slices.Clone(l.events))
	if err != nil {
		w.violation("%s: replay: %v", l.stream.ID, err)
		return
	}
	tail, err := w.fromTail(l)
	if err != nil {
		w.violation("%s: load: %v", l.stream.ID, err)
		return
	}
	a, errA := codec.EncodeState(replayed)
	b, errB := codec.EncodeState(tail)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		w.violation("%s: the state from the last checkpoint is not that from the start", l.stream.ID)
	}
}

// fromTail folds what a worker loads: the last checkpoint and what follows.
func (w *world) fromTail(l *ledger) (*workflow.State, error) {
	commits, err := w.store.Tail(background(), l.stream)
	if err != nil {
		return nil, err
	}
	var state *workflow.State
	for i, c := range commits {
		b, err := codec.Decode(c.Data)
		if err != nil {
			return nil, err
		}
		if i == 0 && c.Checkpoint == c.First {
			if state, err = w.checkpoint(b); err != nil {
				return nil, err
			}
			continue
		}
		if state, err = engine.Replay(l.program, state, b.Recorded(c.First)); err != nil {
			return nil, err
		}
	}
	return state, nil
}

// checkpoint is the state that a commit carries or refers to.
func (w *world) checkpoint(b *codec.Batch) (*workflow.State, error) {
	if b.StateRef == "" {
		return b.State, nil
	}
	ref, err := eventstore.ParseRef(b.StateRef)
	if err != nil {
		return nil, err
	}
	r, err := w.payloads.Open(background(), tenant, ref)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	return codec.DecodeState(data)
}

func (w *world) owed(l *ledger) string {
	var out []string
	for _, c := range engine.Outstanding(l.program, l.state) {
		out = append(out, fmt.Sprintf("%s %+v", c.CommandType(), c))
	}
	return strings.Join(out, "; ")
}

func (w *world) sorted() []*ledger {
	out := make([]*ledger, 0, len(w.ledgers))
	for _, l := range w.ledgers { // order-free: sorted below
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b *ledger) int { return strings.Compare(a.stream.ID, b.stream.ID) })
	return out
}
