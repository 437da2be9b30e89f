package engine_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// verb makes the input that a directive stands for.
type verb func(w *world, x *execution, d *directive) (workflow.Input, error)

// verbs are the directives that are inputs, and how they are written:
//
//	start {input}                          key= by= correlation= workflow=
//	complete STEP {output}                 attempt= fence= worker= started=-5s
//	fail STEP CODE [CATEGORY] [retryable] ["message"]   details={}, and those of complete
//	pending STEP · calls STEP [{call}…]    state={}
//	begin STEP · claimed STEP · revoked STEP · lease-expired STEP
//	tick · tick +1h                        without a length: at the earliest deadline
//	signal TYPE {data} · event TYPE {data} id= key= source= from= number= kind_number=
//	approve|reject STEP {answer} · reassign STEP TO   id= by= comment=
//	child-begun STEP · child-ended STEP OUTCOME {output}|CODE   shard= child= compensated count= failed= undoable=
//	cancel MODE                            origin= reason= id= by=
//	operator MOVE [STEP] {output}          id= by= code=
//	continue
var verbs map[string]verb

func init() {
	verbs = map[string]verb{
		"start": startOf, "complete": completeOf, "fail": failOf, "pending": pendingOf, "calls": callsOf,
		"begin": beginOf, "claimed": claimedOf, "revoked": revokedOf, "lease-expired": leaseOf, "tick": tickOf,
		"signal": signalOf, "event": eventOf, "approve": verdictOf, "reject": verdictOf, "reassign": verdictOf,
		"child-begun": childBegunOf, "child-ended": childEndedOf, "cancel": cancelOf, "operator": moveOf,
		"continue": func(*world, *execution, *directive) (workflow.Input, error) { return workflow.Continue{}, nil },
		"spawn":    spawnOf, "notify": notifyOf, "next": nextOf, "cancel-child": cancelChildOf, "redrive": redriveOf,
	}
}

// inputs are those of one directive; `batch` has several, one a line of its body.
func (w *world) inputs(x *execution, d *directive) ([]workflow.Input, error) {
	if d.verb != "batch" {
		make, ok := verbs[d.verb]
		if !ok {
			return nil, fmt.Errorf("there is no directive %q", d.verb)
		}
		in, err := make(w, x, d)
		return []workflow.Input{in}, err
	}
	var list []workflow.Input
	for line := range strings.Lines(d.body) {
		one := directive{text: strings.TrimSpace(line)}
		if err := one.parse(); err != nil {
			return nil, err
		}
		more, err := w.inputs(x, &one)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// payload takes the last word, if it is JSON, as a value.
func payload(d *directive) (workflow.Payload, error) {
	text, ok := d.takeJSON()
	if !ok {
		return workflow.Payload{}, nil
	}
	v, err := expr.Canonical([]byte(text))
	return workflow.Inline(v), err
}

// id is that of the directive, or a new one.
func (w *world) id(d *directive) string {
	if id := d.options["id"]; id != "" {
		return id
	}
	return "i" + strconv.Itoa(w.message)
}

func startOf(w *world, x *execution, d *directive) (workflow.Input, error) {
	in, err := payload(d)
	return workflow.Start{
		Execution: x.id, Tenant: "acme", Workflow: x.def.Name, Definition: "1", Hash: "h", Input: in,
		Key: d.options["key"], By: d.options["by"], Correlation: d.options["correlation"], Labels: x.def.Labels,
	}, err
}

// attempt is the last one of a step, unless the directive says otherwise.
func (x *execution) attempt(d *directive) (workflow.AttemptRef, error) {
	ref := x.attempts[d.word(0)]
	ref.Step = d.word(0)
	for name, to := range map[string]*int{"attempt": &ref.Attempt, "fence": &ref.Fence} {
		if text := d.options[name]; text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				return ref, err
			}
			*to = n
		}
	}
	return ref, nil
}

func (w *world) result(x *execution, d *directive) (workflow.ActivityResult, error) {
	ref, err := x.attempt(d)
	r := workflow.ActivityResult{AttemptRef: ref, Worker: w.worker, StartedAt: w.now}
	if name := d.options["worker"]; name != "" {
		r.Worker = name
	}
	if ago := d.options["started"]; ago != "" && err == nil {
		var by int64
		by, err = seconds(ago)
		r.StartedAt += by
	}
	return r, err
}

func completeOf(w *world, x *execution, d *directive) (workflow.Input, error) {
	out, err := payload(d)
	if err != nil {
		return nil, err
	}
	r, err := w.result(x, d)
	r.Output = out
	if out.IsZero() {
		r.Output = workflow.Inline(workflow.Null)
	}
	return r, err
}

func failOf(w *world, x *execution, d *directive) (workflow.Input, error) {
	r, err := w.result(x, d)
	r.Error = errorOf(d, 1)
	return r, err
}

// errorOf reads `CODE [CATEGORY] [retryable] ["message"]` from the i-th word on.
func errorOf(d *directive, i int) *workflow.Error {
	e := &workflow.Error{Code: d.word(i), Category: workflow.CategoryActivity, Details: workflow.Value(d.options["details"])}
	for _, word := range d.words[min(i+1, len(d.words)):] {
		switch {
		case workflow.Category(word).Valid():
			e.Category = workflow.Category(word)
		case word == "retryable":
			e.Retryable = true
		default:
			e.Message = strings.Trim(word, `"`)
		}
	}
	return e
}

func pendingOf(w *world, x *execution, d *directive) (workflow.Input, error) {
	r, err := w.result(x, d)
	r.Pending = true
	return r, err
}

