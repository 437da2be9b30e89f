package expr

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

var update = flag.Bool("update", false, "write golden files anew")

// testInput is what `input` is in the golden files.
const testInput = `{
	"name": "Ada", "total": 1500, "ratio": 0.25, "vip": true, "none": null, "placed": "2026-01-31T09:00:00Z",
	"items": [{"sku": "A-1", "qty": 1, "price": 99.5}, {"sku": "B-2", "qty": 3, "price": 10}],
	"customer": {"name": "Ada", "address": {"city": "London", "zip": "N1"}},
	"odd key": 1, "ключ": "значение", "unicode": "héllo 🌍"
}`

func mustCanonical(t testing.TB, text string) workflow.Value {
	t.Helper()
	v, err := Canonical([]byte(text))
	require.NoError(t, err)
	return v
}

// testActivation binds what expressions of the golden files read.
func testActivation(t testing.TB) *Activation {
	input := mustCanonical(t, testInput)
	return NewActivation(func(name string) (Binding, bool) {
		switch name {
		case "input":
			return OfValue(input), true
		case "execution":
			return testExecution(), true
		}
		return Binding{}, false
	})
}

func testExecution() Binding {
	return OfStruct(func(field string) (Binding, bool) {
		switch field {
		case "id":
			return OfString("7f3c/order-1"), true
		case "started_at":
			return OfTime(time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)), true
		case "duration":
			return OfDuration(90 * time.Second), true
		}
		return Binding{}, false
	}, func() []string { return []string{"started_at", "id", "duration"} })
}

// evalText is the outcome of an expression as the golden files show it.
func evalText(t testing.TB, src string) string {
	e, issues := Compile(src, workflow.Position{Line: 1, Column: 1}, nil)
	var lines []string
	for _, issue := range issues {
		lines = append(lines, "? "+issueText(issue))
	}
	if e == nil {
		return strings.Join(lines, "\n")
	}
	p, err := e.Eval(testActivation(t))
	if err != nil {
		lines = append(lines, "! "+errorText(err))
	} else {
		lines = append(lines, p.JSON.String())
	}
	return strings.Join(lines, "\n")
}

func issueText(i Issue) string {
	s := fmt.Sprintf("%s %d:%d+%d %s", i.Code, i.At.Line, i.At.Column, i.Length, i.Message)
	if i.Suggestion != "" {
		s += "; " + i.Suggestion
	}
	if i.Warning {
		s = "warning " + s
	}
	return s
}

func errorText(err error) string {
	e, ok := err.(*workflow.Error)
	if !ok {
		return "NOT A WORKFLOW ERROR: " + err.Error()
	}
	var at struct{ Line, Column int }
	if err := json.Unmarshal(e.Details, &at); err != nil {
		return "DETAILS: " + err.Error()
	}
	return fmt.Sprintf("%s %d:%d %s", e.Code, at.Line, at.Column, e.Message)
}

// TestEval holds every expression of testdata/eval against its recorded outcome. A line starting with > is an expression;
// below it stands its value, or ! and its error, or ? and what the check refuses.
func TestEval(t *testing.T) {
	files, err := filepath.Glob("testdata/eval/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			golden(t, file, func(src string) string { return evalText(t, src) })
		})
	}
}

// golden recomputes the answer below each line that starts with >.
func golden(t *testing.T, file string, answer func(line string) string) {
	t.Helper()
	old, err := os.ReadFile(file)
	require.NoError(t, err)
	var out bytes.Buffer
	for _, block := range goldenBlocks(string(old)) {
		out.WriteString(block.head)
		if block.line != "" {
			fmt.Fprintf(&out, "> %s\n%s\n", block.line, answer(block.line))
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(file, out.Bytes(), 0o644))
		return
	}
	require.Equal(t, string(old), out.String())
}

// goldenBlock is what stands before a line that starts with >, and that line.
type goldenBlock struct{ head, line string }

// goldenBlocks splits a golden file. Answers are left out.
func goldenBlocks(text string) []goldenBlock {
	var blocks []goldenBlock
	head := ""
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		switch src, ok := strings.CutPrefix(line, "> "); {
		case ok:
			blocks = append(blocks, goldenBlock{head, src})
			head = ""
		case line == "" || strings.HasPrefix(line, "#"):
			head += line + "\n"
		}
	}
	return append(blocks, goldenBlock{head, ""})
}
