package aws

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
)

// ofBus is an event as a rule of EventBridge puts it into the queue.
func ofBus(id, source, kind, detail string) string {
	return fmt.Sprintf(`{"version":"0","id":%q,"detail-type":%q,"source":%q,"account":"111122223333","time":"2026-03-10T05:16:23Z","region":"eu-north-1","resources":[],"detail":%s}`, id, kind, source, detail)
}

// uploaded is the event that S3 puts on the default bus for a new object.
func uploaded(id, bucket, key string) string {
	return ofBus(id, "aws.s3", "Object Created", fmt.Sprintf(`{"version":"0","bucket":{"name":%q},"object":{"key":%q,"size":5,"etag":"b1946ac92492d2347c6235b4d2611184","sequencer":"00617F08299329D189"},"request-id":"N4N7GDK58NMKJ12R","requester":"123456789012","source-ip-address":"1.2.3.4","reason":"PutObject"}`, bucket, key))
}

// outputs are those of the executions of a workflow, all of which completed.
func (r *rig) outputs(name string) (list []string) {
	r.Helper()
	rows, _, err := r.Store.List(r.Context(), testTenant, eventstore.Filter{Workflow: name}, eventstore.Page{})
	require.NoError(r, err)
	for _, row := range rows {
		s, err := r.Worker.Inspect(r.Context(), row.Stream)
		require.NoError(r, err)
		require.Equal(r, "completed", worker.Outcome(s.State), "%s: %v", name, s.Error)
		list = append(list, s.Output.JSON.String())
	}
	return list
}

// TestEventsFromOutside: events of the bus, uploads and messages of the queue start the workflows that have a trigger for them, once each, and wake the executions
// that wait for them.
func TestEventsFromOutside(t *testing.T) {
	r := newRig(t)
	r.deploy("dsl: wovyr/v1\nname: ordered\ntriggers: [ { event: { source: shop, type: Order Placed, match: event.data.total > 10 } } ]\noutput: '${ input.total }'\nsteps:\n  a: { value: 1 }")
	r.deploy("dsl: wovyr/v1\nname: uploaded\ntriggers: [ { event: { source: aws.s3, type: Object Created, match: event.data.bucket.name == 'in', input: { key: '${ event.data.object.key }', at: '${ event.key }' } } } ]\noutput: '${ input }'\nsteps:\n  a: { value: 1 }")
	r.deploy("dsl: wovyr/v1\nname: queued\ntriggers: [ { event: { type: counted } } ]\noutput: '${ input.n }'\nsteps:\n  a: { value: 1 }")
	r.deploy(`dsl: wovyr/v1
name: waiting
output: '${ [steps.file.output.data.object.size, steps.queue.output.data.n, steps.bus.output.data.total, steps.named.output.data] }'
steps:
  file: { event: { type: Object Created, key: '"in/scan.pdf"', from: file } }
  queue: { event: { type: counted, key: '"k"', from: queue } }
  bus: { event: { type: Order Placed, key: '"o-1"', from: bus } }
  named: { event: { type: Named, key: '"n"', from: bus } }`)
	r.start("waiting", `{}`)
	r.work()
	bodies := []string{
		ofBus("e-1", "shop", "Order Placed", `{"key":"o-1","total":50}`), ofBus("e-2", "shop", "Order Placed", `{"total":5}`), ofBus("e-3", "desk", "Order Placed", `{"total":50}`),
		uploaded("e-4", "in", "scan.pdf"), uploaded("e-5", "out", "scan.pdf"),
		`{"type":"counted","key":"k","data":{"n":2}}`, `{"id":"own","type":"counted","source":"meter","data":{"n":3}}`,
		ofBus("e-6", "shop", DetailEvent, `{"type":"Named","key":"n","data":"yes"}`),
	}
	for range 2 { // queues and buses deliver at least once
		var batch events.SQSEvent
		for i, body := range bodies {
			batch.Records = append(batch.Records, events.SQSMessage{MessageId: fmt.Sprint("m-", i), Body: body, EventSource: "aws:sqs"})
		}
		require.Empty(t, r.takeIn(t.Context(), batch).BatchItemFailures)
		r.work()
	}
	require.Equal(t, []string{`50`}, r.outputs("ordered"))
	require.Equal(t, []string{`{"at":"in/scan.pdf","key":"scan.pdf"}`}, r.outputs("uploaded"))
	require.ElementsMatch(t, []string{`2`, `3`}, r.outputs("queued"))
	require.Equal(t, []string{`[5,2,50,"yes"]`}, r.outputs("waiting"))
	letters, _, err := r.Store.DeadLetters(t.Context(), testTenant, eventstore.Page{})
	require.NoError(t, err)
	require.Empty(t, letters)
}

