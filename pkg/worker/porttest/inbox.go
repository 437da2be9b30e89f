package porttest

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// RunInbox tests worker.Inbox (commit protocol, points 4 and 5): what is sent arrives whole, in order within an execution, again and again until
// it is done with; executions do not wait for each other.
func RunInbox(t *testing.T, traits Traits, open Open) {
	run := runner(t, traits, open)
	run("inbox/every input arrives whole", testInputs)
	run("inbox/large messages arrive whole", testLargeMessage)
	run("inbox/executions of any name are kept apart", testNames)
	run("inbox/order within an execution", testOrder)
	run("inbox/many in one call", testManyMessages)
	run("inbox/senders beside each other", testSenders)
	run("inbox/the same content twice", testSameContent)
	run("inbox/the same message twice", testSameMessage)
	run("inbox/an ended context", testEndedContext)
	run("inbox/put back", testPutBack)
	run("inbox/put back for long", testPutBackLong)
	run("inbox/executions do not wait for each other", testApart)
	run("inbox/a slow consumer", testSlowConsumer)
	run("inbox/a message that always fails", testDeadMessage)
	run("inbox/a dead letter that cannot be kept", testUnburied)
	run("inbox/a message that fails for a passing reason", testPassingMessage)
	run("inbox/any answers", testAnyAnswers)
}

// inputs are of every kind that is sent, nil for a hint.
func inputs() []workflow.Input {
	ref := workflow.AttemptRef{Step: "all/3/sq/1", Attempt: 2, Fence: 5}
	value := workflow.Inline(workflow.Value(`{"a":[1,2.5,"<é>"],"z":null}`))
	start := workflow.Start{Execution: "e", Tenant: "t", Workflow: "w", Definition: "3", Hash: strings.Repeat("ab", 32), Correlation: "c", Key: "k", By: "me",
		Labels: []workflow.Label{{Key: "a", Value: "b"}}, Input: value, Origin: workflow.Origin{Parent: &workflow.Parent{Execution: "p", Step: "s"}}}
	byRef := workflow.Payload{JSON: workflow.Null, Holes: []workflow.Hole{{Ref: &workflow.Ref{Hash: strings.Repeat("cd", 32), Size: 1 << 30, Known: workflow.Value(`{"n":1}`)}}}}
	failed := workflow.Errorf("some.code", workflow.CategoryExternal, "with %q", "quotes\n")
	return []workflow.Input{
		nil, workflow.Tick{}, workflow.Continue{}, start,
		workflow.ActivityResult{AttemptRef: ref, Worker: "w", StartedAt: 7, Output: byRef},
		workflow.ActivityResult{AttemptRef: ref, Worker: "w", Error: failed, RetryAfter: 9},
		workflow.ActivityResult{AttemptRef: ref, Continue: &workflow.AgentContinue{Calls: []workflow.AgentCall{{ID: "x", Kind: workflow.KindFunction, Name: "f", Input: value}}, State: value}},
		workflow.RevokedFound{AttemptRef: ref}, workflow.LeaseExpiry{AttemptRef: ref, Worker: "w", StartedAt: 1, Gone: true},
		workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: "i", Kind: "k", Key: "q", Source: "s", From: "bus", Data: value, Number: 3, KindNumber: 4, ReceivedAt: 5}, By: "me"},
		workflow.TaskDecision{ID: "i", Step: "s", By: "me", Verdict: workflow.VerdictApprove, Answer: value, Comment: "c"},
		workflow.ChildBegun{Step: "s", Child: "c"},
		workflow.ChildEnd{Step: "s", Child: "c", Outcome: workflow.OutcomeFailed, Compensated: true, Output: byRef, Error: failed, Vars: []workflow.Variable{{Name: "v", Value: value}}},
		workflow.Cancel{ID: "i", Origin: workflow.OriginUser, Mode: workflow.CancelGraceful, Reason: "r", By: "me", Start: &start},
		workflow.OperatorMove{ID: "i", Move: workflow.MoveRetry, Step: "s", By: "me", Output: value},
	}
}

func testInputs(d *desk) {
	for i, in := range inputs() {
		d.send(worker.Message{ID: d.Entropy.ID(), Stream: stream(1), Floor: uint64(i) << 40, Input: in})
	}
}

// testLargeMessage: a start can carry the items of a shard, each nearly as large as what is inline at most.
func testLargeMessage(d *desk) {
	large := workflow.Inline(workflow.Value(`"` + strings.Repeat("x", 1<<20) + `"`))
	d.send(d.message(stream(1), 0), worker.Message{ID: d.Entropy.ID(), Stream: stream(1), Input: workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: "i", Data: large}}}, d.message(stream(1), 1))
}

