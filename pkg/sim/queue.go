package sim

import (
	"context"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
)

const (
	// visibility is how long a message that was handed out stays hidden.
	visibility = 60 * time.Second
	// invocation is how long one receive may work.
	invocation = 5 * time.Minute
	// dedupe is how long a queue remembers the IDs that it took, and swallows repeats.
	dedupe = 5 * time.Minute
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

// tasks is worker.Tasks: a queue without order that delivers at least once.
type tasks struct{ w *world }

// parcel is one task in the queue.
type parcel struct {
	worker.Task
	receipt int
	hidden  int64 // until
	gone    bool
}

// Send implements worker.Tasks.
func (q tasks) Send(_ context.Context, list ...worker.Task) error {
	q.w.at("send tasks")
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
	p := &parcel{Task: t}
	q.w.in(q.w.delivery(), func() { q.deliver(p) })
}

func (q tasks) deliver(p *parcel) {
	w := q.w
	if p.gone || p.hidden > w.now {
		return
	}
	p.receipt++
	mine := p.receipt
	q.hide(p, visibility)
	at := w.anyProcess()
	if w.config.bug(AcknowledgeFirst) {
		p.gone = true
	}
	at.start(func(r *routine) {
		w.note("%s: task %s %s attempt %d fence %d", at.worker.Name, p.Stream.ID, p.Step, p.Attempt, p.Fence)
		d := worker.Delivery{Task: p.Task, Receive: entropy{w}.ID(), Until: w.now + int64(invocation),
			Extend: func(_ context.Context, d time.Duration) error { q.hide(p, d); return nil }}
		a := at.worker.HandleTask(background(), d)
		w.at("answer for a task")
		switch {
		case p.receipt != mine && !w.chance(2):
			// An old receipt: it may delete the message, or not.
		case a.Done:
			p.gone = true
		default:
			q.hide(p, max(a.After, time.Millisecond))
		}
	}, func() {})
}

func (q tasks) hide(p *parcel, d time.Duration) {
	p.hidden = q.w.now + int64(d)
	q.w.in(d, func() { q.deliver(p) })
}

// inbox is worker.Inbox: first in, first out within an execution, at least once.
type inbox struct{ w *world }

// group is the messages of one execution.
type group struct {
	stream   eventstore.Stream
	messages []worker.Message
	receipt  int
	busy     bool
}

// Send implements worker.Inbox.
func (q inbox) Send(_ context.Context, messages ...worker.Message) error {
	q.w.at("send messages")
	for _, m := range messages {
		q.post(m)
	}
	return q.w.lostAnswer("send messages")
}

// post puts a message into the queue, from a process or from outside.
func (q inbox) post(m worker.Message) {
	w := q.w
	if w.swallowed("message/" + m.ID) {
		w.note("message %s to %s swallowed", m.ID, m.Stream.ID)
		return
	}
	if w.faulty() && w.chance(w.config.Rates.Lose) {
		w.note("message to %s lost: %s", m.Stream.ID, name(m))
		return
	}
	g := w.groups[m.Stream]
	if g == nil {
		g = &group{stream: m.Stream}
		w.groups[m.Stream] = g
	}
	g.messages = append(g.messages, m)
	w.in(w.delivery(), func() { q.deliver(g) })
}

func (q inbox) deliver(g *group) {
	w := q.w
	if g.busy || len(g.messages) == 0 {
		return
	}
	g.busy = true
	g.receipt++
	mine := g.receipt
	w.in(visibility, func() {
		if g.receipt == mine && g.busy {
			g.busy = false
			q.deliver(g)
		}
	})
	batch := append([]worker.Message(nil), g.messages[:min(len(g.messages), 1+w.rng.IntN(10))]...)
	at := w.anyProcess()
	if w.config.bug(AcknowledgeFirst) {
		g.messages = g.messages[len(batch):]
	}
	at.start(func(r *routine) {
		for _, m := range batch {
			w.note("%s: message to %s: %s", at.worker.Name, g.stream.ID, name(m))
		}
		answers := at.worker.HandleInbox(background(), g.stream, batch)
		w.at("answer for messages")
		if g.receipt != mine {
			return // an old receipt deletes nothing of a group in order
		}
		done := 0
		for done < len(answers) && answers[done].Done {
			done++
		}
		g.remove(batch[:done])
		rest := time.Duration(0)
		if done < len(answers) {
			rest = answers[done].After
		}
		w.in(rest, func() {
			if g.receipt == mine {
				g.busy = false
				q.deliver(g)
			}
		})
	}, func() {})
}

// remove deletes messages by ID: those that are still there.
func (g *group) remove(messages []worker.Message) {
	for _, m := range messages {
		for i, there := range g.messages {
			if there.ID == m.ID {
				g.messages = append(g.messages[:i:i], g.messages[i+1:]...)
				break
			}
		}
	}
}

func name(m worker.Message) string {
	if m.Input == nil {
		return "hint"
	}
	return m.Input.InputType()
}

// delivery is how long a message takes.
func (w *world) delivery() time.Duration {
	if w.faulty() && w.chance(w.config.Rates.Slow) {
		return w.between(time.Second, 3*time.Minute)
	}
	return w.between(0, 50*time.Millisecond)
}

// timers is worker.Timers: they fire about in time, sometimes early, late or twice.
type timers struct{ w *world }

// Arm implements worker.Timers.
func (t timers) Arm(_ context.Context, s eventstore.Stream, at int64, _ bool) error {
	w := t.w
	w.at("arm a timer")
	if w.config.bug(EntryMoved) {
		w.entry[s] = at // the one entry of the execution is moved; the old time is forgotten
		w.in(time.Duration(at-w.now), func() {
			if w.entry[s] == at {
				t.fire(s)
			}
		})
		return nil
	}
	d := time.Duration(at - w.now)
	switch {
	case !w.faulty():
	case w.chance(w.config.Rates.Lose):
		return nil
	case w.chance(w.config.Rates.Early):
		d -= w.between(0, max(d, 0)/2+time.Second)
	case w.chance(w.config.Rates.Slow):
		d += w.between(time.Second, time.Minute)
	case w.chance(w.config.Rates.Duplicate):
		w.in(d+w.between(0, time.Second), func() { t.fire(s) })
	}
	w.in(max(d, 0)+w.between(0, 100*time.Millisecond), func() { t.fire(s) })
	return nil
}

func (t timers) fire(s eventstore.Stream) {
	inbox(t).post(worker.Message{ID: entropy(t).ID(), Stream: s, Input: tick})
}
