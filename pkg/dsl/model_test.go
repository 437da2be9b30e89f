package dsl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// model is a random body of steps, from which documents are made: the same steps in another order or under other names.
type model []*modelStep

type modelStep struct {
	name  string
	kind  string // function, switch, group, loop, foreach
	needs []workflow.Need
	join  string   // "" or any
	reads []string // names of steps that its condition reads
	picks [][]string
	catch [][]string
	write bool // sets vars.v
	look  bool // reads vars.v
	body  model
}

// modelNames are the names in use; bodies use them again, so that names hide each other.
var modelNames = strings.Split("abcdefgh", "")

// drawModel draws a body of a few steps. Edges mostly lead from earlier to later steps; outer are the names around it.
func drawModel(t *rapid.T, outer []string, depth int) model {
	n := rapid.IntRange(1, 6).Draw(t, "steps")
	names := rapid.Permutation(modelNames).Draw(t, "names")[:n]
	m := make(model, n)
	for i := range m {
		m[i] = drawStep(t, names, i, outer, depth, 15)
	}
	return m
}

// drawStep draws one step; picking is how many of a hundred steps pick others, and how many are caught.
func drawStep(t *rapid.T, names []string, i int, outer []string, depth, picking int) *modelStep {
	s := &modelStep{name: names[i], kind: "function"}
	earlier := names[:i]
	if rapid.IntRange(0, 19).Draw(t, "backwards") == 0 {
		earlier = names
	}
	for _, name := range subset(t, earlier, 25) {
		end := rapid.SampledFrom([]workflow.End{workflow.EndMet, workflow.EndMet, workflow.EndMet, workflow.EndFailed, workflow.EndEnded, workflow.EndCompleted, workflow.EndSkipped}).Draw(t, "end")
		s.needs = append(s.needs, workflow.Need{Step: name, End: end})
	}
	if len(s.needs) > 1 && rapid.IntRange(0, 5).Draw(t, "join") == 0 {
		s.join = "any"
	}
	s.reads = subset(t, append(slices.Clone(earlier), outer...), 12)
	later := names[i+1:]
	switch kind := rapid.IntRange(0, 99).Draw(t, "kind"); {
	case kind < picking && len(later) > 0:
		s.kind = "switch"
		s.picks = waysTo(t, later)
	case kind < picking+30 && depth < 2:
		s.kind = rapid.SampledFrom([]string{"group", "loop", "foreach"}).Draw(t, "body")
		s.body = drawModel(t, slices.Concat(outer, names), depth+1)
	}
	if len(later) > 0 && rapid.IntRange(0, 99).Draw(t, "caught") < picking {
		s.catch = waysTo(t, later)
	}
	return s
}

func subset(t *rapid.T, of []string, percent int) []string {
	var some []string
	for _, x := range of {
		if rapid.IntRange(0, 99).Draw(t, "in") < percent && !slices.Contains(some, x) {
			some = append(some, x)
		}
	}
	return some
}

// waysTo draws up to three lists of steps to pick.
func waysTo(t *rapid.T, later []string) [][]string {
	ways := make([][]string, rapid.IntRange(1, 3).Draw(t, "ways"))
	for i := range ways {
		ways[i] = []string{rapid.SampledFrom(later).Draw(t, "then")}
		if more := rapid.SampledFrom(later).Draw(t, "then"); more != ways[i][0] {
			ways[i] = append(ways[i], more)
		}
	}
	return ways
}

// document writes a model as YAML.
func (m model) document() []byte {
	var b strings.Builder
	b.WriteString(preamble)
	if m.touches() {
		b.WriteString("vars: { v: 0 }\n")
	}
	b.WriteString("output: 1\nlimits: { timeout: 30d }\nsteps:\n")
	m.write(&b, "  ")
	return []byte(b.String())
}

func (m model) touches() bool {
	return slices.ContainsFunc(m, func(s *modelStep) bool { return s.write || s.look || s.body.touches() })
}

func (m model) write(b *strings.Builder, indent string) {
	for _, s := range m {
		s.writeTo(b, indent)
	}
}

func (s *modelStep) writeTo(b *strings.Builder, indent string) {
	line := func(format string, args ...any) { fmt.Fprintf(b, indent+"  "+format+"\n", args...) }
	fmt.Fprintf(b, "%s%s:\n", indent, s.name)
	conditions := []string{"input.go"}
	for _, name := range s.reads {
		conditions = append(conditions, "steps."+name+".attempts > 0")
	}
	if s.look {
		conditions = append(conditions, "vars.v > 0")
	}
	line("when: %s", strings.Join(conditions, " && "))
	var needs []string
	for _, n := range s.needs {
		if n.End == workflow.EndMet {
			needs = append(needs, n.Step)
		} else {
			needs = append(needs, fmt.Sprintf("{ %s: %s }", n.Step, n.End))
		}
	}
	line("needs: [ %s ]", strings.Join(needs, ", "))
	if s.join != "" {
		line("join: %s", s.join)
	}
	var handlers []string
	for _, way := range s.catch {
		handlers = append(handlers, fmt.Sprintf("{ match: error.retryable, then: [ %s ] }", strings.Join(way, ", ")))
	}
	if len(handlers) > 0 {
		line("on_error: [ %s ]", strings.Join(handlers, ", "))
	}
	s.writeKind(b, indent+"  ")
}

