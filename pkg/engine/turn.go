package engine

import (
	"fmt"
	"strings"

	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Env is what the shell knows of the moment of a decision.
type Env struct {
	// Now is the shell's time in nanoseconds since 1970 UTC. It never goes back within an execution: events get the
	// later of this and the time of the last event.
	Now int64
	// Worker is the ID of the worker that will commit.
	Worker string
	// By is the message under whose guard the commit is made (commit protocol, point 4); empty for none.
	By string
	// Misfit says how a value breaks a JSON Schema, in words for people, or "" if it satisfies it; a pure function, nil accepts
	// everything. It is the shell's because the core stands without a library for schemas.
	Misfit func(schema, value workflow.Value) string
	// Memory is how many bytes the workers have that run an activity, by its kind and name; 0: more than any asks for. Nil: 0 for all.
	Memory func(kind, name string) int64
}

// Decision is what inputs led to. Events must be durable before any command is carried out; before the events are
// stored, the claims of the attempts in Revoke must be.
type Decision struct {
	Events []workflow.Recorded
	// Commands is the work these events ask for, a part of Outstanding(State).
	Commands []workflow.Command
	// State is the state after the events.
	State *workflow.State
	// Revoke lists attempts that these events end although they may have been claimed: the shell puts their claim
	// itself, owner "revoked", first. If it finds a claim, it gives this decision up and hands in Claimed.
	Revoke []workflow.AttemptRef
	// Abort lists attempts that run and whose result will not be wanted any more: a hint to their workers.
	Abort []workflow.AttemptRef
	// More says that a bound left something undone: a SendContinue is among the commands.
	More bool
}

// RefusedError says that an input can never be right: it belongs into the dead-letter queue. What is merely late
// or double is no error; it decides nothing.
type RefusedError struct {
	// Input is the type of the input.
	Input string
	// Reason says what is wrong and the way out.
	Reason string
}

// Error names the input and the reason.
func (e *RefusedError) Error() string { return "engine: " + e.Input + " refused: " + e.Reason }

func refuse(in workflow.Input, format string, args ...any) error {
	return &RefusedError{Input: in.InputType(), Reason: fmt.Sprintf(format, args...)}
}

// bounded refuses an input that brings more than stands in a history as one value: no commit would take it.
func bounded(in workflow.Input, what string, p workflow.Payload) error {
	if n := weighPayload(p); n > MaxValue {
		return refuse(in, "%s has %d bytes, more than %d: pass large data by reference", what, n, MaxValue)
	}
	return nil
}

// Turn makes one decision from one or more inputs. It is for one goroutine and one decision.
type Turn struct {
	fold
	env      Env
	now      int64
	events   []workflow.Recorded
	bytes    int
	full     bool // a bound was reached
	asked    []inst
	commands int
	revoke   []workflow.AttemptRef
	abort    []workflow.AttemptRef
	todo     agenda
	dueWas   int64
	// Room for a usual decision, so that it takes one allocation.
	tasks   [8]task
	answer  [1]inst
	closing []workflow.ChildLink // before this decision
}

// NewTurn begins a decision on a state, nil for an execution that does not exist yet. The state is consumed: only the
// decision's may be used afterwards.
func NewTurn(p *Program, s *workflow.State, env Env) *Turn {
	t := &Turn{env: env}
	t.init(p, s)
	t.events, t.asked, t.todo.tasks = make([]workflow.Recorded, 0, 8), t.answer[:0], t.tasks[:0]
	t.agenda = &t.todo
	t.now = max(env.Now, t.s.At)
	t.dueWas, _ = dueOf(t.s)
	t.closing = append(t.closing, t.s.Closing...)
	if t.s.More {
		t.rescan()
	}
	return t
}

// Decide is a turn of one input.
func Decide(p *Program, s *workflow.State, in workflow.Input, env Env) (Decision, error) {
	t := NewTurn(p, s, env)
	err := t.Handle(in)
	return t.Decision(), err
}

// Handle decides on an input. It may be called again: one commit then holds what all of them led to. With a
// *RefusedError nothing has changed.
func (t *Turn) Handle(in workflow.Input) error {
	if t.s.Version == 0 {
		return t.handleFirst(in)
	}
	if t.s.Status.Terminal() {
		return t.handleLate(in)
	}
	if err := t.handle(in); err != nil {
		return err
	}
	t.run()
	return nil
}

// Full reports whether the decision has reached its bounds: further inputs belong into the next one.
func (t *Turn) Full() bool { return t.full || t.bytes >= MaxEventBytes/2 }

func (t *Turn) handle(in workflow.Input) error {
	switch in := in.(type) {
	case workflow.Start, workflow.Continue:
		return nil // done, or done by run
	case workflow.ActivityResult:
		return t.onResult(in)
	case workflow.Begin:
		return t.onBegin(in)
	case workflow.Claimed:
		return t.onClaimed(in)
	case workflow.RevokedFound:
		return t.onRevoked(in)
	case workflow.LeaseExpiry:
		return t.onLeaseExpiry(in)
	case workflow.Tick:
		return t.onTick()
	case workflow.ExternalEvent:
		return t.onEvent(in)
	case workflow.TaskDecision:
		return t.onTaskDecision(in)
	case workflow.ChildBegun:
		return t.onChildBegun(in)
	case workflow.ChildEnd:
		return t.onChildEnd(in)
	case workflow.Cancel:
		return t.onCancel(in)
	case workflow.OperatorMove:
		return t.onMove(in)
	}
	return refuse(in, "this program does not know it")
}

// handleFirst takes the first input of an execution.
func (t *Turn) handleFirst(in workflow.Input) error {
	switch in := in.(type) {
	case workflow.Start:
		if err := t.start(in); err != nil {
			return err
		}
		t.run()
		return nil
	case workflow.Cancel:
		if in.Start != nil {
			return t.startCancelled(in)
		}
	case workflow.Tick, workflow.Continue:
		return nil
	}
	return refuse(in, "there is no such execution")
}

// handleLate takes an input for an execution that has ended. Nothing changes it any more.
func (t *Turn) handleLate(in workflow.Input) error {
	id := ""
	switch in := in.(type) {
	case workflow.ExternalEvent:
		if in.Number > 0 || in.KindNumber > 0 {
			return nil // a hint
		}
		id = in.ID
	case workflow.TaskDecision:
		id = in.ID
	case workflow.OperatorMove:
		id = in.ID
	default:
		return nil
	}
	if t.seen(id) {
		return nil
	}
	return refuse(in, "the execution has ended: it is %s", strings.ToLower(t.s.Status.String()))
}

// run looks at what is enabled until nothing is, or a bound is reached.
func (t *Turn) run() {
	for !t.full {
		if next, ok := t.todo.pop(); ok {
			t.look(next)
			continue
		}
		if t.dispatchReady() {
			continue
		}
		if !t.conclude() {
			return
		}
	}
}

// look takes one task of the agenda.
func (t *Turn) look(k task) {
	switch k.op {
	case opConsider:
		t.consider(k.frame, k.node)
	case opDispatch:
		t.dispatch(t.child(k.frame, k.node))
	case opAdvance:
		in := t.child(k.frame, k.node)
		t.advance(in)
	case opFrame:
		if in, ok := t.container(k.frame); ok && !k.frame.Closed {
			t.advance(in)
		}
	}
}

// advance looks how far a step has come that consists of others.
func (t *Turn) advance(in inst) {
	if in.open() != nil && in.step.State == fsm.ActivityStateRunning() && in.node.kind.advance != nil {
		in.node.kind.advance(t, in)
	}
}

// emit records an event and makes it part of the state.
func (t *Turn) emit(e workflow.Event) {
	if w := t.env.Worker; w != "" && t.s.Owner != w && t.s.Version > 0 {
		from := t.s.Owner
		t.record(workflow.OwnershipChanged{From: from, To: w})
	}
	t.record(e)
}

func (t *Turn) record(e workflow.Event) {
	r := workflow.Recorded{Version: t.s.Version + 1, At: t.now, Event: e}
	if err := t.apply(&r); err != nil {
		panic("engine: a decision that its own state machine refuses: " + err.Error())
	}
	t.events = append(t.events, r)
	t.bytes += weigh(e)
}

// move records a transition of a step, for which the workflow must be running (WF-006 §15).
func (t *Turn) move(e workflow.Event) {
	if t.s.Status == fsm.WorkflowStateWaiting() {
		t.emit(workflow.WorkflowResumed{})
		t.emit(workflow.WorkflowContinued{})
	}
	t.emit(e)
}

// slack is room for the events that a decision ends with, and for what one task emits beside its values.
const slack = 4 << 10

// fits reports whether events with values of so many bytes may still go into this decision. The first may always.
func (t *Turn) fits(bytes int) bool {
	if t.bytes > 0 && t.bytes+bytes > MaxEventBytes-slack || t.commands >= MaxCommands {
		t.full = true
	}
	return !t.full
}

// Decision closes the turn.
func (t *Turn) Decision() Decision {
	t.settle()
	if t.full && len(t.events) > 0 {
		t.record(workflow.BoundReached{})
	}
	d := Decision{Events: t.events, State: t.s, Revoke: t.revoke, Abort: t.abort, More: t.s.More}
	if len(t.events) > 0 {
		d.Commands = t.demands()
	}
	t.todo = agenda{}
	t.agenda = nil
	return d
}

// misfit says how data breaks a schema; "" if it does not. Data kept by reference is not looked into.
func (t *Turn) misfit(schema workflow.Value, data workflow.Payload) string {
	if len(schema) == 0 || t.env.Misfit == nil || len(data.Holes) > 0 {
		return ""
	}
	return t.env.Misfit(schema, orNull(data).JSON)
}

// settle lets the workflow wait if nothing moves any more.
func (t *Turn) settle() {
	if t.full || t.s.Status != fsm.WorkflowStateRunning() || t.d.working > 0 || len(t.events) == 0 {
		return
	}
	t.emit(workflow.WorkflowPaused{Reasons: t.d.reasons()})
}
