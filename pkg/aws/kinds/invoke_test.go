package kinds

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// lambdaSays is an Invoke whose calls meet what Lambda's API would say, in its own form, and a list of the requests. What the real call does is
// shown by localstack/e2e.
func lambdaSays(t *testing.T, status int, header http.Header, body string) (*Invoke, *[]*http.Request) {
	var seen []*http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		seen = append(seen, r)
		for name, values := range header { // order-free: headers
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return NewInvoke(func(context.Context) (sdk.Config, error) {
		return sdk.Config{Region: "eu-north-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("id", "key", "")}, nil
	}), &seen
}

func invoking(with string) *activity.Task {
	return &activity.Task{Execution: "x-1", Workflow: "order", Step: "price", Attempt: 2, IdempotencyKey: "x-1/price",
		Target: activity.Document{JSON: []byte(`{"arn":"arn:aws:lambda:eu-north-1:111122223333:function:price"}`)}, With: activity.Document{JSON: []byte(with)}}
}

// TestInvokeErrors: each way in which a call can go wrong has a code of its own, and says whether to try again.
func TestInvokeErrors(t *testing.T) {
	kind := func(name string) http.Header { return http.Header{"X-Amzn-Errortype": {name}} }
	failed := http.Header{"X-Amz-Function-Error": {"Unhandled"}}
	for name, test := range map[string]struct {
		status    int
		header    http.Header
		body      string
		code      string
		retryable bool
		calls     int
		says      string
	}{
		"it raised":               {200, failed, `{"errorMessage":"no cover","errorType":"ValueError","stackTrace":[]}`, CodeFunctionError, true, 1, "no cover"},
		"it raised an error ours": {200, failed, `{"errorMessage":"{\"error\":{\"code\":\"card.declined\",\"message\":\"no cover\"}}","errorType":"E"}`, "card.declined", false, 1, "no cover"},
		"it ended":                {200, failed, `{"errorType":"Runtime.ExitError","errorMessage":"RequestId: 1 Error: Runtime exited with error: exit status 1"}`, CodeFunctionError, true, 1, "exit status 1"},
		"it took too long":        {200, failed, `{"errorType":"Sandbox.Timedout","errorMessage":"RequestId: 1 Error: Task timed out after 3.00 seconds"}`, CodeFunctionError, true, 1, "timed out after 3.00 seconds"},
		"it said too much":        {200, failed, `{"errorType":"Function.ResponseSizeTooLarge","errorMessage":"Response payload size (7000000 bytes) exceeded maximum allowed payload size (6291556 bytes)."}`, CodeFunctionTooLarge, false, 1, "6 MB"},
		"it said no JSON":         {200, nil, `<html>`, activity.CodeOutput, false, 1, "not JSON"},
		"there is none":           {404, kind("ResourceNotFoundException"), `{"Type":"User","Message":"Function not found: arn"}`, CodeFunctionMissing, false, 1, "there is no function arn:aws:lambda:eu-north-1:111122223333:function:price"},
		"it is not allowed":       {403, kind("AccessDeniedException"), `{"Message":"User is not authorized to perform: lambda:InvokeFunction"}`, CodeFunctionForbidden, false, 1, "InvokeFunctions"},
		"there is no room":        {429, kind("TooManyRequestsException"), `{"Reason":"ConcurrentInvocationLimitExceeded","Type":"User","message":"Rate Exceeded."}`, CodeFunctionThrottled, true, 3, "Rate Exceeded"},
		"it is being changed":     {409, kind("ResourceConflictException"), `{"Message":"The operation cannot be performed at this time. The function is currently in the following state: Pending"}`, CodeFunctionAway, true, 1, "Pending"},
		"the request is too much": {413, kind("RequestTooLargeException"), `{"message":"Request must be smaller than 6291456 bytes for the InvokeFunction operation"}`, CodeFunctionTooLarge, false, 1, "6291456"},
		"Lambda failed":           {500, kind("ServiceException"), `{"Message":"An error occurred and the request cannot be processed."}`, CodeFunctionAway, true, 1, "cannot be processed"},
		"its key is not there":    {502, kind("KMSDisabledException"), `{"Message":"Lambda was unable to decrypt the environment variables"}`, CodeFunctionAway, true, 1, "decrypt"},
		"the call is wrong":       {400, kind("InvalidParameterValueException"), `{"message":"1 validation error detected"}`, CodeFunctionRefused, false, 1, "validation"},
	} {
		t.Run(name, func(t *testing.T) {
			i, seen := lambdaSays(t, test.status, test.header, test.body)
			_, err := i.Run(t.Context(), invoking(`{}`))
			e, _ := activity.AsError(t.Context(), err)
			require.Equal(t, test.code, e.Code, "%v", err)
			require.Equal(t, test.retryable, e.Retryable)
			require.Contains(t, e.Message, test.says)
			require.Len(t, *seen, test.calls, "what may have run is repeated by the engine, and not by the SDK")
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		i, _ := lambdaSays(t, 200, nil, `1`)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := i.Run(ctx, invoking(`{}`))
		require.ErrorIs(t, err, context.Canceled)
	})
}

// TestInvokeLimits: what Lambda would refuse is not sent, and the error names the limit.
func TestInvokeLimits(t *testing.T) {
	for name, test := range map[string]struct {
		callback bool
		bytes    int
		limit    string
	}{"waited for": {false, maxWaited, `{"limit":6291456}`}, "started": {true, maxStarted, `{"limit":1048576}`}} {
		t.Run(name, func(t *testing.T) {
			i, seen := lambdaSays(t, 202, nil, `1`)
			task := invoking(`"` + strings.Repeat("x", test.bytes-2) + `"`)
			task.Callback = test.callback
			_, err := i.Run(t.Context(), task)
			require.NoError(t, err, "as much as Lambda takes")
			require.Len(t, *seen, 1)
			task.With.JSON = append(task.With.JSON, ' ')
			_, err = i.Run(t.Context(), task)
			var e *workflow.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, CodeFunctionTooLarge, e.Code)
			require.JSONEq(t, test.limit, string(e.Details))
			require.Len(t, *seen, 1, "it was sent all the same")
			task.With = activity.Document{JSON: []byte("null"), Parts: []activity.Part{{Size: 1 << 30, Open: func(context.Context) (io.ReadCloser, error) {
				t.Error("a large input is read although it cannot be sent")
				return nil, io.EOF
			}}}}
			_, err = i.Run(t.Context(), task)
			require.ErrorAs(t, err, &e)
		})
	}
}

// TestInvokeNamesTheAttempt: a function whose answer is waited for learns its idempotency key, however long names are.
func TestInvokeNamesTheAttempt(t *testing.T) {
	i, seen := lambdaSays(t, 200, nil, `1`)
	task := invoking(`{}`)
	_, err := i.Run(t.Context(), task)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"wovyr_idempotency_key": "x-1/price", "wovyr_execution": "x-1", "wovyr_workflow": "order", "wovyr_step": "price", "wovyr_attempt": "2"}, custom(t, (*seen)[0]))
	task.Execution, task.Step = strings.Repeat("e", 1024), strings.Repeat("s", 1024)
	task.IdempotencyKey = strings.Repeat("k", 1500)
	_, err = i.Run(t.Context(), task)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"wovyr_idempotency_key": task.IdempotencyKey}, custom(t, (*seen)[1]))
	task.Callback = true
	_, err = i.Run(t.Context(), task)
	require.NoError(t, err)
	require.Equal(t, "Event", (*seen)[2].Header.Get("X-Amz-Invocation-Type"))
	require.Empty(t, (*seen)[2].Header.Get("X-Amz-Client-Context"), "Lambda would not hand it on")
}

func custom(t *testing.T, r *http.Request) map[string]string {
	text, err := base64.StdEncoding.DecodeString(r.Header.Get("X-Amz-Client-Context"))
	require.NoError(t, err)
	require.LessOrEqual(t, len(r.Header.Get("X-Amz-Client-Context")), maxContext)
	var out struct{ Custom map[string]string }
	require.NoError(t, json.Unmarshal(text, &out))
	return out.Custom
}
