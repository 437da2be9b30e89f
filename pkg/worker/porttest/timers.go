package porttest

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// RunTimers tests worker.Timers (commit protocol, point 11): a tick comes to the inbox of an execution not before it was asked for, and soon after,
// however often and in whatever order it was. A platform may keep the earliest time only: who is woken asks for the next.
func RunTimers(t *testing.T, traits Traits, open Open) {
	run := runner(t, traits, open)
	run("timers/never early, and soon", testTimes)
	run("timers/twice", testTwice)
	run("timers/any order", testTimerOrder)
	run("timers/coarse", testCoarse)
	run("timers/far ahead", testFar)
	run("timers/as far as they are armed", testHorizon)
	run("timers/any times", testAnyTimes)
}

// sleepers are executions with deadlines, who ask for the earliest when they are woken, as a worker does.
type sleepers struct {
	d *desk
	// open are the deadlines that were not reached, earliest the earliest there ever was, and first when a tick came first. All are guarded by d.mu.
	open            map[eventstore.Stream][]int64
	earliest, first map[eventstore.Stream]int64
}

func newSleepers(d *desk) *sleepers {
	s := &sleepers{d: d, open: map[eventstore.Stream][]int64{}, earliest: map[eventstore.Stream]int64{}, first: map[eventstore.Stream]int64{}}
	d.answer = s.woken
	return s
}

// woken takes a tick: what is due is off the list, and the earliest of the rest is armed.
func (s *sleepers) woken(m worker.Message, _ int) worker.Answer {
	d, now := s.d, s.d.Clock.Now()
	d.mu.Lock()
	if _, tick := m.Input.(workflow.Tick); !tick {
		d.book.problem("%s is no tick: %s", m.ID, textOf(m))
	}
	list := s.open[m.Stream]
	if s.first[m.Stream] == 0 {
		s.first[m.Stream] = now
	}
	if now < s.earliest[m.Stream] {
		d.book.problem("%s: the tick is %v early: its times are %v", m.Stream, time.Duration(s.earliest[m.Stream]-now), list)
	}
	list = slices.DeleteFunc(list, func(at int64) bool { return at <= now })
	s.open[m.Stream] = list
	d.mu.Unlock()
	if len(list) > 0 {
		d.Pass(breath)
		if err := d.Timers.Arm(d.ctx, m.Stream, slices.Min(list), false); err != nil {
			return back(d.rest(), err)
		}
	}
	return handled
}

// wants notes deadlines of an execution.
func (s *sleepers) wants(to eventstore.Stream, times ...int64) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	s.open[to] = append(s.open[to], times...)
	if earliest := slices.Min(times); s.earliest[to] == 0 || earliest < s.earliest[to] {
		s.earliest[to] = earliest
	}
}

// arm asks for ticks at times, in that order.
func (s *sleepers) arm(to eventstore.Stream, times ...int64) {
	s.wants(to, times...)
	for _, at := range times {
		require.NoError(s.d.t, s.d.Timers.Arm(s.d.ctx, to, at, false))
	}
}

// wait waits until all deadlines were reached.
func (s *sleepers) wait() {
	s.d.until("all ticks", func() bool {
		for _, list := range s.open { // order-free: all must be empty
			if len(list) > 0 {
				return false
			}
		}
		return true
	})
}

// unit is a time that ticks can be apart.
func (d *desk) unit() time.Duration { return max(d.Grain, 300*time.Millisecond) }

// offsets are how far ahead timers are armed: what has passed, now, and what is to come.
func (d *desk) offsets() []time.Duration {
	out := []time.Duration{-time.Hour, -1, 0, 1, d.unit() / 3, d.unit(), 2 * d.unit(), 7 * d.unit() / 2}
	if d.Virtual {
		out = append(out, time.Minute, 4*time.Minute+time.Nanosecond, 9*time.Minute)
	}
	return out
}

func testTimes(d *desk) {
	s := newSleepers(d)
	wanted := map[eventstore.Stream]int64{}
	for i, offset := range d.offsets() {
		now := d.Clock.Now()
		wanted[stream(i)] = max(now+int64(offset), now)
		s.arm(stream(i), now+int64(offset))
	}
	s.wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	for to, at := range wanted { // order-free: each is for itself
		d.notLate(at, s.first[to])
	}
}

// testTwice: to arm twice is harmless: it may tick twice, and it ticks.
func testTwice(d *desk) {
	s := newSleepers(d)
	at := d.Clock.Now() + int64(2*d.unit())
	s.arm(stream(1), at, at, at)
	s.arm(stream(2), at)
	s.wait()
	s.arm(stream(1), at) // a command of long ago, carried out again
	d.until("the tick of what has passed", func() bool { return len(s.open[stream(1)]) == 0 })
}

// testTimerOrder: a timer that is moved, or dropped for a nearer one and never armed again, is a wake-up lost.
func testTimerOrder(d *desk) {
	s := newSleepers(d)
	now := d.Clock.Now()
	times := []int64{now + int64(2*d.unit()), now + int64(4*d.unit()), now + int64(6*d.unit())}
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for i, order := range orders {
		for _, j := range order {
			s.arm(stream(i), times[j])
		}
	}
	s.wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range orders {
		d.notLate(times[0], s.first[stream(i)])
	}
}

// testCoarse: such a timer may come late or not at all, but not early.
func testCoarse(d *desk) {
	s := newSleepers(d)
	at := d.Clock.Now() + int64(2*d.unit())
	s.wants(stream(1), at)
	require.NoError(d.t, d.Timers.Arm(d.ctx, stream(1), at, true))
	d.Pass(3 * d.unit())
}

// testFar: what nobody will live to see is taken, and wakes nobody now.
func testFar(d *desk) {
	s := newSleepers(d)
	for i, at := range []int64{d.Clock.Now() + int64(300*24*time.Hour), d.Clock.Now() + int64(100*365*24*time.Hour), eventstore.MaxTime} {
		s.wants(stream(i), at)
		require.NoError(d.t, d.Timers.Arm(d.ctx, stream(i), at, false))
	}
	near := stream(9)
	s.arm(near, d.Clock.Now()+int64(2*d.unit()))
	d.until("the near one", func() bool { return len(s.open[near]) == 0 })
}

// testHorizon: where hours cost nothing.
func testHorizon(d *desk) {
	if !d.Virtual {
		d.t.Skip("this platform lives in real time")
	}
	s := newSleepers(d)
	far := 200 * 24 * time.Hour
	if d.Horizon > 0 {
		far = min(far, d.Horizon)
	}
	wanted := map[eventstore.Stream]int64{}
	for i, part := range []time.Duration{10, 4, 2, 1} {
		wanted[stream(i)] = d.Clock.Now() + int64(far/part)
		s.arm(stream(i), wanted[stream(i)])
	}
	d.Pass(far)
	s.wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	for to, at := range wanted { // order-free: each is for itself
		d.notLate(at, s.first[to])
	}
}

// testAnyTimes: many executions, each with times of its own in any order, armed while others tick.
func testAnyTimes(d *desk) {
	seeds, within := 1, 6*d.unit()
	if d.Virtual {
		seeds, within = 10, 5*time.Minute
	}
	for seed := range seeds {
		s := newSleepers(d)
		rng := rand.New(rand.NewPCG(uint64(seed), 3))
		for i := range 60 {
			to := stream(1000*seed + i%20)
			s.arm(to, d.Clock.Now()+rng.Int64N(int64(within)))
			if rng.IntN(4) == 0 {
				d.Pass(time.Duration(rng.Int64N(int64(d.unit()))))
			}
		}
		s.wait()
	}
}
