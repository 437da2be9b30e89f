package aws

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	schedulertypes "github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// stillClock stands still.
type stillClock struct {
	movedClock
	now int64
}

func (c *stillClock) Now() int64 { return c.now }

// TestArm arms timers at any time. What the queue can delay it delays, by whole seconds that are never too few nor more than AWS takes; what lies
// further ahead becomes an entry that fires 1 to 13 minutes early, once, and goes; coarse ones beyond are the sweep's.
func TestArm(t *testing.T) {
	r := newRig(t)
	now := time.Now().UnixNano()
	clock := &stillClock{now: now}
	r.timers.clock = clock
	r.wire.set(func(in any) (any, error) { // what is asked for is looked at, not what comes of it
		switch in.(type) {
		case *sqs.SendMessageBatchInput:
			return &sqs.SendMessageBatchOutput{}, nil
		case *scheduler.CreateScheduleInput:
			return &scheduler.CreateScheduleOutput{}, nil
		}
		return nil, nil
	})
	rapid.Check(t, func(t *rapid.T) {
		r.wire.forget()
		s := eventstore.Stream{Tenant: anyText(t, "tenant"), ID: anyText(t, "execution")}
		ahead := time.Duration(rapid.OneOf(rapid.Int64Range(int64(-time.Hour), int64(time.Hour)), rapid.Int64Range(0, int64(20*365*24*time.Hour))).Draw(t, "ahead"))
		coarse := rapid.Bool().Draw(t, "coarse")
		at := now + int64(ahead)
		require.NoError(t, r.timers.Arm(context.Background(), s, at, coarse))
		sends, entries := callsOf[*sqs.SendMessageBatchInput](r.wire), callsOf[*scheduler.CreateScheduleInput](r.wire)
		switch {
		case ahead <= stack.MaxDelay:
			require.Empty(t, entries)
			require.Len(t, sends, 1)
			e := sends[0].Entries[0]
			require.GreaterOrEqual(t, time.Duration(e.DelaySeconds)*time.Second, ahead)
			require.Less(t, time.Duration(e.DelaySeconds)*time.Second, max(ahead, 0)+time.Second)
			require.LessOrEqual(t, e.DelaySeconds, int32(900))
			require.Nil(t, e.MessageGroupId)
			a, err := parseAlarm(*e.MessageBody)
			require.NoError(t, err)
			require.Equal(t, alarm{s.Tenant, s.ID, at}, a)
		case coarse:
			require.Empty(t, sends)
			require.Empty(t, entries)
		default:
			require.Empty(t, sends)
			require.Len(t, entries, 1)
			e := entries[0]
			when, err := time.Parse("at(2006-01-02T15:04:05)", *e.ScheduleExpression)
			require.NoError(t, err)
			require.GreaterOrEqual(t, at-when.UnixNano(), int64(leastEarly))
			require.Less(t, at-when.UnixNano(), int64(mostEarly+time.Second))
			require.Greater(t, when.UnixNano(), now, "AWS takes no entry of the past")
			require.Equal(t, schedulertypes.ActionAfterCompletionDelete, e.ActionAfterCompletion)
			require.Equal(t, schedulertypes.FlexibleTimeWindowModeOff, e.FlexibleTimeWindow.Mode)
			require.Nil(t, e.ScheduleExpressionTimezone)
			require.Regexp(t, `^[0-9a-zA-Z_.-]{1,64}$`, *e.Name)
			require.Equal(t, "timers", *e.GroupName)
			require.NotContains(t, *e.Target.Input, "<aws.scheduler", "nothing that the service would have to put in")
			a, err := parseAlarm(*e.Target.Input)
			require.NoError(t, err)
			require.Equal(t, alarm{s.Tenant, s.ID, at}, a)
			require.NoError(t, r.timers.Arm(context.Background(), s, at+1, false))
			require.NotEqual(t, *e.Name, *callsOf[*scheduler.CreateScheduleInput](r.wire)[1].Name)
		}
	})
}

