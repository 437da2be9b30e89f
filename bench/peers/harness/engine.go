package harness

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Kind is the shape of a workflow whose steps do nothing but call Steps.Ran.
type Kind string

// The kinds. All return the sum of what their steps returned, which is 1 each.
const (
	// Sequence is n steps, one after the other.
	Sequence Kind = "sequence"
	// Fan is n steps at once and their merge.
	Fan Kind = "fan"
	// Park is n steps in a row and then, for k of 1 and 2: a call of Steps.Parked, a wait for signal k, and one more step.
	Park Kind = "park"
)

// Engine is an engine with a worker in this process.
type Engine interface {
	// Run starts a workflow of n steps under an ID that was never used and returns its result.
	Run(ctx context.Context, kind Kind, n int, id string) (sum int, err error)
	// Park starts a workflow of kind Park and returns at once.
	Park(ctx context.Context, n int, id string) error
	// Signal lets a workflow go on that is parked for the kth time.
	Signal(ctx context.Context, id string, k int) error
}

// Restarter is the other half of an engine: its worker can be stopped, with all that it has in memory, and started again.
type Restarter interface {
	Stop() error
	Start() error
}

// Steps is the clock that the steps of all workflows report to: it stands in the process that runs them, so no network is in
// the times. Safe for concurrent use.
type Steps struct {
	mu     sync.Mutex
	runs   map[string]*run
	signal map[string]chan struct{}
}

// run is what is known of the steps of one workflow.
type run struct {
	first, last time.Time
	count       int
}

// NewSteps makes a clock that nobody has reported to.
func NewSteps() *Steps { return &Steps{runs: map[string]*run{}, signal: map[string]chan struct{}{}} }

// Ran reports that a step of a workflow runs now, and returns what the step is to return.
func (s *Steps) Ran(id string) int {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[id]
	if r == nil {
		r = &run{first: now}
		s.runs[id] = r
	}
	r.last = now
	r.count++
	s.tell(id)
	return 1
}

// Parked reports that a workflow is about to wait for signal k. A replay may say so again.
func (s *Steps) Parked(id string, k int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(parked(id, k))
}

func parked(id string, k int) string { return fmt.Sprintf("%s parked %d", id, k) }

// told returns a channel that is closed at the next report about a name.
func (s *Steps) told(name string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := make(chan struct{})
	s.signal[name] = c
	return c
}

func (s *Steps) tell(name string) {
	if c := s.signal[name]; c != nil {
		close(c)
		delete(s.signal, name)
	}
}

// take returns what is known of a workflow's steps and forgets it.
func (s *Steps) take(id string) run {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[id]
	delete(s.runs, id)
	if r == nil {
		return run{}
	}
	return *r
}
