package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Swept is what a sweep of one shard came to.
type Swept struct {
	// Looked is how many executions were overdue, Repaired for how many something was sent again, Failed how many could not be looked at.
	Looked, Repaired, Failed int
	// Stuck are those that were repaired as often as Limits.Repairs allow and did not move.
	Stuck []eventstore.Stream
}

// sweepPage is how many overdue rows are read at a time.
const sweepPage = 100

// maxBackoff is the longest pause between two looks at an execution that has something under way.
const maxBackoff = time.Hour

// Sweep looks at the executions of a shard that should have moved by a time, and sends again what is outstanding (commit protocol,
// point 13). One that cannot be looked at holds up none of the others.
func (w *Worker) Sweep(ctx context.Context, shard int, until int64) (Swept, error) {
	var out Swept
	for page := (eventstore.Page{Limit: sweepPage}); ; {
		rows, next, err := w.Store.Overdue(ctx, shard, until, page)
		if err != nil {
			return out, fmt.Errorf("worker: sweep shard %d: %w", shard, err)
		}
		for _, row := range rows {
			out.Looked++
			sent, err := w.Repair(ctx, row)
			switch {
			case err != nil && Passing(err):
				return out, err // the next one would meet the same
			case err != nil:
				out.Failed++
			case sent:
				out.Repaired++
			}
			if row.Repairs >= w.Limits.Repairs {
				out.Stuck = append(out.Stuck, row.Stream)
			}
		}
		if next == "" || ctx.Err() != nil {
			return out, ctx.Err()
		}
		page.Cursor = next
	}
}

// Repair reads the true head of an execution and sends what is outstanding there. It reports whether anything was sent that must have been
// lost. An execution that cannot be read is looked at again later, each time.
func (w *Worker) Repair(ctx context.Context, row eventstore.Row) (bool, error) {
	lost, err := w.repair(ctx, row)
	if err != nil && !Passing(err) {
		w.Log.Error("execution cannot be repaired", "execution", row.Stream.ID, "tenant", row.Stream.Tenant, "workflow", row.Workflow, "cause", err)
		row.Revision++
		row.Repairs++
		row.Due = w.Clock.Now() + w.pause(row.Repairs)
		if _, putErr := w.Store.PutRow(ctx, row); putErr != nil {
			err = errors.Join(err, putErr)
		}
	}
	if row.Repairs >= w.Limits.Repairs {
		w.Log.Error("execution does not move", "execution", row.Stream.ID, "tenant", row.Stream.Tenant, "workflow", row.Workflow,
			"status", row.Status, "repairs", row.Repairs, "version", row.Version)
	}
	return lost, err
}

func (w *Worker) repair(ctx context.Context, row eventstore.Row) (lost bool, err error) {
	defer func() {
		if p := caught(recover()); p != nil {
			lost, err = false, p
		}
	}()
	x, err := w.fresh(ctx, row.Stream)
	if err != nil || x.state == nil {
		return false, err
	}
	defer w.keep(x)
	s := survey{w: w, x: x}
	if err := s.look(ctx); err != nil {
		return false, err
	}
	if err := w.carryOut(ctx, x, s.send, true); err != nil {
		return false, err
	}
	if len(s.messages) > 0 {
		if err := w.Inbox.Send(ctx, s.messages...); err != nil {
			return false, fmt.Errorf("worker: send messages of %s: %w", x.stream, err)
		}
	}
	return s.lost, w.backOff(ctx, x, row, &s)
}

// survey is what is outstanding of an execution, sorted out.
type survey struct {
	w *Worker
	x *execution
	// send and messages are to be sent.
	send     []workflow.Command
	messages []Message
	// lost says that some of that must have been lost: nobody is known to be at work on it.
	lost bool
	// busy says that something is under way, and leased until when a lease of it lasts.
	busy   bool
	leased int64
}

