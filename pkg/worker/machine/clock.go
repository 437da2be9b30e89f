package machine

import (
	"sync"
	"time"
)

// Clock is the clock of this machine. It implements worker.Clock.
type Clock struct{}

// Now implements worker.Clock.
func (Clock) Now() int64 { return time.Now().UnixNano() }

// Every implements worker.Clock. It costs no goroutine until the first call of f: most steps end before.
func (Clock) Every(d time.Duration, f func()) (stop func()) {
	r := &repeater{d: d, f: f}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer = time.AfterFunc(d, r.fire)
	return r.stop
}

type repeater struct {
	d     time.Duration
	f     func()
	mu    sync.Mutex
	timer *time.Timer
	over  bool
}

func (r *repeater) fire() {
	r.f()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.timer.Reset(r.d)
	}
}

func (r *repeater) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.timer.Stop()
}
