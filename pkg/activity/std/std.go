package std

import (
	"context"
	"io"
	"time"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Functions returns them all.
func Functions() []activity.Function {
	return []activity.Function{
		activity.Func("std.echo", echo),
		activity.Func("std.sleep", sleep),
		activity.Func("std.fail", fail),
	}
}

// echo returns its input. What is kept by reference passes through and is not loaded.
func echo(ctx context.Context, in activity.Document) (any, error) {
	if len(in.Parts) == 0 {
		return in.JSON, nil
	}
	out, w := io.Pipe()
	go func() { w.CloseWithError(in.WriteText(ctx, w)) }()
	return out, nil
}

// Sleep is the input of std.sleep.
type Sleep struct {
	// For is a duration such as "1.5s".
	For string `json:"for"`
}

// sleep occupies a worker for a time, as slow work does; a workflow that only waits uses a timer.
func sleep(ctx context.Context, in Sleep) (struct{}, error) {
	d, err := time.ParseDuration(in.For)
	if err != nil || d < 0 {
		return struct{}{}, activity.NewError(activity.CodeInput, "for: %q is not a duration; write 1.5s or 2m", in.For)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return struct{}{}, nil
	case <-ctx.Done():
		return struct{}{}, ctx.Err()
	}
}

// Fail is the input of std.fail.
type Fail struct {
	Code      string            `json:"code"`
	Category  workflow.Category `json:"category"`
	Message   string            `json:"message"`
	Retryable *bool             `json:"retryable"`
	// Times is how many attempts fail; nil is all of them.
	Times *int `json:"times"`
}

// Attempts is the output of std.fail once it no longer fails.
type Attempts struct {
	Attempts int `json:"attempts"`
}

// fail fails its first attempts, so that retries can be seen.
func fail(ctx context.Context, in Fail) (Attempts, error) {
	attempt := activity.Info(ctx).Attempt
	if in.Times != nil && attempt > *in.Times {
		return Attempts{Attempts: attempt}, nil
	}
	e := &activity.Error{Code: in.Code, Category: in.Category, Message: in.Message, Retryable: in.Retryable == nil || *in.Retryable}
	if e.Code == "" {
		e.Code = "std.fail"
	}
	if e.Message == "" {
		e.Message = "it was told to fail"
	}
	if e.Category == "" {
		e.Category = workflow.CategoryExternal
	}
	if !e.Category.Valid() {
		return Attempts{}, activity.NewError(activity.CodeInput, "category: %q is none of activity, workflow, infrastructure, external", in.Category)
	}
	return Attempts{}, e
}
