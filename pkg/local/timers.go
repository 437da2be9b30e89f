package local

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// window is how far ahead timers are kept in memory; later ones are found in the index when their time comes near.
const window = 10 * time.Minute

// timers fires at given times. It keeps only the earliest of an execution: whoever is woken arms the next.
type timers struct {
	clock func() int64
	fire  func(s eventstore.Stream)

	mu    sync.Mutex
	heap  alarms
	armed map[eventstore.Stream]*alarm
	moved chan struct{} // the earliest may have changed
}

type alarm struct {
	stream eventstore.Stream
	at     int64
	index  int
}

func newTimers(clock func() int64, fire func(eventstore.Stream)) *timers {
	return &timers{clock: clock, fire: fire, armed: map[eventstore.Stream]*alarm{}, moved: make(chan struct{}, 1)}
}

// Arm implements worker.Timers.
func (t *timers) Arm(_ context.Context, s eventstore.Stream, at int64, _ bool) error {
	if at > t.clock()+int64(window) {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch a := t.armed[s]; {
	case a == nil:
		a = &alarm{stream: s, at: at}
		t.armed[s] = a
		heap.Push(&t.heap, a)
	case at < a.at:
		a.at = at
		heap.Fix(&t.heap, a.index)
	default:
		return nil
	}
	select {
	case t.moved <- struct{}{}:
	default:
	}
	return nil
}

// run fires alarms until ctx ends.
func (t *timers) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(t.due())
		select {
		case <-ctx.Done():
			return
		case <-t.moved:
		case <-timer.C:
		}
	}
}

// due fires what is due and returns the time until the next.
func (t *timers) due() time.Duration {
	for {
		t.mu.Lock()
		if len(t.heap) == 0 {
			t.mu.Unlock()
			return time.Hour
		}
		if rest := t.heap[0].at - t.clock(); rest > 0 {
			t.mu.Unlock()
			return time.Duration(rest)
		}
		a := heap.Pop(&t.heap).(*alarm)
		delete(t.armed, a.stream)
		t.mu.Unlock()
		t.fire(a.stream)
	}
}

// alarms is a heap by time.
type alarms []*alarm

func (h alarms) Len() int           { return len(h) }
func (h alarms) Less(i, j int) bool { return h[i].at < h[j].at }
func (h alarms) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *alarms) Push(v any) {
	a := v.(*alarm)
	a.index = len(*h)
	*h = append(*h, a)
}

// Pop implements heap.Interface.
func (h *alarms) Pop() any {
	last := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = nil
	*h = (*h)[:len(*h)-1]
	return last
}
