package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// family runs an execution with all that descend from it, each input in any order.
type family struct {
	t        require.TestingT
	programs map[string]*Program
	members  map[string]*member
	todo     []errand
}

type member struct {
	s      *workflow.State
	parent *member
	depth  int
}

type errand struct {
	to    string
	input workflow.Input
}

// newFamily compiles the workflows, and starts the first with a share of its own.
func newFamily(t *testing.T, rt require.TestingT, share uint64, documents map[string]string) *family {
	f := &family{t: rt, programs: map[string]*Program{}, members: map[string]*member{}}
	for name, doc := range documents {
		f.programs[name] = compile(t, doc)
	}
	f.start(workflow.Start{Execution: "e", Tenant: "acme", Workflow: "first", Input: workflow.Inline(workflow.Value("{}")),
		Origin: workflow.Origin{Parent: &workflow.Parent{Execution: "above", Step: "s", Child: "e", Share: share}}})
	return f
}

func (f *family) start(in workflow.Start) { f.todo = append(f.todo, errand{in.Execution, in}) }

// step takes one of the inputs that wait; false if there is none.
func (f *family) step(pick func(n int) int) bool {
	if len(f.todo) == 0 {
		return false
	}
	i := pick(len(f.todo))
	e := f.todo[i]
	f.todo = append(f.todo[:i], f.todo[i+1:]...)
	m := f.members[e.to]
	if m == nil {
		origin := originOf(e.input)
		if origin.Parent == nil {
			return true
		}
		m = &member{parent: f.members[origin.Parent.Execution]}
		if m.parent != nil {
			m.depth = m.parent.depth + 1
		}
		f.members[e.to] = m
	} else if _, again := e.input.(workflow.Start); again {
		return true
	}
	f.decide(m, e.input)
	return true
}

func originOf(in workflow.Input) workflow.Origin {
	switch in := in.(type) {
	case workflow.Start:
		return in.Origin
	case workflow.Cancel:
		return in.Start.Origin
	}
	return workflow.Origin{}
}

func (f *family) decide(m *member, in workflow.Input) {
	name := ""
	switch in := in.(type) {
	case workflow.Start:
		name = in.Workflow
	case workflow.Cancel:
		name = in.Start.Workflow
	}
	if m.s != nil {
		name = m.s.Workflow
	}
	d, err := Decide(f.programs[name], m.s, in, Env{Now: epoch, Worker: "w1"})
	require.NoError(f.t, err)
	m.s = d.State
	for _, c := range d.Commands {
		switch c := c.(type) {
		case workflow.StartChild:
			f.start(startOf(c))
			if c.Notify {
				f.todo = append(f.todo, errand{c.Parent.Execution, workflow.ChildBegun{Step: c.Step, Child: c.Child}})
			}
		case workflow.CancelChild:
			s := startOf(c.Start)
			f.todo = append(f.todo, errand{c.Child, workflow.Cancel{ID: "c", Origin: c.Origin, Mode: c.Mode, Start: &s}})
		case workflow.NotifyParent:
			if f.members[c.Parent.Execution] != nil {
				f.todo = append(f.todo, errand{c.Parent.Execution, c.End})
			}
		case workflow.SendContinue:
			f.todo = append(f.todo, errand{m.s.Execution, workflow.Continue{}})
		}
	}
}

func startOf(c workflow.StartChild) workflow.Start {
	return workflow.Start{Execution: c.Child, Tenant: c.Tenant, Workflow: c.Workflow, Input: c.Input, Origin: workflow.Origin{Parent: &c.Parent, Shard: c.Shard}}
}

// widest is how many members are open at one depth at most, whose ancestors are open too.
func (f *family) widest() int {
	count, most := map[int]int{}, 0
	for _, m := range f.members { // order-free: it counts
		open := true
		for at := m; at != nil && open; at = at.parent {
			open = at.s != nil && !at.s.Status.Terminal()
		}
		if open {
			count[m.depth]++
			most = max(most, count[m.depth])
		}
	}
	return most
}

// breeding draws a workflow that starts itself and another one, in all ways in which that can be written.
func breeding(t *rapid.T) string {
	var b strings.Builder
	b.WriteString("steps:\n")
	n := rapid.IntRange(1, 4).Draw(t, "steps")
	for i := range n {
		child := fmt.Sprintf("workflow: { name: %s", rapid.SampledFrom([]string{"first", "second"}).Draw(t, "name"))
		if rapid.IntRange(0, 3).Draw(t, "alone") == 0 {
			child += ", wait: false, on_parent_close: " + rapid.SampledFrom([]string{"cancel", "abandon"}).Draw(t, "close")
		}
		child += " }, on_error: [ { continue: '${ error.code }' } ]"
		need := ""
		if i > 0 && rapid.Bool().Draw(t, "needs") {
			need = fmt.Sprintf("needs: [ s%d ], ", i-1)
		}
		switch rapid.IntRange(0, 4).Draw(t, "shape") {
		case 0:
			fmt.Fprintf(&b, "  s%d: { %sforeach: { items: '${ range(%d) }', as: it, max_parallelism: %d, steps: { c: { %s } } } }\n",
				i, need, rapid.IntRange(1, 6).Draw(t, "items"), rapid.IntRange(1, 6).Draw(t, "parallel"), child)
		case 1:
			fmt.Fprintf(&b, "  s%d: { %sloop: { max: 3, on_max: stop, until: false, steps: { c: { %s } } } }\n", i, need, child)
		case 2: // of which one is cancelled
			fmt.Fprintf(&b, "  s%d: { %srace: { l: { steps: { c: { %s } } }, r: { steps: { c: { %s } } } } }\n", i, need, child, child)
		default:
			fmt.Fprintf(&b, "  s%d: { %s%s }\n", i, need, child)
		}
	}
	return b.String()
}

