package aws

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/emulator"
	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/memory"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/worker/porttest"
)

// TestPorts runs the contract of the ports on SQS and EventBridge Scheduler, in real time.
func TestPorts(t *testing.T) {
	const visibility = 4 * time.Second
	classes := []string{worker.DefaultClass, "gpu-large"}
	traits := porttest.Traits{Grain: time.Second, Patience: time.Minute, Visibility: visibility, MaxHidden: 12 * time.Hour, Receives: stack.MaxFailures, CountsAll: true, Classes: classes}
	porttest.Run(t, traits, func(t *testing.T, c porttest.Consumer, test func(*testing.T, porttest.Platform)) {
		t.Parallel() // real time is mostly waiting
		cfg := emulator.Config(t)
		client := sqs.NewFromConfig(cfg)
		config := Config{HistoryTable: "h", CatalogueTable: "c", IndexTable: "i", PayloadBucket: "p", TasksQueues: map[string]string{}, Class: worker.DefaultClass, Commits: true,
			InboxQueue: newQueue(t, client, "inbox", true, visibility), TimersQueue: newQueue(t, client, "timers", false, visibility), SchedulerGroup: "default",
			SchedulerRole: "arn:aws:iam::000000000000:role/timers", TimersQueueARN: "arn:aws:sqs:us-east-1:000000000000:timers"}
		for _, class := range classes {
			config.TasksQueues[class] = newQueue(t, client, "tasks-"+class, false, visibility)
		}
		payloads := memory.NewPayloads(0)
		p := openPlatform(t, cfg, config, c, payloads)
		mappings := []mapping{{client, config.InboxQueue, stack.InboxBatch, p.Orchestrator}, {client, config.TimersQueue, stack.TimersBatch, timerOf(p)}}
		for class, url := range config.TasksQueues {
			own := config
			own.Class = class
			mappings = append(mappings, mapping{client, url, stack.TasksBatch, openPlatform(t, cfg, own, c, payloads).Activity})
		}
		poll(t, 3, mappings...)
		test(t, porttest.Platform{Inbox: p.inbox, Tasks: p.tasks, Timers: p.timers, Clock: p.Worker.Clock, Entropy: p.Worker.Entropy,
			Pass: func(d time.Duration) { <-time.After(d) }, Go: func(f func()) { go f() }})
	})
}

// openPlatform makes a platform whose messages go to the consumer of a test.
func openPlatform(t *testing.T, cfg sdk.Config, c Config, consumer porttest.Consumer, payloads eventstore.PayloadStore) *Platform {
	p, err := New(context.Background(), c, Options{SDK: &cfg, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	p.metrics = newMetrics(io.Discard, "")
	p.bodies = bodies{payloads}
	p.inbox.bodies, p.tasks.bodies = p.bodies, p.bodies
	p.Worker.Limits.Lease, p.Worker.Limits.Retry = 3*time.Second, time.Second // a task is hidden for both together
	p.hands = hands{consumer.Inbox, func(ctx context.Context, d worker.Delivery) worker.Answer { return consumer.Task(ctx, c.Class, d) }, consumer.BuryMessage, consumer.BuryTask}
	return p
}
