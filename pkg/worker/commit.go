package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

// commit stores a decision: one conditional write (commit protocol, points 1 to 3). x then stands at the new version. A
// *eventstore.ConflictError says that somebody else wrote first; x is of no use any more then, nor after any other error.
func (w *Worker) commit(ctx context.Context, x *execution, d *engine.Decision, causes []string) error {
	first, before := d.Events[0], x.row
	x.state = d.State
	batch := &codec.Batch{At: first.At, Workflow: x.state.Workflow, Correlation: x.state.Correlation, Worker: w.Name, Causes: causes,
		Events: make([]workflow.Event, len(d.Events))}
	for i, e := range d.Events {
		batch.Events[i] = e.Event
	}
	c := eventstore.Commit{First: first.Version, Last: x.state.Version, Checkpoint: x.checkpoint, Nonce: w.Entropy.Nonce(), Prev: x.hash, Publish: w.Published(d.Events)}
	data, err := codec.CBOR{}.Encode(batch)
	if err != nil {
		return err
	}
	if x.since+len(data) > max(w.Limits.Checkpoint, x.size) && !x.state.Status.Terminal() { // what has ended is hardly loaded any more
		if data, err = w.checkpoint(ctx, x, batch, len(data)); err != nil {
			return fmt.Errorf("worker: checkpoint of %s: %w", x.stream, err)
		}
		c.Checkpoint = c.First
	}
	c.Data = data
	row := w.row(x)
	if x.row = row; w.SparseRows && before != nil && says(*before, *row) {
		row = nil
	}
	if err := w.append(ctx, x, c, row); err != nil {
		return err
	}
	x.committed(&c, batch.State != nil)
	x.warm = false
	w.tellEnded(x, d.Events)
	if w.Committed != nil {
		w.Committed(x.stream, d.Events, x.state)
	}
	return nil
}

// append puts a commit until its outcome is known.
func (w *Worker) append(ctx context.Context, x *execution, c eventstore.Commit, row *eventstore.Row) error {
	if mutated(DecideAnew) {
		err := w.Store.Append(ctx, x.stream, c, row)
		if stored, missing := w.Store.ReadCommit(ctx, x.stream, c.First); errors.Is(err, eventstore.ErrUnknownOutcome) && (missing != nil || stored.Nonce != c.Nonce) {
			return &eventstore.ConflictError{What: "history " + x.stream.String(), Expected: c.First - 1}
		}
		return err
	}
	return eventstore.AppendSurely(ctx, w.Store, x.stream, c, row, eventstore.Patience{Tries: w.Limits.Writes})
}

// checkpoint adds the state to a batch of so many bytes, by reference if it is large, and encodes it anew.
func (w *Worker) checkpoint(ctx context.Context, x *execution, batch *codec.Batch, events int) ([]byte, error) {
	state, err := codec.EncodeState(x.state)
	if err != nil {
		return nil, err
	}
	x.size = len(state)
	if len(state) <= w.Limits.StateInline && len(state)+events+commitSlack <= eventstore.MaxCommit {
		batch.State = x.state
	} else {
		ref, err := w.Payloads.Put(ctx, x.stream, bytes.NewReader(state))
		if err != nil {
			return nil, err
		}
		batch.StateRef = ref.String()
	}
	return codec.CBOR{}.Encode(batch)
}

// commitSlack is how much longer a batch may become by the frame around a state.
const commitSlack = 256

// says reports whether a row says all that a newer one does, but for how far the execution has come and when.
func says(old, row eventstore.Row) bool {
	old.Version, old.Updated, old.Labels, row.Labels = row.Version, row.Updated, nil, nil // labels never change
	if mutated(StaleRow) {
		old.Due, old.Wake = row.Due, row.Wake
	}
	return reflect.DeepEqual(old, row)
}

