package engine

import (
	"errors"
	"slices"

	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

func registerWorkflow() {
	on(applyCreated)
	on(func(x *fold, _ workflow.WorkflowValidated) error { return x.moveWorkflow(fsm.WorkflowValidated()) })
	on(func(x *fold, _ workflow.WorkflowScheduled) error { return x.moveWorkflow(fsm.WorkflowScheduled()) })
	on(applyWorkflowStarted)
	on(func(x *fold, _ workflow.WorkflowPaused) error { return x.moveWorkflow(fsm.WorkflowPaused()) })
	on(func(x *fold, _ workflow.WorkflowResumed) error { return x.moveWorkflow(fsm.WorkflowResumed()) })
	on(func(x *fold, _ workflow.WorkflowContinued) error { return x.moveWorkflow(fsm.WorkflowContinued()) })
	on(applyWorkflowCompleted)
	on(applyWorkflowFailed)
	on(applyWorkflowCancelled)
	on(applyCompensationStarted)
	on(applyCompensationCompleted)
	on(applyCancelRequested)
	on(applyOutcomeDecided)
	on(applyFailureHeld)
	on(applyOperatorMoved)
	on(applyCompensationStopped)
	on(func(x *fold, _ workflow.BoundReached) error { x.s.More = true; return nil })
	on(func(x *fold, e workflow.OwnershipChanged) error { x.s.Owner = e.To; return nil })
}

func applyCreated(x *fold, e workflow.WorkflowCreated) error {
	if e.Tenant == "" || e.Execution == "" {
		return errors.New("it names no tenant or no execution")
	}
	x.facts.Tenant, x.facts.ActorTenant = e.Tenant, e.Tenant
	var err error
	if x.wm, err = fsm.WorkflowMachine(e.WorkflowMachine); err != nil {
		return err
	}
	if x.am, err = fsm.ActivityMachine(e.ActivityMachine); err != nil {
		return err
	}
	if err := x.moveWorkflow(fsm.WorkflowCreated()); err != nil {
		return err
	}
	s := x.s
	s.Execution, s.Tenant, s.Workflow, s.Definition, s.Hash = e.Execution, e.Tenant, e.Workflow, e.Definition, e.Hash
	s.Correlation, s.Key, s.By, s.Labels, s.Input, s.Origin = e.Correlation, e.Key, e.By, e.Labels, e.Input, e.Origin
	s.WorkflowMachine, s.ActivityMachine, s.Owner, s.CreatedAt = e.WorkflowMachine, e.ActivityMachine, e.Worker, s.At
	if c := e.Origin.Continues; c != nil {
		s.Early, s.Cursors = slices.Clone(c.Early), slices.Clone(c.Cursors)
	}
	if e.Origin.Shard != nil {
		s.Shard = &workflow.ShardProgress{}
	}
	return nil
}

func applyWorkflowStarted(x *fold, e workflow.WorkflowStarted) error {
	if err := x.moveWorkflow(fsm.WorkflowStarted()); err != nil {
		return err
	}
	s := x.s
	s.StartedAt, s.TimeoutAt, s.MaxParallelism, s.MaxRetries, s.Vars = s.At, e.TimeoutAt, e.MaxParallelism, e.MaxRetries, slices.Clone(e.Vars)
	if x.p == nil {
		return nil // a child that was cancelled before anybody knew its definition: it ends in this commit
	}
	if s.Origin.Shard != nil {
		return x.rootOfShard()
	}
	s.Root = x.newFrame(x.p.root(), "", 0, workflow.Payload{})
	x.openFrame(s.Root)
	return nil
}

func applyWorkflowCompleted(x *fold, e workflow.WorkflowCompleted) error {
	if err := x.moveToEnd(fsm.WorkflowCompleted()); err != nil {
		return err
	}
	x.s.Output, x.s.Next = e.Output, e.Next
	x.terminal(workflow.OutcomeCompleted)
	return nil
}

func applyWorkflowFailed(x *fold, e workflow.WorkflowFailed) error {
	if err := x.moveWorkflow(fsm.WorkflowFailed()); err != nil {
		return err
	}
	x.s.Error = e.Error
	if x.s.Ending == nil || !x.s.Ending.Compensate || len(x.s.Undo) == 0 {
		x.terminal(workflow.OutcomeFailed)
	}
	return nil
}

func applyWorkflowCancelled(x *fold, e workflow.WorkflowCancelled) error {
	if err := x.moveWorkflow(fsm.WorkflowCancelled()); err != nil {
		return err
	}
	x.s.Error = e.Error
	x.terminal(workflow.OutcomeCancelled)
	return nil
}

func applyCompensationStarted(x *fold, _ workflow.CompensationStarted) error {
	x.facts.CompensationConfigured = x.s.Ending != nil && x.s.Ending.Compensate
	x.facts.CompensationDue = len(x.s.Undo) > 0
	err := x.moveWorkflow(fsm.CompensationStarted())
	x.facts.CompensationConfigured, x.facts.CompensationDue = false, false
	return err
}

func applyCompensationCompleted(x *fold, _ workflow.CompensationCompleted) error {
	if err := x.moveToEnd(fsm.CompensationCompleted()); err != nil {
		return err
	}
	x.s.Compensated = true
	x.terminal(x.s.Ending.Outcome)
	return nil
}

// terminal drops what only a running execution needs. What was decided stays: how it ended is read from it.
func (x *fold) terminal(outcome workflow.Outcome) {
	s := x.s
	if s.Ending == nil {
		s.Ending = &workflow.Ending{Outcome: outcome}
	}
	s.EndedAt = s.At
	x.closeChildren()
	s.Root, s.Undo, s.Undoing, s.Stopped, s.Held = nil, nil, nil, nil, nil
	s.Vars, s.TimeoutAt = nil, 0
	if s.Next == nil {
		s.Early, s.Cursors = nil, nil
	}
	x.relink()
}

func applyCancelRequested(x *fold, e workflow.CancelRequested) error {
	x.see(e.ID)
	if x.s.Cancel == nil || x.s.Ending == nil {
		x.s.Cancel = &workflow.CancelState{Origin: e.Origin, Mode: e.Mode, Reason: e.Reason, By: e.By}
	}
	return nil
}

func applyOutcomeDecided(x *fold, e workflow.OutcomeDecided) error {
	s := x.s
	s.Ending = &workflow.Ending{Outcome: e.Outcome, Error: e.Error, Step: e.Step, Compensate: e.Compensate, Graceful: e.Graceful, Abrupt: e.Abrupt}
	s.Output, s.Next, s.TimeoutAt = e.Output, e.Next, 0
	for _, h := range s.Held {
		if h.Step == "" {
			x.d.waiting[workflow.WaitOperator]--
		}
	}
	s.Held = nil
	return nil
}

func applyFailureHeld(x *fold, e workflow.FailureHeld) error {
	x.s.Held = append(x.s.Held, workflow.Held{Step: e.Step, Error: e.Error})
	if e.Step == "" {
		x.s.TimeoutAt = 0
		x.d.waiting[workflow.WaitOperator]++
		return nil
	}
	in, before, err := x.openStep(e.Step)
	if err != nil {
		return err
	}
	in.open().Held = true
	x.after(in, before)
	return nil
}

// unhold takes a step off the list of what is held.
func (x *fold) unhold(path string) {
	for i := range x.s.Held {
		if x.s.Held[i].Step == path {
			x.s.Held = append(x.s.Held[:i:i], x.s.Held[i+1:]...)
			break
		}
	}
	if x.s.Stopped != nil && x.s.Stopped.Step == path {
		x.s.Stopped = nil
	}
}

func applyOperatorMoved(x *fold, e workflow.OperatorMoved) error {
	x.see(e.ID)
	if e.Step == "" {
		for i := range x.s.Held {
			if x.s.Held[i].Step == "" {
				x.s.Held = append(x.s.Held[:i:i], x.s.Held[i+1:]...)
				x.d.waiting[workflow.WaitOperator]--
				break
			}
		}
		return nil
	}
	if e.Move != workflow.MoveFail {
		return nil
	}
	in, before, err := x.openStep(e.Step)
	if err != nil {
		return err
	}
	x.unhold(e.Step)
	x.s.Resigned = true
	failure := e.Error
	if failure == nil {
		failure = in.open().Error
	}
	x.end(in, before, workflow.StatusFailed, workflow.Payload{}, failure, nil)
	return nil
}

func applyCompensationStopped(x *fold, e workflow.CompensationStopped) error {
	in, before, err := x.openStep(e.Step)
	if err != nil {
		return err
	}
	x.s.Stopped = &workflow.Held{Step: e.Step, Error: e.Error}
	in.open().Held = true
	x.after(in, before)
	return nil
}

// see remembers the ID of an input that must not count twice, and forgets those older than a day.
func (x *fold) see(id string) {
	if id == "" {
		return
	}
	seen := x.s.Seen
	old := 0
	for old < len(seen) && (seen[old].At < x.s.At-SeenFor || len(seen)-old >= MaxSeen) {
		old++
	}
	x.s.Seen = append(seen[old:], workflow.SeenID{ID: id, At: x.s.At})
}

// seen reports whether an ID was remembered.
func (x *fold) seen(id string) bool {
	if id == "" {
		return false
	}
	for i := len(x.s.Seen) - 1; i >= 0; i-- {
		if x.s.Seen[i].ID == id {
			return true
		}
	}
	return false
}
