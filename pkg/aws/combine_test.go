package aws

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// slowQueue is a queue that goes nowhere; calls are what it was sent.
func slowQueue(calls *[][]string, fail func(call int) error) queue {
	var mu sync.Mutex
	return queueTo(func(in any) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		var bodies []string
		for _, e := range in.(*sqs.SendMessageBatchInput).Entries {
			bodies = append(bodies, *e.MessageBody)
		}
		*calls = append(*calls, bodies)
		return &sqs.SendMessageBatchOutput{}, fail(len(*calls))
	})
}

func entriesOf(bodies ...string) (out []types.SendMessageBatchRequestEntry) {
	for _, b := range bodies {
		out = append(out, types.SendMessageBatchRequestEntry{MessageBody: &b})
	}
	return out
}

// TestSendsAtOnceShareCalls: whoever sends alone is not kept waiting; of many that send at once, the first goes alone and the others together.
func TestSendsAtOnceShareCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls [][]string
		q, c := slowQueue(&calls, func(int) error { return nil }), combiner{}
		for i := range 3 {
			began := time.Now()
			require.NoError(t, c.send(t.Context(), q, entriesOf(fmt.Sprint(i))))
			require.Equal(t, 10*time.Millisecond, time.Since(began))
		}
		require.Len(t, calls, 3)
		calls = nil
		var group sync.WaitGroup
		for i := range 10 {
			group.Go(func() {
				<-time.After(time.Duration(i) * time.Millisecond / 2)
				require.NoError(t, c.send(t.Context(), q, entriesOf(fmt.Sprint(i, "a"), fmt.Sprint(i, "b"))))
			})
		}
		group.Wait()
		require.Len(t, calls, 3, "two messages, then the other 18 in calls of ten")
		sent := strings.Join(append(append(calls[0], calls[1]...), calls[2]...), " ")
		for i := range 10 {
			require.Equal(t, 1, strings.Count(sent, fmt.Sprintf("%da %db", i, i)), "each hand's messages stay together")
		}
	})
}

// TestASendThatFailsFailsForAll: who shares a call shares its error, and the next call has nothing to do with it.
func TestASendThatFailsFailsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls [][]string
		q, c := slowQueue(&calls, func(call int) error {
			if call == 2 {
				return errors.New("down")
			}
			return nil
		}), combiner{}
		errs := make([]error, 3)
		var group sync.WaitGroup
		for i := range errs {
			group.Go(func() {
				<-time.After(time.Duration(i) * time.Millisecond)
				errs[i] = c.send(t.Context(), q, entriesOf(fmt.Sprint(i)))
			})
		}
		group.Wait()
		require.NoError(t, errs[0])
		require.ErrorContains(t, errs[1], "down")
		require.ErrorContains(t, errs[2], "down")
		require.NoError(t, c.send(t.Context(), q, entriesOf("later")))
		require.Len(t, calls, 3)
	})
}

// TestWhoGivesUpLeavesTheOthersAlone: a hand waits no longer than its context lasts. What it shares with others goes out all the same; what nobody has
// begun to send is not sent for it.
func TestWhoGivesUpLeavesTheOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls [][]string
		q, c := slowQueue(&calls, func(int) error { return nil }), combiner{} // 10 ms a call
		hands := []struct{ comes, patience, took time.Duration }{
			{comes: 0, patience: 5 * time.Millisecond, took: 5 * time.Millisecond}, // its call is under way
			{comes: 1 * time.Millisecond, patience: 5 * time.Millisecond, took: 5 * time.Millisecond},
			{comes: 2 * time.Millisecond, patience: 12 * time.Millisecond, took: 12 * time.Millisecond}, // its call is shared with the next
			{comes: 3 * time.Millisecond, patience: time.Minute, took: 17 * time.Millisecond},
		}
		var group sync.WaitGroup
		for i, h := range hands {
			group.Go(func() {
				<-time.After(h.comes)
				ctx, cancel := context.WithTimeout(t.Context(), h.patience)
				defer cancel()
				began := time.Now()
				err := c.send(ctx, q, entriesOf(fmt.Sprint(i)))
				require.Equal(t, h.took, time.Since(began), i)
				if h.patience == time.Minute {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, eventstore.ErrUnavailable, i)
				require.ErrorIs(t, err, context.DeadlineExceeded, i)
			})
		}
		group.Wait()
		require.Equal(t, [][]string{{"0"}, {"2", "3"}}, calls)
		synctest.Wait()
		require.False(t, c.under, "nobody is left at work")
	})
}

// hangingQueue is a queue whose calls get no answer.
func hangingQueue() queue {
	c := sdk.Config{Region: "us-east-1"}
	c.APIOptions = append(c.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("hang", func(ctx context.Context, _ middleware.InitializeInput, _ middleware.InitializeHandler) (out middleware.InitializeOutput, m middleware.Metadata, err error) {
			<-ctx.Done()
			return out, m, ctx.Err()
		}), middleware.Before)
	})
	return queue{sqs.NewFromConfig(c), "https://sqs.example/inbox.fifo"}
}

// TestACallOfAQueueHasAnEnd: a connection that hangs keeps nobody for longer than a call may take, also whose context has no end.
func TestACallOfAQueueHasAnEnd(t *testing.T) {
	q, c := hangingQueue(), combiner{}
	for name, call := range map[string]func(context.Context) error{
		"send":          func(ctx context.Context) error { return q.send(ctx, entriesOf("a")) },
		"send together": func(ctx context.Context) error { return c.send(ctx, q, entriesOf("a")) },
		"hide":          func(ctx context.Context) error { return q.hide(ctx, "receipt", time.Minute) },
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			require.ErrorIs(t, call(t.Context()), eventstore.ErrUnavailable, name)
			require.Equal(t, callTime, time.Since(began), name)
		})
	}
}
