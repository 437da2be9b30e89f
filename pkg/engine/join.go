package engine

import "github.com/wovyr/wovyr/pkg/workflow"

// How needs come out (DSL.md, Dependencies, skips, joins; semantics 1 to 9).

// turnout is how one need came out.
type turnout uint8

const (
	turnMet     turnout = 1 << iota // the named end came
	turnDead                        // nothing came: the step is dead, or was cancelled
	turnMissed                      // another end came
	turnCounted                     // it counts for `any` and numbers
)

// turnouts has the turnout of a need by its end and the status that the needed step came to.
var turnouts = map[workflow.End][7]turnout{
	workflow.EndMet: {
		workflow.StatusCompleted: turnMet | turnCounted, workflow.StatusCaught: turnMet, workflow.StatusSkipped: turnMet,
		workflow.StatusFailed: turnMissed, workflow.StatusDead: turnDead, workflow.StatusCancelled: turnDead,
	},
	workflow.EndCompleted: {
		workflow.StatusCompleted: turnMet | turnCounted, workflow.StatusCaught: turnMissed, workflow.StatusSkipped: turnMissed,
		workflow.StatusFailed: turnMissed, workflow.StatusDead: turnDead, workflow.StatusCancelled: turnDead,
	},
	workflow.EndFailed: {
		workflow.StatusCompleted: turnMissed, workflow.StatusCaught: turnMissed, workflow.StatusSkipped: turnMissed,
		workflow.StatusFailed: turnMet | turnCounted, workflow.StatusDead: turnDead, workflow.StatusCancelled: turnDead,
	},
	workflow.EndSkipped: {
		workflow.StatusCompleted: turnMissed, workflow.StatusCaught: turnMissed, workflow.StatusSkipped: turnMet | turnCounted,
		workflow.StatusFailed: turnMissed, workflow.StatusDead: turnMet | turnCounted, workflow.StatusCancelled: turnDead,
	},
	workflow.EndEnded: {
		workflow.StatusCompleted: turnMet | turnCounted, workflow.StatusCaught: turnMet | turnCounted, workflow.StatusSkipped: turnMet | turnCounted,
		workflow.StatusFailed: turnMet | turnCounted, workflow.StatusDead: turnMet | turnCounted, workflow.StatusCancelled: turnMet | turnCounted,
	},
}

// waitsForStandIn: a caught step neither completed nor failed nor was skipped, so only these needs wait for what stands in.
func waitsForStandIn(end workflow.End) bool {
	return end == workflow.EndMet || end == workflow.EndEnded
}

// ended tells those around a step that it came to its end: the steps it could pick, those that need it, and those that it
// stands in for. It changes counters only; those whose join is settled by it go to the agenda.
func (x *fold) ended(f *workflow.Frame, i int) {
	b := x.p.bodies[f.Body]
	n, st := &b.nodes[i], &f.Steps[i]
	for _, q := range n.picks {
		f.Steps[q].Join.Pickers--
		x.consider(f, q)
	}
	wait := st.Status == workflow.StatusCaught && standIn(f, i) != nil
	for k := range n.out {
		if e := &n.out[k]; !wait || !waitsForStandIn(e.end) {
			x.resolve(f, e, st.Status)
		}
	}
	for k := range f.StandIns {
		if s := &f.StandIns[k]; s.For == i || hasIndex(s.By, i) {
			x.standIn(f, s)
		}
	}
	if len(n.needs) > 0 {
		x.release(f, n)
	}
}

func hasIndex(list []int, i int) bool {
	for _, x := range list {
		if x == i {
			return true
		}
	}
	return false
}

func standIn(f *workflow.Frame, i int) *workflow.StandIn {
	for k := range f.StandIns {
		if f.StandIns[k].For == i {
			return &f.StandIns[k]
		}
	}
	return nil
}

// standIn resolves the needs on a caught step once all that stand in for it have come out, those that stand in for them
// included.
func (x *fold) standIn(f *workflow.Frame, s *workflow.StandIn) {
	status, ok := outcome(f, s.For)
	if s.Done || !ok {
		return
	}
	s.Done = true
	n := &x.p.bodies[f.Body].nodes[s.For]
	for k := range n.out {
		if e := &n.out[k]; waitsForStandIn(e.end) {
			x.resolve(f, e, status)
		}
	}
	for k := range f.StandIns {
		if next := &f.StandIns[k]; hasIndex(next.By, s.For) {
			x.standIn(f, next)
		}
	}
}

// outcome is how a step came out for those who wait for it: of a caught one, how its stand-ins did. ok is false as long as
// that is not known.
func outcome(f *workflow.Frame, i int) (status workflow.Status, ok bool) {
	status = f.Steps[i].Status
	s := standIn(f, i)
	if status != workflow.StatusCaught || s == nil {
		return status, status.Ended()
	}
	for _, by := range s.By {
		switch other, ok := outcome(f, by); {
		case !ok:
			return workflow.StatusPending, false
		case other == workflow.StatusFailed:
			status = workflow.StatusFailed
		}
	}
	return status, true
}

