package activity

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"time"

	"github.com/wovyr/wovyr/pkg/secret"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Activity is one kind of work. Run must stop soon after ctx ends, must be safe for concurrent use, must leave nothing running when it
// returns but what its Result.Stream needs, and must return a typed *Error where the workflow is to tell failures apart (any other
// error becomes activity.error). It reads no more of an answer than Task.OutputLimit. Package activitytest checks all that.
//
// Workers call it by the function Run of this package, which masks secrets and holds the bounds.
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
	// Callback says that the work is only to be started (`callback: true`): what Run returns is not the answer, that comes by the callback's
	// token.
	Callback bool
	// MaxMemory is the limit of the step in bytes, zero for none. Kinds that can enforce it do.
	MaxMemory int64

	// MaxOutput is the most bytes of the output, streams included; zero is DefaultMaxOutput. See OutputLimit.
	MaxOutput int64

	// Resolve gives the value of a secret, as Secret does. May be nil: then there are none.
	Resolve func(ctx context.Context, name string) (string, error)
	// Mask gives the mask of all secrets that activities of the tenant were given so far. May be nil: then there are none.
	Mask func() *secret.Mask

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

// Secret returns the value of a secret by its name. It is masked from then on in all that the attempt leaves behind. Kinds need it only for
// what their own set-up names: secrets in Target and With are filled in.
func (t *Task) Secret(ctx context.Context, name string) (string, error) {
	if t.Resolve == nil {
		return "", workflow.Errorf(secret.CodeUnknown, workflow.CategoryInfrastructure, "this worker has no secrets, so not %q", name)
	}
	return t.Resolve(ctx, name)
}

// OutputLimit is the most bytes of the output.
func (t *Task) OutputLimit() int64 {
	if t.MaxOutput > 0 {
		return t.MaxOutput
	}
	return DefaultMaxOutput
}

// Masked masks a text that is to be cut: half a secret is none that Run would know. What is left whole need not be masked here.
func (t *Task) Masked(text string) string { return t.mask().String(text) }

// mask is the mask as it is now; nil masks nothing.
func (t *Task) mask() *secret.Mask {
	if t.Mask == nil {
		return nil
	}
	return t.Mask()
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
	// Output is JSON, at most MaxInline bytes; nil means null.
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
