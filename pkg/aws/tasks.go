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

// tasks is worker.Tasks on standard SQS queues, one for each worker class.
type tasks struct {
	queues map[string]queue
	// fair says that there are several tenants, of whom none keeps the others waiting. With one there is nothing to be fair about, and not every
	// emulator knows fair queues.
	fair bool
	bodies
	links worker.Links
	clock worker.Clock
}

// Send implements worker.Tasks. A class without a queue is an *UnknownClassError.
func (t *tasks) Send(ctx context.Context, list ...worker.Task) error {
	byClass := map[string][]types.SendMessageBatchRequestEntry{}
	now := t.clock.Now()
	for _, task := range list {
		if _, ok := t.queues[task.Class]; !ok {
			return &UnknownClassError{Class: task.Class, Known: slices.Sorted(maps.Keys(t.queues))}
		}
		task.Sent = now
		answer, err := t.answerOf(ctx, task)
		if err != nil {
			return err
		}
		body, err := t.ofTask(ctx, task, answer)
		if err != nil {
			return err
		}
		e := types.SendMessageBatchRequestEntry{MessageBody: &body}
		if t.fair {
			group := fairGroup(task.Stream.Tenant)
			e.MessageGroupId = &group
		}
		byClass[task.Class] = append(byClass[task.Class], e)
	}
	for _, class := range slices.Sorted(maps.Keys(byClass)) {
		if err := t.queues[class].send(ctx, byClass[class]); err != nil {
			return err
		}
	}
	return nil
}

// answerOf is the callback of a task whose worker may not read the key that signs it; nil if it has none.
func (t *tasks) answerOf(ctx context.Context, task worker.Task) (*callback, error) {
	if !sealed(task.Class) || task.Command == nil || !task.Command.Callback {
		return nil, nil
	}
	url, token, err := t.links.Callback(ctx, task.Stream, task.AttemptRef)
	if err != nil {
		return nil, passing("sign a callback", err)
	}
	return &callback{url, token}, nil
}

// sealed reports whether a worker class holds a user's own code, which may neither read nor write histories (commit protocol, point 15).
func sealed(class string) bool { return class != worker.DefaultClass }

// UnknownClassError is a worker class that this deployment has no queue of.
type UnknownClassError struct {
	Class string
	Known []string
}

// Error names the classes that there are.
func (e *UnknownClassError) Error() string {
	return fmt.Sprintf("aws: this deployment has no worker class %q, only %s: add it to the stack's Classes and deploy", e.Class, strings.Join(e.Known, ", "))
}
