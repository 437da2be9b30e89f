package activity_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/std"
	"github.com/wovyr/wovyr/pkg/workflow"
)

type order struct {
	Items int `json:"items"`
}

type receipt struct {
	Total int    `json:"total"`
	Key   string `json:"key"`
}

func registry(t testing.TB) *activity.Registry {
	r := activity.NewRegistry()
	require.NoError(t, r.Functions.Add(std.Functions()...))
	require.NoError(t, r.Functions.Add(
		activity.Func("price", func(ctx context.Context, in order) (receipt, error) {
			activity.Heartbeat(ctx, "pricing")
			return receipt{Total: in.Items * 10, Key: activity.Info(ctx).IdempotencyKey}, nil
		}),
		activity.Func("panics", func(context.Context, struct{}) (struct{}, error) { panic("ouch") }),
		activity.Func("plain", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, errors.New("plain") }),
		activity.Func("streams", func(context.Context, struct{}) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(`[1]`)), nil
		}),
		activity.Func("unspeakable", func(context.Context, struct{}) (chan int, error) { return nil, nil }),
	))
	r.Functions.AddForm("command", &activity.Command{})
	r.Functions.AddForm("url", &activity.Remote{Client: http.DefaultClient})
	return r
}

func run(t testing.TB, ctx context.Context, target, with string) (activity.Result, error) {
	return runTask(t, ctx, &activity.Task{Target: activity.NewDocument(json.RawMessage(target)), With: activity.NewDocument(json.RawMessage(with))})
}

func runTask(t testing.TB, ctx context.Context, task *activity.Task) (activity.Result, error) {
	a, err := registry(t).Find(workflow.KindFunction)
	require.NoError(t, err)
	task.Execution, task.Workflow, task.Step, task.IdempotencyKey = "exec-1", "order", "price", "exec-1/price"
	if task.Attempt == 0 {
		task.Attempt = 1
	}
	return activity.Run(ctx, a.Activity, task)
}

func TestFunction(t *testing.T) {
	beats := 0
	res, err := runTask(t, t.Context(), &activity.Task{
		Target: activity.NewDocument(json.RawMessage(`"price"`)), With: activity.NewDocument(json.RawMessage(`{"items":3}`)), Beat: func(string) { beats++ },
	})
	require.NoError(t, err)
	require.JSONEq(t, `{"total":30,"key":"exec-1/price"}`, string(res.Output))
	require.Equal(t, 1, beats)

	res, err = run(t, t.Context(), `{"name":"streams"}`, `{}`)
	require.NoError(t, err)
	text, err := io.ReadAll(res.Stream)
	require.NoError(t, err)
	require.Equal(t, `[1]`, string(text))
}

func TestErrorsAreTyped(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	late, stop := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer stop()
	for _, c := range []struct {
		name, target, with, code string
		ctx                      context.Context
		retryable                bool
	}{
		{name: "unknown function", target: `"prize"`, code: activity.CodeUnknown},
		{name: "unknown form", target: `{"arn":"x"}`, code: activity.CodeUnknown},
		{name: "no target", target: ``, code: activity.CodeInput},
		{name: "misspelt field", target: `"price"`, with: `{"item":3}`, code: activity.CodeInput},
		{name: "panic", target: `"panics"`, code: activity.CodePanic},
		{name: "untyped", target: `"plain"`, code: activity.CodeError, retryable: true},
		{name: "not JSON", target: `"unspeakable"`, code: activity.CodeOutput},
		{name: "std.fail", target: `"std.fail"`, with: `{"code":"card.declined","retryable":false}`, code: "card.declined"},
		{name: "std.fail, odd category", target: `"std.fail"`, with: `{"category":"odd"}`, code: activity.CodeInput},
		{name: "std.sleep, odd duration", target: `"std.sleep"`, with: `{"for":"long"}`, code: activity.CodeInput},
		{name: "cancelled", target: `"std.sleep"`, with: `{"for":"1h"}`, ctx: gone, code: activity.CodeCancelled},
		{name: "deadline", target: `"std.sleep"`, with: `{"for":"1h"}`, ctx: late, code: activity.CodeTimeout, retryable: true},
		{name: "empty command", target: `{"command":[]}`, code: activity.CodeInput},
		{name: "no such program", target: `{"command":["no-such-program-anywhere"]}`, code: activity.CodeCommandStart},
		{name: "exit code", target: `{"command":["sh","-c","echo why >&2; exit 3"]}`, code: activity.CodeCommandExit, retryable: true},
		{name: "own error", target: `{"command":["sh","-c","echo '{\"error\":{\"code\":\"stock.empty\"}}'; exit 1"]}`, code: "stock.empty"},
		{name: "prints prose", target: `{"command":["echo","done"]}`, code: activity.CodeOutput},
		{name: "bad url", target: `{"url":"::"}`, code: activity.CodeInput},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.ctx == nil {
				c.ctx = t.Context()
			}
			_, err := run(t, c.ctx, c.target, c.with)
			require.Error(t, err)
			typed, _ := activity.AsError(c.ctx, err)
			require.Equal(t, c.code, typed.Code, typed.Message)
			require.True(t, typed.Category.Valid())
			require.Equal(t, c.retryable, typed.Retryable)
		})
	}
}

