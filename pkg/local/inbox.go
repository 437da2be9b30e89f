package local

import (
	"context"
	"sync"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
)

// maxBatch is how many messages of one execution are decided on at once.
const maxBatch = 32

// inbox is a queue that is first in, first out within an execution and concurrent between executions.
type inbox struct {
	handle func(ctx context.Context, s eventstore.Stream, messages []worker.Message) []worker.Answer
	after  func(d time.Duration, f func())

	mu     sync.Mutex
	groups map[eventstore.Stream]*group
	ready  []*group // with messages, not at work, not resting
	wake   *sync.Cond
	closed bool
}

// group is the messages of one execution. It is in the map while it has any.
type group struct {
	stream  eventstore.Stream
	letters []letter
}

// letter is a message and who waits for it to be decided.
type letter struct {
	worker.Message
	settled chan error // nil: nobody waits
}

func newInbox(handle func(context.Context, eventstore.Stream, []worker.Message) []worker.Answer, after func(time.Duration, func())) *inbox {
	q := &inbox{handle: handle, after: after, groups: map[eventstore.Stream]*group{}}
	q.wake = sync.NewCond(&q.mu)
	return q
}

// Send implements worker.Inbox. The messages are in memory only: whoever sends them can find out again that they are owed.
func (q *inbox) Send(_ context.Context, messages ...worker.Message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range messages {
		q.add(letter{Message: m})
	}
	return nil
}

// Ask sends a message and waits until it is decided on, durably.
func (q *inbox) Ask(ctx context.Context, m worker.Message) error {
	l := letter{Message: m, settled: make(chan error, 1)}
	q.mu.Lock()
	q.add(l)
	q.mu.Unlock()
	select {
	case err := <-l.settled:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (q *inbox) add(l letter) {
	g := q.groups[l.Stream]
	if g == nil {
		g = &group{stream: l.Stream}
		q.groups[l.Stream] = g
		q.ready = append(q.ready, g)
		q.wake.Signal()
	}
	g.letters = append(g.letters, l)
}

// run decides on messages until the queue is closed.
func (q *inbox) run(ctx context.Context) {
	for {
		g, batch := q.next()
		if g == nil {
			return
		}
		messages := make([]worker.Message, len(batch))
		for i, l := range batch {
			messages[i] = l.Message
		}
		q.settle(g, batch, q.handle(ctx, g.stream, messages))
	}
}

// next takes the group that has been ready longest, with its first messages. It returns nil when the queue is closed.
func (q *inbox) next() (*group, []letter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.ready) == 0 {
		if q.closed {
			return nil, nil
		}
		q.wake.Wait()
	}
	g := q.ready[0]
	q.ready = q.ready[1:]
	return g, append([]letter(nil), g.letters[:min(len(g.letters), maxBatch)]...)
}

// settle removes the messages that are done; the first that is not keeps its place.
func (q *inbox) settle(g *group, batch []letter, answers []worker.Answer) {
	n := 0
	for n < len(answers) && answers[n].Done {
		if c := batch[n].settled; c != nil {
			c <- nil
		}
		n++
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	g.letters = append(g.letters[:0:0], g.letters[n:]...)
	switch {
	case len(g.letters) == 0:
		delete(q.groups, g.stream)
	case n < len(answers) && answers[n].After > 0 && !q.closed:
		q.after(answers[n].After, func() { q.resume(g) })
	default:
		q.resumeLocked(g)
	}
}

func (q *inbox) resume(g *group) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.resumeLocked(g)
}

func (q *inbox) resumeLocked(g *group) {
	q.ready = append(q.ready, g)
	q.wake.Signal()
}

// close lets run return once nothing is ready.
func (q *inbox) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.ready = nil
	q.wake.Broadcast()
}
