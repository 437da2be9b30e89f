package activity

import (
	"context"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/wovyr/wovyr/pkg/secret"
)

// Bounds of what an activity may hand back. Beyond them an attempt fails with activity.output or payload.too_large.
const (
	// MaxInline is the most bytes of one value in memory: of Result.Output, and of what Document.Decode loads. Larger values are streamed.
	MaxInline = 16 << 20
	// DefaultMaxOutput is the most bytes of an output, streams included, where Task.MaxOutput says nothing.
	DefaultMaxOutput = 1 << 30
	// MaxErrorText is the most bytes of an error's message, and of its details. Longer messages are cut, longer details left out.
	MaxErrorText = 32 << 10
)

// Run runs a as a worker does. A panic becomes an *Error with code activity.panic, so that no activity takes its worker down; only a
// panic whose value has a method Fatal() passes: it means to take the worker down (a simulated crash does). Secrets are masked in the
// result, the error, the log and the heartbeats, and outputs and errors are bounded.
func Run(ctx context.Context, a Activity, t *Task) (res Result, err error) {
	inner := *t
	inner.Beat = func(detail string) { t.Heartbeat(t.mask().String(detail)) }
	if t.Mask != nil {
		inner.Log = slog.New(secret.Handler(t.Logger().Handler(), t.Mask))
	}
	defer func() {
		if p := recover(); p != nil {
			if _, fatal := p.(interface{ Fatal() }); fatal {
				panic(p)
			}
			inner.Logger().Error("activity panicked", "step", t.Step, "panic", p, "stack", string(debug.Stack()))
			res, err = Result{}, safeError(ctx, t.mask(), NewError(CodePanic, "the activity panicked: %v", p))
		}
	}()
	if res, err = a.Run(ctx, &inner); err != nil {
		return Result{}, safeError(ctx, t.mask(), err)
	}
	return t.safe(res)
}

// safe masks and bounds a result.
func (t *Task) safe(res Result) (Result, error) {
	mask, limit := t.mask(), t.OutputLimit()
	if n := int64(len(res.Output)); n > min(limit, MaxInline) {
		return Result{}, TooLarge(min(limit, MaxInline))
	}
	res.Output = mask.JSON(res.Output)
	if res.Stream != nil {
		res.Stream = mask.Reader(&boundedReader{from: res.Stream, left: limit, limit: limit})
	}
	if res.Continue != nil {
		c := &Continue{State: mask.JSON(res.Continue.State)}
		for _, call := range res.Continue.Calls {
			call.ID, call.Name, call.Approve, call.With = mask.String(call.ID), mask.String(call.Name), mask.String(call.Approve), mask.JSON(call.With)
			c.Calls = append(c.Calls, call)
		}
		res.Continue = c
	}
	return res, nil
}

// TooLarge is the error of an output with more bytes than the limit.
func TooLarge(limit int64) *Error {
	return NewError(CodeOutput, "the output has more than the %d bytes that are allowed: answer with less, or with the address of what is large", limit)
}

// safeError masks and bounds an error. One that needs neither is returned as it is.
func safeError(ctx context.Context, mask *secret.Mask, err error) error {
	typed, after := AsError(ctx, err)
	safe := mask.Error(typed)
	if len(safe.Message) > MaxErrorText || len(safe.Details) > MaxErrorText {
		cut := *safe
		if len(cut.Message) > MaxErrorText {
			cut.Message = strings.ToValidUTF8(cut.Message[:MaxErrorText], "") + "…"
		}
		if len(cut.Details) > MaxErrorText {
			cut.Details = nil
		}
		safe = &cut
	}
	if safe == typed && mask.String(err.Error()) == err.Error() {
		return err
	}
	if after > 0 {
		return &RetryAfterError{Err: safe, After: after}
	}
	return safe
}

// boundedReader fails when a stream goes on beyond its limit.
type boundedReader struct {
	from        io.ReadCloser
	left, limit int64
}

// Read implements io.Reader.
func (r *boundedReader) Read(b []byte) (int, error) {
	if r.left < 0 {
		return 0, TooLarge(r.limit)
	}
	if int64(len(b)) > r.left+1 {
		b = b[:r.left+1]
	}
	n, err := r.from.Read(b)
	if r.left -= int64(n); r.left < 0 {
		return n - 1, TooLarge(r.limit)
	}
	return n, err
}

// Close implements io.Closer.
func (r *boundedReader) Close() error { return r.from.Close() }
