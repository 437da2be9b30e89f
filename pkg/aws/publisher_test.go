package aws

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb"
	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

const emitting = `
dsl: wovyr/v1
name: emitting
input: { schema: { type: object, properties: { key: { type: string } } } }
steps:
  tell: { emit: { type: Told, key: '${ input.key }', data: { n: 1 } } }
  work: { needs: [tell], function: work }
`

// put are the events that the bus was given, in order.
func (r *rig) put() (out []types.PutEventsRequestEntry) {
	for _, c := range callsOf[*eventbridge.PutEventsInput](r.wire) {
		out = append(out, c.Entries...)
	}
	return out
}

func detailOf(t require.TestingT, e types.PutEventsRequestEntry) (d Detail) {
	require.NoError(t, json.Unmarshal([]byte(*e.Detail), &d))
	return d
}

// tell writes an event of the bus in short.
func tell(t require.TestingT, e types.PutEventsRequestEntry) string {
	d := detailOf(t, e)
	return fmt.Sprintf("%s %s@%d", *e.DetailType, d.Execution, d.Version)
}

func (r *rig) emitters(n int) (executions []string, changes events.DynamoDBEvent) {
	r.function("work", func(context.Context, map[string]any) (any, error) { return nil, nil })
	r.deploy(emitting)
	for i := range n {
		executions = append(executions, r.start("emitting", fmt.Sprintf(`{"key":"k%d"}`, i)))
	}
	for range n {
		e := r.receive(r.tasksQueue(), 1)
		answer, err := r.Activity(r.Context(), e)
		require.NoError(r, err)
		r.acknowledge(r.tasksQueue(), e, answer)
	}
	return executions, r.stream.changes()
}

// TestWhatIsPublished follows one execution to the bus: lifecycle events and its own, each with the number of its event and the hash of its commit, and
// the same however often they are put.
func TestWhatIsPublished(t *testing.T) {
	r := newRig(t)
	x, changes := r.emitters(1)
	s := eventstore.Stream{Tenant: testTenant, ID: x[0]}
	require.Empty(t, r.PublishChanges(t.Context(), changes).BatchItemFailures)
	first := r.put()
	var kinds []string
	heads := map[uint64]string{}
	history, err := r.Store.Page(t.Context(), s, 0, 0)
	require.NoError(t, err)
	for _, c := range history {
		for v := c.First; v <= c.Last; v++ {
			heads[v] = c.Hash(s).String()
		}
	}
	last := uint64(0)
	for _, e := range first {
		kinds = append(kinds, *e.DetailType)
		d := detailOf(t, e)
		require.Equal(t, "wovyr", *e.EventBusName)
		require.Equal(t, stack.EventSource, *e.Source)
		require.Equal(t, []string{fmt.Sprintf("wovyr:%s:%s@%d", testTenant, x[0], d.Version)}, e.Resources)
		require.Equal(t, Detail{Tenant: testTenant, Execution: x[0], Workflow: "emitting", Version: d.Version, At: d.At, Correlation: d.Correlation, Key: d.Key, Data: d.Data, Head: heads[d.Version]}, d)
		require.NotEmpty(t, d.Head)
		require.Greater(t, d.Version, last)
		last = d.Version
	}
	require.Equal(t, []string{"Execution Started", "Told", "Execution Completed"}, kinds)
	require.Equal(t, "k0", detailOf(t, first[1]).Key)
	require.JSONEq(t, `{"n":1}`, string(detailOf(t, first[1]).Data))
	row, err := r.Store.Row(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, "Completed", row.Status)
	kept, err := r.Store.ReadEvents(t.Context(), eventstore.Topic{Tenant: testTenant, Type: "Told", Key: "k0"}, 0, r.clock.Now(), 10)
	require.NoError(t, err)
	require.Len(t, kept, 1)

	r.wire.forget()
	require.Empty(t, r.PublishChanges(t.Context(), changes).BatchItemFailures)
	require.Equal(t, first, r.put(), "a repeat is the same, so that subscribers can tell")
	kept, err = r.Store.ReadEvents(t.Context(), eventstore.Topic{Tenant: testTenant, Type: "Told", Key: "k0"}, 0, r.clock.Now(), 10)
	require.NoError(t, err)
	require.Len(t, kept, 1, "and nobody here takes it twice")
}

