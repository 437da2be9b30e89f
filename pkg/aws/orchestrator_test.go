package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

var (
	errOwn     = errors.New("a reason of the message's own")
	errPassing = passing("read the head", errors.New("throttled"))
)

// batchOf makes an event of message bodies, each of a group and received so often. The receipts are nobody's.
func batchOf(records ...events.SQSMessage) (e events.SQSEvent) {
	for i, m := range records {
		m.MessageId, m.ReceiptHandle = fmt.Sprint("m", i), fmt.Sprint("r", i)
		m.EventSource, m.EventSourceARN = "aws:sqs", "arn:aws:sqs:us-east-1:000000000000:inbox.fifo"
		e.Records = append(e.Records, m)
	}
	return e
}

func (r *rig) message(execution, id string, in workflow.Input, receives int) events.SQSMessage {
	s := eventstore.Stream{Tenant: testTenant, ID: execution}
	body, err := r.bodies.ofMessage(r.Context(), worker.Message{ID: id, Stream: s, Input: in})
	require.NoError(r, err)
	return recordFor(body, groupOf(s), receives)
}

func recordFor(body, group string, receives int) events.SQSMessage {
	return events.SQSMessage{Body: body, Attributes: map[string]string{"MessageGroupId": group, "ApproximateReceiveCount": strconv.Itoa(receives)}}
}

// hidden are the receipts that were hidden, with for how many seconds, in order.
func (r *rig) hidden() map[string]int32 {
	out := map[string]int32{}
	for _, c := range callsOf[*sqs.ChangeMessageVisibilityInput](r.wire) {
		out[*c.ReceiptHandle] = c.VisibilityTimeout
	}
	return out
}

// answerHides answers the calls that hide messages, for receipts that no queue gave out.
func answerHides(in any) (any, error) {
	if _, ok := in.(*sqs.ChangeMessageVisibilityInput); ok {
		return &sqs.ChangeMessageVisibilityOutput{}, nil
	}
	return nil, nil
}

// TestOrchestratorAnswersForEachExecution gives batches of several executions to a worker that answers anything. Of each execution, all from the first
// message on that is not done with comes again, hidden for as long as the worker wants; no execution touches another.
func TestOrchestratorAnswersForEachExecution(t *testing.T) {
	r := newRig(t)
	r.wire.set(answerHides)
	var mu sync.Mutex
	rapid.Check(t, func(t *rapid.T) {
		r.wire.forget()
		script := map[string]worker.Answer{}
		handed := map[string][]string{}
		r.hands.inbox = func(_ context.Context, s eventstore.Stream, messages []worker.Message) []worker.Answer {
			mu.Lock()
			defer mu.Unlock()
			out := make([]worker.Answer, len(messages))
			for i, m := range messages {
				handed[s.ID] = append(handed[s.ID], m.ID)
				out[i] = script[m.ID]
			}
			return out
		}
		r.hands.buryMessage = func(context.Context, worker.Message, error) error { return nil }
		var records []events.SQSMessage
		var order []string
		of := map[string]string{}
		receives := map[string]int{}
		for i := range rapid.IntRange(1, stack.InboxBatch).Draw(t, "messages") {
			id, execution := fmt.Sprint("id", i), fmt.Sprint("x", rapid.IntRange(0, 2).Draw(t, "execution"))
			script[id] = rapid.SampledFrom([]worker.Answer{{Done: true}, {Done: true}, {After: 3 * time.Second}, {After: 2 * time.Second, Err: errOwn}, {After: 2 * time.Second, Err: errPassing}, {}}).Draw(t, "answer")
			receives[id] = rapid.SampledFrom([]int{1, 2, 5, stack.MaxFailures - 1, stack.MaxFailures, stack.MaxReceives - 1}).Draw(t, "receives")
			records = append(records, r.message(execution, id, workflow.Tick{}, receives[id]))
			order, of[id] = append(order, id), execution
		}
		answer, err := r.Orchestrator(context.Background(), batchOf(records...))
		require.NoError(t, err)
		var want []string
		hides := map[string]int32{}
		broken := map[string]bool{}
		for i, id := range order {
			a, buried := script[id], script[id].Err == errOwn && receives[id] >= stack.MaxFailures
			if !broken[of[id]] && (a.Done || buried) {
				continue
			}
			broken[of[id]] = true
			want = append(want, fmt.Sprint("m", i))
			hides[fmt.Sprint("r", i)] = int32(rest(a, receives[id]).Seconds())
		}
		got := named(answer)
		slices.Sort(got)
		slices.Sort(want)
		require.ElementsMatch(t, want, got)
		require.Equal(t, hides, r.hidden())
		for x, ids := range handed {
			var inOrder []string
			for _, id := range order {
				if of[id] == x {
					inOrder = append(inOrder, id)
				}
			}
			require.Equal(t, inOrder, ids, "messages of an execution come together and in order")
		}
	})
}

