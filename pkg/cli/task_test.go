package cli

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// TestTaskIsFilled: an activity hears all that the contract promises, from the worker that really runs it.
func TestTaskIsFilled(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("wovyr.yaml", []byte("secrets: { own: { env: WOVYR_TEST_OWN } }\n"), 0o600))
	t.Setenv("WOVYR_TEST_OWN", "a secret of the kind's own")
	require.NoError(t, os.WriteFile("task.yaml", []byte(`
dsl: wovyr/v1
name: shop
limits: { max_memory: 64MiB }
steps:
  all: { foreach: { items: '${ [ 1 ] }', as: item, steps: { look: { function: look, timeout: 1h, with: { n: '${ item }' }, retry: { attempts: 2, delay: 1ms, on: [ activity ] } } } } }
`), 0o600))
	var tasks []activity.Task
	look := activity.Custom(activity.Kind{
		Name: "look", Input: workflow.Value(`{"properties": {"n": {"const": 1}}}`), Output: workflow.Value(`{"type": "object"}`),
		Activity: asActivity(func(ctx context.Context, task *activity.Task) (activity.Result, error) {
			tasks = append(tasks, *task)
			task.Heartbeat("here")
			task.Logger().Info("here")
			own, err := task.Secret(ctx, "own")
			require.NoError(t, err)
			if task.Attempt == 1 {
				e := activity.NewError("look.again", "with %s", own)
				e.Retryable = true
				return activity.Result{}, e
			}
			_, err = task.Secret(ctx, "nobody")
			require.ErrorContains(t, err, "secret.unknown")
			return activity.Result{Output: []byte(`{"own": "` + own + `"}`)}, nil
		}),
	})
	var out written
	code := Run(Environment{In: strings.NewReader(""), Out: &out, Err: io.Discard, Functions: []activity.Function{look}}, []string{"run", "task.yaml", "--data", "store"})
	shown := out.take()
	require.Equal(t, exitOK, code, shown)
	require.Contains(t, shown, `[{"own":"[secret:own]"}]`, "a secret that a kind asked for by itself is masked too")

	require.Len(t, tasks, 2)
	first, second := tasks[0], tasks[1]
	require.Equal(t, "local", first.Tenant)
	require.Equal(t, "shop", first.Workflow)
	require.Equal(t, first.Execution, first.Correlation, "without a correlation of its own an execution is its own")
	require.Equal(t, "all/0/look", first.Step)
	require.Equal(t, first.Execution+"/all/0/look", first.IdempotencyKey)
	require.Equal(t, first.IdempotencyKey, second.IdempotencyKey)
	require.Equal(t, []int{1, 2}, []int{first.Attempt, second.Attempt})
	require.Less(t, first.Fence, second.Fence)
	require.WithinRange(t, first.Deadline, time.Now().Add(59*time.Minute), time.Now().Add(61*time.Minute))
	require.Equal(t, workflow.KindFunction, first.Kind)
	require.Equal(t, "look", first.Name)
	require.JSONEq(t, `"look"`, string(first.Target.JSON))
	require.JSONEq(t, `{"n": 1}`, string(first.With.JSON))
	require.EqualValues(t, 64<<20, first.MaxMemory)
}

type asActivity func(ctx context.Context, t *activity.Task) (activity.Result, error)

// Run implements activity.Activity.
func (f asActivity) Run(ctx context.Context, t *activity.Task) (activity.Result, error) {
	return f(ctx, t)
}
