package workflow_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

func TestCategories(t *testing.T) {
	for _, c := range []workflow.Category{"activity", "workflow", "infrastructure", "external"} {
		require.True(t, c.Valid(), "WF-002 §22 has the category %s", c)
	}
	for _, c := range []workflow.Category{"", "Activity", "user"} {
		require.False(t, c.Valid(), "%q is no category", c)
	}
}

func TestMatches(t *testing.T) {
	tests := []struct {
		code, selector string
		want           bool
	}{
		{"http.503", "http.503", true},
		{"http.503", "http.504", false},
		{"http.503", "http", true},
		{"http.503", "htt", false},
		{"http.503", "http.", false},
		{"http.503", "http.5xx", true},
		{"http.503", "http.4xx", false},
		{"http.503", "5xx", false},
		{"http.503", "xx", false},
		{"http.5031", "http.5xx", false},
		{"http.5ab", "http.5xx", false},
		{"http.50", "http.5xx", false},
		{"timeout.activity", "timeout", true},
		{"timeout", "timeout", true},
		{"timeouts.activity", "timeout", false},
		{"any", "external", true},
		{"any", "infrastructure", false},
		{"any", "", false},
	}
	for _, tt := range tests {
		e := workflow.Errorf(tt.code, workflow.CategoryExternal, "")
		require.Equal(t, tt.want, e.Matches(tt.selector), "%s by %q", tt.code, tt.selector)
	}
}

func TestErrorText(t *testing.T) {
	require.EqualError(t, workflow.Errorf("a.b", workflow.CategoryActivity, "no %s", "luck"), "a.b: no luck")
	require.EqualError(t, &workflow.Error{Code: "a.b"}, "a.b")
}

func TestErrorOnTheWire(t *testing.T) {
	e := &workflow.Error{Code: "http.503", Category: workflow.CategoryExternal, Message: "closed", Retryable: true, Details: workflow.Value(`{"after":3}`)}
	b, err := json.Marshal(e)
	require.NoError(t, err)
	require.JSONEq(t, `{"code":"http.503","category":"external","message":"closed","retryable":true,"details":{"after":3}}`, string(b))
	var back workflow.Error
	require.NoError(t, json.Unmarshal(b, &back))
	require.Equal(t, *e, back)
}

func TestValue(t *testing.T) {
	require.True(t, workflow.Value(nil).IsNull())
	require.True(t, workflow.Null.IsNull())
	require.False(t, workflow.Value(`""`).IsNull())
	require.Equal(t, "null", workflow.Value(nil).String())

	b, err := json.Marshal(map[string]workflow.Value{"absent": nil, "double": workflow.Value("3.0")})
	require.NoError(t, err)
	require.Equal(t, `{"absent":null,"double":3.0}`, string(b), "a double stays one")

	text := []byte(`{"a":1}`)
	var v workflow.Value
	require.NoError(t, v.UnmarshalJSON(text))
	text[2] = 'b'
	require.Equal(t, `{"a":1}`, v.String(), "the value keeps its own bytes")
}

func TestPayload(t *testing.T) {
	require.True(t, workflow.Payload{}.IsZero())
	require.False(t, workflow.Inline(workflow.Null).IsZero())
	require.False(t, workflow.Payload{Holes: []workflow.Hole{{}}}.IsZero())
}