// TestAnOutageUsesUpNoMessage counts how long messages can fail for a passing reason before their queue gives them up.
func TestAnOutageUsesUpNoMessage(t *testing.T) {
	total := time.Duration(0)
	last := time.Duration(0)
	for n := 1; n < stack.MaxReceives; n++ {
		d := rest(worker.Answer{After: worker.DefaultLimits().Retry, Err: errPassing}, n)
		require.GreaterOrEqual(t, d, last)
		require.LessOrEqual(t, d, longestRest)
		total, last = total+d, d
	}
	require.Greater(t, total, 6*time.Hour)
	require.Less(t, total, stack.MessageLife)
	require.Equal(t, 2*time.Second, rest(worker.Answer{After: 2 * time.Second, Err: errOwn}, 30), "what is wrong with the message itself shows soon")
	require.Equal(t, time.Minute, rest(worker.Answer{After: time.Minute}, 30), "a lease is waited for as long as it lasts")
	require.Equal(t, time.Hour, rest(worker.Answer{After: time.Hour, Err: errPassing}, 1))
}

// TestPoisonInTheInbox puts messages of others among those of an execution: they are buried with their cause, and hold up nobody.
func TestPoisonInTheInbox(t *testing.T) {
	r := newRig(t)
	r.deploy("dsl: wovyr/v1\nname: wait\nsteps: { ask: { human: { title: Well? } } }\n")
	x := r.start("wait", "{}")
	s := eventstore.Stream{Tenant: testTenant, ID: x}
	r.work()
	foreign := `{"hello":"` + strings.Repeat("ä", 10) + `"}`
	for _, body := range []string{foreign, "no JSON"} {
		_, err := sqs.NewFromConfig(r.cfg).SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &r.config.InboxQueue, MessageBody: &body, MessageGroupId: group(s), MessageDeduplicationId: new(deduplicationID(body))})
		require.NoError(t, err)
	}
	require.NoError(t, r.Ask(t.Context(), s, workflow.Cancel{ID: "c", Origin: workflow.OriginUser, Mode: workflow.CancelImmediate}))
	e := r.receive(r.config.InboxQueue, 3)
	answer, err := r.Orchestrator(t.Context(), e)
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	state, err := r.Worker.Inspect(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, "Cancelled", state.State.Status.String(), "what came behind the poison was decided")
	letters, _, err := r.Store.DeadLetters(t.Context(), testTenant, eventstore.Page{})
	require.NoError(t, err)
	require.Len(t, letters, 2)
	for _, l := range letters {
		require.Equal(t, "inbox", l.Queue)
		require.Equal(t, "unreadable", l.Code)
		require.Contains(t, l.Cause, "not one of ours")
		require.Contains(t, []string{foreign, "no JSON"}, string(l.Body))
	}
	n, _ := r.written.metric(t, stack.MetricDeadLetters)
	require.EqualValues(t, 2, n)
}

func group(s eventstore.Stream) *string { return new(groupOf(s)) }

// TestABuriedCauseIsText buries a message whose cause is longer than a store takes, and cut in the middle of a character.
func TestABuriedCauseIsText(t *testing.T) {
	r := newRig(t)
	for shift := range 4 {
		cause := errors.Join(&BodyError{Queue: "events", Err: errors.New(strings.Repeat("x", shift) + strings.Repeat("😀", eventstore.MaxDeadLetterCause))})
		require.True(t, r.unreadable(t.Context(), events.SQSMessage{MessageId: fmt.Sprint(shift), Body: "{}"}, cause))
	}
	letters, _, err := r.Store.DeadLetters(t.Context(), testTenant, eventstore.Page{})
	require.NoError(t, err)
	require.Len(t, letters, 4)
}

