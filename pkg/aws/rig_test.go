package aws

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/emulator"
	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/eventstore"
	store "github.com/wovyr/wovyr/pkg/eventstore/dynamodb"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/worker/machine"
	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

// rig is the handlers of a platform on services of the emulator. Nothing moves by itself: a test takes from the queues and the stream, and calls the
// handlers as Lambda would.
type rig struct {
	*testing.T
	*Platform
	cfg   sdk.Config
	kinds *activity.Registry
	clock *movedClock
	// written is what the functions write for CloudWatch.
	written lines
	wire    *wire
	stream  reader
}

const testTenant = "default"

var rigs atomic.Int64

// newRig makes tables, queues, buckets, a bus and a group of schedules as the stack has them, in an account of the test's own.
func newRig(t *testing.T, changes ...func(*Config)) *rig {
	t.Helper()
	r := &rig{T: t, cfg: emulator.Config(t), kinds: activity.NewRegistry(), clock: &movedClock{}, wire: &wire{}}
	plain := r.cfg // what the test itself does, no wire sees
	n := rigs.Add(1)
	names := store.TablesOf(fmt.Sprintf("rig-%d-", n))
	require.NoError(t, names.Create(t.Context(), awsdynamodb.NewFromConfig(plain)))
	queues := sqs.NewFromConfig(plain)
	c := Config{HistoryTable: names.History, CatalogueTable: names.Catalogue, IndexTable: names.Index, Class: worker.DefaultClass, Commits: true, Tenant: testTenant,
		InboxQueue: newQueue(t, queues, "inbox", true, stack.OrchestratorTimeout), TimersQueue: newQueue(t, queues, "timers", false, stack.TimerTimeout),
		EventsQueue: newQueue(t, queues, "events", false, stack.PublisherTimeout), TasksQueues: map[string]string{worker.DefaultClass: newQueue(t, queues, "tasks", false, stack.ActivityTimeout)},
		PayloadBucket: fmt.Sprintf("rig-%d-payloads-%d", n, time.Now().UnixNano()), ArchiveBucket: fmt.Sprintf("rig-%d-archive-%d", n, time.Now().UnixNano()),
		SchedulerGroup: "timers", SchedulerRole: "arn:aws:iam::000000000000:role/timers", Bus: "wovyr", Retention: 30 * 24 * time.Hour}
	objects := awss3.NewFromConfig(plain, func(o *awss3.Options) { o.UsePathStyle = true })
	for _, bucket := range []string{c.PayloadBucket, c.ArchiveBucket} {
		_, err := objects.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: &bucket})
		require.NoError(t, err)
	}
	_, err := eventbridge.NewFromConfig(plain).CreateEventBus(t.Context(), &eventbridge.CreateEventBusInput{Name: &c.Bus})
	require.NoError(t, err)
	_, err = scheduler.NewFromConfig(plain).CreateScheduleGroup(t.Context(), &scheduler.CreateScheduleGroupInput{Name: &c.SchedulerGroup})
	require.NoError(t, err)
	c.TimersQueueARN = r.arnOf(c.TimersQueue)
	for _, change := range changes {
		change(&c)
	}
	r.Platform = r.open(c)
	r.stream = reader{t: t, client: dynamodbstreams.NewFromConfig(plain), table: c.HistoryTable, tables: awsdynamodb.NewFromConfig(plain)}
	return r
}

// open makes another function's platform on the same services.
func (r *rig) open(c Config) *Platform {
	cfg := r.cfg
	cfg.APIOptions = append(slices.Clone(cfg.APIOptions), r.wire.install)
	p, err := New(context.Background(), c, Options{SDK: &cfg, Activities: r.kinds, Log: slog.New(slog.DiscardHandler), Metrics: &r.written})
	require.NoError(r, err)
	p.Worker.Clock, p.timers.clock, p.tasks.clock = r.clock, r.clock, r.clock
	return p
}

func (r *rig) arnOf(queue string) string {
	out, err := sqs.NewFromConfig(r.cfg).GetQueueAttributes(r.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &queue, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn}})
	require.NoError(r, err)
	return out.Attributes["QueueArn"]
}

// movedClock is the machine's clock, moved by a test.
type movedClock struct {
	machine.Clock
	by atomic.Int64
}

// Now implements worker.Clock.
func (c *movedClock) Now() int64 { return c.Clock.Now() + c.by.Load() }

func (c *movedClock) move(d time.Duration) { c.by.Add(int64(d)) }