// TestRecordsInAnyOrder gives the publisher records as no stream should: reordered, repeated, in pieces and with some missing in between. Rows come out
// right, and each event goes out under its own number.
func TestRecordsInAnyOrder(t *testing.T) {
	t.Parallel() // it waits for the emulator
	r := newRig(t)
	x, all := r.emitters(3)
	want := map[string]bool{}
	r.wire.forget()
	require.Empty(t, r.PublishChanges(t.Context(), all).BatchItemFailures)
	for _, e := range r.put() {
		want[tell(t, e)] = true
	}
	require.Len(t, want, 9)
	rows := map[string]eventstore.Row{}
	for _, id := range x {
		row, err := r.Store.Row(t.Context(), eventstore.Stream{Tenant: testTenant, ID: id})
		require.NoError(t, err)
		rows[id] = row
	}
	rapid.Check(t, func(t *rapid.T) {
		r.wire.forget()
		for _, id := range x {
			_, err := awsdynamodb.NewFromConfig(r.cfg).DeleteItem(context.Background(), &awsdynamodb.DeleteItemInput{TableName: &r.config.IndexTable,
				Key: map[string]dynamodbtypes.AttributeValue{schema.Partition: &dynamodbtypes.AttributeValueMemberS{Value: testTenant + "/" + id}}})
			require.NoError(t, err)
		}
		left := append(rapid.Permutation(all.Records).Draw(t, "order"), rapid.SliceOfN(rapid.SampledFrom(all.Records), 0, 4).Draw(t, "again")...)
		for len(left) > 0 {
			n := rapid.IntRange(1, len(left)).Draw(t, "batch")
			require.Empty(t, r.PublishChanges(context.Background(), events.DynamoDBEvent{Records: left[:n]}).BatchItemFailures)
			left = left[n:]
		}
		got := map[string]bool{}
		for _, e := range r.put() {
			got[tell(t, e)] = true
		}
		require.Equal(t, want, got)
		for _, id := range x {
			row, err := r.Store.Row(context.Background(), eventstore.Stream{Tenant: testTenant, ID: id})
			require.NoError(t, err)
			require.Equal(t, rows[id], row)
		}
	})
}

