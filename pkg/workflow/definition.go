package workflow

import "strings"

// FormatV1 is the version of the compiled form that this package describes.
const FormatV1 = 1

// Definition is a compiled workflow: validated, immutable, self-contained. It is what a catalogue
// stores and what the engine interprets (WF-001 §6 "Workflow Definition"). Its JSON form is
// deterministic, so Hash addresses its content.
//
// A Definition holds expressions as source text; package expr compiles and caches them.
type Definition struct {
	Format      int       `json:"format"`
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Labels      []Label   `json:"labels,omitempty"` // sorted by key
	Input       Value     `json:"input,omitempty"`  // JSON Schema of the input; absent: any
	Vars        []Var     `json:"vars,omitempty"`   // in the order of the document
	Limits      Limits    `json:"limits"`
	OnFailure   OnFailure `json:"on_failure"`
	// OnExit names steps of Body that run last, whatever the end (DSL.md: on_exit), in order.
	OnExit   []string  `json:"on_exit,omitempty"`
	Triggers []Trigger `json:"triggers,omitempty"`
	// Output makes the workflow's output; nil: the outputs of the last steps, by name.
	Output *Template `json:"output,omitempty"`
	// InputUses says which parts of the input expressions read, as Step.Uses does for outputs.
	InputUses []Use `json:"input_uses,omitempty"`
	Body      Body  `json:"body"`
}

// Label is one key and value for finding and grouping workflows.
type Label struct {
	Key   string `json:"key" cbor:"1,keyasint,omitempty"`
	Value string `json:"value" cbor:"2,keyasint,omitempty"`
}

// Var declares a workflow variable and its first value.
type Var struct {
	Name    string    `json:"name"`
	Initial *Template `json:"initial"`
}

// Limits are the resource limits of WF-002 §20. Nil or zero means the engine's default.
type Limits struct {
	Timeout        *Duration `json:"timeout,omitempty"` // of the whole execution
	MaxParallelism *Count    `json:"max_parallelism,omitempty"`
	MaxMemory      int64     `json:"max_memory,omitempty"` // bytes, per activity
	Retries        *Count    `json:"retries,omitempty"`    // sum over all steps
}

// OnFailure says what an uncaught failure leads to.
type OnFailure string

// The three answers to an uncaught failure.
const (
	OnFailureFail       OnFailure = "fail" // the default
	OnFailureCompensate OnFailure = "compensate"
	OnFailurePause      OnFailure = "pause" // wait for an operator
)

// Position is a place in the document; both numbers start at 1, zero is unknown.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Expr is the source of one expression, without its ${…} braces.
type Expr struct {
	Source string   `json:"expr"`
	At     Position `json:"at"`
}

// Template is a JSON tree whose strings may hold ${…}; package expr renders it.
type Template struct {
	JSON Value    `json:"json"`
	At   Position `json:"at"`
	// Leaves gives the place of each string that holds an expression, by JSON pointer, in the order of the tree.
	Leaves []LeafPosition `json:"leaves,omitempty"`
}

// LeafPosition is the place in the document of one string of a Template.
type LeafPosition struct {
	Pointer string   `json:"pointer"`
	At      Position `json:"at"`
}

// Duration is a fixed length of time or an expression that yields one.
type Duration struct {
	Fixed int64 `json:"ns,omitempty"` // nanoseconds; used when Expr is nil
	Expr  *Expr `json:"from,omitempty"`
}

// Count is a fixed whole number or an expression that yields one.
type Count struct {
	Fixed int64 `json:"n,omitempty"` // used when Expr is nil
	Expr  *Expr `json:"from,omitempty"`
}

// Body is a scope of steps: the workflow itself, or the inside of a foreach, loop, race branch or group.
// Steps stand in the order of the document; dependencies are by name and never form a cycle.
type Body struct {
	Steps []Step `json:"steps"`
	// Last names the steps that no other step of this body needs: their outputs are the body's default output.
	Last []string `json:"last,omitempty"`
}