func TestStdFailFailsTimes(t *testing.T) {
	for attempt, fails := range []bool{true, true, false} {
		res, err := runTask(t, t.Context(), &activity.Task{Attempt: attempt + 1,
			Target: activity.NewDocument(json.RawMessage(`"std.fail"`)), With: activity.NewDocument(json.RawMessage(`{"times":2}`))})
		require.Equal(t, fails, err != nil)
		if !fails {
			require.JSONEq(t, `{"attempts":3}`, string(res.Output))
		}
	}
}

func TestCommand(t *testing.T) {
	t.Run("reads its input and names of the attempt", func(t *testing.T) {
		res, err := run(t, t.Context(), `{"command":["sh","-c","printf '{\"in\":%s,\"key\":\"%s\"}' \"$(cat)\" \"$WOVYR_IDEMPOTENCY_KEY\""]}`, `{"a":1}`)
		require.NoError(t, err)
		require.JSONEq(t, `{"in":{"a":1},"key":"exec-1/price"}`, string(res.Output))
	})
	t.Run("says nothing", func(t *testing.T) {
		res, err := run(t, t.Context(), `{"command":"true"}`, `{}`)
		require.NoError(t, err)
		require.Empty(t, res.Output)
	})
	t.Run("no shell sees the words", func(t *testing.T) {
		res, err := run(t, t.Context(), `{"command":["printf","\"%s\"","$(id); x"]}`, ``)
		require.NoError(t, err)
		require.Equal(t, `"$(id); x"`, string(res.Output))
	})
	t.Run("a large output is a stream", func(t *testing.T) {
		res, err := run(t, t.Context(), `{"command":["sh","-c","printf '\"'; head -c 3000000 /dev/zero | tr '\\0' x; printf '\"'"]}`, ``)
		require.NoError(t, err)
		require.NotNil(t, res.Stream)
		n, err := io.Copy(io.Discard, res.Stream)
		require.NoError(t, err)
		require.EqualValues(t, 3000002, n)
		require.NoError(t, res.Stream.Close())
	})
	t.Run("a cancel ends it", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := runTask(t, ctx, &activity.Task{
			Target: activity.NewDocument(json.RawMessage(`{"command":["sh","-c","echo started >&2; exec cat /dev/zero > /dev/null"]}`)),
			Log:    slog.New(slog.NewTextHandler(writerFunc(cancel), nil)), // its first line ends the attempt
		})
		require.ErrorIs(t, err, context.Canceled)
	})
	t.Run("what it started ends with it", func(t *testing.T) {
		res, err := run(t, t.Context(), `{"command":["sh","-c","sleep 3600 > /dev/null 2>&1 & echo $!"]}`, ``)
		require.NoError(t, err)
		var pid int
		require.NoError(t, json.Unmarshal(res.Output, &pid))
		require.Eventually(t, func() bool {
			// A killed process may stay as a zombie until somebody reaps it.
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || strings.Contains(string(stat), ") Z ")
		}, time.Minute, time.Millisecond, "the child of the program still runs")
	})
	t.Run("its standard error is in the error, bounded", func(t *testing.T) {
		_, err := run(t, t.Context(), `{"command":["sh","-c","head -c 100000 /dev/zero | tr '\\0' y >&2; echo last words >&2; exit 9"]}`, ``)
		typed, _ := activity.AsError(t.Context(), err)
		require.Contains(t, typed.Message, "last words")
		require.Contains(t, string(typed.Details), `"exit_code":9`)
		require.Less(t, len(typed.Details), 8<<10)
	})
}

