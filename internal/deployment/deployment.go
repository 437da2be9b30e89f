package deployment

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/emulator"
	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/api"
	"github.com/wovyr/wovyr/pkg/aws"
	"github.com/wovyr/wovyr/pkg/aws/meter"
	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore"
	store "github.com/wovyr/wovyr/pkg/eventstore/dynamodb"
	"github.com/wovyr/wovyr/pkg/worker"
)

// Names of the functions; usage is counted by them.
const (
	functionAPI          = "api"
	functionOrchestrator = "orchestrator"
	functionActivity     = "activity"
	functionTimer        = "timer"
	functionPublisher    = "publisher"
)

// Functions are the stack's functions, as usage is labelled with them (meter.Label.Step).
var Functions = []string{functionAPI, functionActivity, functionOrchestrator, functionTimer, functionPublisher}

// Tenant is the tenant of all executions.
const Tenant = "default"

// Deployment is a whole deployment in one process.
type Deployment struct {
	t      testing.TB
	config aws.Config
	// plain is a configuration of the SDK whose calls are neither metered nor slept.
	plain      sdk.Config
	meter      *meter.Meter
	dice       *dice
	activities func(*activity.Registry) error

	functions map[string]*function
	mappings  map[string]*mapping // by the URL of their queue
	stream    *stream
	looker    *aws.Platform

	mu      sync.Mutex
	commits map[string]commits
	// hidden is how long messages were hidden last, by their receipt.
	hidden map[string]time.Duration
	busy   int
}

// commits are the times of commits of one execution.
type commits struct{ first, last time.Time }

// Run makes a deployment and calls scenario in virtual time, which begins now. activities adds what workflows may call, for each sandbox. seed makes
// the delays; the same seed makes nearly the same ones.
func Run(t *testing.T, seed uint64, activities func(*activity.Registry) error, scenario func(d *Deployment)) {
	d := &Deployment{t: t, activities: activities, meter: &meter.Meter{}, dice: newDice(seed), functions: map[string]*function{}, mappings: map[string]*mapping{},
		commits: map[string]commits{}, hidden: map[string]time.Duration{}}
	d.plain = emulator.Config(t)
	d.make()
	d.plain.HTTPClient = newBridge(t, d.plain.HTTPClient)
	now := time.Now()
	synctest.Test(t, func(t *testing.T) {
		d.t = t
		time.Sleep(time.Until(now)) // a bubble begins in the year 2000, for which signatures and times to live are not made
		d.open()
		scenario(d)
		d.Settle()
	})
}

// make makes what the stack makes.
func (d *Deployment) make() {
	ctx := context.Background()
	names := store.TablesOf("wovyr-")
	require.NoError(d.t, names.Create(ctx, dynamodb.NewFromConfig(d.plain)))
	objects := awss3.NewFromConfig(d.plain, func(o *awss3.Options) { o.UsePathStyle = true })
	payloads, archive := "wovyr-payloads-"+strings.ToLower(rand.Text()), "wovyr-archive-"+strings.ToLower(rand.Text()) // buckets share one name space
	for _, bucket := range []string{payloads, archive} {
		_, err := objects.CreateBucket(ctx, &awss3.CreateBucketInput{Bucket: &bucket})
		require.NoError(d.t, err)
	}
	_, err := eventbridge.NewFromConfig(d.plain).CreateEventBus(ctx, &eventbridge.CreateEventBusInput{Name: sdk.String("wovyr")})
	require.NoError(d.t, err)
	queues := sqs.NewFromConfig(d.plain)
	queue := func(name string, fifo bool, hidden time.Duration) string {
		attributes := map[string]string{"VisibilityTimeout": strconv.Itoa(int(hidden.Seconds()))}
		if fifo {
			name += ".fifo"
			attributes["FifoQueue"], attributes["DeduplicationScope"], attributes["FifoThroughputLimit"] = "true", "messageGroup", "perMessageGroupId"
		}
		out, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
		require.NoError(d.t, err)
		return *out.QueueUrl
	}
	d.config = aws.Config{
		HistoryTable: names.History, CatalogueTable: names.Catalogue, IndexTable: names.Index, PayloadBucket: payloads, ArchiveBucket: archive,
		InboxQueue: queue("inbox", true, stack.OrchestratorTimeout), TimersQueue: queue("timers", false, stack.TimerTimeout), EventsQueue: queue("events", false, stack.PublisherTimeout),
		TasksQueues:    map[string]string{worker.DefaultClass: queue("tasks", false, stack.ActivityTimeout)},
		TimersQueueARN: "arn:aws:sqs:us-east-1:000000000000:timers", SchedulerGroup: "default", SchedulerRole: "arn:aws:iam::000000000000:role/timers", Bus: "wovyr",
		Class: worker.DefaultClass, Commits: true, URL: "https://wovyr.example", Tenant: Tenant, TokenKey: "key", SecretsPrefix: "wovyr/", Retention: 30 * 24 * time.Hour,
	}
}

