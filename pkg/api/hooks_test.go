package api_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/node"
	"github.com/wovyr/wovyr/pkg/project"
)

const hookSecret = "a secret of webhooks"

// logged is a log that a test reads.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// serveHooks is serve with secrets, and returns what was logged.
func serveHooks(t *testing.T, documents ...string) (*client.Client, *logged) {
	t.Helper()
	dir, log := t.TempDir(), &logged{}
	require.NoError(t, os.WriteFile(filepath.Join(dir, project.FileName), []byte("secrets: { hook: { file: hook.txt }, absent: { file: absent.txt } }\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hook.txt"), []byte(hookSecret+"\n"), 0o600))
	p, err := project.Load(dir)
	require.NoError(t, err)
	n, err := node.Open(node.Options{Project: p, Data: t.TempDir(), Log: slog.New(slog.NewTextHandler(log, nil))})
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
	return c, log
}

// post sends a request to a webhook and returns the answer, with its status.
func post(t *testing.T, c *client.Client, path, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, c.Server+path, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(text)
}

// signature is that of a body, as GitHub sends it.
func signature(body string) string {
	m := hmac.New(sha256.New, []byte(hookSecret))
	m.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}

const pushed = `name: pushed
triggers: [ { webhook: { path: /hooks/git/push, verify: { hmac_sha256: hook, header: X-Hub-Signature-256 }, input: { kind: '${ event.type }', id: '${ event.id }', ref: '${ event.data.ref }', source: '${ event.source }' } } } ]
steps: { say: { value: '${ input }' } }
output: '${ steps.say.output }'
`

// TestAWebhook: a request that is signed starts an execution, once for each delivery, and answers with its ID.
func TestAWebhook(t *testing.T) {
	c, _ := serveHooks(t, pushed)
	const body = `{"ref": "main"}`
	send := func(delivery string) client.Hooked {
		status, text := post(t, c, "/hooks/git/push", body, "Content-Type", jsonType, "X-Hub-Signature-256", signature(body), "X-GitHub-Event", "push", "X-GitHub-Delivery", delivery)
		require.Equal(t, http.StatusAccepted, status, text)
		var out client.Hooked
		require.NoError(t, json.Unmarshal([]byte(text), &out))
		require.True(t, out.Accepted)
		return out
	}
	first, again, other := send("d-1"), send("d-1"), send("d-2")
	require.False(t, first.Existed)
	require.Equal(t, client.Hooked{Accepted: true, Execution: first.Execution, Existed: true}, again)
	require.NotEqual(t, first.Execution, other.Execution)
	e, err := c.Wait(t.Context(), first.Execution)
	require.NoError(t, err)
	require.JSONEq(t, `{"kind":"push","id":"d-1","ref":"main","source":"/hooks/git/push"}`, string(e.Output))
}

// TestStrangersAtWebhooks: whoever cannot prove himself starts nothing and hears nothing of why; that the secret is missing is told to the log alone.
func TestStrangersAtWebhooks(t *testing.T) {
	c, log := serveHooks(t, pushed,
		"name: absent\ntriggers: [ { webhook: { path: /absent, verify: { bearer: absent } } }, { webhook: { path: /unknown, verify: { bearer: nobody_named_it } } } ]\nsteps: { a: { value: 1 } }\n")
	const body = `{"ref": "main"}`
	refusals := map[string]bool{}
	for _, header := range [][]string{
		nil, {"X-Hub-Signature-256", ""}, {"X-Hub-Signature-256", "sha256="}, {"X-Hub-Signature-256", signature(body + " ")}, {"X-Hub-Signature-256", strings.Repeat("x", 4000)},
		{"Authorization", "Bearer " + hookSecret}, {"X-Signature", signature(body)},
	} {
		status, text := post(t, c, "/hooks/git/push", body, append(header, "Content-Type", jsonType)...)
		require.Equal(t, http.StatusUnauthorized, status, "%v: %s", header, text)
		refusals[text] = true
	}
	require.Len(t, refusals, 1, "all of them hear the same")
	for _, path := range []string{"/hooks/absent", "/hooks/unknown"} {
		status, text := post(t, c, path, body, "Authorization", "Bearer x")
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.NotContains(t, text, "secret", "nothing of what is missing")
	}
	require.Contains(t, log.String(), "secret=absent")
	require.Contains(t, log.String(), "secret=nobody_named_it")
	for _, path := range []string{"/hooks/git", "/hooks/git/push/x", "/hooks/", "/hooks/%00", "/hooks/" + strings.Repeat("x", 3000)} {
		status, text := post(t, c, path, body, "X-Hub-Signature-256", signature(body))
		require.Equal(t, http.StatusNotFound, status, "%s: %s", path, text)
	}
	status, _, _ := ask(t, c, http.MethodGet, "/hooks/git/push", "", "")
	require.Equal(t, http.StatusMethodNotAllowed, status)
	page, err := c.List(t.Context(), url.Values{})
	require.NoError(t, err)
	require.Empty(t, page.Items)
	require.NotContains(t, log.String(), hookSecret)
}