// Step is one node of the graph.
type Step struct {
	Name string   `json:"name"`
	Kind Kind     `json:"kind"`
	At   Position `json:"at"`

	// When decides whether the step runs; false skips this step alone.
	When *Expr `json:"when,omitempty"`
	// Needs are the dependencies inside this body, sorted by name: declared ones and those that
	// expressions of the step (and of bodies inside it) imply.
	Needs []Need `json:"needs,omitempty"`
	Join  Join   `json:"join"`
	// Picked is set for a step that a `then` (of switch, match or on_error) names: it never starts by itself.
	// It lists the steps that can pick it, sorted.
	Picked []string `json:"picked,omitempty"`
	// Exit is set for a step of on_exit.
	Exit bool `json:"exit,omitempty"`

	// Exactly one of these is set; which one, Kind says.
	Call          *Call      `json:"call,omitempty"` // function, http, grpc, ai, tool, script and kinds added by users
	Timer         *Timer     `json:"timer,omitempty"`
	Human         *Human     `json:"human,omitempty"`
	Event         *EventWait `json:"event,omitempty"`
	Child         *Child     `json:"child,omitempty"` // kind workflow
	Switch        *Switch    `json:"switch,omitempty"`
	Match         *Match     `json:"match,omitempty"`
	Foreach       *Foreach   `json:"foreach,omitempty"`
	Loop          *Loop      `json:"loop,omitempty"`
	Race          *Race      `json:"race,omitempty"`
	Group         *Group     `json:"group,omitempty"`
	Value         *Template  `json:"value,omitempty"`
	Set           *Set       `json:"set,omitempty"`
	Emit          *Emit      `json:"emit,omitempty"`
	Fail          *Fail      `json:"fail,omitempty"`
	ContinueAsNew *Template  `json:"continue_as_new,omitempty"` // the next execution's input

	// Policies. Those that the document leaves out are filled from `defaults`, then nil.
	Timeout         *Duration   `json:"timeout,omitempty"`          // one attempt, start to close
	ScheduleTimeout *Duration   `json:"schedule_timeout,omitempty"` // ready to start
	Heartbeat       *Duration   `json:"heartbeat,omitempty"`        // longest silence of a running attempt
	WaitTimeout     *Duration   `json:"wait_timeout,omitempty"`     // of a step that waits
	Retry           *Retry      `json:"retry,omitempty"`
	OnError         []Handler   `json:"on_error,omitempty"` // the first that matches
	Compensate      *Compensate `json:"compensate,omitempty"`
	Idempotent      *bool       `json:"idempotent,omitempty"`
	MaxMemory       int64       `json:"max_memory,omitempty"` // bytes
	MaxRecoveries   *Count      `json:"max_recoveries,omitempty"`

	// Uses lists the parts of this step's output that expressions read, sorted, without parts of listed parts.
	// A large output is stored by reference together with just these (commit protocol, point 10).
	Uses []Use `json:"uses,omitempty"`
}

// Use is one part of a value that expressions read.
type Use struct {
	// Path leads to the part, outermost key first; list indexes stand as decimal text. Empty is the whole value.
	Path []string `json:"path"`
	// Pass means that every reader hands the part on whole (an activity's input, an output): a reference will do.
	Pass bool `json:"pass,omitempty"`
	// Size means that the number of its items must be known too (foreach items).
	Size bool `json:"size,omitempty"`
}

// Kind is the word of the language that says what a step does.
type Kind string

// The kinds of the language. Every kind that has a Call is an activity kind and found in a registry;
// users may add more of them.
const (
	KindFunction      Kind = "function"
	KindHTTP          Kind = "http"
	KindGRPC          Kind = "grpc"
	KindAI            Kind = "ai"
	KindTool          Kind = "tool"
	KindScript        Kind = "script"
	KindTimer         Kind = "timer"
	KindHuman         Kind = "human"
	KindEvent         Kind = "event"
	KindWorkflow      Kind = "workflow"
	KindSwitch        Kind = "switch"
	KindMatch         Kind = "match"
	KindForeach       Kind = "foreach"
	KindLoop          Kind = "loop"
	KindRace          Kind = "race"
	KindGroup         Kind = "group"
	KindValue         Kind = "value"
	KindSet           Kind = "set"
	KindEmit          Kind = "emit"
	KindFail          Kind = "fail"
	KindContinueAsNew Kind = "continue_as_new"
)

