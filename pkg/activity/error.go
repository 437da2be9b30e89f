package activity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Error is the typed error that a workflow sees: a code, a category, and whether a retry may help.
type Error = workflow.Error

// Codes of errors that the contract itself raises.
const (
	CodeError     = "activity.error"     // the activity returned an error without a code
	CodePanic     = "activity.panic"     // the activity panicked
	CodeInput     = "activity.input"     // the input does not fit the activity
	CodeOutput    = "activity.output"    // the output is not JSON, or too large
	CodeUnknown   = "activity.unknown"   // no such kind, function or tool in this worker
	CodeForbidden = "activity.forbidden" // the worker does not allow it
	CodeTimeout   = "timeout.activity"   // the attempt's deadline passed
	CodeCancelled = "cancelled"          // the attempt was cancelled
)

// NewError builds a permanent error of category activity: one that no retry mends.
func NewError(code, format string, args ...any) *Error {
	return workflow.Errorf(code, workflow.CategoryActivity, format, args...)
}

// Unavailable builds a retryable error of category external: a service that may answer later.
func Unavailable(code, format string, args ...any) *Error {
	e := workflow.Errorf(code, workflow.CategoryExternal, format, args...)
	e.Retryable = true
	return e
}

// RetryAfterError carries the time that the failing side asked to wait.
type RetryAfterError struct {
	Err   *Error
	After time.Duration
}

// Error implements error.
func (e *RetryAfterError) Error() string {
	return fmt.Sprintf("%v (retry after %v)", e.Err, e.After)
}

// Unwrap gives the typed error.
func (e *RetryAfterError) Unwrap() error { return e.Err }

// AsError turns whatever an activity returned into the typed error, and the wait that it asked for, or zero.
// An error without a code is taken as a passing fault, as most are: retryable, category activity.
func AsError(ctx context.Context, err error) (*Error, time.Duration) {
	var after time.Duration
	if ra := (*RetryAfterError)(nil); errors.As(err, &ra) {
		after = ra.After
	}
	if typed := (*Error)(nil); errors.As(err, &typed) {
		return typed, after
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
		return &Error{Code: CodeTimeout, Category: workflow.CategoryInfrastructure, Message: "the attempt's deadline passed", Retryable: true}, 0
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return &Error{Code: CodeCancelled, Category: workflow.CategoryActivity, Message: "the attempt was cancelled"}, 0
	}
	return &Error{Code: CodeError, Category: workflow.CategoryActivity, Message: err.Error(), Retryable: true}, after
}
