package aws

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore"
	store "github.com/wovyr/wovyr/pkg/eventstore/dynamodb"
	"github.com/wovyr/wovyr/pkg/eventstore/s3"
	"github.com/wovyr/wovyr/pkg/secret"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/worker/machine"
)

// Platform is one function's part of a deployment: a worker on the services of AWS, and the handlers that feed it.
type Platform struct {
	Worker *worker.Worker
	Store  *store.Store
	Log    *slog.Logger

	hands  hands
	config Config
	inbox  *inbox
	// incoming is the queue of events from outside.
	incoming queue
	// unpublished is the queue of what the publisher could not handle. sdk is for clients that few functions need.
	unpublished queue
	replayDelay time.Duration
	sdk         sdk.Config
	tasks       *tasks
	timers      *timers
	bodies      bodies
	events      *eventbridge.Client
	tokens      *tokenKey
	issued      *issued
	metrics     *metrics
}

// hands are what handlers give messages to: functions of the worker, or those of the contract suite of its ports.
type hands struct {
	inbox       func(ctx context.Context, s eventstore.Stream, messages []worker.Message) []worker.Answer
	task        func(ctx context.Context, d worker.Delivery) worker.Answer
	buryMessage func(ctx context.Context, m worker.Message, cause error) error
	buryTask    func(ctx context.Context, t worker.Task, cause error) error
}

// Options are the choices of a function's main.
type Options struct {
	// Activities are the kinds and functions that the function runs; nil: none.
	Activities *activity.Registry
	// SDK is the configuration of the AWS SDK; nil: that of the environment.
	SDK *sdk.Config
	Log *slog.Logger
	// Metrics is where metrics go, in CloudWatch's embedded metric format; nil: standard output, which is the function's log.
	Metrics io.Writer
}

// Setup makes the platform that a function's environment describes. It calls no service: what a message does not need is not paid for with
// its cold start.
func Setup(ctx context.Context, o Options) (*Platform, error) {
	c, err := FromEnvironment()
	if err != nil {
		return nil, err
	}
	p, err := New(ctx, c, o)
	if err == nil {
		secret.Standard(p.Log) // the function is the process
	}
	return p, err
}

// New makes a platform of a configuration.
func New(ctx context.Context, c Config, o Options) (*Platform, error) {
	if o.SDK == nil {
		loaded, err := config.LoadDefaultConfig(ctx)
		if err != nil {
			return nil, fmt.Errorf("aws: configuration of the SDK: %w", err)
		}
		o.SDK = &loaded
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: c.LogLevel}))
	}
	if o.Metrics == nil {
		o.Metrics = os.Stdout
	}
	if o.Activities == nil {
		o.Activities = activity.NewRegistry()
	}
	secrets := secretsmanager.NewFromConfig(*o.SDK)
	values := vault(secrets, ssm.NewFromConfig(*o.SDK), c.SecretsPrefix)
	o.Log = slog.New(secret.Handler(o.Log.Handler(), values.MaskAll))
	p := &Platform{Log: o.Log, config: c, sdk: *o.SDK, events: eventbridge.NewFromConfig(*o.SDK), metrics: newMetrics(o.Metrics, c.Bus), replayDelay: defaultReplayDelay}
	objects := awss3.NewFromConfig(*o.SDK, func(s *awss3.Options) { s.UsePathStyle = o.SDK.BaseEndpoint != nil })
	payloads := s3.New(objects, c.PayloadBucket)
	p.Store = store.New(dynamodb.NewFromConfig(*o.SDK), store.Tables{History: c.HistoryTable, Catalogue: c.CatalogueTable, Index: c.IndexTable}, store.Options{Tombstones: stack.Tombstones})
	queues := sqs.NewFromConfig(*o.SDK)
	p.bodies = bodies{payloads}
	p.inbox = &inbox{queue: queue{queues, c.InboxQueue}, bodies: p.bodies}
	p.incoming, p.unpublished = queue{queues, c.EventsQueue}, queue{queues, c.UnpublishedQueue}
	p.tasks = &tasks{queues: map[string]queue{}, fair: c.TenantClaim != "", bodies: p.bodies, clock: machine.Clock{}}
	for class, url := range c.TasksQueues { // order-free: a map again
		p.tasks.queues[class] = queue{queues, url}
	}
	p.timers = &timers{queue: queue{queues, c.TimersQueue}, clock: machine.Clock{}, scheduler: scheduler.NewFromConfig(*o.SDK),
		group: c.SchedulerGroup, role: c.SchedulerRole, queueARN: c.TimersQueueARN}
	p.tokens = &tokenKey{client: secrets, id: c.TokenKey}
	p.issued = &issued{base: c.URL, came: map[issue]callback{}}
	var addresses worker.Links = &links{base: c.URL, tokens: p.tokens}
	if p.tasks.links = addresses; !c.Commits {
		addresses = p.issued
	}
	limits := worker.DefaultLimits()
	limits.Retention, limits.Crowd = c.Retention, besideMany
	p.Worker = &worker.Worker{
		Name: "aws/" + machine.Entropy{}.ID(), Class: c.Class, Commits: c.Commits,
		Store: &archiving{Store: p.Store, objects: objects, bucket: c.ArchiveBucket, metrics: p.metrics}, Payloads: payloads, Programs: worker.NewPrograms(p.Store),
		Clock: machine.Clock{}, Entropy: machine.Entropy{}, Inbox: p.inbox, Tasks: p.tasks, Timers: p.timers,
		Activities: o.Activities, Route: c.route, Memory: memoryOf, Secrets: values, Links: addresses,
		SparseRows: true, Announces: announces, Limits: limits, Log: p.Log,
	}
	if err := p.Worker.Init(); err != nil {
		return nil, err
	}
	p.Worker.Redelivers = map[string]func(context.Context, eventstore.DeadLetter) error{queueEvents: p.takeInAgain}
	p.hands = hands{p.Worker.HandleInbox, p.Worker.HandleTask, p.Worker.BuryMessage, p.Worker.BuryTask}
	return p, nil
}

// besideMany is beside how many tasks of its execution a task commits its result itself. Functions run in sandboxes that do not see each other: of a
// hundred results at once, each would read the history and most would write in vain, at a hundred times the price of a merge.
const besideMany = 3

// memoryOf implements worker.Worker.Memory. Classes of users have what they have: their functions know it.
func memoryOf(class string) int64 {
	if class == worker.DefaultClass {
		return stack.ActivityMemory << 20
	}
	return 0
}

var _ worker.Store = (*archiving)(nil)
var _ eventstore.PayloadStore = (*s3.Store)(nil)
