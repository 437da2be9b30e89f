// Package fsm holds the two state machines of WF-006 as data: which state an execution or an activity may go to on which
// event, under which guards, and the record that each transition leaves. It is pure and knows nothing of definitions,
// histories, queues or clocks; whoever decides (pkg/engine) asks it for every transition and persists what it answers.
//
// Start with [WorkflowV1] and [Machine.Step]; [Instance] is the interface of WF-006 §23. The tables, with the guards of
// each edge, are in workflow.go and activity.go, and as a page in docs/state-machines.md.
//
// # The workflow machine (§4, §5, §8)
//
// An execution comes into being as Created, becomes Validated, then Scheduled, and on WorkflowStarted Running. From Running
// it goes to Waiting when nothing is left to do but wait, back through Resumed, and to one of three ends: Completed,
// Failed, Cancelled. Where compensation is configured and due, Failed goes on to Compensating and from there to Completed.
//
//	(nothing) → Created → Validated → Scheduled → Running → Completed
//	                                              │  ↑ │ └─→ Cancelled
//	                                              ↓  │ └───→ Failed → Compensating → Completed
//	                                        Waiting → Resumed
//
// # The activity machine (§6, §7, §9)
//
// An activity is Created with its execution, Ready once its dependencies are satisfied, Scheduled once it was handed out,
// Running once a worker has claimed the attempt, and then Completed or Failed. A failed one that is to be tried again
// is Retrying until it is Scheduled anew.
//
//	(nothing) → Created → Ready → Scheduled → Running → Completed
//	                                  ↑          └────→ Failed
//	                                  └─── Retrying ←─────┘
//
// # Rulings, where the documents disagree or are silent
//
//   - Waiting → Resumed → Running is what the matrix of §8 says, and it holds against the example of §13, which goes from
//     Waiting to Running. The event of the second edge is named nowhere; it is WorkflowContinued.
//   - Failed is terminal (§5) and yet has an exit in §8. It is final unless compensation is configured and due: that is the
//     guard compensation on the one edge that carries the mark Reopens. CompensationStarted is its event.
//   - WF-001 §7 and WF-002 §4 list a state Compensated. §8 ends a compensation in Completed, by CompensationCompleted; that it
//     was a compensation is the execution's outcome, not a state. A compensation step that fails for good leaves the execution in
//     Compensating: the guard dependencies keeps it from Completed.
//   - A cancel (§17) or timeout (§18) that meets an execution in Scheduled, Waiting or Resumed, or an activity that does not run,
//     walks the edges that lead to the end, a record each, in one commit. Such a walk takes no resources and meets no deadline.
//   - Dispatched (WF-002 §9) is Scheduled. A skipped activity stays Created.
//   - Coming into being is a transition, from the zero state: it has guards and a record like any other. Its events are
//     WorkflowCreated and ActivityCreated, the latter named nowhere.
//   - Running again after the end (§8: Failed → Running is forbidden) is a new execution, and no business of these tables.
//   - The version (§13) is that of the execution's last recorded event, activities included. A record's version is one above
//     the version that its facts give, and the guard version refuses what was decided on any other.
//   - A lease is valid (§10) while its fence is the attempt's present one. No guard asks a clock: timeouts and expired leases
//     are recorded as events first (§18), and time comes with the event.
//
// # What the types prevent
//
// States, events and guards are opaque: values come from functions, since constants of an integer type would take any number, and
// variables could be overwritten. So no number becomes a state, the events of one machine cannot be fed to the other, and a
// table cannot be changed; compile_test.go lists what does not compile. From outside the program they come by name
// (ParseWorkflowState) or code (WorkflowStateFromCode), or not at all. The rest is a [*TransitionError], never a silent no-op.
//
// # Versions of the tables
//
// A table that was released is never changed: executions stay on the version that they were started with, and
// [WorkflowMachine] and [ActivityMachine] return the table of a version. Wire names and codes stay for ever.
package fsm
