package activity_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/activitytest"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// TestMain is also the program that TestCommandContract runs.
func TestMain(m *testing.M) {
	if os.Getenv("WOVYR_TEST_PROGRAM") != "" {
		program(os.Args[1], os.Args[2:]...)
	}
	os.Exit(m.Run())
}

// kind is the kind function with what a test registers.
func kind(t *testing.T, fill func(fs *activity.Functions)) activity.Kind {
	r := activity.NewRegistry()
	fill(r.Functions)
	k, err := r.Find(workflow.KindFunction)
	require.NoError(t, err)
	return k
}

// echoes writes a text in the encodings in which secrets come back.
func echoes(text string) string {
	quoted, _ := json.Marshal(text)
	b64 := base64.StdEncoding
	return strings.Join([]string{text, string(quoted), url.QueryEscape(text), url.PathEscape(text), hex.EncodeToString([]byte(text)),
		b64.EncodeToString([]byte(text)), b64.EncodeToString([]byte("a:" + text)), base64.URLEncoding.EncodeToString([]byte("ab:" + text + "!")), fmt.Sprintf("%q", text)}, " ")
}

type note struct {
	Text string `json:"text"`
}

func TestGoFunctionContract(t *testing.T) {
	activitytest.Run(t, func(t *testing.T) activitytest.Subject {
		var key atomic.Value
		started := make(chan struct{})
		k := kind(t, func(fs *activity.Functions) {
			require.NoError(t, fs.Add(
				activity.Func("price", func(ctx context.Context, in order) (int, error) {
					key.Store(activity.Info(ctx).IdempotencyKey)
					return in.Items * 10, nil
				}),
				activity.Func("hang", func(ctx context.Context, _ struct{}) (struct{}, error) {
					if ctx.Err() == nil {
						started <- struct{}{}
					}
					<-ctx.Done()
					return struct{}{}, ctx.Err()
				}),
				activity.Func("fail", func(context.Context, struct{}) (struct{}, error) {
					return struct{}{}, activity.NewError("stock.short", "none left")
				}),
				activity.Func("plain", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, errors.New("plain") }),
				activity.Func("flood", func(context.Context, struct{}) (io.ReadCloser, error) { return io.NopCloser(endless{}), nil }),
				activity.Func("large", func(context.Context, struct{}) (string, error) {
					return strings.Repeat("x", activitytest.FloodLimit), nil
				}),
				activity.Func("leak", func(ctx context.Context, in note) (note, error) {
					activity.Heartbeat(ctx, "got "+in.Text)
					activity.Logger(ctx).With("with", in).Info("got "+in.Text, "note", in, "bytes", []byte(in.Text), "error", errors.New(in.Text))
					return note{echoes(in.Text)}, nil
				}),
				activity.Func("leak and fail", func(_ context.Context, in note) (struct{}, error) {
					e := activity.NewError("card.declined", "%s", echoes(in.Text))
					e.Details, _ = json.Marshal(note{in.Text})
					return struct{}{}, fmt.Errorf("charge %s: %w", in.Text, e)
				}),
				activity.Func("leak and panic", func(_ context.Context, in note) (struct{}, error) { panic(in.Text) }),
			))
		})
		return activitytest.Subject{
			Kind:     k,
			Succeeds: activitytest.Call{Target: "price", With: order{3}, Output: `30`},
			Hangs:    activitytest.Call{Target: "hang", Started: started},
			Fails: []activitytest.Call{
				{Name: "typed", Target: "fail", Code: "stock.short"},
				{Name: "untyped", Target: "plain", Code: activity.CodeError, Retryable: true},
				{Name: "misspelt", Target: "price", With: map[string]int{"item": 1}, Code: activity.CodeInput},
				{Name: "unknown", Target: map[string]string{"name": "prize"}, Code: activity.CodeUnknown},
			},
			Floods: activitytest.Call{Target: "flood"},
			Leaks: []activitytest.Call{
				{Name: "answers", Target: "leak", With: note{activitytest.Secret}},
				{Name: "fails", Target: "leak and fail", With: note{activitytest.Secret}},
				{Name: "panics", Target: "leak and panic", With: note{activitytest.Secret}},
				{Name: "is the name of the function", Target: activitytest.Secret},
			},
			Key: func() string { return key.Load().(string) },
		}
	})
}

// endless is a JSON text that does not end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// program is a function in a program of its own.
func program(name string, args ...string) {
	var in struct {
		Items int
		Text  string
	}
	_ = json.NewDecoder(os.Stdin).Decode(&in)
	switch name {
	case "price":
		must(os.WriteFile(args[0], []byte(os.Getenv("WOVYR_IDEMPOTENCY_KEY")), 0o600))
		fmt.Println(in.Items * 10)
	case "hang":
		c, err := net.Dial("tcp", args[0])
		must(err)
		_, _ = io.Copy(io.Discard, c) // nothing comes
	case "fail":
		fmt.Println(`{"error":{"code":"stock.short","message":"none left"}}`)
		os.Exit(1)
	case "flood":
		out := bufio.NewWriter(os.Stdout)
		for {
			if _, err := out.WriteString("          "); err != nil {
				select {} // a program that does not take the hint
			}
		}
	case "leak":
		fmt.Fprintln(os.Stderr, "got", echoes(in.Text))
		text, err := json.Marshal(note{echoes(in.Text)})
		must(err)
		fmt.Println(string(text))
	case "leak and fail":
		fmt.Fprintln(os.Stderr, echoes(args[0]))
		os.Exit(3)
	}
	os.Exit(0)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// gate is a listener whose callers are held until it closes.
func gate(t *testing.T) (address string, started chan struct{}, closing func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	started, ended, stop := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			select {
			case started <- struct{}{}:
			case <-stop:
			}
		}
	}()
	return l.Addr().String(), started, func() { close(stop); _ = l.Close(); <-ended }
}

