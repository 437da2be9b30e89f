package aws_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/api"
	"github.com/wovyr/wovyr/pkg/aws/estimate"
	"github.com/wovyr/wovyr/pkg/aws/meter"
	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/node"
	"github.com/wovyr/wovyr/pkg/project"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// estimateWithin is how near an estimate from the history comes to what was metered, in parts of the latter.
const estimateWithin = 0.10

// localWithin is the same for the history of one machine: there results of a crowd meet by chance, and AWS merges them in tens.
const localWithin = 0.20

// views is a history as the API tells it.
func (s *site) views(id string) []client.Event {
	var out []client.Event
	for _, e := range s.History(id) {
		view, err := api.ViewEvent(e)
		require.NoError(s.t, err)
		out = append(out, view)
	}
	return out
}

// children are the executions that an execution started.
func (s *site) children(id string) []string {
	var out []string
	for _, e := range s.History(id) {
		if requested, ok := e.Event.(workflow.ChildRequested); ok {
			out = append(out, requested.Child)
		}
	}
	return out
}

// here runs workflows on this machine and returns their histories, by name.
func here(t *testing.T, documents ...string) map[string][]client.Event {
	dir := t.TempDir()
	settings, err := project.Load(dir)
	require.NoError(t, err)
	n, err := node.Open(node.Options{Project: settings, Data: filepath.Join(dir, "data"), Functions: []activity.Function{activity.Func("pass", answer)}, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- n.Run(ctx, time.Second) }()
	out := map[string][]client.Event{}
	c := client.Client{Server: n.URL}
	for _, document := range documents {
		d, err := c.Deploy(ctx, "workflow.yaml", []byte(document))
		require.NoError(t, err)
		e, err := c.Start(ctx, client.StartRequest{Workflow: d.Workflow})
		require.NoError(t, err)
		for !e.Ended() {
			e, err = c.Wait(ctx, e.ID)
			require.NoError(t, err)
		}
		require.Equal(t, "completed", e.Status)
		for after := ""; ; {
			page, err := c.History(ctx, e.ID, after)
			require.NoError(t, err)
			if len(page.Items) == 0 {
				break
			}
			out[d.Workflow], after = append(out[d.Workflow], page.Items...), page.Next
		}
	}
	stop()
	require.NoError(t, <-done)
	return out
}

// TestEstimates holds the estimate from a history (`wovyr cost`) against what the execution used, and that from the history of the same
// workflow on one machine.
func TestEstimates(t *testing.T) {
	local := here(t, chain("chain10", 10, 0), chain("chain30", 30, 0), fanOut("fan100", 100), emitting, large, limited)
	onSite(t, 1, func(s *site) {
		for _, x := range []struct {
			document, name string
			steps          int
			meanwhile      time.Duration
			what           func(id string)
		}{
			{chain("chain10", 10, 0), "chain10", 10, 0, nil},
			{chain("chain30", 30, 0), "chain30", 30, 0, nil},
			{chain("slow10", 10, 1000), "slow10", 10, 0, nil},
			{chain("slow30", 30, 1000), "slow30", 30, 0, nil},
			{fanOut("fan100", 100), "fan100", 100, 0, nil},
			{fanOut("fan4", 4), "fan4", 4, 0, nil},
			{approval, "approval", 3, time.Hour, s.approve},
			{week, "week", 3, 7 * 24 * time.Hour, func(string) {}},
			{minutes, "minutes", 3, 0, nil},
			{limited, "limited", 2, 0, nil},
			{retried, "retried", 2, 0, nil},
			{signalled, "signalled", 3, time.Minute, s.signal},
			{emitting, "emitting", 2, 0, nil},
			{large, "large", 2, 0, nil},
			{parent, "parent", 2, 0, nil},
		} {
			s.deploy(x.document)
			var id string
			b := s.measure(x.steps, func() {
				var e client.Execution
				s.Request(http.MethodPost, "/v1/executions", client.StartRequest{Workflow: x.name}, &e)
				if id = e.ID; x.what != nil {
					<-time.After(x.meanwhile)
					x.what(id)
				}
				s.end(id, time.Now())
			})
			got, err := estimate.Of(s.views(id))
			require.NoError(t, err)
			all := got.Units()
			for _, child := range s.children(id) { // executions of their own
				e, err := estimate.Of(s.views(child))
				require.NoError(t, err)
				for unit, n := range e.Units() { // order-free: sums
					all[unit] += n
				}
			}
			t.Logf("%s: metered $%.2f, estimated $%.2f per million\n%s", x.name, b.million(t), dollars(t, all), differences(t, b.units(), all))
			require.Equal(t, x.name, got.Workflow)
			require.Equal(t, id, got.Execution)
			require.True(t, got.Ended)
			require.Equal(t, x.steps, got.Steps, x.name)
			require.InEpsilon(t, b.million(t), dollars(t, all), estimateWithin, "%s: dollars per million executions", x.name)
			if history, ok := local[x.name]; ok {
				got, err := estimate.Of(history)
				require.NoError(t, err)
				t.Logf("%s on one machine: estimated $%.2f per million\n%s", x.name, dollars(t, got.Units()), differences(t, b.units(), got.Units()))
				require.Equal(t, x.steps, got.Steps, x.name)
				require.InEpsilon(t, b.million(t), dollars(t, got.Units()), localWithin, "%s on one machine: dollars per million executions", x.name)
			}
		}
	})
}

// differences writes what was metered beside what was estimated.
func differences(t testing.TB, metered, estimated map[meter.Unit]float64) string {
	all := maps.Clone(metered)
	maps.Copy(all, estimated)
	var out strings.Builder
	for _, unit := range slices.Sorted(maps.Keys(all)) {
		m, e := metered[unit], estimated[unit]
		if math.Abs(m-e) > 1e-9 {
			fmt.Fprintf(&out, "  %-20s %10.4f %10.4f  %+.3f $\n", unit, m, e, dollars(t, map[meter.Unit]float64{unit: e})-dollars(t, map[meter.Unit]float64{unit: m}))
		}
	}
	return out.String()
}

const minutes = `dsl: wovyr/v1
name: minutes
steps:
  before: { function: pass, with: { id: o-1, amount: 1, millis: 0, note: before } }
  pause: { needs: [before], timer: { for: 5m } }
  after: { needs: [pause], function: pass, with: { id: o-1, amount: 1, millis: 0, note: after } }
`

// limited has steps with a timeout, which is a timer.
const limited = `dsl: wovyr/v1
name: limited
steps:
  first: { function: pass, timeout: 5m, with: { id: o-1, amount: 1, millis: 0, note: before } }
  second: { needs: [first], timeout: 5m, function: pass, with: { id: o-1, amount: 1, millis: 0, note: after } }
`

const retried = `dsl: wovyr/v1
name: retried
steps:
  first: { function: pass, retry: { attempts: 3, strategy: fixed, delay: 30s }, with: { id: o-1, amount: -1, millis: 0, note: before } }
  second: { needs: [first], function: pass, with: { id: o-1, amount: 1, millis: 0, note: after } }
`

const signalled = `dsl: wovyr/v1
name: signalled
steps:
  before: { function: pass, with: { id: o-1, amount: 1, millis: 0, note: before } }
  paid: { needs: [before], event: { type: paid, key: '"o-1"' }, timeout: 7d }
  after: { needs: [paid], function: pass, with: { id: o-1, amount: 1, millis: 0, note: after } }
`

const emitting = `dsl: wovyr/v1
name: emitting
steps:
  before: { function: pass, with: { id: o-1, amount: 1, millis: 0, note: before } }
  tell: { needs: [before], emit: { type: told, key: '"o-1"', data: { n: 1 } } }
`

const parent = `dsl: wovyr/v1
name: parent
steps:
  before: { function: pass, with: { id: o-1, amount: 1, millis: 0, note: before } }
  child: { needs: [before], workflow: { name: chain10 } }
`

// large passes on a value that goes to the payload store.
const large = `dsl: wovyr/v1
name: large
steps:
  first: { function: pass, with: { id: o-1, amount: 1, millis: 0, grow: 10000, note: before } }
  second: { function: pass, with: '${ steps.first.output }' }
`

func (s *site) signal(id string) {
	s.Request(http.MethodPost, "/v1/executions/"+id+"/signals", client.Signal{Type: "paid", Key: "o-1"}, nil)
}
