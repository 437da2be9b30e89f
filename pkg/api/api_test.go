package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/node"
	"github.com/wovyr/wovyr/pkg/project"
)

// serve runs a whole node, as `wovyr dev` does. The callback URLs that the function "call" gets come out of the channel.
func serve(t *testing.T, documents ...string) (*client.Client, <-chan string) {
	t.Helper()
	urls := make(chan string, 1)
	call := activity.Func("call", func(_ context.Context, url string) (any, error) { urls <- url; return nil, nil })
	n, err := node.Open(node.Options{Project: &project.Project{}, Data: t.TempDir(), Functions: []activity.Function{call}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx, time.Minute) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-ended) })
	c := &client.Client{Server: n.URL}
	for _, d := range documents {
		_, err := c.Deploy(ctx, "test.yaml", []byte("dsl: wovyr/v1\n"+d))
		require.NoError(t, err)
	}
	return c, urls
}

// ask sends a raw request and returns status and body.
func ask(t *testing.T, c *client.Client, method, path, kind, body string) (int, client.Problem, string) {
	t.Helper()
	req, err := http.NewRequest(method, c.Server+path, strings.NewReader(body))
	require.NoError(t, err)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	var p client.Problem
	if res.StatusCode/100 != 2 && method != http.MethodHead {
		require.NoError(t, json.Unmarshal(text, &p), "%s %s: %s", method, path, text)
		require.Equal(t, res.StatusCode, p.Status)
		require.Equal(t, "application/problem+json", res.Header.Get("Content-Type"))
		require.NotEmpty(t, p.Code)
	}
	return res.StatusCode, p, string(text)
}

const jsonType = "application/json"

const (
	waiting = "name: waiting\nlimits: { timeout: 1d }\nsteps: { go: { event: { type: Go } } }\n"
	human   = "name: human\nlimits: { timeout: 1d }\nsteps: { ok: { human: { title: 'Ok?', assignees: ['user:a'], form: { schema: { type: object, required: [n] } } } } }\n"
	echo    = "name: echo\nsteps: { say: { function: std.echo, with: '${ input }' } }\n"
)

var posts = []string{
	"/v1/executions", "/v1/executions/x/signals", "/v1/executions/x/cancel", "/v1/executions/x/moves", "/v1/executions/x/redrive",
	"/v1/executions/x/tasks/s", "/v1/events", "/v1/deadletters/x/redrive", "/v1/deadletters/x/drop",
}

