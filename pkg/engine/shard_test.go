package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// tree runs an execution with all the executions that it starts of its own definition.
type tree struct {
	t    *testing.T
	runs map[string]*run
	ends []string
	most int // bytes of the largest state
}

func newTree(t *testing.T, root *run) *tree {
	return &tree{t: t, runs: map[string]*run{"e1": root}}
}

// settle runs everything until nothing moves.
func (w *tree) settle(id string) *run {
	r := w.runs[id]
	for again := true; again; {
		again = false
		r.work(time.Hour)
		w.most = max(w.most, len(shown(w.t, r.s)))
		for _, c := range Outstanding(r.p, r.s) {
			if c, ok := c.(workflow.CancelChild); ok {
				again = w.cancel(r, c)
			}
		}
		for _, c := range Outstanding(r.p, r.s) {
			start, ok := c.(workflow.StartChild)
			if !ok {
				continue
			}
			child := w.child(r, start)
			for _, e := range Outstanding(child.p, child.s) {
				if n, ok := e.(workflow.NotifyParent); ok {
					w.ends = append(w.ends, fmt.Sprintf("%s %s", n.End.Child, n.End.Outcome))
					r.do(n.End)
					again = true
				}
			}
			if again {
				break
			}
		}
	}
	return r
}

// child starts a child, if it is not there, and runs it.
func (w *tree) child(parent *run, c workflow.StartChild) *run {
	if w.runs[c.Child] == nil {
		n := &run{t: w.t, p: parent.p, now: parent.now, tries: map[string]int{}, mocks: parent.mocks, every: 37}
		w.runs[c.Child] = n
		start := workflow.Start{
			Execution: c.Child, Tenant: c.Tenant, Workflow: c.Workflow, Definition: c.Definition, Hash: c.Hash, Input: c.Input,
			Origin: workflow.Origin{Parent: &c.Parent, Shard: c.Shard},
		}
		if c.Undo != "" {
			var err error
			start, err = Undo(w.runs[c.Undo].history, c)
			require.NoError(w.t, err)
		}
		if old := w.runs[c.Redrive]; c.Redrive != "" && old != nil {
			var err error
			start, err = RedriveShard(parent.p, old.history, c)
			require.NoError(w.t, err)
		}
		n.do(start)
	}
	return w.settle(c.Child)
}

// cancel cancels a child, which may not have been started.
func (w *tree) cancel(parent *run, c workflow.CancelChild) bool {
	n := w.runs[c.Child]
	if n != nil && n.s.Status.Terminal() && parent.s.Status.Terminal() {
		return false // its notice was given
	}
	if n == nil {
		n = &run{t: w.t, p: parent.p, now: parent.now, tries: map[string]int{}, mocks: parent.mocks, every: 37}
		w.runs[c.Child] = n
	}
	start := workflow.Start{Execution: c.Child, Tenant: c.Start.Tenant, Workflow: c.Start.Workflow, Origin: workflow.Origin{Parent: &c.Start.Parent}}
	n.do(workflow.Cancel{Origin: c.Origin, Mode: c.Mode, Start: &start})
	parent.do(command[workflow.NotifyParent](w.t, n).End)
	return true
}

func itemsOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ",%d", i)
	}
	return `{"items":[` + b.String()[1:] + `],"k":2}`
}

func TestShards(t *testing.T) {
	r := begin(t, `
vars: { sum: 0 }
steps:
  a: { function: g, with: 10 }
  outer:
    foreach:
      items: [ 7 ]
      as: y
      collect: steps.each.output
      steps:
        each:
          foreach:
            items: '${ input.items }'
            as: x
            collect: steps.sq.output
            steps:
              sq: { function: g, with: '${ x * input.k + y + steps.a.output + index }' }
              add: { needs: [ sq ], set: { sum: { value: 1, reduce: sum } } }
  end: { needs: [ outer ], value: '${ [dyn(vars.sum), dyn(steps.outer.output[0]).count, dyn(steps.outer.output[0]).failed, dyn(steps.outer.output[0]).ref] }' }
`, itemsOf(300))
	w := newTree(t, r)
	w.settle("e1")
	require.Equal(t, `Completed completed {"end":[300,300,0,"e1/outer/0/each/shard-0..1"]}`, r.outcome(), r.story())
	require.Equal(t, []string{"e1/outer/0/each/shard-0 completed", "e1/outer/0/each/shard-1 completed"}, w.ends)
	second := w.runs["e1/outer/0/each/shard-1"]
	require.True(t, strings.HasPrefix(second.s.Output.JSON.String(), "[467,470,473"), second.s.Output.JSON.String())
	require.Equal(t, "outer/0/each/150/sq", second.calls[0])
}

