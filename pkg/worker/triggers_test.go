package worker

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// executions are all there are of a workflow, oldest first.
func (r *rig) executions(name string) (list []*Snapshot) {
	r.Helper()
	rows, _, err := r.store.List(r.Context(), tenant, eventstore.Filter{Workflow: name}, eventstore.Page{})
	require.NoError(r, err)
	for i := len(rows) - 1; i >= 0; i-- {
		list = append(list, r.see(rows[i].Stream))
	}
	return list
}

func (r *rig) publish(e Event) {
	r.Helper()
	r.pass(time.Second) // lists are in the order of starts
	if e.Data.IsZero() {
		e.Data = workflow.Inline(workflow.Value(`{}`))
	}
	require.NoError(r, r.Publish(r.Context(), tenant, e))
}

func orderPlaced(id, data string) Event {
	return Event{ID: id, Type: "OrderPlaced", Source: "shop", Data: workflow.Inline(workflow.Value(data))}
}

// TestAnEventStartsWorkflows: an event starts one execution of each workflow that has a trigger for it, once, however often it comes, and with the input that the
// trigger makes of it.
func TestAnEventStartsWorkflows(t *testing.T) {
	r := newRig(t)
	for name, trigger := range map[string]string{
		"all":      "{ type: OrderPlaced }",
		"large":    "{ type: OrderPlaced, match: event.data.total > 100, input: { sum: '${ event.data.total }', from: '${ event.source }', id: '${ event.id }' } }",
		"shop":     "{ type: OrderPlaced, source: shop }",
		"desk":     "{ type: OrderPlaced, source: desk }",
		"otherone": "{ type: OrderCancelled }",
		"twofold":  "{ type: OrderPlaced, input: { n: 1 } }, event2",
	} {
		triggers := "[ { event: " + trigger + " } ]"
		if first, two := strings.CutSuffix(trigger, ", event2"); two {
			triggers = "[ { event: " + first + " }, { event: { type: OrderPlaced, input: { n: 2 } } } ]"
		}
		r.define("name: " + name + "\ntriggers: " + triggers + "\nsteps:\n  a: { function: std.echo, with: { v: '${ input }' } }\noutput: '${ steps.a.output.v }'")
	}
	for range 3 {
		r.publish(orderPlaced("1", `{"total":50}`))
		r.publish(orderPlaced("2", `{"total":500}`))
		r.settle()
	}
	outputs := func(name string) (list []string) {
		for _, s := range r.executions(name) {
			require.Equal(t, "completed", Outcome(s.State))
			list = append(list, s.Output.JSON.String())
		}
		return list
	}
	require.Equal(t, []string{`{"total":50}`, `{"total":500}`}, outputs("all"))
	require.Equal(t, []string{`{"from":"shop","id":"2","sum":500}`}, outputs("large"))
	require.Len(t, outputs("shop"), 2)
	require.Empty(t, outputs("desk"))
	require.Empty(t, outputs("otherone"))
	require.Equal(t, []string{`{"n":1}`, `{"n":1}`}, outputs("twofold"), "the first trigger that fits")
	require.Empty(t, r.letters())
	created, err := r.Created(t.Context(), stream(r.executions("large")[0].Execution))
	require.NoError(t, err)
	require.Equal(t, "event/shop", created.By)
}

