package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// slow is how long an attempt may run before a line says that it does: most end sooner, and one line each is enough.
const slow = 300 * time.Millisecond

// progress shows what happens to an execution and its children, a line for each thing that matters to a person.
type progress struct {
	out    io.Writer
	colour bool
	// opened hears that a task for a person was opened.
	opened func()

	mu        sync.Mutex
	execution string
	early     []func()               // what happened before the execution was known
	attempts  map[stepOf]*runningNow // those that are under way
}

type stepOf struct{ execution, step string }

type runningNow struct {
	attempt int
	line    *time.Timer
}

func newProgress(env Environment) *progress {
	return &progress{out: env.Err, colour: env.ErrColour, attempts: map[stepOf]*runningNow{}, opened: func() {}}
}

// begin says which execution is followed.
func (p *progress) begin(id, name, version string, existed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.execution = id
	if existed {
		fmt.Fprintf(p.out, "Going on with execution %s of %s.\n", id, name)
	} else {
		fmt.Fprintf(p.out, "Execution %s of %s, version %s.\n", id, name, version)
	}
	for _, f := range p.early {
		f()
	}
	p.early = nil
}

// say writes lines between those of the progress.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, format, args...)
}

// committed hears of each commit of this process.
func (p *progress) committed(s eventstore.Stream, events []workflow.Recorded, _ *workflow.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	show := func() {
		if !ofFamily(s.ID, p.execution) {
			return
		}
		for _, e := range events {
			p.event(s.ID, e)
		}
	}
	if p.execution == "" {
		p.early = append(p.early, show)
		return
	}
	show()
}

// ofFamily reports whether an execution is another one or a child of it, at any depth: their IDs begin with that of their parent.
func ofFamily(id, root string) bool { return id == root || strings.HasPrefix(id, root+"/") }

func (p *progress) event(execution string, r workflow.Recorded) {
	line := tell(r.Event)
	key := stepOf{execution, stepIn(r.Event)}
	switch e := r.Event.(type) {
	case workflow.ActivityScheduled:
		if !e.Walked {
			p.track(execution, e, r.At)
		}
		return
	case workflow.TaskCreated:
		p.opened()
		p.waits(key)
	case workflow.ActivityStarted:
		if e.Worker == "" { // the engine does it itself
			p.waits(key)
		}
		return
	case workflow.TimerSet, workflow.EventAwaited, workflow.ChildRequested, workflow.ActivityPending:
		p.waits(key)
	case workflow.ActivityCompleted, workflow.ActivityFailed:
		if now := p.attempts[key]; now != nil {
			now.line.Stop()
			delete(p.attempts, key)
			if now.attempt > 1 {
				line.what = strings.TrimSpace(fmt.Sprintf("attempt %d  %s", now.attempt, line.what))
			}
		}
	}
	p.line(execution, r.At, line)
}

// track lets a line say that an attempt runs, if it does so for long.
func (p *progress) track(execution string, e workflow.ActivityScheduled, at int64) {
	now := &runningNow{attempt: e.Attempt}
	now.line = time.AfterFunc(slow, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.attempts[stepOf{execution, e.Step}] == now {
			p.line(execution, at, told{"▶", e.Step, "runs"})
		}
	})
	p.attempts[stepOf{execution, e.Step}] = now
}

// stepIn is the step of an event that begins or ends the work at one.
func stepIn(e workflow.Event) string {
	switch e := e.(type) {
	case workflow.ActivityStarted:
		return e.Step
	case workflow.ActivityCompleted:
		return e.Step
	case workflow.ActivityFailed:
		return e.Step
	case workflow.TimerSet:
		return e.Step
	case workflow.EventAwaited:
		return e.Step
	case workflow.TaskCreated:
		return e.Step
	case workflow.ChildRequested:
		return e.Step
	case workflow.ActivityPending:
		return e.Step
	}
	return ""
}

// waits says that nobody works at an attempt.
func (p *progress) waits(key stepOf) {
	if now := p.attempts[key]; now != nil {
		now.line.Stop()
		delete(p.attempts, key)
	}
}