// TestAnEarlyTimerIsDelayedAgain follows a timer from 40 minutes ahead: each message is as late as the queue can, and one tick comes of it.
func TestAnEarlyTimerIsDelayedAgain(t *testing.T) {
	r := newRig(t)
	due := r.clock.Now() + int64(40*time.Minute)
	body, err := alarm{testTenant, "x", due}.body()
	require.NoError(t, err)
	e := batchOf(recordFor(body, "", 1))
	var delays []int32
	for range 10 {
		r.wire.forget()
		answer, err := r.Timer(t.Context(), encoded(t, e))
		require.NoError(t, err)
		require.Empty(t, answer.(events.SQSEventResponse).BatchItemFailures)
		sends := callsOf[*sqs.SendMessageBatchInput](r.wire)
		require.Len(t, sends, 1)
		if *sends[0].QueueUrl == r.config.InboxQueue {
			break
		}
		require.Equal(t, r.config.TimersQueue, *sends[0].QueueUrl)
		require.Equal(t, body, *sends[0].Entries[0].MessageBody, "the same timer")
		delays = append(delays, sends[0].Entries[0].DelaySeconds)
		r.clock.move(time.Duration(delays[len(delays)-1]) * time.Second)
	}
	require.Len(t, delays, 3)
	require.Equal(t, []int32{900, 900}, delays[:2])
	require.InDelta(t, 600, delays[2], 30)
	require.GreaterOrEqual(t, r.clock.Now(), due, "never early")
	got := r.receive(r.config.InboxQueue, 1)
	m, err := r.bodies.message(t.Context(), got.Records[0].Body)
	require.NoError(t, err)
	require.Equal(t, workflow.Tick{}, m.Input)
	require.Equal(t, eventstore.Stream{Tenant: testTenant, ID: "x"}, m.Stream)
}

func encoded(t require.TestingT, v any) json.RawMessage {
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return text
}

// TestTimersThatFail come again, and others of their batch do not; what is none is buried.
func TestTimersThatFail(t *testing.T) {
	r := newRig(t)
	var records []events.SQSMessage
	for _, x := range []string{"a", "b"} {
		body, err := alarm{testTenant, x, 1}.body()
		require.NoError(t, err)
		records = append(records, recordFor(body, "", 3))
	}
	records = append(records, recordFor("poison", "", 1))
	r.wire.set(func(in any) (any, error) {
		if send, ok := in.(*sqs.SendMessageBatchInput); ok && *send.Entries[0].MessageGroupId == groupOf(eventstore.Stream{Tenant: testTenant, ID: "b"}) {
			return nil, errors.New("throttled")
		}
		return answerHides(in)
	})
	answer, err := r.Timer(t.Context(), encoded(t, batchOf(records...)))
	require.NoError(t, err)
	require.Equal(t, []string{"m1"}, named(answer.(events.SQSEventResponse)))
	require.Equal(t, map[string]int32{"r1": 8}, r.hidden())
	letters, _, err := r.Store.DeadLetters(t.Context(), testTenant, eventstore.Page{})
	require.NoError(t, err)
	require.Len(t, letters, 1)
	require.Equal(t, "timers", letters[0].Queue)
}

// TestAnEntryFiresOnceAndGoes lets the Scheduler itself fire an entry: what it sends is the timer as it was armed, and the entry is gone.
func TestAnEntryFiresOnceAndGoes(t *testing.T) {
	t.Parallel() // it waits for the emulator's scheduler
	r := newRig(t)
	client := scheduler.NewFromConfig(r.cfg)
	s := eventstore.Stream{Tenant: testTenant, ID: "x"}
	r.clock.move(-14 * time.Minute) // so that the entry, at least 2 minutes ahead of this clock, is due by the emulator's
	at := r.clock.Now() + int64(stack.MaxDelay+time.Second)
	for range 2 { // as commits do that are decided anew
		require.NoError(t, r.timers.Arm(t.Context(), s, at, false))
	}
	page, err := client.ListSchedules(t.Context(), &scheduler.ListSchedulesInput{GroupName: &r.config.SchedulerGroup})
	require.NoError(t, err)
	require.Len(t, page.Schedules, 1)
	got := r.receive(r.config.TimersQueue, 1)
	a, err := parseAlarm(got.Records[0].Body)
	require.NoError(t, err)
	require.Equal(t, alarm{testTenant, "x", at}, a)
	require.Eventually(t, func() bool {
		page, err := client.ListSchedules(t.Context(), &scheduler.ListSchedulesInput{GroupName: &r.config.SchedulerGroup})
		return err == nil && len(page.Schedules) == 0
	}, time.Minute, 100*time.Millisecond)
	require.NoError(t, r.timers.Arm(t.Context(), s, at, false), "a late repeat is harmless")
}

var sweepEvent = json.RawMessage(`{"wovyr":"` + stack.SweepEvent + `"}`)

func (r *rig) sweep() Swept {
	r.Helper()
	out, err := r.Timer(r.Context(), sweepEvent)
	require.NoError(r, err)
	r.publish()
	return out.(Swept)
}

