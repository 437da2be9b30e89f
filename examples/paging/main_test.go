package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/cli"
)

// TestPaging reads the archive as the program does: every order once, and one page asked for twice.
func TestPaging(t *testing.T) {
	a := &archive{orders: 730}
	var stdout bytes.Buffer
	require.Equal(t, 0, read(cli.Environment{In: strings.NewReader(""), Out: &stdout, Err: io.Discard}, a, t.TempDir()), stdout.String())
	var out struct {
		Output struct {
			Report struct{ Pages, Orders, Total int }
		}
	}
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &out))
	total := 0
	for i := range 730 {
		total += i % 100
	}
	require.Equal(t, 8, out.Output.Report.Pages)
	require.Equal(t, 730, out.Output.Report.Orders)
	require.Equal(t, total, out.Output.Report.Total)
	require.EqualValues(t, 9, a.asked.Load())
}
