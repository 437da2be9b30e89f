package worker

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Triggers of deployed workflows. A workflow that may be started by events of a type subscribes to that type, as an execution does that
// waits for one: whoever sends an event reads its subscribers anyway, so an event that starts nothing costs no request more. A subscription is a
// hint, written before the version that asks for it and never removed, since an alias may lead back to an older version: what an event
// starts, the version says that a start without a version would get.

// MaxTriggered is how many workflows of a tenant the events of one type can start.
const MaxTriggered = 100

// MaxChain is how many executions may stand before one, each started by an event that the one before emitted: workflows that start each other
// without end are stopped there.
const MaxChain = 16

// hookType is the type of the topics whose keys are the addresses of webhooks, and whose subscribers the workflows that have one there. No
// event's type begins with NUL.
const hookType = "\x00webhook"

// triggerMark begins the names of workflows among the subscribers of a type. No execution's begins with it.
const triggerMark = "\x00"

// CrowdedError refuses a workflow because its trigger would be one too many for the type of its event.
type CrowdedError struct {
	Type  string
	Limit int
}

// Error says what to do.
func (e *CrowdedError) Error() string {
	return fmt.Sprintf("events of type %q start %d workflows already, and more they may not: let one of those start this one, as a step of kind workflow", e.Type, e.Limit)
}

// subscriptionOf is that of a trigger; false if it has none, as a schedule.
func subscriptionOf(tenant, name string, t *workflow.Trigger) (eventstore.Subscription, bool) {
	s := eventstore.Subscription{Execution: name, Waiter: "trigger"}
	switch {
	case t.Event != nil:
		s.Topic, s.Execution = eventstore.Topic{Tenant: tenant, Type: t.Event.Type, Key: anyKey}, triggerMark+name
	case t.Webhook != nil:
		s.Topic = eventstore.Topic{Tenant: tenant, Type: hookType, Key: t.Webhook.Address()}
	default:
		return s, false
	}
	return s, true
}

// Subscriptions are those that the triggers of a definition need in the store, beside the definition.
func Subscriptions(tenant string, def *workflow.Definition) (list []eventstore.Subscription) {
	for i := range def.Triggers {
		if s, ok := subscriptionOf(tenant, def.Name, &def.Triggers[i]); ok {
			list = append(list, s)
		}
	}
	return list
}

// listen subscribes to what triggers of a definition wait for. It comes before the definition is stored: a version that is there is heard of.
func (w *Worker) listen(ctx context.Context, tenant string, def *workflow.Definition) error {
	for _, s := range Subscriptions(tenant, def) {
		if err := w.Store.Subscribe(ctx, s); err != nil {
			return fmt.Errorf("worker: triggers of %s: %w", def.Name, err)
		}
	}
	return nil
}

// checkTriggers refuses a definition whose webhook has the path of another workflow's, or whose event starts too many workflows already. Two deploys
// at the same moment can miss each other; then the first of the workflows by name has the path (Worker.Webhook), and the events start
// the first MaxTriggered.
func (w *Worker) checkTriggers(ctx context.Context, tenant string, def *workflow.Definition) error {
	for i := range def.Triggers {
		t := &def.Triggers[i]
		s, ok := subscriptionOf(tenant, def.Name, t)
		if !ok {
			continue
		}
		others, err := w.listeners(ctx, s.Topic)
		if err != nil {
			return err
		}
		others = slices.DeleteFunc(others, func(name string) bool { return name == def.Name })
		if t.Event != nil && len(others) < MaxTriggered {
			continue // most often
		}
		active := 0
		for _, name := range others {
			has, err := w.has(ctx, tenant, name, s.Topic)
			if err != nil {
				return err
			}
			if has && t.Webhook != nil {
				return &WebhookTakenError{Path: t.Webhook.Path, Workflow: name}
			}
			if has {
				active++
			}
		}
		if active >= MaxTriggered {
			return &CrowdedError{Type: t.Event.Type, Limit: MaxTriggered}
		}
	}
	return nil
}

// listeners are the workflows that may have a trigger for a topic, by name.
func (w *Worker) listeners(ctx context.Context, topic eventstore.Topic) (names []string, err error) {
	for page := (eventstore.Page{}); ; {
		list, next, err := w.Store.Subscribers(ctx, topic, page)
		if err != nil {
			return nil, fmt.Errorf("worker: triggers of %s: %w", topic, err)
		}
		for _, s := range list {
			if name, ok := listener(topic, s); ok {
				names = append(names, name)
			}
		}
		if next == "" {
			return names, nil
		}
		page.Cursor = next
	}
}

// listener is the workflow that subscribed; false if it was an execution.
func listener(topic eventstore.Topic, s eventstore.Subscription) (string, bool) {
	if topic.Type == hookType {
		return s.Execution, true
	}
	return strings.CutPrefix(s.Execution, triggerMark)
}

// has reports whether the newest version of a workflow, or one that its starts may get, has a trigger for a topic.
func (w *Worker) has(ctx context.Context, tenant, name string, topic eventstore.Topic) (bool, error) {
	versions := []uint64{0}
	alias, err := w.Store.Alias(ctx, tenant, name, live)
	if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
		return false, err
	}
	for _, target := range alias.Targets {
		versions = append(versions, target.Version)
	}
	for _, v := range versions {
		d, err := w.Store.Definition(ctx, tenant, name, v)
		if errors.Is(err, eventstore.ErrNotFound) {
			continue // its deploy was cut off
		}
		if err != nil {
			return false, err
		}
		program, err := w.Programs.Load(ctx, tenant, name, d.Version)
		if err != nil {
			return false, err
		}
		for i := range program.Definition().Triggers {
			if s, ok := subscriptionOf(tenant, name, &program.Definition().Triggers[i]); ok && s.Topic == topic {
				return true, nil
			}
		}
	}
	return false, nil
}

