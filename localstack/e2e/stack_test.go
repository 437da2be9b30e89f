package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/e2e"
	platform "github.com/wovyr/wovyr/pkg/aws"
	"github.com/wovyr/wovyr/pkg/aws/connect"
	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/client"
)

var (
	name     = flag.String("stack", "", "name of the deployed stack; empty: nothing is tested")
	emulator = flag.String("emulator", "ministack", "what answers: ministack, localstack or aws")
)

// without are the scenarios that an emulator cannot serve, with the reason.
var without = map[string]map[string]string{
	"ministack":  {},
	"localstack": {"a far timer is an entry of the scheduler": "LocalStack's community edition stores entries and never fires them"},
}

// deployed is the stack under test.
type deployed struct {
	cfg     aws.Config
	outputs map[string]string
	client  *client.Client
}

func open(t *testing.T) *deployed {
	if *name == "" {
		t.Skip("no stack: deploy one and name it, as make aws-local-test does: go test ./localstack/e2e -args -stack wovyr")
	}
	cfg, err := connect.Load(t.Context())
	require.NoError(t, err)
	s, err := connect.Find(t.Context(), cfg, *name)
	require.NoError(t, err)
	c, err := s.Client(os.Getenv("WOVYR_TOKEN"))
	require.NoError(t, err)
	return &deployed{cfg: cfg, outputs: s.Outputs, client: c}
}

func TestEndToEnd(t *testing.T) {
	d := open(t)
	e2e.Run(t, e2e.Target{Client: d.client, Patience: 3 * time.Minute, Look: 500 * time.Millisecond, Short: testing.Short(), Without: without[*emulator]})
}

// TestOutside starts and wakes executions from outside: by the event bus, and by the queue of events.
func TestOutside(t *testing.T) {
	d := open(t)
	w := fmt.Sprintf("outside-%d", time.Now().UnixNano())
	_, err := d.client.Deploy(t.Context(), "outside.yaml", []byte(`
dsl: wovyr/v1
name: `+w+`
output: '${ [steps.bus.output.data.n, steps.queue.output.data.n] }'
steps:
  bus: { event: { type: Order Placed, key: '${ input.key }' } }
  queue: { needs: [ bus ], event: { type: counted, key: '${ input.key }' } }
`))
	require.NoError(t, err)
	bus := eventbridge.NewFromConfig(d.cfg)
	put := func(source, kind, detail string) {
		out, err := bus.PutEvents(t.Context(), &eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{
			{EventBusName: aws.String(d.outputs[stack.OutputBus]), Source: &source, DetailType: &kind, Detail: &detail}}})
		require.NoError(t, err)
		require.Zero(t, out.FailedEntryCount)
	}
	put("shop", platform.DetailStart, fmt.Sprintf(`{"workflow":%q,"input":{"key":%q}}`, w, w))
	put("shop", "Order Placed", fmt.Sprintf(`{"key":%q,"n":1}`, w))
	body, err := json.Marshal(map[string]any{"type": "counted", "key": w, "data": map[string]int{"n": 2}})
	require.NoError(t, err)
	_, err = sqs.NewFromConfig(d.cfg).SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String(d.outputs[stack.OutputEvents]), MessageBody: aws.String(string(body))})
	require.NoError(t, err)
	e := eventually(t, "an execution that the event started ends", func() (client.Execution, bool) {
		page, err := d.client.List(t.Context(), url.Values{"workflow": {w}})
		if err != nil || len(page.Items) == 0 {
			return client.Execution{}, false
		}
		require.Len(t, page.Items, 1)
		e, err := d.client.Get(t.Context(), page.Items[0].ID)
		return e, err == nil && e.Ended()
	})
	require.JSONEq(t, `[1,2]`, string(e.Output))
}

// TestFarTimer finds the entry of a timer of more than 15 minutes.
func TestFarTimer(t *testing.T) {
	d := open(t)
	w := fmt.Sprintf("far-%d", time.Now().UnixNano())
	_, err := d.client.Deploy(t.Context(), "far.yaml", []byte("dsl: wovyr/v1\nname: "+w+"\nsteps: { nap: { timer: { for: 7d } } }\n"))
	require.NoError(t, err)
	entries := func() int {
		n := 0
		pages := scheduler.NewListSchedulesPaginator(scheduler.NewFromConfig(d.cfg), &scheduler.ListSchedulesInput{GroupName: aws.String(*name + "-wovyr")})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			require.NoError(t, err)
			n += len(page.Schedules)
		}
		return n
	}
	before := entries()
	_, err = d.client.Start(t.Context(), client.StartRequest{Workflow: w})
	require.NoError(t, err)
	eventually(t, "the scheduler has an entry", func() (int, bool) { n := entries(); return n, n == before+1 })
}

// eventually looks again and again.
func eventually[T any](t *testing.T, what string, look func() (T, bool)) T {
	t.Helper()
	over := time.NewTimer(3 * time.Minute)
	defer over.Stop()
	again := time.NewTicker(500 * time.Millisecond)
	defer again.Stop()
	for {
		if v, ok := look(); ok {
			return v
		}
		select {
		case <-over.C:
			require.Fail(t, "it did not happen: "+what)
		case <-again.C:
		}
	}
}
