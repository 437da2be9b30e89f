package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/client"
)

// code is the code of a problem that a call came back with.
func code(t *testing.T, err error) string {
	t.Helper()
	var p *client.Problem
	require.True(t, errors.As(err, &p), "%v", err)
	return p.Code
}

// finish starts a workflow and returns how it ended.
func finish(t *testing.T, c *client.Client, workflow, input string) client.Execution {
	t.Helper()
	ctx := context.Background()
	e, err := c.Start(ctx, client.StartRequest{Workflow: workflow, Input: json.RawMessage(input)})
	for err == nil && !e.Ended() {
		e, err = c.Wait(ctx, e.ID)
	}
	require.NoError(t, err)
	return e
}

// TestInputsAreHeldAgainstTheSchema: whoever starts an execution, its input fits its schema.
func TestInputsAreHeldAgainstTheSchema(t *testing.T) {
	c, _ := serve(t,
		"name: child\ninput: { schema: { type: object, required: [n], properties: { n: { type: integer } } } }\nsteps: { say: { value: '${ input.n + 1 }' } }\n",
		"name: uncaught\nsteps: { c: { workflow: { name: child, with: '${ input }' } } }\n",
		"name: caught\nsteps: { c: { workflow: { name: child, with: '${ input }' }, on_error: [ { continue: '${ error }' } ] } }\n",
		"name: repeated\nsteps: { c: { workflow: { name: child, with: '${ input }' }, retry: { attempts: 2, delay: 1ms, on: [ input.invalid ] } } }\n",
		"name: alone\nsteps: { c: { workflow: { name: child, with: '${ input }', wait: false, on_parent_close: abandon } } }\n",
		"name: again\ninput: { schema: { type: object, required: [n] } }\nsteps: { c: { continue_as_new: { input: '${ input.next }' } } }\n",
	)
	require.Equal(t, "completed", finish(t, c, "caught", `{"n": 1}`).Outcome)
	for _, input := range []string{`{}`, `{"n": "x"}`, `[]`, `null`, `{"n": 1.5}`} {
		_, err := c.Start(context.Background(), client.StartRequest{Workflow: "child", Input: json.RawMessage(input)})
		require.Equal(t, "input.invalid", code(t, err), input)

		e := finish(t, c, "uncaught", input)
		require.Equal(t, "failed", e.Outcome)
		require.Equal(t, "input.invalid", e.Error.Code)
		require.Contains(t, e.Error.Message, "workflow child")

		e = finish(t, c, "caught", input)
		require.Equal(t, "completed", e.Outcome)
		require.Contains(t, string(e.Output), `"code":"input.invalid"`)

		e = finish(t, c, "repeated", input)
		require.Equal(t, "input.invalid", e.Error.Code)
		page, err := c.List(context.Background(), url.Values{"parent": {e.ID}, "status": {"failed"}})
		require.NoError(t, err)
		require.Len(t, page.Items, 2, "each attempt is a child of its own")

		e = finish(t, c, "alone", input)
		require.Equal(t, "completed", e.Outcome, "nobody waits for that child")
		child, err := c.Wait(context.Background(), e.ID+"/c/1")
		for err != nil && code(t, err) == "execution.unknown" { // it is about to start
			child, err = c.Wait(context.Background(), e.ID+"/c/1")
		}
		require.NoError(t, err)
		require.Equal(t, "input.invalid", child.Error.Code)

		e = finish(t, c, "again", `{"n": 1, "next": {"m": 1}}`)
		require.Equal(t, "input.invalid", e.Error.Code)
	}
}

