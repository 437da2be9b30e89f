package activitytest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/activitytest"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// parts are what a kind does in each situation. Broken kinds differ in one of them from one that keeps the contract.
type parts struct {
	hang, fail, flood, leak, odd func(ctx context.Context, t *activity.Task) (activity.Result, error)
	key                          func(t *activity.Task) string
	schema                       workflow.Value
}

func sound() parts {
	return parts{
		hang: func(ctx context.Context, _ *activity.Task) (activity.Result, error) {
			<-ctx.Done()
			return activity.Result{}, ctx.Err()
		},
		fail: func(context.Context, *activity.Task) (activity.Result, error) {
			return activity.Result{}, activity.NewError("x.y", "no")
		},
		flood: func(context.Context, *activity.Task) (activity.Result, error) {
			return activity.Result{Output: append(bytes.Repeat([]byte(" "), 2*activitytest.FloodLimit), '1')}, nil
		},
		leak: func(context.Context, *activity.Task) (activity.Result, error) {
			return activity.Result{}, activity.NewError("x.leak", "with %s", activitytest.Secret)
		},
		odd: func(context.Context, *activity.Task) (activity.Result, error) {
			return activity.Result{}, activity.NewError(activity.CodeInput, "write one of the words")
		},
		key: func(t *activity.Task) string { return t.IdempotencyKey },
	}
}

// broken are kinds with one fault each, by the test that must notice it.
var broken = map[string]func(p *parts){
	"schemas": func(p *parts) { p.schema = workflow.Value(`{"type": "number"}`) },
	"errors_typed/it": func(p *parts) {
		p.fail = func(context.Context, *activity.Task) (activity.Result, error) {
			return activity.Result{}, errors.New("no")
		}
	},
	"odd_targets_refused": func(p *parts) {
		p.odd = func(context.Context, *activity.Task) (activity.Result, error) { panic("no such word") }
	},
	"deadline_kept": func(p *parts) {
		p.hang = func(context.Context, *activity.Task) (activity.Result, error) { return activity.Result{}, nil }
	},
	"cancel_heard": func(p *parts) {
		p.hang = func(ctx context.Context, _ *activity.Task) (activity.Result, error) {
			<-ctx.Done()
			if errors.Is(ctx.Err(), context.Canceled) {
				return activity.Result{}, activity.NewError("x.gave_up", "no")
			}
			return activity.Result{}, ctx.Err()
		}
	},
	"idempotency_key_passed_on": func(p *parts) {
		p.key = func(t *activity.Task) string { return fmt.Sprint(t.IdempotencyKey, "/", t.Attempt) }
	},
	"secrets_nowhere/it": func(p *parts) {
		leak := p.leak
		p.leak = func(ctx context.Context, t *activity.Task) (activity.Result, error) {
			slog.Info("calling", "with", activitytest.Secret) // a log that is not the task's, so nobody masks it
			return leak(ctx, t)
		}
	},
	"outputs_bounded": func(p *parts) {
		p.flood = func(context.Context, *activity.Task) (activity.Result, error) {
			return activity.Result{Output: []byte("1")}, nil
		}
	},
	"no_goroutine_left": func(p *parts) {
		p.fail = func(context.Context, *activity.Task) (activity.Result, error) {
			go io.Copy(io.Discard, forever{})
			return activity.Result{}, activity.NewError("x.y", "no")
		}
	},
}

type forever struct{}

func (forever) Read([]byte) (int, error) { select {} }

// TestSuite runs the suite on the sound kind, or, in a program of its own, on a broken one.
func TestSuite(t *testing.T) {
	p := sound()
	if name := os.Getenv("WOVYR_TEST_BROKEN"); name != "" {
		broken[name](&p)
	}
	var key atomic.Value
	activitytest.Run(t, func(*testing.T) activitytest.Subject {
		return activitytest.Subject{
			Kind: activity.Kind{Name: "x", Output: p.schema, Activity: runner(func(ctx context.Context, t *activity.Task) (activity.Result, error) {
				key.Store(p.key(t))
				switch string(t.Target.JSON) {
				case `{"do":"hang"}`:
					return p.hang(ctx, t)
				case `{"do":"fail"}`:
					return p.fail(ctx, t)
				case `{"do":"flood"}`:
					return p.flood(ctx, t)
				case `{"do":"leak"}`:
					return p.leak(ctx, t)
				case `{"do":"work"}`:
					return activity.Result{Output: []byte(`"done"`)}, nil
				}
				return p.odd(ctx, t)
			})},
			Succeeds: do("work"), Hangs: do("hang"), Fails: []activitytest.Call{do("fail")}, Floods: do("flood"), Leaks: []activitytest.Call{do("leak")},
			Key: func() string { return key.Load().(string) },
		}
	})
}

type runner func(ctx context.Context, t *activity.Task) (activity.Result, error)

func (r runner) Run(ctx context.Context, t *activity.Task) (activity.Result, error) { return r(ctx, t) }

func do(what string) activitytest.Call {
	return activitytest.Call{Name: "it", Target: map[string]string{"do": what}, Output: `"done"`, Code: "x.y"}
}

// TestSuiteNotices: each fault makes just the test fail that is there for it.
func TestSuiteNotices(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for name := range broken {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), self, "-test.run", "^TestSuite$", "-test.v")
			cmd.Env = append(os.Environ(), "WOVYR_TEST_BROKEN="+name)
			out, err := cmd.CombinedOutput()
			require.Error(t, err, "the suite takes it for sound")
			require.Contains(t, string(out), "--- FAIL: TestSuite/"+name+" ", "%s", out)
		})
	}
}
