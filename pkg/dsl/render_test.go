package dsl

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRender(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, test := range []struct {
		name       string
		source     string
		diagnostic Diagnostic
		want       []string
	}{
		{"a word", "a: 1\ntiemout: 30s\n", Diagnostic{Line: 2, Column: 1, EndColumn: 8, Suggestion: "did you mean `timeout`?"},
			[]string{" 2 | tiemout: 30s", "   | ^^^^^^^", "   = did you mean `timeout`?"}},
		{"a place without an end", "a: 1\n", Diagnostic{Line: 1, Column: 4}, []string{" 1 | a: 1", "   |    ^"}},
		{"after the end of a line", "a: 1\n", Diagnostic{Line: 1, Column: 5}, []string{" 1 | a: 1", "   |     ^"}},
		{"a line with tabs", "a:\t\tb c\n", Diagnostic{Line: 1, Column: 5, EndColumn: 6}, []string{" 1 | a:  b c", "   |     ^"}},
		{"wide characters", "a: 世界 b\n", Diagnostic{Line: 1, Column: 7, EndColumn: 8}, []string{" 1 | a: 世界 b", "   |         ^"}},
		{"a wide character", "a: 世界\n", Diagnostic{Line: 1, Column: 4, EndColumn: 6}, []string{" 1 | a: 世界", "   |    ^^^^"}},
		{"a byte order mark", "\ufeffa: 1\n", Diagnostic{Line: 1, Column: 1, EndColumn: 2}, []string{" 1 | a: 1", "   | ^"}},
		{"a long line", long + " here " + long + "\n", Diagnostic{Line: 1, Column: 202, EndColumn: 206},
			[]string{" 1 | … " + strings.Repeat("x", 59) + " here " + strings.Repeat("x", 56) + " …", "   | " + strings.Repeat(" ", 62) + "^^^^"}},
		{"a line number of three digits", strings.Repeat("\n", 99) + "a: 1", Diagnostic{Line: 100, Column: 1, Suggestion: "s"}, []string{" 100 | a: 1", "     | ^", "     = s"}},
		{"no place", "a: 1\n", Diagnostic{Suggestion: "s"}, []string{"   = s"}},
		{"a line that is not there", "a: 1\n", Diagnostic{Line: 7, Column: 1}, nil},
		{"control characters", "a: \x1b[31m\n", Diagnostic{Line: 1, Column: 4, EndColumn: 5}, []string{" 1 | a:  [31m", "   |    ^"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.diagnostic.File, test.diagnostic.Code, test.diagnostic.Severity, test.diagnostic.Message = "f.yaml", "dsl/x", SeverityError, "message"
			var b strings.Builder
			require.NoError(t, Render(&b, []Diagnostic{test.diagnostic}, []byte(test.source)))
			want := append([]string{test.diagnostic.String()}, test.want...)
			require.Equal(t, strings.Join(want, "\n")+"\n", b.String())
		})
	}
}

func TestRenderSeveral(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Render(&b, []Diagnostic{{Line: 1, Column: 1, Message: "one"}, {Line: 1, Column: 2, Message: "two"}}, []byte("ab")))
	require.Equal(t, ":1:1: : one []\n 1 | ab\n   | ^\n\n:1:2: : two []\n 1 | ab\n   |  ^\n", b.String())
	require.NoError(t, Render(&b, nil, nil))
	require.ErrorIs(t, Render(failing{}, []Diagnostic{{}}, nil), errFull)
}

var errFull = errors.New("the disk is full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestDiagnosticsAsJSON(t *testing.T) {
	_, diagnostics := Compile("a.yaml", []byte("dsl: wovyr/v1\nname: a\nlables: {}\nsteps: { a: { timer: { for: 1h } } }\n"))
	form, err := json.Marshal(diagnostics)
	require.NoError(t, err)
	require.JSONEq(t, `[{"file":"a.yaml","line":3,"column":1,"end_column":7,"code":"dsl/unknown-word","severity":"error",
		"message":"`+"`lables` is not a word of the language"+`","suggestion":"did you mean `+"`labels`"+`?","pointer":"/lables"}]`, string(form))
}
