package kinds

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Invoke runs `function: { arn: … }`: any Lambda function of any language. Its event is the step's `with`, its answer the output. With
// `callback: true` it is only started, and answers later by the callback's URL or token, which stand in `with`.
//
// The function's client context names the attempt, under `custom`: wovyr_idempotency_key, wovyr_execution, wovyr_workflow, wovyr_step, wovyr_attempt.
// Lambda hands a client context only to a function whose answer is waited for.
type Invoke struct {
	configuration func(ctx context.Context) (sdk.Config, error)

	mu     sync.Mutex
	client *lambda.Client
}

// NewInvoke makes the kind. The SDK's configuration is asked for when a function is called first.
func NewInvoke(configuration func(ctx context.Context) (sdk.Config, error)) *Invoke {
	return &Invoke{configuration: configuration}
}

// lambda is the client. The SDK repeats a call only where Lambda has refused it: one that may have run is the engine's to repeat, which records that.
func (i *Invoke) lambda(ctx context.Context) (*lambda.Client, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.client != nil {
		return i.client, nil
	}
	cfg, err := i.configuration(ctx)
	if err != nil {
		return nil, activity.Unavailable(CodeFunctionAway, "configuration of the SDK: %v", err)
	}
	i.client = lambda.NewFromConfig(cfg, func(o *lambda.Options) {
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			o.Retryables = []retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: retry.DefaultThrottleErrorCodes}}
		})
	})
	return i.client, nil
}

// What Lambda takes and gives back, in bytes.
const (
	maxWaited  = 6 << 20 // a call whose answer is waited for, and that answer
	maxStarted = 1 << 20 // a call that only starts the function
	// maxContext is the most bytes of a client context, in base64.
	maxContext = 3583
)

// maxAnswer is how much of an error is shown.
const maxAnswer = 1 << 10

// Codes of errors of called functions.
const (
	CodeFunctionError     = "lambda.function_error" // the function failed; details hold its type
	CodeFunctionMissing   = "lambda.not_found"      // there is no such function, version or alias
	CodeFunctionForbidden = "lambda.forbidden"      // the deployment may not call it
	CodeFunctionTooLarge  = "lambda.too_large"      // more than Lambda takes or gives back; details hold the limit
	CodeFunctionRefused   = "lambda.refused"        // Lambda refused the call for another reason
	CodeFunctionThrottled = "lambda.throttled"      // there is no room for another run now
	CodeFunctionAway      = "lambda.unavailable"    // the call did not come through; it may come through later
)