// lines keeps what is written, for many writers.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// metric sums a metric up over all that was written.
func (l *lines) metric(t require.TestingT, name string) (sum float64, times int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &fields))
		if v, ok := fields[name].(float64); ok {
			sum, times = sum+v, times+1
		}
	}
	return sum, times
}

// wire sees each call of the platform, and can fail it.
type wire struct {
	mu    sync.Mutex
	calls []any
	// meddle is asked about each call first. What it returns takes the place of the service's answer, unless it is nil.
	meddle func(in any) (out any, err error)
	// after may change an answer.
	after func(in, out any)
}

func (w *wire) install(s *middleware.Stack) error {
	return s.Initialize.Add(middleware.InitializeMiddlewareFunc("wire", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		w.mu.Lock()
		w.calls = append(w.calls, in.Parameters)
		meddle, after := w.meddle, w.after
		w.mu.Unlock()
		if meddle != nil {
			if out, err := meddle(in.Parameters); out != nil || err != nil {
				return middleware.InitializeOutput{Result: out}, middleware.Metadata{}, err
			}
		}
		out, data, err := next.HandleInitialize(ctx, in)
		if after != nil && err == nil {
			after(in.Parameters, out.Result)
		}
		return out, data, err
	}), middleware.After)
}

// set changes what happens to calls.
func (w *wire) set(meddle func(in any) (any, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.meddle = meddle
}

// callsOf are the calls of a type so far.
func callsOf[T any](w *wire) []T {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []T
	for _, c := range w.calls {
		if in, ok := c.(T); ok {
			out = append(out, in)
		}
	}
	return out
}

func (w *wire) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = nil
}

// receive takes so many messages from a queue, in one event as Lambda makes it.
func (r *rig) receive(queue string, n int) events.SQSEvent {
	r.Helper()
	var e events.SQSEvent
	client := sqs.NewFromConfig(r.cfg)
	for range 50 {
		out, err := client.ReceiveMessage(r.Context(), &sqs.ReceiveMessageInput{QueueUrl: &queue, MaxNumberOfMessages: int32(min(10, n-len(e.Records))), WaitTimeSeconds: 1,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll}})
		require.NoError(r, err)
		for _, m := range out.Messages {
			e.Records = append(e.Records, events.SQSMessage{MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body, Attributes: m.Attributes, EventSource: "aws:sqs",
				EventSourceARN: "arn:aws:sqs:us-east-1:000000000000:" + queue[strings.LastIndexByte(queue, '/')+1:]})
		}
		if len(e.Records) == n {
			return e
		}
	}
	require.Fail(r, "the queue has no more", "%s: %d of %d", queue, len(e.Records), n)
	return e
}

// waiting is how many messages a queue holds that can be received now, and how many that are hidden or delayed.
func (r *rig) waiting(queue string) (visible, hidden int) {
	out, err := sqs.NewFromConfig(r.cfg).GetQueueAttributes(r.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &queue, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	require.NoError(r, err)
	count := func(name string) (n int) {
		_, err := fmt.Sscan(out.Attributes[name], &n)
		require.NoError(r, err)
		return n
	}
	return count("ApproximateNumberOfMessages"), count("ApproximateNumberOfMessagesNotVisible") + count("ApproximateNumberOfMessagesDelayed")
}

// acknowledge removes what an answer does not name, as Lambda does.
func (r *rig) acknowledge(queue string, e events.SQSEvent, answer events.SQSEventResponse) {
	m := mapping{client: sqs.NewFromConfig(r.cfg), url: queue}
	m.remove(r.Context(), e, answer)
}

// named are the IDs that an answer names.
func named(answer events.SQSEventResponse) []string {
	out := []string{}
	for _, f := range answer.BatchItemFailures {
		out = append(out, f.ItemIdentifier)
	}
	return out
}

// work lets the functions handle all that is in the queues and the stream, until nothing moves.
func (r *rig) work() {
	r.Helper()
	for moved := true; moved; {
		moved = false
		for _, q := range []struct {
			url    string
			handle func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)
		}{{r.config.InboxQueue, r.Orchestrator}, {r.config.TasksQueues[worker.DefaultClass], r.Activity}, {r.config.TimersQueue, timerOf(r.Platform)}} {
			for {
				visible, _ := r.waiting(q.url)
				if visible == 0 {
					break
				}
				e := r.receive(q.url, 1)
				answer, err := q.handle(r.Context(), e)
				require.NoError(r, err)
				r.acknowledge(q.url, e, answer)
				moved = true
			}
		}
	}
	r.publish()
}

// publish gives the publisher all that came to the stream, which must take it.
func (r *rig) publish() {
	r.Helper()
	if e := r.stream.changes(); len(e.Records) > 0 {
		require.Empty(r, r.PublishChanges(r.Context(), e).BatchItemFailures)
	}
}

