package activity

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/secret"
)

// TestTailKeepsNoHalfSecret: wherever a program's writes, the bound of a line and the beginning of the end that is kept fall, no piece of a
// secret is left.
func TestTailKeepsNoHalfSecret(t *testing.T) {
	const value = "0123456789-0123456789"
	m := secret.NewMask(secret.Value{Name: "pay", Text: value})
	rapid.Check(t, func(rt *rapid.T) {
		var log bytes.Buffer
		task := &Task{Mask: func() *secret.Mask { return m }, Log: slog.New(slog.NewJSONHandler(&log, nil))}
		tail := newTail(task, rapid.IntRange(1, 60).Draw(rt, "keep"))
		text := strings.Repeat("x", rapid.SampledFrom([]int{0, 3, maxLogLine - 30}).Draw(rt, "before"))
		for _, gap := range rapid.SliceOfN(rapid.StringMatching(`[a-z\n]{0,9}`), 1, 9).Draw(rt, "gaps") {
			text += gap + value
		}
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), maxLogLine)).Draw(rt, "piece")
			_, err := tail.Write([]byte(rest[:n]))
			require.NoError(rt, err)
			rest = rest[n:]
		}
		tail.end()
		require.False(rt, strings.ContainsAny(tail.String(), "0123456789"), tail.String())
		logged := ""
		for dec := json.NewDecoder(&log); dec.More(); {
			var line struct{ Line string }
			require.NoError(rt, dec.Decode(&line))
			require.LessOrEqual(rt, len(line.Line), 2*maxLogLine)
			logged += line.Line
		}
		require.Equal(rt, strings.ReplaceAll(m.String(text), "\n", ""), logged)
	})
}