func TestShardsFailAndAreUndone(t *testing.T) {
	r := begin(t, `
on_failure: compensate
steps:
  each: { foreach: { items: '${ input.items }', tolerate_failures: 1, steps: { a: { function: f, with: '${ item }', retry: { attempts: 1 }, compensate: { function: u, with: '${ output + item }' } } } } }
`, itemsOf(520))
	r.mocks["f"] = func(c workflow.RunActivity) workflow.ActivityResult {
		if n := c.Input.JSON.String(); n == "3" || n == "200" {
			return workflow.ActivityResult{Error: workflow.Errorf("f.down", workflow.CategoryActivity, "")}
		}
		return workflow.ActivityResult{Output: c.Input}
	}
	w := newTree(t, r)
	w.settle("e1")
	for _, k := range []string{"0", "1"} {
		require.NotContains(t, w.runs["e1/each/shard-"+k].story(), "CompensationStarted", "a shard leaves that to its parent")
	}
	require.Equal(t, "Completed failed compensated foreach.failed", r.outcome(), r.story())
	require.Equal(t, "e1/each/shard-0 completed", w.ends[0])
	undo := w.runs["e1/each/shard-0!undo"]
	require.NotNil(t, undo)
	require.Equal(t, "each/172/a!undo", undo.calls[0], "in reverse")
	require.Len(t, undo.calls, 172)
}

func TestShardsOfShards(t *testing.T) {
	n := 256*256 + 10
	p := compile(t, `steps: { each: { foreach: { items: '${ input.items }', max_parallelism: 600, steps: { a: { function: g, with: '${ index }' } } } } }`)
	list := workflow.Payload{JSON: workflow.Value(`{"items":null}`), Holes: []workflow.Hole{{At: "/items", Ref: &workflow.Ref{Hash: "x", Size: 1 << 20, Known: workflow.Value(fmt.Sprintf(`{"size":{"":["list",%d]}}`, n))}}}}
	d, err := Decide(p, nil, workflow.Start{Execution: "e1", Tenant: "acme", Workflow: "test", Input: list}, Env{Now: epoch})
	require.NoError(t, err)
	starts := 0
	var shard workflow.StartChild
	for _, c := range d.Commands {
		if s, ok := c.(workflow.StartChild); ok {
			starts++
			shard = s
		}
	}
	require.Equal(t, 3, starts, "600 at once are 3 shards of 200 at once")
	require.Equal(t, 200, shard.Shard.Parallel)
	require.Equal(t, 256, shard.Shard.Count)
	require.Less(t, len(shown(t, d.State)), 64<<10)
	d, err = Decide(p, nil, workflow.Start{Execution: shard.Child, Tenant: "acme", Workflow: "test", Input: list, Origin: workflow.Origin{Parent: &shard.Parent, Shard: shard.Shard}}, Env{Now: epoch})
	require.NoError(t, err)
	require.Equal(t, "Running", d.State.Status.String())
	run := d.Commands[0].(workflow.RunActivity)
	require.Equal(t, fmt.Sprintf("each/%d/a", shard.Shard.From), run.Step)

	list.Holes[0].Ref.Known = workflow.Value(`{"size":{"":["list",1000000]}}`)
	d, err = Decide(p, nil, workflow.Start{Execution: "e2", Tenant: "acme", Workflow: "test", Input: list}, Env{Now: epoch})
	require.NoError(t, err)
	shard = d.Commands[0].(workflow.StartChild)
	require.Equal(t, 3906, shard.Shard.Count)
	d, err = Decide(p, nil, workflow.Start{Execution: shard.Child, Tenant: "acme", Workflow: "test", Input: list, Origin: workflow.Origin{Parent: &shard.Parent, Shard: shard.Shard}}, Env{Now: epoch})
	require.NoError(t, err)
	inner := d.Commands[0].(workflow.StartChild)
	require.Equal(t, "e2/each/shard-0/each/shard-0", inner.Child)
	require.Equal(t, 244, inner.Shard.Count)
	require.Less(t, len(shown(t, d.State)), 64<<10)
}