// TestTheSweepRepairsAndReports loses a task again and again: the sweep sends it again, less and less often, and in the end says that the execution is
// stuck. When its task is handled at last, it ends.
func TestTheSweepRepairsAndReports(t *testing.T) {
	t.Parallel() // it waits for the emulator
	r := newRig(t)
	r.function("work", func(context.Context, map[string]any) (any, error) { return nil, nil })
	r.deploy(oneStep)
	x := r.start("one", "{}")
	lose := func() {
		e := r.receive(r.tasksQueue(), 1)
		r.acknowledge(r.tasksQueue(), e, events.SQSEventResponse{})
	}
	lose()
	r.publish()
	require.Zero(t, r.sweep().Looked, "it is not overdue yet")
	limit := int(r.Worker.Limits.Repairs)
	for n := range limit {
		r.clock.move(2 * time.Hour)
		swept := r.sweep()
		require.Equal(t, 1, swept.Repaired, "repair %d", n)
		require.Zero(t, swept.Stuck)
		lose()
	}
	stuck, _ := r.written.metric(t, stack.MetricStuck)
	require.Zero(t, stuck)
	r.clock.move(2 * time.Hour)
	require.Equal(t, 1, r.sweep().Stuck)
	stuck, _ = r.written.metric(t, stack.MetricStuck)
	require.EqualValues(t, 1, stuck)
	repaired, _ := r.written.metric(t, stack.MetricRepaired)
	require.EqualValues(t, limit+1, repaired)
	r.work()
	require.Equal(t, "Completed", r.status(x))
	r.clock.move(2 * time.Hour)
	require.Zero(t, r.sweep().Looked)
}

// TestShardsThatFailHoldUpNoOther breaks one shard's read: the others are swept, and the metric says that one was not.
func TestShardsThatFailHoldUpNoOther(t *testing.T) {
	r := newRig(t)
	r.function("work", func(context.Context, map[string]any) (any, error) { return nil, nil })
	r.deploy(oneStep)
	for range 6 {
		r.start("one", "{}")
	}
	r.publish()
	r.clock.move(time.Hour)
	broken := 0
	r.wire.set(func(in any) (any, error) {
		if q, ok := in.(*awsdynamodb.QueryInput); ok && sdk.ToString(q.IndexName) == schema.IndexDue && q.ExpressionAttributeValues[":h"].(*types.AttributeValueMemberN).Value == "13" {
			broken++
			return nil, errors.New("throttled")
		}
		return nil, nil
	})
	swept := r.sweep()
	require.Equal(t, 1, swept.Unfinished)
	require.GreaterOrEqual(t, swept.Looked, 5)
	n, times := r.written.metric(t, stack.MetricUnswept)
	require.EqualValues(t, 1, n)
	require.Equal(t, 1, times)
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	out, err := r.Timer(ctx, sweepEvent)
	require.NoError(t, err)
	require.Equal(t, eventstore.Shards, out.(Swept).Unfinished, "a sweep that has no time says so")
}

// TestEachShardIsPurgedOnceAnHour and in no minute more than two of them.
func TestEachShardIsPurgedOnceAnHour(t *testing.T) {
	begin := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	times := map[int]int{}
	for minute := range 60 {
		n := 0
		for shard := range eventstore.Shards {
			if purges(shard, begin.Add(time.Duration(minute)*time.Minute)) {
				times[shard]++
				n++
			}
		}
		require.LessOrEqual(t, n, 2)
	}
	require.Len(t, times, eventstore.Shards)
	for shard, n := range times {
		require.Equal(t, 1, n, shard)
	}
}

// purgeNow sweeps in the next minute in which this execution's shard is purged.
func (r *rig) purgeNow(s eventstore.Stream) Swept {
	r.Helper()
	for range 60 {
		if purges(s.Shard(), time.Unix(0, r.clock.Now())) {
			return r.sweep()
		}
		r.clock.move(time.Minute)
	}
	require.Fail(r, "no minute is the shard's")
	return Swept{}
}

// archived reads the archive of an execution: the commits of each object.
func (r *rig) archived(s eventstore.Stream) (histories [][]eventstore.Commit) {
	client := awss3.NewFromConfig(r.cfg, func(o *awss3.Options) { o.UsePathStyle = true })
	page, err := client.ListObjectsV2(r.Context(), &awss3.ListObjectsV2Input{Bucket: &r.config.ArchiveBucket})
	require.NoError(r, err)
	for _, o := range page.Contents {
		require.Regexp(r, `^histories/`+testTenant+`/`+s.ID+`/[0-9a-f]{32}\.jsonl\.gz$`, *o.Key)
		out, err := client.GetObject(r.Context(), &awss3.GetObjectInput{Bucket: &r.config.ArchiveBucket, Key: o.Key})
		require.NoError(r, err)
		zip, err := gzip.NewReader(out.Body)
		require.NoError(r, err)
		var commits []eventstore.Commit
		for lines := json.NewDecoder(zip); ; {
			var l archivedCommit
			if err := lines.Decode(&l); errors.Is(err, io.EOF) {
				break
			}
			require.NoError(r, err)
			c := eventstore.Commit{First: l.First, Last: l.Last, Checkpoint: l.Checkpoint, Data: l.Data}
			copy(c.Nonce[:], l.Nonce)
			_, err := hex.Decode(c.Prev[:], []byte(l.Previous))
			require.NoError(r, err)
			commits = append(commits, c)
		}
		histories = append(histories, commits)
	}
	return histories
}

