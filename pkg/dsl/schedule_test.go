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
	case outcome == 1 && r.absorbed(p.step.name): // else it ends all, which shows little
		p.status = "failed"
	case len(p.step.picks) > 0:
		p.ways = rapid.SampledFrom(append(slices.Clone(p.step.picks), nil)).Draw(r.t, "way")
	}
	for _, name := range p.ways {
		r.steps[name].picked = true
	}
	r.now++
}

// absorbed reports whether a failure is taken up by those that need the step, or one that it stands in for: it ends the body
// otherwise (semantics 5).
func (r *run) absorbed(name string) bool {
	taken := false
	for _, s := range r.model {
		for _, n := range s.needs {
			if n.Step != name && !(r.standsInFor(name, n.Step) && (n.End == workflow.EndMet || n.End == workflow.EndEnded)) || r.picks(n.Step, s.name) {
				continue
			}
			switch {
			case s.join == "any":
				taken = true
			case r.steps[s.name].status != "":
			case n.End == workflow.EndFailed, n.End == workflow.EndEnded:
				taken = true
			default:
				return false
			}
		}
	}
	return taken
}

func (r *run) standsInFor(name, other string) bool {
	p := r.steps[other]
	return p.status == "caught" && slices.Contains(p.ways, name)
}

// picks: whether one step has a `then` with the other.
func (r *run) picks(from, to string) bool {
	s := r.steps[from].step
	return slices.Contains(slices.Concat(slices.Concat(s.picks...), slices.Concat(s.catch...)), to)
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
	count := map[string]int{}
	for _, n := range p.step.needs {
		if !r.picks(n.Step, p.step.name) { // else it is met by being picked
			out, counts := r.need(n)
			count[out]++
			if counts {
				count["counted"]++
			}
		}
	}
	verdict := r.verdict(p, count)
	switch verdict {
	case "run":
		if rapid.IntRange(0, 5).Draw(r.t, "when") == 0 {
			p.status = "skipped"
		} else {
			p.start = r.now
		}
	case "die":
		p.status = "dead"
	case "strand":
		p.start, p.end, p.status = r.now, r.now, "failed"
	}
	return verdict != "wait"
}

// verdict by how the needs came out (semantics 2 and 4).
func (r *run) verdict(p *played, count map[string]int) string {
	onlyDead := count["met"] == 0 && count["missed"] == 0 && count["dead"] > 0
	switch {
	case p.step.join == "any" && count["counted"] > 0:
		return "run"
	case p.step.join == "any" && count["open"] > 0:
		return "wait"
	case p.step.join == "any" && onlyDead:
		return "die"
	case p.step.join == "any" && count["met"]+count["missed"] > 0:
		return "strand"
	case count["missed"] > 0:
		return "die"
	case count["open"] > 0:
		return "wait"
	case onlyDead && !p.picked:
		return "die"
	}
	return "run"
}

// pickers: whether a `then` names a step, and whether one of those that may pick it is still open.
func (r *run) pickers(name string) (named, open bool) {
	for _, s := range r.model {
		if r.picks(s.name, name) {
			named, open = true, open || r.steps[s.name].status == ""
		}
	}
	return named, open
}

// need says how a need came out: open, met, missed or dead, and whether `any` counts it. A step that was caught has ended for
// others once what stands in for it has.
func (r *run) need(n workflow.Need) (out string, counts bool) {
	p := r.steps[n.Step]
	status, end := p.status, string(n.End)
	if status == "caught" && (end == "met" || end == "ended") {
		for _, by := range p.ways {
			switch r.steps[by].status {
			case "":
				return "open", false
			case "failed":
				status = "failed"
			}
		}
	}
	switch {
	case status == "":
		return "open", false
	case end == "ended", end == status, end == "skipped" && status == "dead":
		return "met", true
	case status == "dead":
		return "dead", false
	case end == "met" && status == "completed":
		return "met", true
	case end == "met" && (status == "caught" || status == "skipped"):
		return "met", false
	}
	return "missed", false
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
