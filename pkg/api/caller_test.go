package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/api"
	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/local"
)

// serveAs runs a platform whose API was told who the caller is.
func serveAs(t *testing.T, principal string) *client.Client {
	t.Helper()
	return serveSet(t, func(s *api.Server) { s.Principal = principal })
}

// serveSet runs a platform whose API a test has set up.
func serveSet(t *testing.T, set func(s *api.Server)) *client.Client {
	t.Helper()
	p, err := local.Open(t.TempDir(), local.Options{})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, time.Minute) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-ended); require.NoError(t, p.Store.Close()) })
	a := &api.Server{Worker: p.Worker, Ask: p.Ask, Watch: p.Watch, Tenant: "local"}
	set(a)
	s := httptest.NewServer(a.Handler())
	t.Cleanup(s.Close)
	return &client.Client{Server: s.URL}
}

// by returns who the history says was behind its events, by their types.
func by(t *testing.T, c *client.Client, id string) map[string]string {
	t.Helper()
	page, err := c.History(t.Context(), id, "")
	require.NoError(t, err)
	out := map[string]string{}
	for _, e := range page.Items {
		var data struct{ By string }
		if len(e.Data) > 0 {
			require.NoError(t, json.Unmarshal(e.Data, &data))
		}
		if data.By != "" && !strings.HasPrefix(e.Type, "Activity") { // there it is a message
			out[e.Type] = data.By
		}
	}
	return out
}

// TestTheHistorySaysWhoDidIt: a caller whom the platform knows stands behind all that it does, whoever the body names.
func TestTheHistorySaysWhoDidIt(t *testing.T) {
	const ann = "arn:aws:sts::111122223333:assumed-role/Operators/ann"
	c := serveAs(t, ann)
	ctx := t.Context()
	for _, document := range []string{
		"dsl: wovyr/v1\nname: held\non_failure: pause\nsteps: { a: { function: std.fail, with: { code: x.y, message: no, retryable: false } }, ok: { needs: [ a ], human: { title: 'Ok?' } } }\n",
		"dsl: wovyr/v1\nname: long\nsteps: { nap: { timer: { for: 9d } } }\n",
	} {
		_, err := c.Deploy(ctx, "x.yaml", []byte(document))
		require.NoError(t, err)
	}
	e, err := c.Start(ctx, client.StartRequest{Workflow: "held"})
	require.NoError(t, err)
	until := func(wanted func(client.Execution) bool) {
		t.Helper()
		require.Eventually(t, func() bool {
			now, err := c.Get(ctx, e.ID)
			return err == nil && wanted(now)
		}, time.Minute, 5*time.Millisecond)
	}
	until(func(e client.Execution) bool { return len(e.Held) > 0 })
	require.NoError(t, c.Move(ctx, e.ID, client.OperatorMove{Move: "skip", Step: "a", By: ann}))
	until(func(e client.Execution) bool { return len(e.Tasks) == 1 })
	require.NoError(t, c.Decide(ctx, e.ID, "ok", client.Decision{Verdict: "approve", By: "bob"}))
	until(func(e client.Execution) bool { return e.Ended() })
	require.Equal(t, map[string]string{"WorkflowCreated": ann, "OperatorMoved": ann, "TaskDecided": "bob (" + ann + ")"}, by(t, c, e.ID))

	e, err = c.Start(ctx, client.StartRequest{Workflow: "long"})
	require.NoError(t, err)
	require.NoError(t, c.Cancel(ctx, e.ID, client.CancelRequest{}))
	until(func(e client.Execution) bool { return e.Ended() })
	require.Equal(t, map[string]string{"WorkflowCreated": ann, "CancelRequested": ann}, by(t, c, e.ID))
	next, err := c.Redrive(ctx, e.ID, client.RedriveRequest{By: "bob"})
	require.NoError(t, err)
	require.Equal(t, "bob ("+ann+")", by(t, c, next.ID)["WorkflowCreated"])
}

// TestIDsWithSlashesInAddresses: as a colon, which gets through every gateway, and as an escaped slash, where that gets through.
func TestIDsWithSlashesInAddresses(t *testing.T) {
	c := serveAs(t, "")
	ctx := t.Context()
	for _, document := range []string{
		"dsl: wovyr/v1\nname: child\nsteps: { each: { foreach: { items: [ 1 ], as: i, steps: { ok: { human: { title: 'Ok?' } } } } } }\n",
		"dsl: wovyr/v1\nname: parent\nsteps: { c: { workflow: { name: child } } }\n",
	} {
		_, err := c.Deploy(ctx, "x.yaml", []byte(document))
		require.NoError(t, err)
	}
	e, err := c.Start(ctx, client.StartRequest{Workflow: "parent"})
	require.NoError(t, err)
	child := e.ID + "/c/1"
	require.Eventually(t, func() bool {
		now, err := c.Get(ctx, child)
		return err == nil && len(now.Tasks) == 1
	}, time.Minute, 5*time.Millisecond)
	for _, id := range []string{e.ID + ":c:1", e.ID + "%2Fc%2F1"} {
		status, _, text := ask(t, c, http.MethodGet, "/v1/executions/"+id, "", "")
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, text, child)
	}
	require.NoError(t, c.Decide(ctx, child, "each/0/ok", client.Decision{Verdict: "approve"}))
	require.Eventually(t, func() bool { now, err := c.Get(ctx, e.ID); return err == nil && now.Ended() }, time.Minute, 5*time.Millisecond)
}
