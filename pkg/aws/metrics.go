package aws

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// metrics writes metrics in CloudWatch's embedded metric format: lines of the function's log, which cost no call.
type metrics struct {
	mu  sync.Mutex
	to  io.Writer
	bus string
}

type metric struct {
	name  string
	value float64
	unit  string
}

func newMetrics(to io.Writer, bus string) *metrics { return &metrics{to: to, bus: bus} }

// count writes a line with these metrics.
func (m *metrics) count(list ...metric) {
	type definition struct {
		Name string `json:"Name"`
		Unit string `json:"Unit"`
	}
	line := map[string]any{stack.MetricsDimension: m.bus}
	var definitions []definition
	for _, x := range list {
		line[x.name] = x.value
		definitions = append(definitions, definition{x.name, x.unit})
	}
	line["_aws"] = map[string]any{
		"Timestamp": time.Now().UnixMilli(),
		"CloudWatchMetrics": []any{map[string]any{
			"Namespace": stack.MetricsNamespace, "Dimensions": [][]string{{stack.MetricsDimension}}, "Metrics": definitions,
		}},
	}
	text, err := json.Marshal(line)
	if err != nil {
		return // numbers and names only: it never fails
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _ = m.to.Write(append(text, '\n'))
}
