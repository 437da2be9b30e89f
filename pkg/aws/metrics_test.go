package aws

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// units are those that CloudWatch knows, of which we use these.
var units = []string{"Count", "Milliseconds"}

// TestMetricsAreEmbedded holds what the functions write to the specification of CloudWatch's embedded metric format: one line an event; `_aws` says
// when, and which members of the line are metrics and which are dimensions.
func TestMetricsAreEmbedded(t *testing.T) {
	var out bytes.Buffer
	m := newMetrics(&out, "wovyr")
	before := time.Now().UnixMilli()
	m.count(metric{stack.MetricStarted, 1, "Count"}, metric{stack.MetricDuration, 1234.5, "Milliseconds"})
	m.count(metric{stack.MetricStuck, 0, "Count"})
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Len(t, lines, 2)
	for _, line := range lines {
		var root map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(line), &root))
		var meta struct {
			Timestamp         int64
			CloudWatchMetrics []struct {
				Namespace  string
				Dimensions [][]string
				Metrics    []struct{ Name, Unit string }
			}
		}
		require.NoError(t, json.Unmarshal(root["_aws"], &meta))
		require.GreaterOrEqual(t, meta.Timestamp, before)
		require.LessOrEqual(t, meta.Timestamp, time.Now().UnixMilli())
		require.Len(t, meta.CloudWatchMetrics, 1)
		d := meta.CloudWatchMetrics[0]
		require.Equal(t, stack.MetricsNamespace, d.Namespace)
		require.Equal(t, [][]string{{stack.MetricsDimension}}, d.Dimensions)
		var bus string
		require.NoError(t, json.Unmarshal(root[stack.MetricsDimension], &bus), "a dimension is a text")
		require.Equal(t, "wovyr", bus)
		require.NotEmpty(t, d.Metrics)
		require.LessOrEqual(t, len(d.Metrics), 100)
		seen := map[string]bool{}
		for _, x := range d.Metrics {
			require.False(t, seen[x.Name], "twice: %s", x.Name)
			seen[x.Name] = true
			require.True(t, slices.Contains(units, x.Unit), x.Unit)
			var value float64
			require.NoError(t, json.Unmarshal(root[x.Name], &value), "a metric is a number")
		}
		require.Len(t, root, len(d.Metrics)+2, "no member that would be searched for nothing")
	}
}