func TestBodiesThatAreRefused(t *testing.T) {
	c, _ := serve(t)
	for _, path := range posts {
		for _, body := range []string{"", "{", "[]", `"x"`, "1", `{"no_such_field": 1}`, "{} {}"} {
			status, _, text := ask(t, c, http.MethodPost, path, jsonType, body)
			require.Equal(t, http.StatusBadRequest, status, "%s %s: %s", path, body, text)
		}
		for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"} {
			status, p, _ := ask(t, c, http.MethodPost, path, kind, "{}")
			require.Equal(t, http.StatusUnsupportedMediaType, status, "%s %s", path, kind)
			require.Equal(t, "media_type", p.Code)
		}
		status, p, _ := ask(t, c, http.MethodPost, path, jsonType, `{"x": "`+strings.Repeat("a", 7<<20)+`"}`)
		require.Contains(t, []int{http.StatusRequestEntityTooLarge, http.StatusBadRequest}, status, "%s: %+v", path, p)
	}
	for path, body := range map[string]string{
		"/v1/executions":           `{"workflow": 7}`,
		"/v1/executions/x/signals": `{"key": "k"}`,
		"/v1/executions/x/cancel":  `{"mode": "rough"}`,
		"/v1/executions/x/moves":   `{"move": "jump"}`,
		"/v1/executions/x/tasks/s": `{"verdict": "maybe"}`,
		"/v1/events":               `{"type": ""}`,
	} {
		status, _, text := ask(t, c, http.MethodPost, path, jsonType, body)
		require.Equal(t, http.StatusBadRequest, status, "%s: %s", path, text)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	c, _ := serve(t)
	for _, id := range []string{"nothing", "a%2Fb", "%C3%A4%E2%82%AC", "..%2F..%2Fx", "%00"} {
		for _, path := range []string{"", "/history", "/proof"} {
			status, p, _ := ask(t, c, http.MethodGet, "/v1/executions/"+id+path, "", "")
			require.Contains(t, []int{http.StatusNotFound, http.StatusBadRequest}, status, "%s%s: %+v", id, path, p)
		}
		for path, body := range map[string]string{"signals": `{"type": "T"}`, "cancel": `{}`, "moves": `{"move": "retry"}`, "redrive": `{}`, "tasks/s": `{"verdict": "approve"}`} {
			status, p, _ := ask(t, c, http.MethodPost, "/v1/executions/"+id+"/"+path, jsonType, body)
			require.Contains(t, []int{http.StatusNotFound, http.StatusBadRequest}, status, "%s/%s: %+v", id, path, p)
		}
	}
	for _, path := range []string{"/", "/v1", "/v2/executions", "/v1/nothing"} {
		status, p, _ := ask(t, c, http.MethodGet, path, "", "")
		require.Equal(t, http.StatusNotFound, status)
		require.Equal(t, "not_found", p.Code)
	}
	for _, query := range []string{"limit=0", "limit=x", "limit=999999", "limit=-1"} {
		status, _, _ := ask(t, c, http.MethodGet, "/v1/executions?"+query, "", "")
		require.Equal(t, http.StatusBadRequest, status, query)
	}
	status, p, _ := ask(t, c, http.MethodPost, "/v1/executions", jsonType, `{"workflow": "nothing"}`)
	require.Equal(t, http.StatusNotFound, status)
	require.Equal(t, "workflow.unknown", p.Code)
	status, p, _ = ask(t, c, http.MethodPost, "/v1/callbacks/forged", jsonType, `{"output": 1}`)
	require.Equal(t, http.StatusForbidden, status)
	require.Equal(t, "token", p.Code)
}

// TestHostGuard: a page that lets its name point to this machine gets no answer.
func TestHostGuard(t *testing.T) {
	c, _ := serve(t)
	for host, want := range map[string]int{"evil.example": http.StatusForbidden, "evil.example:80": http.StatusForbidden, "10.0.0.1": http.StatusForbidden,
		"localhost": http.StatusOK, "127.0.0.1:99": http.StatusOK, "[::1]:7": http.StatusOK} {
		req := httptest.NewRequest(http.MethodGet, c.Server+"/v1/health", nil)
		req.RequestURI, req.Host = "", host
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, want, res.StatusCode, host)
		if want == http.StatusForbidden {
			var p client.Problem
			require.NoError(t, json.Unmarshal(text, &p))
			require.Equal(t, client.Problem{Status: want, Code: "host", Title: p.Title, Detail: p.Detail}, p)
			require.Equal(t, "application/problem+json", res.Header.Get("Content-Type"))
			require.NotEmpty(t, p.Detail)
		}
	}
}

func TestDeploy(t *testing.T) {
	c, _ := serve(t)
	ctx := context.Background()
	d, err := c.Deploy(ctx, "a.yaml", []byte("dsl: wovyr/v1\n"+echo))
	require.NoError(t, err)
	require.Equal(t, client.Deployed{Workflow: "echo", Version: 1, Hash: d.Hash, New: true}, d)
	d, err = c.Deploy(ctx, "a.yaml", []byte("dsl: wovyr/v1\n"+echo))
	require.NoError(t, err)
	require.False(t, d.New)
	require.EqualValues(t, 1, d.Version)

	_, err = c.Deploy(ctx, "b.yaml", []byte("name: x\n"))
	var p *client.Problem
	require.ErrorAs(t, err, &p)
	require.Equal(t, http.StatusUnprocessableEntity, p.Status)
	var found []struct {
		File string
		Line int
		Code string
	}
	require.NoError(t, json.Unmarshal(p.Diagnostics, &found))
	require.Equal(t, "b.yaml", found[0].File)
	require.NotZero(t, found[0].Line)

	status, _, body := ask(t, c, http.MethodGet, "/v1/workflows", "", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `"workflow":"echo"`)
}

