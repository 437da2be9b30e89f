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
	handled, err := w.merge(ctx, s, messages)
	if err != nil && !Passing(err) && len(messages) > 1 {
		// One of them cannot be handled. Alone, the first shows whether it is the one.
		handled, err = w.merge(ctx, s, messages[:1])
	}
	answers := make([]Answer, len(messages))
	for i := range answers {
		switch {
		case i < handled:
			answers[i] = done()
		case err != nil:
			answers[i] = again(w.Limits.Retry, err)
		default: // what did not fit into the decision belongs into the next
			answers[i] = again(0, nil)
		}
	}
	return answers
}

// merge decides on messages in one commit, and returns how many of them are done with.
func (w *Worker) merge(ctx context.Context, s eventstore.Stream, messages []Message) (handled int, err error) {
	defer func() {
		if p := caught(recover()); p != nil {
			handled, err = 0, p
		}
	}()
	b := &batch{ctx: ctx, w: w, messages: messages}
	p := proposal{stream: s, by: messages[0].ID, open: b.open, feed: b.feed, causes: b.causes, brings: func() refs { return b.brought }}
	for _, m := range messages {
		p.floor = max(p.floor, m.Floor)
	}
	d, err := w.decide(ctx, p)
	switch {
	case errors.Is(err, errNoExecution):
		err = b.toNobody(ctx, err)
	case err == nil:
		err = b.settle(ctx, s, d)
		w.keep(d.execution)
	}
	if err != nil {
		return 0, err
	}
	return b.handled, nil
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
	// brought are payloads of others.
	brought refs
}

func (b *batch) causes() []string {
	out := make([]string, b.handled)
	for i, m := range b.messages[:b.handled] {
		out[i] = m.ID
	}
	return out
}

func (b *batch) feed(x *execution, t *engine.Turn) error {
	b.handled, b.idle, b.ended, b.refused, b.brought = 0, nil, nil, nil, nil
	for _, m := range b.messages {
		if t.Full() {
			return nil
		}
		before := t.Events()
		err := b.hand(x, t, m)
		if errors.Is(err, errFull) {
			return nil
		}
		if err != nil {
			return err
		}
		b.handled++
		if t.Events() == before {
			b.idle = append(b.idle, m)
		}
	}
	return nil
}

// hand gives a message to the turn, as what it means as things stand.
func (b *batch) hand(x *execution, t *engine.Turn, m Message) error {
	switch in := m.Input.(type) {
	case nil:
		brought, err := b.w.arrived(b.ctx, x, t)
		b.brought = append(b.brought, brought...)
		return err
	case workflow.LeaseExpiry:
		still, err := b.w.expired(b.ctx, x, in)
		if err != nil || still == nil {
			return err
		}
		return b.take(t, m, still)
	case workflow.ChildEnd:
		b.ended = append(b.ended, in)
	case workflow.ActivityResult:
		if mutated(AnyFence) {
			return b.take(t, m, newestFence(x, in))
		}
	}
	return b.take(t, m, m.Input)
}

func (b *batch) take(t *engine.Turn, m Message, in workflow.Input) error {
	b.brought.input(in)
	err := t.Handle(in)
	var refused *engine.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	if b.refused == nil {
		b.refused = map[string]error{}
	}
	b.refused[m.ID] = err
	return nil
}

// newestFence is a result as of the attempt that is open now, whichever it was for.
func newestFence(x *execution, in workflow.ActivityResult) workflow.ActivityResult {
	for fence := in.Fence + 1; x.state != nil && fence < in.Fence+8; fence++ {
		ref := workflow.AttemptRef{Step: in.Step, Attempt: in.Attempt, Fence: fence}
		if _, open := engine.Attempt(x.program, x.state, ref); open {
			in.AttemptRef = ref
		}
	}
	return in
}

// open finds the program of an execution that is to start, in the first message that says so.
func (b *batch) open(ctx context.Context, x *execution) (err error) {
	for _, m := range b.messages {
		start, ok := m.Input.(workflow.Start)
		if cancel, is := m.Input.(workflow.Cancel); is && cancel.Start != nil && !mutated(CancelNobody) {
			start, ok = *cancel.Start, true
		}
		if ok {
			x.program, err = b.w.program(ctx, x.stream.Tenant, start.Workflow, start.Definition)
			return err
		}
	}
	return errNoExecution
}

