package expr

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/workflow"
)

const reference = "../../docs/expressions.md"

// TestDocumentation runs every example of docs/expressions.md, and finds in it every function, macro and code.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile(reference)
	require.NoError(t, err)
	page := string(text)
	examples := 0
	for _, block := range regexp.MustCompile("(?s)```cel\n(.*?)```").FindAllStringSubmatch(page, -1) {
		for _, line := range strings.Split(strings.TrimSpace(block[1]), "\n") {
			src, want, ok := strings.Cut(line, "// → ")
			require.True(t, ok, line)
			examples++
			require.Equal(t, want, exampleResult(t, strings.TrimSpace(src)), src)
		}
	}
	require.Greater(t, examples, 150)
	for _, name := range functionNames {
		require.Regexp(t, regexp.QuoteMeta(name)+`\(`, page, "the page says nothing of %s", name)
	}
	for _, code := range codes {
		require.Contains(t, page, "`"+code+"`")
	}
	for name := range reservedNames {
		require.Contains(t, page, "`"+name, "the page says nothing of %s", name)
	}
}

func exampleResult(t *testing.T, src string) string {
	e, issues := Compile(src, workflow.Position{}, nil)
	if e == nil {
		return "error " + issues[0].Code
	}
	p, err := e.Eval(testActivation(t))
	if err != nil {
		return "error " + err.(*workflow.Error).Code
	}
	return p.JSON.String()
}
