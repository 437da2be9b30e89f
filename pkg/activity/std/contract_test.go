package std_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/activitytest"
	"github.com/wovyr/wovyr/pkg/activity/std"
	"github.com/wovyr/wovyr/pkg/workflow"
)

func TestContract(t *testing.T) {
	type object = map[string]any
	activitytest.Run(t, func(t *testing.T) activitytest.Subject {
		r := activity.NewRegistry()
		require.NoError(t, r.Functions.Add(std.Functions()...))
		k, err := r.Find(workflow.KindFunction)
		require.NoError(t, err)
		return activitytest.Subject{
			Kind:     k,
			Succeeds: activitytest.Call{Target: "std.echo", With: object{"a": 1}, Output: `{"a":1}`},
			Hangs:    activitytest.Call{Target: "std.sleep", With: object{"for": "1000h"}},
			Fails: []activitytest.Call{
				{Name: "as told", Target: "std.fail", With: object{"code": "card.declined", "retryable": false, "message": "no"}, Code: "card.declined"},
				{Name: "untold", Target: "std.fail", With: object{}, Code: "std.fail", Retryable: true},
				{Name: "odd duration", Target: "std.sleep", With: object{"for": "long"}, Code: activity.CodeInput},
			},
			Leaks: []activitytest.Call{
				{Name: "echo", Target: "std.echo", With: object{"key": activitytest.Secret}},
				{Name: "fail", Target: "std.fail", With: object{"message": activitytest.Secret}},
			},
			Without: map[string]string{
				activitytest.Keyed:    "it calls nobody",
				activitytest.Flooding: "it answers with what it is given",
			},
		}
	})
}
