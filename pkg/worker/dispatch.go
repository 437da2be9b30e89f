package worker

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Names of notices that a terminal execution owes (eventstore.Notices).
const (
	noticeParent = "parent"
	noticeNext   = "next"
)

// dispatch carries out commands after their commit. Each may be carried out twice.
func (w *Worker) dispatch(ctx context.Context, x *execution, commands []workflow.Command) error {
	return w.carryOut(ctx, x, commands, false)
}

// carryOut is dispatch. With again, nothing is left out because this worker has done it before.
func (w *Worker) carryOut(ctx context.Context, x *execution, commands []workflow.Command, again bool) error {
	out := outbox{w: w, x: x, again: again}
	for _, c := range commands {
		if err := out.add(ctx, c); err != nil {
			return fmt.Errorf("worker: %s of %s: %w", c.CommandType(), x.stream, err)
		}
	}
	return out.flush(ctx)
}

// outbox gathers what can be sent together.
type outbox struct {
	w        *Worker
	x        *execution
	again    bool
	messages []Message
	tasks    []Task
}

func (o *outbox) add(ctx context.Context, c workflow.Command) error {
	w, x := o.w, o.x
	switch c := c.(type) {
	case workflow.RunActivity:
		if !c.Running {
			o.tasks = append(o.tasks, w.task(x, c))
		}
	case workflow.WakeAt:
		return o.arm(ctx, c)
	case workflow.SendContinue:
		if mutated(ForgetContinue) {
			return nil
		}
		o.send(x.stream, x.version(), workflow.Continue{})
	case workflow.StartChild:
		return o.startChild(ctx, c)
	case workflow.CancelChild:
		return o.cancelChild(ctx, c)
	case workflow.AwaitEvent:
		return o.subscribe(ctx, c)
	case workflow.NotifyParent:
		return o.notify(ctx, c)
	case workflow.StartNext:
		return o.startNext(ctx, c)
	case workflow.AwaitTask, workflow.AwaitCallback, workflow.AwaitOperator:
		// They show in the state: whoever lists tasks reads it there.
	}
	return nil
}

// arm arms a timer, unless one that is early enough is armed: whoever is woken arms the next.
func (o *outbox) arm(ctx context.Context, c workflow.WakeAt) error {
	x := o.x
	if !o.again && x.armed > o.w.Clock.Now() && x.armed <= c.At {
		return nil
	}
	err := o.w.Timers.Arm(ctx, x.stream, c.At, c.Coarse)
	if err == nil {
		x.armed = c.At
	}
	return err
}

func (o *outbox) send(to eventstore.Stream, floor uint64, in workflow.Input) {
	o.messages = append(o.messages, Message{ID: o.w.Entropy.ID(), Stream: to, Floor: floor, Input: in})
}

func (o *outbox) flush(ctx context.Context) error {
	if len(o.tasks) > 0 {
		for i := range o.tasks {
			o.tasks[i].Beside = len(o.tasks) - 1
		}
		if err := o.w.Tasks.Send(ctx, o.tasks...); err != nil {
			return fmt.Errorf("worker: send tasks of %s: %w", o.x.stream, err)
		}
	}
	if len(o.messages) > 0 {
		if err := o.w.Inbox.Send(ctx, o.messages...); err != nil {
			return fmt.Errorf("worker: send messages of %s: %w", o.x.stream, err)
		}
	}
	return nil
}

// maxCarried is the most bytes of an attempt's input that go with its task, so that queues stay small.
const maxCarried = 4 << 10

// task makes a fresh message for an attempt. A class of the user's own gets the whole command: it may not read the history.
func (w *Worker) task(x *execution, c workflow.RunActivity) Task {
	t := Task{ID: w.Entropy.ID(), Stream: x.stream, Floor: x.version(), AttemptRef: c.AttemptRef, Class: w.classOf(string(c.Kind), c.Name)}
	if t.Class != DefaultClass || len(c.Target.JSON)+len(c.Input.JSON) <= maxCarried {
		t.Command = &c
	}
	return t
}

// resend carries out again what a message may have asked for when it was handled before: attempts under its guard, and
// what is not tied to a message at all (commit protocol, point 4).
func (w *Worker) resend(ctx context.Context, x *execution, message string) error {
	if x.state == nil || mutated(NoResend) {
		return nil
	}
	return w.carryOut(ctx, x, engine.OutstandingBy(x.program, x.state, message), true)
}

// startChild starts a child. One that can never start ends at once, for its parent to hear why.
func (o *outbox) startChild(ctx context.Context, c workflow.StartChild) error {
	start, err := o.w.childStart(ctx, o.x, c)
	var never *workflow.Error
	if errors.As(err, &never) {
		o.send(o.x.stream, 0, workflow.ChildEnd{Step: c.Step, Child: c.Child, Outcome: workflow.OutcomeFailed, Error: never})
		return nil
	}
	if err != nil {
		return err
	}
	start.Origin.Chain = o.x.state.Origin.Chain
	o.send(eventstore.Stream{Tenant: c.Tenant, ID: c.Child}, 0, start)
	if c.Notify {
		o.send(o.x.stream, 0, workflow.ChildBegun{Step: c.Step, Child: c.Child})
	}
	return nil
}

