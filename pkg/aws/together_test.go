package aws

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/worker/machine"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// TestMemoryIsNotShared: a task that may need much memory has the sandbox to itself.
func TestMemoryIsNotShared(t *testing.T) {
	for memory, alone := range map[int64]bool{0: false, 64 << 20: false, 512 << 20: true} {
		r := taskReceived{received: received{receives: 1}, Task: worker.Task{Command: &workflow.RunActivity{MaxMemory: memory}}}
		require.Equal(t, alone, r.alone(), "%d bytes", memory)
	}
	require.False(t, taskReceived{received: received{receives: 1}}.alone())
}

// TestABriefTaskKeepsItsVisibility: only a task that takes longer than a moment pays for a call that hides it for its lease; and when it is over, no
// call is left that could hide it later.
func TestABriefTaskKeepsItsVisibility(t *testing.T) {
	for took, hides := range map[time.Duration]int{0: 0, briefly / 2: 0, briefly + time.Millisecond: 1, time.Minute: 1} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			q := queueTo(func(in any) (any, error) {
				hidden := in.(*sqs.ChangeMessageVisibilityInput)
				require.EqualValues(t, 32, hidden.VisibilityTimeout)
				n++
				return &sqs.ChangeMessageVisibilityOutput{}, nil
			})
			p := &Platform{Log: slog.New(slog.DiscardHandler), Worker: &worker.Worker{Limits: worker.DefaultLimits()}}
			over := p.hideLater(t.Context(), q, received{SQSMessage: events.SQSMessage{ReceiptHandle: "r"}}, worker.Task{})
			<-time.After(took)
			over()
			require.Equal(t, hides, n, "after %s", took)
		})
	}
}

// TestATaskThatIsOverWaitsForNoCall: the answer of a batch does not wait for a call that hides one of its tasks and hangs.
func TestATaskThatIsOverWaitsForNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Platform{Log: slog.New(slog.DiscardHandler), Worker: &worker.Worker{Limits: worker.DefaultLimits()}}
		over := p.hideLater(t.Context(), hangingQueue(), received{SQSMessage: events.SQSMessage{ReceiptHandle: "r"}}, worker.Task{})
		<-time.After(2 * briefly)
		began := time.Now()
		over()
		require.Equal(t, hideTime, time.Since(began))
	})
}

// batchTo is a platform whose tasks are handled by a function, and a batch of tasks of these steps; those named alone were received before.
func batchTo(t *testing.T, q queue, handle func(step string) worker.Answer, steps ...string) (*Platform, events.SQSEvent) {
	p := &Platform{Log: slog.New(slog.DiscardHandler), Worker: &worker.Worker{Limits: worker.DefaultLimits(), Entropy: machine.Entropy{}}, issued: &issued{came: map[issue]callback{}},
		config: Config{Class: worker.DefaultClass, Commits: true}, tasks: &tasks{queues: map[string]queue{worker.DefaultClass: q}}}
	p.hands.task = func(_ context.Context, d worker.Delivery) worker.Answer { return handle(d.Step) }
	var e events.SQSEvent
	for i, step := range steps {
		body, err := p.bodies.ofTask(t.Context(), worker.Task{ID: step, Stream: eventstore.Stream{Tenant: testTenant, ID: "x"},
			AttemptRef: workflow.AttemptRef{Step: step, Attempt: 1}, Class: worker.DefaultClass}, nil)
		require.NoError(t, err)
		e.Records = append(e.Records, events.SQSMessage{MessageId: fmt.Sprint(step, i), ReceiptHandle: step, Body: body,
			Attributes: map[string]string{"ApproximateReceiveCount": map[bool]string{true: "9", false: "1"}[step == "alone"]}})
	}
	return p, e
}

