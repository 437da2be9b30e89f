package expr

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

func TestDurationsScale(t *testing.T) {
	for src, want := range map[string]time.Duration{
		`duration("1m") * 3`:                      3 * time.Minute,
		`3 * duration("1m")`:                      3 * time.Minute,
		`duration("1m") * uint(2)`:                2 * time.Minute,
		`duration("1m") * 1.5`:                    90 * time.Second,
		`0.5 * duration("1m")`:                    30 * time.Second,
		`duration("1h") / 4`:                      15 * time.Minute,
		`duration("1h") / 0.5`:                    2 * time.Hour,
		`duration("10ns") / 3`:                    3,
		`duration("1m") * -1`:                     -time.Minute,
		`duration("1d") / 2 + duration("1h") * 3`: 15 * time.Hour,
	} {
		x, issues := Compile(src, workflow.Position{Line: 1, Column: 1}, NewScope())
		require.Empty(t, issues, src)
		require.Equal(t, Duration, x.Type(), src)
		got, err := x.EvalDuration(NewActivation(nil))
		require.NoError(t, err, src)
		require.Equal(t, want, got, src)
	}
}

func TestDurationsThatDoNotScale(t *testing.T) {
	for src, want := range map[string]string{
		`duration("1m") * duration("1m")`: "duration * duration is not possible",
		`duration("1m") * "x"`:            "duration * string is not possible",
		`2 / duration("1m")`:              "int / duration is not possible",
		`duration("1m") % 2`:              "duration % int is not possible",
	} {
		_, issues := Compile(src, workflow.Position{Line: 1, Column: 1}, NewScope())
		require.Len(t, issues, 1, src)
		require.Equal(t, want, issues[0].Message, src)
	}
	scope := NewScope().With("input", Dyn)
	for src, want := range map[string]string{
		`duration("1m") / input`:         "division by zero",
		`duration("100000d") * input[0]`: "a duration is at most about 292 years",
		`duration("1m") / 0.0`:           "a duration is at most about 292 years",
		`duration("1m") * input[1]`:      "duration * string is not possible",
	} {
		x, issues := Compile(src, workflow.Position{Line: 1, Column: 1}, scope)
		require.Empty(t, issues, src)
		value := `[9223372036854775807,"x"]`
		if want == "division by zero" {
			value = "0"
		}
		_, err := x.EvalDuration(NewActivation(func(string) (Binding, bool) { return OfValue(workflow.Value(value)), true }))
		require.ErrorContains(t, err, want, src)
	}
}
