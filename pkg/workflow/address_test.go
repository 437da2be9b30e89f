package workflow_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/workflow"
)

func ExampleSegment() {
	fmt.Println("/v1/executions/" + workflow.Segment("order-17/ship/1") + "/history")
	// Output: /v1/executions/order-17:ship:1/history
}

func TestNamesGetThroughAddresses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[A-Za-z0-9_./~!%? +#-]{1,40}`).Draw(t, "name")
		segment := url.PathEscape(workflow.Segment(name))
		require.NotContains(t, segment, "/")
		require.NotContains(t, segment, "%2F")
		plain, err := url.PathUnescape(segment)
		require.NoError(t, err)
		require.Equal(t, name, workflow.Named(plain))
	})
}
