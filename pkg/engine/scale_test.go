package engine_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
	"github.com/wovyr/wovyr/pkg/workflow/codec"
)

// value256 is a usual value of 256 bytes.
var value256 = workflow.Value(`{"text":"` + strings.Repeat("x", 256-len(`{"text":""}`)) + `"}`)

// chain is a definition of n steps in a row, each with the output of the one before as its input.
func chain(n int) *workflow.Definition {
	def := &workflow.Definition{Format: workflow.FormatV1, Name: "chain", OnFailure: workflow.OnFailureFail}
	for i := range n {
		st := workflow.Step{
			Name: fmt.Sprintf("step_%05d", i), Kind: workflow.KindFunction, Join: workflow.Join{Mode: workflow.JoinAll},
			Call: &workflow.Call{Name: "orders.work", Target: &workflow.Template{JSON: workflow.Value(`"orders.work"`)}},
		}
		if i > 0 {
			before := fmt.Sprintf("step_%05d", i-1)
			st.Needs = []workflow.Need{{Step: before, End: workflow.EndMet}}
			st.Call.With = &workflow.Template{JSON: workflow.Value(`{"before":"${ steps.` + before + `.output }"}`)}
		}
		def.Body.Steps = append(def.Body.Steps, st)
	}
	def.Body.Last = []string{fmt.Sprintf("step_%05d", n-1)}
	return def
}

// each is a definition of one foreach over `input.list`.
func each() *workflow.Definition {
	return &workflow.Definition{
		Format: workflow.FormatV1, Name: "each", OnFailure: workflow.OnFailureFail,
		Body: workflow.Body{Last: []string{"each"}, Steps: []workflow.Step{{
			Name: "each", Kind: workflow.KindForeach, Join: workflow.Join{Mode: workflow.JoinAll},
			Foreach: &workflow.Foreach{
				Items: &workflow.Template{JSON: workflow.Value(`"${ input.list }"`)}, As: "item",
				Body: workflow.Body{Last: []string{"work"}, Steps: []workflow.Step{{
					Name: "work", Kind: workflow.KindFunction, Join: workflow.Join{Mode: workflow.JoinAll},
					Call: &workflow.Call{Name: "work", Target: &workflow.Template{JSON: workflow.Value(`"work"`)}, With: &workflow.Template{JSON: workflow.Value(`{"item":"${ item }"}`)}},
				}}},
			},
		}}},
	}
}

// load runs executions as a shell would: what is outstanding is done, well and at once.
type load struct {
	p      *engine.Program
	s      *workflow.State
	id     string
	env    engine.Env
	steps  int    // results handed in
	events uint64 // so far
	last   engine.Decision
}

func newLoad(tb testing.TB, def *workflow.Definition, start workflow.Start) *load {
	p, err := engine.Link(def)
	require.NoError(tb, err)
	l := &load{p: p, id: start.Execution, env: engine.Env{Now: storyStart, Worker: "w1", By: "message-1"}}
	l.do(tb, start)
	return l
}

func startOfLoad(id string, input workflow.Payload) workflow.Start {
	return workflow.Start{Execution: id, Tenant: "acme", Workflow: "load", Definition: "1", Hash: "h", Input: input}
}

func (l *load) do(tb testing.TB, in workflow.Input) {
	d, err := engine.Decide(l.p, l.s, in, l.env)
	if err != nil {
		tb.Fatal(err)
	}
	l.s, l.last = d.State, d
	l.events += uint64(len(d.Events))
	for d.More {
		if d, err = engine.Decide(l.p, l.s, workflow.Continue{}, l.env); err != nil {
			tb.Fatal(err)
		}
		l.s, l.events = d.State, l.events+uint64(len(d.Events))
		l.last.Commands = append(l.last.Commands, d.Commands...)
	}
}

// step hands in the result of the attempt that was scheduled last.
func (l *load) step(tb testing.TB) bool {
	for _, c := range l.last.Commands {
		if c, ok := c.(workflow.RunActivity); ok {
			l.steps++
			l.do(tb, workflow.ActivityResult{AttemptRef: c.AttemptRef, Worker: "w1", StartedAt: storyStart, Output: workflow.Inline(value256)})
			return true
		}
	}
	return false
}

