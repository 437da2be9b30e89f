package porttest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// desk is one test: it sends, and it answers what is handed out.
type desk struct {
	Platform
	Traits
	t   *testing.T
	ctx context.Context

	// answer is what becomes of a message, and serve of a task, that is handed out for the nth time; nil: it is done with. They are set before
	// anything is sent. A message behind one that is not done with is not asked for.
	answer func(m worker.Message, nth int) worker.Answer
	serve  func(class string, d worker.Delivery, nth int) worker.Answer
	// bury is what becomes of the attempt to bury something; nil: it works.
	bury func() error

	mu   sync.Mutex
	book book
}

func newDesk(traits Traits) *desk {
	return &desk{Traits: traits, ctx: context.Background(), book: newBook(traits)}
}

// errFailing is why a consumer fails: for a reason of the message, so that it counts.
var errFailing = errors.New("porttest: this one can never be handled")

// breath is how long a consumer takes at least for what is not done: a platform that hands it out without a pause is found, not waited for.
const breath = time.Millisecond

func back(after time.Duration, err error) worker.Answer {
	return worker.Answer{After: after, Err: err}
}

var handled = worker.Answer{Done: true}

// consumer answers as the test says, and keeps the book.
func (d *desk) consumer() Consumer {
	return Consumer{Inbox: d.inbox, Task: d.task, BuryMessage: d.buryMessage, BuryTask: d.buryTask}
}

func (d *desk) inbox(_ context.Context, s eventstore.Stream, messages []worker.Message) []worker.Answer {
	now := d.Clock.Now()
	d.mu.Lock()
	entries := d.book.openBatch(s, messages, now)
	nth := make([]int, len(entries))
	for i, e := range entries {
		nth[i] = len(e.seen)
	}
	d.mu.Unlock()
	answers := make([]worker.Answer, len(messages))
	for i, m := range messages {
		if answers[i] = handled; d.answer != nil {
			answers[i] = d.answer(m, nth[i])
		}
		if !answers[i].Done {
			d.Pass(breath)
			break // and none behind it is
		}
	}
	end := d.Clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.book.closeBatch(s, entries, answers, now, end)
	return answers
}

func (d *desk) task(ctx context.Context, class string, t worker.Delivery) worker.Answer {
	now := d.Clock.Now()
	d.mu.Lock()
	e := d.book.open(t.ID, taskText(t.Task), t.Stream, now)
	nth := len(e.seen)
	switch {
	case t.Receive == "" || d.book.receives[t.Receive]:
		d.book.problem("%s: the receive %q has been there before", t.ID, t.Receive)
	case t.Class != class:
		d.book.problem("%s: of class %q, and handed to a worker of class %q", t.ID, t.Class, class)
	case t.Until != 0 && t.Until <= now:
		d.book.problem("%s: the receive is over before it began", t.ID)
	case t.Extend == nil && d.Visibility > 0:
		d.book.problem("%s: the receive cannot be extended", t.ID)
	}
	d.book.receives[t.Receive] = true
	d.mu.Unlock()
	a := handled
	if d.serve != nil {
		a = d.serve(class, t, nth)
	}
	if !a.Done {
		d.Pass(breath)
	}
	end := d.Clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.book.close(e, a, end, true)
	return a
}

func (d *desk) buryMessage(_ context.Context, m worker.Message, cause error) error {
	return d.buried(m.ID, cause)
}

func (d *desk) buryTask(_ context.Context, t worker.Task, cause error) error {
	return d.buried(t.ID, cause)
}

func (d *desk) buried(id string, cause error) error {
	if d.bury != nil {
		if err := d.bury(); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.book.bury(id, cause)
	return nil
}

// message is a signal with a number, so that messages can be told apart.
func (d *desk) message(s eventstore.Stream, n int) worker.Message {
	data := workflow.Inline(fmt.Appendf(nil, `{"n":%d}`, n))
	return worker.Message{ID: d.Entropy.ID(), Stream: s, Floor: uint64(n), Input: workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: fmt.Sprintf("signal-%d", n), Kind: "n", Data: data}}}
}

// send sends messages in one call, as the first sender.
func (d *desk) send(messages ...worker.Message) { require.NoError(d.t, d.sendAs(0, messages...)) }

func (d *desk) sendAs(sender int, messages ...worker.Message) error {
	d.mu.Lock()
	for _, m := range messages {
		d.book.sentMessage(m, sender)
	}
	d.mu.Unlock()
	return d.Inbox.Send(d.ctx, messages...)
}

// attempt is a task with a number.
func (d *desk) attempt(class string, n int) worker.Task {
	ref := workflow.AttemptRef{Step: fmt.Sprintf("all/%d/step", n), Attempt: 1 + n%3, Fence: 1 + n%5}
	return worker.Task{ID: d.Entropy.ID(), Stream: stream(n), Floor: uint64(n), AttemptRef: ref, Class: class,
		Command: &workflow.RunActivity{AttemptRef: ref, Kind: workflow.KindFunction, Name: "f", Key: "key", Timeout: int64(time.Minute)}}
}

func (d *desk) submit(tasks ...worker.Task) {
	d.mu.Lock()
	for _, t := range tasks {
		d.book.sentTask(t)
	}
	d.mu.Unlock()
	require.NoError(d.t, d.Tasks.Send(d.ctx, tasks...))
}

// class is the first of the platform's worker classes.
func (d *desk) class() string { return d.Classes[0] }

func stream(n int) eventstore.Stream {
	return eventstore.Stream{Tenant: "tenant", ID: fmt.Sprintf("execution-%d", n)}
}

// look is the pause between two looks at whether something has come.
const look = 50 * time.Millisecond

// until waits for a condition, which is asked with the book locked.
func (d *desk) until(what string, ok func() bool) {
	for end := d.Clock.Now() + int64(d.Patience); ; d.Pass(look) {
		d.mu.Lock()
		there, problems := ok(), d.book.problems
		d.mu.Unlock()
		if there {
			return
		}
		require.Empty(d.t, problems)
		require.Less(d.t, d.Clock.Now(), end, "waited %v in vain for %s", d.Patience, what)
	}
}

// settle waits until everything is done with, and then for what may come once more.
func (d *desk) settle() {
	d.until("everything to be done with", d.book.over)
	if d.Virtual {
		d.Pass(time.Hour)
	}
}

// verify looks at the whole book.
func (d *desk) verify() {
	d.settle()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.book.verify()
	require.Empty(d.t, d.book.problems)
}

// seen are the times at which something was handed out.
func (d *desk) seen(id string) []int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.book.entries[id]; e != nil {
		return append([]int64(nil), e.seen...)
	}
	return nil
}

// outcome says what became of something.
func (d *desk) outcome(id string) (done, buried bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.book.entries[id]
	return e.done, e.buried
}

// notLate requires that something which was to be at a time was at most so late, where the platform says so.
func (d *desk) notLate(wanted, was int64) {
	if d.Late > 0 {
		require.LessOrEqual(d.t, was, wanted+int64(d.Late), "late by %v", time.Duration(was-wanted))
	}
}

// rest is a time to put something back for that the platform can tell from none.
func (d *desk) rest() time.Duration { return max(2*d.Grain, 500*time.Millisecond) }
