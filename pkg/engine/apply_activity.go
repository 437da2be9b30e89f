package engine

import (
	"github.com/wovyr/wovyr/pkg/fsm"
	"github.com/wovyr/wovyr/pkg/workflow"
)

func registerActivity() {
	on(applyReady)
	on(applyScheduled)
	on(applyStarted)
	on(applyCompleted)
	on(applyFailed)
	on(applyRetried)
	on(applySkipped)
	on(applyCaught)
	on(applyPending)
	on(applyAgentTurn)
	on(applyJoinCounted)
}

func applyReady(x *fold, e workflow.ActivityReady) error {
	in, ok := x.locate(e.Step)
	if !ok {
		x.creating = true
		in, ok = x.lead(e.Step)
		x.creating = false
	}
	if !ok {
		return lost(e.Step)
	}
	if err := x.moveGuarded(in, fsm.ActivityReady(), func(f *fsm.Facts) { x.awaits(in, f) }); err != nil {
		return err
	}
	in.step.Open = &workflow.OpenStep{Order: x.s.Version, ReadyAt: x.s.At, ScheduleBy: e.ScheduleBy}
	if in.host == nil {
		in.frame.Active++
	}
	x.enter(in)
	return nil
}

func applyScheduled(x *fold, e workflow.ActivityScheduled) error {
	in, before, err := x.openStep(e.Step)
	if err != nil {
		return err
	}
	if err := x.moveGuarded(in, fsm.ActivityScheduled(), func(f *fsm.Facts) { x.takes(in, e.Walked, f) }); err != nil {
		return err
	}
	o := in.open()
	if o.Fence > 0 {
		o.ScheduleBy = e.ScheduleBy
	}
	o.Attempt, o.Fence, o.By, o.Walked = e.Attempt, e.Fence, e.By, e.Walked
	o.Worker, o.LeaseUntil, o.StartedAt, o.TimeoutAt, o.WaitBy, o.WakeAt = "", 0, 0, 0, 0, 0
	o.Pending, o.Held, o.TimedOut, o.Error = false, false, false, nil
	if !e.Target.IsZero() {
		o.Target = e.Target
	}
	if !e.Input.IsZero() {
		o.Input = e.Input
	}
	x.after(in, before)
	return nil
}

func applyStarted(x *fold, e workflow.ActivityStarted) error {
	in, before, err := x.openStep(e.Step)
	if err != nil {
		return err
	}
	o := in.open()
	if err := x.moveGuarded(in, fsm.ActivityStarted(), func(f *fsm.Facts) { f.Fence, f.HeldFence = uint64(o.Fence), uint64(e.Fence) }); err != nil {
		return err
	}
	o.Worker, o.LeaseUntil, o.TimeoutAt, o.WaitBy, o.ScheduleBy = e.Worker, e.LeaseUntil, e.TimeoutAt, e.WaitBy, 0
	if e.By != "" {
		o.By = e.By
	}
	if o.StartedAt = e.StartedAt; o.StartedAt == 0 {
		o.StartedAt = x.s.At
	}
	if o.FirstAt == 0 {
		o.FirstAt = o.StartedAt
	}
	o.Walked = o.Walked || e.Walked
	if len(in.node.bodies) > 0 && !e.Walked {
		o.Scope = newScope(in.node)
	}
	x.after(in, before)
	return nil
}

func applyCompleted(x *fold, e workflow.ActivityCompleted) error {
	in, before, err := x.openStep(e.Step)
	if err != nil {
		return err
	}
	if err := x.moveGuarded(in, fsm.ActivityCompleted(), func(f *fsm.Facts) { x.overdue(in.open().TimedOut, f) }); err != nil {
		return err
	}
	x.end(in, before, workflow.StatusCompleted, e.Output, nil, e.Then)
	return nil
}

func applyFailed(x *fold, e workflow.ActivityFailed) error {
	in, before, err := x.openStep(e.Step)
	if err != nil {
		return err
	}
	if err := x.moveStep(in.step, fsm.ActivityFailed()); err != nil {
		return err
	}
	o := in.open()
	o.Error, o.LeaseUntil, o.TimeoutAt, o.WaitBy, o.WakeAt, o.ScheduleBy = e.Error, 0, 0, 0, 0, 0
	if e.Status.Ended() {
		x.end(in, before, e.Status, workflow.Payload{}, e.Error, nil)
		return nil
	}
	x.leaveChild(in, o, workflow.StatusFailed)
	o.Pending, o.Patterns, o.Task, o.Agent, o.Child = false, nil, nil, nil, nil
	x.after(in, before)
	return nil
}

func applyRetried(x *fold, e workflow.ActivityRetried) error {
	in, before, err := x.openStep(e.Step)
	if err != nil {
		return err
	}
	if err := x.moveGuarded(in, fsm.ActivityRetried(), func(f *fsm.Facts) { x.attempts(in, e.Recovery, f) }); err != nil {
		return err
	}
	o := in.open()
	o.WakeAt = e.At
	if o.Held {
		x.unhold(in.path)
	}
	o.Held = false
	if e.Recovery {
		o.Recoveries++
	} else {
		x.s.Retries++
	}
	x.after(in, before)
	return nil
}

