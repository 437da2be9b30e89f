package local

import (
	"sync"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// maxWatched bounds the executions that somebody waits for. Who waits for more is woken and looks again.
const maxWatched = 10_000

// hub tells those who wait that an execution has moved.
type hub struct {
	mu      sync.Mutex
	waiting map[eventstore.Stream]chan struct{}
}

func newHub() *hub { return &hub{waiting: map[eventstore.Stream]chan struct{}{}} }

func (h *hub) moved(s eventstore.Stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c, ok := h.waiting[s]; ok {
		close(c)
		delete(h.waiting, s)
	}
}

func (h *hub) watch(s eventstore.Stream) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c, ok := h.waiting[s]; ok {
		return c
	}
	if len(h.waiting) >= maxWatched {
		for _, c := range h.waiting { // order-free: all are woken
			close(c)
		}
		clear(h.waiting)
	}
	c := make(chan struct{})
	h.waiting[s] = c
	return c
}

// Watch returns a channel that is closed when the execution has moved next. Look at the execution after the call, not before.
func (p *Platform) Watch(s eventstore.Stream) <-chan struct{} { return p.hub.watch(s) }
