package api_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/wovyr/wovyr/pkg/client"
)

// described is the paths of docs/openapi.yaml, each with its methods and the words of its queries.
func described(t *testing.T) map[string]map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/openapi.yaml")
	require.NoError(t, err)
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &doc))
	out := map[string]map[string][]string{}
	for path, methods := range doc.Paths {
		out[path] = map[string][]string{}
		for method, operation := range methods {
			words := []string{}
			for _, p := range operation.Parameters {
				if p.In == "query" {
					words = append(words, p.Name)
				}
			}
			out[path][strings.ToUpper(method)] = words
		}
	}
	return out
}

// at is an address of a path.
func at(path string) string { return strings.NewReplacer("{", "", "}", "").Replace(path) }

// TestOtherMethods: every address says which methods it takes.
func TestOtherMethods(t *testing.T) {
	c, _ := serve(t)
	for path, methods := range described(t) {
		allow := slices.Sorted(maps.Keys(methods))
		if slices.Contains(allow, http.MethodGet) {
			allow = append(allow, http.MethodHead)
			slices.Sort(allow)
		}
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, "BREW"} {
			if slices.Contains(allow, method) {
				continue
			}
			req, err := http.NewRequest(method, c.Server+at(path), nil)
			require.NoError(t, err)
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, strings.Join(allow, ", "), res.Header.Get("Allow"), "%s %s", method, path)
			status, p, _ := ask(t, c, method, at(path), "", "")
			require.Equal(t, http.StatusMethodNotAllowed, status, "%s %s", method, path)
			if method != http.MethodHead {
				require.Equal(t, "method", p.Code)
				require.Contains(t, p.Detail, strings.Join(allow, ", "))
			}
		}
	}
}

// TestQueriesThatAreRefused: no word of a query is lost in silence, and none has a value that means nothing.
func TestQueriesThatAreRefused(t *testing.T) {
	c, _ := serve(t)
	refused := func(method, path, query, says string) {
		t.Helper()
		kind := ""
		if method == http.MethodPost {
			kind = jsonType
		}
		status, p, _ := ask(t, c, method, at(path)+"?"+query, kind, "{}")
		require.Equal(t, http.StatusBadRequest, status, "%s %s?%s: %+v", method, path, query, p)
		require.Equal(t, "query", p.Code)
		require.Contains(t, p.Error(), says)
	}
	for path, methods := range described(t) {
		if path == "/hooks/{path}" {
			continue // services send what they like
		}
		for method, words := range methods {
			says := "takes no query"
			if len(words) > 0 {
				says = "it takes " + strings.Join(words, ", ")
			}
			for _, query := range []string{"nonsense=1", "Limit=1", "limits=1", "=1", "&x"} {
				refused(method, path, query, says)
			}
			refused(method, path, "%zz=1", "cannot be read")
			for _, word := range words {
				refused(method, path, word+"=1&"+word+"=2", "more than once")
				refused(method, path, word+"=", "no value")
			}
		}
	}
	for word, values := range map[string][]string{
		"status": {"ended", "Running", "COMPLETED"}, "outcome": {"success", "Failed"}, "open": {"yes", "1", "TRUE"}, "label": {"team", "=x"}, "limit": {"0", "-1", "1001", "x", "1.5"},
	} {
		for _, value := range values {
			refused(http.MethodGet, "/v1/executions", word+"="+value, "it takes")
		}
	}
	refused(http.MethodGet, "/v1/executions/x", "wait=yes", "true or false")
	refused(http.MethodGet, "/v1/executions/x/history", "after=-1", "version of an event")
	status, p, _ := ask(t, c, http.MethodGet, "/v1/executions?cursor=x", "", "")
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, p.Title, "cursor")
	for _, query := range []string{"", "?open=false&status=failed&outcome=timed_out&label=a%3Db&limit=1000", "?label=a%3D", "?status=compensating&parent=p&workflow=w"} {
		status, _, body := ask(t, c, http.MethodGet, "/v1/executions"+query, "", "")
		require.Equal(t, http.StatusOK, status, body)
	}
}

// inputs are all that can be sent to an execution, each with an ID.
var inputs = map[string]string{
	"signals":  `{"type": "Late", "id": "i"}`,
	"cancel":   `{"id": "i"}`,
	"moves":    `{"move": "resume", "id": "i"}`,
	"tasks/ok": `{"verdict": "approve", "answer": {"n": 1}, "id": "i"}`,
}

