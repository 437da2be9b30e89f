package script

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"golang.org/x/sync/semaphore"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/script/meter"
)

// sandbox runs modules, each in an instance and a memory of its own.
type sandbox struct {
	options Options
	runtime wazero.Runtime
	pool    *semaphore.Weighted // bytes of memory that scripts may still take
}

// program is a module that can be run many times.
type program struct {
	code     wazero.CompiledModule
	minBytes int64 // the memory that it has at its start
}

func newSandbox(o Options) (*sandbox, error) {
	ctx := context.Background()
	// Modules stop by their ticks, so the engine's own checks, which cost several times the run, are off.
	config := wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2).WithCloseOnContextDone(false)
	if o.Cache != "" {
		cache, err := wazero.NewCompilationCacheWithDir(o.Cache)
		if err != nil {
			return nil, fmt.Errorf("script: folder of compiled code: %w", err)
		}
		config = config.WithCompilationCache(cache)
	}
	s := &sandbox{options: o, runtime: wazero.NewRuntimeWithConfig(ctx, config), pool: semaphore.NewWeighted(o.TotalMemory)}
	host := s.runtime.NewHostModuleBuilder(meter.Module)
	host.NewFunctionBuilder().WithGoFunction(api.GoFunc(tick), nil, nil).Export(meter.Tick)
	host.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(say), []api.ValueType{api.ValueTypeI32, api.ValueTypeI32, api.ValueTypeI32}, nil).Export("log")
	_, err := host.Instantiate(ctx)
	if err == nil {
		_, err = wasi_snapshot_preview1.Instantiate(ctx, s.runtime)
	}
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	return s, nil
}

// maxElements bounds the tables of a module, which its memory does not count.
const maxElements = 1 << 20

// compile makes a program of a module. Allowed says whether a function may be imported; exports must be there.
func (s *sandbox) compile(module []byte, allowed func(name string) bool, exports ...string) (*program, error) {
	m, err := meter.Rewrite(module)
	if err != nil {
		return nil, err
	}
	for _, name := range m.Imports {
		if !allowed(name) {
			return nil, fmt.Errorf("it imports %s, which scripts do not have: build it for WASI preview 1 (GOOS=wasip1, wasm32-wasip1)", name)
		}
	}
	for _, name := range exports {
		if !m.Exports[name] {
			return nil, fmt.Errorf("it does not export %s: build it as a command of WASI preview 1, with a main function", name)
		}
	}
	if !m.Memory || m.Elements > maxElements {
		return nil, fmt.Errorf("it has no memory, or tables of more than %d elements", maxElements)
	}
	code, err := s.runtime.CompileModule(context.Background(), m.Module)
	if err != nil {
		return nil, err
	}
	return &program{code: code, minBytes: int64(m.MinPages) * page}, nil
}

// cell is one run: what its host functions need.
type cell struct {
	task   *activity.Task
	memory *memory
	lines  *lines
	beat   time.Time
}

type cellKey struct{}

// errTooLong ends a script that has run for Options.MaxTime.
var errTooLong = errors.New("script: it ran for too long")

// stopped is what a tick ends a module with.
type stopped struct{ error }

// enter waits for the memory that a run may take, and returns its context; leave is to be called when it is over.
func (s *sandbox) enter(ctx context.Context, t *activity.Task) (run context.Context, c *cell, leave func(), err error) {
	limit := t.MaxMemory
	if limit <= 0 {
		limit = s.options.MaxMemory
	}
	limit = min(limit, 1<<32) / page * page
	if limit > s.options.TotalMemory {
		e := activity.NewError(CodeMemory, "the step asks for %s of memory, and this worker gives all scripts together %s: lower limits: { max_memory } of the step",
			size(limit), size(s.options.TotalMemory))
		return nil, nil, nil, e
	}
	if err := s.pool.Acquire(ctx, limit); err != nil {
		return nil, nil, nil, err
	}
	c = &cell{task: t, memory: &memory{limit: uint64(limit)}, lines: newLines(t), beat: time.Now()}
	run, cancel := context.WithTimeoutCause(ctx, s.options.MaxTime, errTooLong)
	run = experimental.WithMemoryAllocator(context.WithValue(run, cellKey{}, c), allocator{c.memory})
	return run, c, func() { cancel(); s.pool.Release(limit) }, nil
}

// allocator hands out the memory of one run.
type allocator struct{ memory *memory }

// Allocate implements experimental.MemoryAllocator.
func (a allocator) Allocate(uint64, uint64) experimental.LinearMemory { return a.memory }

// fits checks that a program can start with the memory of a run.
func (c *cell) fits(p *program) error {
	if p.minBytes > int64(c.memory.limit) {
		return outOfMemory(int64(c.memory.limit), fmt.Sprintf(", as it starts with %s", size(p.minBytes)))
	}
	return nil
}

// instantiate makes an instance; the caller closes it.
func (s *sandbox) instantiate(ctx context.Context, p *program, config wazero.ModuleConfig) (api.Module, error) {
	m, err := s.runtime.InstantiateModule(ctx, p.code, config.WithName(""))
	if err != nil && m != nil {
		err = errors.Join(err, m.Close(ctx))
	}
	return m, err
}

// ended turns the error of a run that its context ended into what it is; nil if that was not why.
func (s *sandbox) ended(ctx, run context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(context.Cause(run), errTooLong) {
		e := activity.NewError(CodeTimeout, "it ran for %v, which is as long as this worker lets scripts run", s.options.MaxTime)
		return e
	}
	return nil
}

// every is how often a running script gives a sign of life.
const every = time.Second

// tick lets the scheduler in, ends a run whose context is over, and gives signs of life.
func tick(ctx context.Context, _ []uint64) {
	if err := ctx.Err(); err != nil {
		panic(stopped{err})
	}
	if c, _ := ctx.Value(cellKey{}).(*cell); c != nil && time.Since(c.beat) > every {
		c.beat = time.Now()
		c.task.Heartbeat("running")
	}
}

// say writes a line of console: its level, address and length.
func say(ctx context.Context, m api.Module, args []uint64) {
	c, _ := ctx.Value(cellKey{}).(*cell)
	text, ok := m.Memory().Read(uint32(args[1]), uint32(min(args[2], maxLine)))
	if c == nil || !ok {
		return
	}
	c.lines.say(slog.Level(int32(args[0])), text, args[2] <= maxLine)
}
