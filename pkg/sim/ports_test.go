package sim

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/worker/porttest"
)

// TestPorts runs the contract of the ports on the simulated platform: what the simulator says of the worker holds only for platforms that keep
// the same.
func TestPorts(t *testing.T) {
	traits := porttest.Traits{Virtual: true, Exact: true, Grain: time.Millisecond, Late: time.Second, Patience: 24 * time.Hour, Visibility: visibility,
		Receives: maxReceives, CountsAll: true, Classes: classes[:]}
	porttest.Run(t, traits, openPorts(1, Rates{}))
}

// TestPortsUnderFaults: queues that deliver twice and late, as real ones may.
func TestPortsUnderFaults(t *testing.T) {
	traits := porttest.Traits{Virtual: true, Patience: 24 * time.Hour, Visibility: visibility, Receives: maxReceives, CountsAll: true, Classes: classes[:]}
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			porttest.Run(t, traits, openPorts(seed, Rates{Duplicate: 4, Slow: 25}))
		})
	}
}

// openPorts runs tests as a routine of a process, with the suite as consumer.
func openPorts(seed uint64, rates Rates) porttest.Open {
	return func(t *testing.T, c porttest.Consumer, test func(*testing.T, porttest.Platform)) {
		w := newWorld(Config{Seed: seed, Processes: [...]int{2, 1, 1}, Rates: rates, Faults: math.MaxInt64 / 2})
		w.consumer = suite{c}
		w.bootAll()
		defer w.close()
		home, over := w.processes[classDefault][0], false
		home.start(func(*routine) {
			test(t, porttest.Platform{
				Inbox: inbox{w}, Tasks: tasks{w}, Timers: timers{w}, Clock: clock{home}, Entropy: entropy{w},
				Pass: func(d time.Duration) { w.running.pause(d) },
				Go:   func(f func()) { home.start(func(*routine) { f() }, func() {}) },
			})
		}, func() { over = true })
		for !over && w.step() {
		}
	}
}

// suite lets the contract suite answer.
type suite struct{ porttest.Consumer }

func (s suite) messages(_ *process, to eventstore.Stream, messages []worker.Message) []worker.Answer {
	return s.Inbox(background(), to, messages)
}

func (s suite) task(at *process, d worker.Delivery) worker.Answer {
	return s.Task(background(), classes[at.class], d)
}

func (s suite) gaveUp(m *worker.Message, t *worker.Task, cause error) error {
	if m != nil {
		return s.BuryMessage(context.Background(), *m, cause)
	}
	return s.BuryTask(context.Background(), *t, cause)
}