// TestFamilyIsBounded: whatever starts itself how often and in whatever order, no more is open at one depth than the share of the first
// allows.
func TestFamilyIsBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		share := rapid.Uint64Range(1, 60).Draw(rt, "share")
		f := newFamily(t, rt, share, map[string]string{"first": breeding(rt), "second": breeding(rt)})
		pick := rapid.SampledFrom([]func(int) int{
			func(int) int { return 0 },       // breadth first: as many at once as there can be
			func(n int) int { return n - 1 }, // depth first
			func(n int) int { return n / 2 },
		}).Draw(rt, "order")
		for i := 0; i < 4000 && f.step(pick); i++ {
			if i%8 == 0 {
				require.LessOrEqual(rt, f.widest(), int(share))
				f.checkShares()
			}
		}
		f.checkShares()
	})
}

// checkShares: nobody has lent more than he has, and what the open children have is noted as lent. The bound follows from these two.
func (f *family) checkShares() {
	has := map[*member]uint64{}
	for _, m := range f.members { // order-free: it adds up
		if m.s == nil || m.s.Status.Terminal() {
			continue
		}
		own := (&fold{s: m.s}).share()
		require.LessOrEqual(f.t, m.s.Lent.Share, own)
		require.Equal(f.t, m.s.Lent.Children == 0, m.s.Lent.Share == 0)
		require.NotZero(f.t, own)
		if m.parent != nil {
			has[m.parent] += own
		}
	}
	for m, sum := range has { // order-free: each by itself
		if !m.s.Status.Terminal() {
			require.LessOrEqual(f.t, sum, m.s.Lent.Share)
		}
	}
}

// TestWhatFamiliesMayDo: what people write on purpose is far from the bound, and what runs away meets it.
func TestWhatFamiliesMayDo(t *testing.T) {
	wide := func(name string) string {
		return "steps: { each: { foreach: { items: '${ range(256) }', as: it, steps: { c: { workflow: { name: " + name + " } } } } } }"
	}
	least := func(m *member) (poorest workflow.StartChild) {
		for _, c := range Outstanding(compile(t, wide("x")), m.s) {
			if c, ok := c.(workflow.StartChild); ok && (poorest.Child == "" || c.Parent.Share < poorest.Parent.Share) {
				poorest = c
			}
		}
		return poorest
	}
	descend := func(next func(level int) string) (levels int, end *workflow.Error) {
		f := &family{t: t, programs: map[string]*Program{}, members: map[string]*member{}}
		at := workflow.Start{Execution: "e", Tenant: "acme", Workflow: next(0), Input: workflow.Inline(workflow.Value("{}"))}
		for ; ; levels++ {
			f.programs[at.Workflow] = compile(t, wide(next(levels+1)))
			m := &member{}
			f.decide(m, at)
			for m.s.More {
				f.decide(m, workflow.Continue{})
			}
			c := least(m)
			if c.Child == "" {
				return levels, m.s.Error
			}
			c.Workflow = next(levels + 1)
			at = startOf(c)
		}
	}
	levels, err := descend(func(level int) string { return fmt.Sprintf("w%d", level) })
	require.GreaterOrEqual(t, levels, 5, "256 children of each of 256 of each of 256 …: %d executions to the power of %d", 256, levels)
	require.Equal(t, "children.family", err.Code)
	levels, err = descend(func(int) string { return "itself" })
	require.Equal(t, 2, levels, "256 of itself, 256 of each of these: 65,536, and no more")
	require.Equal(t, "children.family", err.Code)
	require.Contains(t, err.Message, "workflow itself starts itself")
	levels, err = descend(func(level int) string { return []string{"ping", "pong"}[level%2] })
	require.Equal(t, 3, levels, "in a circle likewise")
	require.Equal(t, "children.family", err.Code)
}

// TestShardsLiveOnShares: a foreach that is spread over executions lends to them like to children, and gets it back.
func TestShardsLiveOnShares(t *testing.T) {
	const doc = "steps: { each: { foreach: { items: '${ range(600) }', as: it, steps: { c: { value: '${ it }' } } } } }"
	run := func(share uint64) *workflow.State {
		f := newFamily(t, t, share, map[string]string{"first": doc})
		most := 0
		for f.step(func(int) int { return 0 }) {
			f.checkShares()
			most = max(most, len(f.members))
		}
		if share > 100 {
			require.Equal(t, 4, most, "the execution and its three shards")
		}
		return f.members["e"].s
	}
	s := run(1000)
	require.Equal(t, "Completed", s.Status.String())
	require.Zero(t, s.Lent)
	s = run(2)
	require.Equal(t, "Failed", s.Status.String())
	require.Equal(t, "children.family", s.Error.Code)
}
