package engine

import (
	"fmt"
	"slices"

	"github.com/wovyr/wovyr/pkg/workflow"
)

func registerWait() {
	on(func(x *fold, e workflow.TimerSet) error {
		return x.change(e.Step, func(o *workflow.OpenStep) { o.WakeAt = e.At })
	})
	on(func(x *fold, e workflow.TimerFired) error {
		return x.change(e.Step, func(o *workflow.OpenStep) { o.WakeAt = 0 })
	})
	on(applyTimeoutFired)
	on(func(x *fold, e workflow.LeaseExpired) error {
		return x.change(e.Step, func(o *workflow.OpenStep) { o.LeaseUntil = 0 })
	})
	on(func(x *fold, e workflow.EventAwaited) error {
		return x.change(e.Step, func(o *workflow.OpenStep) { o.Patterns, o.WaitBy = e.Patterns, e.WaitBy })
	})
	on(applyEventReceived)
	on(applyEventTaken)
	on(applyTaskCreated)
	on(applyTaskReminded)
	on(applyTaskEscalated)
	on(applyTaskDecided)
	on(applyChildRequested)
	on(func(x *fold, e workflow.ChildStarted) error {
		return x.change(e.Step, func(o *workflow.OpenStep) {
			if o.Child != nil && o.Child.Child == e.Child {
				o.Child.Begun = true
			}
		})
	})
	on(applyChildEnded)
}

// change changes an open step and counts it anew.
func (x *fold) change(path string, f func(*workflow.OpenStep)) error {
	in, before, err := x.openStep(path)
	if err != nil {
		return err
	}
	f(in.open())
	x.after(in, before)
	return nil
}

func applyTimeoutFired(x *fold, e workflow.TimeoutFired) error {
	if e.Step == "" {
		x.s.TimeoutAt = 0
		return nil
	}
	return x.change(e.Step, func(o *workflow.OpenStep) {
		switch e.Scope {
		case workflow.TimeoutActivity:
			o.TimeoutAt, o.TimedOut = 0, true
		case workflow.TimeoutWaiting:
			o.WaitBy = 0
		case workflow.TimeoutSchedule:
			o.ScheduleBy = 0
		}
	})
}

func applyEventReceived(x *fold, e workflow.EventReceived) error {
	x.see(e.Event.ID)
	if e.Step == "" {
		x.s.Early = append(x.s.Early, e.Event)
		return nil
	}
	x.moveCursors(&e.Event)
	return x.change(e.Step, func(o *workflow.OpenStep) { o.Patterns, o.WaitBy = nil, 0 })
}

// moveCursors notes the numbers of an event that was taken (commit protocol, point 12).
func (x *fold) moveCursors(e *workflow.EarlyEvent) {
	if e.Number > 0 {
		x.moveCursor(workflow.EventCursor{Kind: e.Kind, Key: e.Key, Number: e.Number})
	}
	if e.KindNumber > 0 {
		x.moveCursor(workflow.EventCursor{Kind: e.Kind, AnyKey: true, Number: e.KindNumber})
	}
}

func (x *fold) moveCursor(c workflow.EventCursor) {
	list := x.s.Cursors
	for i := range list {
		if at := list[i]; at.Kind == c.Kind && at.Key == c.Key && at.AnyKey == c.AnyKey {
			c.Number = max(at.Number, c.Number)
			copy(list[i:], list[i+1:]) // the one taken last stands last
			list[len(list)-1] = c
			return
		}
	}
	if len(list) >= MaxCursors {
		list = slices.Delete(list, 0, 1)
	}
	x.s.Cursors = append(list, c)
}

// cursor returns the last number taken.
func (x *fold) cursor(kind, key string, anyKey bool) uint64 {
	for i := range x.s.Cursors {
		if at := &x.s.Cursors[i]; at.Kind == kind && at.Key == key && at.AnyKey == anyKey {
			return at.Number
		}
	}
	return 0
}

func applyEventTaken(x *fold, e workflow.EventTaken) error {
	for i := range x.s.Early {
		if x.s.Early[i].ID == e.ID {
			x.moveCursors(&x.s.Early[i])
			x.s.Early = append(x.s.Early[:i:i], x.s.Early[i+1:]...)
			return x.change(e.Step, func(o *workflow.OpenStep) { o.Patterns, o.WaitBy = nil, 0 })
		}
	}
	return fmt.Errorf("there is no event %s", e.ID)
}

func applyTaskCreated(x *fold, e workflow.TaskCreated) error {
	return x.change(e.Step, func(o *workflow.OpenStep) {
		o.Task = &workflow.HumanTask{
			Title: e.Title, Details: e.Details, Assignees: e.Assignees, CreatedAt: x.s.At, Remind: e.Remind, Escalate: e.Escalate,
		}
		o.WaitBy = e.WaitBy
	})
}