// open makes functions and mappings, in the bubble.
func (d *Deployment) open() {
	d.function(functionAPI, stack.APITimeout, func(p *aws.Platform) handler {
		return p.HTTP(func(c aws.Caller) http.Handler {
			s := &api.Server{Worker: p.Worker, Ask: p.Ask, Tenant: c.Tenant, Principal: c.Principal, Tokens: p.Tokens, Log: p.Log}
			return s.Handler()
		})
	})
	d.function(functionOrchestrator, stack.OrchestratorTimeout, func(p *aws.Platform) handler { return ofMessages(p.Orchestrator) })
	d.function(functionActivity, stack.ActivityTimeout, func(p *aws.Platform) handler { return ofMessages(p.Activity) })
	d.function(functionTimer, stack.TimerTimeout, func(p *aws.Platform) handler { return p.Timer })
	d.function(functionPublisher, stack.PublisherTimeout, func(p *aws.Platform) handler { return p.Publisher })
	d.mapping(functionOrchestrator, d.config.InboxQueue, stack.InboxBatch)
	d.mapping(functionActivity, d.config.TasksQueues[worker.DefaultClass], stack.OwnTasksBatch)
	d.mapping(functionTimer, d.config.TimersQueue, stack.TimersBatch)
	d.mapping(functionPublisher, d.config.EventsQueue, stack.EventsBatch)
	d.stream = newStream(d)
	d.looker = d.platform(d.plain)
}

// platform makes a platform with the activities of the test.
func (d *Deployment) platform(c sdk.Config) *aws.Platform {
	kinds := activity.NewRegistry()
	require.NoError(d.t, d.activities(kinds))
	p, err := aws.New(context.Background(), d.config, aws.Options{SDK: &c, Log: slog.New(slog.DiscardHandler), Metrics: io.Discard, Activities: kinds})
	require.NoError(d.t, err)
	return p
}

// Inspect reads an execution, past everything that is metered.
func (d *Deployment) Inspect(id string) *worker.Snapshot {
	s, err := d.looker.Worker.Inspect(context.Background(), eventstore.Stream{Tenant: Tenant, ID: id})
	require.NoError(d.t, err)
	return s
}

// History reads the history of an execution, past everything that is metered.
func (d *Deployment) History(id string) []worker.HistoryEvent {
	var out []worker.HistoryEvent
	for {
		after := uint64(0)
		if n := len(out); n > 0 {
			after = out[n-1].Version
		}
		page, err := d.looker.Worker.History(context.Background(), eventstore.Stream{Tenant: Tenant, ID: id}, after, eventstore.MaxPage)
		require.NoError(d.t, err)
		if len(page) == 0 {
			return out
		}
		out = append(out, page...)
	}
}

// settled is longer than anything waits that is not a timer of a workflow: windows of batches, messages put back.
const settled = 10 * time.Second

// Settle waits until nothing is under way any more.
func (d *Deployment) Settle() {
	for {
		time.Sleep(settled)
		d.mu.Lock()
		busy := d.busy
		d.mu.Unlock()
		if busy == 0 {
			return
		}
	}
}

// under counts something that is under way, until the returned function is called.
func (d *Deployment) under() func() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy++
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.busy--
	}
}

// Usage is what was used since the last call, by function.
func (d *Deployment) Usage() map[string]meter.Usage {
	out := map[string]meter.Usage{}
	for _, l := range d.meter.Labels() {
		out[l.Step] = d.meter.Usage(l)
	}
	d.meter.Reset()
	return out
}