// TestTheFirstFailureIsNamed fails one record of a batch in each way there is. What stands before it is passed on and not asked for again, and Lambda,
// which goes on from the record that the answer names, gets through with the rest once the fault is over.
func TestTheFirstFailureIsNamed(t *testing.T) {
	r := newRig(t)
	x, all := r.emitters(3)
	var streams []string // whose record is which
	for _, record := range all.Records {
		c, ok, err := dynamodb.ReadChange(attributes(record.Change.NewImage))
		require.NoError(t, err)
		if ok {
			streams = append(streams, c.Stream.ID)
		} else {
			streams = append(streams, "")
		}
	}
	lastOf := func(id string) int {
		for i := len(streams) - 1; ; i-- {
			if streams[i] == id {
				return i
			}
		}
	}
	firstOf := func(id string) int {
		for i := range streams {
			if streams[i] == id {
				return i
			}
		}
		return -1
	}
	for _, test := range []struct {
		name   string
		at     int // the record that is named
		meddle func(in any) (any, error)
	}{
		{"its row cannot be written: the newest of the execution, for that tells all", lastOf(x[1]), func(in any) (any, error) {
			if u, ok := in.(*awsdynamodb.UpdateItemInput); ok && *u.TableName == r.config.IndexTable && u.Key[schema.Partition].(*dynamodbtypes.AttributeValueMemberS).Value == testTenant+"/"+x[1] {
				return nil, errors.New("throttled")
			}
			return nil, nil
		}},
		{"its event cannot be put on the bus", firstOf(x[2]), func(in any) (any, error) {
			if p, ok := in.(*eventbridge.PutEventsInput); ok && strings.Contains(*p.Entries[0].Detail, x[2]) {
				return nil, errors.New("throttled")
			}
			return nil, nil
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r.wire.forget()
			r.wire.set(test.meddle)
			answer := r.PublishChanges(t.Context(), all)
			require.Len(t, answer.BatchItemFailures, 1)
			require.Equal(t, all.Records[test.at].Change.SequenceNumber, answer.BatchItemFailures[0].ItemIdentifier)
			for _, e := range r.put() {
				c := detailOf(t, e)
				require.LessOrEqual(t, firstOf(c.Execution), test.at)
			}
			r.wire.set(nil)
			require.Empty(t, r.PublishChanges(t.Context(), events.DynamoDBEvent{Records: all.Records[test.at:]}).BatchItemFailures)
			told := map[string]bool{}
			for _, e := range r.put() {
				told[tell(t, e)] = true
			}
			require.Len(t, told, 9, "nothing is lost")
		})
	}
	t.Run("it is none that this program knows", func(t *testing.T) {
		for at := range all.Records {
			poisoned := events.DynamoDBEvent{Records: append([]events.DynamoDBEventRecord{}, all.Records...)}
			if streams[at] == "" {
				continue
			}
			image := map[string]events.DynamoDBAttributeValue{}
			for name, v := range all.Records[at].Change.NewImage {
				image[name] = v
			}
			image["h"] = events.NewBinaryAttribute([]byte{99})
			poisoned.Records[at].Change.NewImage = image
			answer := r.PublishChanges(t.Context(), poisoned)
			require.Len(t, answer.BatchItemFailures, 1)
			require.Equal(t, all.Records[at].Change.SequenceNumber, answer.BatchItemFailures[0].ItemIdentifier)
			answer = r.PublishChanges(t.Context(), events.DynamoDBEvent{Records: poisoned.Records[at : at+1]})
			require.Len(t, answer.BatchItemFailures, 1, "alone too: Lambda halves down to it, and gives it to the failures")
			require.Empty(t, r.PublishChanges(t.Context(), events.DynamoDBEvent{Records: poisoned.Records[at+1:]}).BatchItemFailures)
		}
	})
}

// TestEventsThatTheBusDoesNotTake answers for single events of a call.
func TestEventsThatTheBusDoesNotTake(t *testing.T) {
	r := newRig(t)
	_, all := r.emitters(1)
	refuse := func(code string, times int) {
		r.wire.after = func(in, out any) {
			put, ok := in.(*eventbridge.PutEventsInput)
			if !ok || times == 0 {
				return
			}
			for i, e := range put.Entries {
				if *e.DetailType == "Told" {
					times--
					answer := out.(*eventbridge.PutEventsOutput)
					answer.FailedEntryCount = 1
					answer.Entries[i] = types.PutEventsResultEntry{ErrorCode: &code, ErrorMessage: new("because")}
				}
			}
		}
		r.wire.forget()
	}
	counts := func() string {
		var out []string
		for _, e := range r.put() {
			out = append(out, *e.DetailType)
		}
		return strings.Join(out, ", ")
	}
	refuse("InternalFailure", 1)
	require.Empty(t, r.PublishChanges(t.Context(), all).BatchItemFailures)
	require.Equal(t, "Execution Started, Told, Told, Execution Completed", counts(), "only what was not taken is put again")
	started, _ := r.written.metric(t, stack.MetricStarted)
	require.EqualValues(t, 1, started)

	refuse("ThrottlingException", 100)
	require.Len(t, r.PublishChanges(t.Context(), all).BatchItemFailures, 1)
	more, _ := r.written.metric(t, stack.MetricStarted)
	require.Equal(t, started, more, "what is tried again is not counted")

	refuse("InvalidArgument", 100)
	require.Empty(t, r.PublishChanges(t.Context(), all).BatchItemFailures, "what can never be put holds up nothing")
	letters, _, err := r.Store.DeadLetters(t.Context(), testTenant, eventstore.Page{})
	require.NoError(t, err)
	require.Len(t, letters, 1)
	require.Equal(t, "feed", letters[0].Queue)
	require.Contains(t, letters[0].Cause, `the bus refuses an event of type "Told": InvalidArgument: because`)
}

