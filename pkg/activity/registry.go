package activity

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Kind describes one activity kind for the registry.
type Kind struct {
	// Name is the word of the language.
	Name workflow.Kind
	// Target, Input and Output are JSON Schemas, or nil for "any": of the kind's own block once expressions are filled in, of the step's
	// `with`, and of the output. Workers check them before and after each attempt: what does not fit is activity.input or
	// activity.output. An output that streams is not looked into.
	Target, Input, Output workflow.Value
	// Of gives Input and Output where they differ from call to call, by the target; nil where they do not.
	Of func(target json.RawMessage) (input, output workflow.Value)
	// Check judges a target without expressions before anything runs, as when a document is validated or deployed; nil where there is
	// nothing to judge. It returns an *Error where a step with this target cannot end well here, and any other error where it cannot tell.
	Check    func(ctx context.Context, target json.RawMessage) error
	Activity Activity
}

// Registry finds kinds by name. Fill it before the worker starts; it is not safe for concurrent change.
type Registry struct {
	kinds map[workflow.Kind]Kind
	// Functions are the named Go functions of kind function.
	Functions *Functions
}

// NewRegistry returns a registry with kind function and no functions yet.
func NewRegistry() *Registry {
	r := &Registry{kinds: map[workflow.Kind]Kind{}, Functions: NewFunctions()}
	r.MustAdd(Kind{Name: workflow.KindFunction, Activity: r.Functions, Of: r.Functions.schemas})
	return r
}

// Add registers a kind; a second one of the same name is an error.
func (r *Registry) Add(k Kind) error {
	if k.Name == "" || k.Activity == nil {
		return fmt.Errorf("activity: a kind needs a name and an activity")
	}
	if _, there := r.kinds[k.Name]; there {
		return fmt.Errorf("activity: kind %q is registered already", k.Name)
	}
	r.kinds[k.Name] = k
	return nil
}

// Replace puts another activity in the place of a registered kind, as a simulation or a test of workflows does.
func (r *Registry) Replace(k Kind) error {
	if _, there := r.kinds[k.Name]; !there || k.Activity == nil {
		return fmt.Errorf("activity: there is no kind %q to replace", k.Name)
	}
	r.kinds[k.Name] = k
	return nil
}

// MustAdd is Add for set-up code: it panics where Add fails.
func (r *Registry) MustAdd(k Kind) {
	if err := r.Add(k); err != nil {
		panic(err)
	}
}

// Find returns a kind, or an *Error with code activity.unknown that names the kinds there are.
func (r *Registry) Find(name workflow.Kind) (Kind, error) {
	if k, ok := r.kinds[name]; ok {
		return k, nil
	}
	return Kind{}, NewError(CodeUnknown, "this worker has no activity kind %q; it has: %s", name, joinNames(r.Kinds()))
}

// Kinds lists what is registered, by name.
func (r *Registry) Kinds() []Kind {
	out := make([]Kind, 0, len(r.kinds))
	for _, k := range r.kinds {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b Kind) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func joinNames(kinds []Kind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k.Name)
	}
	return strings.Join(names, ", ")
}
