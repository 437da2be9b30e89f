package worker

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

// HandleInbox decides on messages to one execution, in their order, and merges them into one commit. It returns an answer for each. After a
// message that is not Done, all later ones are not Done either, so that their order holds.
func (w *Worker) HandleInbox(ctx context.Context, s eventstore.Stream, messages []Message) []Answer {
	b := &batch{w: w, messages: messages}
	answers := make([]Answer, len(messages))
	p := proposal{stream: s, by: messages[0].ID, open: b.open, feed: b.feed}
	for _, m := range messages {
		p.floor = max(p.floor, m.Floor)
		p.causes = append(p.causes, m.ID)
	}
	b.ctx = ctx
	d, err := w.decide(ctx, p)
	switch {
	case errors.Is(err, errNoExecution):
		err = b.buryAll(ctx, err)
	case err == nil:
		err = b.settle(ctx, s, d)
	}
	for i := range messages {
		switch {
		case err != nil || i >= b.handled:
			answers[i] = again(w.Limits.Retry, err)
		default:
			answers[i] = done()
		}
	}
	return answers
}

// batch is the messages of one decision, and what became of each.
type batch struct {
	ctx      context.Context
	w        *Worker
	messages []Message
	// handled is how many were taken; the others belong into the next decision.
	handled int
	// idle are those that decided nothing: perhaps they did before, and what that asked for was never sent.
	idle    []Message
	refused map[string]error
	ended   []workflow.ChildEnd
}

func (b *batch) feed(x *execution, t *engine.Turn) error {
	b.handled, b.idle, b.ended, b.refused = 0, nil, nil, map[string]error{}
	for _, m := range b.messages {
		if t.Full() {
			return nil
		}
		before := t.Events()
		inputs, err := b.w.inputs(b.ctx, x, m)
		if err != nil {
			return err
		}
		for _, in := range inputs {
			err := t.Handle(in)
			var refused *engine.RefusedError
			switch {
			case errors.As(err, &refused):
				b.refused[m.ID] = err
			case err != nil:
				return err
			}
			if end, ok := in.(workflow.ChildEnd); ok {
				b.ended = append(b.ended, end)
			}
		}
		b.handled++
		if t.Events() == before {
			b.idle = append(b.idle, m)
		}
	}
	return nil
}

// inputs are what a message means for the engine as things stand.
func (w *Worker) inputs(ctx context.Context, x *execution, m Message) ([]workflow.Input, error) {
	switch in := m.Input.(type) {
	case nil:
		return w.arrived(ctx, x)
	case workflow.LeaseExpiry:
		return w.expired(ctx, x, in)
	}
	return []workflow.Input{m.Input}, nil
}

// open finds the program of an execution that is to start, in the first message that says so.
func (b *batch) open(ctx context.Context, x *execution) (err error) {
	for _, m := range b.messages {
		start, ok := m.Input.(workflow.Start)
		if cancel, is := m.Input.(workflow.Cancel); is && cancel.Start != nil {
			start, ok = *cancel.Start, true
		}
		if ok {
			x.program, err = b.w.program(ctx, x.stream.Tenant, start.Workflow, start.Definition)
			return err
		}
	}
	return errNoExecution
}

// buryAll refuses messages to nobody. Ticks and hints to an execution that was removed are nothing to worry about.
func (b *batch) buryAll(ctx context.Context, cause error) error {
	b.handled = len(b.messages)
	for _, m := range b.messages {
		if _, tick := m.Input.(workflow.Tick); tick || m.Input == nil {
			continue
		}
		if err := b.w.bury(ctx, m, cause); err != nil {
			return err
		}
	}
	return nil
}

// expired looks again whether a lease is over, now that everything sent before has been decided (commit protocol, point 6).
func (w *Worker) expired(ctx context.Context, x *execution, in workflow.LeaseExpiry) ([]workflow.Input, error) {
	claim, err := w.Store.ReadClaim(ctx, claimKey(x.stream, in.AttemptRef))
	switch {
	case errors.Is(err, eventstore.ErrNotFound): // an eager start: its lease is in the history
	case err != nil:
		return nil, err
	case claim.Revoked():
		return []workflow.Input{workflow.RevokedFound{AttemptRef: in.AttemptRef}}, nil
	case w.alive(claim):
		return nil, nil
	}
	if cmd, ok := engine.Attempt(x.program, x.state, in.AttemptRef); ok && cmd.LeaseUntil > w.Clock.Now() && !w.gone(in.Worker) {
		return nil, nil
	}
	return []workflow.Input{in}, nil
}

// alive reports whether the holder of a claim may still be at work.
func (w *Worker) alive(c eventstore.Claim) bool { return c.Live(w.Clock.Now()) && !w.gone(c.Worker) }

// settle does what the protocol wants between the commit and the acknowledgement.
func (b *batch) settle(ctx context.Context, s eventstore.Stream, d decided) error {
	w := b.w
	for _, m := range b.messages[:b.handled] {
		if err := b.refused[m.ID]; err != nil {
			if err := w.bury(ctx, m, err); err != nil {
				return err
			}
		}
	}
	if err := w.dispatch(ctx, d.execution, d.Commands); err != nil {
		return err
	}
	for _, m := range b.idle {
		if err := w.resend(ctx, d.execution, m.ID); err != nil {
			return err
		}
	}
	for _, end := range b.ended {
		if err := w.Store.Acknowledge(ctx, eventstore.Stream{Tenant: s.Tenant, ID: end.Child}, noticeParent); err != nil {
			return fmt.Errorf("worker: acknowledge the end of %s: %w", end.Child, err)
		}
	}
	return nil
}

// bury puts a message that can never be right into the dead letters, with its cause.
func (w *Worker) bury(ctx context.Context, m Message, cause error) error {
	body, err := codec.EncodeInput(m.Input)
	if err != nil {
		return err
	}
	text := cause.Error()
	letter := eventstore.DeadLetter{Tenant: m.Stream.Tenant, ID: m.ID, Execution: m.Stream.ID, Queue: "inbox", Code: "refused." + m.Input.InputType(),
		Cause: text[:min(len(text), eventstore.MaxDeadLetterCause)], At: w.Clock.Now(), Body: body[:min(len(body), eventstore.MaxDeadLetter)]}
	w.Log.Warn("message refused", "execution", m.Stream.ID, "message", m.ID, "input", m.Input.InputType(), "cause", text)
	if err := w.Store.PutDeadLetter(ctx, letter); err != nil {
		return fmt.Errorf("worker: dead letter %s: %w", strconv.Quote(m.ID), err)
	}
	return nil
}

// BuryTask puts a task that its worker fails on again and again into the dead letters. The attempt stays open: the sweep sends it again,
// later each time.
func (w *Worker) BuryTask(ctx context.Context, t Task, cause error) error {
	text := cause.Error()
	letter := eventstore.DeadLetter{Tenant: t.Stream.Tenant, ID: t.ID, Execution: t.Stream.ID, Queue: "tasks/" + t.Class, Code: "task.failing",
		Cause: text[:min(len(text), eventstore.MaxDeadLetterCause)], At: w.Clock.Now(), Body: fmt.Appendf(nil, "%s attempt %d fence %d", t.Step, t.Attempt, t.Fence)}
	return w.Store.PutDeadLetter(ctx, letter)
}