// weigh encodes the last decision as a commit and returns its bytes.
func (l *load) weigh(tb testing.TB) int {
	b := &codec.Batch{At: storyStart, Workflow: "load", Correlation: "c", Worker: "w1", Causes: []string{"message-1"}}
	for _, e := range l.last.Events {
		b.Events = append(b.Events, e.Event)
	}
	data, err := codec.CBOR{}.Encode(b)
	require.NoError(tb, err)
	return len(data)
}

func stateBytes(tb testing.TB, s *workflow.State) int {
	data, err := encodeState(s)
	require.NoError(tb, err)
	return len(data)
}

// cost is what one step costs: bytes of its commit, allocations and allocated bytes of its decision.
type cost struct{ commit, allocs, allocated float64 }

// measure hands in n results and returns what one of them costs.
func measure(tb testing.TB, n int, step func() int) cost {
	var before, after runtime.MemStats
	var c cost
	runtime.ReadMemStats(&before)
	for range n {
		c.commit += float64(step())
	}
	runtime.ReadMemStats(&after)
	c.commit /= float64(n)
	c.allocs = float64(after.Mallocs-before.Mallocs) / float64(n)
	c.allocated = float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
	return c
}

func requireTwice(t *testing.T, small, large cost) {
	t.Logf("small %+v, large %+v", small, large)
	require.LessOrEqual(t, large.commit, 2*small.commit, "bytes of a commit")
	require.LessOrEqual(t, large.allocs, 2*small.allocs, "allocations of a decision")
	require.LessOrEqual(t, large.allocated, 2*small.allocated, "allocated bytes of a decision")
}

// TestChainCostsTheSame: a step of a chain of 10,000 costs at most twice what one of 100 costs, and the state of a long chain holds
// no results but those that are still to be read.
func TestChainCostsTheSame(t *testing.T) {
	run := func(n int) (cost, int) {
		l := newLoad(t, chain(n), startOfLoad("ex", workflow.Payload{}))
		for range n / 2 {
			require.True(t, l.step(t))
		}
		c := measure(t, 40, func() int { l.step(t); return l.weigh(t) })
		for l.step(t) {
		}
		require.Equal(t, "Completed", l.s.Status.String())
		require.Equal(t, n, l.steps)
		return c, stateBytes(t, l.s)
	}
	small, _ := run(100)
	large, end := run(10_000)
	requireTwice(t, small, large)
	require.LessOrEqual(t, large.commit, 1024.0, "a commit of a usual step fits one write unit")
	require.Less(t, end, 2048, "what has ended is small")
}

// TestWideForeachCostsTheSame: an item of a foreach of 10,000 costs at most twice what one of 100 costs. Above 256 items they are
// spread over shards: there, the cost of an item is that in its shard, and that of the shard in its parent by its items.
func TestWideForeachCostsTheSame(t *testing.T) {
	inline := newLoad(t, each(), startOfLoad("ex", list(100)))
	small := measure(t, 40, itemStep(t, inline))

	wide := newLoad(t, each(), startOfLoad("ex", list(10_000)))
	shards := childrenOf(wide.last)
	require.Len(t, shards, 40)
	shard := newLoad(t, each(), startOfChild(shards[3]))
	inner := measure(t, 40, itemStep(t, shard))
	requireTwice(t, small, inner)

	items := 0
	outer := measure(t, 38, func() int {
		c := shards[0]
		shards = shards[1:]
		items += c.Shard.Count
		wide.do(t, workflow.ChildEnd{Step: c.Step, Child: c.Child, Outcome: workflow.OutcomeCompleted, Count: c.Shard.Count})
		return wide.weigh(t)
	})
	perItem := float64(items) / 38
	requireTwice(t, small, cost{
		commit: inner.commit + outer.commit/perItem, allocs: inner.allocs + outer.allocs/perItem, allocated: inner.allocated + outer.allocated/perItem,
	})
}

