package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// queueTriggers is where dead letters of starts come from.
const queueTriggers = "triggers"

// occasion is why a workflow was to be started: an event, or a request to one of its webhooks.
type occasion struct {
	Workflow string `json:"workflow"`
	// Address is that of the webhook; empty: it was an event.
	Address string `json:"address,omitempty"`
	Event   Event  `json:"event"`
}

// giveUp makes a dead letter of a start that can never be made as things are: by a mistake in the trigger, or an input that the workflow refuses. A
// passing error is returned.
func (w *Worker) giveUp(ctx context.Context, tenant string, o occasion, err error) error {
	var typed *workflow.Error
	if !errors.As(err, &typed) || typed.Retryable {
		return err
	}
	return w.buryStart(ctx, tenant, o, err)
}

// buryStart keeps an occasion in the dead letters. One that is too large to be kept is logged only.
func (w *Worker) buryStart(ctx context.Context, tenant string, o occasion, cause error) error {
	code := "failing.Start"
	var typed *workflow.Error
	if errors.As(cause, &typed) {
		code = typed.Code
	}
	body, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("worker: dead letter of a start of %s: %w", o.Workflow, err)
	}
	if len(body) > eventstore.MaxDeadLetter {
		body = nil
	}
	w.Log.Error("a trigger starts nothing", "workflow", o.Workflow, "event", o.Event.ID, "webhook", o.Address, "kept", body != nil, "cause", cause)
	return w.putLetter(ctx, eventstore.DeadLetter{Tenant: tenant, ID: startLetter(o), Queue: queueTriggers, Code: code, Body: body}, cause)
}

// startLetter names the letter of a start, the same for the same occasion. It is one segment of an address, whatever the sender calls the event.
func startLetter(o occasion) string {
	sum := sha256.Sum256([]byte(o.Address + "\x00" + o.Event.Source + "\x00" + o.Event.ID))
	return "start-" + o.Workflow + "-" + hex.EncodeToString(sum[:8])
}

// startAgain starts what a dead letter was about, by the trigger as it is now.
func (w *Worker) startAgain(ctx context.Context, tenant string, d eventstore.DeadLetter) error {
	var o occasion
	if json.Unmarshal(d.Body, &o) != nil {
		return &UndeliverableError{d.ID, "what was to start it is too large to be kept"}
	}
	if o.Address == "" {
		_, err := w.fireOne(ctx, tenant, o.Workflow, o.Event, nil)
		return err
	}
	hook, err := w.hookOf(ctx, tenant, o.Workflow, o.Address, o.Event.ID)
	if err == nil {
		_, err = w.startHook(ctx, hook, o.Event)
	}
	return err
}
