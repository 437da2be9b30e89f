package engine

import (
	"hash/fnv"
	"strconv"
	"time"

	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// What becomes of a failure: another attempt, a handler, an operator, or the end of the step (WF-002 §22, §23).

// defaultRetry holds where a step has no policy: 3 attempts, exponential from 1 s.
var defaultRetry = workflow.Retry{
	Attempts: workflow.Count{Fixed: 3}, Strategy: workflow.BackoffExponential, Delay: workflow.Duration{Fixed: 1e9},
}

// fail ends the attempt of a running step. ran says that something was really tried, so that trying again makes sense.
func (t *Turn) fail(in inst, err *workflow.Error, ran bool) {
	if ran {
		t.failAfter(in, err, 0)
		return
	}
	t.endSides(in)
	t.giveUp(in, err)
}

// failAfter ends an attempt that was really made. pause is how long the failing side asks to be left alone.
func (t *Turn) failAfter(in inst, err *workflow.Error, pause int64) {
	t.endSides(in)
	if again, stands := t.retry(in, err, pause); !again {
		t.giveUp(in, stands)
	}
}

// retry makes another attempt if the policy allows one. Otherwise it returns the error that stands.
func (t *Turn) retry(in inst, err *workflow.Error, pause int64) (bool, *workflow.Error) {
	if !in.node.kind.worker && !in.node.kind.retries || t.winding(in) {
		return false, err
	}
	policy := in.node.step.Retry
	if policy == nil {
		if !in.node.kind.worker {
			return false, err // a child has retried its own activities
		}
		policy = &defaultRetry
	}
	if !retries(policy, err) {
		return false, err
	}
	o := in.open()
	a := t.lazily(in, named{"error", errorBinding(err)})
	attempts, bad := count(&policy.Attempts, a)
	if bad != nil {
		return false, bad
	}
	if o.Attempt >= attempts {
		return false, err
	}
	if limit := t.s.MaxRetries; limit > 0 && t.s.Retries >= limit {
		e := workflow.Errorf("limits.retries", workflow.CategoryWorkflow, "the execution has made its %d retries; the last failure was %s", limit, err.Error())
		return false, e
	}
	wait, bad := t.backoff(in, policy, pause, a)
	if bad != nil {
		return false, bad
	}
	t.move(workflow.ActivityFailed{Step: in.path, Error: err})
	t.move(workflow.ActivityRetried{Step: in.path, At: t.now + wait})
	if wait == 0 {
		dueRetry(t, in)
	}
	return true, nil
}

// winding reports whether the execution is being wound up, so that a step of its body gets no further chance.
func (t *Turn) winding(in inst) bool {
	return t.s.Ending != nil && !in.node.exit() && !t.isUndo(in) && !t.ofExit(in.frame)
}

func (t *Turn) isUndo(in inst) bool { return in.side != nil && in.side == t.s.Undoing }

// retries reports whether a policy names an error. Selectors overrule the error's own hint.
func retries(p *workflow.Retry, err *workflow.Error) bool {
	for _, s := range p.NotOn {
		if err.Matches(s) {
			return false
		}
	}
	if len(p.On) == 0 {
		return err.Retryable && (err.Category == workflow.CategoryInfrastructure || err.Category == workflow.CategoryExternal)
	}
	for _, s := range p.On {
		if err.Matches(s) {
			return true
		}
	}
	return false
}

// maxPause is the longest that a failing side can ask to be left alone where the policy has no max_delay.
const maxPause = int64(24 * time.Hour)

// backoff is the delay before the next attempt, in nanoseconds: that of the policy, or longer where the failing side asks
// for it, but never above max_delay.
func (t *Turn) backoff(in inst, p *workflow.Retry, pause int64, a *lazyActivation) (int64, *workflow.Error) {
	first, err := duration(&p.Delay, a)
	if err != nil {
		return 0, err
	}
	most := MaxDuration
	if p.MaxDelay != nil {
		if most, err = duration(p.MaxDelay, a); err != nil {
			return 0, err
		}
	}
	attempt := in.open().Attempt
	d := min(first, most)
	switch p.Strategy {
	case workflow.BackoffLinear:
		for i := 1; i < attempt && d < most; i++ {
			d = min(d+first, most)
			if first == 0 {
				break
			}
		}
	case workflow.BackoffExponential:
		for i := 1; i < attempt && d > 0 && d < most; i++ {
			d = min(2*d, most)
		}
	}
	if p.Jitter > 0 {
		// Each product is rounded by itself: fused into the sum, it would differ from processor to processor.
		swing := float64(p.Jitter * (float64(2*t.chance(in, attempt)) - 1))
		d = min(int64(float64(d)*(1+swing)), most)
	}
	if p.MaxDelay == nil {
		most = maxPause
	}
	return max(d, min(pause, most), 0), nil
}

// chance is a number from 0 to 1 that follows from names, so that replay and other workers agree on it.
func (t *Turn) chance(in inst, attempt int) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(t.s.Execution + "/" + in.path + "/" + strconv.Itoa(attempt)))
	// The high bits of FNV of short texts hardly differ: mix them (the finalizer of SplitMix64).
	z := h.Sum64()
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return float64(z>>11) / (1 << 53)
}

