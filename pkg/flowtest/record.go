package flowtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// record is what happened in a case, as expectations and coverage look at it.
type record struct {
	path    []string // steps that completed, in order
	ended   map[string]*ended
	undone  []string
	failed  []string
	emitted []workflow.Value
	calls   map[string][]workflow.Value // by step, with and without indexes
	used    map[*mock]bool
	trace   []string
	seen    []seen
	waits   []workflow.WaitReason // of the last pause
	began   int64
	vars    []workflow.Variable
}

// ended is how a step ended.
type ended struct {
	status   string
	attempts int
	output   workflow.Value
	error    *workflow.Error
}

// seen is an event with the execution it happened in, for coverage.
type seen struct {
	on    *run
	event workflow.Event
}

// add notes an event.
func (r *record) add(x *run, e workflow.Recorded) {
	r.seen = append(r.seen, seen{x, e.Event})
	if r.ended == nil {
		r.began = e.At
		r.ended, r.calls, r.used = map[string]*ended{}, map[string][]workflow.Value{}, map[*mock]bool{}
	}
	if line := describe(e.Event); line != "" {
		if x.id != executionID {
			line += "   (in " + x.id + ")"
		}
		r.tell(e.At, line)
	}
	switch e := e.Event.(type) {
	case workflow.ActivityScheduled:
		if !e.Walked {
			r.step(x, e.Step).attempts = e.Attempt
		}
	case workflow.ActivityCompleted:
		r.completed(x, e.Step, "completed", e.Output)
	case workflow.ActivityCaught:
		r.completed(x, e.Step, "caught", e.Output)
	case workflow.ActivityFailed:
		r.step(x, e.Step).error = e.Error
		if e.Status.Ended() {
			r.fail(x, e.Step, e.Status)
		}
	case workflow.OperatorMoved:
		if e.Move == workflow.MoveFail {
			if e.Error != nil {
				r.step(x, e.Step).error = e.Error
			}
			r.fail(x, e.Step, workflow.StatusFailed)
		}
	case workflow.ActivitySkipped:
		text, _ := e.Status.MarshalText() // tells skipped from dead
		r.step(x, e.Step).status = string(text)
	case workflow.EventEmitted:
		r.emitted = append(r.emitted, canonical(map[string]any{"type": e.Kind, "key": e.Key, "source": e.Source, "data": filled(e.Data)}))
	case workflow.WorkflowStarted:
		if x.isMain() && x.origin.Shard == nil {
			r.vars = append([]workflow.Variable(nil), e.Vars...)
		}
	case workflow.VariablesSet:
		r.set(x, e.Vars)
	case workflow.WorkflowPaused:
		if x.isMain() {
			r.waits = e.Reasons
		}
	}
}

// tell adds a line to what happened.
func (r *record) tell(at int64, line string) {
	r.trace = append(r.trace, fmt.Sprintf("%8s  %s", shortTime(at-r.began), line))
}

// fail notes the bad end of a step.
func (r *record) fail(x *run, step string, status workflow.Status) {
	r.step(x, step).status = status.String()
	if status == workflow.StatusFailed && x.isStep(step) {
		r.failed = append(r.failed, x.name(step))
	}
}

// set notes new values of variables.
func (r *record) set(x *run, vars []workflow.Variable) {
	if !x.isMain() || x.origin.Shard != nil {
		return
	}
	for _, v := range vars {
		for i := range r.vars {
			if r.vars[i].Name == v.Name {
				r.vars[i].Value = v.Value
			}
		}
	}
}

// name is a step's path as test files write it.
func (x *run) name(step string) string {
	if x.prefix == "" {
		return step
	}
	return x.prefix + ":" + step
}

// isMain reports whether this is the execution under test, a part of its chain, or a shard of it.
func (x *run) isMain() bool { return x.prefix == "" && x.ours }

// isStep reports whether a path names a step of the definition, not one beside it (a compensation, a call of an agent), and, in
// a shard, not the foreach that it is a part of.
func (x *run) isStep(path string) bool {
	if s := x.origin.Shard; s != nil && s.Step == path {
		return false
	}
	_, ok := findStep(&x.subject.def.Body, path)
	return ok
}

func (r *record) step(x *run, path string) *ended {
	name := x.name(path)
	e := r.ended[name]
	if e == nil {
		e = &ended{status: "pending"}
		r.ended[name] = e
	}
	return e
}

