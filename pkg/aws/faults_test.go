package aws

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/awsproxy"
	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

var (
	faultSeed  = flag.Uint64("faultseed", 1, "the first seed of TestWorkersUnderFaults")
	faultSeeds = flag.Int("faultseeds", 1, "how many seeds TestWorkersUnderFaults runs")
	unswept    = flag.Bool("unswept", false, "TestWorkersUnderFaults: nobody sweeps, so what is owed must come again by itself")
)

// TestWorkersUnderFaults runs several workers on one set of tables and queues while their calls fail in every way and they themselves are cut off in the
// middle of calls, again and again. Then faults stop: every execution ends, every history is one unbroken chain, no step is completed twice, and none took effect
// more often than it was run.
func TestWorkersUnderFaults(t *testing.T) {
	for i := range *faultSeeds {
		seed := *faultSeed + uint64(i)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { newCrowd(t, seed).live() })
	}
}

// crowd is several workers, each of which is replaced when it is cut off.
type crowd struct {
	*rig
	seed    uint64
	proxy   *awsproxy.Proxy
	faults  *awsproxy.Faults
	through sdk.Config
	faulty  atomic.Bool
	cuts    atomic.Int32

	mu   sync.Mutex
	done map[string]int
}

// crowdFlow mixes a chain that runs eagerly with branches, a wait and a retry.
const crowdFlow = `
dsl: wovyr/v1
name: crowd
output: '${ steps.last.output.n }'
steps:
  s1: { function: work, with: { n: 1 } }
  s2: { needs: [ s1 ], function: work, with: { n: 2 } }
  s3: { needs: [ s2 ], function: work, with: { n: 3 } }
  left: { needs: [ s3 ], function: work, with: { n: 4 } }
  right: { needs: [ s3 ], function: moody, with: { n: 5 }, retry: { attempts: 5, strategy: fixed, delay: 100ms } }
  nap: { needs: [ left ], timer: { for: 1s } }
  last: { needs: [ nap, right ], function: work, with: { n: '${ steps.left.output.n + steps.right.output.n }' } }
`

var crowdSteps = []string{"s1", "s2", "s3", "left", "right", "last"}

func newCrowd(t *testing.T, seed uint64) *crowd {
	c := &crowd{rig: newRig(t), seed: seed, done: map[string]int{}}
	proxy, err := awsproxy.Start(*c.cfg.BaseEndpoint)
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	c.proxy, c.faults = proxy, &awsproxy.Faults{Rate: 0.1, Outages: 0.002, Longest: time.Second, Kinds: slices.DeleteFunc(slices.Clone(awsproxy.AllFaults), func(f awsproxy.Fault) bool {
		return f == awsproxy.Killed // workers of this process are cut off instead
	})}
	c.faults.Seed(seed)
	c.through = c.cfg
	c.through.BaseEndpoint, c.through.AppID = &proxy.URL, "Crowd"
	var moods sync.Map
	effect := func(ctx context.Context, _ map[string]any) (any, error) {
		task := activity.Info(ctx)
		c.mu.Lock()
		c.done[task.IdempotencyKey]++
		c.mu.Unlock()
		return map[string]int{"n": task.Attempt}, nil
	}
	c.function("work", effect)
	c.function("moody", func(ctx context.Context, in map[string]any) (any, error) {
		if _, before := moods.LoadOrStore(activity.Info(ctx).IdempotencyKey, true); !before {
			return nil, activity.Unavailable("moody", "not now")
		}
		return effect(ctx, in)
	})
	c.deploy(crowdFlow)
	for _, url := range []string{c.config.InboxQueue, c.config.TimersQueue, c.tasksQueue()} {
		_, err := sqs.NewFromConfig(c.cfg).SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: map[string]string{"VisibilityTimeout": "5"}})
		require.NoError(t, err)
	}
	return c
}

// worker makes another worker on the same services.
func (c *crowd) worker() *Platform {
	p, err := New(context.Background(), c.config, Options{SDK: &c.through, Activities: c.kinds, Log: slog.New(slog.DiscardHandler), Metrics: &c.written})
	require.NoError(c, err)
	p.Worker.Limits.Lease, p.Worker.Limits.Retry = 3*time.Second, time.Second
	return p
}

