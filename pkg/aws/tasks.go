package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/wovyr/wovyr/pkg/worker"
)

// tasks is worker.Tasks on standard SQS queues, one for each worker class, fair between tenants.
type tasks struct {
	queues map[string]queue
	bodies
}

// Send implements worker.Tasks. A class without a queue is an *UnknownClassError.
func (t *tasks) Send(ctx context.Context, list ...worker.Task) error {
	byClass := map[string][]types.SendMessageBatchRequestEntry{}
	for _, task := range list {
		if _, ok := t.queues[task.Class]; !ok {
			return &UnknownClassError{Class: task.Class, Known: slices.Sorted(maps.Keys(t.queues))}
		}
		body, err := t.ofTask(task)
		if err != nil {
			return err
		}
		group := fairGroup(task.Stream.Tenant)
		byClass[task.Class] = append(byClass[task.Class], types.SendMessageBatchRequestEntry{MessageBody: &body, MessageGroupId: &group})
	}
	for _, class := range slices.Sorted(maps.Keys(byClass)) {
		if err := t.queues[class].send(ctx, byClass[class]); err != nil {
			return err
		}
	}
	return nil
}

// UnknownClassError is a worker class that this deployment has no queue of.
type UnknownClassError struct {
	Class string
	Known []string
}

// Error names the classes that there are.
func (e *UnknownClassError) Error() string {
	return fmt.Sprintf("aws: this deployment has no worker class %q, only %s: add it to the stack's Classes and deploy", e.Class, strings.Join(e.Known, ", "))
}