// TestATriggerThatFails: a trigger that cannot be evaluated, and an input that the workflow refuses, are dead letters with their cause; the others start. Sent
// again after the workflow was mended, the letter starts what it was about.
func TestATriggerThatFails(t *testing.T) {
	r := newRig(t)
	const steps = "\nsteps:\n  a: { function: std.echo }"
	r.define("name: good\ntriggers: [ { event: { type: OrderPlaced } } ]" + steps)
	r.define("name: match\ntriggers: [ { event: { type: OrderPlaced, match: event.data.total > 1 } } ]" + steps)
	r.define("name: input\ntriggers: [ { event: { type: OrderPlaced, input: '${ event.data.order.id }' } } ]" + steps)
	r.define("name: schema\ninput: { schema: { type: object, required: [ total ] } }\ntriggers: [ { event: { type: OrderPlaced } } ]" + steps)
	for range 2 {
		r.publish(orderPlaced("1", `{"n":1}`))
	}
	require.Len(t, r.executions("good"), 1)
	letters := map[string]eventstore.DeadLetter{}
	for _, d := range r.letters() {
		var o occasion
		require.NoError(t, json.Unmarshal(d.Body, &o))
		require.NotContains(t, d.ID, "/")
		letters[o.Workflow] = d
	}
	require.Len(t, letters, 3)
	for name, code := range map[string]string{"match": "expression.missing", "input": "expression.missing", "schema": "input.invalid"} {
		d := letters[name]
		require.Equal(t, code, d.Code, "%s: %s", name, d.Cause)
		require.Equal(t, "triggers", d.Queue)
		var typed *workflow.Error
		require.ErrorAs(t, r.Redeliver(t.Context(), tenant, d.ID, nil), &typed, "nothing has changed")
	}
	require.Len(t, r.letters(), 3)
	r.define("name: match\ntriggers: [ { event: { type: OrderPlaced, match: event.data.n == 1 } } ]" + steps)
	require.NoError(t, r.Redeliver(t.Context(), tenant, letters["match"].ID, nil))
	require.Len(t, r.executions("match"), 1)
	require.Len(t, r.letters(), 2)
}

// TestKeysOfTriggers: events that differ in source or ID are two, and no caller's key takes that of an event or of a delivery before it comes.
func TestKeysOfTriggers(t *testing.T) {
	r := newRig(t)
	name := r.define(`name: flow
triggers: [ { event: { type: OrderPlaced } }, { webhook: { path: /a, verify: { bearer: k } } }, { webhook: { path: /a/b, verify: { bearer: k } } } ]
steps: { a: { function: std.echo } }`)
	for _, key := range []string{"event/shop/1", "webhook/hooks/a/1"} {
		_, err := r.Start(t.Context(), StartRequest{Tenant: tenant, Workflow: name, Key: key})
		require.NoError(t, err)
	}
	for _, e := range []Event{{Source: "shop", ID: "1"}, {Source: "shop/eu", ID: "17"}, {Source: "shop", ID: "eu/17"}, {Source: "shop", ID: "eu%2F17"}} {
		for range 2 {
			e.Type = "OrderPlaced"
			r.publish(e)
		}
	}
	for _, d := range [][2]string{{"/hooks/a", "1"}, {"/hooks/a", "b/1"}, {"/hooks/a/b", "1"}} {
		for i := range 2 {
			h, err := r.Webhook(t.Context(), tenant, d[0], d[1])
			require.NoError(t, err)
			started, err := r.Take(t.Context(), h, HookRequest{ID: d[1], Data: workflow.Inline(workflow.Value(`{}`))})
			require.NoError(t, err)
			require.Equal(t, i > 0, started.Existed, d)
		}
	}
	require.Len(t, r.executions(name), 2+4+3)
}

