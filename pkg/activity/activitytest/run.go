package activitytest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/schema"
	"github.com/wovyr/wovyr/pkg/secret"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Run tests a kind. Open makes it and its peer; nothing else may start goroutines meanwhile, so the test must not be parallel.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	before := goleak.IgnoreCurrent()
	s := &suite{Subject: open(t)}
	if s.Close == nil {
		s.Close = func() {}
	}
	closing := sync.OnceFunc(s.Close)
	defer closing() // when a test ends by FailNow
	t.Run("schemas", s.schemas)
	t.Run("succeeds", s.succeeds)
	t.Run("many at once", s.many)
	t.Run("errors typed", s.errorsTyped)
	t.Run("odd targets refused", s.oddTargets)
	s.run(t, Hanging, "deadline kept", s.deadlineKept)
	s.run(t, Hanging, "deadline over", s.deadlineOver)
	s.run(t, Hanging, "cancel heard", s.cancelHeard)
	s.run(t, Keyed, "idempotency key passed on", s.keyPassedOn)
	s.run(t, Leaking, "secrets nowhere", s.secretsNowhere)
	s.run(t, Flooding, "outputs bounded", s.outputsBounded)
	t.Run("no goroutine left", func(t *testing.T) {
		closing()
		require.NoError(t, goleak.Find(before), "Close ends the peer and the connections that the kind keeps; what is here was left by Run")
	})
}

type suite struct{ Subject }

func (s *suite) run(t *testing.T, situation, name string, test func(t *testing.T)) {
	if why := s.Without[situation]; why != "" {
		t.Logf("%s: not tested: %s", name, why)
		return
	}
	t.Run(name, test)
}

// task is an attempt at a call.
func (s *suite) task(t *testing.T, c Call) *activity.Task {
	t.Helper()
	text := func(v any) activity.Document {
		if v == nil {
			return activity.Document{}
		}
		b, err := json.Marshal(v)
		require.NoError(t, err)
		return activity.NewDocument(b)
	}
	return &activity.Task{
		Tenant: "acme", Execution: "exec-1", Workflow: "order", Correlation: "corr-1", Step: "all/3/price", Attempt: 1, Fence: 1,
		IdempotencyKey: "exec-1/all/3/price", Kind: s.Kind.Name, Target: text(c.Target), With: text(c.With),
	}
}

// call runs an attempt to the end of its output.
func (s *suite) call(ctx context.Context, task *activity.Task) (output []byte, err error) {
	res, err := activity.Run(ctx, s.Kind.Activity, task)
	if err != nil || res.Stream == nil {
		return res.Output, err
	}
	output, err = io.ReadAll(res.Stream)
	return output, errors.Join(err, res.Stream.Close())
}

// fails runs an attempt that must fail, and returns the error as a workflow sees it.
func (s *suite) fails(t *testing.T, ctx context.Context, task *activity.Task) *activity.Error {
	t.Helper()
	output, err := s.call(ctx, task)
	require.Error(t, err, "it answered %.200s", output)
	typed, _ := activity.AsError(ctx, err)
	require.NotEmpty(t, typed.Message, "the error says nothing to people")
	require.True(t, typed.Category.Valid(), "%q is no category", typed.Category)
	if len(typed.Details) > 0 {
		require.True(t, json.Valid(typed.Details), "details are not JSON: %.200s", typed.Details)
	}
	require.NotEqual(t, activity.CodePanic, typed.Code, typed.Message)
	return typed
}

func (s *suite) schemas(t *testing.T) {
	require.NotEmpty(t, s.Kind.Name)
	checker, task := schema.New(), s.task(t, s.Succeeds)
	if s.Kind.Of != nil {
		s.Kind.Input, s.Kind.Output = s.Kind.Of(task.Target.JSON)
	}
	for what, pair := range map[string][2]workflow.Value{ // order-free: each by itself
		"the target": {s.Kind.Target, workflow.Value(task.Target.JSON)},
		"the input":  {s.Kind.Input, workflow.Value(task.With.JSON)},
		"the output": {s.Kind.Output, workflow.Value(s.Succeeds.Output)},
	} {
		if len(pair[0]) > 0 {
			require.Nil(t, checker.Check(pair[0], pair[1], "schema", what))
		}
	}
}

func (s *suite) succeeds(t *testing.T) {
	output, err := s.call(t.Context(), s.task(t, s.Succeeds))
	require.NoError(t, err)
	if output == nil {
		output = []byte("null")
	}
	require.JSONEq(t, s.Succeeds.Output, string(output))
}

// many is the same from many goroutines: an activity is safe for concurrent use. It finds what it can where the race detector is on.
func (s *suite) many(t *testing.T) {
	const calls = 16
	outputs, failures := make([][]byte, calls), make([]error, calls)
	var all sync.WaitGroup
	for i := range calls {
		task := s.task(t, s.Succeeds)
		all.Go(func() { outputs[i], failures[i] = s.call(t.Context(), task) })
	}
	all.Wait()
	for i := range calls {
		require.NoError(t, failures[i])
		if outputs[i] == nil {
			outputs[i] = []byte("null")
		}
		require.JSONEq(t, s.Succeeds.Output, string(outputs[i]))
	}
}

func (s *suite) errorsTyped(t *testing.T) {
	require.NotEmpty(t, s.Fails, "a kind that cannot fail has not been tried")
	for _, c := range s.Fails {
		t.Run(c.Name, func(t *testing.T) {
			e := s.fails(t, t.Context(), s.task(t, c))
			require.Equal(t, c.Code, e.Code, e.Message)
			require.Equal(t, c.Retryable, e.Retryable, e.Message)
		})
	}
}

