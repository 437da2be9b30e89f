package activity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Functions is the activity kind `function`: named Go functions, and targets outside the worker by
// form ({command}, {url}, …), each of which is a Runner.
type Functions struct {
	byName map[string]Function
	byForm map[string]Activity
	alias  map[string]alias
}

// alias is a target outside the worker that has a name; by runs it, or nil: the runner of its form.
type alias struct {
	target json.RawMessage
	by     Activity
}

// Function is one registered Go function. Func makes it from a typed one, Custom from a kind of one's own.
type Function struct {
	Name          string
	input, output workflow.Value // JSON Schemas, or nil
	run           func(ctx context.Context, in Document) (Result, error)
}

// NewFunctions returns an empty set.
func NewFunctions() *Functions {
	return &Functions{byName: map[string]Function{}, byForm: map[string]Activity{}, alias: map[string]alias{}}
}

// Func makes a typed Go function callable from workflows: In is decoded from the step's `with`, Out is the step's
// output, both by encoding/json. Field names of In are checked: an unknown field in `with` fails with activity.input, so
// that a misspelt name is not lost in silence. A Document field of In, or In itself, takes a large value without
// loading it; an Out that is an io.ReadCloser streams its JSON text to the payload store.
//
// Info, Heartbeat and Logger read the attempt from the function's context.
func Func[In, Out any](name string, f func(ctx context.Context, in In) (Out, error)) Function {
	return Function{Name: name, run: func(ctx context.Context, with Document) (Result, error) {
		var in In
		if err := with.Decode(ctx, &in); err != nil {
			return Result{}, err
		}
		out, err := f(ctx, in)
		if err != nil {
			return Result{}, err
		}
		return output(out)
	}}
}

func output(out any) (Result, error) {
	if stream, ok := out.(io.ReadCloser); ok {
		return Result{Stream: stream}, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return Result{}, NewError(CodeOutput, "the output is not JSON: %v", err)
	}
	return Result{Output: bytes.TrimSuffix(b.Bytes(), []byte("\n"))}, nil
}

// Add registers functions by name. Two of one name is an error that registers none of them.
func (fs *Functions) Add(functions ...Function) error {
	seen := map[string]bool{}
	for _, f := range functions {
		if f.Name == "" || f.run == nil {
			return errors.New("activity: a function needs a name; make it with activity.Func")
		}
		if _, there := fs.byName[f.Name]; there || seen[f.Name] {
			return fmt.Errorf("activity: function %q is registered already", f.Name)
		}
		seen[f.Name] = true
	}
	for _, f := range functions {
		fs.byName[f.Name] = f
	}
	return nil
}

// AddForm registers the runner of a target form: the one key of a target object, such as "command".
func (fs *Functions) AddForm(form string, a Activity) { fs.byForm[form] = a }

// Alias lets a name stand for a target outside the worker, such as {"command": ["python3", "price.py"]}. It is run by a runner of its own,
// or, if that is nil, by the one of its form.
func (fs *Functions) Alias(name string, target json.RawMessage, by Activity) error {
	_, function := fs.byName[name]
	if _, there := fs.alias[name]; there || function {
		return fmt.Errorf("activity: function %q is registered already", name)
	}
	fs.alias[name] = alias{target, by}
	return nil
}

// Names lists the registered functions and aliases, sorted.
func (fs *Functions) Names() []string {
	names := make([]string, 0, len(fs.byName)+len(fs.alias))
	for name := range fs.byName {
		names = append(names, name)
	}
	for name := range fs.alias {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Run implements Activity.
func (fs *Functions) Run(ctx context.Context, t *Task) (Result, error) {
	var target any
	if err := json.Unmarshal(t.Target.JSON, &target); err != nil {
		return Result{}, NewError(CodeInput, "the target of the function is not JSON: %v", err)
	}
	switch target := target.(type) {
	case string:
		return fs.call(ctx, target, t)
	case map[string]any:
		if name, ok := target["name"].(string); ok {
			return fs.call(ctx, name, t)
		}
		for _, form := range fs.forms() {
			if _, ok := target[form]; ok {
				return fs.byForm[form].Run(ctx, t)
			}
		}
		if at, ok := target["arn"]; ok {
			return Result{}, NewError(CodeUnknown, "this worker calls no Lambda functions, so not %v: run it on AWS, or give the function a command or url for local runs", at)
		}
	}
	return Result{}, NewError(CodeUnknown, "this worker cannot call %s: write a function's name%s", t.Target.JSON, fs.formHint())
}

func (fs *Functions) call(ctx context.Context, name string, t *Task) (Result, error) {
	f, ok := fs.byName[name]
	if a, is := fs.alias[name]; is {
		there := *t
		there.Target = NewDocument(a.target)
		if a.by != nil {
			return a.by.Run(ctx, &there)
		}
		return fs.Run(ctx, &there)
	}
	if !ok {
		return Result{}, NewError(CodeUnknown, "this worker has no function %q; register it in the worker's main, or under functions in wovyr.yaml (it has: %s)",
			name, strings.Join(fs.Names(), ", "))
	}
	return f.run(withTask(ctx, t), t.With)
}

func (fs *Functions) forms() []string {
	forms := make([]string, 0, len(fs.byForm))
	for form := range fs.byForm {
		forms = append(forms, form)
	}
	slices.Sort(forms)
	return forms
}

func (fs *Functions) formHint() string {
	if len(fs.byForm) == 0 {
		return ""
	}
	return ", or one of " + strings.Join(fs.forms(), ", ")
}
