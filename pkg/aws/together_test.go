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

	"github.com/wovyr/wovyr/pkg/worker"
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