// live runs all of it.
func (c *crowd) live() {
	ctx, stop := context.WithCancel(context.WithoutCancel(c.Context()))
	var group sync.WaitGroup
	c.Cleanup(func() { stop(); group.Wait() })
	c.faulty.Store(true)
	c.proxy.Suffer(c.faults)
	const workers, executions = 3, 12
	for i := range workers {
		group.Go(func() { c.liveAndDie(ctx, rand.New(rand.NewPCG(c.seed, uint64(i)))) })
	}
	group.Go(func() { c.publishing(ctx) })
	ids := make([]string, executions)
	p := c.worker()
	for i := range ids {
		require.Eventually(c, func() bool { // the same key finds the same execution
			s, err := p.Worker.Start(ctx, worker.StartRequest{Tenant: testTenant, Workflow: "crowd", Key: fmt.Sprint("k", i), Input: workflow.Value("{}")})
			ids[i] = s.Execution
			return err == nil
		}, time.Minute, 100*time.Millisecond)
	}
	<-time.After(4 * time.Second) // faults go on for a time
	c.proxy.Suffer(nil)
	c.faulty.Store(false)
	c.Logf("seed %d: faults %v, %d workers cut off", c.seed, c.faults.Counts(), c.cuts.Load())
	for _, id := range ids {
		require.Eventually(c, func() bool {
			s, err := c.Worker.Inspect(ctx, eventstore.Stream{Tenant: testTenant, ID: id})
			return err == nil && s.State.Status.Terminal()
		}, 3*time.Minute, 200*time.Millisecond, "%s does not end", id)
	}
	c.check(ctx, ids)
}

// liveAndDie plays the mappings of a worker until it is cut off, and then those of its successor.
func (c *crowd) liveAndDie(ctx context.Context, dice *rand.Rand) {
	plain := sqs.NewFromConfig(c.cfg)
	for ctx.Err() == nil {
		p := c.worker()
		life, end := context.WithCancel(ctx)
		var death *time.Timer
		if c.faulty.Load() {
			death = time.AfterFunc(time.Duration(dice.Int64N(int64(2*time.Second))), func() {
				if c.faulty.Load() {
					c.cuts.Add(1)
					end()
				}
			})
		}
		// A worker that is cut off acknowledges nothing.
		dying := func(handle func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
			return func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
				answer, err := handle(ctx, e)
				return answer, errors.Join(err, life.Err())
			}
		}
		var group sync.WaitGroup
		for _, m := range []mapping{
			{plain, c.config.InboxQueue, stack.InboxBatch, dying(p.Orchestrator)}, {plain, c.config.TimersQueue, stack.TimersBatch, dying(timerOf(p))},
			{plain, c.tasksQueue(), stack.TasksBatch, dying(p.Activity)}, {plain, c.tasksQueue(), stack.TasksBatch, dying(p.Activity)},
		} {
			group.Go(func() { m.poll(life) })
		}
		group.Wait()
		if death != nil {
			death.Stop()
		}
		end()
	}
}

// publishing gives the publisher the changes of the stream, from the first that it names on again, and sweeps.
func (c *crowd) publishing(ctx context.Context) {
	again := time.NewTicker(500 * time.Millisecond)
	defer again.Stop()
	p := c.worker()
	var pending []events.DynamoDBEventRecord
	for {
		pending = append(pending, c.stream.changes().Records...)
		if len(pending) > 0 {
			answer := p.PublishChanges(ctx, events.DynamoDBEvent{Records: pending})
			done := len(pending)
			for _, f := range answer.BatchItemFailures {
				done = slices.IndexFunc(pending, func(r events.DynamoDBEventRecord) bool { return r.Change.SequenceNumber == f.ItemIdentifier })
			}
			pending = pending[done:]
		}
		if !*unswept {
			_, _ = p.Sweep(ctx) // what it could not look at it looks at next time
		}
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
	}
}

// check looks at what is there when everything has ended.
func (c *crowd) check(ctx context.Context, ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	started := map[string]int{}
	for _, id := range ids {
		s := eventstore.Stream{Tenant: testTenant, ID: id}
		_, err := eventstore.Verify(ctx, c.Store, s)
		require.NoError(c, err)
		history, err := c.Worker.History(ctx, s, 0, eventstore.MaxPage)
		require.NoError(c, err)
		completed := map[string]bool{}
		version := uint64(0)
		for _, e := range history {
			version++
			require.Equal(c, version, e.Version)
			switch e := e.Event.(type) {
			case workflow.ActivityStarted:
				started[id+"/"+e.Step]++
			case workflow.ActivityCompleted:
				require.False(c, completed[e.Step], "%s of %s was completed twice", e.Step, id)
				completed[e.Step] = true
			}
		}
		if c.status(id) != "Completed" {
			state, err := c.Worker.Inspect(ctx, s)
			require.NoError(c, err)
			require.Equal(c, "infrastructure.recoveries", state.State.Error.Code, "the only way to fail: workers were lost too often")
			c.Logf("%s lost its worker too often", id)
			continue
		}
		for _, step := range crowdSteps {
			require.NotZero(c, c.done[id+"/"+step], "%s of %s took no effect", step, id)
		}
	}
	for key, n := range c.done { // order-free: each key for itself
		require.LessOrEqual(c, n, started[key], "%s took effect more often than it was run", key)
	}
	letters, _, err := c.Store.DeadLetters(ctx, testTenant, eventstore.Page{Limit: 10})
	require.NoError(c, err)
	require.Empty(c, letters)
}
