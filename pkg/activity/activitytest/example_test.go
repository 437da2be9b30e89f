package activitytest_test

import (
	"context"
	"testing"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/activitytest"
)

// greeter is a kind that calls nobody.
type greeter struct{}

// Run implements activity.Activity.
func (greeter) Run(ctx context.Context, t *activity.Task) (activity.Result, error) {
	var in struct{ Name string }
	if err := t.With.Decode(ctx, &in); err != nil {
		return activity.Result{}, err
	}
	switch in.Name {
	case "":
		return activity.Result{}, activity.NewError("greet.nobody", "there is nobody to greet: write with: { name: Ann }")
	case "everybody":
		<-ctx.Done()
		return activity.Result{}, ctx.Err()
	}
	return activity.Result{Output: []byte(`"hello"`)}, nil
}

func Example() {
	// In a test file: func TestContract(t *testing.T) { … }
	_ = func(t *testing.T) {
		activitytest.Run(t, func(*testing.T) activitytest.Subject {
			type with = map[string]string
			return activitytest.Subject{
				Kind:     activity.Kind{Name: "greet", Activity: greeter{}},
				Succeeds: activitytest.Call{With: with{"name": "Ann"}, Output: `"hello"`},
				Hangs:    activitytest.Call{With: with{"name": "everybody"}},
				Fails:    []activitytest.Call{{Name: "nobody", With: with{}, Code: "greet.nobody"}},
				Without: map[string]string{
					activitytest.Keyed: "it calls nobody", activitytest.Flooding: "its answer is short", activitytest.Leaking: "it repeats nothing",
				},
			}
		})
	}
}

// TestGreeter is the example, run.
func TestGreeter(t *testing.T) {
	activitytest.Run(t, func(*testing.T) activitytest.Subject {
		type with = map[string]string
		return activitytest.Subject{
			Kind:     activity.Kind{Name: "greet", Activity: greeter{}},
			Succeeds: activitytest.Call{With: with{"name": "Ann"}, Output: `"hello"`},
			Hangs:    activitytest.Call{With: with{"name": "everybody"}},
			Fails:    []activitytest.Call{{Name: "nobody", With: with{}, Code: "greet.nobody"}},
			Without: map[string]string{
				activitytest.Keyed: "it calls nobody", activitytest.Flooding: "its answer is short", activitytest.Leaking: "it repeats nothing",
			},
		}
	})
}
