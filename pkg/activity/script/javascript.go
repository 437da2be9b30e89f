package script

import (
	"context"
	_ "embed" // the engine
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wovyr/wovyr/pkg/activity"
)

// quickjs is the engine; quickjs/build.sh makes it.
//
//go:embed quickjs/quickjs.wasm
var quickjs []byte

// engine is QuickJS, made ready once: each run begins with a copy of that memory.
type engine struct {
	program *program
	ready   []byte
}

// Statuses with which the engine ends a run, as in engine.c.
const (
	statusDone = iota
	statusSyntax
	statusThrown
	statusNoJSON
	statusMemory
	statusPending
	statusInput
)

// The script is the body of a function, from its second line on, so that line and column are easily told.
const (
	scriptHead = "(async function (input) { 'use strict';\n"
	checkHead  = "(async function (input) { 'use strict'; return null;\n" // compiled as by scriptHead, and not run
	scriptTail = "\n})\x00"
)

// room is what a script needs beyond the engine at its start: memory below that fails even `return 1`.
const room = 256 << 10

func newEngine(s *sandbox) (*engine, error) {
	p, err := s.compile(quickjs, func(name string) bool { return name == "wovyr.log" }, "prepare", "run", "allocate", "result_at", "result_length")
	if err != nil {
		return nil, fmt.Errorf("script: engine: %w", err)
	}
	ctx := context.Background()
	m, err := s.instantiate(ctx, p, wazero.NewModuleConfig().WithStartFunctions("_initialize"))
	if err != nil {
		return nil, fmt.Errorf("script: engine: %w", err)
	}
	defer m.Close(ctx)
	if failed, err := m.ExportedFunction("prepare").Call(ctx); err != nil || failed[0] != 0 {
		return nil, fmt.Errorf("script: engine: it cannot be made ready: %v %w", failed, err)
	}
	all, _ := m.Memory().Read(0, m.Memory().Size())
	e := &engine{program: p, ready: append([]byte{}, all...)}
	p.minBytes = int64(len(e.ready)) + room
	return e, nil
}

// run runs a script.
func (e *engine) run(ctx context.Context, s *sandbox, t *activity.Task, script string) (activity.Result, error) {
	with, err := t.With.Whole(ctx)
	if err != nil {
		return activity.Result{}, err
	}
	input := with.JSON
	if len(input) == 0 {
		input = json.RawMessage("null")
	}
	run, c, leave, err := s.enter(ctx, t)
	if err != nil {
		return activity.Result{}, err
	}
	defer leave()
	status, text, err := e.call(run, s, c, scriptHead, script, input)
	if err != nil {
		if end := s.ended(ctx, run); end != nil {
			return activity.Result{}, end
		}
		return activity.Result{}, c.crashed(err)
	}
	if status != statusDone {
		return activity.Result{}, c.refused(status, text, script)
	}
	if limit := answerLimit(t); int64(len(text)) > limit {
		return activity.Result{}, activity.TooLarge(limit)
	}
	if !json.Valid(text) { // an answer may be anything that runs through the engine's hands
		return activity.Result{}, activity.NewError(CodeOutput, "what it returned is no JSON")
	}
	return activity.Result{Output: text}, nil
}

// answerLimit is the most bytes of an answer: scripts answer in one piece.
func answerLimit(t *activity.Task) int64 { return min(t.OutputLimit(), activity.MaxInline) }

// call makes an instance, hands it the texts (head is what stands before the script), and returns how it ended and what it left.
func (e *engine) call(ctx context.Context, s *sandbox, c *cell, head, script string, input []byte) (status int, text []byte, err error) {
	if err := c.fits(e.program); err != nil {
		return 0, nil, err
	}
	m, err := s.instantiate(ctx, e.program, wazero.NewModuleConfig().WithStartFunctions())
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, m.Close(ctx)) }()
	heap := m.Memory()
	if grow := (len(e.ready) - int(heap.Size())) / page; grow > 0 {
		if _, ok := heap.Grow(uint32(grow)); !ok {
			return 0, nil, errors.New("no memory")
		}
	}
	heap.Write(0, e.ready)
	source, err := put(ctx, m, head+script+scriptTail)
	if err != nil {
		return 0, nil, err
	}
	argument, err := put(ctx, m, string(input)+"\x00")
	if err != nil {
		return 0, nil, err
	}
	exact := uint64(0)
	if holdsLargeNumber(input) {
		exact = 1
	}
	sourceSize := uint64(len(head) + len(script) + len(scriptTail) - 1)
	out, err := m.ExportedFunction("run").Call(ctx, source, sourceSize, argument, uint64(len(input)), exact)
	if err != nil {
		return 0, nil, err
	}
	text, err = answer(ctx, m)
	return int(out[0]), text, err
}

// put copies a text into the memory of the engine, and returns its address.
func put(ctx context.Context, m api.Module, text string) (uint64, error) {
	at, err := m.ExportedFunction("allocate").Call(ctx, uint64(len(text)))
	if err != nil {
		return 0, err
	}
	if at[0] == 0 || !m.Memory().WriteString(uint32(at[0]), text) {
		return 0, errors.New("no memory for the script and its input")
	}
	return at[0], nil
}

// answer copies what the engine left.
func answer(ctx context.Context, m api.Module) ([]byte, error) {
	length, err := m.ExportedFunction("result_length").Call(ctx)
	if err != nil || length[0] == 0 {
		return nil, err
	}
	at, err := m.ExportedFunction("result_at").Call(ctx)
	if err != nil {
		return nil, err
	}
	text, ok := m.Memory().Read(uint32(at[0]), uint32(length[0]))
	if !ok {
		return nil, errors.New("its answer lies outside of its memory")
	}
	return append([]byte{}, text...), nil
}

// holdsLargeNumber reports whether a JSON text may hold a whole number that a double does not hold exactly: one of 16 digits or more.
func holdsLargeNumber(text []byte) bool {
	digits := 0
	for _, b := range text {
		if b >= '0' && b <= '9' {
			if digits++; digits >= 16 {
				return true
			}
			continue
		}
		digits = 0
	}
	return false
}

// refused makes the error of a run that the engine did not end well.
func (c *cell) refused(status int, text []byte, js string) error {
	script := source{js, c.task.Masked}
	var t thrown
	if err := json.Unmarshal(text, &t); err != nil {
		t = thrown{Error: true, Message: "an error that cannot be described"}
	}
	switch status {
	case statusSyntax:
		return scriptError(CodeSyntax, t, script)
	case statusMemory:
		return outOfMemory(int64(c.memory.limit), placeIn(t.Stack, script).String())
	case statusNoJSON:
		return scriptError(CodeOutput, thrown{Error: true, Message: "what it returned cannot be written as JSON: " + t.Message, Stack: t.Stack}, script)
	case statusPending:
		return activity.NewError(CodeError, "it waits for a promise that nothing will settle: a script has no timers, no network and no events")
	case statusInput:
		return activity.NewError(activity.CodeInput, "its input cannot be read: %s", t.Message)
	}
	return scriptError(CodeError, t, script)
}

// crashed makes the error of a run that ended in the middle.
func (c *cell) crashed(err error) error {
	var typed *activity.Error
	switch {
	case errors.As(err, &typed):
		return typed
	case c.memory.refused:
		return outOfMemory(int64(c.memory.limit), "")
	}
	text, _, _ := strings.Cut(err.Error(), "\nwasm stack trace:")
	return activity.NewError(CodeError, "it crashed: %s", text)
}
