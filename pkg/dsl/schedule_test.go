package dsl

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// run plays one body by the rules of the language, with random lengths, ways and ends of its steps: who starts when, who is
// skipped, who is dead. It stands beside the analysis and shares nothing with it.
type run struct {
	t     *rapid.T
	model model
	now   int
	steps map[string]*played
}

type played struct {
	step       *modelStep
	start, end int    // -1: not yet
	status     string // "" while it is not known; then completed, failed, caught, skipped or dead
	ways       []string
	picked     bool
}

func play(t *rapid.T, m model) *run {
	r := &run{t: t, model: m, steps: map[string]*played{}}
	for _, s := range m {
		r.steps[s.name] = &played{step: s, start: -1, end: -1}
	}
	for r.settle() {
		r.tick()
	}
	return r
}

// settle starts and skips all that can be at this moment; false when nothing runs any more, or an uncaught failure ends all.
func (r *run) settle() bool {
	for changed := true; changed; {
		changed = false
		for _, s := range r.model {
			if p := r.steps[s.name]; p.start < 0 && p.status == "" && r.decide(p) {
				changed = true
			}
		}
	}
	running := false
	for _, s := range r.model {
		p := r.steps[s.name]
		if p.status == "failed" && !r.absorbed(s.name) {
			return false
		}
		running = running || p.start >= 0 && p.end < 0
	}
	return running
}

// tick lets one running step end.
func (r *run) tick() {
	var running []*played
	for _, s := range r.model {
		if p := r.steps[s.name]; p.start >= 0 && p.end < 0 {
			running = append(running, p)
		}
	}
	p := rapid.SampledFrom(running).Draw(r.t, "ends")
	r.now++
	p.end = r.now
	p.status = "completed"
	switch outcome := rapid.IntRange(0, 3).Draw(r.t, "outcome"); {
	case outcome == 0 && len(p.step.catch) > 0:
		p.status = "caught"
		p.ways = rapid.SampledFrom(p.step.catch).Draw(r.t, "handler")
	case outcome == 1 && r.absorbed(p.step.name):
		p.status = "failed"
	case len(p.step.picks) > 0:
		p.ways = rapid.SampledFrom(append(slices.Clone(p.step.picks), nil)).Draw(r.t, "way")
	}
	for _, name := range p.ways {
		r.steps[name].picked = true
	}
	r.now++
}

// absorbed: every step that needs this one names failed or ended.
func (r *run) absorbed(name string) bool {
	needed := false
	for _, s := range r.model {
		for _, n := range s.needs {
			if n.Step == name {
				needed = true
				if n.End != workflow.EndFailed && n.End != workflow.EndEnded {
					return false
				}
			}
		}
	}
	return needed
}

// decide starts a step, skips it or finds it dead; false if it still waits.
func (r *run) decide(p *played) bool {
	if named, open := r.pickers(p.step.name); named && !p.picked {
		if open {
			return false
		}
		p.status = "dead"
		return true
	}
	met, dead, open := 0, 0, 0
	for _, n := range p.step.needs {
		switch r.need(p.step.name, n) {
		case "met":
			met++
		case "dead":
			dead++
		default:
			open++
		}
	}
	switch {
	case len(p.step.needs) > 0 && dead == len(p.step.needs):
		p.status = "dead"
	case p.step.join == "any" && met > 0, p.step.join != "any" && open == 0:
		if rapid.IntRange(0, 5).Draw(r.t, "when") == 0 {
			p.status = "skipped"
		} else {
			p.start = r.now
		}
	case open == 0: // a join that can no longer be met fails
		p.start, p.end, p.status = r.now, r.now, "failed"
	default:
		return false
	}
	return true
}

// pickers: whether a `then` names a step, and whether one of those that may pick it is still open.
func (r *run) pickers(name string) (named, open bool) {
	for _, s := range r.model {
		if slices.Contains(slices.Concat(slices.Concat(s.picks...), slices.Concat(s.catch...)), name) {
			named, open = true, open || r.steps[s.name].status == ""
		}
	}
	return named, open
}

// need says how a need stands: met, dead or open. A step that was caught has ended for others once what stands in for it has.
func (r *run) need(of string, n workflow.Need) string {
	p := r.steps[n.Step]
	any := r.steps[of].step.join == "any"
	standsIn := slices.Contains(slices.Concat(p.step.catch...), of)
	switch p.status {
	case "":
		return "open"
	case "dead":
		if n.End == workflow.EndEnded && !any {
			return "met"
		}
		return "dead"
	case "caught":
		if n.End == workflow.EndMet || n.End == workflow.EndEnded {
			for _, by := range p.ways {
				if r.steps[by].status == "" && !standsIn {
					return "open"
				}
			}
			return "met"
		}
		return "dead"
	case "skipped":
		if any || n.End == workflow.EndCompleted || n.End == workflow.EndFailed {
			return "dead"
		}
		return "met"
	}
	if n.End == workflow.EndMet && p.status == "completed" || n.End == workflow.EndEnded || string(n.End) == p.status {
		return "met"
	}
	return "dead"
}

// relation of two steps in a run: which was over before the other began, or "" where one never ran.
func (r *run) relation(a, b string) string {
	p, q := r.steps[a], r.steps[b]
	end := func(p *played) int {
		if p.end < 0 {
			return r.now + 1
		}
		return p.end
	}
	switch {
	case p.start < 0 || q.start < 0:
		return ""
	case end(p) <= q.start:
		return "before"
	case end(q) <= p.start:
		return "after"
	}
	return "at once"
}

// Where runs of the same steps have two of them at once, or now in this order and now in that, analysis refuses a write of one
// that the other sees. (It may refuse more: not every order that it cannot promise is one that can happen.)
func TestRandomRaces(t *testing.T) {
	refused, accepted := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(t, "steps")
		picking := rapid.IntRange(0, 60).Draw(t, "picking")
		names := modelNames[:n]
		m := make(model, n)
		for i := range m {
			m[i] = drawStep(t, names, i, nil, 2, picking) // no bodies
			m[i].reads = nil
		}
		two := rapid.Permutation(names).Draw(t, "touches")[:2]
		for _, s := range m {
			s.write = s.kind == "function" && slices.Contains(two, s.name)
			s.look = !s.write && slices.Contains(two, s.name)
		}
		if !slices.ContainsFunc(m, func(s *modelStep) bool { return s.write }) || m.anyCyclic() {
			t.Skip("nobody writes, or nothing runs")
		}
		_, found := Compile("test.yaml", m.document())
		flagged := slices.ContainsFunc(found, func(d Diagnostic) bool { return d.Code == "dsl/var-race" })
		if flagged {
			refused++
			return
		}
		accepted++
		seen := map[string]bool{}
		for range 12 {
			seen[play(t, m).relation(two[0], two[1])] = true
		}
		delete(seen, "")
		require.False(t, seen["at once"] || len(seen) > 1, "%v\n%s", seen, m.document())
	})
	require.NotZero(t, refused)
	require.NotZero(t, accepted)
}
