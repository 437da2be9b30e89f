package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

// The queues that dead letters come from.
const (
	queueInbox = "inbox"
	queueTasks = "tasks/" // and the worker class
	queueFeed  = "feed"   // and starts by triggers: queueTriggers
)

// UndeliverableError says that a dead letter cannot be sent again.
type UndeliverableError struct {
	Letter, Reason string
	// Way is the way out; empty: nothing but to drop it.
	Way string
}

// Error names the letter, the reason and the way out.
func (e *UndeliverableError) Error() string {
	return fmt.Sprintf("dead letter %s cannot be sent again: %s: %s", e.Letter, e.Reason, cmp.Or(e.Way, "drop it"))
}

// LetterInput is the message of a dead letter; nil if it is none, or cannot be read.
func LetterInput(d eventstore.DeadLetter) workflow.Input {
	if d.Queue != queueInbox || len(d.Body) == 0 {
		return nil
	}
	in, err := codec.DecodeInput(d.Body)
	if err != nil {
		return nil
	}
	return in
}

// Redeliver sends a dead letter again, and removes it once that is done: a message to its execution by ask, which returns when it is safe; a task by
// repairing its execution; emitted events by emitting them; a start by its trigger; those of the platform by its Redelivers. What an execution would refuse again now is refused here: a *engine.RefusedError,
// *EndedError or ErrNoExecution. What fails again later is a new dead letter.
func (w *Worker) Redeliver(ctx context.Context, tenant, id string, ask func(ctx context.Context, s eventstore.Stream, in workflow.Input) error) error {
	d, err := w.Store.DeadLetter(ctx, tenant, id)
	if err != nil {
		return err
	}
	s := eventstore.Stream{Tenant: tenant, ID: d.Execution}
	switch {
	case d.Queue == queueInbox:
		err = w.redeliverInput(ctx, s, d, ask)
	case strings.HasPrefix(d.Queue, queueTasks):
		err = w.redeliverTask(ctx, s)
	case d.Queue == queueFeed:
		err = w.emitAgain(ctx, s, d)
	case d.Queue == queueTriggers:
		err = w.startAgain(ctx, tenant, d)
	case w.Redelivers[d.Queue] != nil:
		err = w.Redelivers[d.Queue](ctx, d)
	default:
		err = &UndeliverableError{Letter: d.ID, Reason: "its queue " + strconv.Quote(d.Queue) + " is not known"}
	}
	if err != nil {
		return err
	}
	w.Log.Warn("dead letter sent again", "letter", d.ID, "execution", d.Execution)
	return w.Store.RemoveDeadLetter(ctx, tenant, id)
}

func (w *Worker) redeliverInput(ctx context.Context, s eventstore.Stream, d eventstore.DeadLetter, ask func(context.Context, eventstore.Stream, workflow.Input) error) error {
	if strings.HasSuffix(d.Code, "."+hintName) {
		return ask(ctx, s, nil)
	}
	in := LetterInput(d)
	if in == nil {
		return &UndeliverableError{Letter: d.ID, Reason: "its message is not kept whole"}
	}
	if fromOutside(in) {
		if err := w.Check(ctx, s, in); err != nil {
			return err
		}
	}
	return ask(ctx, s, in)
}

// fromOutside reports whether an input is one that people and programs send to an execution that there is.
func fromOutside(in workflow.Input) bool {
	switch in := in.(type) {
	case workflow.ExternalEvent, workflow.TaskDecision, workflow.OperatorMove:
		return true
	case workflow.Cancel:
		return in.Start == nil
	}
	return false
}

func (w *Worker) redeliverTask(ctx context.Context, s eventstore.Stream) error {
	row, err := w.Row(ctx, s)
	if err != nil {
		return err
	}
	_, err = w.Repair(ctx, row)
	return err
}

// emissionID names the letter of a commit whose events could not be passed on.
func emissionID(s eventstore.Stream, first uint64) string {
	return "emit/" + s.ID + "@" + strconv.FormatUint(first, 10)
}

func (w *Worker) emitAgain(ctx context.Context, s eventstore.Stream, d eventstore.DeadLetter) error {
	first, err := strconv.ParseUint(strings.TrimPrefix(string(d.Body), emissionBody), 10, 64)
	if err != nil {
		return &UndeliverableError{Letter: d.ID, Reason: "it does not say which commit it is about"}
	}
	c, err := w.Store.ReadCommit(ctx, s, first)
	if errors.Is(err, eventstore.ErrNotFound) {
		return ErrNoExecution
	}
	if err != nil {
		return err
	}
	return w.Emit(ctx, s, c)
}

// emissionBody begins the body of such a letter; the number of the commit follows.
const emissionBody = "commit "

// DropLetter removes a dead letter for good. The log keeps why.
func (w *Worker) DropLetter(ctx context.Context, tenant, id, by, reason string) error {
	d, err := w.Store.DeadLetter(ctx, tenant, id)
	if err != nil {
		return err
	}
	w.Log.Warn("dead letter dropped", "letter", d.ID, "execution", d.Execution, "code", d.Code, "cause", d.Cause, "by", by, "reason", reason)
	return w.Store.RemoveDeadLetter(ctx, tenant, id)
}
