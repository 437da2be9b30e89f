package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/cli"
)

// TestPayment runs the workflow against the bank, as the program does.
func TestPayment(t *testing.T) {
	for weight, want := range map[float64]struct {
		code            int
		outcome, output string
		ledger          []string
	}{
		2: {0, "completed", `{"charge":"c-1","parcel":"p-o-1"}`, []string{
			"bank: c-1: took 30 for o-1",
			"bank: c-1: asked again with the same key, nothing taken",
			"carrier: took a parcel for o-1",
		}},
		50: {1, "compensated", ``, []string{
			"bank: c-1: took 30 for o-1",
			"bank: c-1: asked again with the same key, nothing taken",
			"bank: c-1: paid 30 back",
		}},
	} {
		var stdout, ledger bytes.Buffer
		env := cli.Environment{In: strings.NewReader(""), Out: &stdout, Err: io.Discard}
		require.Equal(t, want.code, pay(env, weight, &ledger, t.TempDir()), stdout.String())
		var out struct {
			Outcome string
			Output  json.RawMessage
		}
		require.NoError(t, json.Unmarshal(stdout.Bytes(), &out), stdout.String())
		require.Equal(t, want.outcome, out.Outcome)
		if want.output != "" {
			require.JSONEq(t, want.output, string(out.Output))
		}
		require.Equal(t, strings.Join(want.ledger, "\n")+"\n", ledger.String())
		require.NotContains(t, stdout.String(), os.Getenv("BANK_SECRET"))
	}
}