// TestALetterThatStartsNothing stays while its workflow has no trigger that fits it, or is switched off, and starts it once there is one again.
func TestALetterThatStartsNothing(t *testing.T) {
	const head, steps = "name: w\ntriggers: [ ", " ]\nsteps:\n  a: { function: std.echo }\n"
	wrong := map[string]string{
		"event":   "{ event: { type: OrderPlaced, input: '${ event.data.order.id }' } }",
		"webhook": "{ webhook: { path: /x, verify: { bearer: k }, input: '${ event.data.order.id }' } }",
	}
	mended := map[string]string{"event": "{ event: { type: OrderPlaced } }", "webhook": "{ webhook: { path: /x, verify: { bearer: k } } }"}
	for by, trigger := range wrong {
		for name, change := range map[string]func(r *rig){
			"other trigger": func(r *rig) { r.define(head + "{ event: { type: Other } }" + steps) },
			"no match":      func(r *rig) { r.define(head + "{ event: { type: OrderPlaced, match: event.data.n > 5 } }" + steps) },
			"switched off": func(r *rig) {
				require.NoError(t, r.store.PutAlias(t.Context(), eventstore.Alias{Tenant: tenant, Workflow: "w", Name: "live", Revision: 1}))
			},
		} {
			t.Run(by+", "+name, func(t *testing.T) {
				r := newRig(t)
				r.define(head + trigger + steps)
				if by == "event" {
					r.publish(orderPlaced("1", `{"n":1}`))
				} else {
					h, err := r.Webhook(t.Context(), tenant, "/hooks/x", "1")
					require.NoError(t, err)
					var unstarted *UnstartedError
					_, err = r.Take(t.Context(), h, HookRequest{ID: "1", Data: workflow.Inline(workflow.Value(`{"n":1}`))})
					require.ErrorAs(t, err, &unstarted)
					require.True(t, unstarted.Kept)
				}
				require.Len(t, r.letters(), 1)
				change(r)
				var unfit *UndeliverableError
				require.ErrorAs(t, r.Redeliver(t.Context(), tenant, r.letters()[0].ID, nil), &unfit)
				require.ErrorContains(t, unfit, "workflow w has no trigger that fits it now")
				require.Len(t, r.letters(), 1)
				require.Empty(t, r.executions("w"))
				r.define(head + mended[by] + steps)
				if name == "switched off" {
					require.NoError(t, r.store.PutAlias(t.Context(), eventstore.Alias{Tenant: tenant, Workflow: "w", Name: "live", Revision: 2, Targets: []eventstore.Target{{Version: 2, Weight: 1}}}))
				}
				require.NoError(t, r.Redeliver(t.Context(), tenant, r.letters()[0].ID, nil))
				require.Len(t, r.executions("w"), 1)
				require.Empty(t, r.letters())
			})
		}
	}
}

// TestALetterOfAnEmittedEvent: what it starts goes on with the sender's correlation, as far down the chain as it would have been.
func TestALetterOfAnEmittedEvent(t *testing.T) {
	r := newRig(t)
	const steps = "\nsteps:\n  a: { function: std.echo }\n"
	r.define("name: one\nsteps:\n  e: { emit: { type: Go, data: { n: 1 } } }")
	r.define("name: two\ntriggers: [ { event: { type: Go, match: event.data.m > 0 } } ]" + steps)
	s := r.begin("one", `{}`)
	r.settle()
	for _, c := range r.commits(s) {
		require.NoError(t, r.Emit(t.Context(), s, c))
	}
	require.Len(t, r.letters(), 1)
	r.define("name: two\ntriggers: [ { event: { type: Go, match: event.data.n > 0 } } ]" + steps)
	require.NoError(t, r.Redeliver(t.Context(), tenant, r.letters()[0].ID, nil))
	started := r.executions("two")
	require.Len(t, started, 1)
	require.Equal(t, r.see(s).Correlation, started[0].Correlation)
	require.Equal(t, 1, started[0].Origin.Chain)
}

// TestALargeRequestThatStartsNothing: who is told that his request is kept can rely on it; one that is too large for a dead letter he has to send again.
func TestALargeRequestThatStartsNothing(t *testing.T) {
	r := newRig(t)
	r.define("name: strict\ninput: { schema: { type: object, required: [ n ] } }\ntriggers: [ { webhook: { path: /x, verify: { bearer: k } } } ]\nsteps: { a: { function: std.echo } }\n")
	for size, kept := range map[int]bool{1000: true, eventstore.MaxDeadLetter: false} {
		h, err := r.Webhook(t.Context(), tenant, "/hooks/x", fmt.Sprint(size))
		require.NoError(t, err)
		_, err = r.Take(t.Context(), h, HookRequest{ID: fmt.Sprint(size), Data: workflow.Inline(workflow.Value(`{"m":"` + strings.Repeat("x", size) + `"}`))})
		var unstarted *UnstartedError
		require.ErrorAs(t, err, &unstarted)
		require.Equal(t, "input.invalid", unstarted.Cause.Code)
		require.Equal(t, kept, unstarted.Kept)
	}
	bodies := map[bool]int{}
	for _, d := range r.letters() {
		bodies[len(d.Body) > 0]++
		require.Contains(t, d.Cause, "input")
	}
	require.Equal(t, map[bool]int{true: 1, false: 1}, bodies)
}