// TestWhatHasEndedTakesNothing: each input to an execution that has ended is refused with its state, in all the ways to end.
func TestWhatHasEndedTakesNothing(t *testing.T) {
	c, urls := serve(t, echo, waiting, human, "name: fails\nsteps: { no: { fail: { code: no } } }\n",
		"name: later\nlimits: { timeout: 1d }\nsteps: { call: { function: call, callback: true, with: '${ callback.url }' } }\n")
	ctx := context.Background()
	begin := func(workflow string) string {
		e, err := c.Start(ctx, client.StartRequest{Workflow: workflow})
		require.NoError(t, err)
		return e.ID
	}
	late := begin("later")
	callback := strings.TrimPrefix(<-urls, c.Server)
	cancelled := begin("waiting")
	for _, id := range []string{late, cancelled} {
		require.NoError(t, c.Cancel(ctx, id, client.CancelRequest{ID: "first"}))
	}
	for _, ended := range []struct{ id, state, outcome string }{
		{begin("echo"), "completed", "completed"}, {begin("fails"), "failed", "failed"}, {cancelled, "cancelled", "cancelled"}, {late, "cancelled", "cancelled"},
	} {
		e, err := c.Wait(ctx, ended.id)
		require.NoError(t, err)
		require.Equal(t, ended.state, e.Status)
		for path, body := range inputs {
			status, p, _ := ask(t, c, http.MethodPost, "/v1/executions/"+ended.id+"/"+path, jsonType, body)
			requireEnded(t, status, p, ended.state, ended.outcome)
		}
	}
	status, p, _ := ask(t, c, http.MethodPost, callback, jsonType, `{"output": 1}`)
	requireEnded(t, status, p, "cancelled", "cancelled")
	require.NoError(t, c.Cancel(ctx, late, client.CancelRequest{ID: "first"}), "a repeat is harmless")
}

func requireEnded(t *testing.T, status int, p client.Problem, state, outcome string) {
	t.Helper()
	require.Equal(t, http.StatusConflict, status, "%+v", p)
	require.Equal(t, "execution.ended", p.Code)
	require.Equal(t, state, p.State)
	require.Equal(t, outcome, p.Outcome)
	require.Contains(t, p.Title, "has ended: "+outcome)
}

// TestRepeats: the same ID counts once, and is no error, whether the execution is open or has ended meanwhile.
func TestRepeats(t *testing.T) {
	c, urls := serve(t, human, "name: later\nlimits: { timeout: 1d }\nsteps: { call: { function: call, callback: true, with: '${ callback.url }' }, go: { needs: [call], event: { type: Go } } }\n")
	ctx := context.Background()
	e, err := c.Start(ctx, client.StartRequest{Workflow: "human"})
	require.NoError(t, err)
	approve := client.Decision{ID: "d", Verdict: "approve", Answer: json.RawMessage(`{"n": 1}`)}
	require.NoError(t, c.Decide(ctx, e.ID, "ok", approve))
	got, err := c.Wait(ctx, e.ID)
	require.NoError(t, err)
	require.True(t, got.Ended())
	require.NoError(t, c.Decide(ctx, e.ID, "ok", approve))

	e, err = c.Start(ctx, client.StartRequest{Workflow: "later"})
	require.NoError(t, err)
	callback := strings.TrimPrefix(<-urls, c.Server)
	status, _, body := ask(t, c, http.MethodPost, callback, jsonType, `{"output": 1}`)
	require.Equal(t, http.StatusAccepted, status, body)
	status, p, _ := ask(t, c, http.MethodPost, callback, jsonType, `{"output": 2}`)
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, p.Title, "answered already")
	for range 2 {
		require.NoError(t, c.Signal(ctx, e.ID, client.Signal{ID: "s", Type: "Go"}))
	}
	got, err = c.Wait(ctx, e.ID)
	require.NoError(t, err)
	require.Equal(t, "completed", got.Outcome)
}

// TestNoInputIsAnEmptyOne: what is started without an input has {}, however that is said.
func TestNoInputIsAnEmptyOne(t *testing.T) {
	c, _ := serve(t, echo, "name: strict\ninput: { schema: { type: object } }\nsteps: { say: { value: '${ input }' } }\n")
	for _, workflow := range []string{"echo", "strict"} {
		status, _, first := ask(t, c, http.MethodPost, "/v1/executions", jsonType, `{"workflow": "`+workflow+`", "key": "k"}`)
		require.Equal(t, http.StatusCreated, status, first)
		status, _, second := ask(t, c, http.MethodPost, "/v1/executions", jsonType, `{"workflow": "`+workflow+`", "key": "k", "input": {}}`)
		require.Equal(t, http.StatusOK, status, second)
		e, err := c.Wait(context.Background(), idOf(t, first))
		require.NoError(t, err)
		require.JSONEq(t, `{"say": {}}`, string(e.Output))
	}
}

// TestWebhooksOfOnePath: a path of a webhook belongs to one workflow of a tenant, whatever its versions.
func TestWebhooksOfOnePath(t *testing.T) {
	c, _ := serve(t)
	deploy := func(name, paths string) error {
		_, err := c.Deploy(context.Background(), name+".yaml", []byte("dsl: wovyr/v1\nname: "+name+"\ntriggers: [ "+paths+" ]\nsteps: { a: { value: '${ input }' } }\n"))
		return err
	}
	hook := func(path string) string { return "{ webhook: { path: " + path + ", verify: { bearer: k } } }" }
	require.NoError(t, deploy("first", hook("/a")+", "+hook("/b")))
	require.NoError(t, deploy("first", hook("/a")), "it is its own")
	require.NoError(t, deploy("second", hook("/b")+", "+hook("/c")), "the newest version of the first has it no more")
	for _, path := range []string{"/a", "/c"} {
		err := deploy("third", hook("/d")+", "+hook(path))
		require.Equal(t, "webhook.taken", code(t, err))
		require.ErrorContains(t, err, path)
	}
	require.NoError(t, deploy("third", hook("/d")+", { event: { type: A } }"))
}