// TestStartIsIdempotent: the same key finds the same execution, and refuses another input.
func TestStartIsIdempotent(t *testing.T) {
	c, _ := serve(t, echo)
	status, _, first := ask(t, c, http.MethodPost, "/v1/executions", jsonType, `{"workflow": "echo", "key": "k", "input": {"a": 1}}`)
	require.Equal(t, http.StatusCreated, status)
	status, _, second := ask(t, c, http.MethodPost, "/v1/executions", jsonType, `{"workflow": "echo", "key": "k", "input": {"a":1}}`)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, idOf(t, first), idOf(t, second))
	status, p, _ := ask(t, c, http.MethodPost, "/v1/executions", jsonType, `{"workflow": "echo", "key": "k", "input": {"a": 2}}`)
	require.Equal(t, http.StatusConflict, status)
	require.Equal(t, "key.reused", p.Code)
}

func idOf(t *testing.T, body string) string {
	t.Helper()
	var e client.Execution
	require.NoError(t, json.Unmarshal([]byte(body), &e))
	return e.ID
}

// TestLongPoll: a request that waits is answered when the execution ends.
func TestLongPoll(t *testing.T) {
	c, _ := serve(t, waiting)
	ctx := context.Background()
	e, err := c.Start(ctx, client.StartRequest{Workflow: "waiting", Labels: map[string]string{"team": "a/ä"}})
	require.NoError(t, err)
	ended := make(chan client.Execution, 1)
	go func() {
		got, err := c.Wait(ctx, e.ID)
		for err == nil && !got.Ended() {
			got, err = c.Wait(ctx, e.ID)
		}
		ended <- got
	}()
	require.NoError(t, c.Signal(ctx, e.ID, client.Signal{ID: "s", Type: "Go", Data: json.RawMessage(`{"ä": "/"}`)}))
	got := <-ended
	require.Equal(t, "completed", got.Outcome)
	require.Contains(t, string(got.Output), `"ä":"/"`)

	page, err := c.List(ctx, url.Values{"label": {"team=a/ä"}})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	events, err := c.History(ctx, e.ID, "")
	require.NoError(t, err)
	require.Equal(t, "WorkflowCreated", events.Items[0].Type)
	proof, err := c.Verify(ctx, e.ID)
	require.NoError(t, err)
	require.Equal(t, got.Events, proof.Events)
}

// TestTasks: an answer that the form refuses, a decision twice, a step that has no task.
func TestTasks(t *testing.T) {
	c, _ := serve(t, human)
	ctx := context.Background()
	e, err := c.Start(ctx, client.StartRequest{Workflow: "human"})
	require.NoError(t, err)
	page, err := c.Tasks(ctx, nil)
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	require.Equal(t, "Ok?", page.Items[0].Title)

	code := func(err error) string {
		var p *client.Problem
		require.True(t, errors.As(err, &p), "%v", err)
		return p.Code
	}
	require.Equal(t, "task.answer", code(c.Decide(ctx, e.ID, "ok", client.Decision{Verdict: "approve"})))
	require.Equal(t, "task.closed", code(c.Decide(ctx, e.ID, "other", client.Decision{Verdict: "approve"})))
	require.Equal(t, "refused", code(c.Move(ctx, e.ID, client.OperatorMove{Move: "retry", Step: "ok"})))
	require.Equal(t, "refused", code(c.Decide(ctx, e.ID, "ok", client.Decision{Verdict: "reassign"})))
	require.NoError(t, c.Decide(ctx, e.ID, "ok", client.Decision{Verdict: "reassign", To: []string{"user:b"}}))
	require.NoError(t, c.Decide(ctx, e.ID, "ok", client.Decision{Verdict: "approve", Answer: json.RawMessage(`{"n": 1}`), By: "b"}))
	require.Equal(t, "execution.ended", code(c.Decide(ctx, e.ID, "ok", client.Decision{Verdict: "reject"})))
	got, err := c.Wait(ctx, e.ID)
	require.NoError(t, err)
	require.Equal(t, "completed", got.Outcome)
	_, err = c.Redrive(ctx, e.ID, client.RedriveRequest{})
	require.Equal(t, "execution.completed", code(err))
}

