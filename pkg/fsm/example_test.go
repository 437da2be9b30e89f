package fsm_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/wovyr/wovyr/pkg/fsm"
)

// An engine asks the machine for every event: with the state and version it has folded from history, who asks and why,
// and the facts for the guards of that edge. What it gets is the record to persist.
func Example() {
	origin := fsm.Origin{
		WorkflowID: "order", ExecutionID: "order-17", WorkerID: "worker-3", CorrelationID: "basket-9", CausationID: "timer-2",
		At: time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC), Reason: "all steps have ended",
	}
	facts := fsm.Facts{
		Tenant: "acme", ActorTenant: "acme",
		Version: 41, Expected: 41,
		Needs: 3, Met: 3,
	}
	rec, err := fsm.WorkflowV1().Step(fsm.WorkflowStateRunning(), fsm.WorkflowCompleted(), &origin, &facts)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d: %s → %s, %s\n", rec.Version, rec.PreviousState, rec.CurrentState, rec.Reason)
	// Output: 42: Running → Completed, all steps have ended
}

// A refusal is typed, says what refused, and changes nothing.
func ExampleTransitionError() {
	facts := fsm.Facts{
		Tenant: "acme", ActorTenant: "acme",
		Version: 9, Expected: 9,
		Owner: "claim-7", Actor: "claim-7",
		Fence: 3, HeldFence: 2, // a worker that was thought dead comes back with its result
	}
	_, err := fsm.ActivityV1().Next(fsm.ActivityStateRunning(), fsm.ActivityCompleted(), &facts)
	var refused *fsm.TransitionError
	if errors.As(err, &refused) {
		fmt.Println(refused.From, refused.Event, refused.To, refused.Guard)
	}
	fmt.Println(errors.Is(err, fsm.ErrGuard))
	fmt.Println(err)
	// Output:
	// Running ActivityCompleted Completed lease
	// true
	// fsm: activity v1 refuses ActivityCompleted (Running → Completed) by guard lease: the lease with fence 2 is not valid, the attempt is at fence 3: drop what was done under it
}

// A cancel of a waiting execution walks the edges that the matrix has, one record each.
func ExampleMachine_Step() {
	origin := fsm.Origin{WorkflowID: "order", ExecutionID: "order-17", At: time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC), Reason: "cancelled by user"}
	facts := fsm.Facts{
		Tenant: "acme", ActorTenant: "acme",
		Required: fsm.PermissionCancel, Granted: fsm.PermissionCancel,
		Version: 20, Expected: 20,
	}
	state := fsm.WorkflowStateWaiting()
	for _, on := range []fsm.WorkflowEvent{fsm.WorkflowResumed(), fsm.WorkflowContinued(), fsm.WorkflowCancelled()} {
		rec, err := fsm.WorkflowV1().Step(state, on, &origin, &facts)
		if err != nil {
			panic(err)
		}
		fmt.Println(rec.Version, rec.PreviousState, "→", rec.CurrentState)
		state = rec.CurrentState
		facts.Version, facts.Expected = rec.Version, rec.Version
	}
	fmt.Println(state.Terminal())
	// Output:
	// 21 Waiting → Resumed
	// 22 Resumed → Running
	// 23 Running → Cancelled
	// true
}

// An Instance keeps state and version by itself.
func ExampleInstance() {
	in := fsm.WorkflowV1().Instance()
	create := fsm.TransitionEvent[fsm.WorkflowEvent]{
		On:     fsm.WorkflowCreated(),
		Origin: fsm.Origin{WorkflowID: "order", ExecutionID: "order-17", At: time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC)},
		Facts: fsm.Facts{
			Tenant: "acme", ActorTenant: "acme",
			Required: fsm.PermissionStart, Granted: fsm.PermissionStart,
			Expected: in.Version(),
		},
	}
	fmt.Println(in.CurrentState(), in.Validate(create))
	rec, err := in.Transition(create)
	fmt.Println(in.CurrentState(), rec.Version, err)
	_, err = in.Transition(create)
	fmt.Println(in.CurrentState(), in.Version(), errors.Is(err, fsm.ErrUnlisted))
	// Output:
	// None <nil>
	// Created 1 <nil>
	// Created 1 true
}
