package engine

import (
	"sort"
	"strconv"
	"time"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Steps that wait for a person's decision.

func humanWaits(_ *node, o *workflow.OpenStep) workflow.WaitReason {
	if o.Task == nil {
		return 0
	}
	return workflow.WaitHuman
}

func startHuman(t *Turn, in inst) {
	task, err := t.newTask(in)
	if err != nil {
		t.failStart(in, err)
		return
	}
	l, err := t.limitsOf(in, t.lazily(in))
	if err != nil {
		t.failStart(in, err)
		return
	}
	if !t.fits(weighPayload(task.Details) + 256) {
		return
	}
	t.begin(in, t.env.By, l)
	task.WaitBy = in.open().WaitBy
	t.move(task)
	t.ask(in)
	t.notify(in)
}

// newTask renders a task. That of an agent's call is made from the call.
func (t *Turn) newTask(in inst) (workflow.TaskCreated, *workflow.Error) {
	task := workflow.TaskCreated{Step: in.path}
	if in.side != nil {
		return t.approvalTask(in, task), nil
	}
	h, a := in.node.step.Human, t.lazily(in)
	var err *workflow.Error
	if task.Title, err = renderString(h.Title, a); err != nil {
		return task, err
	}
	if task.Details, err = render(h.Details, a); err != nil {
		return task, err
	}
	if task.Assignees, err = renderNames(h.Assignees, a); err != nil {
		return task, err
	}
	if task.Remind, err = t.moments(h.Remind, a); err != nil {
		return task, err
	}
	after := make([]workflow.Duration, len(h.Escalate))
	for i := range h.Escalate {
		after[i] = h.Escalate[i].After
	}
	task.Escalate, err = t.moments(after, a)
	return task, err
}

func (t *Turn) approvalTask(in inst, task workflow.TaskCreated) workflow.TaskCreated {
	for _, c := range in.host.open().Agent.Calls {
		if c.Approval == in.side {
			task.Title, task.Details, task.Assignees = c.Call.Title, c.Call.Input, c.Call.Approve
			if task.Title == "" {
				task.Title = "Approve the call of " + c.Call.Name
			}
		}
	}
	return task
}

// moments are the times of durations from now on, earliest first.
func (t *Turn) moments(list []workflow.Duration, a *lazyActivation) ([]int64, *workflow.Error) {
	var out []int64
	for i := range list {
		d, err := duration(&list[i], a)
		if err != nil {
			return nil, err
		}
		out = append(out, t.now+max(d, 1))
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out, nil
}

// renderNames renders one name or a list of names.
func renderNames(tm *workflow.Template, a *lazyActivation) ([]string, *workflow.Error) {
	if tm == nil {
		return nil, nil
	}
	v, err := render(tm, a)
	if err != nil {
		return nil, err
	}
	if len(v.Holes) > 0 {
		return nil, workflow.Errorf("human.assignees", workflow.CategoryWorkflow, "assignees are kept by reference: they must be texts")
	}
	if v.JSON.IsNull() {
		return nil, nil
	}
	if v.JSON[0] != '[' {
		return []string{text(v.JSON)}, nil
	}
	items, err := listOf(v)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(items))
	for i := range items {
		names[i] = text(items[i].JSON)
	}
	return names, nil
}

// listOf takes a list apart.
func listOf(v workflow.Payload) ([]workflow.Payload, *workflow.Error) {
	c, err := expr.Load(&workflow.Expr{Source: "v"})
	if err != nil {
		return nil, exprError(err)
	}
	items, err := c.EvalList(expr.NewActivation(func(string) (expr.Binding, bool) { return expr.Of(v), true }))
	if err != nil {
		return nil, exprError(err)
	}
	return items, nil
}

// notify tells people of a task, unless they are just being told.
func (t *Turn) notify(in inst) {
	if in.node.notify != nil && in.open().Task.Notify == nil {
		t.startSide(notifyPath(in))
	}
}

// dueTask reminds and escalates.
func (t *Turn) dueTask(in inst) {
	task := in.open().Task
	if task == nil {
		return
	}
	if len(task.Remind) > 0 && task.Remind[0] <= t.now {
		t.emit(workflow.TaskReminded{Step: in.path})
		t.notify(in)
	}
	for len(task.Escalate) > 0 && task.Escalate[0] <= t.now {
		to, err := t.escalateTo(in)
		if err != nil {
			t.fail(in, err, false)
			return
		}
		t.emit(workflow.TaskEscalated{Step: in.path, To: to})
		t.ask(in)
		t.notify(in)
	}
}

// escalateTo renders whom the next escalation names. Escalations come in the order of their times.
func (t *Turn) escalateTo(in inst) ([]string, *workflow.Error) {
	h, a := in.node.step.Human, t.lazily(in)
	order := make([]int, len(h.Escalate))
	after := make([]int64, len(h.Escalate))
	for i := range h.Escalate {
		d, err := duration(&h.Escalate[i].After, a)
		if err != nil {
			return nil, err
		}
		order[i], after[i] = i, d
	}
	sort.SliceStable(order, func(i, j int) bool { return after[order[i]] < after[order[j]] })
	next := min(in.open().Task.Escalated, len(order)-1)
	return renderNames(h.Escalate[order[next]].To, a)
}

// onTaskDecision takes a person's verdict.
func (t *Turn) onTaskDecision(d workflow.TaskDecision) error {
	if t.seen(d.ID) {
		return nil
	}
	if err := bounded(d, "its answer", d.Answer); err != nil {
		return err
	}
	in, ok := t.locate(d.Step)
	if !ok {
		return refuse(d, "there is no step %s", d.Step)
	}
	o := in.open()
	if o == nil || o.Task == nil {
		if in.step.Status.Ended() {
			return refuse(d, "the task of %s was decided already", d.Step)
		}
		return refuse(d, "step %s has no open task", d.Step)
	}
	e := workflow.TaskDecided{Step: in.path, ID: d.ID, By: d.By, Verdict: d.Verdict, Answer: d.Answer, Comment: d.Comment, To: d.To}
	switch d.Verdict {
	case workflow.VerdictReassign:
		if len(d.To) == 0 {
			return refuse(d, "it reassigns the task to nobody")
		}
		t.emit(e)
		t.ask(in)
		t.notify(in)
	case workflow.VerdictApprove:
		if form := in.node.step.Human.Form; len(form) > 0 {
			if wrong := t.misfit(form, d.Answer); wrong != "" {
				return refuse(d, "the answer does not fit the form of the task: %s", wrong)
			}
		}
		t.emit(e)
		t.endSides(in)
		t.complete(in, t.humanOutput("approved", d))
	case workflow.VerdictReject:
		t.emit(e)
		t.endSides(in)
		if in.node.step.Human.OnReject == workflow.ReactionContinue {
			t.complete(in, t.humanOutput("rejected", d))
			return nil
		}
		t.fail(in, t.rejected(d), false)
	default:
		return refuse(d, "there is no verdict %q: approve, reject or reassign", d.Verdict)
	}
	return nil
}

func (t *Turn) rejected(d workflow.TaskDecision) *workflow.Error {
	msg := "rejected"
	if d.By != "" {
		msg += " by " + d.By
	}
	if d.Comment != "" {
		msg += ": " + d.Comment
	}
	return &workflow.Error{Code: "human.rejected", Category: workflow.CategoryActivity, Message: msg, Details: t.humanOutput("rejected", d).JSON}
}

// humanOutput is the output of a human step: {decision, by, comment, answer, at} (semantics 25).
func (t *Turn) humanOutput(decision string, d workflow.TaskDecision) workflow.Payload {
	out := workflow.Payload{Holes: under("/answer", d.Answer.Holes)}
	answer := orNull(d.Answer).JSON
	b := append([]byte(`{"answer":`), answer...)
	b = appendText(append(b, `,"at":`...), time.Unix(0, t.now).UTC().Format(time.RFC3339Nano))
	b = append(b, `,"by":`...)
	b = appendText(b, d.By)
	b = append(b, `,"comment":`...)
	b = appendText(b, d.Comment)
	b = append(b, `,"decision":"`...)
	b = append(b, decision...)
	out.JSON = append(b, `"}`...)
	return out
}

// appendText appends a text as canonical JSON, or null for none.
func appendText(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	v, err := expr.Marshal(s)
	if err != nil {
		return strconv.AppendQuote(b, "?")
	}
	return append(b, v...)
}

// under moves holes below a pointer.
func under(pointer string, holes []workflow.Hole) []workflow.Hole {
	if len(holes) == 0 {
		return nil
	}
	out := make([]workflow.Hole, len(holes))
	for i, h := range holes {
		h.At = pointer + h.At
		out[i] = h
	}
	return out
}

// expiredHuman ends a task that nobody decided in time.
func expiredHuman(t *Turn, in inst) {
	if in.node.step.Human.OnTimeout == workflow.ReactionContinue {
		t.complete(in, t.humanOutput("timed_out", workflow.TaskDecision{}))
		return
	}
	t.fail(in, timeoutError(workflow.TimeoutWaiting, "nobody decided in time"), false)
}