// TestBodiesOfWebhooks: what a body says becomes the input, whatever its form; too large a one, or one that is not what it says, is refused.
func TestBodiesOfWebhooks(t *testing.T) {
	c, _ := serveHooks(t, "name: any\ntriggers: [ { webhook: { path: /any, verify: { bearer: hook } } } ]\nsteps: { a: { function: std.echo, with: '${ input }' } }\noutput: '${ steps.a.output }'\n")
	send := func(kind, body string) (int, string) {
		return post(t, c, "/hooks/any?from=there", body, "Content-Type", kind, "Authorization", "Bearer "+hookSecret)
	}
	for _, b := range []struct{ kind, body, want string }{
		{jsonType, `[1, {"b": 2}]`, `[1,{"b":2}]`},
		{jsonType, ``, `null`},
		{"application/x-www-form-urlencoded", `a=1&b=x%20y`, `{"a":"1","b":"x y"}`},
		{"text/plain; charset=utf-8", `hello`, `"hello"`},
		{"application/octet-stream", "\xff\xfe", `"//4="`},
	} {
		status, text := send(b.kind, b.body)
		require.Equal(t, http.StatusAccepted, status, text)
		var out client.Hooked
		require.NoError(t, json.Unmarshal([]byte(text), &out))
		e, err := c.Wait(t.Context(), out.Execution)
		require.NoError(t, err)
		require.JSONEq(t, b.want, string(e.Output), "%s %s", b.kind, b.body)
	}
	for body, want := range map[string]int{
		`{`:                                      http.StatusBadRequest,
		`"` + strings.Repeat("x", 900<<10) + `"`: http.StatusAccepted,
		`"` + strings.Repeat("x", 1<<20) + `"`:   http.StatusRequestEntityTooLarge,
	} {
		status, text := send(jsonType, body)
		require.Equal(t, want, status, text)
	}
}

// TestTheSameBodyTwice is one delivery if its sender does not say otherwise.
func TestTheSameBodyTwice(t *testing.T) {
	c, _ := serveHooks(t, "name: any\ntriggers: [ { webhook: { path: /any, verify: { bearer: hook } } } ]\nsteps: { a: { value: 1 } }\n")
	send := func(body string, header ...string) (out client.Hooked) {
		status, text := post(t, c, "/hooks/any", body, append(header, "Authorization", "Bearer "+hookSecret)...)
		require.Equal(t, http.StatusAccepted, status, text)
		require.NoError(t, json.Unmarshal([]byte(text), &out))
		return out
	}
	first := send(`{"alarm":1}`)
	require.Equal(t, first.Execution, send(`{"alarm":1}`).Execution)
	require.NotEqual(t, first.Execution, send(`{"alarm":2}`).Execution)
	one, two := send(`{"alarm":1}`, "Idempotency-Key", "1"), send(`{"alarm":1}`, "Idempotency-Key", "2")
	require.NotEqual(t, one.Execution, two.Execution)
}