func (p *progress) line(execution string, at int64, t told) {
	if t.mark == "" || t.step == "" && execution != p.execution { // a child's end is the end of its step
		return
	}
	step := strings.TrimPrefix(strings.TrimPrefix(execution, p.execution)+"/"+t.step, "/")
	if undone, ok := strings.CutSuffix(step, "!undo"); ok && t.mark == "✓" {
		t.mark, step, t.what = "↩", undone, "undone"
	}
	when := clock(at)
	if p.colour {
		t.mark = colours[t.mark] + t.mark + plain
		when = dim + when + plain
	}
	fmt.Fprintln(p.out, strings.TrimRight(fmt.Sprintf("%s %s %-20s %s", when, t.mark, strings.TrimSuffix(step, "/"), visible(t.what)), " "))
}

func clock(ns int64) string { return time.Unix(0, ns).Local().Format("15:04:05.000") }

var colours = map[string]string{"✓": "\x1b[32m", "✗": red, "↻": yellow, "…": cyan, "▶": "\x1b[34m", "↩": "\x1b[35m", "·": dim}

// told is an event in words. Without a mark it does not matter to a person.
type told struct{ mark, step, what string }

func tell(e workflow.Event) told {
	switch e := e.(type) {
	case workflow.ActivityCompleted:
		return told{"✓", e.Step, brief(e.Output)}
	case workflow.ActivityFailed:
		if e.Status == workflow.StatusCancelled {
			return told{"·", e.Step, "cancelled"}
		}
		return told{"✗", e.Step, e.Error.Error()}
	case workflow.ActivityRetried:
		return told{"↻", e.Step, "again at " + clock(e.At)}
	case workflow.ActivityCaught:
		return told{"·", e.Step, "the failure is caught"}
	case workflow.ActivitySkipped:
		if e.Status == workflow.StatusSkipped {
			return told{"·", e.Step, "skipped"}
		}
	case workflow.TimerSet:
		return told{"…", e.Step, "waits until " + clock(e.At)}
	case workflow.EventAwaited:
		return told{"…", e.Step, "waits for event " + e.Patterns[0].Kind}
	case workflow.ActivityPending:
		return told{"…", e.Step, "was started; its answer is to come"}
	case workflow.TaskCreated:
		return told{"…", e.Step, "waits for a decision: " + e.Title}
	case workflow.TaskReminded:
		return told{"·", e.Step, "reminded"}
	case workflow.TaskEscalated:
		return told{"·", e.Step, "escalated to " + strings.Join(e.To, ", ")}
	case workflow.TaskDecided:
		if e.Verdict == workflow.VerdictReassign { // the others end the step, which says so
			return told{"·", e.Step, "is now for " + strings.Join(e.To, ", ")}
		}
	case workflow.ChildRequested:
		return told{"…", e.Step, "runs workflow " + e.Workflow}
	case workflow.LeaseExpired:
		return told{"↻", e.Step, "its worker was lost"}
	case workflow.CompensationStarted:
		return told{"↩", "", "what was done is undone, the last first"}
	case workflow.CancelRequested:
		return told{"✗", "", "cancel: " + string(e.Mode)}
	case workflow.WorkflowPaused:
		if len(e.Reasons) == 1 && e.Reasons[0] == workflow.WaitOperator {
			return told{"…", "", "waits for an operator: wovyr retry, skip, complete, fail or resume"}
		}
	case workflow.WorkflowCompleted:
		return told{"✓", "", "completed"}
	case workflow.WorkflowFailed:
		return told{"✗", "", "failed: " + e.Error.Error()}
	case workflow.CompensationCompleted:
		return told{"↩", "", "compensated"}
	case workflow.WorkflowCancelled:
		return told{"✗", "", "cancelled"}
	}
	return told{}
}

// brief is as much of an output as fits in a line.
func brief(p workflow.Payload) string {
	if p.IsZero() || string(p.JSON) == "null" {
		return ""
	}
	return clip(string(p.JSON), 72)
}
