package worker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/engine"
	"github.com/wovyr/wovyr/pkg/eventstore"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// sized is a value of so many bytes.
func sized(n int) workflow.Payload {
	const frame = `{"big":"","small":7}`
	return workflow.Inline(workflow.Value(`{"big":"` + strings.Repeat("x", n-len(frame)) + `","small":7}`))
}

// TestInputsFromOutsideAreBounded: what people and services send stands in the history, so it has a limit. At the limit it is taken, whatever comes beside it;
// beyond, it is refused before it is accepted, and if it comes all the same it is a dead letter and holds up nothing.
func TestInputsFromOutsideAreBounded(t *testing.T) {
	inputs := map[string]func(p workflow.Payload) workflow.Input{
		"signal": func(p workflow.Payload) workflow.Input {
			return workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: "1", Kind: "Go", Data: p}}
		},
		"decision": func(p workflow.Payload) workflow.Input {
			return workflow.TaskDecision{ID: "1", Step: "h", Verdict: workflow.VerdictApprove, Answer: p, By: "a"}
		},
		"move": func(p workflow.Payload) workflow.Input {
			return workflow.OperatorMove{ID: "1", Move: workflow.MoveComplete, Step: "f", Output: p}
		},
	}
	documents := map[string]string{
		"signal":   "name: one\nsteps:\n  w: { event: { type: Go } }\noutput: '${ steps.w.output.data.small }'",
		"decision": "name: one\nsteps:\n  h: { human: { title: T, assignees: [ 'user:a' ] } }\noutput: '${ steps.h.output.answer.small }'",
		"move":     "name: one\non_failure: pause\nsteps:\n  f: { function: std.fail, with: { code: no } }\noutput: '${ steps.f.output.small }'",
	}
	for name, input := range inputs { // order-free: each is for itself
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s := r.begin(r.define(documents[name]), `{}`)
			r.ticks()
			require.Equal(t, "Waiting", r.see(s).Status.String())
			for _, n := range []int{engine.MaxValue + 1, 1 << 20, 5 << 20} {
				var refused *engine.RefusedError
				require.ErrorAs(t, r.Check(t.Context(), s, input(sized(n))), &refused)
				require.Contains(t, refused.Reason, "by reference")
				require.Equal(t, done(), r.tell(s, input(sized(n))))
			}
			require.Len(t, r.letters(), 3)
			largest := input(sized(engine.MaxValue))
			require.NoError(t, r.Check(t.Context(), s, largest))
			require.Equal(t, done(), r.tell(s, largest))
			r.settle()
			require.Equal(t, `7`, r.ended(s, "completed").Output.JSON.String())
		})
	}
}

// TestABatchOfTheLargest: as many of the largest inputs as come together are taken, in as many commits as they need.
func TestABatchOfTheLargest(t *testing.T) {
	const n = 12
	r := newRig(t)
	var text strings.Builder
	text.WriteString("name: many\nsteps:\n")
	var list []workflow.Input
	for i := range n {
		fmt.Fprintf(&text, "  w%d: { event: { type: Go%d } }\n", i, i)
		list = append(list, workflow.ExternalEvent{EarlyEvent: workflow.EarlyEvent{ID: fmt.Sprint(i), Kind: fmt.Sprintf("Go%d", i), Data: sized(engine.MaxValue - 9000*i)}})
	}
	text.WriteString("output: '${ steps.w0.output.data.small }'")
	s := r.begin(r.define(text.String()), `{}`)
	r.settle()
	for todo := messages(s, list...); len(todo) > 0; {
		answers := r.HandleInbox(t.Context(), s, todo)
		require.True(t, answers[0].Done, "%v", answers[0].Err)
		for len(answers) > 0 && answers[0].Done {
			answers, todo = answers[1:], todo[1:]
		}
	}
	r.ended(s, "completed")
	require.Empty(t, r.letters())
}

// TestTheLargestContentEvents: one hint leads to all events that an execution waits for, however large they are together; an event over the limit is not kept.
func TestTheLargestContentEvents(t *testing.T) {
	const n = 9
	r := newRig(t)
	var text strings.Builder
	text.WriteString("name: many\nsteps:\n")
	for i := range n {
		fmt.Fprintf(&text, "  w%d: { event: { type: Go%d, key: '${ \"k\" }' } }\n", i, i)
	}
	text.WriteString("output: '${ steps.w0.output.data.small }'")
	for i := range n {
		e := Event{ID: fmt.Sprint(i), Type: fmt.Sprintf("Go%d", i), Key: "k", Data: sized(engine.MaxValue + 1)}
		require.ErrorIs(t, r.Publish(t.Context(), tenant, e), ErrEventTooLarge)
		e.Data = sized(engine.MaxValue)
		require.NoError(t, r.Publish(t.Context(), tenant, e))
	}
	s := r.begin(r.define(text.String()), `{}`)
	for range 3 * n {
		list := r.takeMessages()
		if len(list) == 0 {
			break
		}
		for _, m := range list {
			a := r.HandleInbox(t.Context(), m.Stream, []Message{m})[0]
			require.NoError(t, a.Err)
			if !a.Done { // the decision was full: the hint comes again
				m.Again = true
				r.messages = append(r.messages, m)
			}
		}
	}
	require.Equal(t, `7`, r.ended(s, "completed").Output.JSON.String())
}

