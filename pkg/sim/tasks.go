package sim

import (
	"context"
	"slices"
	"time"

	"github.com/wovyr/wovyr/pkg/worker"
)

const (
	// visibility is how long a message that was handed out stays hidden.
	visibility = 60 * time.Second
	// long is the same where a task is hidden for as long as a function may run, and for its lease only once it has run briefly.
	long, briefly = 15 * time.Minute, time.Second
	// lease is how long a claim holds between heartbeats.
	lease = 20 * time.Second
	// invocation is how long one receive may work.
	invocation = 5 * time.Minute
	// dedupe is how long a queue remembers the IDs that it took, and swallows repeats.
	dedupe = 5 * time.Minute
	// maxReceives is how often a queue hands out a message before it gives up on it.
	maxReceives = 100
)

// swallowed reports whether the queue has taken that ID a short time ago.
func (w *world) swallowed(id string) bool {
	last, ok := w.taken[id]
	if ok && w.now-last < int64(dedupe) {
		return true
	}
	w.taken[id] = w.now
	return false
}

// tasks is worker.Tasks: a queue for each class, without order, that delivers at least once.
type tasks struct{ w *world }

// parcel is one task in the queue.
type parcel struct {
	worker.Task
	class   int
	receipt int
	hidden  int64 // until
	gone    bool
	// running is set while a process is at it.
	running bool
	// cause is why it came back last.
	cause error
}

// Send implements worker.Tasks.
func (q tasks) Send(_ context.Context, list ...worker.Task) error {
	if err := q.w.call("send tasks"); err != nil {
		return err
	}
	for _, t := range list {
		if q.w.swallowed("task/" + t.ID) {
			q.w.note("task %s swallowed", t.ID)
			continue
		}
		q.put(t)
		if q.w.faulty() && q.w.chance(q.w.config.Rates.Duplicate) {
			q.put(t)
		}
	}
	return q.w.lostAnswer("send tasks")
}

func (q tasks) put(t worker.Task) {
	if q.w.faulty() && q.w.chance(q.w.config.Rates.Lose) {
		q.w.note("task %s %s lost", t.Stream.ID, t.Step)
		return
	}
	p := &parcel{Task: t, class: slices.Index(classes[:], t.Class)}
	q.w.in(q.w.delivery(), func() { q.deliver(p) })
}

func (q tasks) deliver(p *parcel) {
	w := q.w
	if p.gone || p.hidden > w.now {
		return
	}
	p.receipt++
	w.report.Receives = max(w.report.Receives, p.receipt)
	if p.receipt > maxReceives {
		if p.gone = w.consumer.gaveUp(nil, &p.Task, p.cause) == nil; !p.gone {
			q.hide(p, visibility)
		}
		return
	}
	at := w.of(p.class)
	p.running = true
	if w.config.Derived {
		q.hide(p, long)
		receipt, lives := p.receipt, at.lives
		w.in(briefly, func() {
			if p.running && p.receipt == receipt && at.lives == lives {
				q.hide(p, visibility)
			}
		})
	} else {
		q.hide(p, visibility)
	}
	if w.config.bug(AcknowledgeFirst) {
		p.gone = true
	}
	at.start(func(r *routine) {
		r.guarded = func() bool { return !p.gone }
		q.handle(p, at)
	}, func() {})
}

// handle is one receive.
func (q tasks) handle(p *parcel, at *process) {
	w, mine := q.w, p.receipt
	w.note("%s: task %s %s attempt %d fence %d (%s)", at.name(), p.Stream.ID, p.Step, p.Attempt, p.Fence, p.ID)
	a := w.consumer.task(at, worker.Delivery{
		Task: p.Task, Receive: entropy{w}.ID(), Until: at.now() + int64(invocation),
		Extend: func(_ context.Context, d time.Duration) error {
			err := w.call("extend a task")
			if err == nil {
				q.hide(p, d)
			}
			return err
		},
	})
	p.cause, p.running = a.Err, false
	w.failed(p.Stream, a.Err)
	if err := w.call("answer for a task"); err != nil {
		return
	}
	switch {
	case p.receipt != mine && (!a.Done || w.chance(2)):
		// An old receipt: it may delete the message, or not.
	case a.Done:
		if p.receipt != mine {
			w.report.Unguarded++
		}
		p.gone = true
	default:
		q.hide(p, a.After)
	}
}

func (q tasks) hide(p *parcel, d time.Duration) {
	p.hidden = q.w.now + int64(d)
	q.w.in(d, func() { q.deliver(p) })
}