// TestTheVersionThatAnEventStarts is the one that a start without a version gets: the newest, or what the alias live names; a workflow whose alias is
// switched off is started by nothing.
func TestTheVersionThatAnEventStarts(t *testing.T) {
	r := newRig(t)
	version := func(trigger string) {
		r.define("name: flow\ntriggers: [ " + trigger + " ]\nsteps:\n  a: { value: '${ input }' }\noutput: '${ steps.a.output }'")
	}
	inputs := func() (list []string) {
		r.settle()
		for _, s := range r.executions("flow") {
			list = append(list, s.Output.JSON.String())
		}
		return list
	}
	alias := func(revision uint64, targets ...eventstore.Target) {
		require.NoError(t, r.store.PutAlias(t.Context(), eventstore.Alias{Tenant: tenant, Workflow: "flow", Name: "live", Revision: revision, Targets: targets}))
	}
	version("{ event: { type: OrderPlaced, input: 1 } }")
	r.publish(orderPlaced("1", `{}`))
	version("{ event: { type: OrderPlaced, input: 2 } }")
	r.publish(orderPlaced("1", `{}`)) // the same event, now with another input: it has started already
	r.publish(orderPlaced("2", `{}`))
	require.Equal(t, []string{"1", "2"}, inputs())
	version("{ event: { type: Other } }")
	r.publish(orderPlaced("3", `{}`))
	require.Len(t, inputs(), 2, "the newest has no such trigger")
	alias(1, eventstore.Target{Version: 1, Weight: 1})
	r.publish(orderPlaced("4", `{}`))
	require.Equal(t, []string{"1", "2", "1"}, inputs(), "live is the first again")
	alias(2)
	r.publish(orderPlaced("5", `{}`))
	require.Len(t, inputs(), 3, "switched off")
	alias(3, eventstore.Target{Version: 1, Weight: 1}, eventstore.Target{Version: 3, Weight: 1})
	const n = 40
	for i := range n {
		r.publish(orderPlaced(fmt.Sprint("s", i), `{}`))
	}
	half := len(inputs()) - 3
	require.Greater(t, half, n/4)
	require.Less(t, half, n*3/4, "half of them get a version without the trigger")
	require.Empty(t, r.letters())
}

// TestWorkflowsThatStartEachOther: what an execution emits starts others, which go on with its correlation; a loop ends with a dead letter.
func TestWorkflowsThatStartEachOther(t *testing.T) {
	r := newRig(t)
	emit := func(name, by, kind string, wrapped bool) {
		steps := "\nsteps:\n  e: { emit: { type: " + kind + ", data: { n: '${ input.n + 1 }' } } }"
		if wrapped {
			r.define("name: " + name + "-child" + steps)
			steps = "\nsteps:\n  c: { workflow: { name: " + name + "-child, with: '${ input }' } }"
		}
		r.define("name: " + name + "\ntriggers: [ { event: { type: " + by + " } } ]" + steps)
	}
	emit("ping", "Ping", "Pong", false)
	emit("pong", "Pong", "Ping", true) // a child is as far down as its parent
	r.publish(Event{ID: "first", Type: "Ping", Source: "test", Data: workflow.Inline(workflow.Value(`{"n":0}`))})
	emitted := map[eventstore.Stream]int{}
	for moved := true; moved; {
		r.settle()
		moved = false
		rows, _, err := r.store.List(t.Context(), tenant, eventstore.Filter{}, eventstore.Page{})
		require.NoError(t, err)
		for _, row := range rows {
			commits := r.commits(row.Stream)
			for _, c := range commits[emitted[row.Stream]:] {
				require.NoError(t, r.Emit(t.Context(), row.Stream, c))
				require.NoError(t, r.Emit(t.Context(), row.Stream, c))
				moved = true
			}
			emitted[row.Stream] = len(commits)
		}
	}
	pings, pongs := r.executions("ping"), r.executions("pong")
	require.Len(t, append(pings, pongs...), MaxChain+1)
	letters := r.letters()
	require.Len(t, letters, 1)
	require.Equal(t, "trigger.chain", letters[0].Code)
	var endless *workflow.Error
	require.ErrorAs(t, r.Redeliver(t.Context(), tenant, letters[0].ID, nil), &endless, "sent again, it begins no new chain")
	require.Equal(t, "trigger.chain", endless.Code)
	require.Len(t, r.letters(), 1)
	for _, s := range append(pings, pongs...) {
		require.Equal(t, pings[0].Correlation, s.Correlation)
	}
}

