package chaos

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	buses "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// listener is a subscriber of the stack's bus: a queue that gets all that the publisher puts there.
type listener struct {
	client *sqs.Client
	queue  string
	// heard are the detail-types of each execution, and how often each was heard.
	heard map[string]map[string]int
}

// listen subscribes until the test ends.
func (r *run) listen() *listener {
	bus := r.d.functions["Publisher"][stack.EnvBus]
	l := &listener{client: sqs.NewFromConfig(r.d.cfg), heard: map[string]map[string]int{}}
	name := "chaos-" + r.name
	q, err := l.client.CreateQueue(r.Context(), &sqs.CreateQueueInput{QueueName: &name})
	require.NoError(r, err)
	l.queue = *q.QueueUrl
	got, err := l.client.GetQueueAttributes(r.Context(), &sqs.GetQueueAttributesInput{QueueUrl: q.QueueUrl, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn}})
	require.NoError(r, err)
	rules := eventbridge.NewFromConfig(r.d.cfg)
	_, err = rules.PutRule(r.Context(), &eventbridge.PutRuleInput{Name: &name, EventBusName: &bus, EventPattern: aws.String(fmt.Sprintf(`{"source":[%q]}`, stack.EventSource))})
	require.NoError(r, err)
	_, err = rules.PutTargets(r.Context(), &eventbridge.PutTargetsInput{Rule: &name, EventBusName: &bus, Targets: []buses.Target{{Id: aws.String("queue"), Arn: aws.String(got.Attributes["QueueArn"])}}})
	require.NoError(r, err)
	r.Cleanup(func() {
		ctx := context.WithoutCancel(r.Context())
		_, err := rules.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: &name, EventBusName: &bus, Ids: []string{"queue"}})
		require.NoError(r, err)
		_, err = rules.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: &name, EventBusName: &bus})
		require.NoError(r, err)
		_, err = l.client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &l.queue})
		require.NoError(r, err)
	})
	return l
}

// hear takes what has come.
func (l *listener) hear(ctx context.Context) error {
	for {
		got, err := l.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &l.queue, MaxNumberOfMessages: 10})
		if err != nil || len(got.Messages) == 0 {
			return err
		}
		for _, m := range got.Messages {
			var e struct {
				Type   string `json:"detail-type"`
				Detail struct {
					Execution string `json:"execution_id"`
				} `json:"detail"`
			}
			if err := json.Unmarshal([]byte(*m.Body), &e); err != nil {
				return err
			}
			if l.heard[e.Detail.Execution] == nil {
				l.heard[e.Detail.Execution] = map[string]int{}
			}
			l.heard[e.Detail.Execution][e.Type]++
			if _, err := l.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &l.queue, ReceiptHandle: m.ReceiptHandle}); err != nil {
				return err
			}
		}
	}
}

// ends are the lifecycle events that an execution goes out with.
var ends = map[string]string{"completed": "Execution Completed", "failed": "Execution Failed", "timed_out": "Execution Failed",
	"compensated": "Execution Compensated", "cancelled, compensated": "Execution Compensated", "cancelled": "Execution Cancelled"}

// announced waits until the bus has told of the start and the end of every execution.
func (r *run) announced(l *listener) {
	for _, a := range r.actors {
		e, err := r.d.api.Get(r.Context(), a.id)
		require.NoError(r, err)
		end := ends[e.Outcome]
		require.NotEmpty(r, end, "%s ended as %q", a.key, e.Outcome)
		require.Eventually(r, func() bool {
			err := l.hear(r.Context())
			return err == nil && l.heard[a.id]["Execution Started"] > 0 && l.heard[a.id][end] > 0
		}, *patience, look, "%s: nobody heard of its start and its end (%s): %v", a.key, end, l.heard[a.id])
		if a.story.name == "emitter" {
			require.NotZero(r, l.heard[a.id]["Told"], "%s: what it emitted went nowhere", a.key)
		}
	}
	twice := 0
	for _, types := range l.heard { // order-free: counted
		for _, n := range types { // order-free: counted
			twice += min(n-1, 1)
		}
	}
	r.Logf("the bus told of all of them; %d events came more than once", twice)
}
