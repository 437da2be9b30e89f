package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

const nestedUndo = `
on_failure: compensate
steps:
  pre: { function: g, with: 100 }
  outer:
    foreach:
      items: [ 1, 2 ]
      as: x
      max_parallelism: 1
      steps:
        l:
          loop:
            max: 2
            on_max: stop
            until: false
            steps:
              a: { function: g, with: '${ x * 10 + iteration }', compensate: { function: u, with: '${ [x, index, iteration, output, steps.pre.output, steps.b.output] }' } }
              b: { needs: [ a ], value: '${ steps.a.output + 1 }' }
  wait: { needs: [ outer ], timer: { for: 1h } }
  bad: { needs: [ wait ], fail: { code: x.y } }
`

// undoInputs collects what compensations are called with.
func undoInputs(r *run) *[]string {
	var list []string
	r.mocks["u"] = func(c workflow.RunActivity) workflow.ActivityResult {
		list = append(list, c.Step+" "+c.Input.JSON.String())
		return workflow.ActivityResult{Output: c.Input}
	}
	return &list
}

func TestUndoReadsWhatItsStepCould(t *testing.T) {
	want := []string{
		"outer/1/l/2/a!undo [2,1,2,22,100,23]", "outer/1/l/1/a!undo [2,1,1,21,100,22]",
		"outer/0/l/2/a!undo [1,0,2,12,100,13]", "outer/0/l/1/a!undo [1,0,1,11,100,12]",
	}
	t.Run("after all has ended", func(t *testing.T) {
		r := begin(t, nestedUndo, "")
		got := undoInputs(r)
		r.work(2 * time.Hour)
		require.Equal(t, "Completed failed compensated x.y", r.outcome(), r.story())
		require.Equal(t, want, *got)
	})
	t.Run("cancelled in the middle", func(t *testing.T) {
		r := begin(t, nestedUndo, "")
		got := undoInputs(r)
		for range 4 { // pre, and three of the four
			require.True(t, r.step())
		}
		r.do(workflow.Cancel{ID: "c", Origin: workflow.OriginUser, Mode: workflow.CancelCompensated})
		r.work(0)
		require.Equal(t, "Completed cancelled compensated cancelled", r.outcome(), r.story())
		require.Equal(t, want[1:], *got)
	})
}

func TestUndoAfterRedrive(t *testing.T) {
	const doc = `
on_failure: fail
steps:
  b: { function: g, with: b, compensate: { function: u, with: '${ output }' } }
  a: { function: g, needs: [ b ], with: a, compensate: { function: u, with: '${ output }' } }
  c: { function: g, with: c, compensate: { function: u, with: '${ output }' } }
  bad: { needs: [ a, c ], function: f, retry: { attempts: 1 } }
`
	r := begin(t, doc, "")
	r.failing("f", "f.down", 9)
	r.work(0)
	require.Equal(t, "Failed failed f.down", r.outcome())
	require.Equal(t, []string{"b", "a", "c", "bad"}, r.calls)
	start, err := Redrive(r.p, r.history, RedriveOptions{Execution: "e2"})
	require.NoError(t, err)
	n := &run{t: t, p: r.p, now: r.now, tries: map[string]int{}, mocks: map[string]func(workflow.RunActivity) workflow.ActivityResult{}}
	got := undoInputs(n)
	n.do(start)
	n.do(workflow.Cancel{ID: "c", Origin: workflow.OriginUser, Mode: workflow.CancelCompensated})
	n.work(0)
	require.Equal(t, []string{`c!undo "c"`, `a!undo "a"`, `b!undo "b"`}, *got, "in the reverse order of the ends in the other execution")
}

func TestTransitions(t *testing.T) {
	r := begin(t, "steps: { a: { function: f, retry: { attempts: 2, delay: 1s } }, g: { needs: [ a ], group: { steps: { v: { value: 1 } } } } }", "")
	r.failing("f", "f.down", 1)
	r.work(time.Hour)
	require.Equal(t, "Completed", r.s.Status.String())
	var s *workflow.State
	version := uint64(0)
	states := map[string]string{"": "None"}
	for _, e := range r.history {
		list, err := Transitions(r.p, s, e, "w1", "m1")
		require.NoError(t, err)
		for _, tr := range list {
			switch {
			case tr.Workflow != nil:
				require.Equal(t, states[""], tr.Workflow.PreviousState.String())
				states[""] = tr.Workflow.CurrentState.String()
				require.Equal(t, e.Version, tr.Workflow.Version)
				require.Equal(t, "e1", tr.Workflow.ExecutionID)
				require.Equal(t, "test", tr.Workflow.WorkflowID)
			default:
				if states[tr.Step] == "" {
					states[tr.Step] = "None"
				}
				require.Equal(t, states[tr.Step], tr.Activity.PreviousState.String(), tr.Step)
				states[tr.Step] = tr.Activity.CurrentState.String()
				require.Equal(t, "w1", tr.Activity.WorkerID)
				require.Equal(t, "m1", tr.Activity.CausationID)
			}
			version = e.Version
		}
		s, err = Apply(r.p, s, e)
		require.NoError(t, err)
	}
	require.Equal(t, r.s.Version, version)
	require.Equal(t, map[string]string{"": "Completed", "a": "Completed", "g": "Completed", "g/v": "Completed"}, states)
}
