package porttest

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// RunTasks tests worker.Tasks and the deliveries of a platform (commit protocol, points 4 and 6): a task reaches a worker of its class, is hidden
// while that worker gives signs of life, and comes again until it is done with; each receive has a name of its own.
func RunTasks(t *testing.T, traits Traits, open Open) {
	run := runner(t, traits, open)
	run("tasks/arrive whole, at their class", testClasses)
	run("tasks/large ones arrive whole", testLargeTask)
	run("tasks/many in one call", testManyTasks)
	run("tasks/the same task twice", testSameTask)
	run("tasks/beside each other", testBeside)
	run("tasks/put back", testTaskBack)
	run("tasks/put back for long", testTaskBackLong)
	run("tasks/kept while extended", testExtended)
	run("tasks/a silent worker", testSilentWorker)
	run("tasks/the time of a receive", testUntil)
	run("tasks/one that always fails", testDeadTask)
	run("tasks/a dead letter that cannot be kept", testUnburiedTask)
	run("tasks/one that fails for a passing reason", testPassingTask)
	run("tasks/one that waits for a lease", testLeasedTask)
	run("tasks/any answers", testAnyTaskAnswers)
}

func testClasses(d *desk) {
	var carried []worker.Task
	d.serve = func(_ string, t worker.Delivery, _ int) worker.Answer {
		d.mu.Lock()
		defer d.mu.Unlock()
		carried = append(carried, t.Task)
		return handled
	}
	sent := map[string]worker.Task{}
	for i := range 6 {
		for _, class := range d.Classes {
			t := d.attempt(class, i)
			if i%2 == 1 {
				t.Command = nil
			}
			sent[t.ID] = t
			d.submit(t)
		}
	}
	d.until("the tasks", d.book.over)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range carried {
		if t.Command != nil { // a queue may leave it out, but not change it
			require.Equal(d.t, marshal(sent[t.ID].Command), marshal(t.Command))
		}
	}
}

// testLargeTask: of a command that is too large for a queue, the task at least.
func testLargeTask(d *desk) {
	t := d.attempt(d.class(), 1)
	t.Command.Input = workflow.Inline(workflow.Value(`"` + strings.Repeat("x", 1<<20) + `"`))
	d.submit(d.attempt(d.class(), 0), t, d.attempt(d.class(), 2))
}

func testManyTasks(d *desk) {
	var list []worker.Task
	for i := range 60 {
		list = append(list, d.attempt(d.class(), i))
	}
	d.submit(list...)
	d.submit()
}

// testSameTask: whoever does not know whether a task was sent sends it again.
func testSameTask(d *desk) {
	d.book.loose = true
	t := d.attempt(d.class(), 1)
	d.submit(t)
	d.submit(t)
}

// testBeside: a task that takes long holds up no other, not even one of the same execution.
func testBeside(d *desk) {
	long, short := d.attempt(d.class(), 1), d.attempt(d.class(), 1)
	short.Step = "other"
	d.serve = func(_ string, t worker.Delivery, _ int) worker.Answer {
		for t.ID == long.ID {
			d.mu.Lock()
			e := d.book.entries[short.ID]
			over := e != nil && e.done
			d.mu.Unlock()
			if over {
				break
			}
			d.Pass(look)
		}
		return handled
	}
	d.submit(long)
	d.until("the long one", func() bool { return len(d.book.entries[long.ID].seen) > 0 })
	d.submit(short)
}

func testTaskBack(d *desk) {
	for _, after := range []time.Duration{0, d.rest(), 2 * d.rest()} {
		t := d.attempt(d.class(), 1)
		returned := make(chan int64, 1)
		d.serve = func(_ string, _ worker.Delivery, nth int) worker.Answer {
			if nth == 1 {
				returned <- d.Clock.Now()
				return back(after, nil)
			}
			return handled
		}
		d.submit(t)
		d.until("the task", d.book.over)
		seen := d.seen(t.ID)
		require.GreaterOrEqual(d.t, len(seen), 2)
		d.notLate(<-returned+int64(after), seen[1])
	}
}

// testTaskBackLong: the guard of an attempt with a long lease is put back for all of it, or as long as the platform can.
func testTaskBackLong(d *desk) {
	after := 40 * 24 * time.Hour
	if !d.Virtual {
		after = 2 * d.rest()
	}
	t := d.attempt(d.class(), 1)
	d.serve = func(_ string, _ worker.Delivery, nth int) worker.Answer {
		if nth == 1 {
			return back(after, nil)
		}
		return handled
	}
	d.submit(t)
	d.until("the first receive", func() bool { return len(d.book.entries[t.ID].seen) > 0 })
	if d.Virtual {
		d.Pass(d.hidden(after))
	}
}

