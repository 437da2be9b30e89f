package workflow

import "github.com/wovyr/wovyr/pkg/fsm"

// StepState is one step of a frame. It is small, for there may be many: what is known of a step while it is
// open, and of its result as long as something may read it, stands behind pointers.
type StepState struct {
	State  fsm.ActivityState `json:"state,omitempty" cbor:"1,keyasint,omitzero"`
	Status Status            `json:"status,omitempty" cbor:"2,keyasint,omitempty"`
	Picked bool              `json:"picked,omitempty" cbor:"3,keyasint,omitempty"` // by a `then`
	Result *Result           `json:"result,omitempty" cbor:"4,keyasint,omitempty"`
	Open   *OpenStep         `json:"open,omitempty" cbor:"5,keyasint,omitempty"`

	Join JoinState `json:"-" cbor:"-"`
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
	Output    Payload `json:"output,omitzero" cbor:"1,keyasint,omitzero"`
	Error     *Error  `json:"error,omitempty" cbor:"2,keyasint,omitempty"`
	Attempts  int     `json:"attempts,omitempty" cbor:"3,keyasint,omitempty"`
	StartedAt int64   `json:"started_at,omitempty" cbor:"4,keyasint,omitempty"`
	EndedAt   int64   `json:"ended_at,omitempty" cbor:"5,keyasint,omitempty"`
	Execution string  `json:"execution,omitempty" cbor:"6,keyasint,omitempty"` // of a child
	// Frames are bodies that hold work which can be undone.
	Frames []*Frame `json:"frames,omitempty" cbor:"7,keyasint,omitempty"`
}

// OpenStep is what is known of a step between Ready and its end.
type OpenStep struct {
	Order      uint64 `json:"order" cbor:"1,keyasint,omitempty"`             // version of its ActivityReady: the order in which steps get a slot
	Attempt    int    `json:"attempt,omitempty" cbor:"2,keyasint,omitempty"` // from 1
	Fence      int    `json:"fence,omitempty" cbor:"3,keyasint,omitempty"`
	Recoveries int    `json:"recoveries,omitempty" cbor:"4,keyasint,omitempty"`
	By         string `json:"by,omitempty" cbor:"5,keyasint,omitempty"`
	Worker     string `json:"worker,omitempty" cbor:"6,keyasint,omitempty"`

	ReadyAt    int64 `json:"ready_at,omitempty" cbor:"7,keyasint,omitempty"`
	StartedAt  int64 `json:"started_at,omitempty" cbor:"8,keyasint,omitempty"` // of the present attempt
	FirstAt    int64 `json:"first_at,omitempty" cbor:"9,keyasint,omitempty"`   // start of the first attempt
	LeaseUntil int64 `json:"lease_until,omitempty" cbor:"10,keyasint,omitempty"`
	// Deadlines; zero where there is none. WakeAt is that of a retry, a timer or a delay between iterations.
	ScheduleBy int64 `json:"schedule_by,omitempty" cbor:"11,keyasint,omitempty"`
	TimeoutAt  int64 `json:"timeout_at,omitempty" cbor:"12,keyasint,omitempty"`
	WaitBy     int64 `json:"wait_by,omitempty" cbor:"13,keyasint,omitempty"`
	WakeAt     int64 `json:"wake_at,omitempty" cbor:"14,keyasint,omitempty"`

	Target Payload `json:"target,omitzero" cbor:"15,keyasint,omitzero"`
	Input  Payload `json:"input,omitzero" cbor:"16,keyasint,omitzero"`

	Walked   bool   `json:"walked,omitempty" cbor:"17,keyasint,omitempty"`    // no worker gets the attempt
	Pending  bool   `json:"pending,omitempty" cbor:"18,keyasint,omitempty"`   // the answer of a callback is awaited
	Held     bool   `json:"held,omitempty" cbor:"19,keyasint,omitempty"`      // its failure waits for an operator
	TimedOut bool   `json:"timed_out,omitempty" cbor:"20,keyasint,omitempty"` // its time is over, what is inside is being ended
	Error    *Error `json:"error,omitempty" cbor:"21,keyasint,omitempty"`     // of the last attempt

	// At most one of these, by the kind of step.
	Patterns []AwaitedPattern `json:"patterns,omitempty" cbor:"22,keyasint,omitempty"`
	Task     *HumanTask       `json:"task,omitempty" cbor:"23,keyasint,omitempty"`
	Child    *ChildLink       `json:"child,omitempty" cbor:"24,keyasint,omitempty"`
	Scope    *Scope           `json:"scope,omitempty" cbor:"25,keyasint,omitempty"`
	Agent    *AgentLoop       `json:"agent,omitempty" cbor:"26,keyasint,omitempty"`

	// Turns counts the turns of an agent, over all attempts, so that no two calls have one name.
	Turns int `json:"turns,omitempty" cbor:"27,keyasint,omitempty"`

	Derived any `json:"-" cbor:"-"`
}

// HumanTask is an open task.
type HumanTask struct {
	Title     string    `json:"title" cbor:"1,keyasint,omitempty"`
	Details   Payload   `json:"details,omitzero" cbor:"2,keyasint,omitzero"`
	Assignees []string  `json:"assignees,omitempty" cbor:"3,keyasint,omitempty"`
	CreatedAt int64     `json:"created_at" cbor:"4,keyasint,omitempty"`
	Remind    []int64   `json:"remind,omitempty" cbor:"5,keyasint,omitempty"`    // still to come
	Escalate  []int64   `json:"escalate,omitempty" cbor:"6,keyasint,omitempty"`  // still to come
	Escalated int       `json:"escalated,omitempty" cbor:"7,keyasint,omitempty"` // escalations done
	Notified  int       `json:"notified,omitempty" cbor:"9,keyasint,omitempty"`  // notifications made
	Notify    *SideStep `json:"notify,omitempty" cbor:"8,keyasint,omitempty"`    // the notification under way
}

// SideStep is an activity beside the steps of a body: a compensation (`charge!undo`), a notification
// (`approve!notify`), an entry of an agent or a call of one.
type SideStep struct {
	Path string    `json:"path" cbor:"1,keyasint,omitempty"`
	Step StepState `json:"step" cbor:"2,keyasint,omitzero"`
}

// AgentLoop is a step whose attempts ask for calls.
type AgentLoop struct {
	Turn  int         `json:"turn" cbor:"1,keyasint,omitempty"`
	State Payload     `json:"state,omitzero" cbor:"2,keyasint,omitzero"`
	Calls []CallState `json:"calls,omitempty" cbor:"3,keyasint,omitempty"` // of this turn
	// Entry is the attempt that goes on with the results; nil while calls are open.
	Entry *SideStep `json:"entry,omitempty" cbor:"4,keyasint,omitempty"`
}

// CallState is one call of an agent.
type CallState struct {
	Call     AgentCall `json:"call" cbor:"1,keyasint,omitzero"`
	Approval *SideStep `json:"approval,omitempty" cbor:"2,keyasint,omitempty"` // a task that comes first
	Step     *SideStep `json:"step,omitempty" cbor:"3,keyasint,omitempty"`
	Approved bool      `json:"approved,omitempty" cbor:"7,keyasint,omitempty"`
	Done     bool      `json:"done,omitempty" cbor:"4,keyasint,omitempty"`
	Output   Payload   `json:"output,omitzero" cbor:"5,keyasint,omitzero"`
	Error    *Error    `json:"error,omitempty" cbor:"6,keyasint,omitempty"`
}
