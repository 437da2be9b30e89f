package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// function is the activity kind `function` of the simulation: it notes its effect, takes a while, and fails now and then. Its `with` may say
// {"fail": n}: the first n attempts fail.
type function struct{ w *world }

// effect is one time that an activity touched the outside.
type effect struct {
	step, key string
	attempt   int
	at        int64
}

// Run implements activity.Activity.
func (f function) Run(_ context.Context, t *activity.Task) (activity.Result, error) {
	w := f.w
	w.at("an activity")
	s := eventstore.Stream{Tenant: t.Tenant, ID: t.Execution}
	w.effect(s, effect{step: t.Step, key: t.IdempotencyKey, attempt: t.Attempt, at: w.now})
	long := w.between(0, 200*time.Millisecond)
	if w.chance(10) {
		long = w.between(time.Second, 2*time.Minute)
	}
	w.running.pause(long)
	var with struct {
		Fail int `json:"fail"`
	}
	if len(t.With.JSON) > 0 {
		_ = json.Unmarshal(t.With.JSON, &with) // an input of another shape asks for nothing
	}
	if t.Attempt <= with.Fail || w.faulty() && w.chance(w.config.Rates.ActivityFails) {
		return activity.Result{}, &activity.Error{Code: "sim.fail", Category: workflow.CategoryExternal, Message: "simulated", Retryable: true}
	}
	return activity.Result{Output: json.RawMessage(fmt.Sprintf(`{"step":%q,"ok":true}`, t.Step))}, nil
}
