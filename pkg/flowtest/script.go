package flowtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// runs reports whether a call needs no mock: a script has no network, no files, no clock and no randomness, so it answers a test as it
// answers a worker.
func (s *Suite) runs(c *call) bool { return s.Scripts != nil && c.run.Kind == workflow.KindScript }

// script runs a script as a worker does, and makes an answer of what it came to. It takes no virtual time, unless it runs until the
// timeout of its step, which is over then.
func (w *world) script(c *call) (*answer, workflow.Payload) {
	ctx, stop := context.Background(), func() {}
	if c.run.Timeout > 0 {
		ctx, stop = context.WithTimeout(ctx, time.Duration(c.run.Timeout))
	}
	defer stop()
	res, err := activity.Run(ctx, w.suite.Scripts, &activity.Task{
		Tenant: testTenant, Execution: executionID, Workflow: c.run.Workflow, Correlation: c.run.Correlation, Step: c.run.Step, Attempt: c.run.Attempt,
		Fence: c.run.Fence, IdempotencyKey: c.run.Key, Kind: c.run.Kind, Name: c.run.Name, MaxMemory: c.run.MaxMemory,
		Target: activity.NewDocument(filled(c.run.Target)), With: activity.NewDocument(filled(c.run.Input)),
		Log: slog.New(console{w: w, step: c.path}),
	})
	var output workflow.Value
	if err == nil {
		output, err = c.scriptOutput(res.Output)
	}
	if err == nil {
		return &answer{}, workflow.Inline(output)
	}
	failed := &answer{}
	if failed.error, _ = activity.AsError(ctx, err); errors.Is(ctx.Err(), context.DeadlineExceeded) {
		failed.takes = c.run.Timeout
	}
	return failed, workflow.Payload{}
}

// scriptOutput is what a script returned, held against the schema of its step.
func (c *call) scriptOutput(text json.RawMessage) (workflow.Value, error) {
	if len(text) == 0 {
		text = json.RawMessage("null")
	}
	v, err := expr.Canonical(text)
	if err != nil {
		return nil, activity.NewError(activity.CodeOutput, "the output is not JSON: %v", err)
	}
	if wrong := schemas.Check(c.run.Schema, v, activity.CodeOutput, "the output"); wrong != nil {
		return nil, activity.NewError(wrong.Code, "%s", wrong.Message)
	}
	return v, nil
}

// console tells what a script writes to its console among what happened.
type console struct {
	w    *world
	step string
}

// Enabled implements slog.Handler.
func (console) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler. What was written stands in the attribute line.
func (h console) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "line" {
			h.w.record.tell(h.w.now, fmt.Sprintf("%s says: %s", h.step, clip(a.Value.String(), 200)))
		}
		return true
	})
	return nil
}

// WithAttrs implements slog.Handler: what else is known of a line is not told.
func (h console) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements slog.Handler.
func (h console) WithGroup(string) slog.Handler { return h }