// Run implements activity.Activity.
func (i *Invoke) Run(ctx context.Context, t *activity.Task) (activity.Result, error) {
	var target struct {
		ARN string `json:"arn"`
	}
	if err := json.Unmarshal(t.Target.JSON, &target); err != nil || target.ARN == "" {
		return activity.Result{}, activity.NewError(activity.CodeInput, "the arn is empty: write arn: arn:aws:lambda:…")
	}
	in := &lambda.InvokeInput{FunctionName: &target.ARN, InvocationType: types.InvocationTypeRequestResponse, ClientContext: clientContext(t)}
	limit := int64(maxWaited)
	if t.Callback {
		in.InvocationType, in.ClientContext, limit = types.InvocationTypeEvent, nil, maxStarted
	}
	if size := t.With.Size(); size > limit { // before a large one is read
		return activity.Result{}, tooLarge(size, limit, t.Callback)
	}
	with, err := t.With.Whole(ctx)
	if err != nil {
		return activity.Result{}, err
	}
	if size := int64(len(with.JSON)); size > limit {
		return activity.Result{}, tooLarge(size, limit, t.Callback)
	}
	in.Payload = with.JSON
	client, err := i.lambda(ctx)
	if err != nil {
		return activity.Result{}, err
	}
	out, err := client.Invoke(ctx, in)
	if err != nil {
		return activity.Result{}, invokeError(ctx, target.ARN, err)
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

// clientContext names the attempt for the function. Where all of it is longer than Lambda takes, the idempotency key alone stands in it.
func clientContext(t *activity.Task) *string {
	custom := map[string]string{"wovyr_idempotency_key": t.IdempotencyKey, "wovyr_execution": t.Execution, "wovyr_workflow": t.Workflow, "wovyr_step": t.Step,
		"wovyr_attempt": fmt.Sprint(t.Attempt)}
	for range 2 {
		text, err := json.Marshal(map[string]any{"custom": custom})
		if code := base64.StdEncoding.EncodeToString(text); err == nil && len(code) <= maxContext {
			return &code
		}
		custom = map[string]string{"wovyr_idempotency_key": t.IdempotencyKey}
	}
	return nil
}

func tooLarge(size, limit int64, started bool) error {
	how := "a function whose answer is waited for takes 6 MB"
	if started {
		how = "a function that is only started (callback: true) takes 1 MB"
	}
	e := activity.NewError(CodeFunctionTooLarge, "the step's input is %d bytes, and %s: put what is large into a bucket, and give the function its name", size, how)
	e.Details = limitDetails(limit)
	return e
}

func limitDetails(limit int64) workflow.Value { return fmt.Appendf(nil, `{"limit":%d}`, limit) }

// functionError is what the function itself failed with. A retry may help: whether it does is the step's `retry` to say.
func functionError(t *activity.Task, answer []byte) error {
	var said struct {
		Type    string `json:"errorType"`
		Message string `json:"errorMessage"`
	}
	if json.Unmarshal(answer, &said) != nil || said.Message == "" && said.Type == "" {
		said.Message = string(answer)
	}
	if own := ownError([]byte(said.Message)); own != nil {
		return own
	}
	if said.Type == "Function.ResponseSizeTooLarge" {
		e := activity.NewError(CodeFunctionTooLarge, "the function's answer is larger than the 6 MB that Lambda gives back: let it put what is large into a bucket, and answer with its name")
		e.Details = limitDetails(maxWaited)
		return e
	}
	said.Message = t.Masked(said.Message) // before it is cut
	said.Message = strings.ToValidUTF8(said.Message[:min(len(said.Message), maxAnswer)], "\uFFFD")
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

// ownError is the error that a function says in the words of programs and addresses ({"error": {"code": …}}), as the message of what it raises; nil if
// that is something else.
func ownError(text []byte) error {
	var said struct {
		Error *activity.Error `json:"error"`
	}
	if json.Unmarshal(text, &said) != nil || said.Error == nil || said.Error.Code == "" {
		return nil
	}
	if !said.Error.Category.Valid() {
		said.Error.Category = workflow.CategoryActivity
	}
	return said.Error
}

// invokeError is a call that did not come through.
func invokeError(ctx context.Context, arn string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var answer *awshttp.ResponseError
	if !errors.As(err, &answer) {
		return activity.Unavailable(CodeFunctionAway, "%v", fmt.Errorf("the call: %w", err))
	}
	var tooMuch *types.RequestTooLargeException
	var missing *types.ResourceNotFoundException
	switch status := answer.HTTPStatusCode(); {
	case errors.As(err, &missing):
		return activity.NewError(CodeFunctionMissing, "there is no function %s: is its name, region, version or alias right?", arn)
	case errors.As(err, &tooMuch):
		return activity.NewError(CodeFunctionTooLarge, "the step's input is more than the function takes: %v", err)
	case status == http.StatusForbidden:
		return activity.NewError(CodeFunctionForbidden, "this deployment may not call %s: name it in the stack's InvokeFunctions (-c invokeFunctions=…) and deploy the stack: %v", arn, err)
	case status == http.StatusTooManyRequests:
		return activity.Unavailable(CodeFunctionThrottled, "%v", err)
	case status == http.StatusConflict, status >= http.StatusInternalServerError: // it is being changed, or something behind it is not there
		return activity.Unavailable(CodeFunctionAway, "%v", err)
	}
	return activity.NewError(CodeFunctionRefused, "%v", err)
}
