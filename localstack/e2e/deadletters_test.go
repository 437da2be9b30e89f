package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/client"
)

// resource is the physical name of a resource of the stack: the only one of a type whose logical ID is this name and a hash.
func (d *deployed) resource(t *testing.T, kind, id string) string {
	t.Helper()
	pages := cloudformation.NewListStackResourcesPaginator(cloudformation.NewFromConfig(d.cfg), &cloudformation.ListStackResourcesInput{StackName: name})
	logical := regexp.MustCompile("^Wovyr" + id + "[0-9A-F]{8}$")
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		require.NoError(t, err)
		for _, r := range page.StackResourceSummaries {
			if *r.ResourceType == kind && logical.MatchString(*r.LogicalResourceId) {
				return *r.PhysicalResourceId
			}
		}
	}
	require.Failf(t, "the stack has no such resource", "%s %s", kind, id)
	return ""
}

// set changes attributes of a queue, and returns how to undo that.
func set(t *testing.T, queues *sqs.Client, queue string, changes map[string]string) (undo func()) {
	t.Helper()
	before := attributes(t, queues, queue)
	old := map[string]string{}
	for name := range changes { // order-free: a map again
		old[name] = before[name]
	}
	_, err := queues.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &queue, Attributes: changes})
	require.NoError(t, err)
	return func() {
		_, err := queues.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &queue, Attributes: old})
		require.NoError(t, err)
	}
}

func attributes(t *testing.T, queues *sqs.Client, queue string) map[string]string {
	t.Helper()
	out, err := queues.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &queue, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	require.NoError(t, err)
	return out.Attributes
}

// breaks gives a function an environment with which it cannot start, and returns how to undo that.
func breaks(t *testing.T, functions *lambda.Client, function string) (undo func()) {
	t.Helper()
	was, err := functions.GetFunctionConfiguration(t.Context(), &lambda.GetFunctionConfigurationInput{FunctionName: &function})
	require.NoError(t, err)
	update := func(environment map[string]string) {
		_, err := functions.UpdateFunctionConfiguration(t.Context(), &lambda.UpdateFunctionConfigurationInput{FunctionName: &function, Environment: &lambdatypes.Environment{Variables: environment}})
		require.NoError(t, err)
		require.NoError(t, lambda.NewFunctionUpdatedV2Waiter(functions).Wait(t.Context(), &lambda.GetFunctionInput{FunctionName: &function}, time.Minute))
	}
	broken := maps.Clone(was.Environment.Variables)
	broken[stack.EnvRetention] = "soon"
	update(broken)
	return func() { update(was.Environment.Variables) }
}

// TestRedriveOfAQueue follows a message that no function can handle: into the dead letters of its queue, under the eyes of an alarm, and back when the
// function has been mended. The execution that it is for has lost nothing.
func TestRedriveOfAQueue(t *testing.T) {
	d := open(t)
	queues, functions := sqs.NewFromConfig(d.cfg), lambda.NewFromConfig(d.cfg)
	inbox, dead := d.resource(t, "AWS::SQS::Queue", "Inbox"), d.resource(t, "AWS::SQS::Queue", "InboxDeadLetters")
	w := fmt.Sprintf("redriven-%d", time.Now().UnixNano())
	d.deploy(t, "dsl: wovyr/v1\nname: "+w+"\noutput: '${ steps.wait.output.data }'\nsteps: { wait: { event: { type: Go } } }\n")
	x, err := d.client.Start(t.Context(), client.StartRequest{Workflow: w})
	require.NoError(t, err)

	deadARN := attributes(t, queues, dead)["QueueArn"]
	few, err := json.Marshal(map[string]any{"deadLetterTargetArn": deadARN, "maxReceiveCount": "2"})
	require.NoError(t, err)
	patient := set(t, queues, inbox, map[string]string{"RedrivePolicy": string(few), "VisibilityTimeout": "1"}) // 100 receives of a minute each would take too long
	mend := breaks(t, functions, d.resource(t, "AWS::Lambda::Function", "Orchestrator"))
	before := length(t, queues, dead)
	require.NoError(t, d.client.Signal(t.Context(), x.ID, client.Signal{ID: "once", Type: "Go", Data: json.RawMessage(`7`)}))
	eventually(t, "the message is among the dead letters of its queue", func() (int, bool) { n := length(t, queues, dead); return n, n > before })
	got, err := d.client.Get(t.Context(), x.ID)
	require.NoError(t, err)
	require.False(t, got.Ended())
	d.resource(t, "AWS::CloudWatch::Alarm", "InboxDeadLettersAlarm") // what it watches, the template's own test says

	mend()
	patient()
	d.redrive(t, queues, dead, inbox)
	got = eventually(t, "the execution ends", func() (client.Execution, bool) {
		e, err := d.client.Get(t.Context(), x.ID)
		return e, err == nil && e.Ended()
	})
	require.JSONEq(t, `7`, string(got.Output))
	eventually(t, "the dead letters are gone", func() (int, bool) { n := length(t, queues, dead); return n, n == before })
}

func length(t *testing.T, queues *sqs.Client, queue string) int {
	t.Helper()
	n, err := strconv.Atoi(attributes(t, queues, queue)["ApproximateNumberOfMessages"])
	require.NoError(t, err)
	return n
}

// redrive moves the messages of a queue back to their source: by the service, or by hand where an emulator cannot. LocalStack says that it has moved
// them, and then swallows those that were sent less than five minutes ago, for it keeps their deduplication IDs.
func (d *deployed) redrive(t *testing.T, queues *sqs.Client, dead, source string) {
	t.Helper()
	if *emulator == "aws" {
		_, err := queues.StartMessageMoveTask(t.Context(), &sqs.StartMessageMoveTaskInput{SourceArn: aws.String(attributes(t, queues, dead)["QueueArn"])})
		require.NoError(t, err)
		return
	}
	t.Logf("%s cannot move messages between queues: they are moved by hand", *emulator)
	for {
		out, err := queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &dead, MaxNumberOfMessages: 10, WaitTimeSeconds: 1,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll}})
		require.NoError(t, err)
		if len(out.Messages) == 0 {
			return
		}
		for _, m := range out.Messages {
			group, id := m.Attributes["MessageGroupId"], *m.MessageId
			_, err := queues.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &source, MessageBody: m.Body, MessageGroupId: &group, MessageDeduplicationId: &id})
			require.NoError(t, err)
			_, err = queues.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &dead, ReceiptHandle: m.ReceiptHandle})
			require.NoError(t, err)
		}
	}
}
