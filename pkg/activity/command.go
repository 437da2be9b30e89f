package activity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Codes of the errors of programs.
const (
	CodeCommandStart = "command.start" // the program could not be started
	CodeCommandExit  = "command.exit"  // the program ended with another exit code than 0
)

// Command runs a program: `function: { command: [program, argument…] }`, in any language.
//
// The program gets the step's `with` as JSON on standard input and answers with one JSON value on standard output (nothing
// means null) and exit code 0. What it writes to standard error goes to the execution's log, and the end of it into the
// error. To fail with a code of its own it ends with another exit code and writes
// {"error": {"code", "category", "message", "retryable", "details"}} to standard output. Its environment
// names the attempt: WOVYR_EXECUTION, WOVYR_WORKFLOW, WOVYR_STEP, WOVYR_ATTEMPT, WOVYR_IDEMPOTENCY_KEY and, where there is one,
// WOVYR_DEADLINE (RFC 3339).
//
// Who may deploy a workflow with a command may run programs as the worker's user: a worker that serves tenants must leave this
// form out.
type Command struct {
	// Dir is the working directory; empty is the worker's.
	Dir string
	// Env are the variables that a program sees beside WOVYR_…, as "NAME=value"; nil is the worker's own environment.
	Env []string
	// Spool is the directory for outputs that are too large for memory; empty is the system's.
	Spool string
	// Grace is the time between the polite signal and the kill when the attempt ends early; zero is 5 s.
	Grace time.Duration
}

// Limits of what is kept of a program's answer.
const (
	maxCommandMemory = 1 << 20 // bytes of standard output kept in memory, more is spooled to a file
	maxCommandStderr = 4 << 10 // bytes of the end of standard error that go into an error
)

// Run implements Activity.
func (c *Command) Run(ctx context.Context, t *Task) (Result, error) {
	words, err := commandWords(t.Target.JSON)
	if err != nil {
		return Result{}, err
	}
	wanted, enough := context.WithCancel(ctx)
	defer enough()
	cmd := exec.CommandContext(wanted, words[0], words[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = append(append([]string{}, c.environment()...), taskEnvironment(t)...)
	grace := c.Grace
	if grace == 0 {
		grace = 5 * time.Second
	}
	group := newGroup(cmd)
	defer group.kill() // what the program left running goes with it
	cmd.Cancel = func() error { return group.end(grace) }
	cmd.WaitDelay = grace + time.Second
	out := &spool{dir: c.Spool, keep: maxCommandMemory, limit: t.OutputLimit(), full: enough}
	tail := newTail(t, maxCommandStderr)
	cmd.Stdout, cmd.Stderr = out, tail
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return Result{}, err
	}
	if err := cmd.Start(); err != nil {
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		return Result{}, workflow.Errorf(CodeCommandStart, workflow.CategoryInfrastructure, "cannot start %s: %v", words[0], err)
	}
	go func() {
		// A program need not read its input: a broken pipe is not its failure.
		_ = t.With.WriteText(ctx, stdin)
		_ = stdin.Close()
	}()
	// A program that has ended and left something behind that holds its output is done all the same.
	err = cmd.Wait()
	tail.end()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		defer out.Close()
		switch {
		case ctx.Err() != nil:
			return Result{}, ctx.Err()
		case out.n > out.limit:
			return Result{}, TooLarge(out.limit)
		}
		return Result{}, commandError(words[0], err, out, tail)
	}
	return out.result(t)
}

func (c *Command) environment() []string {
	if c.Env == nil {
		return os.Environ()
	}
	return c.Env
}

func taskEnvironment(t *Task) []string {
	env := []string{
		"WOVYR_EXECUTION=" + t.Execution, "WOVYR_WORKFLOW=" + t.Workflow, "WOVYR_STEP=" + t.Step,
		"WOVYR_ATTEMPT=" + strconv.Itoa(t.Attempt), "WOVYR_IDEMPOTENCY_KEY=" + t.IdempotencyKey,
	}
	if !t.Deadline.IsZero() {
		env = append(env, "WOVYR_DEADLINE="+t.Deadline.UTC().Format(time.RFC3339Nano))
	}
	return env
}

func commandWords(target json.RawMessage) ([]string, error) {
	var form struct {
		Command json.RawMessage `json:"command"`
	}
	if err := json.Unmarshal(target, &form); err == nil {
		var words []string
		var line string
		if json.Unmarshal(form.Command, &words) == nil && len(words) > 0 && words[0] != "" {
			return words, nil
		}
		if json.Unmarshal(form.Command, &line) == nil {
			// No shell: a value from a workflow's data must never become a second command.
			if words := strings.Fields(line); len(words) > 0 {
				return words, nil
			}
		}
	}
	return nil, NewError(CodeInput, "the command is empty: write command: [ program, argument ]")
}

func commandError(program string, err error, out *spool, tail *tailWriter) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return workflow.Errorf(CodeCommandStart, workflow.CategoryInfrastructure, "run %s: %v", program, err)
	}
	var answer struct {
		Error *Error `json:"error"`
	}
	if text, whole := out.memory(); whole && json.Unmarshal(text, &answer) == nil && answer.Error != nil && answer.Error.Code != "" {
		if !answer.Error.Category.Valid() {
			answer.Error.Category = workflow.CategoryActivity
		}
		return answer.Error
	}
	details, _ := json.Marshal(map[string]any{"exit_code": exit.ExitCode(), "stderr": tail.String()})
	e := NewError(CodeCommandExit, "%s: %v%s", program, exit, lastLine(tail.String()))
	e.Retryable, e.Details = true, details
	return e
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	return ": " + text[strings.LastIndexByte(text, '\n')+1:]
}

// spool keeps the first bytes in memory and moves to a file when they get too many. Beyond its limit it calls full and takes no more.
type spool struct {
	dir   string
	keep  int
	limit int64
	full  func()
	mem   bytes.Buffer
	file  *os.File
	n     int64
}

func (s *spool) Write(b []byte) (int, error) {
	if s.n += int64(len(b)); s.n > s.limit {
		s.full()
		return 0, TooLarge(s.limit)
	}
	if s.file == nil && s.mem.Len()+len(b) <= s.keep {
		return s.mem.Write(b)
	}
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, "wovyr-output-*")
		if err != nil {
			return 0, err
		}
		// The name goes at once: the file lives as long as it is open, and no crash leaves it behind.
		_ = os.Remove(f.Name())
		s.file = f
		if _, err := s.mem.WriteTo(f); err != nil {
			return 0, err
		}
	}
	return s.file.Write(b)
}

func (s *spool) memory() (text []byte, whole bool) { return s.mem.Bytes(), s.file == nil }

func (s *spool) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

func (s *spool) result(t *Task) (Result, error) {
	if s.file != nil {
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return Result{}, errors.Join(err, s.Close())
		}
		return Result{Stream: s.file}, nil
	}
	text := bytes.TrimSpace(s.mem.Bytes())
	if len(text) == 0 {
		return Result{}, nil
	}
	if !json.Valid(text) {
		return Result{}, NewError(CodeOutput, "the program's standard output is not one JSON value; write logs to standard error (it begins: %.80q)", t.Masked(string(text)))
	}
	return Result{Output: text}, nil
}