func (r *record) completed(x *run, path, status string, output workflow.Payload) {
	e := r.step(x, path)
	e.status, e.output = status, workflow.Value(filled(output))
	switch undo, ok := strings.CutSuffix(plainSide(path), "!undo"); {
	case ok && x.isMain():
		if last := len(r.undone) - 1; last < 0 || r.undone[last] != undo { // the shards of a foreach are undone one by one
			r.undone = append(r.undone, undo)
		}
	case x.isMain() && x.isStep(path):
		r.path = append(r.path, path)
	}
}

// called notes a call for those who expect it.
func (r *record) called(c *call) {
	r.calls[c.path] = append(r.calls[c.path], c.view)
	if c.key != c.path {
		r.calls[c.key] = append(r.calls[c.key], c.view)
	}
}

func (r *record) use(m *mock) { r.used[m] = true }

// findStep finds the step of a path; indexes of items and iterations are passed over.
func findStep(b *workflow.Body, path string) (*workflow.Step, bool) {
	name, rest, more := strings.Cut(path, "/")
	for i := range b.Steps {
		st := &b.Steps[i]
		if st.Name != name {
			continue
		}
		if !more {
			return st, true
		}
		return findInside(st, rest)
	}
	return nil, false
}

func findInside(st *workflow.Step, rest string) (*workflow.Step, bool) {
	switch {
	case st.Group != nil:
		return findStep(&st.Group.Body, rest)
	case st.Race != nil:
		branch, rest, _ := strings.Cut(rest, "/")
		for i := range st.Race.Branches {
			if st.Race.Branches[i].Name == branch {
				return findStep(&st.Race.Branches[i].Body, rest)
			}
		}
	case st.Foreach != nil:
		_, rest, _ := strings.Cut(rest, "/")
		return findStep(&st.Foreach.Body, rest)
	case st.Loop != nil:
		_, rest, _ := strings.Cut(rest, "/")
		return findStep(&st.Loop.Body, rest)
	}
	return nil, false
}

// describe is one line of a trace; empty for what only the engine cares about.
func describe(e workflow.Event) string {
	switch e := e.(type) {
	case workflow.WorkflowCreated:
		return "started with " + clip(string(filled(e.Input)), 80)
	case workflow.ActivityStarted:
		if !e.Walked {
			return e.Step + " runs"
		}
	case workflow.ActivityCompleted:
		return e.Step + " completed: " + clip(string(filled(e.Output)), 80)
	case workflow.ActivityFailed:
		return e.Step + " failed: " + clip(e.Error.Error(), 120)
	case workflow.ActivityRetried:
		return e.Step + " will be tried again"
	case workflow.ActivityCaught:
		return e.Step + " caught"
	case workflow.ActivitySkipped:
		return e.Step + " skipped"
	case workflow.TimerFired:
		return e.Step + ": its time has come"
	case workflow.TimeoutFired:
		return strings.TrimSpace(e.Step + " timeout (" + string(e.Scope) + ")")
	case workflow.EventReceived:
		return strings.TrimSpace(e.Step + " got event " + e.Event.Kind)
	case workflow.EventTaken:
		return e.Step + " took an event that was kept"
	case workflow.TaskCreated:
		return e.Step + " opened a task: " + clip(e.Title, 60)
	case workflow.TaskDecided:
		return e.Step + " " + string(e.Verdict) + " by " + e.By
	case workflow.TaskEscalated:
		return e.Step + " escalated to " + strings.Join(e.To, ", ")
	case workflow.EventEmitted:
		return e.Step + " emitted " + e.Kind
	case workflow.CancelRequested:
		return "cancel (" + string(e.Mode) + ")"
	case workflow.FailureHeld:
		return e.Step + " waits for an operator"
	case workflow.WorkflowCompleted:
		return "Completed"
	case workflow.WorkflowFailed:
		return "Failed: " + clip(e.Error.Error(), 120)
	case workflow.WorkflowCancelled:
		return "Cancelled"
	case workflow.CompensationStarted:
		return "compensation starts"
	case workflow.CompensationCompleted:
		return "Completed, compensated"
	}
	return ""
}

// shortTime is a length of time in a column of a trace.
func shortTime(ns int64) string {
	d := time.Duration(ns)
	text := ""
	if days := d / (24 * time.Hour); days > 0 {
		text = fmt.Sprintf("%dd", days)
		d -= days * 24 * time.Hour
		if d == 0 {
			return "+" + text
		}
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return "+" + text + s
}