// resolve counts one need.
func (x *fold) resolve(f *workflow.Frame, e *edge, status workflow.Status) {
	if e.pick {
		return
	}
	j := &f.Steps[e.node].Join
	j.Open--
	tally(j, turnouts[e.end][status])
	x.consider(f, e.node)
}

// tally counts how one need came out.
func tally(j *workflow.JoinState, t turnout) {
	switch {
	case t&turnMet != 0:
		j.Met++
	case t&turnDead != 0:
		j.Dead++
	default:
		j.Missed++
	}
	if t&turnCounted != 0 {
		j.Counted++
	}
}

// release says that a step will not read its needs again, and drops results that nothing reads any more.
func (x *fold) release(f *workflow.Frame, n *node) {
	for _, e := range n.needs {
		j := &f.Steps[e.node].Join
		j.Readers--
		if j.Readers == 0 {
			x.drop(f, e.node)
		}
	}
}

// drop forgets a result unless something outside of the body's steps may still read it.
func (x *fold) drop(f *workflow.Frame, i int) {
	n, st := &x.p.bodies[f.Body].nodes[i], &f.Steps[i]
	if st.Result != nil && !n.held && !n.heldUndo && n.undo == nil && len(st.Result.Frames) == 0 && !x.linking {
		st.Result = nil
	}
}

// keeps reports whether the result of a step that ends now may be read later.
func (x *fold) keeps(f *workflow.Frame, n *node) bool {
	return n.held || n.heldUndo || n.undo != nil || f.Steps[n.index].Join.Readers > 0
}

// verdict is what is to become of a step that has not started.
type verdict uint8

const (
	waits   verdict = iota
	runs            // its join is met
	dies            // it will not run: not picked, or nothing it needs can come
	counts          // the number of its join is needed first
	strands         // its join cannot be met any more: join.unreachable
)

// verdict looks at a step's counters.
func (x *fold) verdict(f *workflow.Frame, n *node) verdict {
	st := &f.Steps[n.index]
	j := &st.Join
	if n.pickers > 0 && !st.Picked {
		if j.Pickers == 0 {
			return dies
		}
		return waits
	}
	if n.step.Join.Mode == workflow.JoinAny || n.step.Join.Mode == workflow.JoinCount {
		return x.counted(f, n, j)
	}
	switch {
	case j.Missed > 0:
		return dies
	case j.Open > 0:
		return waits
	case j.Met == 0 && j.Dead > 0 && !st.Picked:
		return dies
	}
	return runs
}

// counted is the verdict for `any` and numbers.
func (x *fold) counted(f *workflow.Frame, n *node, j *workflow.JoinState) verdict {
	want := int32(1)
	if c := n.step.Join.Count; n.step.Join.Mode == workflow.JoinCount && c != nil {
		known := true
		if want = int32(min(c.Fixed, 1<<30)); c.Expr != nil {
			want, known = joinCount(f, n.index)
		}
		if !known {
			if int(j.Open) == n.joined && n.joined > 0 {
				return waits
			}
			return counts
		}
	}
	onlyDead := j.Met == 0 && j.Missed == 0 && j.Dead > 0
	switch {
	case j.Counted >= want:
		return runs
	case j.Counted+j.Open >= want:
		return waits
	case onlyDead && j.Open > 0:
		return waits
	case onlyDead:
		return dies
	}
	return strands
}

func joinCount(f *workflow.Frame, i int) (int32, bool) {
	for _, c := range f.Joins {
		if c.Step == i {
			return int32(min(c.Count, 1<<30)), true
		}
	}
	return 0, false
}

// absorbed reports whether the failure of a step is taken up by those that need it, so that it does not end the body
// (semantics 5).
func (x *fold) absorbed(f *workflow.Frame, n *node) bool {
	taken := false
	for _, e := range x.audience(f, n) {
		c := &x.p.bodies[f.Body].nodes[e.node]
		st := &f.Steps[e.node]
		switch {
		case c.step.Join.Mode == workflow.JoinAny || c.step.Join.Mode == workflow.JoinCount:
			taken = true
		case st.Status.Ended(): // dead: it takes up nothing, and misses nothing
		case e.end == workflow.EndFailed || e.end == workflow.EndEnded:
			taken = true
		default:
			return false
		}
	}
	return taken
}

// audience are the needs on a step, and on those it stands in for.
func (x *fold) audience(f *workflow.Frame, n *node) []edge {
	list := notPicks(n.out)
	for _, s := range f.StandIns {
		if hasIndex(s.By, n.index) {
			all := append([]edge(nil), list...)
			for _, e := range x.audience(f, &x.p.bodies[f.Body].nodes[s.For]) {
				if waitsForStandIn(e.end) {
					all = append(all, e)
				}
			}
			list = all
		}
	}
	return list
}

func notPicks(list []edge) []edge {
	for i := range list {
		if list[i].pick {
			var out []edge
			for _, e := range list {
				if !e.pick {
					out = append(out, e)
				}
			}
			return out
		}
	}
	return list
}

// exit reports whether the step belongs to on_exit.
func (n *node) exit() bool { return n.step.Exit && n.body != nil && n.body.owner == nil }