// TestTooManyWorkflowsForOneType: one more than an event may start is refused when it is deployed; one that got past that is not started, and said.
func TestTooManyWorkflowsForOneType(t *testing.T) {
	r := newRig(t)
	document := func(i int, kind string) *workflow.Definition {
		def, diagnostics := dsl.Compile("test.yaml", fmt.Appendf(nil, "dsl: wovyr/v1\nname: flow-%03d\ntriggers: [ { event: { type: %s } } ]\nsteps:\n  a: { value: 1 }", i, kind))
		require.NotNil(t, def, "%v", diagnostics)
		return def
	}
	for i := range MaxTriggered {
		_, _, err := r.Deploy(t.Context(), tenant, document(i, "Many"))
		require.NoError(t, err)
	}
	_, _, err := r.Deploy(t.Context(), tenant, document(500, "Many"))
	var crowded *CrowdedError
	require.ErrorAs(t, err, &crowded)
	require.Equal(t, CrowdedError{Type: "Many", Limit: MaxTriggered}, *crowded)
	_, _, err = r.Deploy(t.Context(), tenant, document(7, "Few"))
	require.NoError(t, err)
	_, _, err = r.Deploy(t.Context(), tenant, document(500, "Many"))
	require.NoError(t, err, "one of them listens to something else now")
	past := document(501, "Many") // deployed at the same moment: it did not see the other
	require.NoError(t, r.listen(t.Context(), tenant, past))
	r.publish(Event{ID: "1", Type: "Many"})
	require.Len(t, r.letters(), 1)
	require.Contains(t, r.letters()[0].ID, "start-flow-501-")
	rows, _, err := r.store.List(t.Context(), tenant, eventstore.Filter{}, eventstore.Page{Limit: 500})
	require.NoError(t, err)
	require.Len(t, rows, MaxTriggered)
}

// TestEventsWithoutAKeyNeverRunFull: events that only start workflows are about nothing in particular, and any number of them can come.
func TestEventsWithoutAKeyNeverRunFull(t *testing.T) {
	r := newRig(t)
	r.define("name: flow\ntriggers: [ { event: { type: OrderPlaced, match: event.data.n > 2000 } } ]\nsteps:\n  a: { value: 1 }")
	for i := range eventstore.MaxKeptEvents + 10 {
		r.publish(orderPlaced(fmt.Sprint(i), `{"n":1}`))
	}
	require.Empty(t, r.executions("flow"))
}

// TestLargeEventData: a trigger looks at the whole of what an execution emitted by reference, and hands on what its workflow reads.
func TestLargeEventData(t *testing.T) {
	r := newRig(t)
	r.define("name: one\nsteps:\n  a: { function: std.echo, with: { text: '${ input.text }', n: 7 } }\n  e: { emit: { type: Big, data: '${ steps.a.output }' } }")
	r.define("name: two\ntriggers: [ { event: { type: Big, match: event.data.n == 7 } } ]\nsteps:\n  a: { value: '${ input.n }' }\n  b: { function: std.echo, with: { text: '${ input.text }' } }\noutput: '${ steps.a.output }'")
	s := r.begin("one", `{"text":"`+strings.Repeat("x", 300<<10)+`"}`)
	r.settle()
	for _, c := range r.commits(s) {
		require.NoError(t, r.Emit(t.Context(), s, c))
	}
	r.settle()
	require.Empty(t, r.letters())
	started := r.executions("two")
	require.Len(t, started, 1)
	require.Equal(t, "7", started[0].Output.JSON.String())
}