// Need is one dependency of a step.
type Need struct {
	Step string `json:"step"`
	End  End    `json:"end"`
	// Implied is set when no `needs` names it: an expression reads the step.
	Implied bool `json:"implied,omitempty"`
}

// End is the end of a step that a need waits for.
type End string

// The ends of a step (DSL.md, Needs).
const (
	EndMet       End = "met"       // the default: completed, caught, or skipped by its own `when`
	EndCompleted End = "completed" // strictly
	EndFailed    End = "failed"
	EndSkipped   End = "skipped"
	EndEnded     End = "ended" // any of them
)

// Join says how many needs let a step start.
type Join struct {
	Mode       JoinMode `json:"mode"`
	Count      *Count   `json:"count,omitempty"` // for JoinCount
	CancelRest bool     `json:"cancel_rest,omitempty"`
}

// JoinMode is the word after `join`.
type JoinMode string

// The three joins.
const (
	JoinAll   JoinMode = "all"
	JoinAny   JoinMode = "any"
	JoinCount JoinMode = "count"
)

// Call is one call of an activity kind.
type Call struct {
	// Name is the registered function or tool, where the kind has one and it is fixed; for display and routing.
	Name string `json:"name,omitempty"`
	// Target is the kind's own block as the document gives it: the function's name or {arn}, {command}, {url}; the http
	// request; the ai call. The activity's worker gets it rendered.
	Target *Template `json:"target"`
	// With is the input of function, tool and script; nil for kinds whose input is all in Target.
	With *Template `json:"with,omitempty"`
	// Output is the JSON Schema declared for the result, or nil.
	Output Value `json:"output,omitempty"`
	// Callback: the call only starts the work; the answer comes later by API.
	Callback bool `json:"callback,omitempty"`
}

// Timer delays. Exactly one of For, Until and Cron is set.
type Timer struct {
	For      *Duration `json:"for,omitempty"`
	Until    *Template `json:"until,omitempty"` // a time
	Cron     string    `json:"cron,omitempty"`  // five fields; the next match
	Timezone string    `json:"timezone,omitempty"`
}

// Human waits for a person's decision.
type Human struct {
	Title     *Template    `json:"title"`
	Details   *Template    `json:"details,omitempty"`
	Assignees *Template    `json:"assignees,omitempty"` // a list of names, 'role:…' and 'user:…'
	Form      Value        `json:"form,omitempty"`      // JSON Schema of the answer
	Notify    *Call        `json:"notify,omitempty"`
	Remind    []Duration   `json:"remind,omitempty"`
	Escalate  []Escalation `json:"escalate,omitempty"`
	OnReject  Reaction     `json:"on_reject"`
	OnTimeout Reaction     `json:"on_timeout"`
	// Kind of Notify, since a Call does not name its own.
	NotifyKind Kind `json:"notify_kind,omitempty"`
}

// Escalation hands a task to somebody else after a time.
type Escalation struct {
	After Duration  `json:"after"`
	To    *Template `json:"to"` // one assignee or a list
}

// Reaction is what a rejected or timed-out task does to its step.
type Reaction string

// The two reactions.
const (
	ReactionFail     Reaction = "fail" // the default
	ReactionContinue Reaction = "continue"
)

// EventWait waits for the first event that one of Any accepts.
type EventWait struct {
	Any    []EventPattern `json:"any"`
	Schema Value          `json:"schema,omitempty"` // of event.data
}

// EventPattern selects events (commit protocol, point 12).
type EventPattern struct {
	Type  string    `json:"type"`
	Key   *Template `json:"key,omitempty"`
	Match *Expr     `json:"match,omitempty"` // over `event`
	From  string    `json:"from,omitempty"`  // bus, webhook, queue, file; empty: any
}

// Child starts another workflow.
type Child struct {
	Name          *Template   `json:"name"`
	Allow         []string    `json:"allow,omitempty"` // sorted; required where Name is an expression
	Version       *Template   `json:"version,omitempty"`
	With          *Template   `json:"with,omitempty"`
	Wait          bool        `json:"wait"`
	OnParentClose ParentClose `json:"on_parent_close"`
}

