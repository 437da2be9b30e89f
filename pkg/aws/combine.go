package aws

import (
	"context"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// combiner sends what many hands of one function send to a queue at the same time in as few calls as it can. Nobody waits for company: who comes while
// nothing is under way sends at once, and who comes meanwhile goes with the next call. What one hand sends stays together and in its order.
type combiner struct {
	mu      sync.Mutex
	under   bool
	waiting []*load
}

// load is what one hand sends: err is the outcome once done is closed.
type load struct {
	entries []types.SendMessageBatchRequestEntry
	done    chan struct{}
	err     error
}

// send returns when the entries are safe with the queue, or when ctx ends: then they may be sent all the same.
func (c *combiner) send(ctx context.Context, q queue, entries []types.SendMessageBatchRequestEntry) error {
	p := &load{entries: entries, done: make(chan struct{})}
	c.mu.Lock()
	if c.under {
		c.waiting = append(c.waiting, p)
	} else {
		c.under = true
		go c.work(context.WithoutCancel(ctx), q, []*load{p}) // by nobody's hand: others depend on it when this one gives up
	}
	c.mu.Unlock()
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(x *load) bool { return x == p })
	return passing("send", ctx.Err())
}

// work sends what is there, and then what came meanwhile, until nobody waits. It has an end, for each call of a queue has one.
func (c *combiner) work(ctx context.Context, q queue, mine []*load) {
	for len(mine) > 0 {
		err := q.send(ctx, all(mine))
		for _, x := range mine {
			x.err = err
			close(x.done)
		}
		c.mu.Lock()
		mine, c.waiting = c.waiting, nil
		c.under = len(mine) > 0
		c.mu.Unlock()
	}
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
