package dsl

import (
	"fmt"
	"strconv"
	"time"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// length returns a fixed duration; ok is false for none and for one that an expression yields.
func length(d *workflow.Duration) (time.Duration, bool) {
	if d == nil || d.Expr != nil {
		return 0, false
	}
	return time.Duration(d.Fixed), true
}

// bound is a time limit that ends what is inside it.
type bound struct {
	limit time.Duration
	what  string
}

// bounds lists the fixed time limits around a step, the outermost first.
func (a *analysis) bounds(u *unit) []bound {
	var all []bound
	if limit, ok := length(a.def.Limits.Timeout); ok && !u.exit {
		all = append(all, bound{limit, "the workflow (`limits`)"})
	}
	for owner := u.block.owner; owner != nil; owner = owner.block.owner {
		if limit, ok := length(owner.step.Timeout); ok {
			all = append(all, bound{limit, "`" + owner.step.Name + "`"})
		}
	}
	return all
}

// checkTimeouts reports time limits that never strike because another one strikes first.
func (a *analysis) checkTimeouts(u *unit) {
	st := u.step
	for _, b := range a.bounds(u) {
		a.checkWithin(u, "/timeout", st.Timeout, b)
		a.checkWithin(u, a.waitTimeoutAt(u), st.WaitTimeout, b)
		if st.Timer != nil {
			a.checkWithin(u, "/timer/for", st.Timer.For, b)
		}
		a.checkRetries(u, b)
	}
	if heartbeat, ok := length(st.Heartbeat); ok {
		if limit, ok := length(st.Timeout); ok && heartbeat >= limit {
			a.sink.warnf(u.pointer+"/heartbeat", "dsl/timeout-order", "write a shorter one than `timeout`",
				"a `heartbeat` of %s is never missed: the `timeout` of %s comes first", show(heartbeat), show(limit))
		}
	}
	a.checkTask(u)
}

// waitTimeoutAt is where the document has the wait timeout of a step.
func (a *analysis) waitTimeoutAt(u *unit) string {
	for _, where := range []string{"/human/timeout", "/event/timeout"} {
		if a.source.node(u.pointer+where) != nil {
			return where
		}
	}
	return "/wait_timeout"
}

func (a *analysis) checkWithin(u *unit, where string, d *workflow.Duration, b bound) {
	if inner, ok := length(d); ok && inner >= b.limit && a.source.node(u.pointer+where) != nil {
		a.sink.warnf(u.pointer+where, "dsl/timeout-order", "write less than "+show(b.limit)+", or raise the limit around it",
			"%s is not shorter than the timeout of %s around it, %s", show(inner), b.what, show(b.limit))
	}
}

// checkRetries reports retries that a time limit around the step cuts off.
func (a *analysis) checkRetries(u *unit, b bound) {
	r := u.step.Retry
	if r == nil || u.step.Call == nil || r.Attempts.Expr != nil {
		return
	}
	total, waits := retryTime(r), true
	if each, ok := length(u.step.Timeout); ok {
		total, waits = total+each*time.Duration(r.Attempts.Fixed), false
	}
	if total < b.limit {
		return
	}
	spent := "its attempts may take " + show(total)
	if waits {
		spent = "the delays between its attempts add up to " + show(total)
	}
	pointer := u.pointer + "/retry"
	if a.source.node(pointer) == nil {
		pointer = u.pointer // the policy comes from `defaults`
	}
	a.sink.warnf(pointer, "dsl/retry-timeout", "write fewer attempts, a `max_delay`, a shorter `timeout`, or raise the limit around it",
		"the retries of `%s` can exceed the timeout of %s, %s: %s", u.step.Name, b.what, show(b.limit), spent)
}

// farFuture bounds the sum of delays.
const farFuture = 100 * 365 * 24 * time.Hour

// retryTime is the sum of the delays between all attempts, without jitter; delays that an expression yields count as none.
func retryTime(r *workflow.Retry) time.Duration {
	first, _ := length(&r.Delay)
	most, capped := length(r.MaxDelay)
	var total time.Duration
	delay := first
	for i := int64(1); i < r.Attempts.Fixed && total < farFuture; i++ {
		step := delay
		if capped {
			step = min(step, most)
		}
		total += step
		switch r.Strategy {
		case workflow.BackoffLinear:
			delay = min(delay+first, farFuture)
		case workflow.BackoffExponential:
			delay = min(2*delay, farFuture)
		}
	}
	return total
}

// checkTask reports reminders and escalations after the end of a task.
func (a *analysis) checkTask(u *unit) {
	h := u.step.Human
	limit, ok := length(u.step.WaitTimeout)
	if other, both := length(u.step.Timeout); both && (!ok || other < limit) {
		limit, ok = other, true
	}
	if h == nil || !ok {
		return
	}
	late := func(where string, d workflow.Duration) {
		if after, ok := length(&d); ok && after >= limit {
			a.sink.warnf(u.pointer+where, "dsl/timeout-order", "write less than "+show(limit), "%s is not before the task times out, after %s", show(after), show(limit))
		}
	}
	for i := range h.Remind {
		late("/human/remind/"+strconv.Itoa(i), h.Remind[i])
	}
	for i := range h.Escalate {
		late("/human/escalate/"+strconv.Itoa(i)+"/after", h.Escalate[i].After)
	}
}

// checkEndless reports waits that nothing ever ends.
func (a *analysis) checkEndless(u *unit) {
	st := u.step
	waits := st.Human != nil || st.Event != nil || st.Call != nil && st.Call.Callback
	if !waits || st.WaitTimeout != nil || st.Timeout != nil || a.def.Limits.Timeout != nil && !u.exit {
		return
	}
	if st.Human != nil && len(st.Human.Escalate) > 0 {
		return
	}
	for owner := u.block.owner; owner != nil; owner = owner.block.owner {
		if owner.step.Timeout != nil || owner.step.Race != nil {
			return
		}
	}
	where, word := "/"+string(st.Kind), "timeout"
	if st.Call != nil {
		where, word = "/callback", "wait_timeout"
	}
	a.sink.keyWarnf(u.pointer+where, "dsl/endless-wait", "write "+word+": 7d, or limits: { timeout: 30d } for the workflow",
		"`%s` may wait for ever: neither it nor the workflow has a timeout", st.Name)
}

func show(d time.Duration) string {
	const day = 24 * time.Hour
	switch days := d / day; {
	case days == 0:
		return expr.FormatDuration(d)
	case d%day == 0:
		return fmt.Sprintf("%dd", days)
	default:
		return fmt.Sprintf("%dd%s", days, expr.FormatDuration(d%day))
	}
}
