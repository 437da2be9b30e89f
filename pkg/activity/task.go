package activity

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"time"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Activity is one kind of work. Run must stop soon after ctx ends, must be safe for concurrent use and
// must return a typed *Error where the workflow is to tell failures apart (any other error becomes
// activity.error). It must not put a secret into an error, an output or a log.
type Activity interface {
	Run(ctx context.Context, t *Task) (Result, error)
}

// Task is one attempt to run (WF-002 §9, §12).
type Task struct {
	// Who asks: the tenant, the execution and its workflow.
	Tenant, Execution, Workflow, Correlation string
	// Step is the path of the step instance, such as "each/3/price"; Attempt counts from 1.
	Step    string
	Attempt int
	// Fence grows with every scheduling of the step, recoveries included. Whoever is called can refuse a worker that was thought lost and
	// is not: its fence is lower than the highest seen.
	Fence int
	// IdempotencyKey is the same for every attempt and every recovery of this step: pass it on to whoever can use it.
	IdempotencyKey string
	// Deadline is when ctx ends; zero means no limit.
	Deadline time.Time

	// Kind and Name say what to call; Name is empty for kinds that have none.
	Kind workflow.Kind
	Name string
	// Target is the kind's own block of the definition, rendered: a name, a request, a prompt. It has no parts; secrets are filled in.
	Target Document
	// With is the input of the call, rendered.
	With Document
	// Entry is set when the activity is entered again with the results of the calls that it asked for; nil the first time.
	Entry *Entry
	// MaxMemory is the limit of the step in bytes, zero for none. Kinds that can enforce it do.
	MaxMemory int64

	// Beat tells the worker that the attempt is alive, with an optional detail for people. It never blocks for long. May be nil.
	Beat func(detail string)
	// Log writes to the execution's log; secrets are masked there. May be nil.
	Log *slog.Logger
}

// Entry is what an agent loop goes on with.
type Entry struct {
	// Turn counts the answers to Continue so far, from 1.
	Turn int
	// State is what Continue left.
	State Document
	// Results are those of the calls, in their order.
	Results []CallResult
}

// CallResult is what a call came to: an output or an error.
type CallResult struct {
	ID     string
	Output Document
	Error  *Error
}

// Heartbeat tells the worker that this attempt is alive.
func (t *Task) Heartbeat(detail string) {
	if t.Beat != nil {
		t.Beat(detail)
	}
}

// Logger returns the task's logger, or one that writes nothing.
func (t *Task) Logger() *slog.Logger {
	if t.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return t.Log
}

// Result is what an attempt that did not fail came to. At most one of Stream, Pending and Continue is set.
type Result struct {
	// Output is JSON; nil means null.
	Output json.RawMessage
	// Stream is a large output: the JSON text, read and closed by the worker, which keeps it in the payload store and
	// never whole in memory.
	Stream io.ReadCloser
	// Pending says that the work was only started: the answer comes later, by the callback token.
	Pending bool
	// Continue asks for calls first (agent loops).
	Continue *Continue
}

// Continue asks the engine to run calls, each a durable activity of its own, and to run this activity again with
// their results and State.
type Continue struct {
	Calls []NestedCall    `json:"calls"`
	State json.RawMessage `json:"state,omitempty"`
}

// NestedCall is one call that Continue asks for.
type NestedCall struct {
	// ID names the call within its turn.
	ID   string          `json:"id"`
	Kind workflow.Kind   `json:"kind"`
	Name string          `json:"name,omitempty"`
	With json.RawMessage `json:"with,omitempty"`
	// Approve names who must agree first; empty: nobody.
	Approve string `json:"approve,omitempty"`
}
