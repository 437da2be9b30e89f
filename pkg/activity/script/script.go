package script

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Defaults of Options.
const (
	DefaultMaxMemory   = 64 << 20
	DefaultTotalMemory = 1 << 30
	DefaultMaxTime     = 5 * time.Minute
)

// Options are the choices of a worker that runs scripts.
type Options struct {
	// Dir is the folder in which modules are; empty: there are none.
	Dir string
	// Cache is a folder for compiled code, so that the next process need not compile; empty: none. Whoever can write there can make this
	// process run what he likes.
	Cache string
	// MaxMemory is what a script may have whose step does not say, in bytes; zero is DefaultMaxMemory.
	MaxMemory int64
	// TotalMemory is what all scripts that run at once may have; others wait. Zero is DefaultTotalMemory.
	TotalMemory int64
	// MaxTime is how long a script may run, whatever its step says; zero is DefaultMaxTime.
	MaxTime time.Duration
}

// target is what a script step looks like.
var target = workflow.Value(`{"type":"object","properties":{"js":{"type":"string","minLength":1},"wasm":{"type":"string","minLength":1}},` +
	`"additionalProperties":false,"minProperties":1,"maxProperties":1}`)

// New returns the kind script. What it needs is compiled when the first script comes.
func New(o Options) activity.Kind {
	if o.MaxMemory <= 0 {
		o.MaxMemory = DefaultMaxMemory
	}
	if o.TotalMemory <= 0 {
		o.TotalMemory = DefaultTotalMemory
	}
	if o.MaxTime <= 0 {
		o.MaxTime = DefaultMaxTime
	}
	s := &scripts{modules: newModules(o.Dir)}
	s.sandbox = sync.OnceValues(func() (*sandbox, error) { return newSandbox(o) })
	s.engine = sync.OnceValues(func() (*engine, error) {
		box, err := s.sandbox()
		if err != nil {
			return nil, err
		}
		return newEngine(box)
	})
	return activity.Kind{Name: workflow.KindScript, Target: target, Check: s.check, Activity: s}
}

// form is a script step's target.
type form struct {
	JS   string `json:"js"`
	WASM string `json:"wasm"`
}

// readForm reads a target; the error is an *activity.Error, activity.input.
func readForm(target json.RawMessage) (form, error) {
	var f form
	if err := json.Unmarshal(target, &f); err != nil || (f.JS == "") == (f.WASM == "") {
		return f, activity.NewError(activity.CodeInput, "a script is either { js: … } or { wasm: … }")
	}
	return f, nil
}

// scripts implements activity.Activity.
type scripts struct {
	sandbox func() (*sandbox, error)
	engine  func() (*engine, error)
	modules *modules
}

// Run implements activity.Activity.
func (s *scripts) Run(ctx context.Context, t *activity.Task) (activity.Result, error) {
	form, err := readForm(t.Target.JSON)
	if err != nil {
		return activity.Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return activity.Result{}, err
	}
	box, err := s.sandbox()
	if err != nil {
		return activity.Result{}, err
	}
	if form.WASM != "" {
		p, err := s.modules.find(box, form.WASM)
		if err != nil {
			return activity.Result{}, err
		}
		return p.run(ctx, box, t)
	}
	e, err := s.engine()
	if err != nil {
		return activity.Result{}, err
	}
	return e.run(ctx, box, t, form.JS)
}
