package engine

import (
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Triggered reports whether an event starts an execution by a trigger, and with which input (DSL, `triggers`). An error of `match` or of `input` says
// that nobody can tell. Without an `input`, the event's data is the input.
func Triggered(t *workflow.EventTrigger, e workflow.EarlyEvent) (input workflow.Payload, starts bool, err *workflow.Error) {
	if t.Type != e.Kind || t.Source != "" && t.Source != e.Source {
		return input, false, nil
	}
	a := eventActivation(&e)
	if t.Match != nil {
		if ok, err := evalBool(t.Match, a); err != nil || !ok {
			return input, false, err
		}
	}
	input, err = given(t.Input, a, e.Data)
	return input, err == nil, err
}

// Hooked is the input of an execution that a verified request to a webhook starts; the request is an event, and its body the data.
func Hooked(t *workflow.WebhookTrigger, e workflow.EarlyEvent) (workflow.Payload, *workflow.Error) {
	return given(t.Input, eventActivation(&e), e.Data)
}

// HookEvent is the event that a verified request to a webhook with `emit` becomes. The request is an event itself, and keeps all that `emit` does not say.
func HookEvent(t *workflow.WebhookTrigger, e workflow.EarlyEvent) (workflow.EarlyEvent, *workflow.Error) {
	a := eventActivation(&e)
	lazy := &lazyActivation{made: a}
	kind, err := renderString(t.Emit.Type, lazy)
	if err == nil && (kind == "" || len(kind) > MaxType) {
		err = wrongType(kind)
	}
	if err != nil {
		return e, err
	}
	key, err := renderKey(t.Emit.Key, lazy)
	if err != nil {
		return e, err
	}
	data, err := given(t.Emit.Data, a, e.Data)
	if err == nil && len(data.JSON) > MaxValue {
		err = tooLarge("the data of the event", len(data.JSON), MaxValue)
	}
	if err != nil {
		return e, err
	}
	e.Kind, e.Key, e.Data = kind, key, data
	return e, nil
}

// eventActivation holds `event` alone: a trigger stands outside of every execution.
func eventActivation(e *workflow.EarlyEvent) *expr.Activation {
	return expr.NewActivation(func(name string) (expr.Binding, bool) { return eventBinding(e), name == "event" })
}

// given is not bounded by MaxValue: the shell keeps a large input by reference.
func given(t *workflow.Template, a *expr.Activation, data workflow.Payload) (workflow.Payload, *workflow.Error) {
	if t == nil {
		return orNull(data), nil
	}
	c, err := expr.LoadTemplate(t)
	if err != nil {
		return workflow.Payload{}, exprError(err)
	}
	p, err := c.Render(a)
	if err != nil {
		return workflow.Payload{}, exprError(err)
	}
	return p, nil
}
