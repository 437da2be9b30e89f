package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// linked starts an execution of a definition, of whose decisions a few are held against the laws.
func linked(t *testing.T, def *workflow.Definition, every int) *run {
	t.Helper()
	p, err := Link(def)
	require.NoError(t, err)
	r := &run{t: t, p: p, now: epoch, every: every, tries: map[string]int{}, mocks: map[string]func(workflow.RunActivity) workflow.ActivityResult{}}
	r.bounded(workflow.Start{Execution: "e1", Tenant: "acme", Workflow: "test"})
	return r
}

// bounded decides and holds the decision against its bounds (commit protocol, point 2).
func (r *run) bounded(in workflow.Input) {
	r.t.Helper()
	d := r.do(in)
	bytes := 0
	for _, e := range d.Events {
		bytes += weigh(e.Event)
	}
	require.LessOrEqual(r.t, bytes, MaxEventBytes)
	require.LessOrEqual(r.t, len(d.Commands), MaxCommands+2, "and a wake-up and a continue")
	require.Equal(r.t, d.More, r.s.More)
}

func (r *run) continues() {
	r.t.Helper()
	for i := 0; r.s.More; i++ {
		require.Less(r.t, i, 1000)
		r.bounded(workflow.Continue{})
	}
}

func TestBounds(t *testing.T) {
	const wide = 800
	t.Run("many steps at once", func(t *testing.T) {
		r := linked(t, parallelOf(wide), 1000)
		require.True(t, r.s.More)
		r.continues()
		runs := 0
		for _, c := range Outstanding(r.p, r.s) {
			if _, ok := c.(workflow.RunActivity); ok {
				runs++
			}
		}
		require.Equal(t, wide, runs)
		r.every = 500
		r.work(time.Hour)
		require.Equal(t, "Completed", r.s.Status.String())
		require.Len(t, r.calls, wide+1)
	})
	t.Run("a cancel of many steps", func(t *testing.T) {
		r := linked(t, parallelOf(3*wide), 1000)
		r.continues()
		r.bounded(workflow.Cancel{ID: "c", Origin: workflow.OriginUser, Mode: workflow.CancelImmediate})
		require.True(t, r.s.More)
		r.continues()
		require.Equal(t, "Cancelled", r.s.Status.String())
	})
	t.Run("a long chain without workers", func(t *testing.T) {
		def := chainOf(3000)
		for i := range def.Body.Steps {
			st := &def.Body.Steps[i]
			st.Kind, st.Call, st.Value = workflow.KindValue, nil, &workflow.Template{JSON: workflow.Value("1")}
		}
		r := linked(t, def, 3)
		require.True(t, r.s.More)
		r.continues()
		require.Equal(t, "Completed", r.s.Status.String())
	})
	t.Run("many skipped steps", func(t *testing.T) {
		def := chainOf(6000)
		pick := workflow.Step{Name: "pick", Kind: workflow.KindSwitch, Join: workflow.Join{Mode: workflow.JoinAll},
			Switch: &workflow.Switch{Branches: []workflow.Branch{{When: &workflow.Expr{Source: "false"}, Then: []string{"s0"}}}}}
		def.Body.Steps[0].Picked = []string{"pick"}
		def.Body.Steps = append(def.Body.Steps, pick)
		r := linked(t, def, 3)
		require.True(t, r.s.More)
		r.continues()
		require.Equal(t, "Completed", r.s.Status.String())
	})
	t.Run("large inputs", func(t *testing.T) {
		def := parallelOf(6)
		big := make([]byte, 100<<10)
		for i := range big {
			big[i] = 'x'
		}
		for i := range def.Body.Steps {
			def.Body.Steps[i].Call.With = &workflow.Template{JSON: workflow.Value(fmt.Sprintf("%q", big))}
		}
		r := linked(t, def, 1000)
		require.True(t, r.s.More)
		r.continues()
		r.work(time.Hour)
		require.Equal(t, "Completed", r.s.Status.String())
	})
	t.Run("many items", func(t *testing.T) {
		r := begin(t, `steps: { each: { foreach: { items: '${ input.items }', steps: { a: { function: g }, b: { needs: [ a ], function: g } } } } }`, itemsOf(256))
		r.every = 50
		r.continues()
		r.work(time.Hour)
		require.Equal(t, "Completed", r.s.Status.String())
		require.Len(t, r.calls, 512)
	})
}

// TestSmallState: a long history leaves no trace in the state but that its steps have ended.
func TestSmallState(t *testing.T) {
	r := linked(t, chainOf(300), 100)
	for range 299 {
		require.True(t, r.step())
	}
	results := 0
	for i := range r.s.Root.Steps {
		if r.s.Root.Steps[i].Result != nil {
			results++
		}
	}
	require.LessOrEqual(t, results, 1, "results that nothing can read are dropped")
}

func TestLoopState(t *testing.T) {
	r := begin(t, `steps: { l: { loop: { max: 200, until: false, on_max: stop, steps: { a: { function: g, with: '${ iteration }' }, b: { needs: [ a ], value: 1 } } } } }`, "")
	r.every = 50
	for range 20 {
		require.True(t, r.step())
	}
	early := len(shown(t, r.s))
	for range 150 {
		require.True(t, r.step())
	}
	require.InDelta(t, early, len(shown(t, r.s)), 40)
	r.work(0)
	require.Equal(t, `Completed completed {"l":{"a":200,"b":1}}`, r.outcome())
}

func TestUndoIsBounded(t *testing.T) {
	r := begin(t, `
steps:
  a: { function: g, compensate: { function: u } }
  b: { needs: [ a ], function: g, compensate: { function: u }, on_error: [ { continue: '${ error.code }' } ] }
`, "")
	for len(r.s.Undo) < MaxUndo { // as after a long loop
		r.s.Undo = append(r.s.Undo, workflow.Undoable{Step: "a"})
	}
	c := command[workflow.RunActivity](t, r)
	d, err := Decide(r.p, r.s, workflow.ActivityResult{AttemptRef: c.AttemptRef}, r.env())
	require.NoError(t, err)
	require.Equal(t, `{"b":"compensate.too_many"}`, d.State.Output.JSON.String())
}

func TestCursorsAreBounded(t *testing.T) {
	x := newFold(nil, &workflow.State{})
	for i := range MaxCursors + 5 {
		x.moveCursor(workflow.EventCursor{Kind: "k", Key: fmt.Sprint(i), Number: 1})
		x.moveCursor(workflow.EventCursor{Kind: "k", Key: "0", Number: uint64(i + 1)})
	}
	require.Len(t, x.s.Cursors, MaxCursors)
	require.Equal(t, uint64(MaxCursors+5), x.cursor("k", "0", false), "taken often, remembered")
	require.Zero(t, x.cursor("k", "1", false))
	require.Equal(t, uint64(1), x.cursor("k", fmt.Sprint(MaxCursors), false))
}