func (s *modelStep) writeKind(b *strings.Builder, indent string) {
	switch {
	case s.kind == "switch":
		var ways []string
		for _, way := range s.picks {
			ways = append(ways, fmt.Sprintf("{ when: input.pick, then: [ %s ] }", strings.Join(way, ", ")))
		}
		fmt.Fprintf(b, "%sswitch: [ %s ]\n", indent, strings.Join(ways, ", "))
		return
	case s.write:
		fmt.Fprintf(b, "%sset: { v: 1 }\n", indent)
		return
	case s.kind == "function":
		fmt.Fprintf(b, "%sfunction: f\n", indent)
		return
	}
	head := map[string]string{"group": "", "loop": "max: 3, on_max: stop, ", "foreach": "items: [ 1 ], "}[s.kind]
	fmt.Fprintf(b, "%s%s:\n", indent, s.kind)
	for _, word := range strings.Split(strings.TrimSuffix(head, ", "), ", ") {
		if word != "" {
			fmt.Fprintf(b, "%s  %s\n", indent, word)
		}
	}
	fmt.Fprintf(b, "%s  steps:\n", indent)
	s.body.write(b, indent+"    ")
}

// named returns the model under other names.
func (m model) named(names map[string]string) model {
	list := func(old []string) (all []string) {
		for _, x := range old {
			all = append(all, names[x])
		}
		return all
	}
	out := make(model, len(m))
	for i, s := range m {
		c := *s
		c.name, c.reads, c.body = names[s.name], list(s.reads), s.body.named(names)
		c.needs, c.picks, c.catch = nil, nil, nil
		for _, n := range s.needs {
			c.needs = append(c.needs, workflow.Need{Step: names[n.Step], End: n.End})
		}
		for _, way := range s.picks {
			c.picks = append(c.picks, list(way))
		}
		for _, way := range s.catch {
			c.catch = append(c.catch, list(way))
		}
		out[i] = &c
	}
	return out
}

// shuffled returns the model with its steps in another order, in bodies too.
func (m model) shuffled(t *rapid.T) model {
	if len(m) == 0 {
		return nil
	}
	out := slices.Clone(rapid.Permutation([]*modelStep(m)).Draw(t, "order"))
	for i, s := range out {
		c := *s
		c.body = s.body.shuffled(t)
		out[i] = &c
	}
	return out
}

// waits lists, for one body, whom each step waits for, by the definition of the language and without cleverness: those that
// it needs, reads (inside its body too) and is picked by, and those that may stand in for one that it needs.
func (m model) waits() map[string]map[string]bool {
	waits := map[string]map[string]bool{}
	byName := map[string]*modelStep{}
	for _, s := range m {
		waits[s.name], byName[s.name] = map[string]bool{}, s
	}
	for _, s := range m {
		ends := map[string]workflow.End{}
		for _, name := range s.outerReads() {
			if byName[name] != nil {
				ends[name] = workflow.EndMet
			}
		}
		for _, n := range s.needs {
			ends[n.Step] = n.End
		}
		for name, end := range ends {
			waits[s.name][name] = true
			standIns := slices.Concat(byName[name].catch...)
			if (end == workflow.EndMet || end == workflow.EndEnded) && !slices.Contains(standIns, s.name) {
				for _, by := range standIns {
					waits[s.name][by] = true
				}
			}
		}
		for _, name := range slices.Concat(slices.Concat(s.picks...), slices.Concat(s.catch...)) {
			waits[name][s.name] = true
		}
	}
	return waits
}

// outerReads are the names that a step reads around itself: its own, and those that its body does not have.
func (s *modelStep) outerReads() []string {
	all := slices.Clone(s.reads)
	for _, inner := range s.body {
		for _, name := range inner.outerReads() {
			if !slices.ContainsFunc(s.body, func(other *modelStep) bool { return other.name == name }) {
				all = append(all, name)
			}
		}
	}
	return all
}

// cyclic reports whether following waits leads back to where it began.
func cyclic(waits map[string]map[string]bool) bool {
	state := map[string]int{}
	var visit func(name string) bool
	visit = func(name string) bool {
		if state[name] != 0 {
			return state[name] == 1
		}
		state[name] = 1
		for next := range waits[name] {
			if visit(next) {
				return true
			}
		}
		state[name] = 2
		return false
	}
	for name := range waits {
		if visit(name) {
			return true
		}
	}
	return false
}

// anyCyclic looks at all bodies.
func (m model) anyCyclic() bool {
	return cyclic(m.waits()) || slices.ContainsFunc(m, func(s *modelStep) bool { return s.body.anyCyclic() })
}

// bodies are all bodies of a model.
func (m model) bodies() []model {
	all := []model{m}
	for _, s := range m {
		if len(s.body) > 0 {
			all = append(all, s.body.bodies()...)
		}
	}
	return all
}

var (
	shownPlace = regexp.MustCompile(` \(\d+:\d+\)`)
	cyclePath  = regexp.MustCompile(`wait for each other: (.*?);`)
	cycleNames = regexp.MustCompile(` → `)
)
