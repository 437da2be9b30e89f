package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

// ledger is what the checkers know of one execution: its events as they were stored, and what its activities did.
type ledger struct {
	scenario  string
	hangs     bool
	stream    eventstore.Stream
	program   *engine.Program
	state     *workflow.State
	events    []workflow.Recorded
	last      uint64
	completed map[string]completion // by step
	undone    map[string]bool       // shards that are undone
	undoing   map[string]string     // by step, the shard whose undoing was asked for last
	fences    map[string]int        // the newest, by step
	effects   map[exclusive]int
	// never are the schedulings that ended without a start, ran those whose activity ran.
	never, ran map[scheduling]bool
	// tookIDs are the events that waits took; tookUpTo, the last number of each topic.
	tookIDs  map[string]bool
	tookUpTo map[workflow.EventCursor]uint64
	// cancelled is set once a queue was told that a cancel of this child is done with.
	cancelled bool
}

// exclusive names runs of an activity of which there may be one.
type exclusive struct {
	step           string
	attempt, fence int
}

// scheduling is one scheduling of a step.
type scheduling struct {
	step  string
	fence int
}

// completion is when a step's result was committed.
type completion struct {
	version uint64
	at      int64
}

func (w *world) ledger(s eventstore.Stream) *ledger {
	l := w.ledgers[s]
	if l == nil {
		l = &ledger{stream: s, completed: map[string]completion{}, undone: map[string]bool{}, undoing: map[string]string{}, fences: map[string]int{}, effects: map[exclusive]int{}, never: map[scheduling]bool{}, ran: map[scheduling]bool{},
			tookIDs: map[string]bool{}, tookUpTo: map[workflow.EventCursor]uint64{}}
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
	w.punctual(l)
	if r := w.running; r != nil && r.guarded != nil && !r.guarded() && !w.config.bug(AcknowledgeFirst) {
		w.note("%s: a commit whose message is gone", s.ID)
		w.report.Unguarded++
	}
	b, err := codec.Decode(c.Data)
	if err != nil {
		w.violation("%s: commit %d cannot be read: %v", s.ID, c.First, err)
		return
	}
	if w.config.Trace != nil {
		text, err := codec.JSON{}.Encode(&codec.Batch{Worker: b.Worker, Causes: b.Causes, Events: b.Events})
		w.note("%s: commit %d to %d: %s %v", s.ID, c.First, c.Last, text, err)
	}
	for _, r := range b.Recorded(c.First) {
		w.happened(l, r)
	}
	if !w.config.Derived {
		w.listed(l)
	}
	if l.cancelled && c.First == 1 && !l.state.Status.Terminal() {
		w.violation("%s: started, though its cancel was acknowledged", s.ID)
	}
}

// listed holds the row of an execution against its state: what a commit without a row left out must say nothing new (commit protocol, point 13).
func (w *world) listed(l *ledger) {
	row, err := w.store.Row(background(), l.stream)
	if err != nil {
		w.violation("%s: no row at %d: %v", l.stream.ID, l.last, err)
		return
	}
	wake, ended := int64(0), l.state.Status.Terminal()
	if !ended {
		wake, _ = engine.Due(l.program, l.state)
	}
	if row.Status != l.state.Status.String() || row.Outcome != worker.Outcome(l.state) || row.Open == ended || row.Wake != wake {
		w.violation("%s: at %d its row of %d says %s %q, wake %d, and the state %s %q, wake %d", l.stream.ID, l.last, row.Version, row.Status, row.Outcome, row.Wake,
			l.state.Status, worker.Outcome(l.state), wake)
	}
	if !row.Open || row.Repairs > 0 || row.Revision > 0 {
		return // the sweep had it
	}
	dispatch := int64(worker.DefaultLimits().Dispatch)
	if latest := l.state.At + dispatch + int64(lease); row.Status != waiting && row.Due > latest {
		w.violation("%s: at %d its row of %d lets the sweep come %v late to what is under way", l.stream.ID, l.last, row.Version, time.Duration(row.Due-latest))
	}
	if latest := row.Wake + dispatch; row.Wake > 0 && row.Due > latest {
		w.violation("%s: at %d its row of %d lets the sweep come %v late to its wake", l.stream.ID, l.last, row.Version, time.Duration(row.Due-latest))
	}
}

var waiting = fsm.WorkflowStateWaiting().String()

// late is by how much a deadline may be missed: faults included, a sweep included.
const late = 30 * time.Minute

// punctual looks at the deadline that an execution had up to now.
func (w *world) punctual(l *ledger) {
	if l.state == nil {
		return
	}
	if due, ok := engine.Due(l.program, l.state); ok && due < w.now-int64(late) {
		w.violation("%s: a deadline is %v late", l.stream.ID, time.Duration(w.now-due).Round(time.Second))
	}
}

func (w *world) happened(l *ledger, r workflow.Recorded) {
	_, undo := r.Event.(workflow.CompensationStarted) // the one way out of Failed, in the commit that fails
	if l.state != nil && l.state.Status.Terminal() && !undo {
		w.violation("%s: %s at %d, after its end", l.stream.ID, r.Event.Type(), r.Version)
		return
	}
	switch e := r.Event.(type) {
	case workflow.WorkflowCreated:
		program, err := w.programs.Load(background(), tenant, e.Workflow, number(e.Definition))
		if err != nil {
			w.violation("%s: %v", l.stream.ID, err)
			return
		}
		l.program, l.hangs = program, w.hangs(e.Workflow)
	case workflow.ActivityScheduled:
		l.fences[e.Step] = e.Fence
	case workflow.ActivityStarted:
		w.walked(l, e)
	case workflow.ActivityCompleted:
		w.stepCompleted(l, r.Version, e)
		if shard := l.undoing[e.Step]; shard != "" {
			l.undone[shard] = true
		}
	case workflow.ChildRequested:
		if e.Undo != "" {
			// The shards of a foreach are undone one by one under one name; each is a child of its own, and that is what must end once.
			delete(l.completed, e.Step)
			if l.undone[e.Undo] {
				w.violation("%s: shard %s is undone twice", l.stream.ID, e.Undo)
			}
			l.undoing[e.Step] = e.Undo
		}
	case workflow.EventReceived:
		if e.Step != "" {
			w.took(l, e.Event.ID)
			w.tookNumber(l, e.Event)
		}
	case workflow.EventTaken:
		w.took(l, e.ID)
	case workflow.LeaseExpired:
		w.leaseExpired(l, e)
	}
	l.events = append(l.events, r)
	state, err := engine.Apply(l.program, l.state, r)
	if err != nil {
		w.violation("%s: event %d (%s) does not follow: %v", l.stream.ID, r.Version, r.Event.Type(), err)
		return
	}
	l.state = state
}

// hangs reports whether workers of a workflow fall silent by themselves.
func (w *world) hangs(workflow string) bool {
	for _, s := range w.config.Scenarios {
		if s.Name == workflow {
			return s.Hangs
		}
	}
	return false
}

// walked looks at an attempt that ends before anybody started it: nobody has run it, and nobody will.
func (w *world) walked(l *ledger, e workflow.ActivityStarted) {
	if !e.Walked {
		return
	}
	which := scheduling{e.Step, e.Fence}
	l.never[which] = true
	if l.ran[which] {
		w.violation("%s: %s fence %d ends as never started, but it ran", l.stream.ID, e.Step, e.Fence)
	}
}

// stepCompleted looks at a result: the only one of its step, and that of the attempt that counts.
func (w *world) stepCompleted(l *ledger, version uint64, e workflow.ActivityCompleted) {
	if end, twice := l.completed[e.Step]; twice {
		w.violation("%s: step %s completed at %d and again at %d", l.stream.ID, e.Step, end.version, version)
	}
	l.completed[e.Step] = completion{version, w.now}
	var result struct {
		Fence int    `json:"fence"`
		Step  string `json:"step"`
	}
	if e.Taken || json.Unmarshal(e.Output.JSON, &result) != nil || result.Fence == 0 || result.Step != e.Step {
		return // not what a function of the simulation returned for this step
	}
	if fence := l.fences[e.Step]; result.Fence != fence {
		w.violation("%s: step %s has the result of fence %d, when fence %d had taken over", l.stream.ID, e.Step, result.Fence, fence)
	}
}

// took looks at an event that ended a wait: no other wait of the execution has had it.
func (w *world) took(l *ledger, id string) {
	id, _, _ = strings.Cut(id, "#") // a mutant makes several of one
	if l.tookIDs[id] {
		w.violation("%s: event %s was taken twice", l.stream.ID, id)
	}
	l.tookIDs[id] = true
}

// tookNumber looks at the order of the events of a topic.
func (w *world) tookNumber(l *ledger, e workflow.EarlyEvent) {
	topic, number := workflow.EventCursor{Kind: e.Kind, Key: e.Key}, e.Number
	if e.KindNumber > 0 {
		topic, number = workflow.EventCursor{Kind: e.Kind, AnyKey: true}, e.KindNumber
	}
	if number == 0 {
		return // a signal
	}
	if number <= l.tookUpTo[topic] {
		w.violation("%s: event %d of %s/%s was taken after %d", l.stream.ID, number, e.Kind, e.Key, l.tookUpTo[topic])
	}
	l.tookUpTo[topic] = number
}

// leaseExpired looks at an attempt that was given up: nobody was lost where nobody can be, and no result of it was known to the queue when
// the one who gave it up began.
func (w *world) leaseExpired(l *ledger, e workflow.LeaseExpired) {
	if w.config.Rates.calm() && !l.hangs {
		w.violation("%s: the lease of %s fence %d expired, though no worker was ever lost", l.stream.ID, e.Step, e.Fence)
	}
	if w.running == nil {
		return // a write that landed late
	}
	for _, m := range w.group(l.stream).letters {
		switch in := m.Input.(type) {
		case workflow.LeaseExpiry:
			if in.Step == e.Step && in.Fence == e.Fence {
				return // it came first
			}
		case workflow.ActivityResult:
			if in.Step == e.Step && in.Fence == e.Fence && m.at < w.running.began {
				w.violation("%s: the lease of %s fence %d expired, though its result was in the inbox", l.stream.ID, e.Step, e.Fence)
			}
		}
	}
}

// effect looks at each effect of an activity: none by a receive that began after the step's result was committed. (One that began before may have
// slept since, and nobody can stop it any more.) No attempt runs twice under one fence, but for those that say it does no harm.
func (w *world) effect(s eventstore.Stream, e effect) {
	w.report.Activities++
	l := w.ledger(s)
	w.note("%s: effect of %s, attempt %d, fence %d", s.ID, e.step, e.attempt, e.fence)
	if e.key != s.ID+"/"+e.step {
		w.violation("%s: %s has the idempotency key %q", s.ID, e.step, e.key)
	}
	if e.function == oftenFunction {
		return
	}
	if end, over := l.completed[e.step]; over && w.running.began > end.at {
		w.violation("%s: %s runs again, though its result was committed at %d", s.ID, e.step, end.version)
	}
	now := scheduling{e.step, e.fence}
	l.ran[now] = true
	if l.never[now] {
		w.violation("%s: %s fence %d runs, though it ended as never started", s.ID, e.step, e.fence)
	}
	which := exclusive{step: e.step, fence: e.fence}
	if e.function == onceFunction { // a recovery has the next fence, but is the same attempt
		which = exclusive{step: e.step, attempt: e.attempt}
	}
	if l.effects[which]++; l.effects[which] > 1 {
		w.violation("%s: %s attempt %d runs a second time under fence %d", s.ID, e.step, e.attempt, e.fence)
	}
}

// failed looks at why a message comes back: never for a panic.
func (w *world) failed(s eventstore.Stream, err error) {
	var p *worker.PanicError
	if errors.As(err, &p) {
		w.violation("%s: %v\n%s", s.ID, p, p.Stack)
	}
	if err != nil {
		w.note("%s: comes back: %v", s.ID, err)
	}
}

// answered notes what a queue was told to forget.
func (w *world) answered(s eventstore.Stream, m worker.Message) {
	if c, ok := m.Input.(workflow.Cancel); ok && c.Start != nil {
		w.ledger(s).cancelled = true
	}
}

// heard compares the state that a worker has after a commit with the fold of what is stored.
func (w *world) heard(s eventstore.Stream, events []workflow.Recorded, state *workflow.State) {
	l := w.ledger(s)
	if last := events[len(events)-1].Version; l.last != last || !state.Status.Terminal() && !w.chance(8) {
		return // others have written since
	}
	live, err := codec.EncodeState(state)
	if err == nil {
		var folded []byte
		if folded, err = codec.EncodeState(l.state); err == nil && !bytes.Equal(live, folded) {
			w.violation("%s: at version %d the worker's state is not the fold of the history", s.ID, l.last)
		}
	}
	if err != nil {
		w.violation("%s: the state at %d cannot be encoded: %v", s.ID, l.last, err)
	}
}

// number is the version of a definition, 0 if it is none.
func number(definition string) uint64 {
	n, err := strconv.ParseUint(definition, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// events are those of an execution, without their frame.
func events(l *ledger) []workflow.Event {
	out := make([]workflow.Event, len(l.events))
	for i := range l.events {
		out[i] = l.events[i].Event
	}
	return out
}
