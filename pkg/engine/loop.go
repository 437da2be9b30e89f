package engine

import (
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Loops: one body after the other.

func loopWaits(_ *node, o *workflow.OpenStep) workflow.WaitReason {
	if o.WakeAt == 0 {
		return 0
	}
	return workflow.WaitTimer
}

func startLoop(t *Turn, in inst) {
	if t.openBody(in) {
		t.pushAdvance(in)
	}
}

// advanceLoop closes an iteration that came to its end and opens the next one.
func advanceLoop(t *Turn, in inst) {
	sc := in.open().Scope
	if t.timedOut(in) || sc == nil {
		return
	}
	if f := sc.Frames[0]; f != nil {
		t.closeIteration(in, f)
		return
	}
	switch {
	case sc.Error != nil:
		t.fail(in, sc.Error, false)
	case sc.Ending:
		t.completeLoop(in, sc)
	case in.open().WakeAt == 0 && !t.stopped(in.frame):
		t.nextIteration(in, sc)
	}
}

// closeIteration ends an iteration, and decides whether and when another one follows.
func (t *Turn) closeIteration(in inst, f *workflow.Frame) {
	done, failed := t.bodyOver(f)
	if !done && !failed {
		return
	}
	l := in.node.step.Loop
	e := workflow.ScopeClosed{Step: in.path, Index: f.Index, Error: f.Error}
	last, wait := false, int64(0)
	if done && !t.relives(in) {
		last, wait, e = t.weighIteration(l, f, e)
	}
	if e.Error == nil && weighPayload(e.Output)+collectedBytes(in.open().Scope) > MaxCollected {
		e = workflow.ScopeClosed{Step: in.path, Index: f.Index, Error: tooLarge("what the loop collects", weighPayload(e.Output)+collectedBytes(in.open().Scope), MaxCollected)}
	}
	if !t.fits(weighPayload(e.Output) + 64) {
		return
	}
	t.move(e)
	switch {
	case e.Error != nil:
	case last:
		t.move(workflow.ScopeEnding{Step: in.path})
	case wait > 0 && t.another(in, f.Index):
		t.move(workflow.IterationDelayed{Step: in.path, At: t.now + wait})
	}
}

// another reports whether, as things are, an iteration will follow: only then is there something to wait for.
func (t *Turn) another(in inst, iteration int) bool {
	l := in.node.step.Loop
	a := t.beforeIteration(in, iteration+1)
	if most, err := count(&l.Max, a); err != nil || iteration >= most {
		return false
	}
	if l.While == nil {
		return true
	}
	ok, err := evalBool(l.While, a.get())
	return ok && err == nil
}

// beforeIteration is what `while` reads: the iteration that would come, and the one before it.
func (t *Turn) beforeIteration(in inst, iteration int) *lazyActivation {
	return t.lazily(in, named{"previous", t.previous(in)}, named{"iteration", expr.OfInt(int64(iteration))})
}

// weighIteration evaluates `until`, `delay` and `collect` of an iteration that is over.
func (t *Turn) weighIteration(l *workflow.Loop, f *workflow.Frame, e workflow.ScopeClosed) (last bool, wait int64, _ workflow.ScopeClosed) {
	a := t.inBody(f)
	var err *workflow.Error
	if l.Until != nil {
		last, err = evalBool(l.Until, a.get())
	}
	if err == nil {
		wait, err = duration(l.Delay, a)
	}
	if err == nil && l.Collect != nil {
		e.Output, err = render(l.Collect, a)
	} else if err == nil {
		e.Output = t.allOutputs(f)
	}
	if err != nil {
		e.Output, e.Error = workflow.Payload{}, err
	}
	return last, wait, e
}

func collectedBytes(sc *workflow.Scope) (n int) {
	for i := range sc.Results {
		n += weighPayload(sc.Results[i].Output)
	}
	return n
}

// nextIteration opens an iteration, unless `while` or `max` says no.
func (t *Turn) nextIteration(in inst, sc *workflow.Scope) {
	l := in.node.step.Loop
	a := t.beforeIteration(in, sc.Next+1)
	if t.relives(in) {
		t.reliveIteration(in, sc)
		return
	}
	if l.While != nil {
		ok, err := evalBool(l.While, a.get())
		if err != nil {
			t.fail(in, err, false)
			return
		}
		if !ok {
			t.completeLoop(in, sc)
			return
		}
	}
	most, err := count(&l.Max, a)
	if err != nil {
		t.fail(in, err, false)
		return
	}
	switch {
	case sc.Next < most && t.fits(64):
		t.move(workflow.ScopeOpened{Step: in.path, Index: sc.Next + 1})
	case sc.Next < most:
	case l.OnMax == workflow.OnMaxStop || l.While == nil && l.Until == nil:
		t.completeLoop(in, sc)
	default:
		t.fail(in, workflow.Errorf("loop.max", workflow.CategoryWorkflow, "%d iterations did not reach the end of the loop: raise max, or write on_max: stop", most), false)
	}
}

// reliveIteration opens the next iteration that holds something to be taken over.
func (t *Turn) reliveIteration(in inst, sc *workflow.Scope) {
	switch {
	case !t.takenInside(prefixOf(in, sc.Next+1)[:len(prefixOf(in, sc.Next+1))-1]):
		t.completeLoop(in, sc)
	case t.fits(64):
		t.move(workflow.ScopeOpened{Step: in.path, Index: sc.Next + 1})
	}
}

// completeLoop ends a loop with what it collected or, without `collect`, the outputs of the last iteration.
func (t *Turn) completeLoop(in inst, sc *workflow.Scope) {
	out := workflow.Inline(workflow.Null)
	switch {
	case in.node.step.Loop.Collect != nil:
		values := make([]workflow.Payload, len(sc.Results))
		for i := range sc.Results {
			values[i] = sc.Results[i].Output
		}
		out = arrayOf(values)
	case len(sc.Results) > 0:
		out = sc.Results[0].Output
	}
	if t.fits(weighPayload(out)) {
		t.complete(in, out)
	}
}

// dueLoop ends the delay between two iterations.
func dueLoop(t *Turn, in inst) {
	t.move(workflow.TimerFired{Step: in.path})
	t.pushAdvance(in)
}
