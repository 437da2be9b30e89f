package engine

import (
	"time"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Timer steps: a delay, a time, or the next time of a schedule.

func timerWaits(n *node, _ *workflow.OpenStep) workflow.WaitReason {
	if n.step.Timer.Cron != "" {
		return workflow.WaitCron
	}
	return workflow.WaitTimer
}

func startTimer(t *Turn, in inst) {
	at, err := t.timerAt(in)
	if err != nil {
		t.failStart(in, err)
		return
	}
	l, err := t.limitsOf(in, t.lazily(in))
	if err != nil {
		t.failStart(in, err)
		return
	}
	t.begin(in, t.env.By, l)
	if at <= t.now {
		t.complete(in, workflow.Payload{})
		return
	}
	t.move(workflow.TimerSet{Step: in.path, At: at})
}

// timerAt says when a timer fires.
func (t *Turn) timerAt(in inst) (int64, *workflow.Error) {
	x, a := in.node.step.Timer, t.lazily(in)
	switch {
	case x.For != nil:
		d, err := duration(x.For, a)
		return t.now + d, err
	case x.Until != nil:
		c, err := expr.LoadTemplate(x.Until)
		if err != nil {
			return 0, exprError(err)
		}
		until, err := c.RenderTime(a.get())
		if err != nil {
			return 0, exprError(err)
		}
		return instant(until), nil
	}
	return nextCron(x.Cron, x.Timezone, t.now)
}

// nextCron is the first time of a schedule after another; an empty zone is UTC.
func nextCron(cron, zone string, after int64) (int64, *workflow.Error) {
	schedule, err := workflow.ParseCron(cron)
	if err != nil {
		return 0, workflow.Errorf("timer.cron", workflow.CategoryWorkflow, "%s", err.Error())
	}
	if zone == "" {
		zone = "UTC"
	}
	where, err := expr.Zone(zone)
	if err != nil {
		return 0, workflow.Errorf("timer.timezone", workflow.CategoryWorkflow, "%s", err.Error())
	}
	next, ok := schedule.Next(time.Unix(0, after).UTC(), where)
	if !ok {
		return 0, workflow.Errorf("timer.never", workflow.CategoryWorkflow, "the schedule %q has no next time", cron)
	}
	return instant(next), nil
}

func dueTimer(t *Turn, in inst) {
	t.move(workflow.TimerFired{Step: in.path})
	t.complete(in, workflow.Payload{})
}
