package flowtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// call is one call of an activity, as mocks and expectations see it.
type call struct {
	key    string // as mocks name the step: path without indexes, with WORKFLOW: before it in other workflows
	path   string // with indexes, likewise
	number int    // of the calls with this key, from 1
	run    workflow.RunActivity
	// view is the JSON object `call`: step, attempt, number, kind, name, with, target, and turn and results of an agent.
	view workflow.Value
}

// plainPath is a path without the indexes of items, iterations and turns, and without the numbers of further
// notifications: each/3/price becomes each/price, approve!notify-2 becomes approve!notify.
func plainPath(path string) string {
	parts := strings.Split(path, "/")
	kept := parts[:0:0]
	for _, p := range parts {
		name, beside, side := strings.Cut(p, "!")
		if _, err := strconv.Atoi(name); err == nil && !side {
			continue
		}
		if beside, _, _ = strings.Cut(beside, "-"); side {
			name += "!" + beside
		}
		kept = append(kept, name)
	}
	return strings.Join(kept, "/")
}

// plainSide is a path without the number behind what stands beside a step: approve!notify-2 becomes approve!notify.
func plainSide(path string) string {
	if step, beside, ok := strings.Cut(path, "!"); ok {
		beside, _, _ = strings.Cut(beside, "-")
		return step + "!" + beside
	}
	return path
}

func (w *world) callOf(x *run, r workflow.RunActivity) *call {
	c := &call{path: x.name(r.Step), key: x.name(plainPath(r.Step)), run: r}
	w.numbers[c.key]++
	c.number = w.numbers[c.key]
	view := map[string]any{
		"step": r.Step, "attempt": r.Attempt, "number": c.number, "kind": string(r.Kind), "name": r.Name,
		"with": filled(r.Input), "target": filled(r.Target),
	}
	if r.Agent != nil {
		view["turn"], view["results"] = r.Agent.Turn, agentResults(r.Agent.Results)
	}
	c.view = canonical(view)
	return c
}

func agentResults(list []workflow.AgentResult) []map[string]any {
	out := []map[string]any{}
	for _, r := range list {
		one := map[string]any{"id": r.ID, "output": filled(r.Output)}
		if r.Error != nil {
			one["error"] = r.Error
		}
		out = append(out, one)
	}
	return out
}

// canonical is a value of maps, lists and JSON as canonical JSON.
func canonical(v any) workflow.Value {
	text, err := json.Marshal(v)
	if err != nil {
		panic("flowtest: a call always has a JSON form: " + err.Error())
	}
	c, err := expr.Canonical(text)
	if err != nil {
		panic("flowtest: a call always has a canonical form: " + err.Error())
	}
	return c
}

// filled is a payload with its holes filled by what they stand for: `Bearer ${ secrets.pay }`.
func filled(p workflow.Payload) json.RawMessage {
	if p.IsZero() {
		return json.RawMessage("null")
	}
	if len(p.Holes) == 0 {
		return json.RawMessage(p.JSON)
	}
	v, err := decoded(p.JSON)
	if err != nil {
		return json.RawMessage(p.JSON)
	}
	for _, h := range p.Holes {
		path := strings.Split(h.At, "/")[1:]
		switch {
		case h.Deferred != nil:
			v = fill(v, path, strings.TrimSpace(h.Deferred.Expr))
		case h.Ref != nil: // the manifest of a foreach in shards
			if inline, ok := h.Ref.Inline(); ok {
				v = fill(v, path, json.RawMessage(inline))
			}
		}
	}
	text, _ := json.Marshal(v)
	return text
}

// decoded is a value as maps, lists and numbers that keep their digits.
func decoded(v workflow.Value) (any, error) {
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	var out any
	err := d.Decode(&out)
	return out, err
}

func fill(v any, path []string, with any) any {
	if len(path) == 0 {
		return with
	}
	name := strings.NewReplacer("~1", "/", "~0", "~").Replace(path[0])
	switch v := v.(type) {
	case map[string]any:
		v[name] = fill(v[name], path[1:], with)
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i < len(v) {
			v[i] = fill(v[i], path[1:], with)
		}
	}
	return v
}

// names are what mocks may call the step by, the most specific first.
func (c *call) names() []string {
	list := []string{c.path, c.key}
	if c.run.Name != "" {
		list = append(list, string(c.run.Kind)+":"+c.run.Name)
	}
	return append(list, "kind:"+string(c.run.Kind))
}

// answerOf finds the first answer whose conditions hold; nil if there is none.
func (w *world) answerOf(x *run, c *call) (*answer, error) {
	for _, name := range c.names() {
		for i := range w.c.mocks {
			m := &w.c.mocks[i]
			if m.key != name {
				continue
			}
			for k := range m.answers {
				ok, err := m.answers[k].fits(c)
				if err != nil {
					return nil, fmt.Errorf("the mock of %s: %w", m.key, err)
				}
				if ok {
					w.record.use(m)
					return &m.answers[k], nil
				}
			}
		}
	}
	return nil, nil
}