// testExtended: a worker that extends its task keeps it for as long as it does so.
func testExtended(d *desk) {
	beats := 4
	t := d.attempt(d.class(), 1)
	d.serve = func(_ string, t worker.Delivery, _ int) worker.Answer {
		for range beats {
			if t.Extend == nil {
				d.Pass(d.silence())
				continue
			}
			d.extend(t, d.Visibility)
			d.Pass(d.Visibility * 3 / 4)
		}
		return handled
	}
	d.submit(t)
	d.until("the task", d.book.over)
	if d.exact() {
		require.Len(d.t, d.seen(t.ID), 1)
	}
}

func (d *desk) exact() bool { return d.book.exact() }

// extend extends a task and notes until when it is hidden now.
func (d *desk) extend(t worker.Delivery, by time.Duration) {
	now := d.Clock.Now()
	err := t.Extend(d.ctx, by)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.book.problem("%s cannot be extended: %v", t.ID, err)
	}
	d.book.entries[t.ID].back = now + int64(by)
}

// testSilentWorker: the task of a worker that says nothing any more is handed out again. Where worker and queue are one process, there is no such.
func testSilentWorker(d *desk) {
	d.book.loose = d.Visibility > 0
	t := d.attempt(d.class(), 1)
	var receives []string
	d.serve = func(_ string, t worker.Delivery, nth int) worker.Answer {
		d.mu.Lock()
		receives = append(receives, t.Receive)
		d.mu.Unlock()
		if nth == 1 {
			d.Pass(d.silence())
		}
		return handled
	}
	d.submit(t)
	d.until("the task", d.book.over)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Visibility > 0 {
		require.Greater(d.t, len(receives), 1, "it must come again while its worker is silent")
	} else {
		require.Len(d.t, receives, 1)
	}
}

// testUntil: a receive that ends says when, so that nothing is begun that would last longer.
func testUntil(d *desk) {
	var left []time.Duration
	d.serve = func(_ string, t worker.Delivery, nth int) worker.Answer {
		now := d.Clock.Now()
		d.mu.Lock()
		defer d.mu.Unlock()
		if t.Until > 0 {
			left = append(left, time.Duration(t.Until-now))
		}
		if nth == 1 {
			return back(d.rest(), nil)
		}
		return handled
	}
	d.submit(d.attempt(d.class(), 1))
	d.until("the task", d.book.over)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range left {
		require.Positive(d.t, l)
	}
	if len(left) > 0 {
		require.GreaterOrEqual(d.t, len(left), 2, "each receive has an end, or none has")
	}
}

func testDeadTask(d *desk) {
	d.needsBurial()
	bad, good := d.attempt(d.class(), 1), d.attempt(d.class(), 2)
	d.serve = func(_ string, t worker.Delivery, _ int) worker.Answer {
		if t.ID == bad.ID {
			return back(0, errFailing)
		}
		return handled
	}
	d.submit(bad, good)
	d.until("the dead letter", d.book.over)
	d.givenUp(bad.ID)
	done, buried := d.outcome(good.ID)
	require.True(d.t, done && !buried)
}

func testUnburiedTask(d *desk) {
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
	d.serve = func(string, worker.Delivery, int) worker.Answer { return back(0, errFailing) }
	d.submit(d.attempt(d.class(), 1))
}

func testPassingTask(d *desk) { d.comesOften(eventstore.ErrUnavailable) }

// testLeasedTask: a task that waits for the end of another's lease has not failed, however often it comes.
func testLeasedTask(d *desk) { d.comesOften(nil) }

func (d *desk) comesOften(err error) {
	if d.CountsAll {
		d.t.Skip("this queue counts every receive")
	}
	t := d.attempt(d.class(), 1)
	d.serve = func(_ string, _ worker.Delivery, nth int) worker.Answer {
		if nth <= 2*d.Receives {
			return back(0, err)
		}
		return handled
	}
	d.submit(t)
	d.until("the end", d.book.over)
	done, _ := d.outcome(t.ID)
	require.True(d.t, done)
}

func testAnyTaskAnswers(d *desk) {
	seeds := 2
	if d.Virtual {
		seeds = 20
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed), 2))
		random := func(below time.Duration) time.Duration {
			d.mu.Lock()
			defer d.mu.Unlock()
			return time.Duration(rng.Int64N(int64(below)))
		}
		d.serve = func(_ string, t worker.Delivery, nth int) worker.Answer {
			d.Pass(random(20 * time.Millisecond))
			if t.Extend != nil && random(4) == 0 {
				d.extend(t, d.Visibility+d.rest())
			}
			if nth < 4 && random(3) == 0 {
				return back(random(d.rest()), nil)
			}
			return handled
		}
		for i := range 40 {
			d.submit(d.attempt(d.Classes[i%len(d.Classes)], 100*seed+i))
			d.Pass(random(30 * time.Millisecond))
		}
		d.until("all of a seed", d.book.over)
	}
}
