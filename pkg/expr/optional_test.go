package expr

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// TestNoOptionalHoldsNull: null and absent are one, whichever way an optional comes about.
func TestNoOptionalHoldsNull(t *testing.T) {
	for _, source := range []string{
		"optional.of(x)", "optional.ofNonZeroValue(x)", "m.?a", "m[?'a']", "m.?nothing", "l[?0]", "l[?7]", "l.first()", "l.last()", "[].first()",
		"find(l, v, v == null)", "find([1], v, v == null)", "optional.of(1).optMap(v, x)", "optional.of(m).optMap(v, v.a)", "optional.of(1).optFlatMap(v, optional.of(x))",
		"optional.none().or(optional.of(x))", "m.?a.or(m.?a)", "optional.of(m).a", "optional.of(l)[0]", "(true ? optional.of(x) : optional.none())",
	} {
		for asked, want := range map[string]string{
			".hasValue()": "false", ".orValue(1)": "1", ".optMap(v, 2).orValue(3)": "3", ".or(optional.of(4)).value()": "4", " == optional.none()": "true", " == null": "true",
		} {
			got, err := evaluate(t, source+asked)
			require.NoError(t, err, source+asked)
			require.Equal(t, want, got, source+asked)
		}
		for literal, want := range map[string]string{"[?" + source + "]": "[]", "{'k': " + source + "}": "{}", "{?'k': " + source + "}": "{}", "[" + source + "].unwrapOpt()": "[]"} {
			got, err := evaluate(t, literal)
			require.NoError(t, err, literal)
			require.Equal(t, want, got, literal)
		}
		_, err := evaluate(t, source+".value()")
		require.Error(t, err, source)
	}
}

// evaluate gives names to null: x, the only item of l, and a of m.
func evaluate(t *testing.T, source string) (string, error) {
	t.Helper()
	x, issues := Compile(source, workflow.Position{}, nil)
	require.NotNil(t, x, "%s: %v", source, issues)
	values := map[string]workflow.Value{"x": workflow.Null, "l": workflow.Value("[null]"), "m": workflow.Value(`{"a":null}`)}
	v, err := x.Eval(NewActivation(func(name string) (Binding, bool) {
		value, ok := values[name]
		return Of(workflow.Inline(value)), ok
	}))
	if err != nil {
		return "", err
	}
	return v.JSON.String(), nil
}