// TestWebhooksOfWorkflows: the address leads to the workflow whose version has it, each delivery starts one execution, and what cannot be started is kept.
func TestWebhooksOfWorkflows(t *testing.T) {
	r := newRig(t)
	hook := func(path, more string) string {
		return "{ webhook: { path: " + path + ", verify: { bearer: k }" + more + " } }"
	}
	define := func(name, trigger string) {
		r.define("name: " + name + "\ntriggers: [ " + trigger + " ]\nsteps:\n  a: { value: '${ input }' }\noutput: '${ steps.a.output }'")
	}
	take := func(address string, d HookRequest) (Started, error) {
		h, err := r.Webhook(t.Context(), tenant, address, d.ID)
		if err != nil {
			return Started{}, err
		}
		return r.Take(t.Context(), h, d)
	}
	body := func(text string) workflow.Payload { return workflow.Inline(workflow.Value(text)) }
	define("plain", hook("/hooks/plain", ""))
	define("short", hook("/short", ", input: { is: '${ event.type }', what: '${ event.data.n }' }"))
	for _, address := range []string{"/hooks/nobody", "/hooks", "/plain", "/hooks/" + strings.Repeat("x", 5000), "/hooks/\xff"} {
		_, err := take(address, HookRequest{ID: "1"})
		require.ErrorIs(t, err, ErrNoWebhook, "%q", address)
	}
	first, err := take("/hooks/plain", HookRequest{ID: "1", Data: body(`[1]`)})
	require.NoError(t, err)
	again, err := take("/hooks/plain", HookRequest{ID: "1", Data: body(`[2]`)})
	require.NoError(t, err)
	require.Equal(t, first.Execution, again.Row.Stream.ID)
	again.Row = eventstore.Row{}
	require.Equal(t, Started{Execution: first.Execution, Workflow: "plain", Definition: "1", Existed: true}, again)
	other, err := take("/hooks/plain", HookRequest{ID: "2", Data: body(`[1]`)})
	require.NoError(t, err)
	require.NotEqual(t, first.Execution, other.Execution)
	_, err = take("/hooks/short", HookRequest{ID: "1", Type: "push", Data: body(`{"n":3}`)})
	require.NoError(t, err)
	r.settle()
	require.Equal(t, `[1]`, r.ended(stream(first.Execution), "completed").Output.JSON.String())
	require.Equal(t, `{"is":"push","what":3}`, r.executions("short")[0].Output.JSON.String())

	// What cannot be started as things are is kept, and starts once they are mended.
	var typed *workflow.Error
	_, err = take("/hooks/short", HookRequest{ID: "x/9", Data: body(`{"m":3}`)})
	require.ErrorAs(t, err, &typed)
	require.Equal(t, "expression.missing", typed.Code)
	require.Len(t, r.letters(), 1)
	define("short", hook("/short", ", input: '${ event.data.m }'"))
	require.NoError(t, r.Redeliver(t.Context(), tenant, r.letters()[0].ID, nil))
	r.settle()
	require.Equal(t, `3`, r.executions("short")[1].Output.JSON.String())

	// A body without an ID is told apart by what it says and when: it is the one before if that came in time.
	d := HookRequest{ID: "hash@2", Before: "hash@1", Since: r.now, Data: body(`7`)}
	before, err := take("/hooks/plain", HookRequest{ID: "hash@1", Data: body(`7`)})
	require.NoError(t, err)
	found, err := take("/hooks/plain", d)
	require.NoError(t, err)
	require.Equal(t, before.Execution, found.Execution)
	r.pass(time.Minute)
	d.Since = r.now
	fresh, err := take("/hooks/plain", d)
	require.NoError(t, err)
	require.NotEqual(t, before.Execution, fresh.Execution)

	// Two that took one path at the same moment: the first by name has it, as long as it has.
	twin, diagnostics := dsl.Compile("test.yaml", []byte("dsl: wovyr/v1\nname: another\ntriggers: [ "+hook("/hooks/plain", "")+" ]\nsteps:\n  a: { value: 1 }"))
	require.NotNil(t, twin, "%v", diagnostics)
	_, _, err = r.Deploy(t.Context(), tenant, twin)
	var taken *WebhookTakenError
	require.ErrorAs(t, err, &taken)
	require.Equal(t, "plain", taken.Workflow)
	require.NoError(t, r.listen(t.Context(), tenant, twin))
	_, err = take("/hooks/plain", HookRequest{ID: "3"})
	require.NoError(t, err, "a deploy that was cut off takes nothing")
	text, err := json.Marshal(twin)
	require.NoError(t, err)
	require.NoError(t, r.store.PutDefinition(t.Context(), eventstore.Definition{Tenant: tenant, Workflow: "another", Version: 1, Bytes: text}))
	won, err := take("/hooks/plain", HookRequest{ID: "4"})
	require.NoError(t, err)
	require.Equal(t, "another", won.Workflow)

	require.NoError(t, r.store.PutAlias(t.Context(), eventstore.Alias{Tenant: tenant, Workflow: "short", Name: "live", Revision: 1}))
	_, err = take("/hooks/short", HookRequest{ID: "2", Data: body(`{"m":3}`)})
	require.ErrorIs(t, err, ErrNoWebhook, "switched off")
}

