package worker

import (
	"context"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Clock tells the time. It never decides safety, only when things are tried.
type Clock interface {
	// Now is in nanoseconds since 1970 UTC.
	Now() int64
	// Every calls f after each d, one call at a time, until the returned function is called; that does not wait for a call under way.
	Every(d time.Duration, f func()) (stop func())
}

// Entropy makes names that nobody else makes.
type Entropy interface {
	// ID is unique: it names messages and receives.
	ID() string
	Nonce() eventstore.Nonce
}

// Inbox carries messages to executions, in order within an execution as far as the platform can (commit protocol, point 5).
type Inbox interface {
	// Send returns when the messages are safe with the queue.
	Send(ctx context.Context, messages ...Message) error
}

// Tasks carries attempts to workers of a class, in any order.
type Tasks interface {
	// Send returns when the tasks are safe with the queue.
	Send(ctx context.Context, tasks ...Task) error
}

// Timers wake executions (commit protocol, point 11).
type Timers interface {
	// Arm asks for a Tick to the execution's inbox not before at, and soon after. To arm twice is harmless. Coarse timers may be
	// left to the sweep.
	Arm(ctx context.Context, s eventstore.Stream, at int64, coarse bool) error
}

// Store is what the worker needs of an event store.
type Store interface {
	eventstore.Committer
	eventstore.History
	eventstore.Claims
	eventstore.Index
	eventstore.Wakes
	eventstore.Events
	eventstore.Subscriptions
	eventstore.Notices
	eventstore.DeadLetters
	eventstore.DeadLetterList
	eventstore.Definitions
	eventstore.Aliases
	eventstore.Housekeeping
}

// Message is one input on its way to an execution.
type Message struct {
	// ID is unique to this logical send, the same over its retries and redeliveries.
	ID     string
	Stream eventstore.Stream
	// Floor is a version that the execution has reached: older state must not be used.
	Floor uint64
	// Again says that it may have been handed out before. Queues set it, not senders.
	Again bool
	// Input is nil in a hint that content events have come.
	Input workflow.Input
}

// Task is one attempt on its way to a worker.
type Task struct {
	// ID is unique to this logical send. While it is not acknowledged it guards all attempts whose By it is.
	ID     string
	Stream eventstore.Stream
	Floor  uint64
	workflow.AttemptRef
	Class string
	// Beside is how many tasks of the same execution were sent together with this one. Where they are many, their results would all be written at
	// once, and meet: those go to the inbox, which merges them (Limits.Crowd).
	Beside int
	// Command is the attempt as it was committed, or nil: for DefaultClass a queue may leave it out, and then it is read from the history.
	Command *workflow.RunActivity
	// Sent is when it was sent, in nanoseconds; 0 where the queue loses what is not soon handled, so that no task is old.
	Sent int64
}

// Delivery is one receive of a task.
type Delivery struct {
	Task
	// Receive is unique to this receive: it owns the claims made under it.
	Receive string
	// Until is when this receive must be over, in nanoseconds; 0: never. No eager start is made that would last longer.
	Until int64
	// Extend keeps the queue from delivering the task again for a time; nil where the queue never does while it is handled.
	Extend func(ctx context.Context, d time.Duration) error
}

// Answer says what becomes of a message.
type Answer struct {
	// Done acknowledges it. Otherwise it comes back after a time.
	Done  bool
	After time.Duration
	// Err is why it comes back, for logs; nil if that is as it should be.
	Err error
}

func done() Answer { return Answer{Done: true} }

func again(after time.Duration, err error) Answer { return Answer{After: after, Err: err} }
