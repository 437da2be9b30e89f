package local_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/std"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/local"
	"github.com/wovyr/wovyr/pkg/worker"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// noBeat is a clock whose repetitions never come, so that nobody hears of anything by extending a lease.
type noBeat struct{ worker.Clock }

func (noBeat) Every(time.Duration, func()) func() { return func() {} }

// TestAnEndedAttemptIsToldAtOnce: whatever ends a running step, the context of its activity ends with the commit that does it.
func TestAnEndedAttemptIsToldAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		in   workflow.Input
	}{
		"cancel":           {"steps:\n  h: { function: hang }", workflow.Cancel{ID: "c", Origin: workflow.OriginUser, Mode: workflow.CancelImmediate}},
		"compensated":      {"on_failure: compensate\nsteps:\n  h: { function: hang }", workflow.Cancel{ID: "c", Origin: workflow.OriginUser, Mode: workflow.CancelCompensated}},
		"failure beside":   {"steps:\n  h: { function: hang }\n  w: { event: { type: Go } }\n  f: { needs: [w], fail: { code: no.way } }", nil},
		"race lost":        {"steps:\n  r:\n    race:\n      one: { steps: { h: { function: hang } } }\n      two: { steps: { w: { event: { type: Go } } } }", nil},
		"join met":         {"steps:\n  h: { function: hang }\n  w: { event: { type: Go } }\n  j: { needs: [h, w], join: any, cancel_rest: true, value: '${ 1 }' }", nil},
		"foreach fails":    {"steps:\n  all: { foreach: { items: '${ [1, 2] }', as: n, steps: { h: { function: hang, when: n == 1 }, w: { event: { type: Go }, when: n == 2 }, f: { needs: [w], when: n == 2, fail: { code: no.way } } } } }", nil},
		"timeout of group": {"steps:\n  g: { timeout: 500ms, group: { steps: { h: { function: hang } } } }", nil},
		"workflow timeout": {"limits: { timeout: 500ms }\nsteps:\n  h: { function: hang }", nil},
	} {
		t.Run(name, func(t *testing.T) {
			started, told := make(chan string, 1), make(chan error, 1)
			kinds := activity.NewRegistry()
			require.NoError(t, kinds.Functions.Add(std.Functions()...))
			require.NoError(t, kinds.Functions.Add(activity.Func("hang", func(ctx context.Context, _ activity.Document) (int, error) {
				started <- activity.Info(ctx).Execution
				<-ctx.Done()
				told <- context.Cause(ctx)
				return 0, ctx.Err()
			})))
			open, err := local.Open(t.TempDir(), local.Options{Activities: kinds})
			require.NoError(t, err)
			open.Worker.Clock = noBeat{open.Worker.Clock}
			p := run(t, open)
			id := p.run(t, p.deploy(t, "name: ends\n"+c.text), `{}`)
			require.Equal(t, id, <-started)
			in := c.in
			if in == nil {
				in = workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: "go", Kind: "Go"}}
			}
			require.NoError(t, p.Ask(t.Context(), eventstore.Stream{Tenant: tenant, ID: id}, in))
			require.ErrorContains(t, <-told, "ended or taken over")
		})
	}
}
