package aws

import (
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/emulator"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/worker/machine"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// TestTasksAreFairBetweenTenants: where there are several, each has a group of its own.
func TestTasksAreFairBetweenTenants(t *testing.T) {
	client := sqs.NewFromConfig(emulator.Config(t))
	for name, tc := range map[string]struct {
		queue  string
		fair   bool
		groups int
	}{"several tenants": {"several", true, 2}, "one": {"one", false, 0}} {
		t.Run(name, func(t *testing.T) {
			url := newQueue(t, client, "tasks-"+tc.queue, false, time.Minute)
			tasks := &tasks{clock: machine.Clock{}, fair: tc.fair, queues: map[string]queue{"default": {client, url}}}
			var list []worker.Task
			for _, tenant := range []string{"acme", "acme", "globex"} {
				list = append(list, worker.Task{Class: "default", Stream: eventstore.Stream{Tenant: tenant, ID: "e"}, ID: tenant, AttemptRef: workflow.AttemptRef{Step: "s", Attempt: 1}})
			}
			require.NoError(t, tasks.Send(t.Context(), list...))
			groups := map[string]bool{}
			for got := 0; got < len(list); {
				out, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, WaitTimeSeconds: 5,
					MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameMessageGroupId}})
				require.NoError(t, err)
				for _, m := range out.Messages {
					if group := m.Attributes["MessageGroupId"]; group != "" {
						groups[group] = true
					}
					_, err := client.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: sdk.String(url), ReceiptHandle: m.ReceiptHandle})
					require.NoError(t, err)
				}
				got += len(out.Messages)
			}
			require.Len(t, groups, tc.groups)
		})
	}
}
