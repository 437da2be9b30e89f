package aws_test

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/api"
	"github.com/wovyr/wovyr/pkg/aws/estimate"
	"github.com/wovyr/wovyr/pkg/aws/meter"
	"github.com/wovyr/wovyr/pkg/client"
)

// estimateWithin is how near an estimate from the history comes to what was metered, in parts of the latter.
const estimateWithin = 0.10

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

// TestEstimates holds the estimate from a history (`wovyr cost`) against what the execution used.
func TestEstimates(t *testing.T) {
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
			t.Logf("%s: metered $%.2f, estimated $%.2f per million\n%s", x.name, b.million(t), dollars(t, got.Units()), differences(t, b.units(), got.Units()))
			require.Equal(t, x.name, got.Workflow)
			require.Equal(t, id, got.Execution)
			require.True(t, got.Ended)
			require.Equal(t, x.steps, got.Steps, x.name)
			require.InEpsilon(t, b.million(t), dollars(t, got.Units()), estimateWithin, "%s: dollars per million executions", x.name)
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