// applySkipped ends a step that never ran. One that failed and is skipped by an operator was open.
func applySkipped(x *fold, e workflow.ActivitySkipped) error {
	in, ok := x.locate(e.Step)
	if !ok || in.step.Status.Ended() {
		return lost(e.Step)
	}
	x.end(in, classOf(in.node, in.step), e.Status, workflow.Payload{}, nil, nil)
	return nil
}

func applyCaught(x *fold, e workflow.ActivityCaught) error {
	in, ok := x.locate(e.Step)
	if !ok || in.step.Status.Ended() {
		return lost(e.Step)
	}
	var failure *workflow.Error
	if o := in.open(); o != nil {
		failure = o.Error
	}
	x.s.Resigned = false
	if len(e.Then) > 0 && in.host == nil {
		x.stand(in, e.Then)
	}
	x.end(in, classOf(in.node, in.step), workflow.StatusCaught, e.Output, failure, e.Then)
	return nil
}

// stand notes which steps stand in for one whose error was caught.
func (x *fold) stand(in inst, then []string) {
	s := workflow.StandIn{For: in.node.index}
	for _, name := range then {
		if i, ok := in.node.body.byName[name]; ok {
			s.By = append(s.By, int(i))
		}
	}
	in.frame.StandIns = append(in.frame.StandIns, s)
}

func applyPending(x *fold, e workflow.ActivityPending) error {
	in, before, err := x.openStep(e.Step)
	if err != nil {
		return err
	}
	o := in.open()
	o.Pending, o.LeaseUntil, o.TimeoutAt, o.WaitBy = true, 0, e.TimeoutAt, e.WaitBy
	x.after(in, before)
	return nil
}

func applyJoinCounted(x *fold, e workflow.JoinCounted) error {
	in, ok := x.locate(e.Step)
	if !ok {
		return lost(e.Step)
	}
	in.frame.Joins = append(in.frame.Joins, workflow.CountedJoin{Step: in.node.index, Count: e.Count})
	x.consider(in.frame, in.node.index)
	return nil
}

// end brings a step to its end: nothing of it stays open, and those around it learn of it.
func (x *fold) end(in inst, before class, status workflow.Status, output workflow.Payload, failure *workflow.Error, then []string) {
	o := in.open()
	x.d.count(before, -1)
	if o != nil {
		x.d.timers.drop(o)
		if o.Held {
			x.unhold(in.path)
		}
	}
	x.last = inst{}
	in.step.Status = status
	if in.host != nil {
		in.step.Open = nil
		x.sideEnded(in, status, output, failure)
		return
	}
	f, n := in.frame, in.node
	if o != nil {
		f.Active--
	}
	if !n.exit() {
		f.Left--
	}
	if x.ofShard(in) && in.node.step.Foreach != nil {
		x.report(in, o)
	}
	x.pushUndo(in, status, o)
	x.keep(in, o, output, failure)
	if o != nil {
		x.leaveChild(in, o, status)
	}
	in.step.Open = nil
	for _, name := range then {
		if i, ok := n.body.byName[name]; ok {
			f.Steps[i].Picked = true
		}
	}
	x.lend(f, n.index, output)
	if status == workflow.StatusFailed {
		x.failed(in, failure)
	}
	x.ended(f, n.index)
	x.frameMoved(f)
}

// keep stores what may still be read of a step that ends.
func (x *fold) keep(in inst, o *workflow.OpenStep, output workflow.Payload, failure *workflow.Error) {
	frames := x.keptFrames(o)
	if !x.keeps(in.frame, in.node) && len(frames) == 0 {
		return
	}
	r := &workflow.Result{Output: output, Error: failure, EndedAt: x.s.At, Frames: frames}
	if o != nil {
		r.Attempts, r.StartedAt = o.Attempt, o.FirstAt
		if o.Child != nil {
			r.Execution = o.Child.Child
		}
	}
	in.step.Result = r
}

// lend gives the output of a step to those that it stands in for, once all their stand-ins have come out.
func (x *fold) lend(f *workflow.Frame, i int, output workflow.Payload) {
	for k := range f.StandIns {
		s := &f.StandIns[k]
		if !hasIndex(s.By, i) {
			continue
		}
		if _, ok := outcome(f, s.For); !ok {
			continue
		}
		given := output
		if len(s.By) > 1 {
			given = x.outputsOf(f, s.By)
		}
		if st := &f.Steps[s.For]; st.Result != nil {
			st.Result.Output = given
		}
		x.lend(f, s.For, given) // which may stand in itself
	}
}

// failed records the failure of a step and ends its body, unless those that need the step take it up.
func (x *fold) failed(in inst, failure *workflow.Error) {
	if len(x.s.Failures) < MaxFailures {
		x.s.Failures = append(x.s.Failures, workflow.StepFailure{Step: in.path, Error: failure})
	}
	f := in.frame
	if in.node.exit() || x.s.Ending != nil && !x.ofExit(f) || f.Error != nil || x.absorbed(f, in.node) {
		return
	}
	f.Error, f.Failed = failure, in.path
	x.pushFrame(f)
}

// frameMoved looks whether a body has come to its end.
func (x *fold) frameMoved(f *workflow.Frame) {
	if f.Left == 0 || f.Active == 0 {
		x.pushFrame(f)
	}
}