func TestItemsByReference(t *testing.T) {
	p := compile(t, `steps: { each: { foreach: { items: '${ input.items }', as: x, steps: { a: { function: g, with: '${ x }' } } } } }`)
	list := workflow.Payload{JSON: workflow.Value(`{"items":null}`), Holes: []workflow.Hole{{At: "/items", Ref: &workflow.Ref{Hash: "x", Size: 1 << 20, Known: workflow.Value(`{"size":{"":["list",2]}}`)}}}}
	d, err := Decide(p, nil, workflow.Start{Execution: "e1", Tenant: "acme", Workflow: "test", Input: list}, Env{Now: epoch})
	require.NoError(t, err)
	require.Len(t, d.Commands, 2)
	require.Equal(t, []string{"1"}, d.Commands[1].(workflow.RunActivity).Input.Holes[0].Ref.Path)
}

func TestManifestIsNoList(t *testing.T) {
	r := begin(t, `
steps:
  each: { foreach: { items: '${ input.items }', steps: { a: { value: 1 } } } }
  size: { value: '${ size(steps.each.output) }', on_error: [ { continue: '${ error.code }' } ] }
  pass: { function: g, with: { m: '${ steps.each.output }' } }
`, itemsOf(300))
	w := newTree(t, r)
	w.settle("e1")
	require.Equal(t, "Completed", r.s.Status.String(), r.story())
	require.Contains(t, r.s.Output.JSON.String(), `"size":"payload.too_large"`)
	for _, e := range r.history {
		if s, ok := e.Event.(workflow.ActivityScheduled); ok && s.Step == "pass" {
			v, ok := s.Input.Holes[0].Ref.Inline()
			require.True(t, ok)
			require.Equal(t, `{"count":300,"failed":0,"ref":"e1/each/shard-0..1"}`, v.String())
		}
	}
}

func TestShardsAreRedriven(t *testing.T) {
	r := begin(t, `
vars: { sum: 0 }
steps:
  each:
    foreach:
      items: '${ input.items }'
      steps:
        add: { set: { sum: { value: 1, reduce: sum } } }
        a: { needs: [ add ], function: f, with: '${ item }', retry: { attempts: 1 } }
  end: { needs: [ each ], value: '${ vars.sum }' }
`, itemsOf(520))
	broken := true
	r.mocks["f"] = func(c workflow.RunActivity) workflow.ActivityResult {
		if broken && c.Input.JSON.String() == "300" {
			return workflow.ActivityResult{Error: workflow.Errorf("f.down", workflow.CategoryActivity, "")}
		}
		return workflow.ActivityResult{Output: c.Input}
	}
	w := newTree(t, r)
	w.settle("e1")
	require.Equal(t, "Failed failed f.down", r.outcome(), r.story())
	broken = false

	start, err := Redrive(r.p, r.history, RedriveOptions{Execution: "e2"})
	require.NoError(t, err)
	n := &run{t: t, p: r.p, now: r.now, every: 7, tries: map[string]int{}, mocks: r.mocks}
	n.do(start)
	w.runs["e2"] = n
	w.settle("e2")
	require.Equal(t, `Completed completed {"end":520}`, n.outcome(), n.story())
	require.Empty(t, w.runs["e2/each/shard-0"].calls, "it had completed")
	second := w.runs["e2/each/shard-1"]
	require.Equal(t, "each/300/a", second.calls[0])
	require.Len(t, second.calls, 346-300, "what came after the failure was cancelled")
	require.Len(t, w.runs["e2/each/shard-2"].calls, 520-346, "it had not been started")
}