// TestArchivedBeforeItIsRemoved ends the retention of an execution: its history lies in the archive, whole and verifiable, and what comes late finds it
// gone.
func TestArchivedBeforeItIsRemoved(t *testing.T) {
	r := newRig(t)
	r.function("work", func(_ context.Context, in map[string]any) (any, error) { return strings.Repeat("r", 20_000), nil })
	var text strings.Builder
	text.WriteString("dsl: wovyr/v1\nname: chain\nsteps:\n  s0: { function: work }\n")
	for i := 1; i < 8; i++ {
		fmt.Fprintf(&text, "  s%d: { needs: [s%d], function: work }\n", i, i-1)
	}
	r.deploy(text.String())
	s := eventstore.Stream{Tenant: testTenant, ID: r.start("chain", "{}")}
	r.work()
	require.Equal(t, "Completed", r.status(s.ID))
	history, err := r.Store.Page(t.Context(), s, 0, 0)
	require.NoError(t, err)
	require.Greater(t, len(history), 5)
	require.Zero(t, r.purgeNow(s).Purged, "its retention is not over")
	r.clock.move(r.config.Retention)

	// The purge breaks off when it has removed the end of the history.
	removals := 0
	r.wire.set(func(in any) (any, error) {
		w, ok := in.(*awsdynamodb.BatchWriteItemInput)
		if !ok {
			return nil, nil
		}
		requests := w.RequestItems[r.config.HistoryTable]
		if !strings.HasPrefix(requests[0].DeleteRequest.Key[schema.Partition].(*types.AttributeValueMemberS).Value, schema.CommitPartition) {
			return nil, nil
		}
		removals++
		_, err := awsdynamodb.NewFromConfig(r.cfg).BatchWriteItem(t.Context(), &awsdynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{r.config.HistoryTable: requests[:3]}})
		require.NoError(t, err)
		return nil, errors.New("throttled")
	})
	require.Zero(t, r.purgeNow(s).Purged)
	require.Positive(t, removals)
	r.wire.set(nil)
	left, err := r.Store.Page(t.Context(), s, 0, 0)
	require.NoError(t, err)
	require.NotEmpty(t, left)
	require.Less(t, len(left), len(history))

	require.Equal(t, 1, r.purgeNow(s).Purged)
	archives := r.archived(s)
	require.Len(t, archives, 1)
	require.Len(t, archives[0], len(history), "the whole history, not what was left of it")
	require.Equal(t, history[len(history)-1].Hash(s), archives[0][len(history)-1].Hash(s))
	for i, c := range archives[0][1:] {
		require.Equal(t, archives[0][i].Hash(s), c.Prev, "its chain of hashes can be checked")
	}
	head, err := r.Store.Head(t.Context(), s)
	require.NoError(t, err)
	require.Zero(t, head)

	// What comes late: a tick, a task, a start of the same name, a record of the stream.
	require.NoError(t, r.inbox.Send(t.Context(), r.lateMessage(s, workflow.Tick{})))
	require.NoError(t, r.tasks.Send(t.Context(), r.lateTask(s)))
	r.work()
	for _, queue := range []string{r.config.InboxQueue, r.tasksQueue()} {
		visible, hidden := r.waiting(queue)
		require.Zero(t, visible+hidden, "nothing comes again and again for what is gone")
	}
	head, err = r.Store.Head(t.Context(), s)
	require.NoError(t, err)
	require.Zero(t, head)
	_, err = r.Store.Row(t.Context(), s)
	require.ErrorIs(t, err, eventstore.ErrNotFound)
	var purged *eventstore.PurgedError
	require.ErrorAs(t, r.Store.Append(t.Context(), s, eventstore.Commit{First: 1, Last: 1, Nonce: eventstore.Nonce{9}, Data: []byte{1}}, nil), &purged)

	// The tombstones go by themselves, by the attribute that the tables' time to live reads.
	for _, table := range []string{r.config.HistoryTable, r.config.IndexTable} {
		out, err := awsdynamodb.NewFromConfig(r.cfg).Scan(t.Context(), &awsdynamodb.ScanInput{TableName: &table})
		require.NoError(t, err)
		found := false
		for _, i := range out.Items {
			if p := i[schema.Partition].(*types.AttributeValueMemberS).Value; !strings.HasSuffix(p, s.ID) {
				continue
			}
			found = true
			require.Contains(t, i, schema.Expires, table)
		}
		require.True(t, found, table)
	}
}
