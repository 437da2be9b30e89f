package engine

import "github.com/wovyr/wovyr/pkg/workflow"

// kind is what the engine does with a kind of step. Kinds are found in a table, never by a switch.
type kind struct {
	// worker: attempts are run by workers, hold a slot of max_parallelism and are retried.
	worker bool
	// retries: the step is retried although no worker runs it.
	retries bool
	// start takes a Ready step on its way.
	start func(t *Turn, in inst)
	// advance looks how far a step has come that consists of others. nil: the step does not.
	advance func(t *Turn, in inst)
	// due does what the passing of the step's WakeAt asks for; nil: nothing.
	due func(t *Turn, in inst)
	// expired does what the passing of the step's WaitBy asks for; nil: the step fails with timeout.wait.
	expired func(t *Turn, in inst)
	// waits says what an open step waits for; nil: nothing.
	waits func(n *node, o *workflow.OpenStep) workflow.WaitReason
	// demands adds the commands that an open step needs; nil: none.
	demands func(x *fold, in inst, out *[]workflow.Command)
}

// kinds has the kinds of the language. Every kind that is not here is one that workers run.
var kinds map[workflow.Kind]*kind

// callKind is the kind of all steps with a Call.
var callKind *kind

func init() {
	callKind = &kind{worker: true, start: startCall, advance: advanceAgent, due: dueRetry, demands: demandCall}
	kinds = map[workflow.Kind]*kind{
		workflow.KindTimer:    {start: startTimer, due: dueTimer, waits: timerWaits},
		workflow.KindHuman:    {start: startHuman, expired: expiredHuman, waits: humanWaits, demands: demandTask},
		workflow.KindEvent:    {start: startEvent, waits: eventWaits, demands: demandEvent},
		workflow.KindWorkflow: {retries: true, start: startChild, due: dueRetry, waits: always(workflow.WaitChild), demands: demandChild},
		workflow.KindForeach:  {start: startForeach, advance: advanceForeach, waits: foreachWaits, demands: demandShards},
		workflow.KindLoop:     {start: startLoop, advance: advanceLoop, due: dueLoop, waits: loopWaits},
		workflow.KindRace:     {start: startRace, advance: advanceRace},
		workflow.KindGroup:    {start: startGroup, advance: advanceGroup},

		workflow.KindSwitch:        {start: runSwitch},
		workflow.KindMatch:         {start: runMatch},
		workflow.KindValue:         {start: runValue},
		workflow.KindSet:           {start: runSet},
		workflow.KindEmit:          {start: runEmit},
		workflow.KindFail:          {start: runFail},
		workflow.KindContinueAsNew: {start: runContinueAsNew},
	}
	undoShards.kind = kinds[workflow.KindWorkflow]
}

// kindOf finds the kind of a step; nil if there is none: no Call and no kind of the language.
func kindOf(st *workflow.Step) *kind {
	if k := kinds[st.Kind]; k != nil {
		return k
	}
	if st.Call == nil {
		return nil
	}
	return callKind
}

func always(r workflow.WaitReason) func(*node, *workflow.OpenStep) workflow.WaitReason {
	return func(*node, *workflow.OpenStep) workflow.WaitReason { return r }
}

// waitsFor says what a running step waits for; 0 for nothing.
func (k *kind) waitsFor(n *node, o *workflow.OpenStep) workflow.WaitReason {
	if k.waits == nil {
		return 0
	}
	return k.waits(n, o)
}
