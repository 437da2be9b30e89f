package flowtest

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Test files name steps by their paths: `charge`, `each/price` (any item), `each/3/price` (one item), `charge!undo` (its
// compensation), `approve!notify` (its notification), `agent/c1` (a call of an agent), and `shipping:post` in another workflow.

// activityPrefixes stand before the name of an activity, in place of a step.
var activityPrefixes = []string{"function:", "tool:", "kind:"}

// known checks that a name in a test file names something, so that a typing error is found.
func (l *loading) known(n *yaml.Node, what, name string) {
	for _, prefix := range activityPrefixes {
		if strings.HasPrefix(name, prefix) {
			return
		}
	}
	s, path := l.suite.main, name
	if flow, rest, ok := strings.Cut(name, ":"); ok {
		if s = l.suite.others[flow]; s == nil {
			l.errorf(n, "test/unknown-workflow", "add its file to `with`", "%s names workflow %s, which the test file does not have", what, flow)
			return
		}
		path = rest
	}
	if s == nil || s.has(path) {
		return
	}
	l.errorf(n, "test/unknown-step", l.instead(name, s.paths()), "there is no step %s in workflow %s", name, s.def.Name)
}

// has reports whether a path, with or without indexes, names a step of the workflow or something beside one.
func (s *subject) has(path string) bool {
	plain := plainPath(path)
	step, beside, side := strings.Cut(plain, "!")
	st, inside := stepNamed(&s.def.Body, step)
	switch {
	case st == nil:
		return false
	case inside: // a call of an agent
		return !side || beside == "approve"
	case !side:
		return true
	case beside == "undo":
		return st.Compensate != nil
	}
	return beside == "notify" && st.Human != nil && st.Human.Notify != nil
}

// stepNamed finds a step by its path without indexes. inside says that the path goes on below the step, as that of an agent's call.
func stepNamed(b *workflow.Body, path string) (st *workflow.Step, inside bool) {
	name, rest, more := strings.Cut(path, "/")
	i := slices.IndexFunc(b.Steps, func(s workflow.Step) bool { return s.Name == name })
	if i < 0 {
		return nil, false
	}
	st = &b.Steps[i]
	switch {
	case !more:
		return st, false
	case st.Foreach != nil:
		return stepNamed(&st.Foreach.Body, rest)
	case st.Loop != nil:
		return stepNamed(&st.Loop.Body, rest)
	case st.Group != nil:
		return stepNamed(&st.Group.Body, rest)
	case st.Race != nil:
		branch, rest, _ := strings.Cut(rest, "/")
		for i := range st.Race.Branches {
			if st.Race.Branches[i].Name == branch {
				return stepNamed(&st.Race.Branches[i].Body, rest)
			}
		}
		return nil, false
	}
	if st.Kind == workflow.KindAI {
		return st, true
	}
	return nil, false
}

// paths lists the steps of the workflow for suggestions.
func (s *subject) paths() []string {
	c := newCoverage(s)
	list := make([]string, len(c.steps))
	for i, p := range c.steps {
		list[i] = p.Name
	}
	return list
}
