package aws

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

func (r *rig) function(name string, f func(ctx context.Context, in map[string]any) (any, error)) {
	require.NoError(r, r.kinds.Functions.Add(activity.Func(name, f)))
}

func (r *rig) tasksQueue() string { return r.config.TasksQueues[worker.DefaultClass] }

func (r *rig) status(execution string) string {
	state, err := r.Worker.Inspect(r.Context(), eventstore.Stream{Tenant: testTenant, ID: execution})
	require.NoError(r, err)
	return state.State.Status.String()
}

const oneStep = "dsl: wovyr/v1\nname: one\nsteps: { a: { function: work } }\n"

// TestALeaseIsTheVisibility looks at a task while it runs: it is hidden for its lease, not for as long as the function might run, and for longer with
// each heartbeat.
func TestALeaseIsTheVisibility(t *testing.T) {
	t.Parallel() // it waits for the emulator
	r := newRig(t)
	begun, end := make(chan struct{}), make(chan struct{})
	r.function("work", func(context.Context, map[string]any) (any, error) { close(begun); <-end; return nil, nil })
	r.deploy(oneStep)
	r.Worker.Limits.Lease, r.Worker.Limits.Retry = 3*time.Second, time.Second
	x := r.start("one", "{}")
	e := r.receive(r.tasksQueue(), 1)
	answered := make(chan events.SQSEventResponse)
	go func() {
		answer, err := r.Activity(t.Context(), e)
		if err != nil {
			t.Error(err)
		}
		answered <- answer
	}()
	<-begun
	hides := func() []*sqs.ChangeMessageVisibilityInput { return callsOf[*sqs.ChangeMessageVisibilityInput](r.wire) }
	require.Eventually(t, func() bool { return len(hides()) >= 3 }, time.Minute, 50*time.Millisecond, "heartbeats")
	close(end)
	require.Empty(t, (<-answered).BatchItemFailures)
	require.EqualValues(t, 4, hides()[0].VisibilityTimeout, "the lease, and a little more")
	for _, h := range hides() {
		require.Equal(t, e.Records[0].ReceiptHandle, *h.ReceiptHandle)
		require.LessOrEqual(t, h.VisibilityTimeout, int32(4))
		require.GreaterOrEqual(t, h.VisibilityTimeout, int32(3))
	}
	require.Equal(t, "Completed", r.status(x))
}

// TestReceivedTwice hands a task out twice, as a standard queue may: the second one waits for the lease of the first, and does nothing.
func TestReceivedTwice(t *testing.T) {
	r := newRig(t)
	begun, end := make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	r.function("work", func(context.Context, map[string]any) (any, error) { calls.Add(1); close(begun); <-end; return nil, nil })
	r.deploy(oneStep)
	x := r.start("one", "{}")
	e := r.receive(r.tasksQueue(), 1)
	answered := make(chan events.SQSEventResponse)
	go func() {
		answer, err := r.Activity(t.Context(), e)
		if err != nil {
			t.Error(err)
		}
		answered <- answer
	}()
	<-begun
	again := e
	again.Records = append([]events.SQSMessage{}, e.Records...)
	again.Records[0].Attributes = map[string]string{"ApproximateReceiveCount": "2"}
	other := r.open(r.config) // another sandbox of the function
	answer, err := other.Activity(t.Context(), again)
	require.NoError(t, err)
	require.Equal(t, []string{e.Records[0].MessageId}, named(answer))
	hides := callsOf[*sqs.ChangeMessageVisibilityInput](r.wire)
	last := hides[len(hides)-1].VisibilityTimeout
	require.Positive(t, last, "put back for the rest of the lease, never at once")
	require.LessOrEqual(t, last, int32(r.Worker.Limits.Lease.Seconds()))
	close(end)
	require.Empty(t, (<-answered).BatchItemFailures)
	answer, err = other.Activity(t.Context(), again)
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures, "a duplicate of what is done is acknowledged")
	require.EqualValues(t, 1, calls.Load())
	require.Equal(t, "Completed", r.status(x))
}

// TestHandsOverInTime runs a chain that takes longer than a function may: after half of the time the rest goes into the queue.
func TestHandsOverInTime(t *testing.T) {
	r := newRig(t)
	var calls int
	r.function("work", func(context.Context, map[string]any) (any, error) {
		calls++
		r.clock.move(100 * time.Second)
		return nil, nil
	})
	var text strings.Builder
	text.WriteString("dsl: wovyr/v1\nname: chain\nsteps:\n  s0: { function: work }\n")
	const steps = 12
	for i := 1; i < steps; i++ {
		fmt.Fprintf(&text, "  s%d: { needs: [s%d], function: work }\n", i, i-1)
	}
	r.deploy(text.String())
	x := r.start("chain", "{}")
	invocations := 0
	for calls < steps {
		before := calls
		ctx, cancel := context.WithTimeout(t.Context(), stack.ActivityTimeout+time.Duration(r.clock.by.Load())) // a new function's deadline, on the moved clock
		e := r.receive(r.tasksQueue(), 1)
		answer, err := r.Activity(ctx, e)
		cancel()
		require.NoError(t, err)
		require.Empty(t, answer.BatchItemFailures)
		r.acknowledge(r.tasksQueue(), e, answer)
		require.LessOrEqual(t, calls-before, 5, "half of 15 minutes, and the step in which it ends")
		invocations++
	}
	require.Equal(t, 3, invocations)
	require.Equal(t, "Completed", r.status(x))
	visible, hidden := r.waiting(r.tasksQueue())
	require.Zero(t, visible+hidden)
}

