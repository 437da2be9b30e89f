package porttest

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
)

// book is what became of everything that a test sent. It is guarded by desk.mu.
type book struct {
	traits Traits
	// entries are by the IDs of messages and tasks, and order is theirs in the order in which they were sent.
	entries map[string]*entry
	order   []*entry
	// work are the batches that consumers are at, by execution.
	work map[eventstore.Stream][]int64
	// receives are those of tasks.
	receives map[string]bool
	// settled is every message that was done with or buried, in that order.
	settled []*entry
	// loose says that consumers of this test let the visibility of things pass, so that they come twice.
	loose    bool
	problems []string
}

// entry is one message or task.
type entry struct {
	id     string
	stream eventstore.Stream
	// sender is who sent it: only messages of one sender have an order.
	sender int
	// text is what was sent, as far as it must arrive; empty for a message of the platform itself, such as a tick.
	text string
	// copies is how often it was sent: each may have come as one of its own.
	copies int
	// seen are the times at which it was handed out.
	seen []int64
	// failed counts how often its consumer failed on it.
	failed int
	// back is when it may be seen again at the earliest, after it was put back or while it is handled.
	back int64
	// done and buried say what became of it in the end.
	done, buried bool
}

func newBook(traits Traits) book {
	return book{traits: traits, entries: map[string]*entry{}, work: map[eventstore.Stream][]int64{}, receives: map[string]bool{}}
}