// oddTargets are what expressions can make of a target in spite of the checks of the language.
func (s *suite) oddTargets(t *testing.T) {
	for _, target := range []string{``, `null`, `{}`, `[]`, `7`, `"no such thing anywhere"`, `{"x":{}}`, `{"`} {
		task := s.task(t, Call{})
		task.Target = activity.NewDocument(json.RawMessage(target))
		e := s.fails(t, t.Context(), task)
		require.False(t, e.Retryable, "target %s can never be right: %v", target, e)
	}
}

// deadlineKept lets the deadline pass while the peer has the call.
func (s *suite) deadlineKept(t *testing.T) {
	task := s.task(t, s.Hangs)
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	task.Deadline, _ = ctx.Deadline()
	done := s.drainStarted()
	e := s.fails(t, ctx, task)
	done()
	require.Equal(t, activity.CodeTimeout, e.Code, e.Message)
	require.Equal(t, workflow.CategoryInfrastructure, e.Category)
	require.True(t, e.Retryable)
	require.False(t, time.Now().Before(task.Deadline), "it gave up before its deadline")
}

// drainStarted receives from Started until the returned function is called, for calls of which nobody wants to know.
func (s *suite) drainStarted() (done func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case _, open := <-s.Hangs.Started:
				if !open {
					return
				}
			case <-stop:
				return
			}
		}
	}()
	return func() { close(stop); <-ended }
}

func (s *suite) deadlineOver(t *testing.T) {
	ctx, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	done := s.drainStarted()
	e := s.fails(t, ctx, s.task(t, s.Hangs))
	done()
	require.Equal(t, activity.CodeTimeout, e.Code, e.Message)
}

// cancelHeard cancels once the peer has the call.
func (s *suite) cancelHeard(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	task := s.task(t, s.Hangs)
	failed := make(chan *activity.Error)
	go func() {
		_, err := s.call(ctx, task)
		if err == nil {
			failed <- nil
			return
		}
		typed, _ := activity.AsError(ctx, err)
		failed <- typed
	}()
	if s.Hangs.Started != nil {
		select {
		case <-s.Hangs.Started:
		case e := <-failed:
			require.Failf(t, "it ended before its peer had the call", "%v", e)
		}
	}
	cancel()
	e := <-failed
	require.NotNil(t, e, "it answered although it was cancelled")
	require.Equal(t, activity.CodeCancelled, e.Code, e.Message)
	require.False(t, e.Retryable)
}

func (s *suite) keyPassedOn(t *testing.T) {
	for attempt := 1; attempt <= 2; attempt++ {
		task := s.task(t, s.Succeeds)
		task.Attempt, task.Fence = attempt, attempt
		_, err := s.call(t.Context(), task)
		require.NoError(t, err)
		require.Equal(t, task.IdempotencyKey, s.Key(), "attempt %d", attempt)
	}
	other := s.task(t, s.Succeeds)
	other.Execution, other.IdempotencyKey = "exec-2", "exec-2/all/3/price"
	_, err := s.call(t.Context(), other)
	require.NoError(t, err)
	require.Equal(t, other.IdempotencyKey, s.Key(), "another execution")
}

// secretsNowhere looks for Secret in everything that an attempt leaves behind.
func (s *suite) secretsNowhere(t *testing.T) {
	require.NotEmpty(t, s.Leaks)
	mask := secret.NewMask(secret.Value{Name: "seeded", Text: Secret})
	failures := 0
	for _, c := range s.Leaks {
		t.Run(c.Name, func(t *testing.T) {
			left := &remains{}
			task := s.task(t, c)
			task.Mask = func() *secret.Mask { return mask }
			task.Log = slog.New(slog.NewJSONHandler(left, &slog.HandlerOptions{Level: slog.LevelDebug}))
			task.Beat = func(detail string) { left.add(detail) }
			standard := slog.Default()
			slog.SetDefault(slog.New(slog.NewTextHandler(left, &slog.HandlerOptions{Level: slog.LevelDebug})))
			defer slog.SetDefault(standard)
			output, err := s.call(t.Context(), task)
			left.add(string(output))
			if err != nil {
				failures++
				typed, _ := activity.AsError(t.Context(), err)
				left.add(err.Error(), typed.Code, typed.Message, string(typed.Details))
			}
			text := left.String()
			require.Equal(t, mask.String(text), text, "the secret stands in what the attempt left behind")
			require.Contains(t, text, "[secret:seeded]", "the peer of a leak writes what it was given; nothing was masked in: %s", text)
		})
	}
	require.Positive(t, failures, "none of the leaks failed: an error is where secrets are met most")
}

// remains collects what an attempt leaves behind.
type remains struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (r *remains) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(b)
}

func (r *remains) add(texts ...string) {
	for _, text := range texts {
		_, _ = io.WriteString(r, text+"\n")
	}
}

// String is all of it.
func (r *remains) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func (s *suite) outputsBounded(t *testing.T) {
	task := s.task(t, s.Floods)
	task.MaxOutput = FloodLimit
	res, err := activity.Run(t.Context(), s.Kind.Activity, task)
	if err == nil {
		require.NotNil(t, res.Stream, "%d bytes were answered, and the limit is %d", len(res.Output), FloodLimit)
		var n int64
		n, err = io.Copy(io.Discard, res.Stream)
		require.LessOrEqual(t, n, int64(FloodLimit))
		require.NoError(t, res.Stream.Close())
	}
	require.Error(t, err, "the whole flood was taken for an answer")
	typed, _ := activity.AsError(t.Context(), err)
	require.Contains(t, []string{activity.CodeOutput, activity.CodeTooLarge}, typed.Code, typed.Message)
	require.False(t, typed.Retryable, "it would be as large the next time")
}
