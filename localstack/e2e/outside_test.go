package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	bustypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	smtypes "github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/e2e"
	platform "github.com/wovyr/wovyr/pkg/aws"
	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/client"
)

// secret keeps the secret of the scenarios where the functions of the stack look for it.
func (d *deployed) secret(t *testing.T) {
	t.Helper()
	_, err := secretsmanager.NewFromConfig(d.cfg).CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{
		Name: aws.String("wovyr/" + e2e.SecretName), SecretString: aws.String(e2e.SecretValue)})
	var there *smtypes.ResourceExistsException
	if !errors.As(err, &there) {
		require.NoError(t, err)
	}
}

// put puts an event on the bus of the stack.
func (d *deployed) put(t *testing.T, source, kind, detail string) {
	t.Helper()
	out, err := eventbridge.NewFromConfig(d.cfg).PutEvents(t.Context(), &eventbridge.PutEventsInput{Entries: []bustypes.PutEventsRequestEntry{
		{EventBusName: aws.String(d.outputs[stack.OutputBus]), Source: &source, DetailType: &kind, Detail: &detail}}})
	require.NoError(t, err)
	require.Zero(t, out.FailedEntryCount)
}

// send sends a message to the queue of events.
func (d *deployed) send(t *testing.T, body string) {
	t.Helper()
	_, err := sqs.NewFromConfig(d.cfg).SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String(d.outputs[stack.OutputEvents]), MessageBody: &body})
	require.NoError(t, err)
}

// started waits until a workflow has so many executions, and returns them when they have ended.
func (d *deployed) started(t *testing.T, workflow string, n int) []client.Execution {
	t.Helper()
	return eventually(t, fmt.Sprintf("%d executions of %s end", n, workflow), func() ([]client.Execution, bool) {
		page, err := d.client.List(t.Context(), url.Values{"workflow": {workflow}})
		if err != nil || len(page.Items) < n {
			return nil, false
		}
		require.Len(t, page.Items, n)
		for i := range page.Items {
			if page.Items[i], err = d.client.Get(t.Context(), page.Items[i].ID); err != nil || !page.Items[i].Ended() {
				return nil, false
			}
		}
		return page.Items, true
	})
}

// TestOutside starts and wakes executions from outside: by the event bus, and by the queue of events.
func TestOutside(t *testing.T) {
	d := open(t)
	w := fmt.Sprintf("outside-%d", time.Now().UnixNano())
	d.deploy(t, `
dsl: wovyr/v1
name: `+w+`
output: '${ [steps.bus.output.data.n, steps.queue.output.data.n] }'
steps:
  bus: { event: { type: Order Placed, key: '${ input.key }', from: bus } }
  queue: { needs: [ bus ], event: { type: counted, key: '${ input.key }', from: queue } }
`)
	d.put(t, "shop", platform.DetailStart, fmt.Sprintf(`{"workflow":%q,"input":{"key":%q}}`, w, w))
	d.put(t, "shop", "Order Placed", fmt.Sprintf(`{"key":%q,"n":1}`, w))
	d.send(t, fmt.Sprintf(`{"type":"counted","key":%q,"data":{"n":2}}`, w))
	require.JSONEq(t, `[1,2]`, string(d.started(t, w, 1)[0].Output))
}

// TestTriggersOutside: an event that others put on the bus, and a message of the queue, start the workflows that have a trigger for them, once each, though the
// queue delivers twice.
func TestTriggersOutside(t *testing.T) {
	d := open(t)
	w := fmt.Sprintf("triggered-%d", time.Now().UnixNano())
	d.deploy(t, `
dsl: wovyr/v1
name: `+w+`
triggers:
  - event: { source: shop, type: `+w+`, match: event.data.total > 10, input: { total: '${ event.data.total }' } }
  - event: { type: `+w+`.counted, input: { total: '${ event.data.n }' } }
output: '${ input.total }'
steps:
  a: { function: std.echo }
`)
	d.put(t, "shop", w, `{"total":50}`)
	d.put(t, "shop", w, `{"total":5}`)
	d.put(t, "desk", w, `{"total":500}`)
	for range 2 {
		d.send(t, fmt.Sprintf(`{"id":"m-%s","type":"%s.counted","data":{"n":7}}`, w, w))
	}
	var outputs []string
	for _, e := range d.started(t, w, 2) {
		require.Equal(t, "completed", e.Outcome)
		outputs = append(outputs, string(e.Output))
	}
	require.ElementsMatch(t, []string{"50", "7"}, outputs)
}

// TestUploads: an object that is put into a bucket whose events go to EventBridge wakes the execution that waits for it, and starts a workflow.
func TestUploads(t *testing.T) {
	d := open(t)
	w := fmt.Sprintf("uploads-%d", time.Now().UnixNano())
	objects := s3.NewFromConfig(d.cfg, func(o *s3.Options) { o.UsePathStyle = true })
	_, err := objects.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &w})
	require.NoError(t, err)
	_, err = objects.PutBucketNotificationConfiguration(t.Context(), &s3.PutBucketNotificationConfigurationInput{
		Bucket: &w, NotificationConfiguration: &s3types.NotificationConfiguration{EventBridgeConfiguration: &s3types.EventBridgeConfiguration{}}})
	require.NoError(t, err)
	d.deploy(t, `
dsl: wovyr/v1
name: `+w+`-waits
output: '${ steps.scan.output.data.object.size }'
steps:
  scan: { event: { type: Object Created, key: '${ input.object }', from: file } }
`)
	d.deploy(t, `
dsl: wovyr/v1
name: `+w+`-starts
triggers: [ { event: { source: aws.s3, type: Object Created, match: event.data.bucket.name == "`+w+`", input: { key: '${ event.data.object.key }' } } } ]
output: '${ input.key }'
steps:
  a: { function: std.echo }
`)
	waiting, err := d.client.Start(t.Context(), client.StartRequest{Workflow: w + "-waits", Input: json.RawMessage(fmt.Sprintf(`{"object":"%s/scans/one.pdf"}`, w))})
	require.NoError(t, err)
	eventually(t, "it waits for the file", func() (client.Execution, bool) {
		e, err := d.client.Get(t.Context(), waiting.ID)
		return e, err == nil && len(e.Waiting) == 1 && e.Waiting[0] == "file"
	})
	_, err = objects.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &w, Key: aws.String("scans/one.pdf"), Body: strings.NewReader("hello")})
	require.NoError(t, err)
	require.JSONEq(t, `5`, string(d.started(t, w+"-waits", 1)[0].Output))
	require.JSONEq(t, `"scans/one.pdf"`, string(d.started(t, w+"-starts", 1)[0].Output))
}
