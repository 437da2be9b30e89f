package aws_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/deployment"
	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/client"
)

// order is what the steps pass on: an output of some 150 bytes.
type order struct {
	ID     string `json:"id"`
	Amount int    `json:"amount"` // negative: the first attempt fails
	Note   string `json:"note"`
	// Grow is how often the note stands in the output.
	Grow int `json:"grow,omitempty"`
	// Millis is how long the step's own work takes.
	Millis int `json:"millis"`
}

const passed = `{ id: o-1234567, amount: 1999, millis: %d, note: %s }`

// chain is a workflow of so many steps in a row, each of which works for a time.
func chain(name string, steps, millis int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "dsl: wovyr/v1\nname: %s\nsteps:\n", name)
	with := fmt.Sprintf(passed, millis, strings.Repeat("n", 100))
	for i := range steps {
		fmt.Fprintf(&b, "  s%d: { function: pass, with: %s }\n", i, with)
		with = fmt.Sprintf("'${ steps.s%d.output }'", i)
	}
	return b.String()
}

// fanOut is a workflow of so many steps at once, and one that needs all of them.
func fanOut(name string, steps int) string {
	return fmt.Sprintf(`dsl: wovyr/v1
name: %s
steps:
  each:
    foreach:
      items: '${ range(%d) }'
      as: n
      max_parallelism: %d
      steps: { one: { function: pass, with: { id: 'o-${ n }', amount: '${ n }', millis: 0, note: %s } } }
`, name, steps, steps, strings.Repeat("n", 100))
}

const approval = `dsl: wovyr/v1
name: approval
steps:
  before: { function: pass, with: { id: o-1, amount: 1, millis: 0, note: before } }
  approve: { needs: [before], human: { title: 'Go on?', assignees: ['role:office'], timeout: 2d } }
  after: { needs: [approve], function: pass, with: { id: o-1, amount: 1, millis: 0, note: after } }
`

const week = `dsl: wovyr/v1
name: week
steps:
  before: { function: pass, with: { id: o-1, amount: 1, millis: 0, note: before } }
  pause: { needs: [before], timer: { for: 7d } }
  after: { needs: [pause], function: pass, with: { id: o-1, amount: 1, millis: 0, note: after } }
`

// site is a deployment with the function that all scenarios call.
type site struct {
	*deployment.Deployment
	t        *testing.T
	mu       sync.Mutex
	attempts []deployment.Attempt
}

// answer is what the function makes of an order.
func answer(ctx context.Context, in order) (order, error) {
	if in.Amount < 0 && activity.Info(ctx).Attempt == 1 {
		return in, activity.Unavailable("busy", "not at the first attempt")
	}
	in.Note, in.Grow = strings.Repeat(in.Note, max(1, in.Grow)), 0
	return in, nil
}

// onSite runs a test on a deployment.
func onSite(t *testing.T, seed uint64, test func(s *site)) {
	s := &site{t: t}
	pass := activity.Func("pass", func(ctx context.Context, in order) (order, error) {
		s.began(s.Begin(ctx))
		s.Work(ctx, time.Duration(in.Millis)*time.Millisecond)
		return answer(ctx, in)
	})
	deployment.Run(t, seed, func(r *activity.Registry) error { return r.Functions.Add(pass) }, func(d *deployment.Deployment) {
		s.Deployment = d
		test(s)
	})
}

func (s *site) began(a deployment.Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts = append(s.attempts, a)
}

// deploy deploys a workflow.
func (s *site) deploy(document string) {
	s.Request(http.MethodPost, "/v1/workflows", document, nil)
}

// start starts an execution, and returns its ID and how long the caller waited.
func (s *site) start(workflow string) (string, time.Duration) {
	var e client.Execution
	took := s.Request(http.MethodPost, "/v1/executions", client.StartRequest{Workflow: workflow}, &e)
	return e.ID, took
}

// end waits until an execution has ended, and returns when it did, since a time. It may take an hour.
func (s *site) end(id string, since time.Time) time.Duration {
	for range 3600 {
		x := s.Inspect(id)
		if x.Status.Terminal() {
			require.Equal(s.t, "Completed", x.Status.String(), "%+v", x.Ending)
			return time.Unix(0, x.At).Sub(since)
		}
		<-time.After(time.Second)
	}
	x := s.Inspect(id)
	require.Failf(s.t, "an execution does not end", "%s is %s, waits for %v, wakes at %v, at %v", id, x.Status, x.Waiting, time.Unix(0, x.Wake), time.Now())
	return 0
}