// TestBuriedAfterManyFailures fails a message for a reason of its own: it is kept until it has had its receives, and for good if it cannot be buried.
func TestBuriedAfterManyFailures(t *testing.T) {
	r := newRig(t)
	r.wire.set(answerHides)
	r.hands.inbox = func(_ context.Context, _ eventstore.Stream, m []worker.Message) []worker.Answer {
		return []worker.Answer{{After: 2 * time.Second, Err: errOwn}}
	}
	handle := func(receives int) []string {
		answer, err := r.Orchestrator(t.Context(), batchOf(r.message("x", "id", workflow.Tick{}, receives)))
		require.NoError(t, err)
		return named(answer)
	}
	require.Equal(t, []string{"m0"}, handle(stack.MaxFailures-1))
	r.hands.buryMessage = func(context.Context, worker.Message, error) error { return errPassing }
	require.Equal(t, []string{"m0"}, handle(stack.MaxFailures), "not buried: not acknowledged")
	r.hands.buryMessage = r.Worker.BuryMessage
	require.Empty(t, handle(stack.MaxFailures))
	letter, err := r.Store.DeadLetter(t.Context(), testTenant, "id")
	require.NoError(t, err)
	require.Equal(t, errOwn.Error(), letter.Cause)
	require.Equal(t, "failing.Tick", letter.Code)
}

// TestInputsOfNewerCodeComeAgain meets inputs that this program does not know, as in the middle of a deployment: they wait for one that does, however
// often they come.
func TestInputsOfNewerCodeComeAgain(t *testing.T) {
	r := newRig(t)
	r.wire.set(answerHides)
	newer := recordFor(`{"id":"1","tenant":"default","execution":"x","input":{"type":"TeleportExecution","v":1}}`, "g", stack.MaxReceives-1)
	behind := r.message("x", "2", workflow.Tick{}, 1)
	behind.Attributes["MessageGroupId"] = "g"
	other := r.message("y", "3", workflow.Tick{}, 1)
	answer, err := r.Orchestrator(t.Context(), batchOf(newer, behind, other))
	require.NoError(t, err)
	require.Equal(t, []string{"m0", "m1"}, named(answer), "and what is behind it waits for it")
	require.Equal(t, map[string]int32{"r0": int32(longestRest.Seconds()), "r1": 0}, r.hidden())
	_, err = codec.DecodeInput([]byte(`{"type":"TeleportExecution"}`))
	require.True(t, worker.Passing(err), "%v", err)
}

// TestLargeInputs sends a result that no queue takes: it goes by the payload store, and waits for that where it is away.
func TestLargeInputs(t *testing.T) {
	r := newRig(t)
	s := eventstore.Stream{Tenant: testTenant, ID: "x"}
	result := workflow.ActivityResult{AttemptRef: workflow.AttemptRef{Step: "a", Attempt: 1}, Output: workflow.Inline(workflow.Value(`"` + strings.Repeat("y", 2*maxBatchBytes) + `"`))}
	require.NoError(t, r.inbox.Send(t.Context(), worker.Message{ID: "1", Stream: s, Input: result}, worker.Message{ID: "2", Stream: s, Input: workflow.Tick{}}))
	for _, c := range callsOf[*sqs.SendMessageBatchInput](r.wire) {
		size := 0
		for _, e := range c.Entries {
			size += len(*e.MessageBody)
		}
		require.Less(t, size, maxBatchBytes)
	}
	var got []worker.Message
	r.hands.inbox = func(_ context.Context, _ eventstore.Stream, messages []worker.Message) []worker.Answer {
		got = messages
		return []worker.Answer{{Done: true}, {Done: true}}
	}
	e := r.receive(r.config.InboxQueue, 2)
	r.wire.set(func(in any) (any, error) {
		if _, reads := in.(*awss3.GetObjectInput); reads {
			return nil, errors.New("the bucket is away")
		}
		return answerHides(in)
	})
	answer, err := r.Orchestrator(t.Context(), e)
	require.NoError(t, err)
	require.Len(t, answer.BatchItemFailures, 2, "and the one behind it waits")
	require.Empty(t, got)
	r.wire.set(answerHides)
	answer, err = r.Orchestrator(t.Context(), e)
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	require.Equal(t, result, got[0].Input)
	require.Equal(t, "2", got[1].ID)
}

