package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestChain(t *testing.T) {
	r := begin(t, `
steps:
  a: { function: a, with: { n: 1 } }
  b: { function: b, with: { got: '${ steps.a.output.n }' } }
`, "")
	require.Equal(t, []string{
		"WorkflowCreated", "WorkflowValidated", "WorkflowScheduled", "WorkflowStarted", "ActivityReady a", "ActivityScheduled a",
	}, r.events())
	r.work(time.Hour)
	require.Equal(t, `Completed completed {"b":{"got":1}}`, r.outcome(), r.story())
	require.Equal(t, []string{"a", "b"}, r.calls)
}
