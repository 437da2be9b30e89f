package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write the expected outputs of testdata/script anew")

// TestMain lets the scripts run the command line as a program of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"wovyr": func() { os.Exit(Main()) },
	})
}

// TestScripts runs testdata/script/*.txtar, each in a folder of its own with the files that stand in it. Beside the usual
// commands there are
//
//	ends CODE program…           runs a program and expects an exit code
//	until PATTERN program…       starts a program and goes on when a line of its standard error matches
//	signal NAME                  sends interrupt or kill to the program that until started last
//	ended CODE                   waits for it and expects an exit code (-1: killed); its output is in until.out and until.err
//	take NAME PATTERN FILE       sets a variable to what the group in the pattern matches in a file (or stdout, stderr)
//	keys FILE NAME…              expects one JSON object with just these names in a file
//	busy NAME                    takes a free port of this machine and sets a variable to its address
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("USER", "ann")
			e.Setenv("WOVYR_SERVER", "")
			e.Setenv("TZ", "UTC")
			e.Values[environment{}] = e
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ends": ends, "until": until, "signal": sendSignal, "ended": ended, "take": take, "keys": keys, "busy": busy,
		},
	})
}

func ends(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: ends CODE program [argument...]")
	}
	requireCode(ts, args[0], ts.Exec(args[1], args[2:]...))
}

func requireCode(ts *testscript.TestScript, want string, err error) {
	code, convErr := strconv.Atoi(want)
	ts.Check(convErr)
	got := 0
	if err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != code {
		ts.Fatalf("exit code %d, not %d", got, code)
	}
}

// Keys of a script's values.
type (
	environment struct{}
	started     struct{}
)

// background is a program that until started.
type background struct {
	cmd      *exec.Cmd
	out, err bytes.Buffer
	drained  chan struct{} // closed when all of standard error was read
}

func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN program [argument...]")
	}
	pattern, err := regexp.Compile(args[0])
	ts.Check(err)
	b := &background{cmd: exec.Command(inPath(ts, args[1]), args[2:]...), drained: make(chan struct{})}
	b.cmd.Dir = ts.Getenv("WORK")
	b.cmd.Env = ts.Value(environment{}).(*testscript.Env).Vars
	b.cmd.Stdout = &b.out
	stderr, err := b.cmd.StderrPipe()
	ts.Check(err)
	ts.Check(b.cmd.Start())
	ts.Defer(func() { _ = b.cmd.Process.Kill() })
	ts.Value(environment{}).(*testscript.Env).Values[started{}] = b
	seen := make(chan bool, 1)
	go b.read(stderr, pattern, seen)
	if !<-seen {
		_ = b.cmd.Wait()
		ts.Fatalf("it ended before a line matched %s:\n%s%s", pattern, &b.out, &b.err)
	}
}

func (b *background) read(stderr io.Reader, pattern *regexp.Regexp, seen chan<- bool) {
	defer close(b.drained)
	found := false
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		b.err.WriteString(lines.Text() + "\n")
		if !found && pattern.Match(lines.Bytes()) {
			found = true
			seen <- true
		}
	}
	if !found {
		seen <- false
	}
}

func inPath(ts *testscript.TestScript, program string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if file := filepath.Join(dir, program); executable(file) {
			return file
		}
	}
	ts.Fatalf("%s is not in PATH", program)
	return ""
}

func executable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}

func last(ts *testscript.TestScript) *background {
	b, ok := ts.Value(started{}).(*background)
	if !ok {
		ts.Fatalf("until has started nothing")
	}
	return b
}

func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]os.Signal{"interrupt": os.Interrupt, "kill": os.Kill}
	if neg || len(args) != 1 || signals[args[0]] == nil {
		ts.Fatalf("usage: signal interrupt|kill")
	}
	ts.Check(last(ts).cmd.Process.Signal(signals[args[0]]))
}

func ended(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ended CODE")
	}
	b := last(ts)
	<-b.drained
	err := b.cmd.Wait()
	ts.Logf("[stdout]\n%s[stderr]\n%s", &b.out, &b.err)
	ts.Check(os.WriteFile(ts.MkAbs("until.out"), b.out.Bytes(), 0o666))
	ts.Check(os.WriteFile(ts.MkAbs("until.err"), b.err.Bytes(), 0o666))
	requireCode(ts, args[0], err)
}

func take(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: take NAME PATTERN FILE")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	found := pattern.FindStringSubmatch(ts.ReadFile(args[2]))
	if len(found) != 2 {
		ts.Fatalf("%s does not match %s with one group:\n%s", args[2], args[1], ts.ReadFile(args[2]))
	}
	ts.Setenv(args[0], found[1])
}

func keys(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: keys FILE NAME...")
	}
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	var object map[string]json.RawMessage
	ts.Check(dec.Decode(&object))
	if _, err := dec.Token(); err != io.EOF {
		ts.Fatalf("%s holds more than one JSON value", args[0])
	}
	want := slices.Sorted(slices.Values(args[1:]))
	if got := slices.Sorted(maps.Keys(object)); !slices.Equal(got, want) {
		ts.Fatalf("%s has the keys %v, not %v", args[0], got, want)
	}
}

func busy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: busy NAME")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	ts.Setenv(args[0], l.Addr().String())
}