// ParentClose says what happens to a child whose parent ends first.
type ParentClose string

// The two answers.
const (
	ParentCloseCancel  ParentClose = "cancel" // the default
	ParentCloseAbandon ParentClose = "abandon"
)

// Switch picks by conditions, first true first. A branch without When is the else.
type Switch struct {
	Branches []Branch `json:"branches"`
}

// Branch is one way out of a switch.
type Branch struct {
	When *Expr    `json:"when,omitempty"`
	Then []string `json:"then"`
}

// Match picks by the shape of a value, first fitting case first.
type Match struct {
	Value *Template `json:"value"`
	Cases []Case    `json:"cases"`
}

// Case is one shape. Like is nil for the else.
type Case struct {
	Like *Template `json:"like,omitempty"` // a pattern, see expr.Pattern
	// When is a further condition that may read the names that Like binds, without their $.
	When *Expr    `json:"when,omitempty"`
	Then []string `json:"then"`
}

// Foreach runs its body once for each item.
type Foreach struct {
	Items *Template `json:"items"`
	// As names the item in the body's expressions.
	As               string     `json:"as"`
	MaxParallelism   *Count     `json:"max_parallelism,omitempty"`
	TolerateFailures *Tolerance `json:"tolerate_failures,omitempty"`
	Until            *Expr      `json:"until,omitempty"` // over `collected`
	Collect          *Template  `json:"collect,omitempty"`
	Body             Body       `json:"body"`
	// ItemUses says which parts of an item the body reads.
	ItemUses []Use `json:"item_uses,omitempty"`
}

// Tolerance is how many failed items a foreach accepts: a number or a share of all items.
type Tolerance struct {
	Count   *Count  `json:"count,omitempty"`
	Percent float64 `json:"percent,omitempty"` // 0 to 100; used when Count is nil
}

// Loop runs its body again and again. Exactly one of While (tested before) and Until (tested after) is set, or neither.
type Loop struct {
	While   *Expr     `json:"while,omitempty"`
	Until   *Expr     `json:"until,omitempty"`
	Max     Count     `json:"max"`
	Delay   *Duration `json:"delay,omitempty"` // between iterations
	OnMax   OnMax     `json:"on_max"`
	Collect *Template `json:"collect,omitempty"`
	Body    Body      `json:"body"`
}

// OnMax is what reaching Loop.Max does.
type OnMax string

// The two answers.
const (
	OnMaxFail OnMax = "fail" // the default: loop.max
	OnMaxStop OnMax = "stop"
)

// Race runs branches against each other; the first to complete wins and the others are cancelled.
type Race struct {
	Branches []RaceBranch `json:"branches"` // in the order of the document
}

// RaceBranch is one named contender.
type RaceBranch struct {
	Name string `json:"name"`
	Body Body   `json:"body"`
}

// Group is a body that is one step to the outside: one timeout, one compensation.
type Group struct {
	Body   Body      `json:"body"`
	Output *Template `json:"output,omitempty"`
}

// Set changes workflow variables.
type Set struct {
	Assign []Assignment `json:"assign"` // in the order of the document
}

// Assignment gives one variable its next value.
type Assignment struct {
	Var   string    `json:"var"`
	Value *Template `json:"value"`
	// Reduce says how concurrent writes combine: append, sum, min, max, merge, first, last; empty: plain overwrite.
	Reduce string `json:"reduce,omitempty"`
}

// Emit publishes an event.
type Emit struct {
	Type   *Template `json:"type"`
	Key    *Template `json:"key,omitempty"`
	Source *Template `json:"source,omitempty"`
	Data   *Template `json:"data,omitempty"`
}

// Fail ends with a typed error.
type Fail struct {
	Code    *Template `json:"code"`
	Message *Template `json:"message,omitempty"`
	Details *Template `json:"details,omitempty"`
}