// TestAWebhookThatEmits: a request becomes an event, once for each delivery, for those who wait for it and for the triggers of its type.
func TestAWebhookThatEmits(t *testing.T) {
	r := newRig(t)
	r.define(`name: pay
triggers: [ { webhook: { path: /pay, verify: { bearer: k }, emit: { type: '${ "Paid." + event.type }', key: event.data.order, data: { sum: '${ event.data.sum }' } } } } ]
steps:
  one: { event: { type: Paid.card, key: input.order, from: webhook } }
  two: { needs: [ one ], event: { type: Paid.card, key: input.order, from: webhook } }
output: '${ [steps.one.output.data.sum, steps.two.output.data.sum, steps.one.output.source] }'`)
	r.define("name: ledger\ntriggers: [ { event: { type: Paid.card, source: /hooks/pay } } ]\nsteps:\n  a: { value: 1 }")
	s := r.begin("pay", `{"order":"o-1"}`)
	r.settle()
	take := func(id, kind, body string) error {
		h, err := r.Webhook(t.Context(), tenant, "/hooks/pay", id)
		require.NoError(t, err)
		started, err := r.Take(t.Context(), h, HookRequest{ID: id, Type: kind, Data: workflow.Inline(workflow.Value(body))})
		require.Empty(t, started.Execution)
		return err
	}
	for range 3 {
		require.NoError(t, take("1", "card", `{"order":"o-1","sum":5}`))
		require.NoError(t, take("x", "card", `{"order":"o-2","sum":9}`))
		r.settle()
	}
	require.Equal(t, "Waiting", r.see(s).Status.String(), "a repeat is no second payment")
	require.NoError(t, take("2", "card", `{"order":"o-1","sum":7}`))
	r.settle()
	require.Equal(t, `[5,7,"/hooks/pay"]`, r.ended(s, "completed").Output.JSON.String())
	require.Len(t, r.executions("ledger"), 3)
	for id, body := range map[string]string{"no key": `{"sum":1}`, "large": `{"order":"o-3","sum":"` + strings.Repeat("x", 200<<10) + `"}`} {
		var typed *workflow.Error
		require.ErrorAs(t, take(id, "card", body), &typed, id)
	}
	var typed *workflow.Error
	require.ErrorAs(t, take("long", strings.Repeat("x", 300), `{"order":"o-3","sum":1}`), &typed)
	require.Equal(t, "event.type", typed.Code)
	require.Len(t, r.letters(), 3)
	require.Len(t, r.executions("pay"), 1)
}

