package estimate

import (
	"slices"
	"time"
)

// deadlines are the times that the steps of an execution wait for, as the engine keeps them.
type deadlines struct {
	of map[string][]int64
	// armed is the time for which a timer is armed; 0: none.
	armed int64
}

// timer is one that is armed.
type timer struct {
	step string
	rest time.Duration
}

// first is the step with the earliest deadline.
func (d *deadlines) first() (step string, at int64) {
	for s, all := range d.of { // order-free: the least by time and name
		for _, t := range all {
			if at == 0 || t < at || t == at && s < step {
				step, at = s, t
			}
		}
	}
	return step, at
}

// see brings the deadlines up to a commit.
func (d *deadlines) see(c *commit) {
	if d.of == nil {
		d.of = map[string][]int64{}
	}
	now := c.at.UnixNano()
	for i := range c.events {
		e := &c.events[i]
		switch e.Type {
		case "ActivityCompleted", "ActivitySkipped", "ActivityFailed", "ActivityScheduled", "TimerFired":
			delete(d.of, e.Step)
		case "ActivityStarted":
			delete(d.of, e.Step)
			if e.said.Lease > 0 || e.said.Started == 0 {
				d.add(e.Step, e.said.TimeoutAt, e.said.WaitBy)
			}
		case "TimerSet":
			d.add(e.Step, e.said.At)
		case "ActivityRetried":
			if e.said.At > now {
				d.add(e.Step, e.said.At)
			}
		case "ActivityReady":
			d.add(e.Step, e.said.ScheduleBy)
		case "ActivityPending", "EventAwaited":
			d.add(e.Step, e.said.TimeoutAt, e.said.WaitBy)
		case "TaskCreated":
			d.add(e.Step, e.said.WaitBy)
			d.add(e.Step, e.said.Remind...)
			d.add(e.Step, e.said.Escalate...)
		case "TaskReminded", "TaskEscalated":
			d.of[e.Step] = slices.DeleteFunc(d.of[e.Step], func(t int64) bool { return t <= now })
		}
	}
	if c.has(ends...) {
		d.of = nil
	}
}

func (d *deadlines) add(step string, times ...int64) {
	for _, t := range times {
		if t > 0 {
			d.of[step] = append(d.of[step], t)
		}
	}
}

// rang reports whether the timer that is armed has come by a time.
func (d *deadlines) rang(by time.Time) bool { return d.armed > 0 && d.armed <= by.UnixNano() }

// arm returns the timer that is armed after a commit, which see has seen.
func (d *deadlines) arm(c *commit) (timer, bool) {
	now := c.at.UnixNano()
	if d.rang(c.at) {
		d.armed = 0
	}
	step, at := d.first()
	if at == 0 || d.armed > 0 && d.armed <= at {
		return timer{}, false
	}
	d.armed = at
	return timer{step, time.Duration(at - now)}, true
}