// TestHandsBackBeforeTheDeadline has a worker that waits for ever: the answer is there, and the messages hidden, before Lambda cuts the function off.
func TestHandsBackBeforeTheDeadline(t *testing.T) {
	t.Parallel() // it waits for the emulator
	r := newRig(t)
	s := eventstore.Stream{Tenant: testTenant, ID: "x"}
	require.NoError(t, r.inbox.Send(t.Context(), worker.Message{ID: "1", Stream: s, Input: workflow.Tick{}}, worker.Message{ID: "2", Stream: s, Input: workflow.Tick{}}))
	e := r.receive(r.config.InboxQueue, 2)
	r.hands.inbox = func(ctx context.Context, _ eventstore.Stream, messages []worker.Message) []worker.Answer {
		<-ctx.Done()
		return []worker.Answer{{After: time.Hour, Err: ctx.Err()}, {After: time.Hour}}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	answer, err := r.Orchestrator(ctx, e)
	require.NoError(t, err)
	require.NoError(t, ctx.Err(), "in time")
	require.Len(t, answer.BatchItemFailures, 2)
	hides := callsOf[*sqs.ChangeMessageVisibilityInput](r.wire)
	require.Len(t, hides, 2)
	visible, hidden := r.waiting(r.config.InboxQueue)
	require.Zero(t, visible)
	require.Equal(t, 2, hidden)
}

// TestUntil says how much of an invocation's time is left for its end.
func TestUntil(t *testing.T) {
	require.True(t, until(context.Background()).IsZero())
	for left, want := range map[time.Duration]time.Duration{time.Minute: time.Minute - margin, 2 * margin: margin, 4 * time.Second: 2 * time.Second} {
		ctx, cancel := context.WithTimeout(context.Background(), left)
		defer cancel()
		require.InDelta(t, want, time.Until(until(ctx)), float64(time.Second), left)
	}
	require.LessOrEqual(t, stack.InboxBatch*hideTime, margin, "all messages of an execution can be hidden in the time that is left")
}

// TestQueueEntriesThatFail are sent again; in a FIFO queue with all that stand behind them.
func TestQueueEntriesThatFail(t *testing.T) {
	r := newRig(t)
	failing := map[string]int{"b1": 2, "c0": 1} // how often the service does not take them
	var mu sync.Mutex
	r.wire.after = func(in, out any) {
		mu.Lock()
		defer mu.Unlock()
		send, ok := in.(*sqs.SendMessageBatchInput)
		if !ok {
			return
		}
		answer := out.(*sqs.SendMessageBatchOutput)
		for _, e := range send.Entries {
			if id := *e.MessageDeduplicationId; failing[id] > 0 {
				failing[id]--
				answer.Failed = append(answer.Failed, types.BatchResultErrorEntry{Id: e.Id, Code: new("InternalError")})
			}
		}
	}
	var messages []worker.Message
	for _, id := range []string{"a0", "b0", "b1", "a1", "b2", "c0"} {
		messages = append(messages, worker.Message{ID: id, Stream: eventstore.Stream{Tenant: testTenant, ID: id[:1]}, Input: workflow.Tick{}})
	}
	require.NoError(t, r.inbox.Send(t.Context(), messages...))
	var sent [][]string
	for _, c := range callsOf[*sqs.SendMessageBatchInput](r.wire) {
		var ids []string
		for _, e := range c.Entries {
			ids = append(ids, *e.MessageDeduplicationId)
		}
		sent = append(sent, ids)
	}
	require.Equal(t, [][]string{{"a0", "b0", "b1", "a1", "b2", "c0"}, {"b1", "b2", "c0"}, {"b1", "b2"}}, sent)
	visible, _ := r.waiting(r.config.InboxQueue)
	require.Equal(t, len(messages), visible, "the queue knows what it had taken")
	failing["z"] = sendTries
	err := r.inbox.Send(t.Context(), worker.Message{ID: "z", Stream: eventstore.Stream{Tenant: testTenant, ID: "z"}})
	require.True(t, worker.Passing(err), "%v", err)
}
