package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// purgeAgain is when an execution is looked at again that could not be removed yet.
const purgeAgain = 24 * time.Hour

// Purge removes executions of a shard whose retention is over by a time, with their histories, claims and notices, and lets go of the
// payloads that they held. It returns how many it removed.
//
// Kept are those that still owe somebody a notice, and children of an execution that is open: it may need their histories to undo their work.
func (w *Worker) Purge(ctx context.Context, shard int, until int64) (int, error) {
	removed := 0
	for page := (eventstore.Page{Limit: sweepPage}); ; {
		rows, next, err := w.Store.Purgeable(ctx, shard, until, page)
		if err != nil {
			return removed, fmt.Errorf("worker: purge shard %d: %w", shard, err)
		}
		for _, row := range rows {
			gone, err := w.purge(ctx, row)
			switch {
			case err != nil && Passing(err):
				return removed, err
			case err != nil:
				w.Log.Error("execution cannot be removed", "execution", row.Stream.ID, "tenant", row.Stream.Tenant, "cause", err)
			case gone:
				removed++
			}
		}
		if next == "" || ctx.Err() != nil {
			return removed, ctx.Err()
		}
		page.Cursor = next
	}
}

func (w *Worker) purge(ctx context.Context, row eventstore.Row) (bool, error) {
	needed, err := w.needed(ctx, row)
	if err != nil {
		return false, err
	}
	if needed {
		row.Revision++
		row.Purge = w.Clock.Now() + int64(purgeAgain)
		_, err := w.Store.PutRow(ctx, row)
		return false, err
	}
	if err := w.Payloads.Release(ctx, row.Stream); err != nil {
		return false, fmt.Errorf("worker: release the payloads of %s: %w", row.Stream, err)
	}
	if err := w.Store.Purge(ctx, row.Stream); err != nil {
		return false, fmt.Errorf("worker: purge %s: %w", row.Stream, err)
	}
	return true, nil
}

// needed reports whether somebody may still need an execution that has ended.
func (w *Worker) needed(ctx context.Context, row eventstore.Row) (bool, error) {
	if row.Open || row.Due > 0 {
		return true, nil
	}
	if row.Parent == "" {
		return false, nil
	}
	parent, err := w.Store.Row(ctx, eventstore.Stream{Tenant: row.Stream.Tenant, ID: row.Parent})
	if errors.Is(err, eventstore.ErrNotFound) {
		return false, nil
	}
	return parent.Open, err
}