func TestCommandContract(t *testing.T) {
	activitytest.Run(t, func(t *testing.T) activitytest.Subject {
		self, err := os.Executable()
		require.NoError(t, err)
		command := func(words ...string) any { return map[string]any{"command": append([]string{self}, words...)} }
		seen := filepath.Join(t.TempDir(), "key")
		address, started, closing := gate(t)
		return activitytest.Subject{
			Kind: kind(t, func(fs *activity.Functions) {
				fs.AddForm("command", &activity.Command{Env: append(os.Environ(), "WOVYR_TEST_PROGRAM=1")})
			}),
			Succeeds: activitytest.Call{Target: command("price", seen), With: order{3}, Output: `30`},
			Hangs:    activitytest.Call{Target: command("hang", address), Started: started},
			Fails: []activitytest.Call{
				{Name: "typed", Target: command("fail"), Code: "stock.short"},
				{Name: "exit code", Target: map[string]string{"command": "false"}, Code: activity.CodeCommandExit, Retryable: true},
				{Name: "no such program", Target: map[string]string{"command": "no-such-program-anywhere"}, Code: activity.CodeCommandStart},
				{Name: "prose", Target: map[string]string{"command": "echo done"}, Code: activity.CodeOutput},
			},
			Floods: activitytest.Call{Target: command("flood")},
			Leaks: []activitytest.Call{
				{Name: "answers and logs", Target: command("leak"), With: note{activitytest.Secret}},
				{Name: "fails", Target: command("leak and fail", activitytest.Secret)},
				{Name: "is the program", Target: map[string]any{"command": []string{activitytest.Secret}}},
			},
			Key: func() string {
				b, err := os.ReadFile(seen)
				require.NoError(t, err)
				return string(b)
			},
			Close: closing,
		}
	})
}

func TestRemoteContract(t *testing.T) {
	activitytest.Run(t, func(t *testing.T) activitytest.Subject {
		var key atomic.Value
		started := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			var in note
			_ = json.Unmarshal(body, &in)
			switch r.URL.Path {
			case "/price":
				key.Store(r.Header.Get("Idempotency-Key"))
				fmt.Fprint(w, 30)
			case "/hang":
				started <- struct{}{}
				<-r.Context().Done()
			case "/busy":
				w.WriteHeader(http.StatusServiceUnavailable)
			case "/typed":
				w.WriteHeader(http.StatusConflict)
				fmt.Fprint(w, `{"error":{"code":"stock.short","message":"none left"}}`)
			case "/flood":
				blank := bytes.Repeat([]byte(" "), 1<<10)
				for {
					if _, err := w.Write(blank); err != nil {
						return
					}
				}
			case "/leak":
				must(json.NewEncoder(w).Encode(note{echoes(in.Text)}))
			case "/leak-large":
				w.(http.Flusher).Flush() // of unknown length, so streamed
				must(json.NewEncoder(w).Encode([]string{strings.Repeat("x", 100_000), in.Text, echoes(in.Text)}))
			case "/leak-and-fail":
				w.WriteHeader(http.StatusForbidden)
				fmt.Fprint(w, "not with "+in.Text+" or "+r.URL.Query().Get("key"))
			default:
				w.WriteHeader(http.StatusNotFound)
			}
		}))
		client := &http.Client{Transport: &http.Transport{}}
		at := func(path string) any { return map[string]string{"url": server.URL + path} }
		query := "?key=" + url.QueryEscape(activitytest.Secret)
		return activitytest.Subject{
			Kind:     kind(t, func(fs *activity.Functions) { fs.AddForm("url", &activity.Remote{Client: client}) }),
			Succeeds: activitytest.Call{Target: at("/price"), With: order{3}, Output: `30`},
			Hangs:    activitytest.Call{Target: at("/hang"), Started: started},
			Fails: []activitytest.Call{
				{Name: "busy", Target: at("/busy"), Code: "http.503", Retryable: true},
				{Name: "not there", Target: at("/nowhere"), Code: "http.404"},
				{Name: "typed", Target: at("/typed"), Code: "stock.short"},
				{Name: "no host", Target: map[string]string{"url": "http://127.0.0.1:1/"}, Code: "http.connect", Retryable: true},
			},
			Floods: activitytest.Call{Target: at("/flood")},
			Leaks: []activitytest.Call{
				{Name: "answers", Target: at("/leak"), With: note{activitytest.Secret}},
				{Name: "streams", Target: at("/leak-large"), With: note{activitytest.Secret}},
				{Name: "fails", Target: at("/leak-and-fail" + query), With: note{activitytest.Secret}},
				{Name: "stands in an address that nobody answers at", Target: map[string]string{"url": "http://127.0.0.1:1/" + query}},
				{Name: "stands in an address that is none", Target: map[string]string{"url": "::" + activitytest.Secret}},
			},
			Key:   func() string { return key.Load().(string) },
			Close: func() { client.CloseIdleConnections(); server.Close() },
		}
	})
}