// TestCutOff lets a function run out of time in the middle of an activity: the attempt comes back, is given up when its lease is over, and made again
// under a new fence.
func TestCutOff(t *testing.T) {
	t.Parallel() // it waits for the emulator
	r := newRig(t)
	var calls int
	r.function("work", func(ctx context.Context, _ map[string]any) (any, error) {
		if calls++; calls == 1 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return "done", nil
	})
	r.deploy(oneStep)
	x := r.start("one", "{}")
	e := r.receive(r.tasksQueue(), 1)
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	answer, err := r.Activity(ctx, e)
	require.NoError(t, err)
	require.NoError(t, ctx.Err(), "before Lambda cuts it off")
	require.Equal(t, []string{e.Records[0].MessageId}, named(answer))
	require.Equal(t, "Running", r.status(x))
	r.clock.move(r.Worker.Limits.Lease)
	e.Records[0].Attributes = map[string]string{"ApproximateReceiveCount": "2"}
	answer, err = r.Activity(t.Context(), e)
	require.NoError(t, err)
	require.Len(t, answer.BatchItemFailures, 1, "it stays the guard until the attempt has been decided")
	r.work()
	require.Equal(t, "Completed", r.status(x))
	require.Equal(t, 2, calls)
	answer, err = r.Activity(t.Context(), e)
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	require.Equal(t, 2, calls)
}

// TestTasksThatFail are buried with their cause after so many receives. A class of a user's own code writes no dead letter: its queue gives the task up.
func TestTasksThatFail(t *testing.T) {
	r := newRig(t)
	r.wire.set(answerHides)
	task := worker.Task{ID: "t1", Stream: eventstore.Stream{Tenant: testTenant, ID: "x"}, AttemptRef: workflow.AttemptRef{Step: "a", Attempt: 1}, Class: worker.DefaultClass}
	body, err := r.bodies.ofTask(t.Context(), task, nil)
	require.NoError(t, err)
	handle := func(p *Platform, body string, receives int, cause error) (again int) {
		p.hands.task = func(context.Context, worker.Delivery) worker.Answer {
			return worker.Answer{After: time.Second, Err: cause}
		}
		answer, err := p.Activity(t.Context(), batchOf(recordFor(body, "", receives)))
		require.NoError(t, err)
		return len(answer.BatchItemFailures)
	}
	letters := func() []string {
		list, _, err := r.Store.DeadLetters(t.Context(), testTenant, eventstore.Page{})
		require.NoError(t, err)
		var out []string
		for _, l := range list {
			out = append(out, l.Queue+" "+l.Code+" "+l.Execution)
		}
		return out
	}
	class := r.config
	class.Class, class.Commits = "gpu", false
	class.TasksQueues = map[string]string{"gpu": r.tasksQueue()}
	own := r.open(class)
	for _, test := range []struct {
		p        *Platform
		receives int
		cause    error
		again    int
		letters  []string
	}{
		{r.Platform, stack.MaxReceives - 1, errPassing, 1, nil},
		{r.Platform, stack.MaxFailures - 1, errors.New("own"), 1, nil},
		{own, stack.MaxReceives - 1, errors.New("own"), 1, nil},
		{r.Platform, stack.MaxFailures, errors.New("own"), 0, []string{"tasks/default failing.Task x"}},
	} {
		require.Equal(t, test.again, handle(test.p, body, test.receives, test.cause))
		require.Equal(t, test.letters, letters())
	}
	require.Equal(t, 1, handle(own, "poison", 1, nil), "its role could not bury it")
	require.Zero(t, handle(r.Platform, "poison", 1, nil))
	require.Contains(t, letters(), "tasks unreadable ")
}

// TestATaskOfWeeksAgo sends a task again whose claim is long gone, as an operator may who redrives the dead letters of a queue again and again: what is
// done is not done twice, and what is not comes from the sweep.
func TestATaskOfWeeksAgo(t *testing.T) {
	r := newRig(t)
	calls := 0
	r.function("work", func(context.Context, map[string]any) (any, error) { calls++; return nil, nil })
	r.deploy(oneStep)
	done := r.start("one", "{}")
	e := r.receive(r.tasksQueue(), 1)
	answer, err := r.Activity(t.Context(), e)
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	require.Equal(t, 1, calls)
	r.start("one", "{}")
	open := r.receive(r.tasksQueue(), 1)

	r.clock.move(r.Worker.Limits.ClaimLife + time.Hour)
	items, err := awsdynamodb.NewFromConfig(r.cfg).Scan(t.Context(), &awsdynamodb.ScanInput{TableName: &r.config.HistoryTable})
	require.NoError(t, err)
	for _, i := range items.Items { // as their time to live does
		if p := i[schema.Partition].(*types.AttributeValueMemberS).Value; strings.HasPrefix(p, schema.ClaimPartition) {
			_, err := awsdynamodb.NewFromConfig(r.cfg).DeleteItem(t.Context(), &awsdynamodb.DeleteItemInput{TableName: &r.config.HistoryTable,
				Key: map[string]types.AttributeValue{schema.Partition: i[schema.Partition], schema.Sort: i[schema.Sort]}})
			require.NoError(t, err)
		}
	}
	class := r.config
	class.Commits = false
	for _, p := range []*Platform{r.Platform, r.open(class)} {
		answer, err = p.Activity(t.Context(), e)
		require.NoError(t, err)
		require.Empty(t, answer.BatchItemFailures)
		require.Equal(t, 1, calls, "it was done weeks ago")
	}
	require.NoError(t, r.Store.Purge(t.Context(), eventstore.Stream{Tenant: testTenant, ID: done}))
	answer, err = r.Activity(t.Context(), e)
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	require.Equal(t, 1, calls, "and its execution is gone")
	answer, err = r.Activity(t.Context(), open)
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	require.Equal(t, 2, calls, "what is still to do is done, however late")
}