// TestAKeyWithTooManyEvents emits one more than a key may have: that becomes a dead letter, which can be sent again when there is room, and the others
// behind it are published.
func TestAKeyWithTooManyEvents(t *testing.T) {
	t.Parallel() // it waits for the emulator
	r := newRig(t)
	topic := eventstore.Topic{Tenant: testTenant, Type: "Told", Key: "k0"}
	now := r.clock.Now()
	for i := range eventstore.MaxKeptEvents {
		_, err := r.Store.PutEvent(t.Context(), topic, eventstore.Event{ID: fmt.Sprint(i), At: now, Expires: now + 1e15, Data: []byte("{}")})
		require.NoError(t, err)
	}
	x, all := r.emitters(2)
	require.Empty(t, r.PublishChanges(t.Context(), all).BatchItemFailures)
	letters, _, err := r.Store.DeadLetters(t.Context(), testTenant, eventstore.Page{})
	require.NoError(t, err)
	require.Len(t, letters, 1)
	require.Equal(t, x[0], letters[0].Execution)
	n, _ := r.written.metric(t, stack.MetricDeadLetters)
	require.EqualValues(t, 1, n)
	kept, err := r.Store.ReadEvents(t.Context(), eventstore.Topic{Tenant: testTenant, Type: "Told", Key: "k1"}, 0, now, 10)
	require.NoError(t, err)
	require.Len(t, kept, 1)
	completed, _ := r.written.metric(t, stack.MetricCompleted)
	require.EqualValues(t, 2, completed)
	require.Error(t, r.Worker.Redeliver(t.Context(), testTenant, letters[0].ID, r.Ask))
	r.clock.move(2e6 * 1e9) // all of them are forgotten
	require.NoError(t, r.Worker.Redeliver(t.Context(), testTenant, letters[0].ID, r.Ask))
}

// TestEventsFitTheBus announces events of any size and name: each call keeps the limits of the service, and says what it leaves out.
func TestEventsFitTheBus(t *testing.T) {
	r := newRig(t)
	s := eventstore.Stream{Tenant: testTenant, ID: "x"}
	for _, test := range []struct {
		name  string
		event workflow.Event
		check func(e types.PutEventsRequestEntry, d Detail)
	}{
		{"data as it is", workflow.EventEmitted{Kind: "K", Key: "k", Data: workflow.Inline(workflow.Value(`"` + strings.Repeat("<", 100_000) + `"`))}, func(e types.PutEventsRequestEntry, d Detail) {
			require.Len(t, d.Data, 100_002)
		}},
		{"data too large", workflow.EventEmitted{Kind: "K", Key: "k", Data: workflow.Inline(workflow.Value(`"` + strings.Repeat("y", 300_000) + `"`))}, func(e types.PutEventsRequestEntry, d Detail) {
			require.Empty(t, d.Data)
			require.Equal(t, "k", d.Key)
		}},
		{"data elsewhere", workflow.EventEmitted{Kind: "K", Data: workflow.Payload{JSON: workflow.Value("null"), Holes: []workflow.Hole{{Ref: &workflow.Ref{Hash: strings.Repeat("a", 64), Size: 1e6}}}}}, func(e types.PutEventsRequestEntry, d Detail) {
			require.Empty(t, d.Data)
		}},
		{"a type too long for the service", workflow.EventEmitted{Kind: strings.Repeat("ü", maxDetailType+1), Data: workflow.Inline(workflow.Value("1"))}, func(e types.PutEventsRequestEntry, d Detail) {
			require.Equal(t, DetailEvent, *e.DetailType)
			require.Equal(t, strings.Repeat("ü", maxDetailType+1), d.Type)
		}},
		{"a type just as long", workflow.EventEmitted{Kind: strings.Repeat("ü", maxDetailType), Data: workflow.Inline(workflow.Value("1"))}, func(e types.PutEventsRequestEntry, d Detail) {
			require.Equal(t, strings.Repeat("ü", maxDetailType), *e.DetailType)
		}},
		{"an attempt that was lost", workflow.LeaseExpired{Step: "pay", Fence: 1, Worker: "w"}, func(e types.PutEventsRequestEntry, d Detail) {
			require.Equal(t, "Attempt Lost", *e.DetailType)
			require.Equal(t, "pay", d.Step)
		}},
		{"an error too large", workflow.WorkflowFailed{Error: &workflow.Error{Code: "c", Category: workflow.CategoryActivity, Message: strings.Repeat("m", 300_000)}}, func(e types.PutEventsRequestEntry, d Detail) {
			require.Equal(t, "c", d.Error.Code)
			require.Contains(t, d.Error.Message, "read it from the API")
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r.wire.forget()
			c := dynamodb.Change{Stream: s, Commit: commitOf(t, test.event)}
			require.NoError(t, r.announce(t.Context(), c))
			put := r.put()
			require.Len(t, put, 1)
			require.Less(t, len(*put[0].Detail)+len(*put[0].DetailType)+entryBytes, maxBatchBytes)
			require.Positive(t, len(*put[0].DetailType))
			test.check(put[0], detailOf(t, put[0]))
		})
	}
}