// list is an input {"list": […]} of n numbers.
func list(n int) workflow.Payload {
	v, err := expr.Marshal(map[string]any{"list": numbers(n)})
	if err != nil {
		panic(err)
	}
	return workflow.Inline(v)
}

func numbers(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// itemStep hands in the results of one item after the other.
func itemStep(t *testing.T, l *load) func() int {
	var next []workflow.RunActivity
	for _, c := range l.last.Commands {
		if c, ok := c.(workflow.RunActivity); ok {
			next = append(next, c)
		}
	}
	return func() int {
		c := next[0]
		next = next[1:]
		l.do(t, workflow.ActivityResult{AttemptRef: c.AttemptRef, Worker: "w1", StartedAt: storyStart, Output: workflow.Inline(value256)})
		return l.weigh(t)
	}
}

func childrenOf(d engine.Decision) []workflow.StartChild {
	var out []workflow.StartChild
	for _, c := range d.Commands {
		if c, ok := c.(workflow.StartChild); ok {
			out = append(out, c)
		}
	}
	return out
}

// TestAMillionItems: no state grows with the items. The list is kept by reference; 256 shards each spread theirs again; the
// executions on each level stay small, and so do their decisions.
func TestAMillionItems(t *testing.T) {
	top := map[int]int{}
	for _, n := range []int{100_000, 1_000_000} {
		l := newLoad(t, each(), startOfLoad("ex", bigList(t, n)))
		require.Len(t, childrenOf(l.last), 256)
		largest := 0
		for i, c := range childrenOf(l.last) {
			require.Empty(t, c.Shard.Items, "the items stay outside")
			if i%100 == 0 {
				largest = max(largest, runShard(t, c))
			}
			l.do(t, workflow.ChildEnd{Step: c.Step, Child: c.Child, Outcome: workflow.OutcomeCompleted, Count: c.Shard.Count})
			top[n] = max(top[n], stateBytes(t, l.s))
		}
		require.Equal(t, "Completed", l.s.Status.String())
		manifest, _ := l.s.Output.Holes[0].Ref.Inline()
		require.Contains(t, manifest.String(), fmt.Sprintf(`"count":%d`, n))
		require.Less(t, largest, 200<<10, "a shard's state fits one commit")
	}
	t.Logf("bytes of the parent's state by items: %v", top)
	require.Less(t, top[1_000_000], 16<<10)
	require.LessOrEqual(t, top[1_000_000], top[100_000]+1024)
}

// bigList is an input whose list is in the payload store: the history has its size alone.
func bigList(t *testing.T, n int) workflow.Payload {
	v, err := expr.Marshal(numbers(n))
	require.NoError(t, err)
	known, err := expr.KnownParts(v, []workflow.Use{{Path: []string{}, Pass: true, Size: true}}, 1<<15)
	require.NoError(t, err)
	return workflow.Payload{JSON: workflow.Value(`{"list":null}`), Holes: []workflow.Hole{{At: "/list", Ref: &workflow.Ref{Hash: "abc", Size: int64(len(v)), Known: known}}}}
}

// runShard runs a shard and, if it spreads its items again, the first of its own; it returns the bytes of the largest state.
func runShard(t *testing.T, c workflow.StartChild) int {
	l := newLoad(t, each(), startOfChild(c))
	largest := stateBytes(t, l.s)
	if inner := childrenOf(l.last); len(inner) > 0 {
		largest = max(largest, runShard(t, inner[0]))
		for _, s := range inner {
			l.do(t, workflow.ChildEnd{Step: s.Step, Child: s.Child, Outcome: workflow.OutcomeCompleted, Count: s.Shard.Count})
			largest = max(largest, stateBytes(t, l.s))
		}
	} else {
		require.LessOrEqual(t, c.Shard.Count, engine.MaxInline)
		for step := itemStep(t, l); !l.s.Status.Terminal(); {
			step()
			largest = max(largest, stateBytes(t, l.s))
		}
	}
	require.Equal(t, "Completed", l.s.Status.String(), "%s", c.Child)
	return largest
}