func callsOf(w *world, x *execution, d *directive) (workflow.Input, error) {
	text, _ := d.takeJSON()
	r, err := w.result(x, d)
	if err != nil {
		return nil, err
	}
	r.Continue = &workflow.AgentContinue{}
	if state := d.options["state"]; state != "" {
		r.Continue.State = workflow.Inline(workflow.Value(state))
	}
	r.Continue.Calls, err = agentCalls(text)
	return r, err
}

func beginOf(w *world, x *execution, d *directive) (workflow.Input, error) {
	ref, err := x.attempt(d)
	return workflow.Begin{AttemptRef: ref, Worker: w.worker, LeaseUntil: w.now + lease}, err
}

// lease is how long a worker holds an attempt in stories.
const lease = 60_000_000_000

func claimedOf(w *world, x *execution, d *directive) (workflow.Input, error) {
	ref, err := x.attempt(d)
	return workflow.Claimed{AttemptRef: ref, Worker: "w2", StartedAt: w.now, LeaseUntil: w.now + lease}, err
}

func revokedOf(_ *world, x *execution, d *directive) (workflow.Input, error) {
	ref, err := x.attempt(d)
	return workflow.RevokedFound{AttemptRef: ref}, err
}

func leaseOf(w *world, x *execution, d *directive) (workflow.Input, error) {
	ref, err := x.attempt(d)
	return workflow.LeaseExpiry{AttemptRef: ref, Worker: "w2", StartedAt: w.now}, err
}

func tickOf(w *world, x *execution, d *directive) (workflow.Input, error) {
	if d.word(0) == "" {
		if at, ok := engine.Due(x.program, x.state); ok {
			w.now = max(w.now, at)
		}
		return workflow.Tick{}, nil
	}
	by, err := seconds(d.word(0))
	w.now += by
	return workflow.Tick{}, err
}

func signalOf(w *world, _ *execution, d *directive) (workflow.Input, error) {
	data, err := payload(d)
	return workflow.ExternalEvent{By: d.options["by"], EarlyEvent: workflow.EarlyEvent{
		ID: w.id(d), Kind: d.word(0), Key: d.options["key"], Source: d.options["source"], From: d.options["from"], Data: data, ReceivedAt: w.now,
	}}, err
}

func eventOf(w *world, x *execution, d *directive) (workflow.Input, error) {
	in, err := signalOf(w, x, d)
	if err != nil {
		return nil, err
	}
	e := in.(workflow.ExternalEvent)
	if e.From == "" {
		e.From = "bus"
	}
	for name, to := range map[string]*uint64{"number": &e.Number, "kind_number": &e.KindNumber} {
		if text := d.options[name]; text != "" {
			if *to, err = strconv.ParseUint(text, 10, 64); err != nil {
				return nil, err
			}
		}
	}
	return e, nil
}

func verdictOf(w *world, _ *execution, d *directive) (workflow.Input, error) {
	answer, err := payload(d)
	verdict := workflow.Verdict(d.verb)
	in := workflow.TaskDecision{ID: w.id(d), Step: d.word(0), By: d.options["by"], Verdict: verdict, Answer: answer, Comment: d.options["comment"]}
	if len(d.words) > 1 {
		in.To = d.words[1:]
	}
	return in, err
}

// child is the last one that the step asked for, or the one that the directive names by `child` or `shard`.
func (w *world) child(x *execution, d *directive) (string, error) {
	list := w.children[x.id+" "+d.word(0)]
	if id := d.options["child"]; id != "" {
		return id, nil
	}
	if n := d.options["shard"]; n != "" {
		i, err := strconv.Atoi(n)
		if err != nil || i >= len(list) {
			return "", fmt.Errorf("there is no shard %s of %d", n, len(list))
		}
		return list[i], nil
	}
	if len(list) == 0 {
		return "", fmt.Errorf("step %s asked for no child", d.word(0))
	}
	return list[len(list)-1], nil
}

func childBegunOf(w *world, x *execution, d *directive) (workflow.Input, error) {
	id, err := w.child(x, d)
	return workflow.ChildBegun{Step: d.word(0), Child: id}, err
}

func childEndedOf(w *world, x *execution, d *directive) (workflow.Input, error) {
	id, err := w.child(x, d)
	if err != nil {
		return nil, err
	}
	var out workflow.Payload
	if d.word(1) == string(workflow.OutcomeCompleted) {
		if out, err = payload(d); err != nil {
			return nil, err
		}
	}
	in := workflow.ChildEnd{Step: d.word(0), Child: id, Outcome: workflow.Outcome(d.word(1)), Output: out, Compensated: d.options["compensated"] != "",
		Undoable: d.options["undoable"] != ""}
	if len(d.words) > 2 {
		in.Error = errorOf(d, 2)
	}
	for name, to := range map[string]*int{"count": &in.Count, "failed": &in.Failed} {
		if text := d.options[name]; text != "" {
			if *to, err = strconv.Atoi(text); err != nil {
				return nil, err
			}
		}
	}
	return in, nil
}

func cancelOf(w *world, _ *execution, d *directive) (workflow.Input, error) {
	in := workflow.Cancel{ID: w.id(d), Mode: workflow.CancelMode(d.word(0)), Origin: workflow.CancelOrigin(d.options["origin"]),
		Reason: d.options["reason"], By: d.options["by"]}
	if in.Origin == "" {
		in.Origin = workflow.OriginUser
	}
	return in, nil
}

func moveOf(w *world, _ *execution, d *directive) (workflow.Input, error) {
	out, err := payload(d)
	in := workflow.OperatorMove{ID: w.id(d), Move: workflow.Move(d.word(0)), Step: d.word(1), By: d.options["by"], Output: out}
	if code := d.options["code"]; code != "" {
		in.Error = &workflow.Error{Code: code, Category: workflow.CategoryWorkflow}
	}
	return in, err
}