// TestAWebhookThatEmitsWithoutIDs: equal bodies within the time are one event and one start, across the turn of the time too, and later ones another.
func TestAWebhookThatEmitsWithoutIDs(t *testing.T) {
	r := newRig(t)
	r.define("name: paid\ntriggers: [ { webhook: { path: /x, verify: { bearer: k }, emit: { type: Paid, key: event.data.id } } } ]\nsteps: { a: { value: 1 } }")
	r.define("name: ledger\ntriggers: [ { event: { type: Paid } } ]\nsteps: { a: { value: '${ input }' } }")
	take := func(turn int, body string) {
		id, before := fmt.Sprintf("sha256:%s@%d", body, turn), fmt.Sprintf("sha256:%s@%d", body, turn-1)
		h, err := r.Webhook(t.Context(), tenant, "/hooks/x", id)
		require.NoError(t, err)
		_, err = r.Take(t.Context(), h, HookRequest{ID: id, Before: before, Since: r.now - int64(10*time.Minute), Data: workflow.Inline(workflow.Value(body))})
		require.NoError(t, err)
	}
	events := func() int {
		list, err := r.store.ReadEvents(t.Context(), eventstore.Topic{Tenant: tenant, Type: "Paid", Key: "o"}, 0, r.now, 10)
		require.NoError(t, err)
		require.Len(t, r.executions("ledger"), len(list))
		return len(list)
	}
	take(1, `{"id":"o","n":1}`)
	r.pass(2 * time.Second)
	take(2, `{"id":"o","n":1}`)
	take(2, `{"id":"o","n":1}`)
	require.Equal(t, 1, events())
	take(2, `{"id":"o","n":2}`)
	require.Equal(t, 2, events(), "another body")
	r.pass(11 * time.Minute)
	take(3, `{"id":"o","n":1}`)
	require.Equal(t, 3, events(), "too long ago")
}

// TestAWebhookOfASplitAlias: versions may verify their senders in ways of their own, and tell deliveries apart by them: each request has one version, its repeats the same.
func TestAWebhookOfASplitAlias(t *testing.T) {
	r := newRig(t)
	for _, verify := range []string{"bearer: k", "hmac_sha256: k, header: Stripe-Signature"} {
		r.define("name: flow\ntriggers: [ { webhook: { path: /x, verify: { " + verify + " } } } ]\nsteps: { a: { value: 1 } }")
	}
	require.NoError(t, r.store.PutAlias(t.Context(), eventstore.Alias{Tenant: tenant, Workflow: "flow", Name: "live", Revision: 1, Targets: []eventstore.Target{{Version: 1, Weight: 1}, {Version: 2, Weight: 1}}}))
	const n = 40
	forms := map[string]int{}
	for i := range n {
		body := fmt.Sprint("body ", i)
		for again := range 2 {
			h, err := r.Webhook(t.Context(), tenant, "/hooks/x", body)
			require.NoError(t, err)
			form := h.Trigger.Verify.Bearer + h.Trigger.Verify.Header
			forms[form]++
			started, err := r.Take(t.Context(), h, HookRequest{ID: form + body, Data: workflow.Inline(workflow.Value(`1`))})
			require.NoError(t, err)
			require.Equal(t, again > 0, started.Existed)
		}
	}
	require.Len(t, r.executions("flow"), n)
	require.Len(t, forms, 2)
	for form, times := range forms { // order-free: each for itself
		require.Greater(t, times, n/2, form)
	}
}

// TestWhoComesAfterStandsInTheSameChain: successors, children and redrives of an execution that an event started are as far down the chain as it is.
func TestWhoComesAfterStandsInTheSameChain(t *testing.T) {
	r := newRig(t)
	r.define("name: child\nsteps:\n  a: { value: 1 }")
	r.define(`name: flow
triggers: [ { event: { type: Go } } ]
steps:
  c: { workflow: { name: child } }
  again: { needs: [ c ], when: input.n < 1, continue_as_new: { input: { n: '${ input.n + 1 }' } } }
  f: { needs: [ c ], when: input.n > 0, fail: { code: over } }`)
	r.define("name: first\nsteps:\n  e: { emit: { type: Go, data: { n: 0 } } }")
	s := r.begin("first", `{}`)
	r.settle()
	for _, c := range r.commits(s) {
		require.NoError(t, r.Emit(t.Context(), s, c))
	}
	r.settle()
	flows := r.executions("flow")
	require.Len(t, flows, 2)
	var last *Snapshot
	for _, f := range append(flows, r.executions("child")...) {
		require.Equal(t, 1, f.Origin.Chain, f.Execution)
		if f.Status.String() == "Failed" {
			last = f
		}
	}
	require.NotNil(t, last)
	again, err := r.Redrive(t.Context(), RedriveRequest{Stream: stream(last.Execution)})
	require.NoError(t, err)
	require.Equal(t, 1, r.see(stream(again.Execution)).Origin.Chain)
	require.Zero(t, r.see(s).Origin.Chain)
}