func (s *survey) look(ctx context.Context) error {
	w, now := s.w, s.w.Clock.Now()
	for _, c := range engine.Outstanding(s.x.program, s.x.state) {
		switch c := c.(type) {
		case workflow.RunActivity:
			if err := s.attempt(ctx, c); err != nil {
				return err
			}
		case workflow.WakeAt:
			if c.At > now {
				s.send = append(s.send, c)
			} else {
				s.tell(workflow.Tick{})
			}
		case workflow.CancelChild:
			known, err := w.known(ctx, s.x, eventstore.Stream{Tenant: c.Start.Tenant, ID: c.Child})
			if err != nil {
				return err
			}
			if !known {
				s.send, s.busy = append(s.send, c), true
			}
		case workflow.StartChild: // it may well be at work
			if s.busy = true; !mutated(ForgetNotice) {
				s.send = append(s.send, c)
			}
		case workflow.NotifyParent:
			if err := s.notice(ctx, noticeParent, c); err != nil {
				return err
			}
		case workflow.StartNext:
			if err := s.notice(ctx, noticeNext, c); err != nil {
				return err
			}
		case workflow.SendContinue:
			s.send, s.lost = append(s.send, c), true
		default: // subscriptions; what waits for people needs nothing
			s.send = append(s.send, c)
		}
	}
	return nil
}

// notice is one that a terminal execution owes, unless it was acknowledged.
func (s *survey) notice(ctx context.Context, name string, c workflow.Command) error {
	known, err := s.w.Store.Acknowledged(ctx, s.x.stream, name)
	if err == nil && !known {
		s.send, s.lost = append(s.send, c), true
	}
	return err
}

// attempt sends an attempt again that nobody has, and gives one up whose lease is over.
func (s *survey) attempt(ctx context.Context, cmd workflow.RunActivity) error {
	claim, taken, err := s.w.standing(ctx, s.x.stream, cmd)
	switch {
	case err != nil:
		return err
	case !taken:
		s.send, s.lost = append(s.send, cmd), true
	case claim.Revoked():
		s.tell(workflow.RevokedFound{AttemptRef: cmd.AttemptRef})
	case s.w.alive(claim):
		s.busy, s.leased = true, max(s.leased, claim.Until)
	default:
		s.tell(workflow.LeaseExpiry{AttemptRef: cmd.AttemptRef, Worker: claim.Worker, StartedAt: claim.Started})
	}
	return nil
}

// tell sends an input that must have been lost.
func (s *survey) tell(in workflow.Input) {
	s.messages = append(s.messages, Message{ID: s.w.Entropy.ID(), Stream: s.x.stream, Floor: s.x.version(), Input: in})
	s.lost = true
}

// pause is how long the sweep waits after so many repairs.
func (w *Worker) pause(repairs uint32) int64 {
	return min(int64(w.Limits.Dispatch)<<min(repairs, 16), int64(maxBackoff))
}

// backOff writes when the execution is to be looked at next if nothing happens: after what was lost later each time, after a while where
// something is under way, and after long where it waits for something that comes by itself.
func (w *Worker) backOff(ctx context.Context, x *execution, row eventstore.Row, s *survey) error {
	fresh := w.row(x)
	now := w.Clock.Now()
	if fresh.Version == row.Version {
		fresh.Revision, fresh.Repairs = row.Revision+1, row.Repairs
		switch {
		case s.lost:
			fresh.Repairs++
			fresh.Due = now + w.pause(fresh.Repairs)
		case s.busy: // the longer it has been at it, the longer it may go on
			fresh.Due = max(now+min(max(now-x.state.At, int64(w.Limits.Dispatch)), int64(maxBackoff)), s.leased+int64(w.Limits.Dispatch))
		default:
			fresh.Due = w.due(now, fresh.Wake, false)
		}
		if fresh.Wake > now {
			fresh.Due = min(fresh.Due, fresh.Wake+int64(w.Limits.Dispatch))
		}
	}
	if !fresh.Open && !s.lost && !s.busy {
		fresh.Due = 0
	}
	if _, err := w.Store.PutRow(ctx, *fresh); err != nil {
		return fmt.Errorf("worker: row of %s: %w", x.stream, err)
	}
	return nil
}
