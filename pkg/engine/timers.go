package engine

import (
	"github.com/wovyr/wovyr/pkg/workflow"
)

// timers is a heap of the earliest deadline of each open step that has one. Deadlines at the same time come in the
// order of their paths, so that the order never depends on history.
type timers struct{ heap []*timer }

// timer is an entry; the open step holds it, so that it can be moved.
type timer struct {
	at   int64
	path string
	pos  int
}

func (t *timer) before(u *timer) bool {
	if t.at != u.at {
		return t.at < u.at
	}
	return t.path < u.path
}

// set enters, moves or removes the deadline of an open step.
func (h *timers) set(path string, o *workflow.OpenStep) {
	at := earliest(o)
	t, _ := o.Derived.(*timer)
	switch {
	case t == nil && at == 0:
	case t == nil:
		t = &timer{at: at, path: path, pos: len(h.heap)}
		o.Derived = t
		h.heap = append(h.heap, t)
		h.up(t.pos)
	case at == 0:
		h.remove(t)
		o.Derived = nil
	case at != t.at:
		t.at = at
		h.up(t.pos)
		h.down(t.pos)
	}
}

// drop removes the deadline of a step that is no longer open.
func (h *timers) drop(o *workflow.OpenStep) {
	if t, _ := o.Derived.(*timer); t != nil {
		h.remove(t)
		o.Derived = nil
	}
}

func (h *timers) remove(t *timer) {
	last := len(h.heap) - 1
	i := t.pos
	h.swap(i, last)
	h.heap = h.heap[:last]
	if i < last {
		h.up(i)
		h.down(i)
	}
}

func (h *timers) swap(i, j int) {
	h.heap[i], h.heap[j] = h.heap[j], h.heap[i]
	h.heap[i].pos, h.heap[j].pos = i, j
}

func (h *timers) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.heap[i].before(h.heap[parent]) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h *timers) down(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h.heap); c++ {
			if h.heap[c].before(h.heap[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}

// first returns the earliest deadline, or nil.
func (h *timers) first() *timer {
	if len(h.heap) == 0 {
		return nil
	}
	return h.heap[0]
}

// earliest returns the earliest deadline of an open step, 0 if it has none.
func earliest(o *workflow.OpenStep) int64 {
	at := o.ScheduleBy
	for _, t := range [...]int64{o.TimeoutAt, o.WaitBy, o.WakeAt} {
		at = sooner(at, t)
	}
	if o.Task != nil {
		if len(o.Task.Remind) > 0 {
			at = sooner(at, o.Task.Remind[0])
		}
		if len(o.Task.Escalate) > 0 {
			at = sooner(at, o.Task.Escalate[0])
		}
	}
	return at
}

// sooner returns the earlier of two times, of which zero is none.
func sooner(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
