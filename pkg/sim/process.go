package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
)

// process is one worker process: it has a memory of its own, and loses it in a crash.
type process struct {
	world         *world
	class, number int
	lives         int
	worker        *worker.Worker
	routines      []*routine
	skew          time.Duration
	// cut is until when it reaches nobody, frozen until when it sleeps.
	cut, frozen int64
}

func (w *world) bootAll() {
	for class, n := range w.config.Processes {
		for i := range n {
			p := &process{world: w, class: class, number: i}
			if s := w.config.Rates.Skew; s > 0 {
				p.skew = w.between(-s, s)
			}
			p.boot()
			w.processes[class] = append(w.processes[class], p)
		}
	}
}

func (w *world) all() []*process { return slices.Concat(w.processes[:]...) }

// of picks a process of a class that can be reached.
func (w *world) of(class int) *process {
	p := w.processes[class][w.rng.IntN(len(w.processes[class]))]
	for range 10 {
		if p.cut <= w.now {
			break
		}
		p = w.processes[class][w.rng.IntN(len(w.processes[class]))]
	}
	return p
}

// orchestrator picks a process that may write histories.
func (w *world) orchestrator() *process {
	class := classDefault
	if len(w.processes[classSecond]) > 0 && w.chance(4) {
		class = classSecond
	}
	return w.of(class)
}

func (p *process) commits() bool { return p.class != classOutside }

// boot starts the process with an empty memory and a new name.
func (p *process) boot() {
	p.lives++
	p.worker = p.world.newWorker(p)
}

func (p *process) name() string {
	return fmt.Sprintf("%c%d.%d", classes[p.class][0], p.number, p.lives)
}

// now is the time by the process' own clock.
func (p *process) now() int64 { return p.world.now + int64(p.skew) }

func (p *process) forget(r *routine) {
	if i := slices.Index(p.routines, r); i >= 0 {
		p.routines = slices.Delete(p.routines, i, i+1)
	}
}

// crash ends all that the process does, wherever it stands.
func (p *process) crash() {
	w := p.world
	w.note("crash of %s", p.name())
	w.report.Crashes++
	routines := p.routines
	p.routines = nil
	for _, r := range routines {
		r.killed = true
		if r != w.running {
			r.stop()
		}
	}
	p.boot()
}

// weather lets something happen to the world, or not.
func (w *world) weather() {
	if !w.faulty() {
		return
	}
	r, all := w.config.Rates, w.all()
	p := all[w.rng.IntN(len(all))]
	switch {
	case w.chance(r.Partition):
		p.cut = w.now + int64(w.between(5*time.Second, 3*time.Minute))
		w.note("%s is cut off until %.3fs", p.name(), time.Duration(p.cut-epoch).Seconds())
	case w.chance(r.Freeze):
		p.frozen = w.now + int64(w.between(5*time.Second, 5*time.Minute))
		w.note("%s sleeps until %.3fs", p.name(), time.Duration(p.frozen-epoch).Seconds())
	case w.chance(r.Drain):
		w.drain(p)
	case w.chance(r.Outage):
		w.outage = w.now + int64(w.between(time.Second, 30*time.Second))
		w.note("the store is away until %.3fs", time.Duration(w.outage-epoch).Seconds())
	}
	w.in(time.Minute, w.weather)
}

// drain lets a process hand over, and end a while later.
func (w *world) drain(p *process) {
	lives := p.lives
	p.worker.Drain()
	w.note("%s is asked to end", p.name())
	w.in(w.between(time.Second, 2*time.Minute), func() {
		if p.lives == lives {
			p.crash()
		}
	})
}

// gone reports whether a worker is dead.
func (w *world) gone(name string) bool {
	return !slices.ContainsFunc(w.all(), func(p *process) bool { return p.name() == name })
}

// at is a port: an effect on the outside. The process may crash just before it, and others get a turn.
func (w *world) at(what string) {
	r := w.running
	if r == nil {
		return // set-up and checks, outside any process
	}
	w.report.Effects++
	if w.faulty() && w.chance(w.config.Rates.Crash) {
		w.note("%s: crash before %s", r.p.name(), what)
		r.p.crash()
		panic(crashed{})
	}
	r.pause(w.latency())
}

// call is a port that may not be reached.
func (w *world) call(op string) error {
	w.at(op)
	switch r := w.running; {
	case r == nil:
		return nil
	case r.p.cut > w.now:
		return &eventstore.UnavailableError{Op: op, Err: errors.New("simulated: cut off")}
	case w.outage > w.now || w.faulty() && w.chance(w.config.Rates.Unavailable):
		return &eventstore.UnavailableError{Op: op, Err: errors.New("simulated")}
	}
	return nil
}

// latency is how long an effect takes.
func (w *world) latency() time.Duration {
	if w.faulty() && w.chance(w.config.Rates.Slow) {
		return w.between(time.Second, 90*time.Second)
	}
	return w.between(0, 20*time.Millisecond)
}

// clock is worker.Clock in virtual time.
type clock struct{ p *process }

// Now implements worker.Clock. Every look at it sees a later time.
func (c clock) Now() int64 {
	c.p.world.now++
	return c.p.now()
}

// Every implements worker.Clock. A call of f is a routine of its own, in the process that asked.
func (c clock) Every(d time.Duration, f func()) (stop func()) {
	w := c.p.world
	if w.running == nil {
		return func() {}
	}
	p, lives, over := c.p, c.p.lives, false
	var again func()
	again = func() {
		if over || p.lives != lives {
			return
		}
		p.start(func(*routine) { f() }, func() { w.in(d, again) })
	}
	w.in(d, again)
	return func() { over = true }
}

// entropy is worker.Entropy from the seed.
type entropy struct{ w *world }

// ID implements worker.Entropy.
func (e entropy) ID() string { return fmt.Sprintf("id%016x", e.w.rng.Uint64()) }

// Nonce implements worker.Entropy.
func (e entropy) Nonce() (n eventstore.Nonce) {
	for i := range n {
		n[i] = byte(e.w.rng.Uint32())
	}
	n[0] |= 1
	return n
}

// background is the context of everything that is simulated: time-outs are the model's business.
func background() context.Context { return context.Background() }
