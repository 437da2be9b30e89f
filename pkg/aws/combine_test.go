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

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"
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
		ctx, cancel := context.WithCancel(t.Context())
		for i := range errs {
			group.Go(func() {
				<-time.After(time.Duration(i) * time.Millisecond)
				errs[i] = c.send(ctx, q, entriesOf(fmt.Sprint(i)))
			})
		}
		group.Go(func() { <-time.After(15 * time.Millisecond); cancel() })
		group.Wait()
		require.NoError(t, errs[0])
		require.ErrorContains(t, errs[1], "down", "a caller that gives up meanwhile does not end the call of others")
		require.ErrorContains(t, errs[2], "down")
		require.NoError(t, c.send(t.Context(), q, entriesOf("later")))
		require.Len(t, calls, 3)
	})
}
