package cli

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	stdlog "log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/node"
	"github.com/wovyr/wovyr/pkg/project"
	"github.com/wovyr/wovyr/pkg/secret"
)

// seeds are secrets of each kind of place.
var seeds = map[string]string{
	"nasty": `k3y/+"<&>é ?%\line=Z`,
	"plain": "sk_live_4f9a8c7e2b1d",
	"pem":   "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEAAoIBAQC7\n-----END PRIVATE KEY-----",
	"db":    "pg-password-77",
	"pin":   "73519842",
}

const leakProject = `
egress: { allow: [ 127.0.0.1 ] }
secrets:
  nasty: { env: WOVYR_TEST_NASTY }
  pem: { file: key.pem }
  db: { file: db.json, key: password }
  pin: { env: WOVYR_TEST_PIN }
`

// leakWorkflow hands secrets to activities in every place that the language has for them; AT is a server that writes back what it gets.
const leakWorkflow = `
dsl: wovyr/v1
name: leaks
vars: { seen: null }
limits: { timeout: 1h }
defaults: { retry: { attempts: 2, strategy: fixed, delay: 1ms } }
on_exit: [ last ]
steps:
  go: { function: leak, with: { text: '${ secrets.nasty }', also: [ 'Bearer ${ secrets.plain }', '${ secrets.pem }', '${ {"k": secrets.db} }' ] } }
  number: { function: number, with: { text: '${ secrets.pin }' } }
  failing: { function: leak.fail, with: { text: '${ secrets.nasty }' }, on_error: [ { continue: '${ {"code": error.code, "message": error.message, "details": error.details} }' } ] }
  panics: { function: leak.panic, with: { text: '${ secrets.nasty }' }, on_error: [ { continue: '${ error.message }' } ] }
  large: { function: leak.large, with: { text: '${ secrets.nasty }' } }
  again: { function: leak, with: { text: '${ steps.large.output }', also: [] } }
  program: { function: { command: [ sh, -c, 'cat; cat /dev/null' ] }, with: { a: '${ secrets.plain }', b: '${ secrets.nasty }' } }
  argument: { function: { command: [ sh, -c, 'echo "$0" >&2; exit 3', '${ secrets.plain }' ] }, on_error: [ { continue: '${ error.details }' } ] }
  nameless: { function: { command: [ '${ secrets.plain }' ] }, on_error: [ { continue: '${ error.message }' } ] }
  named: { function: { name: '${ secrets.plain }' }, on_error: [ { continue: '${ error.message }' } ] }
  basic: { function: leak, with: { text: '${ "Basic " + base64.encode("ann:" + secrets.plain) }', also: [] } }
  url: { function: { url: 'AT/echo' }, with: { a: '${ secrets.nasty }' } }
  rest: { http: { method: POST, url: 'AT/echo', headers: { Authorization: 'Bearer ${ secrets.plain }' }, body: { a: '${ secrets.nasty }' } } }
  refused: { http: { url: 'AT/refuse', query: { key: '${ secrets.nasty }' }, headers: { Authorization: 'Bearer ${ secrets.plain }' } }, on_error: [ { continue: '${ {"m": error.message, "d": error.details} }' } ] }
  closed: { http: { url: 'http://127.0.0.1:1/', query: { key: '${ secrets.nasty }' } }, on_error: [ { continue: '${ error.message }' } ] }
  broken: { function: leak, with: { text: '${ int(secrets.plain) }', also: [] }, on_error: [ { continue: '${ error.message }' } ] }
  each: { foreach: { items: '${ [ 1, 2 ] }', as: item, steps: { one: { function: leak, with: { text: '${ string(item) + secrets.nasty }', also: [] } } } } }
  later: { function: { url: 'AT/later' }, callback: true, with: { url: '${ callback.url }', a: '${ secrets.nasty }' } }
  all: { value: '${ {"go": steps.go.output, "failing": steps.failing.output, "rest": steps.rest.output.body, "later": steps.later.output} }' }
  keep: { needs: [ all ], set: { seen: '${ steps.all.output }' } }
  tell: { needs: [ keep ], emit: { type: Seen, key: '"all"', data: '${ vars.seen }' } }
  done: { needs: [ tell ], function: std.echo, with: {}, compensate: { function: leak, with: { text: '${ secrets.nasty }', also: [] } } }
  ends: { needs: [ done ], when: input.?fail.orValue(false), function: leak.fail, with: { text: '${ secrets.plain }' } }
  last: { function: leak, with: { text: '${ secrets.db }', also: [] } }
on_failure: compensate
output: '${ vars.seen }'
`

