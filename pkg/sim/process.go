package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
)

// process is one worker process: it has a memory of its own, and loses it in a crash.
type process struct {
	world    *world
	number   int
	lives    int
	worker   *worker.Worker
	routines []*routine
}

// boot starts the process with an empty memory and a new name.
func (p *process) boot() {
	p.lives++
	p.worker = p.world.newWorker(fmt.Sprintf("w%d.%d", p.number, p.lives))
}

func (p *process) forget(r *routine) {
	if i := slices.Index(p.routines, r); i >= 0 {
		p.routines = slices.Delete(p.routines, i, i+1)
	}
}

// crash ends all that the process does, wherever it stands.
func (p *process) crash() {
	p.world.note("crash of w%d.%d", p.number, p.lives)
	p.world.faults++
	routines := p.routines
	p.routines = nil
	for _, r := range routines {
		r.killed = true
		if r != p.world.running {
			r.stop()
		}
	}
	p.boot()
}

// at is a port: an effect on the outside. The process may crash just before it, and others get a turn.
func (w *world) at(what string) {
	r := w.running
	if r == nil {
		return // set-up and checks, outside any process
	}
	w.effects++
	if w.faulty() && w.chance(w.config.Rates.Crash) {
		w.note("%s: crash before %s", r.p.worker.Name, what)
		r.p.crash()
		panic(crashed{})
	}
	r.pause(w.latency())
	w.running = r
}

// latency is how long an effect takes.
func (w *world) latency() time.Duration {
	if w.faulty() && w.chance(w.config.Rates.Slow) {
		return w.between(time.Second, 90*time.Second)
	}
	return w.between(0, 20*time.Millisecond)
}

// clock is worker.Clock in virtual time.
type clock struct{ w *world }

// Now implements worker.Clock.
func (c clock) Now() int64 { return c.w.now }

// Every implements worker.Clock. A call of f is a routine of its own, in the process that asked.
func (c clock) Every(d time.Duration, f func()) (stop func()) {
	r := c.w.running
	if r == nil {
		return func() {}
	}
	p, lives, over := r.p, r.p.lives, false
	var again func()
	again = func() {
		if over || p.lives != lives {
			return
		}
		p.start(func(*routine) { f() }, func() { c.w.in(d, again) })
	}
	c.w.in(d, again)
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
