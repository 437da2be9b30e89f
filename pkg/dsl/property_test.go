package dsl

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// What analysis finds is held against a naive reading of the same steps: it refuses cycles and only cycles, and each that
// it shows is one.
func TestRandomCycles(t *testing.T) {
	refused := 0
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, nil, 0)
		def, found := Compile("test.yaml", m.document())
		shown := 0
		for _, d := range found {
			if d.Severity == SeverityWarning {
				continue
			}
			require.Equal(t, "dsl/cycle", d.Code, "%s\n%s", d, m.document())
			if path := cyclePath.FindStringSubmatch(d.Message); path != nil {
				shown++
				requireCycle(t, m, cycleNames.Split(path[1], -1))
			}
		}
		require.Equal(t, m.anyCyclic(), def == nil, "%v\n%s", found, m.document())
		if def == nil {
			refused++
			return
		}
		require.Zero(t, shown)
		requireNeeds(t, m, &def.Body)
	})
	require.NotZero(t, refused)
}

// requireCycle: in one of the bodies, each step of the path waits for the next.
func requireCycle(t *rapid.T, m model, path []string) {
	require.Equal(t, path[0], path[len(path)-1])
	if slices.Contains(path, "…") {
		return
	}
	require.True(t, slices.ContainsFunc(m.bodies(), func(b model) bool {
		waits := b.waits()
		for i := 1; i < len(path); i++ {
			if !waits[path[i-1]][path[i]] {
				return false
			}
		}
		return true
	}), "%v\n%s", path, m.document())
}

// requireNeeds: declared needs are as declared, what is read is needed, nothing else is.
func requireNeeds(t *rapid.T, m model, b *workflow.Body) {
	local := func(name string) bool {
		return slices.ContainsFunc(m, func(s *modelStep) bool { return s.name == name })
	}
	for i, s := range m {
		st := &b.Steps[i]
		require.Equal(t, s.name, st.Name)
		want := map[string]workflow.Need{}
		for _, name := range s.outerReads() {
			if local(name) {
				want[name] = workflow.Need{Step: name, End: workflow.EndMet, Implied: true}
			}
		}
		for _, n := range s.needs {
			want[n.Step] = n
		}
		require.Len(t, st.Needs, len(want))
		require.True(t, slices.IsSortedFunc(st.Needs, func(x, y workflow.Need) int { return strings.Compare(x.Step, y.Step) }))
		for _, n := range st.Needs {
			require.Equal(t, want[n.Step], n)
		}
		if inner := innerBodies(st); len(inner) > 0 {
			requireNeeds(t, s.body, inner[0])
		}
	}
}

// form prints a definition without places, its steps sorted by name.
func form(b *workflow.Body, indent string) string {
	lines := strings.Split(strings.TrimSuffix(outlined(&workflow.Body{}, ""), "\n"), "\n")[:0]
	for i := range b.Steps {
		one := workflow.Body{Steps: b.Steps[i : i+1]}
		head, _, _ := strings.Cut(outlined(&one, indent), "\n")
		for _, inner := range innerBodies(&b.Steps[i]) {
			head += "\n" + form(inner, indent+"  ")
		}
		lines = append(lines, head)
	}
	slices.Sort(lines)
	last := slices.Clone(b.Last)
	slices.Sort(last)
	return strings.Join(append(lines, fmt.Sprintf("%slast %v", indent, last)), "\n")
}

// The order of the document decides nothing but the order of what is found.
func TestOrderOfSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, nil, 0)
		drawTouches(t, m)
		def, found := Compile("test.yaml", m.document())
		other := m.shuffled(t)
		def2, found2 := Compile("test.yaml", other.document())
		require.Equal(t, findings(found), findings(found2), "%s\n%s", m.document(), other.document())
		if def != nil {
			require.Equal(t, form(&def.Body, ""), form(&def2.Body, ""))
			require.Equal(t, usesByName(def), usesByName(def2))
		}
	})
}

// drawTouches lets some steps read and write a variable.
func drawTouches(t *rapid.T, m model) {
	for _, s := range m {
		s.write = s.kind == "function" && rapid.IntRange(0, 2).Draw(t, "write") == 0
		s.look = rapid.IntRange(0, 3).Draw(t, "look") == 0
		drawTouches(t, s.body)
	}
}

func findings(list []Diagnostic) []string {
	var all []string
	for _, d := range list {
		all = append(all, d.Code+" "+shownPlace.ReplaceAllString(d.Message, "")+" "+d.Suggestion)
	}
	slices.Sort(all)
	return all
}

func usesByName(def *workflow.Definition) []string {
	lines := strings.Split(used(def), "\n")
	slices.Sort(lines)
	return lines
}

// Other names make no other structure.
func TestNamesOfSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, nil, 0)
		drawTouches(t, m)
		names, back := map[string]string{}, map[string]string{}
		for i, to := range rapid.Permutation(modelNames).Draw(t, "new names") {
			to = "x_" + to
			names[modelNames[i]], back[to] = to, modelNames[i]
		}
		def, found := Compile("test.yaml", m.document())
		def2, found2 := Compile("test.yaml", m.named(names).document())
		require.Equal(t, def == nil, def2 == nil, "%v\n%v\n%s", found, found2, m.document())
		if def == nil {
			return
		}
		renamed := outlined(&def2.Body, "")
		for to, from := range back {
			renamed = strings.ReplaceAll(renamed, to, from)
		}
		require.Equal(t, sortedNeeds(outlined(&def.Body, "")), sortedNeeds(renamed))
	})
}

// sortedNeeds puts the names in each line in order, for needs are sorted by name.
func sortedNeeds(outline string) []string {
	lines := strings.Split(outline, "\n")
	for i, line := range lines {
		head, rest, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		words := strings.Fields(strings.ReplaceAll(rest, ",", ""))
		slices.Sort(words)
		lines[i] = head + ":" + strings.Join(words, " ")
	}
	return lines
}
