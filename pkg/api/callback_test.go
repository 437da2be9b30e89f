package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/node"
	"github.com/wovyr/wovyr/pkg/project"
)

// service is somebody else's: it takes jobs by HTTP and answers each, later, at the address that stands in the job.
type service struct {
	*httptest.Server
	jobs chan job
}

type job struct {
	Callback, Token string
	attempt         int
}

func newService(t *testing.T) *service {
	s := &service{jobs: make(chan job, 10)}
	n := 0
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		j := job{attempt: n}
		if err := json.NewDecoder(r.Body).Decode(&j); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.jobs <- j
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "what the call returns does not count")
	}))
	t.Cleanup(s.Close)
	return s
}

// answer posts to a callback as any program would, and returns the status.
func (j job) answer(t *testing.T, body string) int {
	t.Helper()
	res, err := http.Post(j.Callback, "application/json; charset=utf-8", strings.NewReader(body))
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res.StatusCode
}

// remote runs a node whose workflows may call this machine.
func remote(t *testing.T, data string, document string) (c *client.Client, stop func()) {
	t.Helper()
	n, err := node.Open(node.Options{Project: &project.Project{Egress: project.Egress{Allow: []string{"127.0.0.1"}}}, Data: data})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx, time.Minute) }()
	c = &client.Client{Server: n.URL}
	_, err = c.Deploy(ctx, "test.yaml", []byte("dsl: wovyr/v1\n"+document))
	require.NoError(t, err)
	return c, func() { cancel(); require.NoError(t, <-ended) }
}

func ended(t *testing.T, c *client.Client, id string) client.Execution {
	t.Helper()
	e, err := c.Wait(context.Background(), id)
	for err == nil && !e.Ended() {
		e, err = c.Wait(context.Background(), id)
	}
	require.NoError(t, err)
	return e
}

func calling(url string) string {
	return fmt.Sprintf(`name: job
input: { schema: { type: object } }
limits: { timeout: 1d }
steps:
  work:
    http: { method: POST, url: '%s/jobs', body: { callback: '${ callback.url }', token: '${ callback.token }' } }
    callback: true
    output: { schema: { type: object, required: [ paid ] } }
    retry: { attempts: 3, delay: 1ms, on: [ external ] }
  after: { value: '${ steps.work.output.paid }' }
`, url)
}

// TestCallbackOfHTTP: a call by HTTP starts the work, and the answer that comes to the signed address is the step's output.
func TestCallbackOfHTTP(t *testing.T) {
	s := newService(t)
	c, stop := remote(t, t.TempDir(), calling(s.URL))
	defer stop()
	e, err := c.Start(context.Background(), client.StartRequest{Workflow: "job"})
	require.NoError(t, err)
	j := <-s.jobs
	require.Equal(t, c.Server+"/v1/callbacks/"+j.Token, j.Callback)

	forged := job{Callback: j.Callback[:len(j.Callback)-4] + "AAAA"}
	require.Equal(t, http.StatusForbidden, forged.answer(t, `{"output": {"paid": 1}}`))
	require.Equal(t, http.StatusBadRequest, j.answer(t, `{"outputs": 1}`))
	require.Equal(t, http.StatusBadRequest, j.answer(t, `{"error": {"code": ""}}`))
	require.Equal(t, http.StatusAccepted, j.answer(t, `{"output": {"paid": 30}}`))
	e = ended(t, c, e.ID)
	require.Equal(t, "completed", e.Outcome)
	require.JSONEq(t, `{"after": 30}`, string(e.Output))
	require.Empty(t, s.jobs, "one call")

	history, err := c.History(context.Background(), e.ID, "")
	require.NoError(t, err)
	text, err := json.Marshal(history)
	require.NoError(t, err)
	require.NotContains(t, string(text), j.Token, "the token is a key, and stands in no history")
	require.NotContains(t, string(text), "does not count")
}

// TestCallbackThatFails: an error posted to the address is the step's error; a retry gets an address of its own, and the old one is worth nothing.
func TestCallbackThatFails(t *testing.T) {
	s := newService(t)
	c, stop := remote(t, t.TempDir(), calling(s.URL))
	defer stop()
	e, err := c.Start(context.Background(), client.StartRequest{Workflow: "job"})
	require.NoError(t, err)
	first := <-s.jobs
	require.Equal(t, http.StatusAccepted, first.answer(t, `{"error": {"code": "pay.busy", "category": "external", "message": "later"}}`))
	second := <-s.jobs
	require.NotEqual(t, first.Token, second.Token)
	require.Contains(t, []int{http.StatusAccepted, http.StatusConflict}, first.answer(t, `{"output": {"paid": 1}}`), "it is too late for that, and harmless")
	require.Equal(t, http.StatusAccepted, second.answer(t, `{"error": {"code": "pay.declined", "message": "no cover"}}`))
	e = ended(t, c, e.ID)
	require.Equal(t, "failed", e.Outcome)
	require.Equal(t, "pay.declined", e.Error.Code)
}

// TestCallbackOutlivesARestart: the token is good for the node that comes after.
func TestCallbackOutlivesARestart(t *testing.T) {
	s := newService(t)
	data := t.TempDir()
	c, stop := remote(t, data, calling(s.URL))
	e, err := c.Start(context.Background(), client.StartRequest{Workflow: "job"})
	require.NoError(t, err)
	j := <-s.jobs
	for history := (client.Page[client.Event]{}); !strings.Contains(fmt.Sprint(history), "ActivityPending"); {
		history, err = c.History(context.Background(), e.ID, "")
		require.NoError(t, err)
	}
	stop()
	c, stop = remote(t, data, calling(s.URL))
	defer stop()
	j.Callback = c.Server + "/v1/callbacks/" + j.Token // another port
	require.Equal(t, http.StatusAccepted, j.answer(t, `{"output": {"paid": 30}}`))
	require.Equal(t, "completed", ended(t, c, e.ID).Outcome)
	require.Empty(t, s.jobs, "it is not called again")
}