// TestMetricsOfExecutions counts executions by how they end in the end, and how long they took.
func TestMetricsOfExecutions(t *testing.T) {
	r := newRig(t)
	r.function("work", func(_ context.Context, in map[string]any) (any, error) {
		r.clock.move(90 * 1e9)
		if in["fail"] == true {
			return nil, errors.New("no")
		}
		return nil, nil
	})
	r.deploy(`
dsl: wovyr/v1
name: undo
input: { schema: { type: object, properties: { fail: { type: boolean } } } }
steps:
  a: { function: work, with: { fail: false }, compensate: { function: work, with: { fail: false } } }
  b: { needs: [a], function: work, with: { fail: '${ input.fail }' }, retry: { attempts: 1 } }
on_failure: compensate
`)
	for _, input := range []string{`{"fail":false}`, `{"fail":true}`} {
		x := r.start("undo", input)
		r.work()
		require.Equal(t, "Completed", r.status(x))
	}
	for name, want := range map[string]float64{stack.MetricStarted: 2, stack.MetricCompleted: 1, stack.MetricFailed: 1} {
		n, times := r.written.metric(t, name)
		require.Equal(t, want, n, "%s: what failed and was undone counts as failed, once", name)
		require.EqualValues(t, want, times)
	}
	total, times := r.written.metric(t, stack.MetricDuration)
	require.Equal(t, 2, times)
	require.InDelta(t, (2+3)*90_000, total, 60_000, "milliseconds from start to end")
}

// TestThePublisherTellsItsEventsApart gives the function what Lambda sends it, as JSON.
func TestThePublisherTellsItsEventsApart(t *testing.T) {
	r := newRig(t)
	x, changes := r.emitters(1)
	answer, err := r.Publisher(t.Context(), encoded(t, changes))
	require.NoError(t, err)
	require.JSONEq(t, `{"batchItemFailures":[]}`, string(encoded(t, answer)))
	row, err := r.Store.Row(t.Context(), eventstore.Stream{Tenant: testTenant, ID: x[0]})
	require.NoError(t, err)
	require.False(t, row.Open)
	answer, err = r.Publisher(t.Context(), encoded(t, batchOf(recordFor(`{"type":"Paid","key":"7","data":{"n":1}}`, "", 1), recordFor(`{}`, "", 1))))
	require.NoError(t, err)
	require.JSONEq(t, `{"batchItemFailures":[]}`, string(encoded(t, answer)))
	kept, err := r.Store.ReadEvents(t.Context(), eventstore.Topic{Tenant: testTenant, Type: "Paid", Key: "7"}, 0, r.clock.Now(), 10)
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.Equal(t, "m0", kept[0].ID, "the message's own ID: a redelivery keeps it once")
	_, err = r.Publisher(t.Context(), []byte(`"nonsense"`))
	require.ErrorContains(t, err, "an event that is none")
	require.False(t, worker.Passing(err))
}
