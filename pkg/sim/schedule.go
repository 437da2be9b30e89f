package sim

import (
	"container/heap"
	"iter"
	"math"
	"math/rand/v2"
	"time"
)

// schedule is virtual time: what happens next is the earliest thing, and of those at one time the one that the seed picks. Everything
// runs on one goroutine at a time, so that a seed decides all.
type schedule struct {
	now    int64
	rng    *rand.Rand
	queue  happenings
	serial uint64
}

type happening struct {
	at     int64
	tie    uint64 // random order of what happens at one time
	serial uint64
	do     func()
}

// in lets something happen after a time; one that is beyond the end of time is never.
func (s *schedule) in(d time.Duration, do func()) {
	s.serial++
	at := s.now + int64(d)
	if at < s.now && d > 0 {
		at = math.MaxInt64
	}
	heap.Push(&s.queue, happening{at: at, tie: s.rng.Uint64(), serial: s.serial, do: do})
}

// step lets the next thing happen; false if there is nothing.
func (s *schedule) step() bool {
	if len(s.queue) == 0 {
		return false
	}
	h := heap.Pop(&s.queue).(happening)
	s.now = max(s.now, h.at)
	h.do()
	return true
}

// chance is true once in n times; never for 0.
func (s *schedule) chance(n int) bool { return n > 0 && s.rng.IntN(n) == 0 }

// between is a random time of at least from and less than to.
func (s *schedule) between(from, to time.Duration) time.Duration {
	return from + time.Duration(s.rng.Int64N(int64(to-from)))
}

type happenings []happening

func (h happenings) Len() int { return len(h) }
func (h happenings) Less(i, j int) bool {
	a, b := h[i], h[j]
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.tie != b.tie:
		return a.tie < b.tie
	}
	return a.serial < b.serial
}
func (h happenings) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *happenings) Push(v any) { *h = append(*h, v.(happening)) }

// Pop implements heap.Interface.
func (h *happenings) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// crashed is what ends a routine whose process died.
type crashed struct{}

// Fatal keeps activity.Run from taking a crash for a fault of the activity.
func (crashed) Fatal() {}

// routine is one handler at work. It runs until it pauses at a port, and goes on when the schedule says so.
type routine struct {
	p      *process
	began  int64
	next   func() (time.Duration, bool)
	stop   func()
	yield  func(time.Duration) bool
	ended  bool
	killed bool
	// guarded reports whether the message that is handled is still with its queue; nil: there is none.
	guarded func() bool
}

// start runs f as a routine of a process. after is called when f has returned, never if the process crashed.
func (p *process) start(f func(r *routine), after func()) {
	r := &routine{p: p, began: p.world.now}
	p.routines = append(p.routines, r)
	r.next, r.stop = iter.Pull(func(yield func(time.Duration) bool) {
		r.yield = yield
		defer func() {
			if v := recover(); v != nil {
				if _, ok := v.(crashed); !ok {
					panic(v)
				}
			}
		}()
		f(r)
	})
	var advance func()
	advance = func() {
		if r.killed {
			return
		}
		if sleeps := p.frozen - p.world.now; sleeps > 0 {
			p.world.in(time.Duration(sleeps), advance)
			return
		}
		p.world.running = r
		pause, more := r.next()
		p.world.running = nil
		switch {
		case r.killed:
		case more:
			p.world.in(pause, advance)
		default:
			r.ended = true
			p.forget(r)
			after()
		}
	}
	p.world.in(0, advance)
}

// pause gives the others a turn. It does not return in a process that crashed meanwhile.
func (r *routine) pause(d time.Duration) {
	if !r.yield(d) {
		panic(crashed{})
	}
}