func (a *answer) fits(c *call) (bool, error) {
	if a.attempt > 0 && a.attempt != c.run.Attempt {
		return false, nil
	}
	if a.like != nil {
		ok, err := matches(a.like, c.view)
		if !ok || err != nil {
			return false, err
		}
	}
	if a.when == nil {
		return true, nil
	}
	x, err := expr.Load(a.when)
	if err != nil {
		return false, err
	}
	return x.EvalBool(activation("call", c.view))
}

// render makes a mock's output for a call.
func (c *call) render(a *answer) (workflow.Payload, error) {
	t, err := expr.LoadTemplate(a.output)
	if err != nil {
		return workflow.Payload{}, err
	}
	out, err := t.Render(activation("call", c.view))
	if err != nil {
		return out, fmt.Errorf("the output of the mock of %s: %w", c.key, err)
	}
	if len(c.run.Schema) > 0 {
		if err := fits(c.run.Schema, out.JSON); err != nil {
			return out, fmt.Errorf("the output of the mock of %s does not fit the step's own schema: %w", c.key, err)
		}
	}
	return out, nil
}

// defaultLease is after how long a lost worker is noticed, where the step has no heartbeat.
const defaultLease = int64(30 * time.Second)

// call answers a call of an activity by its mock; a script that has none is run.
func (w *world) call(x *run, r workflow.RunActivity) error {
	c := w.callOf(x, r)
	a, err := w.answerOf(x, c)
	if err != nil {
		return err
	}
	result := workflow.ActivityResult{AttemptRef: r.AttemptRef, Worker: testWorker, StartedAt: w.now}
	switch {
	case a == nil && w.suite.runs(c):
		a, result.Output = w.script(c)
	case a == nil:
		return c.unmocked()
	case a.output != nil:
		if result.Output, err = c.render(a); err != nil {
			return err
		}
	}
	w.record.called(c)
	result.Error = a.error
	if a.calls != nil {
		result.Continue = a.turn()
	}
	return w.deliver(x, r, a, result)
}

// deliver lets a worker take the call and answer it when its time has come.
func (w *world) deliver(x *run, r workflow.RunActivity, a *answer, result workflow.ActivityResult) error {
	give := func(in workflow.Input) func() error { return func() error { return w.decide(x, in) } }
	if a.takes == 0 && !a.silent && !a.lost && !r.Callback {
		w.later(0, give(result))
		return nil
	}
	if r.Callback {
		w.later(0, give(workflow.ActivityResult{AttemptRef: r.AttemptRef, Worker: testWorker, StartedAt: w.now, Pending: true}))
	} else {
		w.later(0, give(workflow.Begin{AttemptRef: r.AttemptRef, Worker: testWorker, LeaseUntil: w.now + a.takes + defaultLease}))
		result.StartedAt = 0
	}
	switch {
	case a.lost:
		lease := defaultLease
		if r.Heartbeat > 0 {
			lease = r.Heartbeat
		}
		w.later(a.takes+lease, give(workflow.LeaseExpiry{AttemptRef: r.AttemptRef, Worker: testWorker, StartedAt: w.now}))
	case !a.silent:
		w.later(a.takes, give(result))
	}
	return nil
}

func (a *answer) turn() *workflow.AgentContinue {
	out := &workflow.AgentContinue{State: workflow.Inline(a.state)}
	if len(a.state) == 0 {
		out.State = workflow.Inline(workflow.Null)
	}
	for _, c := range a.calls {
		out.Calls = append(out.Calls, workflow.AgentCall{
			ID: c.id, Kind: c.kind, Name: c.name, Input: workflow.Inline(c.input), Approve: c.approve, Title: "Approve " + c.name,
		})
	}
	return out
}

// unmocked says what to write for a call that has no mock.
func (c *call) unmocked() error {
	what, fields := string(c.run.Kind), []string{"with", "target"}
	if c.run.Name != "" {
		what, fields = what+" "+c.run.Name, fields[:1]
	}
	key := c.key
	if strings.ContainsAny(key, ":!") {
		key = "'" + key + "'"
	}
	return &missing{step: c.path, text: fmt.Sprintf("step %s calls %s with %s, and no mock answers (attempt %d)", c.path, what, short(c.view, fields...), c.run.Attempt),
		hint: fmt.Sprintf("add `%s: { output: {} }` to `mocks`", key)}
}

// short is the first of some fields of an object that is not null, cut to a line.
func short(v workflow.Value, fields ...string) string {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(v, &all); err != nil {
		return "nothing"
	}
	for _, f := range fields {
		if text := string(all[f]); text != "null" && text != "" {
			return clip(text, 100)
		}
	}
	return "nothing"
}

func clip(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
