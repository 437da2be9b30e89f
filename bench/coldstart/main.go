package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// functions are those of the stack.
var functions = []string{"orchestrator", "activity", "timer", "publisher", "api"}

// goal is the direction for an init.
const goal = 100 * time.Millisecond

func main() {
	runs := flag.Int("runs", 20, "how often each function is started")
	trace := flag.String("trace", "", "show what the packages of this function take to initialize (GODEBUG=inittrace)")
	flag.Parse()
	if err := measure(*runs, *trace); err != nil {
		log.Fatal(err)
	}
}

func measure(runs int, trace string) error {
	dir, err := os.MkdirTemp("", "coldstart")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, f := range functions {
		if err := compile(dir, f); err != nil {
			return err
		}
	}
	if trace != "" {
		text, err := traced(filepath.Join(dir, trace))
		fmt.Print(text)
		return err
	}
	took, busy := map[string][]time.Duration{}, map[string][]time.Duration{}
	for range runs + 1 { // the first round warms the page cache and does not count
		for _, f := range functions { // one after the other, so that a busy moment hits all of them
			r, err := start(filepath.Join(dir, f), nil)
			if err != nil {
				return fmt.Errorf("%s: %w", f, err)
			}
			took[f], busy[f] = append(took[f], r.took), append(busy[f], r.processor)
		}
	}
	fmt.Printf("%-14s %10s %12s %12s %12s %12s\n", "function", "binary", "init median", "fastest", "slowest", "processor")
	for _, f := range functions {
		info, err := os.Stat(filepath.Join(dir, f))
		if err != nil {
			return err
		}
		list := took[f][1:]
		cpu := busy[f][1:]
		slices.Sort(list)
		slices.Sort(cpu)
		fmt.Printf("%-14s %7.1f MB %9.1f ms %9.1f ms %9.1f ms %9.1f ms\n", f, float64(info.Size())/1e6, ms(list[len(list)/2]), ms(list[0]), ms(list[len(list)-1]), ms(cpu[len(cpu)/2]))
	}
	fmt.Printf("\n%d runs each; the goal is %v. Load of this machine: %s", runs, goal, load())
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown\n"
	}
	return string(text)
}

// compile compiles a function as the stack does (infra/cdk/wovyr/code.go), for this machine.
func compile(dir, function string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w -buildid=", "-o", filepath.Join(dir, function), "./functions/"+function)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compile %s: %w\n%s", function, err, text)
	}
	return nil
}

// run is one start of a function.
type run struct {
	// took is the time from exec to the question for the first invocation; processor is how long processors worked for it, which another load of the
	// machine changes less.
	took, processor time.Duration
	// said is what it wrote to standard error.
	said string
}

// start starts a function until it asks for its first invocation.
func start(binary string, more []string) (run, error) {
	asked := make(chan time.Time, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return run{}, err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/runtime/invocation/next") {
			select {
			case asked <- time.Now():
			default:
			}
			<-r.Context().Done() // there is none
		}
	})}
	go func() { _ = server.Serve(l) }() // until it is closed
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = append(environment(l.Addr().String()), more...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Discard, &said
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return run{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case at := <-asked:
		cancel()
		<-ended
		return run{at.Sub(begun), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), said.String()}, nil
	case err := <-ended:
		return run{}, errors.Join(errors.New("it ended before it asked for an invocation"), err, errors.New(said.String()))
	}
}

// environment is what the stack and Lambda give to a function.
func environment(api string) []string {
	return []string{
		"AWS_LAMBDA_RUNTIME_API=" + api, "AWS_REGION=eu-north-1", "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=key", "AWS_SESSION_TOKEN=token",
		"AWS_LAMBDA_FUNCTION_NAME=coldstart", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=512", "PATH=/usr/bin:/bin", "TMPDIR=" + os.TempDir(),
		stack.EnvHistoryTable + "=h", stack.EnvCatalogueTable + "=c", stack.EnvIndexTable + "=i", stack.EnvPayloadBucket + "=p", stack.EnvArchiveBucket + "=a",
		stack.EnvInboxQueue + "=https://sqs/inbox", stack.EnvTimersQueue + "=https://sqs/timers", stack.EnvEventsQueue + "=https://sqs/events", stack.EnvTimersQueueARN + "=arn",
		stack.EnvSchedulerGroup + "=g", stack.EnvSchedulerRole + "=r", stack.EnvBus + "=b", stack.EnvTokenKey + "=k", stack.EnvClass + "=default",
		stack.EnvTasksQueue("default") + "=https://sqs/tasks",
	}
}

// traced are the packages of a function that take longest to initialize.
func traced(binary string) (string, error) {
	r, err := start(binary, []string{"GODEBUG=inittrace=1"})
	if err != nil {
		return "", err
	}
	type line struct {
		text  string
		clock float64
	}
	var lines []line
	for text := range strings.Lines(r.said) {
		var l line
		var name string
		var at float64
		if n, _ := fmt.Sscanf(text, "init %s @%f ms, %f ms clock", &name, &at, &l.clock); n == 3 {
			l.text = text
			lines = append(lines, l)
		}
	}
	slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(b.clock, a.clock) })
	var out strings.Builder
	for _, l := range lines[:min(len(lines), 25)] {
		out.WriteString(l.text)
	}
	return out.String(), nil
}
