package local

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
)

const (
	// maxBatch is how many messages of one execution are decided on at once.
	maxBatch = 32
	// maxReceives is how often a message or task is handed out that its handler fails on, before it becomes a dead letter.
	maxReceives = 50
)

// errStopped says that the platform stops: what was asked for was not decided.
var errStopped = errors.Join(errors.New("local: the platform stops"), eventstore.ErrClosed)

// inbox is a queue that is first in, first out within an execution and concurrent between executions.
type inbox struct {
	handle func(ctx context.Context, s eventstore.Stream, messages []worker.Message) []worker.Answer
	bury   func(ctx context.Context, m worker.Message, cause error) error
	after  func(d time.Duration, f func())

	mu     sync.Mutex
	groups map[eventstore.Stream]*group
	ready  []*group // with messages, not at work, not resting
	wake   *sync.Cond
	empty  *sync.Cond // there are no groups, or nobody should wait for that any more
	closed bool
}

// group is the messages of one execution. It is in the map while it has any.
type group struct {
	stream  eventstore.Stream
	letters []letter
	busy    bool // somebody decides on its messages
}

// letter is a message, how often its handler failed on it, and who waits for it to be decided.
type letter struct {
	worker.Message
	failures int
	settled  chan error // nil: nobody waits
}

func (l letter) settle(err error) {
	if l.settled != nil {
		l.settled <- err
	}
}

func newInbox(handle func(context.Context, eventstore.Stream, []worker.Message) []worker.Answer, bury func(context.Context, worker.Message, error) error,
	after func(time.Duration, func())) *inbox {
	q := &inbox{handle: handle, bury: bury, after: after, groups: map[eventstore.Stream]*group{}}
	q.wake, q.empty = sync.NewCond(&q.mu), sync.NewCond(&q.mu)
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
	if q.closed {
		l.settle(errStopped)
		return
	}
	g := q.groups[l.Stream]
	if g == nil {
		g = &group{stream: l.Stream}
		q.groups[l.Stream] = g
		q.makeReady(g)
	}
	g.letters = append(g.letters, l)
}

func (q *inbox) makeReady(g *group) {
	q.ready = append(q.ready, g)
	q.wake.Signal()
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
		q.settle(ctx, g, batch, q.handle(ctx, g.stream, messages))
	}
}

// next takes the group that has been ready longest, with its first messages. It returns nil when the queue is closed.
func (q *inbox) next() (*group, []letter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.ready) == 0 && !q.closed {
		q.wake.Wait()
	}
	if q.closed {
		return nil, nil
	}
	g := q.ready[0]
	q.ready[0] = nil
	q.ready = q.ready[1:]
	g.busy = true
	batch := append([]letter(nil), g.letters[:min(len(g.letters), maxBatch)]...)
	for i := range batch {
		g.letters[i].Again = true // from now on
	}
	return g, batch
}

// settle removes the messages that are done; the first that is not keeps its place, unless its handler has failed on it too often.
func (q *inbox) settle(ctx context.Context, g *group, batch []letter, answers []worker.Answer) {
	n := 0
	for n < len(answers) && answers[n].Done {
		batch[n].settle(nil)
		n++
	}
	failed := false
	rest := time.Duration(0)
	if n < len(answers) {
		rest = answers[n].After
		failed = answers[n].Err != nil && !worker.Passing(answers[n].Err)
	}
	if failed && batch[n].failures+1 >= maxReceives && q.bury(ctx, batch[n].Message, answers[n].Err) == nil {
		batch[n].settle(answers[n].Err)
		n++
		failed, rest = false, 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	g.busy = false
	g.letters = append(g.letters[:0:0], g.letters[n:]...)
	if failed {
		g.letters[0].failures++
	}
	switch {
	case len(g.letters) == 0:
		if delete(q.groups, g.stream); len(q.groups) == 0 {
			q.empty.Broadcast()
		}
	case q.closed:
		g.stop()
	case rest > 0:
		q.after(rest, func() { q.resume(g) })
	default:
		q.makeReady(g)
	}
}

func (q *inbox) resume(g *group) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.makeReady(g)
	}
}

// stop tells those who wait for messages of a group that nobody decides on them any more.
func (g *group) stop() {
	for _, l := range g.letters {
		l.settle(errStopped)
	}
	g.letters = nil
}

// drain waits until there are no messages, or ctx ends.
func (q *inbox) drain(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.empty.Broadcast()
	})
	defer stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.groups) > 0 && ctx.Err() == nil {
		q.empty.Wait()
	}
}

// close lets run return. Messages that nobody has begun to decide on are left to the next process.
func (q *inbox) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for s, g := range q.groups { // order-free: each is for itself
		if !g.busy {
			g.stop()
			delete(q.groups, s)
		}
	}
	q.ready = nil
	q.wake.Broadcast()
}
