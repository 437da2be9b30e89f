package workflow

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestValueRoundTrip: encoding/json escapes and indents values on their way out; they come back as they were.
func TestValueRoundTrip(t *testing.T) {
	for _, text := range []string{
		`null`, `{"a":[1,2.0,"x"],"b":{}}`, `"<b> & c"`, `"\\u003c"`, `"\\\\u003c\\"`, `"\\"`, `"\u0000\n\"<\""`,
		`{"<&>":"a b  c"}`, "\"\u2028\"",
	} {
		for _, marshal := range []func(any) ([]byte, error){json.Marshal, func(v any) ([]byte, error) { return json.MarshalIndent(v, "", "  ") }} {
			stored, err := marshal(Payload{JSON: Value(text)})
			require.NoError(t, err)
			var back Payload
			require.NoError(t, json.Unmarshal(stored, &back))
			require.Equal(t, text, string(back.JSON), "%s", stored)
		}
	}
}

func TestValueUnmarshalRefuses(t *testing.T) {
	var v Value
	require.Error(t, v.UnmarshalJSON([]byte(`{"a":`)))
}
