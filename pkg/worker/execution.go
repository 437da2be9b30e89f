package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

// execution is one execution as far as this worker has seen it, ready for a decision.
type execution struct {
	stream  eventstore.Stream
	program *engine.Program
	state   *workflow.State
	// hash is that of the newest commit; checkpoint, the First of the newest commit with a checkpoint.
	hash       eventstore.Hash
	checkpoint uint64
	// warm says that the state was in memory: others may have written since.
	warm bool
	// armed is the time of a timer that this worker armed for the execution, and that has not fired as far as it knows.
	armed int64
	// row is that of the newest commit; nil: not looked at yet.
	row *eventstore.Row
	// since counts the bytes of commits after that checkpoint, size those of the last encoded state.
	since, size int
}

// version is that of the newest commit; 0 if there is none.
func (x *execution) version() uint64 {
	if x.state == nil {
		return 0
	}
	return x.state.Version
}

// load returns an execution at a version of at least floor, from memory if it is there. An execution without events has no state and no
// program. The caller owns it: keep gives it back.
func (w *Worker) load(ctx context.Context, s eventstore.Stream, floor uint64) (*execution, error) {
	if x := w.take(s, floor); x != nil {
		return x, nil
	}
	return w.read(ctx, s, floor)
}

// read is load from the store. What is in memory stays there: whoever only looks leaves no trace.
func (w *Worker) read(ctx context.Context, s eventstore.Stream, floor uint64) (*execution, error) {
	tail, err := w.Store.Tail(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("worker: load %s: %w", s, err)
	}
	if err := eventstore.VerifyTail(s, tail); err != nil {
		return nil, fmt.Errorf("worker: load %s: %w", s, err)
	}
	x := &execution{stream: s}
	for i := range tail {
		if err := w.replay(ctx, x, &tail[i]); err != nil {
			return nil, fmt.Errorf("worker: load %s: %w", s, err)
		}
	}
	if x.version() < floor && len(tail) > 0 {
		// The message knows more than the store tells: strong reads make this impossible but for a restored backup. Of an execution that was
		// removed there is nothing to wait for.
		return nil, fmt.Errorf("worker: load %s: it is at version %d, and the message was sent at %d: %w", s, x.version(), floor, eventstore.ErrUnavailable)
	}
	return x, nil
}

// replay applies one commit.
func (w *Worker) replay(ctx context.Context, x *execution, c *eventstore.Commit) error {
	b, err := codec.Decode(c.Data)
	if err != nil {
		return err
	}
	events := b.Recorded(c.First)
	if x.state == nil && c.Checkpoint == c.First {
		if x.state, x.size, err = w.checkpointOf(ctx, x.stream, b); err != nil {
			return err
		}
		events = nil
	}
	if x.program == nil {
		if x.program, err = w.programOf(ctx, x, events); err != nil {
			return err
		}
	}
	if len(events) > 0 {
		if x.state, err = engine.Replay(x.program, x.state, events); err != nil {
			return err
		}
	}
	x.committed(c, b.State != nil)
	return nil
}

// committed notes what a commit means for those after it.
func (x *execution) committed(c *eventstore.Commit, inline bool) {
	x.hash = c.Hash(x.stream)
	x.since += len(c.Data)
	if c.Checkpoint == c.First {
		x.checkpoint, x.since = c.First, 0
		if inline {
			x.size = len(c.Data)
		}
	}
}

// checkpointOf is the state that a commit carries, and its size where that is not the commit's.
func (w *Worker) checkpointOf(ctx context.Context, s eventstore.Stream, b *codec.Batch) (*workflow.State, int, error) {
	if b.StateRef == "" {
		if b.State == nil {
			return nil, 0, errors.New("the commit is said to carry a checkpoint and has none")
		}
		return b.State, 0, nil
	}
	ref, err := eventstore.ParseRef(b.StateRef)
	if err != nil {
		return nil, 0, err
	}
	r, err := w.Payloads.Open(ctx, s.Tenant, ref)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, 0, err
	}
	state, err := codec.DecodeState(data)
	return state, len(data), err
}

func (w *Worker) programOf(ctx context.Context, x *execution, events []workflow.Recorded) (*engine.Program, error) {
	if x.state != nil {
		return w.program(ctx, x.stream.Tenant, x.state.Workflow, x.state.Definition)
	}
	if len(events) > 0 {
		if created, ok := events[0].Event.(workflow.WorkflowCreated); ok {
			return w.program(ctx, x.stream.Tenant, created.Workflow, created.Definition)
		}
	}
	return nil, errors.New("the history begins neither with a checkpoint nor with WorkflowCreated")
}

func (w *Worker) program(ctx context.Context, tenant, name, version string) (*engine.Program, error) {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is no version of a definition", version)
	}
	return w.Programs.Load(ctx, tenant, name, n)
}

// take removes an execution from memory, so that no two decisions share a state.
func (w *Worker) take(s eventstore.Stream, floor uint64) *execution {
	w.mu.Lock()
	defer w.mu.Unlock()
	x, ok := w.warm.Peek(s)
	if !ok {
		return nil
	}
	w.warm.Remove(s)
	if x.version() < floor {
		return nil
	}
	x.warm = true
	return x
}

// fresh is load of what the store has now.
func (w *Worker) fresh(ctx context.Context, s eventstore.Stream) (*execution, error) {
	head, err := w.Store.Head(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("worker: load %s: %w", s, err)
	}
	return w.load(ctx, s, head)
}

// keep puts an execution into memory for the next decision, unless a newer one is there. It must be as it was committed.
func (w *Worker) keep(x *execution) {
	if x.state == nil || x.state.Status.Terminal() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if there, ok := w.warm.Peek(x.stream); ok && there.version() > x.version() {
		return
	}
	w.warm.Add(x.stream, x)
}
