package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/cli"
)

// TestWorkflowCallsTheFunction runs the workflow as the program does.
func TestWorkflowCallsTheFunction(t *testing.T) {
	run := func(input string) (code int, out struct {
		Execution string `json:"execution_id"`
		Outcome   string
		Output    struct{ Reserve Reservation }
		Error     *activity.Error
	}) {
		var stdout bytes.Buffer
		env := cli.Environment{In: strings.NewReader(""), Out: &stdout, Err: io.Discard, Functions: []activity.Function{activity.Func("inventory.reserve", reserve)}}
		code = cli.Run(env, []string{"run", "order.yaml", "--input", input, "--data", t.TempDir()})
		require.NoError(t, json.Unmarshal(stdout.Bytes(), &out), stdout.String())
		return code, out
	}
	code, out := run(`{}`)
	require.Equal(t, 0, code)
	require.Equal(t, Reservation{ID: "r-pen", Key: out.Execution + "/reserve"}, out.Output.Reserve)

	code, out = run(`{"quantity": 101}`)
	require.Equal(t, 1, code)
	require.Equal(t, "failed", out.Outcome)
	require.Equal(t, "stock.short", out.Error.Code)
}
