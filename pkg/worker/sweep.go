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
	// Looked is how many executions were overdue, Repaired for how many something was sent again.
	Looked, Repaired int
	// Stuck are those that were repaired as often as Limits.Repairs allow and did not move.
	Stuck []eventstore.Stream
}

// sweepPage is how many overdue rows are read at a time.
const sweepPage = 100

// maxBackoff is the longest pause between two repairs of one execution.
const maxBackoff = time.Hour

// Sweep looks at the executions of a shard that should have moved by now, and sends again what is outstanding (commit protocol,
// point 13). With until it looks only at those due by then; eventstore.MaxTime looks at all that are open, as a restart does.
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
			if err != nil {
				return out, err
			}
			if sent {
				out.Repaired++
			}
			if row.Repairs >= w.Limits.Repairs {
				out.Stuck = append(out.Stuck, row.Stream)
				w.Log.Error("execution does not move", "execution", row.Stream.ID, "tenant", row.Stream.Tenant, "workflow", row.Workflow,
					"status", row.Status, "repairs", row.Repairs, "version", row.Version)
			}
		}
		if next == "" || ctx.Err() != nil {
			return out, ctx.Err()
		}
		page.Cursor = next
	}
}

// Repair reads the true head of an execution and sends what is outstanding there. It reports whether anything was sent.
func (w *Worker) Repair(ctx context.Context, row eventstore.Row) (bool, error) {
	x, err := w.fresh(ctx, row.Stream)
	if err != nil {
		return false, err
	}
	if x.state == nil {
		return false, nil
	}
	defer w.keep(x)
	send, due, err := w.overdue(ctx, x)
	if err != nil {
		return false, err
	}
	if err := w.dispatch(ctx, x, send); err != nil {
		return false, err
	}
	return len(send) > 0, w.backOff(ctx, x, row, due)
}

// overdue sorts out which commands are really outstanding, and when those that are under way must be done.
func (w *Worker) overdue(ctx context.Context, x *execution) (send []workflow.Command, due int64, err error) {
	now := w.Clock.Now()
	for _, c := range engine.Outstanding(x.program, x.state) {
		switch c := c.(type) {
		case workflow.RunActivity:
			again, until, err := w.lost(ctx, x, c)
			if err != nil {
				return nil, 0, err
			}
			due = max(due, until)
			if again {
				send = append(send, c)
			}
		case workflow.WakeAt:
			if c.At > now {
				send = append(send, c)
				continue
			}
			if err := w.Inbox.Send(ctx, Message{ID: w.Entropy.ID(), Stream: x.stream, Floor: x.version(), Input: workflow.Tick{}}); err != nil {
				return nil, 0, err
			}
		default:
			send = append(send, c)
		}
	}
	return send, due, nil
}

// lost reports whether an attempt must be sent again. If somebody has it, until is when his lease ends.
func (w *Worker) lost(ctx context.Context, x *execution, cmd workflow.RunActivity) (again bool, until int64, err error) {
	claim, err := w.Store.ReadClaim(ctx, claimKey(x.stream, cmd.AttemptRef))
	switch {
	case err == nil:
	case !errors.Is(err, eventstore.ErrNotFound):
		return false, 0, err
	case !cmd.Running:
		return true, 0, nil
	default:
		claim = eventstore.Claim{Owner: cmd.By, Worker: cmd.Worker, Until: cmd.LeaseUntil}
	}
	var in workflow.Input = workflow.LeaseExpiry{AttemptRef: cmd.AttemptRef, Worker: claim.Worker, StartedAt: claim.Started}
	switch {
	case claim.Revoked():
		in = workflow.RevokedFound{AttemptRef: cmd.AttemptRef}
	case w.alive(claim):
		return false, claim.Until, nil
	}
	return false, 0, w.Inbox.Send(ctx, Message{ID: w.Entropy.ID(), Stream: x.stream, Floor: x.version(), Input: in})
}

// backOff writes when the execution is to be looked at next if nothing happens: later each time.
func (w *Worker) backOff(ctx context.Context, x *execution, row eventstore.Row, due int64) error {
	fresh := w.row(x)
	now := w.Clock.Now()
	if fresh.Version == row.Version {
		fresh.Revision, fresh.Repairs = row.Revision+1, row.Repairs+1
		pause := min(int64(w.Limits.Dispatch)<<min(fresh.Repairs, 16), int64(maxBackoff))
		fresh.Due = max(now+pause, due)
		if fresh.Wake > now {
			fresh.Due = min(fresh.Due, fresh.Wake+int64(w.Limits.Dispatch))
		}
	}
	if !fresh.Open {
		owed, err := w.owed(ctx, x)
		if err != nil {
			return err
		}
		if !owed {
			fresh.Due = 0
		}
	}
	_, err := w.Store.PutRow(ctx, *fresh)
	if err != nil {
		return fmt.Errorf("worker: row of %s: %w", x.stream, err)
	}
	return nil
}

// owed reports whether a terminal execution still has a notice that nobody acknowledged.
func (w *Worker) owed(ctx context.Context, x *execution) (bool, error) {
	for _, c := range engine.Outstanding(x.program, x.state) {
		notice := ""
		switch c.(type) {
		case workflow.NotifyParent:
			notice = noticeParent
		case workflow.StartNext:
			notice = noticeNext
		default:
			return true, nil
		}
		known, err := w.Store.Acknowledged(ctx, x.stream, notice)
		if err != nil || !known {
			return true, err
		}
	}
	return false, nil
}
