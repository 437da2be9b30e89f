package aws

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	smithy "github.com/aws/smithy-go"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Invoke runs `function: { arn: … }`: any Lambda function of any language. Its event is the step's `with`, its answer the output. With
// `callback: true` it is only started, and answers later by the callback's URL or token, which stand in `with`.
type Invoke struct{ Client *lambda.Client }

// maxAnswer is how much of an error is shown.
const maxAnswer = 1 << 10

// Codes of errors of called functions.
const (
	CodeFunctionError     = "lambda.function_error" // the function failed; details hold its type and message
	CodeFunctionRefused   = "lambda.refused"        // the call was refused: no such function, no right, an event too large
	CodeFunctionThrottled = "lambda.throttled"      // there is no room for another run now
)

// Run implements activity.Activity.
func (i *Invoke) Run(ctx context.Context, t *activity.Task) (activity.Result, error) {
	var target struct {
		ARN   string `json:"arn"`
		Async bool   `json:"async"`
	}
	if err := json.Unmarshal(t.Target.JSON, &target); err != nil || target.ARN == "" {
		return activity.Result{}, activity.NewError(activity.CodeInput, "the arn is empty: write arn: arn:aws:lambda:…")
	}
	with, err := t.With.Whole(ctx)
	if err != nil {
		return activity.Result{}, err
	}
	in := &lambda.InvokeInput{FunctionName: &target.ARN, Payload: with.JSON, InvocationType: types.InvocationTypeRequestResponse}
	if t.Callback {
		in.InvocationType = types.InvocationTypeEvent
	}
	out, err := i.Client.Invoke(ctx, in)
	if err != nil {
		return activity.Result{}, invokeError(ctx, err)
	}
	switch {
	case t.Callback:
		return activity.Result{Pending: true}, nil
	case out.FunctionError != nil:
		return activity.Result{}, functionError(t, out.Payload)
	case len(out.Payload) == 0:
		return activity.Result{}, nil
	case !json.Valid(out.Payload):
		return activity.Result{}, activity.NewError(activity.CodeOutput, "the function's answer is not JSON")
	}
	return activity.Result{Output: out.Payload}, nil
}

// functionError is what the function itself failed with. A retry may help: whether it does is the step's `retry` to say.
func functionError(t *activity.Task, answer []byte) error {
	var said struct {
		Type    string          `json:"errorType"`
		Message string          `json:"errorMessage"`
		Error   *activity.Error `json:"error"`
	}
	if json.Unmarshal(answer, &said) == nil && said.Error != nil && said.Error.Code != "" {
		if !said.Error.Category.Valid() {
			said.Error.Category = workflow.CategoryActivity
		}
		return said.Error
	}
	if said.Message == "" {
		said.Message = t.Masked(string(answer)) // before it is cut
		said.Message = strings.ToValidUTF8(said.Message[:min(len(said.Message), maxAnswer)], "\uFFFD")
	}
	e := workflow.Errorf(CodeFunctionError, workflow.CategoryActivity, "%s", said.Message)
	e.Retryable = true
	if said.Type != "" {
		details, err := json.Marshal(map[string]string{"type": said.Type})
		if err == nil {
			e.Details = details
		}
	}
	return e
}

// invokeError is a call that did not come through.
func invokeError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var throttled *types.TooManyRequestsException
	if errors.As(err, &throttled) {
		return activity.Unavailable(CodeFunctionThrottled, "%v", err)
	}
	var answer smithy.APIError
	if errors.As(err, &answer) && answer.ErrorFault() == smithy.FaultClient {
		return activity.NewError(CodeFunctionRefused, "%v", err)
	}
	return activity.Unavailable("lambda.unavailable", "%v", fmt.Errorf("the call: %w", err))
}
