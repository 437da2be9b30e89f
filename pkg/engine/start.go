package engine

import (
	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// start brings an execution into being: Created → Validated → Scheduled → Running in one commit.
func (t *Turn) start(in workflow.Start) error {
	if in.Execution == "" || in.Tenant == "" || in.Workflow == "" {
		return refuse(in, "it must name execution, tenant and workflow")
	}
	started, err := t.firstValues(in)
	if err == nil && in.Origin.Parent != nil && in.Origin.Shard == nil {
		if err = t.inputMisfit(in.Input); in.Misfit != "" {
			err = t.invalid(in.Misfit)
		}
	}
	t.create(in)
	if err != nil {
		t.emit(workflow.WorkflowStarted{})
		t.decideOutcome(workflow.OutcomeDecided{Outcome: workflow.OutcomeFailed, Error: err})
		return nil
	}
	t.emit(started)
	if s := in.Origin.Shard; s != nil {
		t.startShard()
	}
	return nil
}

// create records the first transitions, up to Scheduled.
func (t *Turn) create(in workflow.Start) {
	t.emit(workflow.WorkflowCreated{
		Execution: in.Execution, Tenant: in.Tenant, Workflow: in.Workflow, Definition: in.Definition, Hash: in.Hash,
		Correlation: in.Correlation, Key: in.Key, By: in.By, Worker: t.env.Worker, Labels: in.Labels, Input: in.Input,
		WorkflowMachine: fsm.LatestWorkflow, ActivityMachine: fsm.LatestActivity, Origin: in.Origin,
	})
	t.emit(workflow.WorkflowValidated{})
	t.emit(workflow.WorkflowScheduled{})
}

// inputMisfit is the error of an input that the schema of the workflow refuses. Whoever starts an execution from outside is refused before
// anything is stored; a parent, and an execution that goes on as a new one, are told in this way.
func (t *Turn) inputMisfit(input workflow.Payload) *workflow.Error {
	if wrong := t.misfit(t.p.def.Input, input); wrong != "" {
		return t.invalid(wrong)
	}
	return nil
}

func (t *Turn) invalid(wrong string) *workflow.Error {
	return workflow.Errorf("input.invalid", workflow.CategoryWorkflow, "the input of workflow %s does not fit its JSON Schema: %s", t.p.def.Name, wrong)
}

// firstValues evaluates limits and variables of a new execution. They may read its input and the execution itself.
func (t *Turn) firstValues(in workflow.Start) (workflow.WorkflowStarted, *workflow.Error) {
	x := &fold{p: t.p, s: &workflow.State{
		Execution: in.Execution, Tenant: in.Tenant, Workflow: in.Workflow, Definition: in.Definition, Correlation: in.Correlation,
		Input: in.Input, StartedAt: t.now,
	}}
	a := &lazyActivation{x: x}
	var started workflow.WorkflowStarted
	limits := &t.p.def.Limits
	limit, err := duration(limits.Timeout, a)
	if err != nil {
		return started, err
	}
	if in.Origin.Shard == nil {
		started.TimeoutAt = deadline(t.now, limit)
	}
	if started.MaxParallelism, err = count(limits.MaxParallelism, a); err != nil {
		return started, err
	}
	if started.MaxRetries, err = count(limits.Retries, a); err != nil {
		return started, err
	}
	if s := in.Origin.Shard; s != nil {
		started.Vars = s.Vars
		return started, nil
	}
	for _, v := range t.p.def.Vars {
		value, err := render(v.Initial, a)
		if err != nil {
			return started, err
		}
		started.Vars = append(started.Vars, workflow.Variable{Name: v.Name, Value: value})
	}
	return started, nil
}

// startCancelled writes the first commit of a child that is cancelled before it was started, so that a later start
// finds its ID taken (commit protocol, point 13).
func (t *Turn) startCancelled(in workflow.Cancel) error {
	if in.Start.Execution == "" || in.Start.Tenant == "" {
		return refuse(in, "its start must name execution and tenant")
	}
	t.create(*in.Start)
	t.emit(workflow.WorkflowStarted{})
	t.emit(workflow.CancelRequested{ID: in.ID, Origin: in.Origin, Mode: in.Mode, Reason: in.Reason, By: in.By})
	t.emit(workflow.OutcomeDecided{Outcome: workflow.OutcomeCancelled, Error: cancelError(in), Abrupt: true})
	t.emit(workflow.WorkflowCancelled{Error: cancelError(in)})
	return nil
}