// TestLargeInputsAreHeldAgainstTheSchema: an input that is kept by reference, in whole or in part, is looked into all the same.
func TestLargeInputsAreHeldAgainstTheSchema(t *testing.T) {
	c, _ := serve(t,
		"name: child\ninput: { schema: { type: object, required: [n, text], properties: { n: { type: integer }, text: { type: string, maxLength: 600000 } } } }\nsteps: { say: { value: done } }\n",
		"name: whole\nsteps: { c: { workflow: { name: child, with: '${ input }' }, on_error: [ { continue: '${ error }' } ] } }\n",
		"name: part\nsteps: { c: { workflow: { name: child, with: { n: '${ input.n }', text: '${ input.text }' } }, on_error: [ { continue: '${ error }' } ] } }\n",
		"name: alone\nsteps: { c: { workflow: { name: child, with: '${ input }', wait: false, on_parent_close: abandon } } }\n",
	)
	input := func(n string, length int) string {
		return `{"n": ` + n + `, "text": "` + strings.Repeat("x", length) + `"}`
	}
	for _, parent := range []string{"whole", "part"} {
		e := finish(t, c, parent, input("1", 500_000))
		require.Equal(t, `{"c":{"say":"done"}}`, string(e.Output), parent)
		for _, wrong := range []string{input(`"x"`, 500_000), input("1", 700_000)} {
			e = finish(t, c, parent, wrong)
			require.Equal(t, "completed", e.Outcome)
			require.Contains(t, string(e.Output), `"code":"input.invalid"`, parent)
			require.Contains(t, string(e.Output), "workflow child")
			require.Less(t, len(e.Output), 1000, "the message does not hold the input")
		}
	}
	e := finish(t, c, "alone", input(`"x"`, 500_000))
	require.Equal(t, "completed", e.Outcome, "nobody waits for that child")
	child, err := c.Wait(context.Background(), e.ID+"/c/1")
	for err != nil && code(t, err) == "execution.unknown" { // it is about to start
		child, err = c.Wait(context.Background(), e.ID+"/c/1")
	}
	require.NoError(t, err)
	require.Equal(t, "input.invalid", child.Error.Code)
}

// TestRedriveWithAnotherInput: it is held against the schema too, and a key stands for one input.
func TestRedriveWithAnotherInput(t *testing.T) {
	c, _ := serve(t, "name: strict\ninput: { schema: { type: object, required: [n] } }\nsteps: { no: { when: input.n == 1, fail: { code: no } }, text: { needs: [no], value: '${ input.?text.orValue(\"\").size() }' } }\n")
	ctx := context.Background()
	e := finish(t, c, "strict", `{"n": 1}`)
	require.Equal(t, "failed", e.Outcome)
	_, err := c.Redrive(ctx, e.ID, client.RedriveRequest{Input: json.RawMessage(`{}`)})
	require.Equal(t, "input.invalid", code(t, err))
	large := json.RawMessage(`{"n": 2, "text": "` + strings.Repeat("x", 1<<20) + `"}`)
	again, err := c.Redrive(ctx, e.ID, client.RedriveRequest{Key: "k", Input: large})
	require.NoError(t, err)
	same, err := c.Redrive(ctx, e.ID, client.RedriveRequest{Key: "k", Input: large})
	require.NoError(t, err)
	require.Equal(t, again.ID, same.ID)
	_, err = c.Redrive(ctx, e.ID, client.RedriveRequest{Key: "k", Input: json.RawMessage(`{"n": 3}`)})
	require.Equal(t, "key.reused", code(t, err))
	again, err = c.Wait(ctx, again.ID)
	require.NoError(t, err)
	require.Equal(t, "completed", again.Outcome)
	require.Contains(t, string(again.Output), "1048576")
}

// TestAWorkflowThatStartsItself comes to an end: at a depth that is bounded, with an error that can be caught there or anywhere above.
func TestAWorkflowThatStartsItself(t *testing.T) {
	c, _ := serve(t,
		"name: endless\nsteps: { c: { workflow: { name: endless } } }\n",
		"name: caught\nsteps: { c: { workflow: { name: caught }, on_error: [ { match: 'error.code == \"children.too_deep\"', continue: '${ error.code }' } ] } }\n",
		"name: ping\nsteps: { c: { workflow: { name: pong } } }\n",
		"name: pong\nsteps: { c: { workflow: { name: '${ \"pi\" + \"ng\" }', allow: [ ping ] } } }\n",
		"name: long\nsteps: { "+strings.Repeat("x", 60)+": { workflow: { name: long } } }\n",
	)
	for workflow, want := range map[string]string{"endless": "children.too_deep", "ping": "children.too_deep", "long": "child.name_too_long"} {
		e := finish(t, c, workflow, `{}`)
		require.Equal(t, "failed", e.Outcome, workflow)
		require.Equal(t, want, e.Error.Code, workflow)
	}
	e := finish(t, c, "caught", `{}`)
	require.Equal(t, "completed", e.Outcome)
	require.Equal(t, 51, strings.Count(string(e.Output), `"c":`), "50 children below it")
}
