package flowtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// TestShardsUndoWhatCompleted spreads a foreach over shards, lets random items fail, and holds what comes of it to what must be:
// each item runs at most once; with more failures than are tolerated, what completed is undone once each, and nothing else is.
func TestShardsUndoWhatCompleted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(250, 700).Draw(t, "items")
		tolerate := rapid.IntRange(0, 4).Draw(t, "tolerate")
		bad := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, 6, rapid.ID[int]).Draw(t, "bad")
		files := map[string]string{
			"w.yaml": fmt.Sprintf(`
dsl: wovyr/v1
name: w
on_failure: compensate
steps:
  each:
    foreach:
      items: '${ range(input.n) }'
      as: n
      max_parallelism: %d
      tolerate_failures: %d
      steps: { do: { function: do, retry: { attempts: 1 }, with: { n: '${ n }' }, compensate: { function: undo, with: { n: '${ n }' } } } }
`, rapid.IntRange(1, 300).Draw(t, "parallel"), tolerate),
			"w.test.yaml": fmt.Sprintf(`
tests:
  it:
    input: { n: %d }
    mocks:
      each/do: [ { when: 'call.with.n in %s', error: { code: bad } }, { output: '${ call.with.n }', takes: %ds } ]
      each/do!undo: { output: null }
    expect: { status: Completed }
`, n, strings.ReplaceAll(fmt.Sprint(bad), " ", ", "), rapid.IntRange(0, 2).Draw(t, "takes")),
		}
		s, found := Load("w.test.yaml", func(name string) ([]byte, error) { return []byte(files[name]), nil })
		if s == nil && len(bad) <= tolerate {
			t.Fatalf("%v", found)
		}
		require.NotNil(t, s, "%v", found)
		w := newWorld(s, &s.Cases[0])
		require.NoError(t, w.play())
		checkShards(t, w, n, bad, tolerate)
	})
}

func checkShards(t *rapid.T, w *world, n int, bad []int, tolerate int) {
	done, undone := map[string]int{}, map[string]int{}
	for _, s := range w.record.seen {
		e, ok := s.event.(workflow.ActivityCompleted)
		if !ok || e.Taken {
			continue
		}
		switch step, undo := strings.CutSuffix(e.Step, "!undo"); {
		case undo && strings.HasSuffix(step, "/do"):
			undone[step]++
		case strings.HasSuffix(e.Step, "/do"):
			done[e.Step]++
		}
	}
	for step, times := range done {
		require.Equal(t, 1, times, "%s completed", step)
	}
	state := w.main.state
	if len(bad) <= tolerate {
		require.Equal(t, "Completed", state.Status.String())
		require.False(t, state.Compensated)
		require.Len(t, done, n-len(bad))
		require.Empty(t, undone)
		return
	}
	require.Equal(t, workflow.OutcomeFailed, state.Ending.Outcome)
	require.Equal(t, done, undone, "what completed is undone once each, and nothing else")
}
