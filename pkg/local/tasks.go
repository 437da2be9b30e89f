package local

import (
	"context"
	"sync"
	"time"

	"github.com/wovyr/wovyr/pkg/worker"
)

// tasks is a queue of attempts, first in, first out but for those that were put back.
type tasks struct {
	handle func(ctx context.Context, t worker.Task) worker.Answer
	bury   func(ctx context.Context, t worker.Task, cause error) error
	after  func(d time.Duration, f func())

	mu     sync.Mutex
	ready  []parcel
	wake   *sync.Cond
	closed bool
}

// parcel is a task and how often its handler failed.
type parcel struct {
	worker.Task
	failures int
}

func newTasks(handle func(context.Context, worker.Task) worker.Answer, bury func(context.Context, worker.Task, error) error, after func(time.Duration, func())) *tasks {
	q := &tasks{handle: handle, bury: bury, after: after}
	q.wake = sync.NewCond(&q.mu)
	return q
}

// Send implements worker.Tasks.
func (q *tasks) Send(_ context.Context, tasks ...worker.Task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range tasks {
		q.add(parcel{Task: t})
	}
	return nil
}

func (q *tasks) add(p parcel) {
	if !q.closed { // else it is left to the next process
		q.ready = append(q.ready, p)
		q.wake.Signal()
	}
}

// run handles tasks until the queue is closed.
func (q *tasks) run(ctx context.Context) {
	for {
		p, ok := q.next()
		if !ok {
			return
		}
		a := q.handle(ctx, p.Task)
		if a.Done {
			continue
		}
		if a.Err != nil && !worker.Passing(a.Err) {
			if p.failures++; p.failures >= maxReceives && q.bury(ctx, p.Task, a.Err) == nil {
				continue
			}
		}
		q.after(a.After, func() { q.putBack(p) })
	}
}

func (q *tasks) next() (parcel, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.ready) == 0 && !q.closed {
		q.wake.Wait()
	}
	if q.closed {
		return parcel{}, false
	}
	p := q.ready[0]
	q.ready[0] = parcel{}
	q.ready = q.ready[1:]
	return p, true
}

func (q *tasks) putBack(p parcel) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(p)
}

// close lets run return once it is done with what it is at.
func (q *tasks) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.ready = nil
	q.wake.Broadcast()
}
