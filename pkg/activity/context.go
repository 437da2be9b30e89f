package activity

import (
	"context"
	"log/slog"
)

type taskKey struct{}

func withTask(ctx context.Context, t *Task) context.Context {
	return context.WithValue(ctx, taskKey{}, t)
}

// Info returns the attempt that the function runs for: its idempotency key, attempt, deadline and names. Outside a
// worker it returns an empty Task, so that functions can be tested without one.
func Info(ctx context.Context) *Task {
	if t, ok := ctx.Value(taskKey{}).(*Task); ok {
		return t
	}
	return &Task{Attempt: 1}
}

// Heartbeat tells the worker that the attempt is alive.
func Heartbeat(ctx context.Context, detail string) { Info(ctx).Heartbeat(detail) }

// Logger returns the execution's logger.
func Logger(ctx context.Context) *slog.Logger { return Info(ctx).Logger() }
