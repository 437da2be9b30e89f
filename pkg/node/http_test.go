package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/node"
	"github.com/wovyr/wovyr/pkg/project"
)

// runs runs a workflow to its end on a node of its own, and returns the execution and its history as a text.
func runs(t *testing.T, settings, document string, input any) (client.Execution, string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, project.FileName), []byte(settings), 0o600))
	p, err := project.Load(dir)
	require.NoError(t, err)
	n, err := node.Open(node.Options{Project: p, Data: filepath.Join(dir, "data")})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx, time.Minute) }()
	defer func() { stop(); require.NoError(t, <-done) }()

	c := client.Client{Server: n.URL}
	_, err = c.Deploy(ctx, "test.yaml", []byte("dsl: wovyr/v1\nname: test\n"+document))
	require.NoError(t, err)
	text, err := json.Marshal(input)
	require.NoError(t, err)
	e, err := c.Start(ctx, client.StartRequest{Workflow: "test", Input: text})
	for err == nil && !e.Ended() {
		e, err = c.Wait(ctx, e.ID)
	}
	require.NoError(t, err)
	history, err := c.History(ctx, e.ID, "")
	require.NoError(t, err)
	events, err := json.Marshal(history)
	require.NoError(t, err)
	return e, string(events)
}

const hereAllowed = "egress: { allow: [ 127.0.0.1 ] }\n"

// TestLargeAnswersPassByReference: megabytes go from a service to the next one, an expression reads a little of them, and the history
// stays small.
func TestLargeAnswersPassByReference(t *testing.T) {
	var took int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			took = len(body)
			fmt.Fprint(w, `{"ok": true}`)
			return
		}
		fmt.Fprintf(w, `{"id": "r-1", "rows": [%s"end"]}`, strings.Repeat(`"0123456789",`, 400_000))
	}))
	defer server.Close()
	e, history := runs(t, hereAllowed, `
input: { schema: { type: object, properties: { url: { type: string } } } }
steps:
  get: { http: { url: '${ input.url }' } }
  put: { http: { method: POST, url: '${ input.url }', body: '${ steps.get.output.body.rows }' } }
  id: { needs: [ put ], value: '${ {"id": steps.get.output.body.id, "status": steps.get.output.status} }' }
`, map[string]string{"url": server.URL})
	require.Equal(t, "completed", e.Outcome, "%+v", e.Error)
	require.JSONEq(t, `{"id": {"id": "r-1", "status": 200}}`, string(e.Output))
	require.Equal(t, len(`[`+strings.Repeat(`"0123456789",`, 400_000)+`"end"]`), took)
	require.Less(t, len(history), 20_000)
}

// TestEgressOfANode: by default nothing of one's own machine is called, by no kind, not even the node itself.
func TestEgressOfANode(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	for _, step := range []string{`http: { url: '${ input.url }' }`, `function: { url: '${ input.url }' }`} {
		e, _ := runs(t, "", "input: { schema: { type: object, properties: { url: { type: string } } } }\nsteps: { call: { "+step+" } }\n", map[string]string{"url": server.URL})
		require.Equal(t, "failed", e.Outcome)
		require.Equal(t, "egress.forbidden", e.Error.Code)
	}
	require.Zero(t, asked)
}

// TestSecretsOfHTTP: a service that writes back all that it was sent brings no secret into the history.
func TestSecretsOfHTTP(t *testing.T) {
	const value = `k3y/+"<&>é`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		if r.URL.Path == "/refuse" {
			w.WriteHeader(http.StatusForbidden)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"body": string(body), "bytes": body, "header": r.Header, "query": r.URL.RawQuery})
	}))
	defer server.Close()
	t.Setenv("WOVYR_TEST_KEY", value)
	for _, path := range []string{"/echo", "/refuse"} {
		e, history := runs(t, hereAllowed+"secrets: { key: { env: WOVYR_TEST_KEY } }\n", `
input: { schema: { type: object, properties: { url: { type: string } } } }
steps:
  basic: { http: { method: POST, url: '${ input.url }', auth: { basic: { user: shop, password: '${ secrets.key }' } }, body: { key: '${ secrets.key }' } }, on_error: [ { continue: null } ] }
  form: { http: { method: POST, url: '${ input.url }', form: { key: '${ secrets.key }' }, response: text }, on_error: [ { continue: null } ] }
`, map[string]string{"url": server.URL + path})
		require.Equal(t, "completed", e.Outcome, "%+v", e.Error)
		require.Contains(t, history, "[secret:key]")
		text, err := json.Marshal(value)
		require.NoError(t, err)
		for _, form := range []string{value, strings.Trim(string(text), `"`), "k3y%2F", "k3y/", "azN5L"} {
			require.NotContains(t, history, form)
		}
	}
}