// TestEventsThatNobodyCanTake are dead letters at once; what a trigger cannot start is one too, and is no fault of the message.
func TestEventsThatNobodyCanTake(t *testing.T) {
	r := newRig(t)
	r.deploy("dsl: wovyr/v1\nname: strict\ntriggers: [ { event: { type: Order Placed, match: event.data.total > 10 } } ]\nsteps:\n  a: { value: 1 }")
	for name, body := range map[string]string{
		"no JSON":          `{`,
		"no type":          `{"key":"k","data":1}`,
		"a type too long":  `{"type":"` + strings.Repeat("x", 257) + `"}`,
		"too large":        `{"type":"large","data":"` + strings.Repeat("x", 190<<10) + `"}`,
		"a start of none":  ofBus("s-1", "shop", DetailStart, `{}`),
		"a start, no form": ofBus("s-2", "shop", DetailStart, `[]`),
	} {
		var wrong *BodyError
		require.ErrorAs(t, r.TakeIn(t.Context(), "m", []byte(body)), &wrong, name)
		require.Equal(t, "events", wrong.Queue)
	}
	require.NoError(t, r.TakeIn(t.Context(), "m", []byte(ofBus("e-1", "shop", "Order Placed", `{"sum":1}`))))
	letters, _, err := r.Store.DeadLetters(t.Context(), testTenant, eventstore.Page{})
	require.NoError(t, err)
	require.Len(t, letters, 1)
	require.Contains(t, letters[0].ID, "start-strict-")
	require.Equal(t, "expression.missing", letters[0].Code)
}

// TestEventsComeAgainFromTheDeadLetters: an event that could not be taken in for long is sent again by an operator; one that nobody can read is not.
func TestEventsComeAgainFromTheDeadLetters(t *testing.T) {
	r := newRig(t)
	arn := r.arnOf(r.config.EventsQueue)
	record := func(id, body string) events.SQSMessage {
		return events.SQSMessage{MessageId: id, Body: body, EventSource: "aws:sqs", EventSourceARN: arn, Attributes: map[string]string{"ApproximateReceiveCount": fmt.Sprint(stack.MaxFailures)}}
	}
	batch := events.SQSEvent{Records: []events.SQSMessage{record("m-1", ofBus("s-1", "shop", DetailStart, `{"workflow":"late","input":{"n":3}}`)), record("m-2", `{`)}}
	require.Empty(t, r.takeIn(t.Context(), batch).BatchItemFailures)
	letters, _, err := r.Store.DeadLetters(t.Context(), testTenant, eventstore.Page{})
	require.NoError(t, err)
	require.Len(t, letters, 2)
	for _, d := range letters {
		require.Equal(t, "events", d.Queue)
	}
	var unknown *worker.UnknownWorkflowError
	require.ErrorAs(t, r.Worker.Redeliver(t.Context(), testTenant, "m-1", r.Ask), &unknown, "it is not there yet")
	var never *worker.UndeliverableError
	require.ErrorAs(t, r.Worker.Redeliver(t.Context(), testTenant, "m-2", r.Ask), &never)
	r.deploy("dsl: wovyr/v1\nname: late\noutput: '${ input.n }'\nsteps:\n  a: { value: 1 }")
	require.NoError(t, r.Worker.Redeliver(t.Context(), testTenant, "m-1", r.Ask))
	r.work()
	require.Equal(t, []string{`3`}, r.outputs("late"))
	letters, _, err = r.Store.DeadLetters(t.Context(), testTenant, eventstore.Page{})
	require.NoError(t, err)
	require.Len(t, letters, 1)
}

// TestWhatAnEventCosts: an event that nobody waits for costs the same whether workflows have triggers or not; one that a trigger looks at, two reads more.
func TestWhatAnEventCosts(t *testing.T) {
	r := newRig(t)
	took := func(id, kind string) map[string]int {
		require.NoError(t, r.TakeIn(t.Context(), id, []byte(ofBus(id, "shop", kind, `{"key":"k-`+id+`","total":1}`))))
		r.wire.forget()
		require.NoError(t, r.TakeIn(t.Context(), id+"'", []byte(ofBus(id+"'", "shop", kind, `{"key":"k-`+id+`","total":1}`))))
		calls := map[string]int{}
		for _, c := range callsOf[any](r.wire) {
			calls[strings.TrimSuffix(reflect.TypeOf(c).Elem().Name(), "Input")]++
		}
		return calls
	}
	none := took("1", "Nobody")
	r.deploy("dsl: wovyr/v1\nname: strict\ntriggers: [ { event: { type: Order Placed, match: event.data.total > 10 } } ]\nsteps:\n  a: { value: 1 }")
	require.Equal(t, none, took("2", "Nobody"))
	looked := took("3", "Order Placed")
	t.Log(none, looked)
	require.Equal(t, map[string]int{"PutItem": 2, "UpdateItem": 2, "Query": 2}, none, "an event under its key and among all, the end of life of the ones before, and who waits")
	looked["GetItem"]--
	looked["Query"]--
	require.Equal(t, none["Query"], looked["Query"], "the newest version")
	require.Zero(t, looked["GetItem"], "the alias")
}
