package script

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/sys"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Bounds of modules.
const (
	maxModule   = 32 << 20 // bytes of one
	maxPrograms = 64       // that are kept compiled
)

// modules are those of a folder, compiled when they are first used.
type modules struct {
	dir  string
	kept *lru.Cache[moduleFile, func() (*program, error)]
	mu   sync.Mutex
}

// moduleFile is a file as it was when it was compiled.
type moduleFile struct {
	name     string
	size     int64
	modified time.Time
}

func newModules(dir string) *modules {
	kept, err := lru.New[moduleFile, func() (*program, error)](maxPrograms)
	if err != nil {
		panic("script: " + err.Error()) // the size is positive
	}
	return &modules{dir: dir, kept: kept}
}

// find returns the program of a file in the folder. No name leads out of it.
func (ms *modules) find(s *sandbox, name string) (*program, error) {
	file, err := ms.open(name)
	if err != nil {
		return nil, activity.NewError(CodeSyntax, "the module %s cannot be read: %v; it is taken from the folder of the project", name, reason(err))
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, workflow.Errorf(CodeSyntax, workflow.CategoryInfrastructure, "the module %s cannot be read: %v", name, reason(err))
	case info.Size() > maxModule:
		return nil, activity.NewError(CodeSyntax, "the module %s has %d bytes, more than the %s that one may have", name, info.Size(), size(maxModule))
	}
	key := moduleFile{name, info.Size(), info.ModTime()}
	ms.mu.Lock()
	load, there := ms.kept.Get(key)
	if !there {
		load = sync.OnceValues(func() (*program, error) { return compileFile(s, file) })
		ms.kept.Add(key, load)
	}
	ms.mu.Unlock()
	p, err := load()
	if err != nil {
		ms.kept.Remove(key)
		return nil, activity.NewError(CodeSyntax, "the module %s cannot be run: %v", name, err)
	}
	return p, nil
}

func (ms *modules) open(name string) (fs.File, error) {
	if ms.dir == "" {
		return nil, errors.New("this worker has no folder of modules")
	}
	root, err := os.OpenRoot(ms.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Open(filepath.FromSlash(name))
}

// reason leaves the path out, which the reader knows, or is not to know.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func compileFile(s *sandbox, file fs.File) (*program, error) {
	text, err := io.ReadAll(io.LimitReader(file, maxModule))
	if err != nil {
		return nil, reason(err)
	}
	return s.compile(text, func(name string) bool { return strings.HasPrefix(name, "wasi_snapshot_preview1.") }, "_start")
}

// run runs a module as a command: its input on standard input, its answer on standard output.
func (p *program) run(ctx context.Context, s *sandbox, t *activity.Task) (activity.Result, error) {
	run, c, leave, err := s.enter(ctx, t)
	if err != nil {
		return activity.Result{}, err
	}
	defer leave()
	if err := c.fits(p); err != nil {
		return activity.Result{}, err
	}
	run, stop := context.WithCancelCause(run)
	defer stop(nil)
	out := &bounded{limit: answerLimit(t), stop: stop}
	err = p.command(run, s, t, out, c.lines)
	c.lines.end()
	if end := s.ended(ctx, run); err != nil && end != nil {
		return activity.Result{}, end
	}
	if out.over {
		return activity.Result{}, activity.TooLarge(out.limit)
	}
	if err != nil {
		return activity.Result{}, c.exited(err, out.text)
	}
	if answer := strings.TrimSpace(string(out.text)); answer == "" || json.Valid([]byte(answer)) {
		return activity.Result{Output: json.RawMessage(answer)}, nil
	}
	return activity.Result{}, activity.NewError(CodeOutput, "its standard output is not one JSON value; write logs to standard error (it begins: %.80q)", t.Masked(string(out.text)))
}

// command runs the module to its end.
func (p *program) command(ctx context.Context, s *sandbox, t *activity.Task, out, log io.Writer) error {
	input, w := io.Pipe()
	fed := make(chan struct{})
	go func() { defer close(fed); w.CloseWithError(t.With.WriteText(ctx, w)) }()
	defer func() { _ = input.Close(); <-fed }() // it need not read its input
	m, err := s.instantiate(ctx, p, wazero.NewModuleConfig().WithStdin(input).WithStdout(out).WithStderr(log))
	if m != nil {
		err = errors.Join(err, m.Close(ctx))
	}
	var exit *sys.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 0 {
		return nil
	}
	return err
}

// bounded keeps an answer up to a limit, and stops the run beyond it.
type bounded struct {
	text  []byte
	limit int64
	over  bool
	stop  context.CancelCauseFunc
}

var errFlood = errors.New("script: its answer is too large")

// Write implements io.Writer.
func (b *bounded) Write(text []byte) (int, error) {
	if int64(len(b.text)+len(text)) > b.limit {
		b.over = true
		b.stop(errFlood)
		return 0, errFlood
	}
	b.text = append(b.text, text...)
	return len(text), nil
}

// exited makes the error of a module that did not end well.
func (c *cell) exited(err error, answer []byte) error {
	var exit *sys.ExitError
	if !errors.As(err, &exit) {
		return c.crashed(err)
	}
	var own struct {
		Error *activity.Error `json:"error"`
	}
	if json.Unmarshal(answer, &own) == nil && own.Error != nil && errorCode.MatchString(own.Error.Code) {
		if !own.Error.Category.Valid() {
			own.Error.Category = workflow.CategoryActivity
		}
		if own.Error.Message == "" {
			own.Error.Message = "the script says no more than this code"
		}
		return own.Error
	}
	tail := c.lines.last()
	if c.memory.refused {
		return outOfMemory(int64(c.memory.limit), "")
	}
	e := activity.NewError(CodeError, "it ended with exit code %d", exit.ExitCode())
	if tail != "" {
		e.Message += ": " + tail[strings.LastIndexByte(tail, '\n')+1:]
	}
	e.Details = detailsOf(map[string]any{"exit_code": exit.ExitCode(), "stderr": tail})
	return e
}
