package fsm_test

import (
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/fsm"
)

var update = flag.Bool("update", false, "write the golden files and the tables of docs/state-machines.md anew")

// A released version of a machine never changes: its file stays, a new version gets a new one.
func TestMatrix(t *testing.T) {
	golden(t, "workflow_v1", matrix(t, fsm.WorkflowV1(), fsm.WorkflowStates(), fsm.WorkflowEvents()))
	golden(t, "activity_v1", matrix(t, fsm.ActivityV1(), fsm.ActivityStates(), fsm.ActivityEvents()))
}

// matrix prints what a machine answers to every event in every state.
func matrix[S fsm.State, E fsm.Event](t *testing.T, m fsm.Machine[S, E], states iter.Seq[S], events iter.Seq[E]) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: what each event does in each state when every guard holds\n"+
		"→ leads to this state, by these guards; ✘ would lead there, but is refused; [code]\n", m)
	var none S
	for _, from := range append([]S{none}, slices.Collect(states)...) {
		terminal := ""
		if from.Terminal() {
			terminal = ", terminal"
		}
		fmt.Fprintf(&b, "\n%v [%d]%s\n", from, from.Code(), terminal)
		for on := range events {
			f := facts()
			to, err := m.Next(from, on, &f)
			edge, ok := m.Edge(from, on)
			require.Equal(t, err == nil, ok, "Edge and Next disagree on %v, %v", from, on)
			require.Equal(t, to, edge.To)
			result := fmt.Sprintf("→ %-13v %s", to, edge.Guards)
			if err != nil {
				var refused *fsm.TransitionError
				require.ErrorAs(t, err, &refused)
				result = fmt.Sprintf("✘ %-13s %s", refused.To, errors.Unwrap(err))
			}
			fmt.Fprintf(&b, "  %-22v%4s %s\n", on, fmt.Sprintf("[%d]", on.Code()), result)
		}
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "go test -update writes %s anew", path)
}

// The tables of the document are the tables of the code.
func TestDocument(t *testing.T) {
	const path = "../../docs/state-machines.md"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	want := string(text)
	want = section(t, want, "workflow v1", rows(fsm.WorkflowV1()))
	want = section(t, want, "activity v1", rows(fsm.ActivityV1()))
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text), "go test -update writes the tables anew")
}

// section replaces what stands between the marks of a generated table.
func section(t *testing.T, text, name, table string) string {
	t.Helper()
	re := regexp.MustCompile(`(?s)(<!-- begin ` + name + ` -->\n).*(<!-- end ` + name + ` -->)`)
	require.Regexp(t, re, text)
	return re.ReplaceAllString(text, "${1}"+table+"${2}")
}

// rows writes the edges of a machine as a Markdown table.
func rows[S fsm.State, E fsm.Event](m fsm.Machine[S, E]) string {
	var b strings.Builder
	b.WriteString("| From | Event | To | Guards, in the order in which they are asked |\n|---|---|---|---|\n")
	for row := range m.Transitions() {
		from := fmt.Sprint(row.From)
		if row.From.Code() == 0 {
			from = "(nothing)"
		}
		fmt.Fprintf(&b, "| %s | %v | %v | %s |\n", from, row.On, row.To, row.Guards)
	}
	return b.String()
}
