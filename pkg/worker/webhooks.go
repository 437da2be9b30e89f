package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// WebhookTakenError refuses a workflow whose webhook has the path of another workflow's: a request could start only one of them.
type WebhookTakenError struct {
	Path, Workflow string
}

// Error says what to do.
func (e *WebhookTakenError) Error() string {
	return fmt.Sprintf("the webhook path %s belongs to workflow %q: give each webhook of a tenant a path of its own", e.Path, e.Workflow)
}

// ErrNoWebhook says that no workflow has a webhook at an address.
var ErrNoWebhook = errors.New("worker: there is no webhook at this address")

// Hook is the webhook that a request is for. It says how the sender has to prove itself; whoever serves the request checks that before Take.
type Hook struct {
	Workflow string
	Trigger  *workflow.WebhookTrigger

	tenant string
	to     *chosen
}

// request is the start of what a delivery asks for.
func (h *Hook) request(delivery string) StartRequest {
	address := h.Trigger.Address()
	return StartRequest{Tenant: h.tenant, Workflow: h.Workflow, Key: keyOf("webhook"+address, delivery), By: "webhook" + address, triggered: true}
}

// Webhook finds the webhook at an address of a tenant for a request. Which version of a split alias has the say is chosen by a text that repeats of the request
// have in common, as its body: not by the delivery's ID, for how a delivery is told from others the version says itself.
// It costs a query and, if there is one, a read of the alias and of the version. Of several workflows that got the address at the same
// moment, the first by name has it. The error is ErrNoWebhook if there is none, or its workflow is switched off.
func (w *Worker) Webhook(ctx context.Context, tenant, address, choice string) (*Hook, error) {
	names, err := w.listeners(ctx, eventstore.Topic{Tenant: tenant, Type: hookType, Key: address})
	var invalid *eventstore.InvalidError
	var limit *eventstore.LimitError
	if errors.As(err, &invalid) || errors.As(err, &limit) {
		return nil, ErrNoWebhook
	}
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if h, err := w.hookOf(ctx, tenant, name, address, choice); !errors.Is(err, ErrNoWebhook) {
			return h, err
		}
	}
	return nil, ErrNoWebhook
}

// hookOf is the webhook that a workflow has at an address, or ErrNoWebhook.
func (w *Worker) hookOf(ctx context.Context, tenant, name, address, choice string) (*Hook, error) {
	to, err := w.meant(ctx, StartRequest{Tenant: tenant, Workflow: name}, choice)
	if err != nil {
		return nil, err
	}
	if to == nil {
		return nil, fmt.Errorf("%w: workflow %s is switched off", ErrNoWebhook, name)
	}
	for i := range to.Definition().Triggers {
		if t := to.Definition().Triggers[i].Webhook; t != nil && t.Address() == address {
			return &Hook{Workflow: name, Trigger: t, tenant: tenant, to: to}, nil
		}
	}
	return nil, ErrNoWebhook
}

// HookRequest is one verified request.
type HookRequest struct {
	// ID is the same for a repeat.
	ID string
	// Before is the ID that it would have had if it had come a little earlier, for requests that are told apart by what they say and when; empty: none.
	Before string
	// Since is the time from which on what a request with the ID Before started or became is that of this one.
	Since int64
	// Type is what the sender calls the event.
	Type string
	Data workflow.Payload
}

// Take starts the execution that a verified request to a webhook asks for, once for each delivery, or publishes the event that it becomes. What cannot be
// done as things are, for the trigger is wrong or its input is refused, becomes a dead letter, and the error is an *UnstartedError.
func (w *Worker) Take(ctx context.Context, h *Hook, d HookRequest) (Started, error) {
	if d.Before != "" && h.Trigger.Emit == nil {
		r := h.request(d.Before)
		s := eventstore.Stream{Tenant: r.Tenant, ID: w.ExecutionID(r)}
		first, err := w.History(ctx, s, 0, 1)
		if err != nil && !errors.Is(err, ErrNoExecution) {
			return Started{}, err
		}
		if len(first) > 0 && first[0].At >= d.Since {
			return Started{Execution: s.ID, Workflow: h.Workflow, Existed: true}, nil
		}
	}
	e := Event{ID: d.ID, Type: d.Type, Source: h.Trigger.Address(), From: "webhook", Data: d.Data, since: d.Since}
	if d.Before != "" {
		e.before = fitName(h.request(d.Before).Key)
	}
	started, err := w.startHook(ctx, h, e)
	var typed *workflow.Error
	if !errors.As(err, &typed) || typed.Retryable {
		return started, err
	}
	kept, failed := w.buryStart(ctx, h.tenant, occasion{Workflow: h.Workflow, Address: h.Trigger.Address(), Event: e}, err)
	if failed != nil {
		return started, failed // the sender tries again, until somebody knows of it
	}
	return started, &UnstartedError{Cause: typed, Kept: kept}
}

// UnstartedError says that a request to a webhook starts nothing as things are, which a dead letter tells.
type UnstartedError struct {
	Cause *workflow.Error
	// Kept says that the letter has the request, and can be sent again. One that is too large to be kept the sender has to repeat.
	Kept bool
}

// Error is the cause.
func (e *UnstartedError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *UnstartedError) Unwrap() error { return e.Cause }

// startHook does for a request, as an event, what its webhook says.
func (w *Worker) startHook(ctx context.Context, h *Hook, e Event) (Started, error) {
	r := h.request(e.ID)
	ev := workflow.EarlyEvent{ID: e.ID, Kind: e.Type, Source: e.Source, From: e.From, Data: e.Data, ReceivedAt: w.Clock.Now()}
	if h.Trigger.Emit != nil {
		ev, wrong := engine.HookEvent(h.Trigger, ev)
		if wrong != nil {
			return Started{}, fmt.Errorf("worker: webhook %s of %s: %w", h.Trigger.Path, h.Workflow, wrong)
		}
		return Started{Workflow: h.Workflow}, w.Publish(ctx, h.tenant, Event{ID: fitName(r.Key), Type: ev.Kind, Key: ev.Key, Source: ev.Source, From: ev.From, Data: ev.Data,
			before: e.before, since: e.since})
	}
	input, wrong := engine.Hooked(h.Trigger, ev)
	if wrong != nil {
		return Started{}, fmt.Errorf("worker: webhook %s of %s: %w", h.Trigger.Path, h.Workflow, wrong)
	}
	r.Input = input.JSON
	return w.startAs(ctx, r, h.to, w.ExecutionID(r), workflow.Origin{})
}
