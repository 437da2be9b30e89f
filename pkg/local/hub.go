package local

import (
	"sync"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// hub tells those who wait that an execution has moved.
type hub struct {
	mu      sync.Mutex
	waiting map[eventstore.Stream][]chan struct{}
}

func (h *hub) moved(s eventstore.Stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.waiting[s] {
		close(c)
	}
	delete(h.waiting, s)
}

// Watch returns a channel that is closed when the execution has moved next. Look at the execution after the call, not before.
func (p *Platform) Watch(s eventstore.Stream) <-chan struct{} {
	c := make(chan struct{})
	p.hub.mu.Lock()
	defer p.hub.mu.Unlock()
	p.hub.waiting[s] = append(p.hub.waiting[s], c)
	return c
}
