package workflow

// Status is how far a step has come, as expressions see it in `steps.<id>.status` (DSL.md). The state of WF-006 §7
// says where an attempt stands; the status says how the step as a whole ended, or that it has not.
type Status uint8

// The statuses. The numbers are stable: encodings use them.
const (
	StatusPending   Status = iota // not ended
	StatusCompleted               // its own result, or one that an operator gave
	StatusCaught                  // failed, and on_error took the error
	StatusFailed
	StatusSkipped   // by its own `when`, or by an operator: its output is null and what needs it runs
	StatusDead      // not picked, or nothing it needs can run any more; expressions see "skipped"
	StatusCancelled // ended from outside: cancel, lost race, timeout of what is around it
)

var statusNames = [...]string{"pending", "completed", "caught", "failed", "skipped", "skipped", "cancelled"}

// String is the word that expressions see; dead steps read as skipped.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "unknown"
}

// Ended reports whether the step has come to its end.
func (s Status) Ended() bool { return s != StatusPending }

// Outcome is how an execution ended, or is about to end (`execution.outcome`).
type Outcome string

// The outcomes. Whether completed work was undone is told apart from them (`execution.compensated`).
const (
	OutcomeCompleted Outcome = "completed"
	OutcomeFailed    Outcome = "failed"
	OutcomeCancelled Outcome = "cancelled"
	OutcomeTimedOut  Outcome = "timed_out"
)

// WaitReason is why an execution waits: the seven reasons of WF-006 §15, and two of our own.
type WaitReason uint8

// The reasons. The numbers are stable: encodings use them. Zero is no reason.
const (
	WaitHuman    WaitReason = 1 + iota // human approval
	WaitWebhook                        // external webhook; the answer of a callback
	WaitEvent                          // message queue event, from a queue or the bus
	WaitTimer                          // timer; delay between iterations
	WaitCron                           // cron trigger
	WaitFile                           // file upload
	WaitChild                          // child workflow completion
	WaitOperator                       // on_failure: pause, or a compensation that cannot go on
	WaitRetry                          // the delay before the next attempt
)

// WaitReasons is the number of reasons plus one: the size of a table by reason.
const WaitReasons = 10

var waitNames = [...]string{"", "human", "webhook", "event", "timer", "cron", "file", "child", "operator", "retry"}

// String is the reason's stable name.
func (r WaitReason) String() string {
	if int(r) < len(waitNames) {
		return waitNames[r]
	}
	return "unknown"
}

// MarshalText returns the reason's stable name.
func (r WaitReason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText takes what MarshalText gives.
func (r *WaitReason) UnmarshalText(text []byte) error {
	for i, name := range waitNames {
		if name == string(text) {
			*r = WaitReason(i)
			return nil
		}
	}
	return Errorf("history.unknown_name", CategoryInfrastructure, "%q is no reason to wait that this program knows: update it", text)
}

// MarshalText returns the status' stable name; unlike String it tells dead from skipped.
func (s Status) MarshalText() ([]byte, error) {
	if s == StatusDead {
		return []byte("dead"), nil
	}
	return []byte(s.String()), nil
}

// UnmarshalText takes what MarshalText gives.
func (s *Status) UnmarshalText(text []byte) error {
	if string(text) == "dead" {
		*s = StatusDead
		return nil
	}
	for i, name := range statusNames {
		if name == string(text) {
			*s = Status(i)
			return nil
		}
	}
	return Errorf("history.unknown_name", CategoryInfrastructure, "%q is no status that this program knows: update it", text)
}

// CancelMode is how an execution is cancelled (WF-006 §17).
type CancelMode string

// The three modes.
const (
	CancelImmediate   CancelMode = "immediate"   // everything open is ended at once
	CancelGraceful    CancelMode = "graceful"    // what runs on a worker may finish, nothing new starts
	CancelCompensated CancelMode = "compensated" // ended at once, then completed work is undone
)

// CancelOrigin is who wants an execution cancelled (WF-006 §17).
type CancelOrigin string

// The six origins.
const (
	OriginUser          CancelOrigin = "user"
	OriginAdministrator CancelOrigin = "administrator"
	OriginTimeout       CancelOrigin = "timeout"
	OriginPolicy        CancelOrigin = "policy"
	OriginScheduler     CancelOrigin = "scheduler"
	OriginParent        CancelOrigin = "parent"
)

// TimeoutScope is what ran out of time (WF-002 §21, WF-006 §18).
type TimeoutScope string

// The scopes. Lease and heartbeat stand for a worker that fell silent.
const (
	TimeoutActivity  TimeoutScope = "activity"  // one attempt, start to close
	TimeoutWorkflow  TimeoutScope = "workflow"  // the whole execution
	TimeoutWaiting   TimeoutScope = "waiting"   // a wait
	TimeoutSchedule  TimeoutScope = "schedule"  // ready to start
	TimeoutLease     TimeoutScope = "lease"     // a worker's claim
	TimeoutHeartbeat TimeoutScope = "heartbeat" // a worker's sign of life
)

// Move is what an operator does to an execution that waits for one.
type Move string

// The moves.
const (
	MoveRetry    Move = "retry"    // one more attempt of the step
	MoveComplete Move = "complete" // the step counts as completed with a given output
	MoveSkip     Move = "skip"     // the step counts as skipped
	MoveFail     Move = "fail"     // the step's failure stands
	MoveResume   Move = "resume"   // retry all that is held, go on
)

// Verdict is what a person decides about a task.
type Verdict string

// The verdicts. Reassign leaves the task open.
const (
	VerdictApprove  Verdict = "approve"
	VerdictReject   Verdict = "reject"
	VerdictReassign Verdict = "reassign"
)