// TestLargeInputs: what stands in the history as it is has a limit, which the sender hears of; the answer of a callback is kept by reference.
func TestLargeInputs(t *testing.T) {
	c, urls := serve(t, waiting, "name: later\nlimits: { timeout: 1d }\nsteps: { call: { function: call, callback: true, with: '${ callback.url }' } }\noutput: '${ steps.call.output.small }'\n")
	big := `"` + strings.Repeat("x", 200_000) + `"`
	id := func(workflow string) string {
		e, err := c.Start(t.Context(), client.StartRequest{Workflow: workflow})
		require.NoError(t, err)
		return e.ID
	}
	for path, body := range map[string]string{ // order-free: each is for itself
		"/v1/executions/" + id("waiting") + "/signals": `{"type":"Go","data":` + big + `}`,
		"/v1/events": `{"type":"Go","key":"k","data":` + big + `}`,
	} {
		status, p, _ := ask(t, c, http.MethodPost, path, jsonType, body)
		require.Equal(t, http.StatusRequestEntityTooLarge, status, path)
		require.Equal(t, "payload.too_large", p.Code)
	}
	later := id("later")
	status, _, text := ask(t, c, http.MethodPost, strings.TrimPrefix(<-urls, c.Server), jsonType, `{"output":{"small":7,"big":`+big+`}}`)
	require.Equal(t, http.StatusAccepted, status, text)
	e, err := c.Wait(t.Context(), later)
	require.NoError(t, err)
	require.Equal(t, "completed", e.Status)
	require.JSONEq(t, `7`, string(e.Output))
}

// TestCallback: the address that a started call got takes its answer, once what it says is an answer.
func TestCallback(t *testing.T) {
	c, urls := serve(t, "name: later\nlimits: { timeout: 1d }\nsteps: { call: { function: call, callback: true, with: '${ callback.url }' } }\n")
	ctx := context.Background()
	e, err := c.Start(ctx, client.StartRequest{Workflow: "later"})
	require.NoError(t, err)
	address := <-urls
	path := strings.TrimPrefix(address, c.Server)
	require.NotEqual(t, address, path)

	status, _, _ := ask(t, c, http.MethodPost, path, jsonType, `{"error": {"message": "no code"}}`)
	require.Equal(t, http.StatusBadRequest, status)
	status, _, _ = ask(t, c, http.MethodPost, path[:len(path)-3], jsonType, `{"output": 7}`)
	require.Equal(t, http.StatusForbidden, status)
	status, _, body := ask(t, c, http.MethodPost, path, jsonType, `{"output": {"paid": true}}`)
	require.Equal(t, http.StatusAccepted, status, body)
	got, err := c.Wait(ctx, e.ID)
	require.NoError(t, err)
	require.JSONEq(t, `{"call": {"paid": true}}`, string(got.Output))
}

// TestWhatTheClientMakesOfAnswers: an answer that is not of this API is an error that says so.
func TestWhatTheClientMakesOfAnswers(t *testing.T) {
	answer := func(status int, body string) *client.Client {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.Copy(w, bytes.NewBufferString(body))
		}))
		t.Cleanup(s.Close)
		return &client.Client{Server: s.URL}
	}
	ctx := context.Background()
	_, err := answer(http.StatusBadGateway, "<html>no</html>").Get(ctx, "x")
	require.ErrorContains(t, err, "502 Bad Gateway: <html>no</html>")
	_, err = answer(http.StatusOK, "<html>").Get(ctx, "x")
	require.ErrorContains(t, err, "is not what this client knows")
	_, err = (&client.Client{Server: "http://127.0.0.1:1"}).Get(ctx, "x")
	require.ErrorIs(t, err, client.ErrUnreachable)
}