// deploy compiles and deploys a workflow.
func (r *rig) deploy(text string) {
	r.Helper()
	def, diagnostics := dsl.Compile("test.yaml", []byte(text))
	require.NotNil(r, def, "%v", diagnostics)
	_, _, err := r.Worker.Deploy(r.Context(), testTenant, def)
	require.NoError(r, err)
}

// start starts a workflow and returns the execution's ID.
func (r *rig) start(name, input string) string {
	r.Helper()
	s, err := r.Worker.Start(r.Context(), worker.StartRequest{Tenant: testTenant, Workflow: name, Input: workflow.Value(input)})
	require.NoError(r, err)
	return s.Execution
}

// reader reads the stream of the history table as Lambda does.
type reader struct {
	t      *testing.T
	client *dynamodbstreams.Client
	tables *awsdynamodb.Client
	table  string
	read   map[string]*string
}

// changes are the new items since the last time, in their order, as an event of Lambda.
func (s *reader) changes() (e events.DynamoDBEvent) {
	ctx := context.Background()
	table, err := s.tables.DescribeTable(ctx, &awsdynamodb.DescribeTableInput{TableName: &s.table})
	require.NoError(s.t, err)
	arn := table.Table.LatestStreamArn
	out, err := s.client.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
	require.NoError(s.t, err)
	if s.read == nil {
		s.read = map[string]*string{}
	}
	for _, shard := range out.StreamDescription.Shards {
		in := &dynamodbstreams.GetShardIteratorInput{ShardId: shard.ShardId, StreamArn: arn, ShardIteratorType: streams.ShardIteratorTypeTrimHorizon}
		if last := s.read[*shard.ShardId]; last != nil {
			in.ShardIteratorType, in.SequenceNumber = streams.ShardIteratorTypeAfterSequenceNumber, last
		}
		it, err := s.client.GetShardIterator(ctx, in)
		require.NoError(s.t, err)
		for next := it.ShardIterator; next != nil; {
			records, err := s.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: next})
			require.NoError(s.t, err)
			if len(records.Records) == 0 {
				break
			}
			for _, record := range records.Records {
				s.read[*shard.ShardId] = record.Dynamodb.SequenceNumber
				if record.EventName == streams.OperationTypeInsert {
					e.Records = append(e.Records, recordOf(record))
				}
			}
			next = records.NextShardIterator
		}
	}
	return e
}

// recordOf is a record as Lambda hands it out.
func recordOf(r streams.Record) events.DynamoDBEventRecord {
	image := map[string]events.DynamoDBAttributeValue{}
	for name, v := range r.Dynamodb.NewImage { // order-free: a map again
		switch v := v.(type) {
		case *streams.AttributeValueMemberS:
			image[name] = events.NewStringAttribute(v.Value)
		case *streams.AttributeValueMemberN:
			image[name] = events.NewNumberAttribute(v.Value)
		case *streams.AttributeValueMemberB:
			image[name] = events.NewBinaryAttribute(v.Value)
		case *streams.AttributeValueMemberBOOL:
			image[name] = events.NewBooleanAttribute(v.Value)
		}
	}
	return events.DynamoDBEventRecord{EventID: *r.EventID, EventName: string(r.EventName), EventSource: "aws:dynamodb",
		Change: events.DynamoDBStreamRecord{NewImage: image, SequenceNumber: *r.Dynamodb.SequenceNumber, StreamViewType: "NEW_IMAGE"}}
}

// lateMessage and lateTask are messages to an execution that no longer waits for them.
func (r *rig) lateMessage(s eventstore.Stream, in workflow.Input) worker.Message {
	return worker.Message{ID: r.Worker.Entropy.ID(), Stream: s, Floor: 2, Input: in}
}

func (r *rig) lateTask(s eventstore.Stream) worker.Task {
	return worker.Task{ID: r.Worker.Entropy.ID(), Stream: s, Floor: 2, AttemptRef: workflow.AttemptRef{Step: "s0", Attempt: 1}, Class: worker.DefaultClass}
}

// commitOf is a first commit that holds an event.
func commitOf(t *testing.T, e workflow.Event) eventstore.Commit {
	data, err := codec.CBOR{}.Encode(&codec.Batch{At: 1, Workflow: "w", Worker: "test", Events: []workflow.Event{e}})
	require.NoError(t, err)
	return eventstore.Commit{First: 1, Last: 1, Nonce: eventstore.Nonce{1}, Data: data, Publish: true}
}
