package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// progress shows what happens to an execution and its children, a line for each thing that matters to a person.
type progress struct {
	out    io.Writer
	colour bool

	mu        sync.Mutex
	execution string
	early     []func() // what happened before the execution was known
}

func newProgress(env Environment) *progress { return &progress{out: env.Err, colour: env.Colour} }

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

// committed hears of each commit of this process.
func (p *progress) committed(s eventstore.Stream, events []workflow.Recorded, _ *workflow.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	show := func() {
		for _, e := range events {
			p.line(s, e)
		}
	}
	if p.execution == "" {
		p.early = append(p.early, show)
		return
	}
	show()
}

func (p *progress) line(s eventstore.Stream, r workflow.Recorded) {
	mark, step, what := tell(r.Event)
	if mark == "" {
		return
	}
	at := time.Unix(0, r.At).Local().Format("15:04:05.000")
	child := ""
	if s.ID != p.execution {
		child = s.ID + "  "
	}
	if p.colour {
		mark = colours[mark] + mark + "\x1b[0m"
		at = "\x1b[2m" + at + "\x1b[0m"
	}
	fmt.Fprintf(p.out, "%s %s %s%-24s %s\n", at, mark, child, step, what)
}

var colours = map[string]string{"✓": "\x1b[32m", "✗": "\x1b[31m", "↻": "\x1b[33m", "…": "\x1b[36m", "▶": "\x1b[34m", "↩": "\x1b[35m", "·": "\x1b[2m"}

// tell puts an event into words; no mark: it does not matter to a person.
func tell(e workflow.Event) (mark, step, what string) {
	switch e := e.(type) {
	case workflow.ActivityStarted:
		if e.Worker != "" {
			return "▶", e.Step, "started"
		}
	case workflow.ActivityCompleted:
		return "✓", e.Step, "completed"
	case workflow.ActivityFailed:
		return "✗", e.Step, e.Error.Error()
	case workflow.ActivityRetried:
		return "↻", e.Step, "again at " + time.Unix(0, e.At).Local().Format("15:04:05.000")
	case workflow.ActivityCaught:
		return "·", e.Step, "the failure is caught"
	case workflow.ActivitySkipped:
		return "·", e.Step, "skipped"
	case workflow.TimerSet:
		return "…", e.Step, "until " + time.Unix(0, e.At).Local().Format("2006-01-02 15:04:05")
	case workflow.EventAwaited:
		return "…", e.Step, "waits for event " + e.Patterns[0].Kind
	case workflow.TaskCreated:
		return "…", e.Step, "waits for a decision: " + e.Title
	case workflow.TaskDecided:
		return "·", e.Step, string(e.Verdict) + " by " + e.By
	case workflow.ChildRequested:
		return "…", e.Step, "runs workflow " + e.Workflow
	case workflow.LeaseExpired:
		return "↻", e.Step, "its worker was lost"
	case workflow.CompensationStarted:
		return "↩", "", "completed work is being undone"
	case workflow.CancelRequested:
		return "✗", "", "cancel: " + string(e.Mode)
	case workflow.WorkflowCompleted:
		return "✓", "", "completed"
	case workflow.WorkflowFailed:
		return "✗", "", "failed: " + e.Error.Error()
	case workflow.WorkflowCancelled:
		return "✗", "", "cancelled"
	case workflow.CompensationCompleted:
		return "↩", "", "compensated"
	}
	return "", "", ""
}