// written is whatever some part of the program writes.
type written struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *written) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.text.String()
	w.text.Reset()
	return text
}

type leak struct {
	Text string `json:"text"`
	Also []any  `json:"also"`
}

// shouts writes a text as peers do.
func shouts(text string) string {
	quoted, _ := json.Marshal(text)
	return strings.Join([]string{text, string(quoted), url.QueryEscape(text), url.PathEscape(text), hex.EncodeToString([]byte(text)),
		base64.StdEncoding.EncodeToString([]byte("ann:" + text)), base64.RawURLEncoding.EncodeToString(quoted), fmt.Sprintf("%q", text)}, " | ")
}

func leakFunctions() []activity.Function {
	return []activity.Function{
		activity.Func("leak", func(ctx context.Context, in leak) (map[string]any, error) {
			activity.Heartbeat(ctx, in.Text)
			activity.Logger(ctx).Error("got "+in.Text, "in", in, "shouts", shouts(in.Text))
			return map[string]any{"echo": in, "shouts": shouts(in.Text), in.Text[:min(len(in.Text), 60)]: "as a name"}, nil
		}),
		activity.Func("number", func(_ context.Context, in leak) (json.RawMessage, error) {
			return json.RawMessage("[" + in.Text + "]"), nil
		}),
		activity.Func("leak.fail", func(_ context.Context, in leak) (struct{}, error) {
			e := activity.NewError("card.declined", "%s", shouts(in.Text))
			e.Details, _ = json.Marshal(in)
			return struct{}{}, fmt.Errorf("with %s: %w", in.Text, e)
		}),
		activity.Func("leak.panic", func(_ context.Context, in leak) (struct{}, error) { panic(errors.New(in.Text)) }),
		activity.Func("leak.large", func(_ context.Context, in leak) (io.ReadCloser, error) {
			text, err := json.Marshal(strings.Repeat("x", 40_000) + shouts(in.Text) + strings.Repeat("y", 40_000))
			return io.NopCloser(bytes.NewReader(text)), err
		}),
	}
}

// parrot writes back what it gets; what is sent to /later it answers by a callback.
func parrot(t *testing.T) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		said := map[string]any{"headers": r.Header, "query": r.URL.RawQuery, "body": string(body), "shouts": shouts(string(body))}
		switch r.URL.Path {
		case "/later":
			var in struct{ URL, A string }
			_ = json.Unmarshal(body, &in)
			answer, _ := json.Marshal(map[string]any{"output": map[string]string{"a": in.A, "shouts": shouts(in.A)}})
			go func() {
				res, err := http.Post(in.URL, "application/json", bytes.NewReader(answer))
				if err == nil {
					_ = res.Body.Close()
				}
			}()
		case "/refuse":
			w.WriteHeader(http.StatusForbidden)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(said)
	}))
	t.Cleanup(server.Close)
	return server
}