// dueRetry makes the next attempt.
func dueRetry(t *Turn, in inst) {
	if in.step.State == fsm.ActivityStateRetrying() {
		in.node.kind.start(t, in)
	}
}

// giveUp decides what a failure without further attempt leads to.
func (t *Turn) giveUp(in inst, err *workflow.Error) {
	switch {
	case t.isUndo(in):
		t.move(workflow.ActivityFailed{Step: in.path, Error: err})
		t.emit(workflow.CompensationStopped{Step: in.path, Error: err})
		return
	case in.side != nil:
		t.giveUpSide(in, err)
		return
	case t.winding(in):
	case t.catch(in, err):
		return
	case t.holds(in, err):
		t.move(workflow.ActivityFailed{Step: in.path, Error: err})
		t.emit(workflow.FailureHeld{Step: in.path, Error: err})
		return
	}
	t.move(workflow.ActivityFailed{Step: in.path, Error: err, Status: workflow.StatusFailed})
}

// giveUpSide ends a side step that failed: a notification is only recorded, a call's error goes to its agent, and an
// entry's failure is that of the step.
func (t *Turn) giveUpSide(in inst, err *workflow.Error) {
	entry := in.host.open() != nil && in.host.open().Agent != nil && in.host.open().Agent.Entry == in.side
	t.move(workflow.ActivityFailed{Step: in.path, Error: err, Status: workflow.StatusFailed})
	if entry {
		t.fail(*in.host, err, false)
	}
}

// catch lets the first handler of on_error that matches take the failure.
func (t *Turn) catch(in inst, err *workflow.Error) bool {
	for i := range in.node.step.OnError {
		h := &in.node.step.OnError[i]
		a := t.lazily(in, named{"error", errorBinding(err)})
		if h.Match != nil {
			ok, bad := evalBool(h.Match, a.get())
			if bad != nil || !ok {
				continue // a condition that cannot be evaluated does not match (semantics 20)
			}
		}
		if len(h.Then) > 0 {
			t.move(workflow.ActivityFailed{Step: in.path, Error: err})
			t.move(workflow.ActivityCaught{Step: in.path, Then: h.Then})
			return true
		}
		output, bad := render(h.Continue, a)
		if bad != nil {
			continue
		}
		t.move(workflow.ActivityFailed{Step: in.path, Error: err})
		t.move(workflow.ActivityCaught{Step: in.path, Output: output})
		return true
	}
	return false
}

// holds reports whether a failure waits for an operator (on_failure: pause): nothing around the step takes it up.
func (t *Turn) holds(in inst, err *workflow.Error) bool {
	if t.p.def.OnFailure != workflow.OnFailurePause || in.node.exit() || t.s.Shard != nil || t.s.Ending != nil || t.s.Resigned {
		return false
	}
	for {
		if in.frame.Error != nil || t.absorbed(in.frame, in.node) {
			return false
		}
		up, ok := t.container(in.frame)
		if !ok {
			return true
		}
		if t.toleratesInside(up) || t.wouldCatch(up, err) {
			return false
		}
		in = up
	}
}

// toleratesInside reports whether the failure of one more body does not fail a structured step.
func (t *Turn) toleratesInside(in inst) bool {
	o := in.open()
	if o == nil || o.Scope == nil {
		return true
	}
	switch {
	case in.node.step.Foreach != nil:
		return o.Scope.Failed+1 <= o.Scope.Tolerate
	case in.node.step.Race != nil:
		return o.Scope.Failed+1 < len(in.node.bodies) || o.Scope.Winner > 0
	}
	return false
}

func (t *Turn) wouldCatch(in inst, err *workflow.Error) bool {
	for i := range in.node.step.OnError {
		h := &in.node.step.OnError[i]
		if h.Match == nil {
			return true
		}
		if ok, bad := evalBool(h.Match, t.at(in, named{"error", errorBinding(err)})); ok && bad == nil {
			return true
		}
	}
	return false
}
