package client

import (
	"encoding/json"
	"time"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Execution is one execution as people see it (WF-002 §5).
type Execution struct {
	ID       string `json:"execution_id"`
	Workflow string `json:"workflow"`
	Version  string `json:"version"` // of the definition
	// Status is the state of WF-006 §5 in lower case; Outcome says how it ended: completed, failed, cancelled, timed_out, or with
	// "compensated" if its work was undone.
	Status  string `json:"status"`
	Outcome string `json:"outcome,omitempty"`
	// Output is that of a completed execution; Error that of one which was not. Where they are not looked up (in lists, and of a start that has
	// not ended) Output is nil, and both are left out of the JSON form.
	Output json.RawMessage `json:"output"`
	Error  *workflow.Error `json:"error"`
	// FailedStep is the step whose failure ended the execution, the innermost one.
	FailedStep string `json:"failed_step,omitempty"`
	// Held are the failures that an operator has to decide about.
	Held []Held `json:"held,omitempty"`

	Waiting     []string          `json:"waiting,omitempty"` // reasons
	Tasks       []Task            `json:"tasks,omitempty"`   // open ones
	Input       json.RawMessage   `json:"input,omitempty"`
	Correlation string            `json:"correlation_id,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Parent      string            `json:"parent,omitempty"`
	// RedriveOf is the execution that this one goes on for, with what that one had completed.
	RedriveOf string `json:"redrive_of,omitempty"`
	// Next is the execution that goes on for this one (continue_as_new).
	Next   string `json:"next,omitempty"`
	Events uint64 `json:"events,omitempty"`
	// Repairs is how often the sweep sent something again since it moved last: more than a few, and something is wrong.
	Repairs   uint32    `json:"repairs,omitempty"`
	StartedAt time.Time `json:"started_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	WakesAt   time.Time `json:"wakes_at,omitzero"`
}

// MarshalJSON leaves output and error out where they are not known, so that nobody takes them for none.
func (e Execution) MarshalJSON() ([]byte, error) {
	type plain Execution
	if e.Output != nil {
		return json.Marshal(plain(e))
	}
	type absent *struct{}
	return json.Marshal(struct {
		plain
		Output absent `json:"output,omitempty"`
		Error  absent `json:"error,omitempty"`
	}{plain: plain(e)})
}

// Held is a failure that waits for an operator. Step is empty for the timeout of the whole execution; Undo says that it is the step's
// compensation that failed.
type Held struct {
	Step  string          `json:"step,omitempty"`
	Undo  bool            `json:"undo,omitempty"`
	Error *workflow.Error `json:"error"`
}

// Ended reports whether the execution has come to its end.
func (e *Execution) Ended() bool {
	return e.Status == "completed" || e.Status == "failed" || e.Status == "cancelled"
}

// Task is a decision that a person has to take.
type Task struct {
	Execution string    `json:"execution_id"`
	Step      string    `json:"step"`
	Title     string    `json:"title"`
	Assignees []string  `json:"assignees,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	DueAt     time.Time `json:"due_at,omitzero"`
}

// Event is one event of a history.
type Event struct {
	Type    string    `json:"type"`
	Version uint64    `json:"version"`
	At      time.Time `json:"at"`
	Step    string    `json:"step,omitempty"`
	Attempt int       `json:"attempt,omitempty"`
	Worker  string    `json:"worker,omitempty"`
	// CommitBytes is the size of the commit that begins with the event, as it is stored; 0 of an event that is not the first of its commit.
	CommitBytes int             `json:"commit_bytes,omitempty"`
	Data        json.RawMessage `json:"data,omitempty"`
}

// Deployed is what a deploy led to.
type Deployed struct {
	Workflow string `json:"workflow"`
	Version  uint64 `json:"version"`
	Hash     string `json:"hash"`
	New      bool   `json:"new"`
	// Webhooks are the paths, below the server's address, that the workflow's webhooks are sent to.
	Webhooks []string `json:"webhooks,omitempty"`
	// Diagnostics are warnings, place by place: of the language, and of what no worker here can run.
	Diagnostics json.RawMessage `json:"diagnostics,omitempty"`
}

// Hooked is the answer to a request that a service sent to a webhook.
type Hooked struct {
	Accepted bool `json:"accepted"`
	// Execution is what it started; Existed says that an earlier request of the same delivery did. Empty: the event was handed to those who wait for it.
	Execution string `json:"execution_id,omitempty"`
	Existed   bool   `json:"existed,omitempty"`
}

// StartRequest asks for an execution.
type StartRequest struct {
	Workflow string          `json:"workflow"`
	Version  string          `json:"version,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"` // none is {}
	// Key is an idempotency key: the same key finds the same execution.
	Key         string            `json:"key,omitempty"`
	Correlation string            `json:"correlation_id,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
}

// Signal is an event for one execution, or for whoever waits for its type and key.
type Signal struct {
	// ID makes a repeat harmless; empty: the server makes one.
	ID     string `json:"id,omitempty"`
	Type   string `json:"type"`
	Key    string `json:"key,omitempty"`
	Source string `json:"source,omitempty"`
	// From is how the event came, for steps that wait for it `from` bus, webhook, queue or file; empty: bus, and for a signal to one execution nothing.
	From string          `json:"from,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
}

// CancelRequest asks for an execution's end.
type CancelRequest struct {
	ID     string `json:"id,omitempty"`
	Mode   string `json:"mode,omitempty"` // immediate (the default), graceful, compensated
	Reason string `json:"reason,omitempty"`
}

// Decision is a person's verdict about a task.
type Decision struct {
	ID      string          `json:"id,omitempty"`
	Verdict string          `json:"verdict"` // approve, reject, reassign
	Answer  json.RawMessage `json:"answer,omitempty"`
	Comment string          `json:"comment,omitempty"`
	By      string          `json:"by,omitempty"`
	To      []string        `json:"to,omitempty"`
}

// CallbackAnswer is the answer of a call that was only started: an output or an error.
type CallbackAnswer struct {
	Output json.RawMessage `json:"output,omitempty"`
	Error  *workflow.Error `json:"error,omitempty"`
}

// OperatorMove is what an operator does to an execution that waits for one.
type OperatorMove struct {
	ID     string          `json:"id,omitempty"`
	Move   string          `json:"move"` // retry, complete, skip, fail, resume
	Step   string          `json:"step,omitempty"`
	Output json.RawMessage `json:"output,omitempty"` // of complete
	Error  *workflow.Error `json:"error,omitempty"`  // of fail; none: the step's own
	By     string          `json:"by,omitempty"`
}

// RedriveRequest asks for a new execution that goes on where an ended one failed or was cancelled.
type RedriveRequest struct {
	// Key is an idempotency key: the same key finds the same execution.
	Key string `json:"key,omitempty"`
	// Version is the version to go on with; empty: that of the ended execution.
	Version string `json:"version,omitempty"`
	// From are steps that run again, with all that follows on them; empty: those that did not end well.
	From []string `json:"from,omitempty"`
	// Input replaces the input; none keeps it.
	Input json.RawMessage `json:"input,omitempty"`
	By    string          `json:"by,omitempty"`
}

// DeadLetter is a message that could not be handled, for an operator.
type DeadLetter struct {
	ID        string    `json:"id"`
	Execution string    `json:"execution_id,omitempty"`
	Queue     string    `json:"queue"` // inbox, tasks/CLASS or feed
	Code      string    `json:"code"`  // refused.… can never be right; failing.… may be, once its cause is gone
	Cause     string    `json:"cause"`
	At        time.Time `json:"at"`
	// Message is what was to be handled, as far as it can be shown; lists leave it out.
	Message json.RawMessage `json:"message,omitempty"`
}

// LetterMove says who decides about a dead letter, and why.
type LetterMove struct {
	Reason string `json:"reason,omitempty"` // needed to drop one
	By     string `json:"by,omitempty"`
}

// Proof says that a history is one unbroken chain, up to its head.
type Proof struct {
	Execution string `json:"execution_id"`
	Commits   int    `json:"commits"`
	Events    uint64 `json:"events"`
	Hash      string `json:"hash"` // of the last commit: it stands for the whole history
}

// Problem is the body of every answer that is not a success (RFC 9457).
type Problem struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Title  string `json:"title"`
	Detail string `json:"detail,omitempty"`
	// State and Outcome are those of the execution, where they are the reason.
	State   string `json:"state,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	// Diagnostics says what is wrong with a document, place by place.
	Diagnostics json.RawMessage `json:"diagnostics,omitempty"`
}

// Error implements error: the title and what to do.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return p.Title
	}
	return p.Title + ": " + p.Detail
}

// Page is one page of a list.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"` // cursor of the next page; empty at the end
}