// TestNoSecretAnywhere seeds secrets in every kind of place, lets activities and their peers write them wherever they can, and looks for
// them in all that the runs leave: both outputs of the program, what commands show in each format, answers of the API, logs,
// and every file of the store.
func TestNoSecretAnywhere(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(name, text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	write("wovyr.yaml", leakProject)
	write("leaks.yaml", strings.ReplaceAll(leakWorkflow, "AT", parrot(t).URL))
	write("key.pem", seeds["pem"]+"\n")
	write("db.json", `{"user": "ann", "password": "`+seeds["db"]+`"}`)
	t.Setenv("WOVYR_TEST_NASTY", seeds["nasty"])
	t.Setenv("WOVYR_TEST_PIN", seeds["pin"])
	var values []secret.Value
	for name, text := range seeds { // order-free: a set
		values = append(values, secret.Value{Name: name, Text: text})
	}
	mask := secret.NewMask(values...)
	clean := func(where, text string) {
		t.Helper()
		if hidden := mask.String(text); hidden != text {
			at := 0
			for at < len(hidden) && text[at] == hidden[at] {
				at++
			}
			t.Errorf("%s holds a secret: …%q", where, text[max(0, at-200):min(len(text), at+60)])
		}
	}

	var out, problems written
	command := func(code int, args ...string) string {
		t.Helper()
		got := Run(Environment{In: strings.NewReader(seeds["plain"] + "\n"), Out: &out, Err: &problems, Functions: leakFunctions()}, args)
		shown, said := out.take(), problems.take()
		require.Equal(t, code, got, "%v\n%s\n%s", args, shown, said)
		clean(fmt.Sprint("standard output of ", args), shown)
		clean(fmt.Sprint("standard error of ", args), said)
		return shown + said
	}
	command(exitOK, "secrets", "set", "plain")
	command(exitOK, "secrets", "list")
	require.Contains(t, command(exitOK, "run", "leaks.yaml", "--data", "store"), "[secret:nasty]")
	require.Contains(t, command(exitFailed, "run", "leaks.yaml", "--data", "store", "--input", `{"fail": true}`), "[secret:plain]")

	project, err := project.Load(".")
	require.NoError(t, err)
	var log written
	level := &slog.HandlerOptions{Level: slog.LevelDebug}
	defer func(l *slog.Logger, w io.Writer, flags int) {
		slog.SetDefault(l)
		stdlog.SetOutput(w)
		stdlog.SetFlags(flags)
	}(slog.Default(), stdlog.Writer(), stdlog.Flags())
	n, err := node.Open(node.Options{Project: project, Data: "store", Functions: leakFunctions(), Log: slog.New(slog.NewJSONHandler(&log, level)), Standard: true})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- n.Run(ctx, 0) }()
	get := func(path string) string {
		t.Helper()
		res, err := http.Get(n.URL + path)
		require.NoError(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		clean("the answer to "+path, string(text))
		return string(text)
	}
	res, err := http.Post(n.URL+"/v1/executions", "application/json", strings.NewReader(`{"workflow": "leaks"}`))
	require.NoError(t, err)
	var started struct {
		Execution string `json:"execution_id"`
	}
	require.NoError(t, json.NewDecoder(res.Body).Decode(&started))
	require.NoError(t, res.Body.Close())
	require.Contains(t, get("/v1/executions/"+started.Execution+"?wait=true"), `"completed"`)

	var list struct {
		Items []struct {
			Execution string `json:"execution_id"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(get("/v1/executions")), &list))
	require.Len(t, list.Items, 3)
	for _, e := range list.Items {
		require.Contains(t, get("/v1/executions/"+e.Execution), "[secret:")
		require.Contains(t, get("/v1/executions/"+e.Execution+"/history"), "[secret:")
		get("/v1/executions/" + e.Execution + "/proof")
		for _, args := range [][]string{{"get"}, {"get", "-o", "json"}, {"get", "-o", "yaml"}, {"history"}, {"history", "-o", "json"}, {"history", "-o", "yaml"}, {"verify"}} {
			command(exitOK, append(args, e.Execution, "--server", n.URL)...)
		}
	}
	for _, path := range []string{"/v1/workflows", "/v1/tasks", "/v1/deadletters", "/v1/health"} {
		get(path)
	}
	stdlog.Printf("a library writes %s", seeds["plain"]) // as net/http does of answers that nobody asked for
	slog.Warn("a library writes", "what", seeds["plain"])
	stop()
	require.NoError(t, <-ended)
	logged := log.take()
	clean("the log", logged)
	require.Contains(t, logged, "a library writes [secret:plain]")
	require.Contains(t, logged, "[secret:nasty]")

	// Commands read the store themselves now.
	for _, e := range list.Items {
		for _, format := range []string{"table", "json", "yaml"} {
			command(exitOK, "history", "-o", format, e.Execution, "--data", "store")
		}
	}
	command(exitOK, "list", "-o", "json", "--data", "store")
	files, large := 0, 0
	require.NoError(t, filepath.WalkDir("store", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		clean(path, string(text))
		files++
		if strings.Contains(path, "payloads") && bytes.Contains(text, []byte("[secret:nasty]")) {
			large++
		}
		return err
	}))
	require.Positive(t, files)
	require.Positive(t, large, "the payload folder holds a large output with what was a secret")
}