// testNames: two executions are the same only if both parts of their names are.
func testNames(d *desk) {
	names := []eventstore.Stream{
		{Tenant: "a", ID: "b/c"}, {Tenant: "a/b", ID: "c"}, {Tenant: "a", ID: "b c"}, {Tenant: "a", ID: "b.c"}, {Tenant: "a", ID: "B/C"}, {Tenant: "A", ID: "b/c"},
		{Tenant: "a", ID: "é"}, {Tenant: "a", ID: "e\u0301"}, {Tenant: "a", ID: "日本/\n\t\"'\\<&>\x00"}, {Tenant: "a", ID: " "},
		{Tenant: strings.Repeat("t", eventstore.MaxTenant), ID: strings.Repeat("i", eventstore.MaxName)},
		{Tenant: strings.Repeat("t", eventstore.MaxTenant), ID: strings.Repeat("i", eventstore.MaxName-1) + "j"},
	}
	// The first message to each stays: if two were one execution, the second would be held up.
	held := true
	d.answer = func(_ worker.Message, nth int) worker.Answer {
		d.mu.Lock()
		defer d.mu.Unlock()
		if held {
			return back(time.Duration(nth*nth)*d.rest(), nil)
		}
		return handled
	}
	for i, s := range names {
		d.send(d.message(s, i))
	}
	d.until("each to be seen", func() bool {
		for _, e := range d.book.order {
			if len(e.seen) == 0 {
				return false
			}
		}
		held = false
		return true
	})
}

func testOrder(d *desk) {
	for i := range 60 {
		d.send(d.message(stream(i%3), i))
	}
}

// testManyMessages: more than one call of a service takes, in one call of ours.
func testManyMessages(d *desk) {
	var list []worker.Message
	for i := range 60 {
		list = append(list, d.message(stream(i%4), i))
	}
	d.send(list...)
	d.send()
}

// testSenders: each has its own order.
func testSenders(d *desk) {
	errs := make(chan error, 6)
	for sender := range 6 {
		d.Go(func() {
			var err error
			for i := 0; i < 20 && err == nil; i++ {
				err = d.sendAs(sender, d.message(stream(i%2), i))
			}
			errs <- err
		})
	}
	for range 6 {
		d.until("the senders", func() bool { return len(errs) > 0 })
		require.NoError(d.t, <-errs)
	}
}

// testSameContent: a queue that drops what looks like what came before swallows a wake-up (commit protocol, point 4).
func testSameContent(d *desk) {
	for range 4 {
		d.send(worker.Message{ID: d.Entropy.ID(), Stream: stream(1), Input: workflow.Tick{}})
		d.send(worker.Message{ID: d.Entropy.ID(), Stream: stream(1)})
	}
}

// testSameMessage: a sender that does not know whether it has sent does so again. Nothing is lost by that, whether it comes once or twice.
func testSameMessage(d *desk) {
	d.book.loose = true
	a, b := d.message(stream(1), 1), d.message(stream(1), 2)
	d.send(a)
	d.send(a)
	d.send(b)
}

// testEndedContext: whoever is told nothing of an error can rely on it.
func testEndedContext(d *desk) {
	d.book.loose = true
	ctx, cancel := context.WithCancel(d.ctx)
	cancel()
	m := d.message(stream(1), 1)
	if d.Inbox.Send(ctx, m) == nil {
		d.mu.Lock()
		d.book.sentMessage(m, 0)
		d.mu.Unlock()
	}
	d.send(d.message(stream(2), 2))
}

// testPutBack: the first of three is done with, the second put back, so the third waits for it.
func testPutBack(d *desk) {
	for _, after := range []time.Duration{0, d.rest(), 2 * d.rest()} {
		list := []worker.Message{d.message(stream(1), 1), d.message(stream(1), 2), d.message(stream(1), 3)}
		returned := make(chan int64, 1)
		d.answer = func(m worker.Message, nth int) worker.Answer {
			if m.ID == list[1].ID && nth == 1 {
				returned <- d.Clock.Now()
				return back(after, nil)
			}
			return handled
		}
		d.send(list...)
		d.until("all three", d.book.over)
		seen := d.seen(list[1].ID)
		require.GreaterOrEqual(d.t, len(seen), 2)
		d.notLate(<-returned+int64(after), seen[1])
	}
}

// testPutBackLong: up to as long as the platform can.
func testPutBackLong(d *desk) {
	after := 40 * 24 * time.Hour
	if !d.Virtual {
		after = 2 * d.rest() // nobody waits for longer: that it comes back at all is what there is to see
	}
	m := d.message(stream(1), 1)
	d.answer = func(_ worker.Message, nth int) worker.Answer {
		if nth == 1 {
			return back(after, nil)
		}
		return handled
	}
	d.send(m)
	d.until("the first receive", func() bool { return len(d.book.entries[m.ID].seen) > 0 })
	if d.Virtual {
		d.Pass(d.hidden(after))
	}
}

// hidden is how long something stays away that was put back for a time.
func (d *desk) hidden(after time.Duration) time.Duration {
	if d.MaxHidden > 0 {
		return min(after, d.MaxHidden)
	}
	return after
}

