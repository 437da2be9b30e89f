package sim

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

// ledger is what the checkers know of one execution: its events as they were stored, and what its activities did.
type ledger struct {
	stream    eventstore.Stream
	program   *engine.Program
	state     *workflow.State
	events    []workflow.Recorded
	last      uint64
	completed map[string]completion // by step
	effects   []effect
}

// completion is when a step's result was committed.
type completion struct {
	version uint64
	at      int64
}

func (w *world) ledger(s eventstore.Stream) *ledger {
	l := w.ledgers[s]
	if l == nil {
		l = &ledger{stream: s, completed: map[string]completion{}}
		w.ledgers[s] = l
	}
	return l
}

// committed looks at each commit as it is stored: one a version, without gaps, none after the end, no step completed twice.
func (w *world) committed(s eventstore.Stream, c eventstore.Commit) {
	l := w.ledger(s)
	if c.First <= l.last {
		return // the same commit again: the store says so itself
	}
	w.report.Commits++
	if c.First != l.last+1 {
		w.violation("%s: commit %d after %d: a gap", s.ID, c.First, l.last)
	}
	l.last = c.Last
	b, err := codec.Decode(c.Data)
	if err != nil {
		w.violation("%s: commit %d cannot be read: %v", s.ID, c.First, err)
		return
	}
	for _, r := range b.Recorded(c.First) {
		w.happened(l, r)
	}
	if w.config.Trace != nil {
		text, err := codec.JSON{}.Encode(&codec.Batch{Worker: b.Worker, Events: b.Events})
		w.note("%s: commit %d to %d: %s %v", s.ID, c.First, c.Last, text, err)
	}
}

func (w *world) happened(l *ledger, r workflow.Recorded) {
	_, undo := r.Event.(workflow.CompensationStarted) // the one way out of Failed, in the commit that fails
	if l.state != nil && l.state.Status.Terminal() && !undo {
		w.violation("%s: %s at %d, after its end", l.stream.ID, r.Event.Type(), r.Version)
		return
	}
	if created, ok := r.Event.(workflow.WorkflowCreated); ok {
		program, err := w.programs.Load(background(), tenant, created.Workflow, 1)
		if err != nil {
			w.violation("%s: %v", l.stream.ID, err)
			return
		}
		l.program = program
	}
	if completed, ok := r.Event.(workflow.ActivityCompleted); ok {
		if end, twice := l.completed[completed.Step]; twice {
			w.violation("%s: step %s completed at %d and again at %d", l.stream.ID, completed.Step, end.version, r.Version)
		}
		l.completed[completed.Step] = completion{r.Version, w.now}
	}
	l.events = append(l.events, r)
	state, err := engine.Apply(l.program, l.state, r)
	if err != nil {
		w.violation("%s: event %d (%s) does not follow: %v", l.stream.ID, r.Version, r.Event.Type(), err)
		return
	}
	l.state = state
}

// effect looks at each effect of an activity: none by a receive that began after the step's result was committed. (One that began before may have
// slept since, and nobody can stop it any more.)
func (w *world) effect(s eventstore.Stream, e effect) {
	w.report.Activities++
	l := w.ledger(s)
	l.effects = append(l.effects, e)
	if end, over := l.completed[e.step]; over && w.running.began > end.at {
		w.violation("%s: %s runs again, though its result was committed at %d", s.ID, e.step, end.version)
	}
	if e.key != s.ID+"/"+e.step {
		w.violation("%s: %s has the idempotency key %q", s.ID, e.step, e.key)
	}
	w.note("%s: effect of %s, attempt %d", s.ID, e.step, e.attempt)
}

// check looks at everything once it is quiet.
func (w *world) check() {
	for _, l := range w.sorted() {
		if l.state == nil {
			continue
		}
		if !l.state.Status.Terminal() {
			w.violation("%s: still %s at version %d, with nothing to move it: %s", l.stream.ID, l.state.Status, l.state.Version, w.owed(l))
		}
		w.checkHistory(l)
	}
	for i, r := range w.runs {
		if !r.asked {
			w.violation("run %d (%s) never started", i, r.scenario.Name)
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
		if i == 0 && b.State != nil {
			state = b.State
			continue
		}
		if state, err = engine.Replay(l.program, state, b.Recorded(c.First)); err != nil {
			return nil, err
		}
	}
	return state, nil
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
