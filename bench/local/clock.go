package main

import (
	"sync"
	"time"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// clock notes when the steps of executions begin and return and when commits are durable. Safe for concurrent use.
type clock struct {
	mu  sync.Mutex
	all map[string]*execution
}

// execution is what is known of one execution.
type execution struct {
	first, last time.Time // the first begin of a step, and the last
	scheduled   map[string]time.Time
	returned    time.Time // of a step, until its commit is durable
	committed   bool      // that commit is

	// queued is from the commit that schedules an activity to its begin: through the queue, if it was not started in the same commit.
	queued []float64
	// next is from the return of a step to the begin of the next.
	next []float64
	// transitions are from the return of a step until what it led to is durable: decide, apply, append.
	transitions []float64
}

func newClock() *clock { return &clock{all: map[string]*execution{}} }

// of returns the entry of an execution. The caller holds mu.
func (c *clock) of(id string) *execution {
	x := c.all[id]
	if x == nil {
		x = &execution{scheduled: map[string]time.Time{}}
		c.all[id] = x
	}
	return x
}

// begins notes that a step runs.
func (c *clock) begins(id, step string) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.of(id)
	if x.first.IsZero() {
		x.first = now
	}
	x.last = now
	if at, ok := x.scheduled[step]; ok {
		x.queued = append(x.queued, ms(now.Sub(at)))
		delete(x.scheduled, step)
	}
	if !x.returned.IsZero() {
		x.next = append(x.next, ms(now.Sub(x.returned)))
	}
	x.returned = time.Time{}
}

// returns notes that a step has come to its result.
func (c *clock) returns(id string) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.of(id)
	x.returned, x.committed = now, false
}

// commits notes that events are durable.
func (c *clock) commits(id string, events []workflow.Recorded) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.of(id)
	if !x.returned.IsZero() && !x.committed {
		x.transitions, x.committed = append(x.transitions, ms(now.Sub(x.returned))), true
	}
	for _, r := range events {
		switch e := r.Event.(type) {
		case workflow.ActivityScheduled:
			x.scheduled[e.Step] = now
		case workflow.ActivityStarted:
			delete(x.scheduled, e.Step) // eagerly, or long ago
		}
	}
}

// take returns what is known of an execution and forgets it.
func (c *clock) take(id string) *execution {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.of(id)
	delete(c.all, id)
	return x
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
