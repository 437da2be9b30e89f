package aws

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Detail types of EventBridge events that ask Wovyr itself for something. All others are content events.
const (
	// DetailStart starts an execution: detail {workflow, version, key, input, correlation_id}.
	DetailStart = "Wovyr Start"
	// DetailEvent is a content event in so many words: detail {type, key, data}.
	DetailEvent = "Wovyr Event"
)

// queueEvents names the queue of events from outside in dead letters.
const queueEvents = "events"

// takeInAgain takes in a dead letter of that queue.
func (p *Platform) takeInAgain(ctx context.Context, d eventstore.DeadLetter) error {
	err := p.TakeIn(ctx, d.ID, d.Body)
	var wrong *BodyError
	if errors.As(err, &wrong) {
		return &worker.UndeliverableError{Letter: d.ID, Reason: wrong.Err.Error()}
	}
	return err
}

// outside is an event from outside: one of EventBridge, or a plain message {type, key, data} in the queue of events.
type outside struct {
	ID         string          `json:"id"`
	Source     string          `json:"source"`
	DetailType string          `json:"detail-type"`
	Detail     json.RawMessage `json:"detail"`

	Type string          `json:"type"`
	Key  string          `json:"key"`
	Data json.RawMessage `json:"data"`
}

// TakeIn takes in one event from outside: executions that wait for it get it, and workflows that have a trigger for it start, once for each event. The
// message's own ID stands for the event's where it has none: a redelivery keeps it. A *BodyError says that no retry mends it.
//
//   - detail-type DetailStart starts an execution; the event's ID is its idempotency key unless the detail has one.
//   - detail-type DetailEvent is a content event of the detail's type and key.
//   - A message of the queue that is no event of EventBridge is a content event in so many words: {id, type, key, source, data}.
//   - Any other event is a content event whose type is its detail-type. Its key is the detail's `key`, or for uploads to S3 the object's
//     (bucket/key); its data the whole detail.
func (p *Platform) TakeIn(ctx context.Context, messageID string, body []byte) error {
	var o outside
	if err := json.Unmarshal(body, &o); err != nil {
		return &BodyError{Queue: queueEvents, Err: err}
	}
	if o.ID == "" {
		o.ID = messageID
	}
	if o.DetailType == DetailStart {
		return p.startBy(ctx, o)
	}
	e, err := o.event()
	if err != nil {
		return &BodyError{Queue: queueEvents, Err: err}
	}
	err = p.Worker.Publish(ctx, p.config.Tenant, e)
	var limit *eventstore.LimitError
	var invalid *eventstore.InvalidError
	if errors.As(err, &limit) || errors.As(err, &invalid) || errors.Is(err, worker.ErrEventTooLarge) {
		return &BodyError{Queue: queueEvents, Err: err}
	}
	return err
}

// startBy starts an execution, once for each event.
func (p *Platform) startBy(ctx context.Context, o outside) error {
	var d struct {
		Workflow    string         `json:"workflow"`
		Version     string         `json:"version"`
		Key         string         `json:"key"`
		Input       workflow.Value `json:"input"`
		Correlation string         `json:"correlation_id"`
	}
	if err := json.Unmarshal(o.Detail, &d); err != nil {
		return &BodyError{Queue: queueEvents, Err: err}
	}
	if d.Workflow == "" {
		return &BodyError{Queue: queueEvents, Err: errors.New("the detail names no workflow")}
	}
	if d.Key == "" {
		d.Key = o.Source + "/" + o.ID
	}
	_, err := p.Worker.Start(ctx, worker.StartRequest{Tenant: p.config.Tenant, Workflow: d.Workflow, Version: d.Version, Key: d.Key, Input: d.Input, Correlation: d.Correlation, By: "event/" + o.Source})
	var typed *workflow.Error
	var reused *worker.KeyReusedError
	if errors.As(err, &typed) && !typed.Retryable && typed.Category != workflow.CategoryInfrastructure || errors.As(err, &reused) {
		return &BodyError{Queue: queueEvents, Err: err}
	}
	return err
}

// event is the content event that executions wait for.
func (o outside) event() (worker.Event, error) {
	e := worker.Event{ID: o.ID, Type: o.DetailType, Source: o.Source, From: "bus"}
	data := o.Detail
	var in struct {
		Type   string          `json:"type"`
		Key    string          `json:"key"`
		Data   json.RawMessage `json:"data"`
		Bucket struct {
			Name string `json:"name"`
		} `json:"bucket"`
		Object struct {
			Key string `json:"key"`
		} `json:"object"`
	}
	if len(o.Detail) > 0 {
		_ = json.Unmarshal(o.Detail, &in) // a detail of another form has no key
	}
	e.Key = in.Key
	switch {
	case o.DetailType == "": // a plain message
		e.Type, e.Key, e.From, data = o.Type, o.Key, "queue", o.Data
	case o.DetailType == DetailEvent:
		e.Type, data = in.Type, in.Data
	case o.Source == "aws.s3" && in.Object.Key != "":
		e.Key, e.From = in.Bucket.Name+"/"+in.Object.Key, "file"
	}
	if e.Type == "" {
		return e, errors.New(`the message has no "type", and is no event of EventBridge either`)
	}
	if len(data) == 0 {
		data = json.RawMessage("null")
	}
	value, err := expr.Canonical(workflow.Value(data))
	if err != nil {
		return e, fmt.Errorf("its data: %w", err)
	}
	e.Data = workflow.Inline(value)
	return e, nil
}