// TestAWebhookThatCannotStart: a request that the workflow refuses is told so, and kept; sent again by an operator, it starts what was mended.
func TestAWebhookThatCannotStart(t *testing.T) {
	const document = "name: strict\ninput: { schema: { type: object, required: [ n ] } }\ntriggers: [ { webhook: { path: /strict, verify: { bearer: hook } } } ]\nsteps: { a: { value: '${ input }' } }\n"
	c, _ := serveHooks(t, document)
	status, text := post(t, c, "/hooks/strict", `{"m": 1}`, "Content-Type", jsonType, "Authorization", "Bearer "+hookSecret, "Idempotency-Key", "k1")
	require.Equal(t, http.StatusUnprocessableEntity, status, text)
	require.Contains(t, text, "input.invalid")
	require.Contains(t, text, "it is kept among the dead letters")
	letters, err := c.DeadLetters(t.Context(), url.Values{})
	require.NoError(t, err)
	require.Len(t, letters.Items, 1)
	require.Equal(t, "input.invalid", letters.Items[0].Code)
	_, err = c.Deploy(t.Context(), "test.yaml", []byte("dsl: wovyr/v1\n"+strings.Replace(document, "[ n ]", "[ m ]", 1)))
	require.NoError(t, err)
	require.NoError(t, c.RedriveLetter(t.Context(), letters.Items[0].ID, client.LetterMove{By: "ann"}))
	page, err := c.List(t.Context(), url.Values{"workflow": {"strict"}})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	status, text = post(t, c, "/hooks/strict", `{"m": 1}`, "Content-Type", jsonType, "Authorization", "Bearer "+hookSecret, "Idempotency-Key", "k1")
	require.Equal(t, http.StatusAccepted, status)
	require.Contains(t, text, page.Items[0].ID, "the sender's own repeat finds it")
	status, text = post(t, c, "/hooks/strict", `{"x": "`+strings.Repeat("x", 400<<10)+`"}`, "Content-Type", jsonType, "Authorization", "Bearer "+hookSecret, "Idempotency-Key", "k2")
	require.Equal(t, http.StatusUnprocessableEntity, status, text)
	require.Contains(t, text, "too large to be kept: send it again")
	letters, err = c.DeadLetters(t.Context(), url.Values{})
	require.NoError(t, err)
	require.Len(t, letters.Items, 1)
	_, err = c.Deploy(t.Context(), "test.yaml", []byte("dsl: wovyr/v1\nname: strict\nsteps: { a: { value: 1 } }\n"))
	require.NoError(t, err)
	status, _, text = ask(t, c, http.MethodPost, "/v1/deadletters/"+letters.Items[0].ID+"/redrive", jsonType, `{}`)
	require.Equal(t, http.StatusConflict, status, text)
}

// TestAKeptRequestIsTheSameDelivery: whoever gets hold of a request that signs its time cannot make others of it by what he puts beside what is signed.
func TestAKeptRequestIsTheSameDelivery(t *testing.T) {
	c, _ := serveHooks(t, "name: paid\ntriggers: [ { webhook: { path: /stripe, verify: { hmac_sha256: hook, header: Stripe-Signature }, input: { kind: '${ event.type }', id: '${ event.id }' } } } ]\nsteps: { a: { value: '${ input }' } }\noutput: '${ steps.a.output }'\n")
	const body = `{"id":"evt_1"}`
	at := fmt.Sprint(time.Now().Unix())
	m := hmac.New(sha256.New, []byte(hookSecret))
	m.Write([]byte(at + "." + body))
	signed := "t=" + at + ",v1=" + hex.EncodeToString(m.Sum(nil))
	started := map[string]bool{}
	for _, beside := range [][]string{
		nil, {"Idempotency-Key", "a"}, {"Webhook-Id", "b"}, {"Ce-Type", "other"}, {"X-Slack-Signature", "v0=00"}, {"Svix-Signature", "v1,x", "Svix-Id", "c"},
	} {
		status, text := post(t, c, "/hooks/stripe", body, append(beside, "Content-Type", jsonType, "Stripe-Signature", signed)...)
		require.Equal(t, http.StatusAccepted, status, "%v: %s", beside, text)
		var out client.Hooked
		require.NoError(t, json.Unmarshal([]byte(text), &out))
		started[out.Execution] = true
	}
	require.Len(t, started, 1)
	for id := range started { // order-free: one
		e, err := c.Wait(t.Context(), id)
		require.NoError(t, err)
		require.JSONEq(t, `{"kind":"/hooks/stripe","id":"evt_1"}`, string(e.Output))
	}
}
