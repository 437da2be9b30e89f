package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/api"
	"github.com/wovyr/wovyr/pkg/client"
)

// fields are those of a JSON object.
func fields(t *testing.T, text []byte) map[string]json.RawMessage {
	t.Helper()
	var out map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &out))
	return out
}

// TestWhatIsNotKnownIsNotSaid: an execution has output and error where they were looked up, null meaning none, and neither of them where not.
func TestWhatIsNotKnownIsNotSaid(t *testing.T) {
	c, _ := serve(t, echo, waiting, "name: fails\nsteps: { no: { fail: { code: no } } }\n")
	for workflow, want := range map[string]string{"echo": `{"say":{}}`, "fails": "null", "waiting": "null"} {
		e, err := c.Start(context.Background(), client.StartRequest{Workflow: workflow})
		require.NoError(t, err)
		if workflow != "waiting" {
			_, err = c.Wait(context.Background(), e.ID)
			require.NoError(t, err)
		}
		_, _, text := ask(t, c, http.MethodGet, "/v1/executions/"+e.ID, "", "")
		got := fields(t, []byte(text))
		require.JSONEq(t, want, string(got["output"]), workflow)
		require.Equal(t, workflow != "fails", string(got["error"]) == "null", workflow)

		_, _, text = ask(t, c, http.MethodGet, "/v1/executions?workflow="+workflow, "", "")
		var page client.Page[json.RawMessage]
		require.NoError(t, json.Unmarshal([]byte(text), &page))
		require.Len(t, page.Items, 1)
		item := fields(t, page.Items[0])
		require.NotContains(t, item, "output")
		require.NotContains(t, item, "error")
		var back client.Execution
		require.NoError(t, json.Unmarshal(page.Items[0], &back))
		again, err := json.Marshal(back)
		require.NoError(t, err)
		require.JSONEq(t, string(page.Items[0]), string(again), "a client hands on what it got")
	}
}

// TestWhatEndedIt: the step whose failure ended an execution is named, the innermost one; so is where a redriven one comes from.
func TestWhatEndedIt(t *testing.T) {
	c, _ := serve(t,
		"name: flat\nsteps: { no: { fail: { code: no } } }\n",
		"name: deep\nsteps: { g: { group: { steps: { a: { value: 1 }, no: { needs: [a], fail: { code: no } } } } } }\n",
		"name: caught\nsteps: { a: { fail: { code: other }, on_error: { continue: 1 } }, no: { needs: [a], fail: { code: no } } }\n",
		"name: fine\nsteps: { a: { fail: { code: no }, on_error: { continue: 1 } } }\n",
	)
	for workflow, want := range map[string]string{"flat": "no", "deep": "g/no", "caught": "no", "fine": ""} {
		e := finish(t, c, workflow, "{}")
		require.Equal(t, want, e.FailedStep, workflow)
		require.Empty(t, e.RedriveOf)
		if want == "" {
			continue
		}
		again, err := c.Redrive(context.Background(), e.ID, client.RedriveRequest{})
		require.NoError(t, err)
		again, err = c.Wait(context.Background(), again.ID)
		require.NoError(t, err)
		require.Equal(t, e.ID, again.RedriveOf)
		require.Equal(t, want, again.FailedStep)
	}
}

// TestWhatAnOperatorDecides: what waits for one is listed with its error, be it a step or the undoing of one.
func TestWhatAnOperatorDecides(t *testing.T) {
	c, _ := serve(t,
		"name: paused\non_failure: pause\nlimits: { timeout: 1d }\nsteps: { no: { function: std.fail, with: { code: no } }, also: { function: std.fail, with: { code: other } } }\n",
		"name: undone\non_failure: compensate\nlimits: { timeout: 1d }\nsteps: { a: { value: 1, compensate: { function: std.fail, with: { code: stuck } } }, no: { needs: [a], fail: { code: no } } }\n",
	)
	ctx := context.Background()
	held := func(workflow string, n int) []client.Held {
		e, err := c.Start(ctx, client.StartRequest{Workflow: workflow})
		for err == nil && len(e.Held) < n {
			e, err = c.Get(ctx, e.ID)
		}
		require.NoError(t, err)
		return e.Held
	}
	paused := held("paused", 2)
	require.ElementsMatch(t, []string{"no no", "also other"}, []string{paused[0].Step + " " + paused[0].Error.Code, paused[1].Step + " " + paused[1].Error.Code})
	undone := held("undone", 1)
	require.Equal(t, "a", undone[0].Step)
	require.True(t, undone[0].Undo)
	require.Equal(t, "stuck", undone[0].Error.Code)
}

