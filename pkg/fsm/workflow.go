package fsm

// LatestWorkflow is the version of the workflow machine that new executions are started with.
const LatestWorkflow uint16 = 1

// WorkflowMachine returns the workflow machine of a version, or a *VersionError. No version is ever changed or removed.
func WorkflowMachine(version uint16) (Machine[WorkflowState, WorkflowEvent], error) {
	if version != 1 {
		return Machine[WorkflowState, WorkflowEvent]{}, &VersionError{Machine: "workflow", Version: version, Latest: LatestWorkflow}
	}
	return workflowV1, nil
}

// WorkflowV1 returns version 1 of the workflow machine: the matrix of WF-006 §8, as ruled in the package comment.
func WorkflowV1() Machine[WorkflowState, WorkflowEvent] { return workflowV1 }

// always are the guards of every transition, then those of one.
func always(guards ...Guard) GuardSet {
	return NewGuardSet(append(guards, GuardTenant(), GuardVersion())...)
}

var workflowV1 Machine[WorkflowState, WorkflowEvent]

// In init because New needs the names of states and events, which Go's order of initialization does not see through
// type parameters.
func init() { workflowV1 = must(New("workflow", 1, workflowRowsV1()...)) }

func workflowRowsV1() []Transition[WorkflowState, WorkflowEvent] {
	return []Transition[WorkflowState, WorkflowEvent]{
		{
			On:     WorkflowCreated(),
			To:     WorkflowStateCreated(),
			Guards: always(GuardPermissions()),
		}, {
			From:   WorkflowStateCreated(),
			On:     WorkflowValidated(),
			To:     WorkflowStateValidated(),
			Guards: always(),
		}, {
			From:   WorkflowStateValidated(),
			On:     WorkflowScheduled(),
			To:     WorkflowStateScheduled(),
			Guards: always(),
		}, {
			From:   WorkflowStateScheduled(),
			On:     WorkflowStarted(),
			To:     WorkflowStateRunning(),
			Guards: always(GuardResources(), GuardTimeouts()),
		}, {
			From:   WorkflowStateRunning(),
			On:     WorkflowPaused(),
			To:     WorkflowStateWaiting(),
			Guards: always(),
		}, {
			From:   WorkflowStateWaiting(),
			On:     WorkflowResumed(),
			To:     WorkflowStateResumed(),
			Guards: always(GuardPermissions(), GuardTimeouts()),
		}, {
			From:   WorkflowStateResumed(),
			On:     WorkflowContinued(),
			To:     WorkflowStateRunning(),
			Guards: always(),
		}, {
			From:   WorkflowStateRunning(),
			On:     WorkflowCompleted(),
			To:     WorkflowStateCompleted(),
			Guards: always(GuardDependencies(), GuardTimeouts()),
		}, {
			From:   WorkflowStateRunning(),
			On:     WorkflowFailed(),
			To:     WorkflowStateFailed(),
			Guards: always(), // failing must always be possible
		}, {
			From:   WorkflowStateRunning(),
			On:     WorkflowCancelled(),
			To:     WorkflowStateCancelled(),
			Guards: always(GuardPermissions()),
		}, {
			From:    WorkflowStateFailed(),
			On:      CompensationStarted(),
			To:      WorkflowStateCompensating(),
			Guards:  always(GuardCompensation()),
			Reopens: true,
		}, {
			From:   WorkflowStateCompensating(),
			On:     CompensationCompleted(),
			To:     WorkflowStateCompleted(),
			Guards: always(GuardDependencies()), // a compensation that failed never counts as completed
		},
	}
}
