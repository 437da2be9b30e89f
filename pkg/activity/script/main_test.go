package script_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/script"
)

// kind is the kind under test, with its modules: compiling takes a second, so most tests share it.
var (
	kind       activity.Kind
	dir, cache string
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		dir, err = os.MkdirTemp("", "script")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		build := exec.Command("go", "build", "-o", filepath.Join(dir, "command.wasm"), "./testdata/command")
		build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the module: %v\n%s", err, out)
			return 1
		}
		for name, text := range map[string][]byte{
			"prose.wasm": []byte("hello"), "empty.wasm": []byte("\x00asm\x01\x00\x00\x00"), "climbs.wasm": recursion(), "foreign.wasm": foreign(),
		} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				panic(err)
			}
		}
		cache = filepath.Join(dir, "cache")
		kind = script.New(script.Options{Dir: dir, Cache: cache})
		return m.Run()
	}())
}

// module assembles a module from the bytes of its sections.
func module(sections ...[]byte) []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range sections {
		out = append(append(out, s[0], byte(len(s)-1)), s[1:]...)
	}
	return out
}

// recursion is a module that calls itself for ever, without any loop: twice in each call, so that it is not deep but wide.
func recursion() []byte {
	return module(
		[]byte{1, 2, 0x60, 0, 0, 0x60, 1, 0x7f, 0},         // types: () and (i32)
		[]byte{3, 2, 0, 1},                                 // two functions
		[]byte{5, 1, 0, 1},                                 // a memory of one page
		append(append([]byte{7, 1, 6}, "_start"...), 0, 0), // the first is _start
		recursionCode(),
	)
}

func recursionCode() []byte {
	start := []byte{0, 0x41, 0xc0, 0, 0x10, 1, 0x0b}
	twice := []byte{0, 0x20, 0, 0x04, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x10, 1, 0x20, 0, 0x41, 1, 0x6b, 0x10, 1, 0x0b, 0x0b}
	out := append([]byte{10, 2, byte(len(start))}, start...)
	return append(append(out, byte(len(twice))), twice...)
}

// foreign is a module that imports what no script has.
func foreign() []byte {
	return module([]byte{1, 1, 0x60, 0, 0}, append(append(append([]byte{2, 1, 3}, "env"...), 4), "open\x00\x00"...), []byte{5, 1, 0, 1})
}

// run runs a script with an input.
func run(ctx context.Context, k activity.Kind, target map[string]any, with any, change ...func(*activity.Task)) (string, error) {
	t, err := json.Marshal(target)
	if err != nil {
		return "", err
	}
	w, err := json.Marshal(with)
	if err != nil {
		return "", err
	}
	task := &activity.Task{Target: activity.NewDocument(t), With: activity.NewDocument(w)}
	for _, f := range change {
		f(task)
	}
	res, err := activity.Run(ctx, k.Activity, task)
	return string(res.Output), err
}

func js(text string) map[string]any { return map[string]any{"js": text} }

var wasm = map[string]any{"wasm": "command.wasm"}

func memory(bytes int64) func(*activity.Task) { return func(t *activity.Task) { t.MaxMemory = bytes } }

// fails runs a script that must fail, and returns its error.
func fails(t *testing.T, target map[string]any, with any, change ...func(*activity.Task)) *activity.Error {
	t.Helper()
	out, err := run(t.Context(), kind, target, with, change...)
	require.Error(t, err, out)
	typed, _ := activity.AsError(t.Context(), err)
	return typed
}

// logged collects what a run logs.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) task(t *activity.Task) { t.Log = slog.New(slog.NewTextHandler(l, nil)) }

// Write implements io.Writer.
func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(b))
	return len(b), nil
}