// TestATaskThatDoesNotEnd keeps no answer of the others, although no call of the queue is answered either: it comes again, and so does what would have come
// after it.
func TestATaskThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		p, e := batchTo(t, hangingQueue(), func(step string) worker.Answer {
			if step != "quick" {
				<-release // deaf to its context
			}
			return worker.Answer{Done: true}
		}, "quick", "deaf", "alone", "alone")
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
		defer cancel()
		answer, err := p.Activity(ctx, e)
		require.NoError(t, err)
		require.NoError(t, ctx.Err(), "in time")
		var again []string
		for _, f := range answer.BatchItemFailures {
			again = append(again, f.ItemIdentifier)
		}
		require.ElementsMatch(t, []string{"deaf1", "alone2", "alone3"}, again)
	})
}

// TestATaskThatIsOverStaysHidden while others of its batch are at work, as long as they may be. Where all are over soon, that costs no call.
func TestATaskThatIsOverStaysHidden(t *testing.T) {
	for others, calls := range map[time.Duration]int{2*time.Second + briefly/2: 1, 10 * time.Minute: 2} {
		synctest.Test(t, func(t *testing.T) {
			hides, until := 0, time.Time{}
			q := queueTo(func(in any) (any, error) {
				if hidden := in.(*sqs.ChangeMessageVisibilityInput); *hidden.ReceiptHandle == "short" {
					hides, until = hides+1, time.Now().Add(time.Duration(hidden.VisibilityTimeout)*time.Second)
				}
				return &sqs.ChangeMessageVisibilityOutput{}, nil
			})
			took := map[string]time.Duration{"short": 2 * time.Second, "long": others}
			p, e := batchTo(t, q, func(step string) worker.Answer { <-time.After(took[step]); return worker.Answer{Done: true} }, "short", "long")
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
			defer cancel()
			deadline, _ := ctx.Deadline()
			answer, err := p.Activity(ctx, e)
			require.NoError(t, err)
			require.Empty(t, answer.BatchItemFailures)
			require.Equal(t, calls, hides)
			require.True(t, until.After(time.Now()))
			require.Equal(t, others == 10*time.Minute, until.After(deadline))
		})
	}
}

// queueTo is a queue whose calls take 10 ms and are answered by a function.
func queueTo(answer func(in any) (any, error)) queue {
	c := sdk.Config{Region: "us-east-1"}
	c.APIOptions = append(c.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("answer", func(_ context.Context, in middleware.InitializeInput, _ middleware.InitializeHandler) (out middleware.InitializeOutput, m middleware.Metadata, err error) {
			<-time.After(10 * time.Millisecond)
			out.Result, err = answer(in.Parameters)
			return out, m, err
		}), middleware.Before)
	})
	return queue{sqs.NewFromConfig(c), "https://sqs.example/inbox.fifo"}
}

// TestTasksOfABatch: tasks run beside each other, but one that was received before runs after them, by itself.
func TestTasksOfABatch(t *testing.T) {
	r := newRig(t)
	var together sync.WaitGroup
	together.Add(2)
	var mu sync.Mutex
	var ended []string
	r.function("work", func(_ context.Context, in map[string]any) (any, error) {
		name := in["name"].(string)
		if name != "again" { // each waits for the other: one after the other they would never end
			together.Done()
			together.Wait()
		}
		mu.Lock()
		defer mu.Unlock()
		ended = append(ended, name)
		return nil, nil
	})
	r.deploy("dsl: wovyr/v1\nname: one\ninput: { schema: { type: object } }\nsteps: { a: { function: work, with: { name: '${ input.name }' } } }\n")
	again := r.start("one", `{"name":"again"}`)
	first := r.receive(r.tasksQueue(), 1)
	executions := []string{again}
	for i := range 2 {
		executions = append(executions, r.start("one", fmt.Sprintf(`{"name":"new-%d"}`, i)))
	}
	e := r.receive(r.tasksQueue(), 2)
	first.Records[0].Attributes["ApproximateReceiveCount"] = "2"
	e.Records = append(first.Records, e.Records...)
	answer, err := r.Activity(t.Context(), e)
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	require.Len(t, ended, 3)
	require.Equal(t, "again", ended[2])
	for _, x := range executions {
		require.Equal(t, "Completed", r.status(x))
	}
}
