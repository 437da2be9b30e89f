package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Functions whose steps say how often they may run.
const (
	// onceFunction stands in steps with `idempotent: false`.
	onceFunction = "once"
	// oftenFunction stands in steps with `idempotent: true`.
	oftenFunction = "often"
)

// function is the activity kind `function` of the simulation: it notes its effect, takes a while, and fails now and then.
type function struct{ w *world }

// wishes are what the `with` of a function may ask for.
type wishes struct {
	// Fail lets the first attempts fail.
	Fail int `json:"fail"`
	// Never lets all attempts fail for good.
	Never bool `json:"never"`
	// Hang lets the first scheduling never return.
	Hang bool `json:"hang"`
	// Beat lets it give signs of life so many seconds apart; with Hang they stop.
	Beat int `json:"beat"`
	// Bulk is how many bytes of padding its output has.
	Bulk int `json:"bulk"`
	// Token is that of a callback: the call only starts the work.
	Token string `json:"token"`
}

// effect is one time that an activity touched the outside.
type effect struct {
	step, key, function string
	attempt, fence      int
}

// Run implements activity.Activity.
func (f function) Run(_ context.Context, t *activity.Task) (activity.Result, error) {
	w := f.w
	w.at("an activity")
	s := eventstore.Stream{Tenant: t.Tenant, ID: t.Execution}
	w.effect(s, effect{step: t.Step, key: t.IdempotencyKey, function: t.Name, attempt: t.Attempt, fence: t.Fence})
	var with wishes
	if len(t.With.JSON) > 0 {
		_ = json.Unmarshal(t.With.JSON, &with) // an input of another shape asks for nothing
	}
	if _, err := t.With.Whole(background()); err != nil {
		if errors.Is(err, eventstore.ErrNotFound) {
			w.violation("%s: the input of %s is gone: %v", s.ID, t.Step, err)
		}
		return activity.Result{}, &activity.Error{Code: "sim.input", Category: workflow.CategoryExternal, Message: err.Error(), Retryable: true}
	}
	late := f.work(t, with)
	switch {
	case late:
		return activity.Result{}, &activity.Error{Code: activity.CodeTimeout, Category: workflow.CategoryInfrastructure, Message: "simulated", Retryable: true}
	case with.Never:
		return activity.Result{}, activity.NewError("sim.never", "simulated")
	case t.Attempt <= with.Fail || w.faulty() && w.chance(w.config.Rates.ActivityFails):
		return activity.Result{}, &activity.Error{Code: "sim.fail", Category: workflow.CategoryExternal, Message: "simulated", Retryable: true}
	case with.Token != "":
		stream, ref, err := tokens.Check(with.Token)
		if err != nil {
			return activity.Result{}, err
		}
		w.callback(stream, ref)
		return activity.Result{Pending: true}, nil
	}
	if with.Bulk > 0 {
		return activity.Result{Output: bulk(t, with.Bulk)}, nil
	}
	return activity.Result{Output: output(t.Step, t.Fence)}, nil
}

// bulk is an output with padding, its own for each execution and attempt.
func bulk(t *activity.Task, n int) json.RawMessage {
	return fmt.Appendf(nil, `{"fence":%d,"ok":true,"pad":%q,"step":%q}`, t.Fence, strings.Repeat(t.IdempotencyKey+" ", n/len(t.IdempotencyKey)+1), t.Step)
}

// work lets time pass. It reports whether the attempt's deadline ended it, as it ends the context of a real activity; one that hangs hears nothing.
func (f function) work(t *activity.Task, with wishes) (late bool) {
	w := f.w
	long := w.between(0, 200*time.Millisecond)
	if w.chance(10) {
		long = w.between(time.Second, 2*time.Minute)
	}
	if with.Hang && t.Fence == 1 {
		w.running.pause(30 * 24 * time.Hour)
	}
	if !t.Deadline.IsZero() {
		if left := time.Duration(t.Deadline.UnixNano() - w.running.p.now()); left < long {
			long, late = max(left, 0), true
		}
	}
	for beat := time.Duration(with.Beat) * time.Second; beat > 0 && long > beat; long -= beat {
		w.running.pause(beat)
		t.Heartbeat("")
	}
	w.running.pause(long)
	return late
}

// output is what a function returns. The fence lets a checker see whose result was taken.
func output(step string, fence int) json.RawMessage {
	return fmt.Appendf(nil, `{"fence":%d,"ok":true,"step":%q}`, fence, step)
}

// agent is the activity kind `ai`: it asks for two calls, twice, and then answers.
type agent struct{ w *world }

// Run implements activity.Activity.
func (a agent) Run(_ context.Context, t *activity.Task) (activity.Result, error) {
	w := a.w
	w.at("a model")
	w.running.pause(w.between(0, 10*time.Second))
	turn := 0
	if t.Entry != nil {
		turn = t.Entry.Turn
	}
	if turn >= 2 {
		return activity.Result{Output: json.RawMessage(fmt.Sprintf(`{"results":%d}`, len(t.Entry.Results)))}, nil
	}
	var calls []activity.NestedCall
	for _, id := range []string{"x", "y"} {
		calls = append(calls, activity.NestedCall{ID: id, Kind: workflow.KindFunction, Name: "f"})
	}
	return activity.Result{Continue: &activity.Continue{Calls: calls, State: json.RawMessage(fmt.Sprintf(`{"turn":%d}`, turn+1))}}, nil
}

var tokens = worker.Tokens{Key: []byte("the key of the simulation, 32 bytes")}

// links is worker.Links.
type links struct{}

// Callback implements worker.Links.
func (links) Callback(_ context.Context, s eventstore.Stream, ref workflow.AttemptRef) (url, token string, err error) {
	token, err = tokens.Sign(s, ref)
	return "sim://callback", token, err
}

// Task implements worker.Links.
func (links) Task(s eventstore.Stream, step string) string { return "sim://" + s.ID + "/" + step }
