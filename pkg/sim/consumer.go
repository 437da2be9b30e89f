package sim

import (
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
)

// consumer is who handles what the queues hand out: the workers, or the contract suite of the ports.
type consumer interface {
	messages(at *process, s eventstore.Stream, messages []worker.Message) []worker.Answer
	task(at *process, d worker.Delivery) worker.Answer
	// gaveUp hears that a queue has handed something out too often: one of the two is not nil. An error leaves it in the queue.
	gaveUp(m *worker.Message, t *worker.Task, cause error) error
}

// workers lets the worker of each process do the work. That a queue gives up is a violation: in a simulation all faults pass.
type workers struct{ w *world }

func (c workers) messages(at *process, s eventstore.Stream, messages []worker.Message) []worker.Answer {
	return at.worker.HandleInbox(background(), s, messages)
}

func (c workers) task(at *process, d worker.Delivery) worker.Answer {
	return at.worker.HandleTask(background(), d)
}

func (c workers) gaveUp(m *worker.Message, t *worker.Task, cause error) error {
	if m != nil {
		c.w.violation("%s: the queue gave up on %s: %v", m.Stream.ID, name(*m), cause)
	} else {
		c.w.violation("%s: the queue gave up on the task of %s after %d receives", t.Stream.ID, t.Step, maxReceives)
	}
	return nil
}
