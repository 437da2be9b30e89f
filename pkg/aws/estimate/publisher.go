package estimate

import (
	"slices"

	"github.com/wovyr/wovyr/pkg/aws/meter"
)

// row is what the index says of an execution, as far as its cost depends on it.
type row struct {
	status    string
	wake, due int64
	ended     bool
}

// rows are the rows of an execution's commits, in their order: nil where a commit comes without one.
type rows struct {
	last row
	all  []*row
}

// next adds the row of a commit and reports whether it has one: it does if it says something new.
func (r *rows) next(c *commit, timers *deadlines) bool {
	timers.see(c)
	now := row{status: r.last.status}
	for i := range c.events {
		switch e := &c.events[i]; e.Type {
		case "WorkflowStarted", "WorkflowContinued":
			now.status = "Running"
		case "WorkflowPaused":
			now.status = "Waiting"
		case "CompensationStarted":
			now.status = "Compensating"
		case "WorkflowCompleted", "WorkflowFailed", "WorkflowCancelled":
			now.status, now.ended = e.Type, true
		}
	}
	if at := c.at.UnixNano(); !now.ended {
		_, now.wake = timers.first()
		now.due = at + int64(recheck)
		if now.wake > 0 {
			now.due = min(now.due, now.wake+int64(slack))
		}
		if now.status != "Waiting" {
			now.due = min(now.due, (at+int64(flight))/int64(grain)*int64(grain))
		}
	}
	if now == r.last {
		r.all = append(r.all, nil)
		return false
	}
	r.last = now
	r.all = append(r.all, &now)
	return true
}

// writes are the units of an update of the index, with its secondary indexes: by what is overdue, for lists, by what is to be removed.
func (r row) writes(before *row) float64 {
	switch {
	case before == nil:
		return 3
	case r.ended:
		return 4
	}
	n := 1.0
	if r.status != before.status {
		n++
	}
	if r.due != before.due {
		n += 2
	}
	return n
}

// announced are the events that go out on the bus.
var announced = []string{"WorkflowStarted", "WorkflowCompleted", "WorkflowFailed", "WorkflowCancelled", "CompensationStarted", "CompensationCompleted", "LeaseExpired", "EventEmitted"}

// publisher adds what the publisher does: it gathers changes for a time, writes the newest row, and puts events.
func (a *account) publisher(list []commit) {
	a.of()
	var before *row
	for i := 0; i < len(list); {
		end := list[i].at
		for i < len(list) {
			end = end.Add(window)
			batch := i
			for i < len(list) && !list[i].at.After(end) {
				i++
			}
			if batch == i {
				break
			}
			before = a.publish(list[batch:i], a.index.all[batch:i], before)
		}
	}
}

// publish is one invocation of the publisher, for so many commits. It returns the row that stands in the index then.
func (a *account) publish(batch []commit, rows []*row, before *row) *row {
	a.invoke(engine)
	for _, r := range slices.Backward(rows) {
		if r != nil {
			a.add(meter.Write, r.writes(before))
			a.takes(engine, 1, tableWrite)
			before = r
			break
		}
	}
	for i := range batch {
		if n := batch[i].count(announced...); n > 0 {
			a.add(meter.Event, float64(n))
			a.takes(engine, 1, busPut)
		}
		batch[i].each("EventEmitted", func(*event) { a.published() })
	}
	return before
}