// row is the execution's entry in the index as of its state.
func (w *Worker) row(x *execution) *eventstore.Row {
	s := x.state
	definition, _ := strconv.ParseUint(s.Definition, 10, 64) // checked when the program was loaded
	r := &eventstore.Row{
		Stream: x.stream, Workflow: s.Workflow, Definition: definition, Started: s.CreatedAt,
		Version: s.Version, Status: s.Status.String(), Outcome: Outcome(s), Open: !s.Status.Terminal(), Updated: s.At,
	}
	for _, l := range s.Labels {
		r.Labels = append(r.Labels, eventstore.Label{Key: l.Key, Value: l.Value})
	}
	if s.Origin.Parent != nil {
		r.Parent = s.Origin.Parent.Execution
	}
	r.Wake, r.Due = w.wakeAndDue(x)
	if !r.Open && w.Limits.Retention > 0 {
		r.Purge = s.At + int64(w.Limits.Retention)
	}
	return r
}

// wakeAndDue says when the execution wants to be woken, and by when it must have moved if nothing is lost (commit
// protocol, point 13).
func (w *Worker) wakeAndDue(x *execution) (wake, due int64) {
	now := x.state.At
	if x.state.Status.Terminal() {
		if !mutated(ForgetNotice) && len(engine.Outstanding(x.program, x.state)) > 0 {
			return 0, now + int64(w.Limits.Dispatch)
		}
		return 0, 0
	}
	wake, _ = engine.Due(x.program, x.state)
	return wake, w.due(now, wake, inFlight(x))
}

// due is by when an open execution must have moved that did so last at a time.
func (w *Worker) due(now, wake int64, busy bool) int64 {
	due := now + int64(w.Limits.Recheck)
	if wake > 0 {
		due = min(due, wake+int64(w.Limits.Dispatch))
	}
	if busy {
		due = min(due, (now+w.flight())/dueGrain*dueGrain)
		if wake > 0 && due == wake+int64(w.Limits.Dispatch) {
			due-- // so that Idle can tell
		}
	}
	return due
}

// dueGrain makes the time at which the sweep looks at what is under way a round one, so that it stays the same while an execution moves: in some stores
// each change of it is paid for three times.
const dueGrain = int64(30 * time.Second)

// flight is how long what was sent may be under way before the sweep looks.
func (w *Worker) flight() int64 { return int64(w.Limits.Dispatch) + int64(w.Limits.Lease) }

// inFlight reports whether the execution waits for something that a message of ours must bring about, so that losing the message
// would stop it: an attempt, a child, the rest of a decision.
func inFlight(x *execution) bool {
	s := x.state
	return s.Status != fsm.WorkflowStateWaiting() || len(s.Closing) > 0 || slices.Contains(engine.Reasons(x.program, s), workflow.WaitChild)
}

// Idle reports whether the row of an open execution says that nothing is under way: it waits for its Wake, or for something from
// outside that comes by itself.
func (w *Worker) Idle(r eventstore.Row) bool {
	return r.Open && r.Status == waiting && r.Repairs == 0 &&
		(r.Wake > 0 && r.Due == r.Wake+int64(w.Limits.Dispatch) || r.Due > r.Updated+w.flight())
}

var waiting = fsm.WorkflowStateWaiting().String()

// Outcome is how an execution ended, empty while it is open: its outcome, and whether its work was undone. What failed and was undone is
// "compensated"; what was cancelled or timed out says both.
func Outcome(s *workflow.State) string {
	outcome := workflow.OutcomeCompleted
	if s.Ending != nil {
		outcome = s.Ending.Outcome
	}
	switch {
	case !s.Status.Terminal():
		return ""
	case !s.Compensated:
		return string(outcome)
	case outcome == workflow.OutcomeFailed:
		return "compensated"
	}
	return string(outcome) + ", compensated"
}

func hash64(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}

// at is a time for people and libraries.
func at(ns int64) time.Time { return time.Unix(0, ns).UTC() }