// childStart is the start of a child: of a workflow by name, or of a shard or its undoing by the parent's own definition. The error is a
// *workflow.Error if it can never start.
func (w *Worker) childStart(ctx context.Context, x *execution, c workflow.StartChild) (workflow.Start, error) {
	start := workflow.Start{Execution: c.Child, Tenant: c.Tenant, Workflow: c.Workflow, Definition: c.Definition, Hash: c.Hash, Correlation: c.Correlation,
		Input: c.Input, Origin: workflow.Origin{Parent: &c.Parent, Shard: c.Shard}}
	switch err := (eventstore.Stream{Tenant: c.Tenant, ID: c.Child}).Check(); {
	case err != nil:
		return start, workflow.Errorf("child.name", workflow.CategoryWorkflow, "the child cannot be named: %v: nest executions less deeply", err)
	case c.Undo != "":
		return w.undoStart(ctx, c)
	case c.Hash != "":
		return start, nil
	}
	d, err := w.Programs.Resolve(ctx, c.Tenant, c.Workflow, c.Definition, c.Child)
	var unknown *UnknownWorkflowError
	if errors.As(err, &unknown) {
		return start, workflow.Errorf("workflow.unknown", workflow.CategoryWorkflow, "%s", unknown)
	}
	if err != nil {
		return start, err
	}
	start.Definition, start.Hash = strconv.FormatUint(d.Version, 10), d.Hash.String()
	start.Misfit, err = w.misfitOfLarge(ctx, start, d.Version)
	return start, err
}

// misfitOfLarge says how the input of a child breaks the schema of its workflow where it is kept by reference, in whole or in part: a
// decision does not see it (semantics 41). What is too large for memory is not looked into.
func (w *Worker) misfitOfLarge(ctx context.Context, start workflow.Start, version uint64) (string, error) {
	if len(start.Input.Holes) == 0 {
		return "", nil
	}
	program, err := w.Programs.Load(ctx, start.Tenant, start.Workflow, version)
	if err != nil || len(program.Definition().Input) == 0 {
		return "", err
	}
	d, err := w.document(ctx, eventstore.Stream{Tenant: start.Tenant, ID: start.Execution}, workflow.RunActivity{}, start.Input)
	if err != nil || d.Size() > activity.MaxInline {
		return "", err
	}
	whole, err := d.Whole(ctx)
	if err != nil {
		return "", fmt.Errorf("worker: read the input of %s: %w", start.Execution, err)
	}
	return w.schemas.Misfit(program.Definition().Input, workflow.Value(whole.JSON)), nil
}

// undoStart is the start of an execution that undoes the work of another, ended one.
func (w *Worker) undoStart(ctx context.Context, c workflow.StartChild) (workflow.Start, error) {
	history, err := w.whole(ctx, eventstore.Stream{Tenant: c.Tenant, ID: c.Undo})
	if err != nil {
		return workflow.Start{}, err
	}
	return engine.Undo(history, c)
}

// cancelChild cancels a child until its end is known. A terminal parent hears of that beside its stream.
func (o *outbox) cancelChild(ctx context.Context, c workflow.CancelChild) error {
	child := eventstore.Stream{Tenant: c.Start.Tenant, ID: c.Child}
	if known, err := o.w.known(ctx, o.x, child); err != nil || known {
		return err
	}
	start, err := o.w.childStart(ctx, o.x, c.Start)
	var never *workflow.Error
	if errors.As(err, &never) {
		o.send(o.x.stream, 0, workflow.ChildEnd{Step: c.Step, Child: c.Child, Outcome: workflow.OutcomeCancelled})
		return nil
	}
	if err != nil {
		return err
	}
	start.Origin.Chain = o.x.state.Origin.Chain
	o.send(child, 0, workflow.Cancel{ID: "parent/" + o.x.stream.ID + "/" + c.Step + "/" + string(c.Mode), Origin: c.Origin, Mode: c.Mode, Reason: c.Reason, Start: &start})
	return nil
}

// known reports whether a terminal execution has heard of the end of a child that it cancelled. One that is open has that in its state.
func (w *Worker) known(ctx context.Context, x *execution, child eventstore.Stream) (bool, error) {
	if !x.state.Status.Terminal() {
		return false, nil
	}
	return w.Store.Acknowledged(ctx, child, noticeParent)
}

// notify tells the parent of this execution's end until the parent has acknowledged it.
func (o *outbox) notify(ctx context.Context, c workflow.NotifyParent) error {
	known, err := o.w.Store.Acknowledged(ctx, o.x.stream, noticeParent)
	if err == nil && !known {
		o.send(eventstore.Stream{Tenant: c.Tenant, ID: c.Parent.Execution}, 0, c.End)
	}
	return err
}

// startNext starts the execution that goes on for this one.
func (o *outbox) startNext(ctx context.Context, c workflow.StartNext) error {
	known, err := o.w.Store.Acknowledged(ctx, o.x.stream, noticeNext)
	if err != nil || known {
		return err
	}
	c.Start.Origin.Chain = o.x.state.Origin.Chain
	if err := o.w.Inbox.Send(ctx, Message{ID: o.w.Entropy.ID(), Stream: eventstore.Stream{Tenant: c.Start.Tenant, ID: c.Start.Execution}, Input: c.Start}); err != nil {
		return err
	}
	return o.w.Store.Acknowledge(ctx, o.x.stream, noticeNext)
}
