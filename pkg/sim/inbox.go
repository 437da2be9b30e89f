package sim

import (
	"context"
	"slices"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// inbox is worker.Inbox: first in, first out within an execution, at least once.
type inbox struct{ w *world }

// group is the messages of one execution.
type group struct {
	stream  eventstore.Stream
	letters []letter
	receipt int
	busy    bool
	// failed is how often in a row the first message was not done with.
	failed int
}

// letter is a message, when it came, and how often it was handed out.
type letter struct {
	worker.Message
	at       int64
	receives int
}

// maxBatch is how many messages are handed out at once.
const maxBatch = 10

func (w *world) group(s eventstore.Stream) *group {
	g := w.groups[s]
	if g == nil {
		g = &group{stream: s}
		w.groups[s] = g
	}
	return g
}

// Send implements worker.Inbox.
func (q inbox) Send(_ context.Context, messages ...worker.Message) error {
	if err := q.w.call("send messages"); err != nil {
		return err
	}
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
	w.group(m.Stream).add(w, m)
}

func (g *group) add(w *world, m worker.Message) {
	g.letters = append(g.letters, letter{Message: m, at: w.now})
	w.in(w.delivery(), func() { inbox{w}.deliver(g) })
}

func (q inbox) deliver(g *group) {
	w := q.w
	if g.busy || len(g.letters) == 0 {
		return
	}
	g.busy = true
	g.receipt++
	mine := g.receipt
	w.in(visibility, func() { q.free(g, mine) })
	n := min(len(g.letters), maxBatch)
	for i := range g.letters[:n] {
		g.letters[i].receives++
		g.letters[i].Again = g.letters[i].receives > 1
	}
	batch := slices.Clone(g.letters[:n])
	if w.config.bug(AcknowledgeFirst) {
		g.remove(batch)
	}
	at := w.orchestrator()
	at.start(func(r *routine) {
		r.guarded = func() bool { return g.has(batch[0].ID) }
		q.handle(g, mine, at, batch)
	}, func() {})
}

// free lets the messages of a receive be seen again.
func (q inbox) free(g *group, receipt int) {
	if g.receipt == receipt && g.busy {
		g.busy = false
		q.deliver(g)
	}
}

func (q inbox) handle(g *group, receipt int, at *process, batch []letter) {
	w := q.w
	messages := make([]worker.Message, len(batch))
	for i, l := range batch {
		messages[i] = l.Message
		w.note("%s: message to %s: %s (%s)", at.name(), g.stream.ID, name(l.Message), l.ID)
	}
	answers := w.consumer.messages(at, g.stream, messages)
	w.failed(g.stream, answers[len(answers)-1].Err)
	if err := w.call("answer for messages"); err != nil {
		return
	}
	if g.receipt != receipt {
		return // an old receipt deletes nothing
	}
	done := 0
	for done < len(answers) && answers[done].Done {
		w.answered(g.stream, batch[done].Message)
		done++
	}
	g.remove(batch[:done])
	rest := time.Duration(0)
	if g.failed++; done > 0 {
		g.failed = 0
	}
	if done < len(answers) {
		rest = answers[done].After
		w.note("%s: messages to %s come back after %v: %v", at.name(), g.stream.ID, rest, answers[done].Err)
	}
	if g.failed > maxReceives {
		if w.consumer.gaveUp(&batch[0].Message, nil, answers[0].Err) == nil {
			g.remove(batch[:1])
			g.failed = 0
		}
	}
	g.receipt++ // what was put back stays away for that time, not for the visibility that was left
	w.in(rest, func() { q.free(g, receipt+1) })
}

func (g *group) has(id string) bool {
	return slices.ContainsFunc(g.letters, func(l letter) bool { return l.ID == id })
}

// remove deletes messages by ID: those that are still there.
func (g *group) remove(batch []letter) {
	for _, l := range batch {
		if i := slices.IndexFunc(g.letters, func(there letter) bool { return there.ID == l.ID }); i >= 0 {
			g.letters = slices.Delete(slices.Clone(g.letters), i, i+1)
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
	if err := w.call("arm a timer"); err != nil {
		return err
	}
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
	return w.lostAnswer("arm a timer")
}

func (t timers) fire(s eventstore.Stream) {
	id := entropy(t).ID()
	if t.w.config.bug(StableID) {
		id = "tick/" + s.ID
	}
	inbox(t).post(worker.Message{ID: id, Stream: s, Input: workflow.Tick{}})
}