type writerFunc func()

func (f writerFunc) Write(b []byte) (int, error) { f(); return len(b), nil }

func TestRemote(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/echo":
			fmt.Fprintf(w, `{"in":%s,"key":%q}`, body, r.Header.Get("Idempotency-Key"))
		case "/busy":
			w.Header().Set("Retry-After", r.URL.Query().Get("after"))
			w.WriteHeader(http.StatusTooManyRequests)
		case "/typed":
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"error":{"code":"stock.empty","category":"activity","message":"none left"}}`)
		case "/nothing":
			w.WriteHeader(http.StatusNoContent)
		case "/prose":
			fmt.Fprint(w, "hello")
		default:
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	defer server.Close()
	call := func(path string) (activity.Result, *activity.Error, time.Duration) {
		res, err := run(t, t.Context(), fmt.Sprintf(`{"url":%q}`, server.URL+path), `{"a":1}`)
		if err == nil {
			return res, nil, 0
		}
		typed, after := activity.AsError(t.Context(), err)
		return res, typed, after
	}
	res, failed, _ := call("/echo")
	require.Nil(t, failed)
	require.JSONEq(t, `{"in":{"a":1},"key":"exec-1/price"}`, string(res.Output))
	res, failed, _ = call("/nothing")
	require.Nil(t, failed)
	require.Empty(t, res.Output)

	for text, want := range map[string]time.Duration{"7": 7 * time.Second, "-7": 0, "86401": activity.MaxRetryAfter, "9223372036854775807": activity.MaxRetryAfter,
		"99999999999999999999": activity.MaxRetryAfter, "Fri, 31 Dec 9999 23:59:59 GMT": activity.MaxRetryAfter, "Thu, 01 Jan 1970 00:00:00 GMT": 0} {
		_, _, after := call("/busy?after=" + url.QueryEscape(text))
		require.Equal(t, want, after, text)
	}
	_, failed, after := call("/busy?after=7")
	require.Equal(t, "http.429", failed.Code)
	require.True(t, failed.Retryable)
	require.Equal(t, 7*time.Second, after)
	_, failed, _ = call("/typed")
	require.Equal(t, "stock.empty", failed.Code)
	require.False(t, failed.Retryable)
	_, failed, _ = call("/else?token=secret")
	require.True(t, failed.Matches("http.5xx"))
	require.Contains(t, failed.Message, "POST "+server.URL+"/else answered 502 Bad Gateway")
	require.NotContains(t, failed.Message, "token", "a query may hold what is not to be read")
	require.True(t, failed.Retryable)
	_, failed, _ = call("/prose")
	require.Equal(t, activity.CodeOutput, failed.Code)
	server.Close()
	_, failed, _ = call("/echo")
	require.Equal(t, "http.connect", failed.Code)
	require.Equal(t, workflow.CategoryExternal, failed.Category)
}

func TestRegistryRefusesDoubles(t *testing.T) {
	r := registry(t)
	f := activity.Func("fresh", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
	require.ErrorContains(t, r.Functions.Add(f, f), "already")
	require.NotContains(t, r.Functions.Names(), "fresh", "nothing is left half done")
	require.ErrorContains(t, r.Functions.Add(std.Functions()...), "already")
	require.ErrorContains(t, r.Functions.Add(activity.Function{}), "name")
	require.Error(t, r.Add(activity.Kind{}))
	require.Error(t, r.Add(activity.Kind{Name: workflow.KindFunction, Activity: r.Functions}))
	_, err := r.Find("fax")
	require.ErrorContains(t, err, "function")
}

func ExampleFunc() {
	greet := func(_ context.Context, in struct {
		Name string `json:"name"`
	}) (string, error) {
		return "Hello " + in.Name, nil
	}
	r := activity.NewRegistry()
	if err := r.Functions.Add(activity.Func("greet", greet)); err != nil {
		fmt.Println(err)
	}
	kind, _ := r.Find("function")
	res, _ := kind.Activity.Run(context.Background(), &activity.Task{
		Target: activity.NewDocument(json.RawMessage(`"greet"`)),
		With:   activity.NewDocument(json.RawMessage(`{"name":"Ann"}`)),
	})
	fmt.Println(string(res.Output))
	// Output: "Hello Ann"
}
