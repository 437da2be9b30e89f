package fsm

// LatestActivity is the version of the activity machine that new executions are started with.
const LatestActivity uint16 = 1

// ActivityMachine returns the activity machine of a version, or a *VersionError. No version is ever changed or removed.
func ActivityMachine(version uint16) (Machine[ActivityState, ActivityEvent], error) {
	if version != 1 {
		return Machine[ActivityState, ActivityEvent]{}, &VersionError{Machine: "activity", Version: version, Latest: LatestActivity}
	}
	return activityV1, nil
}

// ActivityV1 returns version 1 of the activity machine: the matrix of WF-006 §9, as ruled in the package comment.
func ActivityV1() Machine[ActivityState, ActivityEvent] { return activityV1 }

var activityV1 Machine[ActivityState, ActivityEvent]

// In init because New needs the names of states and events, which Go's order of initialization does not see through
// type parameters.
func init() { activityV1 = must(New("activity", 1, activityRowsV1()...)) }

func activityRowsV1() []Transition[ActivityState, ActivityEvent] {
	return []Transition[ActivityState, ActivityEvent]{
		{
			On:     ActivityCreated(),
			To:     ActivityStateCreated(),
			Guards: always(),
		}, {
			From:   ActivityStateCreated(),
			On:     ActivityReady(),
			To:     ActivityStateReady(),
			Guards: always(GuardDependencies()),
		}, {
			From:   ActivityStateReady(),
			On:     ActivityScheduled(),
			To:     ActivityStateScheduled(),
			Guards: always(GuardPermissions(), GuardResources()),
		}, {
			From:   ActivityStateScheduled(),
			On:     ActivityStarted(),
			To:     ActivityStateRunning(),
			Guards: always(GuardOwnership(), GuardLease(), GuardTimeouts()),
		}, {
			From:   ActivityStateRunning(),
			On:     ActivityCompleted(),
			To:     ActivityStateCompleted(),
			Guards: always(GuardOwnership(), GuardLease(), GuardTimeouts()),
		}, {
			From:   ActivityStateRunning(),
			On:     ActivityFailed(),
			To:     ActivityStateFailed(),
			Guards: always(GuardOwnership(), GuardLease()), // a timeout fails the attempt, so no deadline is in the way
		}, {
			From:   ActivityStateFailed(),
			On:     ActivityRetried(),
			To:     ActivityStateRetrying(),
			Guards: always(GuardResources()), // attempts are a limit (WF-002 §20)
		}, {
			From:   ActivityStateRetrying(),
			On:     ActivityScheduled(),
			To:     ActivityStateScheduled(),
			Guards: always(GuardPermissions(), GuardResources()), // policies are asked before every attempt
		},
	}
}