// TestALargeAnswerOfACallback: it is kept by reference, like an output that an activity returns itself; one of which expressions read too much fails the
// attempt, which a workflow can catch.
func TestALargeAnswerOfACallback(t *testing.T) {
	for read, want := range map[string]string{"small": `7`, `big.startsWith("x")`: `false`} { // order-free: each is for itself
		t.Run(read, func(t *testing.T) {
			r := newRig(t)
			r.Links = rigLinks{}
			s := r.begin(r.define(fmt.Sprintf(`
name: later
steps:
  c: { function: std.echo, callback: true, with: { u: '${ callback.url }' }, on_error: [ { match: error.code == "payload.too_large", continue: { small: '${ error.code }', big: '${ error.code }' } } ] }
output: '${ steps.c.output.%s }'`, read)), `{}`)
			r.settle()
			ref := workflow.AttemptRef{Step: "c", Attempt: 1, Fence: 1}
			_, err := r.Answer(t.Context(), stream("nobody"), workflow.ActivityResult{AttemptRef: ref, Output: sized(5 << 20)})
			require.NoError(t, err, "whoever hands it over hears that there is nobody")
			result, err := r.Answer(t.Context(), s, workflow.ActivityResult{AttemptRef: ref, Output: sized(5 << 20)})
			require.NoError(t, err)
			require.NoError(t, r.Check(t.Context(), s, result))
			require.Equal(t, done(), r.tell(s, result))
			r.settle()
			require.Equal(t, want, r.ended(s, "completed").Output.JSON.String())
			require.Equal(t, want == `false`, r.count(s, "ActivityCaught") == 1, "payload.too_large")
			for _, c := range r.commits(s) {
				require.Less(t, len(c.Data), 8<<10)
			}
			late, err := r.Answer(t.Context(), s, workflow.ActivityResult{AttemptRef: ref, Output: sized(5 << 20)})
			require.NoError(t, err)
			require.Error(t, r.Check(t.Context(), s, late))
		})
	}
}

// TestACommitIsNeverTooLarge: expressions make values up to a limit, and whatever they come to fits into commits.
func TestACommitIsNeverTooLarge(t *testing.T) {
	for _, n := range []int{1000, engine.MaxValue - 100, engine.MaxValue + 100, 4 * engine.MaxValue} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r := newRig(t)
			s := r.begin(r.define(fmt.Sprintf(`
name: values
vars: { v: '', w: '' }
steps:
  a: { value: '${ "%%s".format(["x"]) + range(0, %d).map(i, "y").join("") }', on_error: [ { continue: big } ] }
  b: { value: '${ [ steps.a.output, steps.a.output ] }', on_error: [ { continue: big } ] }
  c: { function: std.echo, with: { all: '${ steps.b.output }' }, on_error: [ { continue: big } ] }
  d: { needs: [ c ], set: { v: '${ steps.a.output }' }, on_error: [ { continue: big } ] }
  e: { needs: [ d ], set: { w: '${ steps.c.output }' }, on_error: [ { continue: big } ] }
  f: { needs: [ e ], emit: { type: T, key: '${ "k" }', data: '${ steps.a.output }' }, on_error: [ { continue: big } ] }
output: '${ size(string(vars.v)) }'`, n/4)), `{}`)
			r.settle()
			require.Contains(t, []string{"completed", "failed"}, Outcome(r.see(s).State))
			for _, c := range r.commits(s) {
				require.LessOrEqual(t, len(c.Data), eventstore.MaxCommit)
			}
		})
	}
}

// TestTheAnswerOfACallbackFits: it is held against the schema of its step, as what an activity returns itself is.
func TestTheAnswerOfACallbackFits(t *testing.T) {
	for answer, want := range map[string]string{`{"n":1}`: "completed", `{"n":"one"}`: "failed", `null`: "failed"} { // order-free: each is for itself
		r := newRig(t)
		r.Links = rigLinks{}
		s := r.begin(r.define(`
name: later
steps:
  c: { function: std.echo, output: { schema: { type: object, properties: { n: { type: integer } } } }, callback: true, with: { u: '${ callback.url }' } }`), `{}`)
		r.settle()
		result, err := r.Answer(t.Context(), s, workflow.ActivityResult{AttemptRef: workflow.AttemptRef{Step: "c", Attempt: 1, Fence: 1}, Output: workflow.Inline(workflow.Value(answer))})
		require.NoError(t, err)
		require.Equal(t, done(), r.tell(s, result))
		r.settle()
		if end := r.ended(s, want); want == "failed" {
			require.Equal(t, "activity.output", end.Error.Code)
		}
	}
}
