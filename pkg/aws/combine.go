package aws

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// combiner sends what many hands of one function send to a queue at the same time in as few calls as it can. Nobody waits for company: who comes while
// nothing is under way sends at once, and who comes meanwhile goes with the next call. What one hand sends stays together and in its order.
type combiner struct {
	mu    sync.Mutex
	under bool
	next  []*load // of whom the first sends, once what is under way has ended
}

// load is what one hand sends.
type load struct {
	entries []types.SendMessageBatchRequestEntry
	done    chan struct{}
	err     error
	// leads is closed when its hand is to send for all that wait; else done is, with err.
	leads chan struct{}
}

// send returns when the entries are safe with the queue.
func (c *combiner) send(ctx context.Context, q queue, entries []types.SendMessageBatchRequestEntry) error {
	p := &load{entries: entries, done: make(chan struct{}), leads: make(chan struct{})}
	c.mu.Lock()
	c.next = append(c.next, p)
	if c.under {
		c.mu.Unlock()
		select {
		case <-p.done:
			return p.err
		case <-p.leads:
		}
		c.mu.Lock()
	}
	c.under = true
	mine := c.next
	c.next = nil
	c.mu.Unlock()
	err := q.send(context.WithoutCancel(ctx), all(mine)) // others depend on it
	c.mu.Lock()
	if c.under = len(c.next) > 0; c.under {
		close(c.next[0].leads)
	}
	c.mu.Unlock()
	for _, x := range mine {
		x.err = err
		close(x.done)
	}
	return err
}

func all(loads []*load) []types.SendMessageBatchRequestEntry {
	if len(loads) == 1 {
		return loads[0].entries
	}
	var out []types.SendMessageBatchRequestEntry
	for _, p := range loads {
		out = append(out, p.entries...)
	}
	return out
}