func (x *fold) openTask(path string) (inst, class, error) {
	in, before, err := x.openStep(path)
	if err == nil && in.open().Task == nil {
		err = fmt.Errorf("step %s has no open task", path)
	}
	return in, before, err
}

func applyTaskReminded(x *fold, e workflow.TaskReminded) error {
	in, before, err := x.openTask(e.Step)
	if err != nil {
		return err
	}
	t := in.open().Task
	for len(t.Remind) > 0 && t.Remind[0] <= x.s.At {
		t.Remind = t.Remind[1:]
	}
	x.after(in, before)
	return nil
}

func applyTaskEscalated(x *fold, e workflow.TaskEscalated) error {
	in, before, err := x.openTask(e.Step)
	if err != nil {
		return err
	}
	t := in.open().Task
	if len(t.Escalate) == 0 {
		return fmt.Errorf("the task of %s has no further escalation", e.Step)
	}
	t.Escalate, t.Assignees = t.Escalate[1:], e.To
	t.Escalated++
	x.after(in, before)
	return nil
}

func applyTaskDecided(x *fold, e workflow.TaskDecided) error {
	in, before, err := x.openTask(e.Step)
	if err != nil {
		return err
	}
	x.see(e.ID)
	o := in.open()
	if e.Verdict == workflow.VerdictReassign {
		o.Task.Assignees = e.To
		return nil
	}
	o.WaitBy, o.Task.Remind, o.Task.Escalate = 0, nil, nil
	x.after(in, before)
	return nil
}

func applyChildRequested(x *fold, e workflow.ChildRequested) error {
	in, before, err := x.openStep(e.Step)
	if err != nil {
		return err
	}
	if e.Shard > 0 {
		return x.openShard(in, before, e)
	}
	o := in.open()
	o.Child = &workflow.ChildLink{
		Step: e.Step, Child: e.Child, Workflow: e.Workflow, Definition: e.Definition, Wait: e.Wait, OnClose: e.OnClose, Undo: e.Undo,
		Share: e.Share,
	}
	x.grant(e.Share)
	o.Input = e.Input
	x.after(in, before)
	return nil
}

func applyChildEnded(x *fold, e workflow.ChildEnded) error {
	for i := range x.s.Closing {
		if x.s.Closing[i].Child == e.Child {
			x.regain(x.s.Closing[i].Share)
			x.s.Closing = append(x.s.Closing[:i:i], x.s.Closing[i+1:]...)
			return nil
		}
	}
	for i := range x.s.Children {
		if x.s.Children[i].Child == e.Child {
			x.regain(x.s.Children[i].Share)
			x.s.Children = append(x.s.Children[:i:i], x.s.Children[i+1:]...)
			return nil
		}
	}
	in, before, err := x.openStep(e.Step)
	if err != nil {
		return err
	}
	if in.node.step.Foreach != nil {
		return x.closeShard(in, before, e)
	}
	if c := in.open().Child; c != nil && c.Child == e.Child {
		x.regain(c.Share)
		c.Ended, c.Share = true, 0
	}
	x.after(in, before)
	return nil
}

// shardMode is how a shard is cancelled: its parent undoes its work, not the shard itself.
func shardMode(m workflow.CancelMode) workflow.CancelMode {
	if m == workflow.CancelCompensated {
		return workflow.CancelImmediate
	}
	return m
}

// leaveChild says what becomes of the children of a step that ends, or of its attempt.
func (x *fold) leaveChild(in inst, o *workflow.OpenStep, status workflow.Status) {
	mode := workflow.CancelImmediate
	if c := x.s.Cancel; c != nil && x.s.Ending != nil {
		mode = c.Mode
	}
	if c := o.Child; c != nil && !c.Ended && c.OnClose != workflow.ParentCloseAbandon {
		if status == workflow.StatusCompleted {
			x.s.Children = append(x.s.Children, *c)
		} else {
			x.s.Closing = append(x.s.Closing, closing(*c, mode, "step "+in.path+" ended"))
		}
	}
	if o.Scope == nil {
		return
	}
	for i := range o.Scope.Shards {
		if s := &o.Scope.Shards[i]; s.State == workflow.ShardOpen {
			s.State = workflow.ShardCancelled
			o.Scope.Open--
			o.Scope.Done++
			x.s.Closing = append(x.s.Closing, closing(x.shardLink(in, i), shardMode(mode), "step "+in.path+" ended"))
		}
	}
}

// closeChildren cancels the children of an execution that ends, as far as they are not abandoned.
func (x *fold) closeChildren() {
	for _, c := range x.s.Children {
		if c.OnClose != workflow.ParentCloseAbandon {
			x.s.Closing = append(x.s.Closing, closing(c, workflow.CancelImmediate, "its parent ended"))
		}
	}
	x.s.Children = nil
}

// closing is a child that is to be cancelled.
func closing(c workflow.ChildLink, mode workflow.CancelMode, reason string) workflow.ChildLink {
	c.Mode, c.Origin, c.Reason = mode, workflow.OriginParent, reason
	return c
}