// TestAnAnswerThatFits: what an execution got and gave is shown as far as it fits into what a function may answer, in which the body is a text of JSON; what does not
// is shown as where it is kept, the output first.
func TestAnAnswerThatFits(t *testing.T) {
	const most = 6_000_000 // of 6 MB
	c := serveSet(t, func(s *api.Server) { s.MaxAnswer = most })
	_, err := c.Deploy(t.Context(), "x.yaml", []byte("dsl: wovyr/v1\nname: echo\nsteps: { a: { value: 1 } }\noutput: '${ input }'\n"))
	require.NoError(t, err)
	line := func(n int) any {
		return strings.Repeat("\u2028", n)
	}
	for name, test := range map[string]struct {
		input         any
		output, whole bool // what is shown
	}{
		"small":         {map[string]any{"a": 1}, true, true},
		"one fits":      {slices.Repeat([]any{map[string]any{"a": 1, "b": "text", "c": strings.Repeat("x", 100)}}, 25_000), true, false},
		"quotes":        {slices.Repeat([]any{""}, 900_000), true, false},
		"lines":         {slices.Repeat([]any{line(1000)}, 300), true, true},
		"too many":      {slices.Repeat([]any{line(1000)}, 1000), false, false},
		"of themselves": {strings.Repeat("x", 4_100_000), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			input, err := json.Marshal(test.input)
			require.NoError(t, err)
			e, err := c.Start(t.Context(), client.StartRequest{Workflow: "echo", Input: input})
			require.NoError(t, err)
			for e.EndedAt.IsZero() {
				e, err = c.Wait(t.Context(), e.ID)
				require.NoError(t, err)
			}
			require.Equal(t, "completed", e.Outcome, "%v", e.Error)
			_, _, body := ask(t, c, http.MethodGet, "/v1/executions/"+e.ID, "", "")
			var as bytes.Buffer
			enc := json.NewEncoder(&as)
			enc.SetEscapeHTML(false)
			require.NoError(t, enc.Encode(body))
			require.LessOrEqual(t, as.Len(), most+100)
			require.Equal(t, test.output, sameJSON(t, input, e.Output), "output")
			require.Equal(t, test.whole, sameJSON(t, input, e.Input), "input")
			if !test.whole {
				require.Less(t, len(e.Input), 10_000, "where it is kept")
			}
		})
	}
}

func sameJSON(t *testing.T, a, b json.RawMessage) bool {
	t.Helper()
	var x, y any
	require.NoError(t, json.Unmarshal(a, &x))
	require.NoError(t, json.Unmarshal(b, &y))
	return reflect.DeepEqual(x, y)
}

// TestPagesThatFit: a page of a history ends where an answer would become too large, in the middle of a commit too, and no event is lost or comes twice.
func TestPagesThatFit(t *testing.T) {
	const most = 3000
	c := serveSet(t, func(s *api.Server) { s.MaxAnswer = most })
	steps := ""
	for i := range 40 {
		steps += fmt.Sprintf("  s%d: { value: 'a \"quoted\" text' }\n", i)
	}
	_, err := c.Deploy(t.Context(), "x.yaml", []byte("dsl: wovyr/v1\nname: many\nsteps:\n"+steps+"  nap: { timer: { for: 9d } }\n"))
	require.NoError(t, err)
	e, err := c.Start(t.Context(), client.StartRequest{Workflow: "many"})
	require.NoError(t, err)
	for e.Status != "waiting" {
		e, err = c.Get(t.Context(), e.ID)
		require.NoError(t, err)
	}
	require.Greater(t, e.Events, uint64(40))
	pages, last := 0, uint64(0)
	for after := "0"; after != ""; pages++ {
		_, _, body := ask(t, c, http.MethodGet, "/v1/executions/"+e.ID+"/history?after="+after, "", "")
		text, err := json.Marshal(body)
		require.NoError(t, err)
		require.LessOrEqual(t, len(text), most)
		var page client.Page[client.Event]
		require.NoError(t, json.Unmarshal([]byte(body), &page))
		for _, event := range page.Items {
			last++
			require.Equal(t, last, event.Version)
		}
		after = page.Next
	}
	require.Equal(t, e.Events, last)
	require.Greater(t, pages, 3)
}