// toNobody refuses messages to an execution that does not exist. Some are nothing to worry about: ticks and hints to one that was removed, the
// end of a child that has outlived its parent.
func (b *batch) toNobody(ctx context.Context, cause error) error {
	b.handled = len(b.messages)
	for _, m := range b.messages {
		var err error
		switch in := m.Input.(type) {
		case nil, workflow.Tick, workflow.Continue, workflow.RevokedFound:
		case workflow.LeaseExpiry:
			err = b.w.end(ctx, m.Stream, in.AttemptRef)
		case workflow.ChildEnd:
			err = b.w.Store.Acknowledge(ctx, eventstore.Stream{Tenant: m.Stream.Tenant, ID: in.Child}, noticeParent)
		default:
			err = b.w.bury(ctx, m, cause)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// expired looks again whether a lease is over, now that everything sent before has been decided (commit protocol, point 6). It returns the
// input for the engine; nil: the attempt lives.
func (w *Worker) expired(ctx context.Context, x *execution, in workflow.LeaseExpiry) (workflow.Input, error) {
	if x.state == nil {
		return nil, nil
	}
	cmd, open := engine.Attempt(x.program, x.state, in.AttemptRef)
	if !open {
		return in, nil // late: the engine says so
	}
	claim, claimed, err := w.standing(ctx, x.stream, cmd)
	switch {
	case err != nil:
		return nil, err
	case claim.Revoked():
		return workflow.RevokedFound{AttemptRef: in.AttemptRef}, nil
	case claimed && w.alive(claim):
		return nil, nil
	}
	in.Gone = claimed && w.gone(claim.Worker)
	return in, nil
}

// standing is the lease of an open attempt: that of its claim if it has one, else that of its start in the history; false if nobody holds it.
func (w *Worker) standing(ctx context.Context, s eventstore.Stream, cmd workflow.RunActivity) (eventstore.Claim, bool, error) {
	c, err := w.Store.ReadClaim(ctx, claimKey(s, cmd.AttemptRef))
	if errors.Is(err, eventstore.ErrNotFound) {
		return eventstore.Claim{Owner: cmd.By, Worker: cmd.Worker, Until: cmd.LeaseUntil}, cmd.Running, nil
	}
	return c, err == nil, err
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
	if err := b.resend(ctx, d.execution); err != nil {
		return err
	}
	if err := b.tellOver(ctx, d.execution); err != nil {
		return err
	}
	for _, end := range b.ended {
		if err := w.Store.Acknowledge(ctx, eventstore.Stream{Tenant: s.Tenant, ID: end.Child}, noticeParent); err != nil {
			return fmt.Errorf("worker: acknowledge the end of %s: %w", end.Child, err)
		}
	}
	return nil
}

// resend sends again what these messages may have asked for when they were handled before. The guard of such a commit was the first message of
// its batch, which is the first of this one too, since it was not acknowledged. A message that comes again may well decide something new, such as a
// timer at a later time: what it asked for before is owed all the same.
func (b *batch) resend(ctx context.Context, x *execution) error {
	by := ""
	for _, m := range b.messages[:b.handled] {
		if m.Again {
			by = b.messages[0].ID
		}
	}
	for _, m := range b.idle {
		if _, tick := m.Input.(workflow.Tick); by == "" && !(tick && mutated(DropEarly)) {
			by = m.ID // wake-ups and notices are owed to every message
		}
	}
	if by == "" {
		return nil
	}
	return b.w.resend(ctx, x, by)
}

// hintName stands for a message without an input.
const hintName = "Hint"

// bury puts a message that can never be right into the dead letters, with its cause.
func (w *Worker) bury(ctx context.Context, m Message, cause error) error {
	kind := hintName
	var body []byte
	if m.Input != nil {
		kind = m.Input.InputType()
		var err error
		if body, err = codec.EncodeInput(m.Input); err != nil {
			body = nil // a letter without its body is better than none
		}
	}
	code := "failing." + kind
	if refused := (*engine.RefusedError)(nil); errors.As(cause, &refused) || errors.Is(cause, errNoExecution) {
		code = "refused." + kind
	}
	w.Log.Warn("message goes to the dead letters", "execution", m.Stream.ID, "message", m.ID, "input", kind, "cause", cause)
	return w.putLetter(ctx, eventstore.DeadLetter{Tenant: m.Stream.Tenant, ID: m.ID, Execution: m.Stream.ID, Queue: queueInbox, Code: code, Body: body}, cause)
}

// BuryMessage puts a message that fails again and again into the dead letters.
func (w *Worker) BuryMessage(ctx context.Context, m Message, cause error) error {
	return w.bury(ctx, m, cause)
}

// BuryTask puts a task that its worker fails on again and again into the dead letters. The attempt stays open: the sweep sends it again,
// later each time.
func (w *Worker) BuryTask(ctx context.Context, t Task, cause error) error {
	w.Log.Warn("task goes to the dead letters", "execution", t.Stream.ID, "step", t.Step, "cause", cause)
	return w.putLetter(ctx, eventstore.DeadLetter{Tenant: t.Stream.Tenant, ID: t.ID, Execution: t.Stream.ID, Queue: queueTasks + t.Class, Code: "failing.Task",
		Body: fmt.Appendf(nil, "%s attempt %d fence %d", t.Step, t.Attempt, t.Fence)}, cause)
}

func (w *Worker) putLetter(ctx context.Context, d eventstore.DeadLetter, cause error) error {
	d.ID, d.Cause, d.At = fitName(d.ID), cut(cause.Error(), eventstore.MaxDeadLetterCause), w.Clock.Now()
	d.Body = d.Body[:min(len(d.Body), eventstore.MaxDeadLetter)]
	if err := w.Store.PutDeadLetter(ctx, d); err != nil {
		return fmt.Errorf("worker: dead letter %s: %w", strconv.Quote(d.ID), err)
	}
	return nil
}