// Retry is the retry policy of WF-002 §23.
type Retry struct {
	Attempts Count     `json:"attempts"` // all attempts, the first included
	Strategy Backoff   `json:"strategy"`
	Delay    Duration  `json:"delay"`
	MaxDelay *Duration `json:"max_delay,omitempty"`
	// Jitter is the share of a delay, 0 to 1, that may be added or taken; which, derives from names, so replay agrees.
	Jitter float64  `json:"jitter,omitempty"`
	On     []string `json:"on,omitempty"` // selectors of Error.Matches; empty: the default
	NotOn  []string `json:"not_on,omitempty"`
}

// Backoff is how a delay grows with the attempts.
type Backoff string

// The three strategies.
const (
	BackoffFixed       Backoff = "fixed"
	BackoffLinear      Backoff = "linear"
	BackoffExponential Backoff = "exponential"
)

// Handler catches errors of a step. Exactly one of Then and Continue is set.
type Handler struct {
	Match    *Expr     `json:"match,omitempty"` // over `error`; nil: all
	Then     []string  `json:"then,omitempty"`
	Continue *Template `json:"continue,omitempty"` // stands in as the step's output
}

// Compensate undoes a step (WF-002 §24, WF-006 §16).
type Compensate struct {
	Kind Kind  `json:"kind"`
	Call *Call `json:"call,omitempty"`
	// Child is set instead of Call for kind workflow.
	Child *Child `json:"child,omitempty"`
	// Attempted also undoes a step that failed.
	Attempted bool      `json:"attempted,omitempty"`
	Retry     *Retry    `json:"retry,omitempty"`
	Timeout   *Duration `json:"timeout,omitempty"`
}

// Trigger starts executions by itself. Exactly one field is set.
type Trigger struct {
	Event    *EventTrigger    `json:"event,omitempty"`
	Schedule *ScheduleTrigger `json:"schedule,omitempty"`
	Webhook  *WebhookTrigger  `json:"webhook,omitempty"`
}

// EventTrigger starts an execution for each event that matches.
type EventTrigger struct {
	Source string    `json:"source,omitempty"`
	Type   string    `json:"type"`
	Match  *Expr     `json:"match,omitempty"` // over `event`
	Input  *Template `json:"input,omitempty"` // nil: event.data
}

// ScheduleTrigger starts executions by the clock. Exactly one of Cron, Every and At is set.
type ScheduleTrigger struct {
	Cron     string    `json:"cron,omitempty"`
	Every    int64     `json:"every,omitempty"` // nanoseconds
	At       string    `json:"at,omitempty"`    // RFC 3339
	Timezone string    `json:"timezone,omitempty"`
	Exclude  []string  `json:"exclude,omitempty"`  // dates, YYYY-MM-DD
	OnDates  []string  `json:"on_dates,omitempty"` // further dates
	Overlap  string    `json:"overlap"`            // skip, allow, queue, cancel
	CatchUp  int64     `json:"catch_up,omitempty"` // nanoseconds
	Input    *Template `json:"input,omitempty"`
}

// WebhookTrigger starts an execution for each verified request, or hands it as an event to the executions that wait for it.
type WebhookTrigger struct {
	Path   string    `json:"path"`
	Verify Verify    `json:"verify"`
	Input  *Template `json:"input,omitempty"` // nil: the request's body
	// Emit makes an event of the request, over `event`; nil: an execution starts. Its source is the webhook's address, and its data without any the
	// request's body.
	Emit *Emit `json:"emit,omitempty"`
}

// Address is the path that requests of the webhook are sent to, below the address of the API: the path of the trigger, which begins with /hooks
// whether that is written or not.
func (t *WebhookTrigger) Address() string {
	if strings.HasPrefix(t.Path, hooks+"/") {
		return t.Path
	}
	return hooks + t.Path
}

// Webhooks are the addresses of a definition's webhooks.
func (d *Definition) Webhooks() (addresses []string) {
	for i := range d.Triggers {
		if t := d.Triggers[i].Webhook; t != nil {
			addresses = append(addresses, t.Address())
		}
	}
	return addresses
}

// hooks is where the paths of all webhooks begin.
const hooks = "/hooks"

// Verify says how a webhook's sender proves itself. The fields name secrets, never values.
type Verify struct {
	HMACSHA256 string `json:"hmac_sha256,omitempty"`
	Header     string `json:"header,omitempty"`
	Bearer     string `json:"bearer,omitempty"`
}
