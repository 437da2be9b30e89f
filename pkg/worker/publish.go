package worker

import (
	"context"
	"fmt"
	"strconv"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

// Published reports whether events hold something for others: then their commit goes into the store's feed (commit protocol, point 14).
func (w *Worker) Published(events []workflow.Recorded) bool {
	for i := range events {
		if _, emitted := events[i].Event.(workflow.EventEmitted); emitted || w.Announces != nil && w.Announces(events[i].Event) {
			return true
		}
	}
	return false
}

// Emit publishes the content events that a commit emitted. It is called at least once for each commit of the feed; an event has the same ID
// each time.
func (w *Worker) Emit(ctx context.Context, s eventstore.Stream, c eventstore.Commit) error {
	b, err := codec.Decode(c.Data)
	if err != nil {
		return fmt.Errorf("worker: events of %s at %d: %w", s, c.First, err)
	}
	from := &sender{stream: s, correlation: b.Correlation}
	for _, r := range b.Recorded(c.First) {
		e, emitted := r.Event.(workflow.EventEmitted)
		if !emitted {
			continue
		}
		id := fitName(s.ID + "@" + strconv.FormatUint(r.Version, 10))
		source := e.Source
		if source == "" {
			source = b.Workflow
		}
		if err := w.publish(ctx, s.Tenant, Event{ID: id, Type: e.Kind, Key: e.Key, Source: source, From: "bus", Data: e.Data}, from); err != nil {
			return err
		}
	}
	return nil
}

// BuryEmission puts a commit whose events cannot be published into the dead letters: they are not published, for a reason that an operator can
// remove.
func (w *Worker) BuryEmission(ctx context.Context, e eventstore.FeedEntry, cause error) error {
	w.Log.Error("emitted events go to the dead letters", "execution", e.Stream.ID, "version", e.First, "cause", cause)
	return w.putLetter(ctx, eventstore.DeadLetter{Tenant: e.Stream.Tenant, ID: emissionID(e.Stream, e.First), Execution: e.Stream.ID,
		Queue: queueFeed, Code: "failing.Emit", Body: fmt.Appendf(nil, "%s%d", emissionBody, e.First)}, cause)
}