// sender is the execution that emitted an event; zero for one from outside.
type sender struct {
	stream      eventstore.Stream
	correlation string
	// chain is the length of the chain that its event goes on, once it is known.
	chain int
}

// fire starts what an event starts: an execution of each workflow that is listening and has a trigger for it. Those that cannot be started for
// reasons of their own become dead letters, and keep no other from starting. It may be repeated.
func (w *Worker) fire(ctx context.Context, tenant string, names []string, e Event, from *sender) error {
	var failed []error
	started := 0
	for i, name := range names {
		if started >= MaxTriggered {
			err := &CrowdedError{Type: e.Type, Limit: MaxTriggered}
			return errors.Join(append(failed, w.giveUpEvent(ctx, tenant, names[i], e, from, err))...)
		}
		did, err := w.fireOne(ctx, tenant, name, e, from)
		if did {
			started++
		}
		var typed *workflow.Error
		if errors.As(err, &typed) && !typed.Retryable {
			err = w.giveUpEvent(ctx, tenant, name, e, from, err)
		}
		if err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// keyOf is the idempotency key of what something starts that a sender calls by an ID. No two senders and IDs have the same: no escaped ID contains a slash.
func keyOf(sender, id string) string { return sender + "/" + url.PathEscape(id) }

// fireOne starts an execution of a workflow by the first of its triggers that an event matches: once for each event.
func (w *Worker) fireOne(ctx context.Context, tenant, name string, e Event, from *sender) (started bool, err error) {
	r := StartRequest{Tenant: tenant, Workflow: name, Key: keyOf("event/"+e.Source, e.ID), By: cut("event/"+e.Source, eventstore.MaxName), triggered: true}
	if mutated(StartAnew) {
		r.Key = ""
	}
	id := w.ExecutionID(r)
	to, err := w.meant(ctx, r, id)
	if err != nil || to == nil {
		return false, err
	}
	ev := workflow.EarlyEvent{ID: e.ID, Kind: e.Type, Key: e.Key, Source: e.Source, From: e.From, Data: e.Data, ReceivedAt: w.Clock.Now()}
	for i := range to.Definition().Triggers {
		t := to.Definition().Triggers[i].Event
		if t == nil || t.Type != e.Type {
			continue
		}
		if ev.Data, err = w.inlined(ctx, tenant, ev.Data); err != nil {
			return false, err
		}
		input, starts, wrong := engine.Triggered(t, ev)
		if wrong != nil {
			return false, fmt.Errorf("trigger %d: %w", i+1, wrong)
		}
		if !starts {
			continue
		}
		chain, err := w.chained(ctx, from)
		if err != nil {
			return false, err
		}
		r.Input = input.JSON
		if from != nil {
			r.Correlation = from.correlation
		}
		_, err = w.startAs(ctx, r, to, id, workflow.Origin{Chain: chain})
		return err == nil, err
	}
	return false, nil
}

// meant is the version that a start by a trigger gets, of a split alias the same for the same choice; nil if the workflow is switched off, or not there yet.
func (w *Worker) meant(ctx context.Context, r StartRequest, choice string) (*chosen, error) {
	to, err := w.choose(ctx, r, choice)
	var unknown *UnknownWorkflowError
	if errors.As(err, &unknown) {
		return nil, nil
	}
	return to, err
}

// learnChain finds out the length of the chain that a sender's event goes on.
func (w *Worker) learnChain(ctx context.Context, from *sender) error {
	if from == nil || from.chain > 0 {
		return nil
	}
	first, err := w.Created(ctx, from.stream)
	if err != nil {
		return err
	}
	from.chain = first.Origin.Chain + 1
	return nil
}

// chained is the length of the chain that an event's starts go on.
func (w *Worker) chained(ctx context.Context, from *sender) (int, error) {
	if from == nil {
		return 0, nil
	}
	if err := w.learnChain(ctx, from); err != nil {
		return 0, err
	}
	if from.chain > MaxChain {
		return 0, workflow.Errorf("trigger.chain", workflow.CategoryWorkflow,
			"%d executions stand before this one, each started by an event of the one before: workflows that start each other need an end", MaxChain)
	}
	return from.chain, nil
}

// maxTriggerData is the most bytes of an event's data, references filled in, that a trigger can look at.
const maxTriggerData = 1 << 20

// inlined fills in the references of an event's data: a new execution reads other parts of it than those that its sender kept.
func (w *Worker) inlined(ctx context.Context, tenant string, p workflow.Payload) (workflow.Payload, error) {
	if len(p.Holes) == 0 {
		return p, nil
	}
	text, err := w.Text(ctx, tenant, p, maxTriggerData)
	if errors.Is(err, ErrTooMuch) {
		return p, workflow.Errorf("payload.too_large", workflow.CategoryWorkflow, "the data of the event has more than %d bytes: a trigger cannot look at it", maxTriggerData)
	}
	return workflow.Inline(text), err
}