// testApart: while one execution's message comes back and back, the others go on.
func testApart(d *desk) {
	var over bool
	d.answer = func(m worker.Message, nth int) worker.Answer {
		d.mu.Lock()
		defer d.mu.Unlock()
		if m.Stream == stream(0) && !over {
			return back(time.Duration(nth*nth)*d.rest(), nil)
		}
		return handled
	}
	first := d.message(stream(0), 0)
	d.send(first)
	d.until("the one that comes back", func() bool { return len(d.book.entries[first.ID].seen) > 0 })
	for i := 1; i <= 10; i++ {
		d.send(d.message(stream(i), i))
	}
	d.until("the others", func() bool { return len(d.book.settled) >= 10 })
	d.mu.Lock()
	over = true
	d.mu.Unlock()
}

// testSlowConsumer: nobody else gets a message of the execution as long as its consumer may be at work. One that has been silent for longer is taken
// for dead, and its messages come again (commit protocol, point 4).
func testSlowConsumer(d *desk) {
	d.book.loose = d.Visibility > 0
	long := d.silence()
	first, second := d.message(stream(1), 1), d.message(stream(1), 2)
	d.answer = func(m worker.Message, nth int) worker.Answer {
		if m.ID == first.ID && nth == 1 {
			d.Pass(long)
		}
		return handled
	}
	d.send(first)
	d.until("the first receive", func() bool { return len(d.book.entries[first.ID].seen) > 0 })
	d.send(second)
	d.until("both", d.book.over)
	if d.Visibility > 0 {
		require.Greater(d.t, len(d.seen(first.ID)), 1, "it must come again while its consumer is silent")
	}
}

// silence is longer than a consumer may be silent that is not dead.
func (d *desk) silence() time.Duration {
	switch {
	case d.Visibility > 0:
		return d.Visibility + d.Visibility/2 + 2*d.Grain
	case d.Virtual:
		return d.Patience / 8
	}
	return 2 * d.rest()
}

// testDeadMessage: what can never be handled becomes a dead letter, and holds up what is behind it only for so long.
func testDeadMessage(d *desk) {
	d.needsBurial()
	bad, good := d.message(stream(1), 1), d.message(stream(1), 2)
	d.answer = func(m worker.Message, _ int) worker.Answer {
		if m.ID == bad.ID {
			return back(0, errFailing)
		}
		return handled
	}
	d.send(bad, good)
	d.until("the dead letter", d.book.over)
	d.givenUp(bad.ID)
	done, buried := d.outcome(good.ID)
	require.True(d.t, done && !buried)
}

// givenUp requires that something was buried, and in time.
func (d *desk) givenUp(id string) {
	done, buried := d.outcome(id)
	require.True(d.t, buried && !done)
	if d.exact() {
		require.LessOrEqual(d.t, len(d.seen(id)), d.Receives+1)
	}
}

func (d *desk) needsBurial() {
	require.Positive(d.t, d.Receives, "Traits.Receives must say when a platform gives up")
}

// testUnburied: a message is not lost because the store of dead letters is away.
func testUnburied(d *desk) {
	d.needsBurial()
	away := 3
	d.bury = func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if away--; away >= 0 {
			return eventstore.ErrUnavailable
		}
		return nil
	}
	d.answer = func(worker.Message, int) worker.Answer { return back(0, errFailing) }
	d.send(d.message(stream(1), 1))
}

// testPassingMessage: that the store was away says nothing about the message.
func testPassingMessage(d *desk) {
	if d.CountsAll {
		d.t.Skip("this queue counts every receive")
	}
	m := d.message(stream(1), 1)
	d.answer = func(_ worker.Message, nth int) worker.Answer {
		if nth <= 2*d.Receives {
			return back(0, eventstore.ErrUnavailable)
		}
		return handled
	}
	d.send(m)
	d.until("the end", d.book.over)
	done, _ := d.outcome(m.ID)
	require.True(d.t, done)
}

// testAnyAnswers sends to a few executions and answers at random, seed by seed.
func testAnyAnswers(d *desk) {
	seeds := 2
	if d.Virtual {
		seeds = 20
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		d.answer = func(_ worker.Message, nth int) worker.Answer {
			d.mu.Lock()
			a := handled
			if nth < 4 && rng.IntN(3) == 0 {
				a = back(time.Duration(rng.Int64N(int64(d.rest()))), nil)
			}
			pause := time.Duration(rng.Int64N(int64(20 * time.Millisecond)))
			d.mu.Unlock()
			d.Pass(pause)
			return a
		}
		for i := range 40 {
			d.mu.Lock()
			s, pause := stream(rng.IntN(3)), time.Duration(rng.Int64N(int64(30*time.Millisecond)))
			d.mu.Unlock()
			d.send(d.message(s, 100*seed+i))
			d.Pass(pause)
		}
		d.until("all of a seed", d.book.over)
	}
}
