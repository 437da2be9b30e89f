package codec

import "github.com/wovyr/wovyr/pkg/workflow"

// decoder fills a new event of one type by unmarshal and returns it as a value.
type decoder func(unmarshal func(v any) error) (workflow.Event, error)

func of[T workflow.Event](unmarshal func(v any) error) (workflow.Event, error) {
	var e T
	if err := unmarshal(&e); err != nil {
		return nil, err
	}
	return e, nil
}

// decoders has the decoder of each type of event.
var decoders = [workflow.EventTypes]decoder{
	workflow.TypeWorkflowCreated:       of[workflow.WorkflowCreated],
	workflow.TypeWorkflowValidated:     of[workflow.WorkflowValidated],
	workflow.TypeWorkflowScheduled:     of[workflow.WorkflowScheduled],
	workflow.TypeWorkflowStarted:       of[workflow.WorkflowStarted],
	workflow.TypeWorkflowPaused:        of[workflow.WorkflowPaused],
	workflow.TypeWorkflowResumed:       of[workflow.WorkflowResumed],
	workflow.TypeWorkflowContinued:     of[workflow.WorkflowContinued],
	workflow.TypeWorkflowCompleted:     of[workflow.WorkflowCompleted],
	workflow.TypeWorkflowFailed:        of[workflow.WorkflowFailed],
	workflow.TypeWorkflowCancelled:     of[workflow.WorkflowCancelled],
	workflow.TypeCompensationStarted:   of[workflow.CompensationStarted],
	workflow.TypeCompensationCompleted: of[workflow.CompensationCompleted],
	workflow.TypeActivityReady:         of[workflow.ActivityReady],
	workflow.TypeActivityScheduled:     of[workflow.ActivityScheduled],
	workflow.TypeActivityStarted:       of[workflow.ActivityStarted],
	workflow.TypeActivityCompleted:     of[workflow.ActivityCompleted],
	workflow.TypeActivityFailed:        of[workflow.ActivityFailed],
	workflow.TypeActivityRetried:       of[workflow.ActivityRetried],
	workflow.TypeActivitySkipped:       of[workflow.ActivitySkipped],
	workflow.TypeActivityCaught:        of[workflow.ActivityCaught],
	workflow.TypeActivityPending:       of[workflow.ActivityPending],
	workflow.TypeAgentTurn:             of[workflow.AgentTurn],
	workflow.TypeJoinCounted:           of[workflow.JoinCounted],
	workflow.TypeScopeOpened:           of[workflow.ScopeOpened],
	workflow.TypeScopeClosed:           of[workflow.ScopeClosed],
	workflow.TypeScopeEnding:           of[workflow.ScopeEnding],
	workflow.TypeItemsSet:              of[workflow.ItemsSet],
	workflow.TypeIterationDelayed:      of[workflow.IterationDelayed],
	workflow.TypeVariablesSet:          of[workflow.VariablesSet],
	workflow.TypeEventEmitted:          of[workflow.EventEmitted],
	workflow.TypeTimerSet:              of[workflow.TimerSet],
	workflow.TypeTimerFired:            of[workflow.TimerFired],
	workflow.TypeTimeoutFired:          of[workflow.TimeoutFired],
	workflow.TypeLeaseExpired:          of[workflow.LeaseExpired],
	workflow.TypeEventAwaited:          of[workflow.EventAwaited],
	workflow.TypeEventReceived:         of[workflow.EventReceived],
	workflow.TypeEventTaken:            of[workflow.EventTaken],
	workflow.TypeTaskCreated:           of[workflow.TaskCreated],
	workflow.TypeTaskReminded:          of[workflow.TaskReminded],
	workflow.TypeTaskEscalated:         of[workflow.TaskEscalated],
	workflow.TypeTaskDecided:           of[workflow.TaskDecided],
	workflow.TypeChildRequested:        of[workflow.ChildRequested],
	workflow.TypeChildStarted:          of[workflow.ChildStarted],
	workflow.TypeChildEnded:            of[workflow.ChildEnded],
	workflow.TypeCancelRequested:       of[workflow.CancelRequested],
	workflow.TypeOutcomeDecided:        of[workflow.OutcomeDecided],
	workflow.TypeFailureHeld:           of[workflow.FailureHeld],
	workflow.TypeOperatorMoved:         of[workflow.OperatorMoved],
	workflow.TypeCompensationStopped:   of[workflow.CompensationStopped],
	workflow.TypeOwnershipChanged:      of[workflow.OwnershipChanged],
	workflow.TypeBoundReached:          of[workflow.BoundReached],
}

// decodeEvent decodes an event of a type; a type without a decoder is a *NewerError.
func decodeEvent(t workflow.EventType, unmarshal func(v any) error) (workflow.Event, error) {
	if int(t) >= len(decoders) || decoders[t] == nil {
		return nil, &NewerError{What: "an event of type " + t.String()}
	}
	return decoders[t](unmarshal)
}
