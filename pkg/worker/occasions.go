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
	// Correlation and Chain are those that the start gets if an execution emitted the event; Chain is 0 if none did.
	Correlation string `json:"correlation,omitempty"`
	Chain       int    `json:"chain,omitempty"`
}

// giveUpEvent makes a dead letter of a start by an event that can never be made as things are: by a mistake in the trigger, say, or an input that the
// workflow refuses.
func (w *Worker) giveUpEvent(ctx context.Context, tenant, name string, e Event, from *sender, cause error) error {
	o := occasion{Workflow: name, Event: e}
	if from != nil {
		if err := w.learnChain(ctx, from); err != nil {
			return err
		}
		o.Correlation, o.Chain = from.correlation, from.chain
	}
	_, err := w.buryStart(ctx, tenant, o, cause)
	return err
}

// buryStart tells of an occasion in the dead letters, and reports whether it is kept there: of one that is too large for that, only the cause is.
func (w *Worker) buryStart(ctx context.Context, tenant string, o occasion, cause error) (kept bool, err error) {
	code := "failing.Start"
	var typed *workflow.Error
	if errors.As(cause, &typed) {
		code = typed.Code
	}
	body, err := json.Marshal(o)
	if err != nil {
		return false, fmt.Errorf("worker: dead letter of a start of %s: %w", o.Workflow, err)
	}
	if len(body) > eventstore.MaxDeadLetter {
		body = nil
	}
	w.Log.Error("a trigger starts nothing", "workflow", o.Workflow, "event", o.Event.ID, "webhook", o.Address, "kept", body != nil, "cause", cause)
	return body != nil, w.putLetter(ctx, eventstore.DeadLetter{Tenant: tenant, ID: startLetter(o), Queue: queueTriggers, Code: code, Body: body}, cause)
}

// startLetter names the letter of a start, the same for the same occasion. It is one segment of an address, whatever the sender calls the event.
func startLetter(o occasion) string {
	sum := sha256.Sum256([]byte(o.Address + "\x00" + o.Event.Source + "\x00" + o.Event.ID))
	return "start-" + o.Workflow + "-" + hex.EncodeToString(sum[:8])
}

// startAgain starts what a dead letter was about, by the trigger as it is now. If none of the workflow fits any more, the letter has to stay: without it nobody
// would know of what was to start.
func (w *Worker) startAgain(ctx context.Context, tenant string, d eventstore.DeadLetter) error {
	var o occasion
	if json.Unmarshal(d.Body, &o) != nil {
		return &UndeliverableError{Letter: d.ID, Reason: "what was to start it is too large to be kept"}
	}
	unfit := &UndeliverableError{Letter: d.ID, Reason: fmt.Sprintf("workflow %s has no trigger that fits it now, or is switched off", o.Workflow), Way: "deploy a version that has one, or drop it"}
	if o.Address == "" {
		var from *sender
		if o.Chain > 0 {
			from = &sender{correlation: o.Correlation, chain: o.Chain}
		}
		started, err := w.fireOne(ctx, tenant, o.Workflow, o.Event, from)
		if err == nil && !started {
			err = unfit
		}
		return err
	}
	hook, err := w.hookOf(ctx, tenant, o.Workflow, o.Address, o.Event.ID)
	if errors.Is(err, ErrNoWebhook) {
		return unfit
	}
	if err == nil {
		_, err = w.startHook(ctx, hook, o.Event)
	}
	return err
}
