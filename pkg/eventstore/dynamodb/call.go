package dynamodb

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/wovyr/wovyr/pkg/eventstore"
)

// attempts is what became of the requests that one call of the SDK made: it repeats them by itself, and tells of the last one only.
type attempts struct {
	made int
	// written says that one of them may have written, now or later.
	written bool
}

type attemptsKey struct{}

// watchAttempts notes the outcome of each request in the attempts of its context, if there are any.
func watchAttempts(stack *middleware.Stack) error {
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("WovyrAttempts", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
		middleware.FinalizeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleFinalize(ctx, in)
		if a, ok := ctx.Value(attemptsKey{}).(*attempts); ok {
			a.made++
			a.written = a.written || err != nil && mayHaveWritten(err)
		}
		return out, metadata, err
	}), "Retry", middleware.After)
}

// mayHaveWritten reports whether a request that ended with an error may have been carried out: unless DynamoDB refused it, or it never left.
func mayHaveWritten(err error) bool {
	var answer interface{ HTTPStatusCode() int }
	if errors.As(err, &answer) && answer.HTTPStatusCode() >= 400 {
		return answer.HTTPStatusCode() >= 500
	}
	var dial *net.OpError
	return !(errors.As(err, &dial) && dial.Op == "dial")
}

// enter checks what every call checks first.
func (s *Store) enter(ctx context.Context, wrong error) error {
	switch {
	case wrong != nil:
		return wrong
	case ctx.Err() != nil:
		return ctx.Err()
	case s.closed.Load():
		return eventstore.ErrClosed
	}
	return nil
}

// read runs a request that writes nothing, unless an argument is wrong.
func (s *Store) read(ctx context.Context, op string, wrong error, request func() error) error {
	if err := s.enter(ctx, wrong); err != nil {
		return err
	}
	return failure(op, nil, request())
}

// write runs a request that writes, unless an argument is wrong. An error says whether it may have written.
func (s *Store) write(ctx context.Context, op string, request func(context.Context) error) error {
	a := &attempts{}
	return failure(op, a, request(context.WithValue(ctx, attemptsKey{}, a)))
}

// failure is an error of the SDK as the contract has it. An answer (a condition that failed) stays what it is, and so do errors of ours.
func failure(op string, a *attempts, err error) error {
	var request *smithy.OperationError
	var refused *types.ConditionalCheckFailedException
	var cancelled *types.TransactionCanceledException
	var api smithy.APIError
	switch {
	case !errors.As(err, &request), errors.As(err, &refused), errors.As(err, &cancelled) && conditionFailed(cancelled):
		return err
	case a != nil && a.written:
		return &eventstore.UnknownOutcomeError{Op: op, Tries: a.made, Err: err}
	case errors.As(err, &api) && api.ErrorCode() == "ValidationException":
		return &requestError{op, err}
	}
	return &eventstore.UnavailableError{Op: op, Err: err}
}

// requestError is a request that DynamoDB does not understand: a bug of this package, not a passing failure.
type requestError struct {
	op  string
	err error
}

func (e *requestError) Error() string { return "dynamodb: " + e.op + ": " + e.err.Error() }
func (e *requestError) Unwrap() error { return e.err }

// refusal returns the item that stands where a condition failed (nil if there is none), and whether one did.
func refusal(err error) (item, bool) {
	var refused *types.ConditionalCheckFailedException
	if !errors.As(err, &refused) {
		return nil, false
	}
	return refused.Item, true
}

// conditionFailed reports whether a transaction ended because a condition of it failed.
func conditionFailed(e *types.TransactionCanceledException) bool {
	for _, r := range e.CancellationReasons {
		if r.Code != nil && *r.Code == "ConditionalCheckFailed" {
			return true
		}
	}
	return false
}

// pause waits before try 1, 2, … of something that others are in the way of: longer each time, and never for the same time as they.
func pause(ctx context.Context, try int) error {
	if try == 0 {
		return ctx.Err()
	}
	longest := min(time.Millisecond<<min(try, 8), 200*time.Millisecond)
	timer := time.NewTimer(rand.N(longest) + 1)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// query calls keep with the items of a query, page by page, until it returns false.
func (s *Store) query(ctx context.Context, in *sdk.QueryInput, keep func(item) (bool, error)) error {
	for {
		out, err := s.db.Query(ctx, in)
		if err != nil {
			return err
		}
		for _, i := range out.Items {
			more, err := keep(i)
			if err != nil || !more {
				return err
			}
		}
		if len(out.LastEvaluatedKey) == 0 {
			return nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}