// problem notes something that no platform may do.
func (b *book) problem(format string, args ...any) {
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

func (b *book) sentMessage(m worker.Message, sender int) { b.sent(m.ID, m.Stream, sender, textOf(m)) }

func (b *book) sentTask(t worker.Task) { b.sent(t.ID, t.Stream, unordered, taskText(t)) }

func (b *book) sent(id string, s eventstore.Stream, sender int, text string) {
	if e := b.entries[id]; e != nil {
		e.copies++
		return
	}
	e := &entry{id: id, stream: s, sender: sender, text: text, copies: 1}
	b.entries[id] = e
	b.order = append(b.order, e)
}

// textOf is what must arrive of a message. Again is the queue's own.
func textOf(m worker.Message) string {
	kind := "hint"
	if m.Input != nil {
		kind = m.Input.InputType()
	}
	m.Again = false
	return kind + " " + marshal(m)
}

// taskText is what must arrive of a task: all but its command, and the time of sending, which some queues add.
func taskText(t worker.Task) string {
	t.Command, t.Sent = nil, 0
	return marshal(t)
}

func marshal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// open notes that something was handed out.
func (b *book) open(id, text string, s eventstore.Stream, now int64) *entry {
	e := b.entries[id]
	if e == nil { // of the platform itself
		e = &entry{id: id, stream: s, sender: -1}
		b.entries[id] = e
	}
	switch {
	case e.text != "" && e.text != text:
		b.problem("%s was sent as %.300s and arrived as %.300s", id, e.text, text)
	case e.stream != s:
		b.problem("%s was sent to %s and handed out for %s", id, e.stream, s)
	case !b.exact():
	case e.buried:
		b.problem("%s was handed out after it was buried", id)
	case e.done:
		b.problem("%s was handed out after it was done with", id)
	case now < e.back-int64(b.traits.Grain):
		b.problem("%s was handed out %d ns too early", id, e.back-now)
	}
	e.seen = append(e.seen, now)
	if v := int64(b.traits.Visibility); v > 0 {
		e.back = now + v
	}
	return e
}

func (b *book) exact() bool { return b.traits.Exact && !b.loose }

// openBatch notes that messages of an execution were handed out together.
func (b *book) openBatch(s eventstore.Stream, messages []worker.Message, now int64) []*entry {
	if len(messages) == 0 {
		b.problem("an empty batch for %s", s)
	}
	for _, since := range b.work[s] {
		if v := int64(b.traits.Visibility); v == 0 || now-since < v-int64(b.traits.Grain) {
			b.problem("messages to %s were handed out while others of it are handled", s)
		}
	}
	b.work[s] = append(b.work[s], now)
	out := make([]*entry, len(messages))
	for i, m := range messages {
		if e := b.entries[m.ID]; e != nil && len(e.seen) > 0 && e.copies < 2 && !m.Again {
			b.problem("%s was handed out again, and Again is not set", m.ID)
		}
		if m.Stream != s {
			b.problem("message %s to %s came in a batch for %s", m.ID, m.Stream, s)
		}
		out[i] = b.open(m.ID, textOf(m), m.Stream, now)
	}
	return out
}

// closeBatch notes the answers for a batch that was opened at a time.
func (b *book) closeBatch(s eventstore.Stream, entries []*entry, answers []worker.Answer, opened, now int64) {
	list := b.work[s]
	if i := slices.Index(list, opened); i >= 0 {
		b.work[s] = slices.Delete(list, i, i+1)
	}
	first := true
	for i, e := range entries {
		b.close(e, answers[i], now, first)
		first = first && answers[i].Done
	}
}

// close notes an answer. One that is not the first of its batch says nothing of its own.
func (b *book) close(e *entry, a worker.Answer, now int64, first bool) {
	switch {
	case a.Done:
		if !e.done {
			b.settled = append(b.settled, e)
		}
		e.done = true
	case first:
		e.back = now + b.rest(a)
		if a.Err != nil {
			e.failed++
		}
	default:
		e.back = 0
	}
}

// rest is how long something put back stays hidden at least.
func (b *book) rest(a worker.Answer) int64 {
	rest := int64(a.After)
	if most := int64(b.traits.MaxHidden); most > 0 {
		rest = min(rest, most)
	}
	return rest
}

// bury notes that the platform gave up on something.
func (b *book) bury(id string, cause error) {
	e := b.entries[id]
	switch {
	case e == nil:
		b.problem("%s was buried, and never sent", id)
		return
	case e.done && b.exact():
		b.problem("%s was buried after it was done with", id)
	case e.failed < b.traits.Receives && !b.traits.CountsAll:
		b.problem("%s was buried after %d failures", id, e.failed)
	case len(e.seen) < b.traits.Receives:
		b.problem("%s was buried after %d receives", id, len(e.seen))
	case cause == nil:
		b.problem("%s was buried without a cause", id)
	}
	e.buried = true
	b.settled = append(b.settled, e)
}

// over reports whether everything that was sent is done with or buried, and nobody is at work.
func (b *book) over() bool {
	for _, list := range b.work { // order-free: all must be empty
		if len(list) > 0 {
			return false
		}
	}
	return !slices.ContainsFunc(b.order, func(e *entry) bool { return !e.done && !e.buried })
}

// verify is what every platform must keep, whatever happened: all that was sent is done with or buried, as it was sent; messages of one sender to
// one execution were seen first, and settled, in the order in which they were sent. Problems beside that were noted when they happened.
func (b *book) verify() {
	type line struct {
		stream eventstore.Stream
		sender int
	}
	sent, settled := map[line][]*entry{}, map[line][]*entry{}
	for _, e := range b.order {
		if !e.done && !e.buried {
			b.problem("%s is lost: it was handed out %d times", e.id, len(e.seen))
		}
		sent[line{e.stream, e.sender}] = append(sent[line{e.stream, e.sender}], e)
	}
	for _, e := range b.settled {
		settled[line{e.stream, e.sender}] = append(settled[line{e.stream, e.sender}], e)
	}
	for at, list := range settled { // order-free: each is for itself
		if _, of := sent[at]; !of || at.sender == unordered {
			continue
		}
		for i := range min(len(list), len(sent[at])) {
			if list[i] != sent[at][i] {
				b.problem("%s: %s was settled where %s is next", at.stream, list[i].id, sent[at][i].id)
				break
			}
		}
	}
	for at, list := range sent { // order-free: each is for itself
		for i := range list {
			if at.sender != unordered && i > 0 && len(list[i].seen) > 0 && len(list[i-1].seen) > 0 && list[i].seen[0] < list[i-1].seen[0] {
				b.problem("%s: %s was handed out before %s", at.stream, list[i].id, list[i-1].id)
			}
		}
	}
}

// unordered is the sender of tasks, which have no order.
const unordered = -2
