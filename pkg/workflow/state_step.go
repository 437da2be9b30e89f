package workflow

import "github.com/wovyr/wovyr/pkg/fsm"

// StepState is one step of a frame. It is small, for there may be many: what is known of a step while it is
// open, and of its result as long as something may read it, stands behind pointers.
type StepState struct {
	State  fsm.ActivityState `json:"state,omitempty"`
	Status Status            `json:"status,omitempty"`
	Picked bool              `json:"picked,omitempty"` // by a `then`
	Result *Result           `json:"result,omitempty"`
	Open   *OpenStep         `json:"open,omitempty"`

	Join JoinState `json:"-"`
}

// JoinState counts how the needs of a step came out.
type JoinState struct {
	Open    int32 // not known yet
	Met     int32
	Dead    int32
	Missed  int32 // came to another end than the one named
	Counted int32 // of those met, the ones that `any` and `<n>` count
	Pickers int32 // steps that may still pick this one
	Readers int32 // steps that may still read this one's result
}

// Result is what is kept of a step that ended.
type Result struct {
	Output    Payload `json:"output,omitzero"`
	Error     *Error  `json:"error,omitempty"`
	Attempts  int     `json:"attempts,omitempty"`
	StartedAt int64   `json:"started_at,omitempty"`
	EndedAt   int64   `json:"ended_at,omitempty"`
	Execution string  `json:"execution,omitempty"` // of a child
	// Frames are bodies that hold work which can be undone.
	Frames []*Frame `json:"frames,omitempty"`
}

// OpenStep is what is known of a step between Ready and its end.
type OpenStep struct {
	Order      uint64 `json:"order"`             // version of its ActivityReady: the order in which steps get a slot
	Attempt    int    `json:"attempt,omitempty"` // from 1
	Fence      int    `json:"fence,omitempty"`
	Recoveries int    `json:"recoveries,omitempty"`
	By         string `json:"by,omitempty"`
	Worker     string `json:"worker,omitempty"`

	ReadyAt    int64 `json:"ready_at,omitempty"`
	StartedAt  int64 `json:"started_at,omitempty"` // of the present attempt
	FirstAt    int64 `json:"first_at,omitempty"`   // start of the first attempt
	LeaseUntil int64 `json:"lease_until,omitempty"`
	// Deadlines; zero where there is none. WakeAt is that of a retry, a timer or a delay between iterations.
	ScheduleBy int64 `json:"schedule_by,omitempty"`
	TimeoutAt  int64 `json:"timeout_at,omitempty"`
	WaitBy     int64 `json:"wait_by,omitempty"`
	WakeAt     int64 `json:"wake_at,omitempty"`

	Target Payload `json:"target,omitzero"`
	Input  Payload `json:"input,omitzero"`

	Walked   bool   `json:"walked,omitempty"`    // no worker gets the attempt
	Pending  bool   `json:"pending,omitempty"`   // the answer of a callback is awaited
	Held     bool   `json:"held,omitempty"`      // its failure waits for an operator
	TimedOut bool   `json:"timed_out,omitempty"` // its time is over, what is inside is being ended
	Error    *Error `json:"error,omitempty"`     // of the last attempt

	// At most one of these, by the kind of step.
	Patterns []AwaitedPattern `json:"patterns,omitempty"`
	Task     *HumanTask       `json:"task,omitempty"`
	Child    *ChildLink       `json:"child,omitempty"`
	Scope    *Scope           `json:"scope,omitempty"`
	Agent    *AgentLoop       `json:"agent,omitempty"`

	Derived any `json:"-"`
}

// HumanTask is an open task.
type HumanTask struct {
	Title     string    `json:"title"`
	Details   Payload   `json:"details,omitzero"`
	Assignees []string  `json:"assignees,omitempty"`
	CreatedAt int64     `json:"created_at"`
	Remind    []int64   `json:"remind,omitempty"`    // still to come
	Escalate  []int64   `json:"escalate,omitempty"`  // still to come
	Escalated int       `json:"escalated,omitempty"` // escalations done
	Notify    *SideStep `json:"notify,omitempty"`    // the notification under way
}

// SideStep is an activity beside the steps of a body: a compensation (`charge!undo`), a notification
// (`approve!notify`), an entry of an agent or a call of one.
type SideStep struct {
	Path string    `json:"path"`
	Step StepState `json:"step"`
}

// AgentLoop is a step whose attempts ask for calls.
type AgentLoop struct {
	Turn  int         `json:"turn"`
	State Payload     `json:"state,omitzero"`
	Calls []CallState `json:"calls,omitempty"` // of this turn
	// Entry is the attempt that goes on with the results; nil while calls are open.
	Entry *SideStep `json:"entry,omitempty"`
}

// CallState is one call of an agent.
type CallState struct {
	Call     AgentCall `json:"call"`
	Approval *SideStep `json:"approval,omitempty"` // a task that comes first
	Step     *SideStep `json:"step,omitempty"`
	Done     bool      `json:"done,omitempty"`
	Output   Payload   `json:"output,omitzero"`
	Error    *Error    `json:"error,omitempty"`
}
