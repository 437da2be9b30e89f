package script_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/script"
)

// TestCheck: what does not compile is said with its place, what only fails when it runs is not, and nothing runs.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "foreign.wasm"), foreign(), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text.wasm"), []byte("no module"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "good.wasm"), recursion(), 0o600))
	k := script.New(script.Options{Dir: dir})
	for _, c := range []struct {
		target map[string]any
		says   string // empty: it can run
	}{
		{js("return input.a"), ""},
		{js("throw new Error('later')"), ""},
		{js("for (;;) {}"), ""},
		{js("const a = `${input.a}`; await 0; function f() {} return f()"), ""},
		{js("let a = 1;\n  let b = a +;"), "(line 2, column 14: let b = a +;)"},
		{js("if (input) {\n  return 1"), "(line 2, column 11: "},
		{js("let a; let a"), "SyntaxError"},
		{map[string]any{"wasm": "good.wasm"}, ""},
		{map[string]any{"wasm": "none.wasm"}, "the module none.wasm cannot be read"},
		{map[string]any{"wasm": "foreign.wasm"}, "it imports env.open"},
		{map[string]any{"wasm": "text.wasm"}, "the module text.wasm cannot be run"},
	} {
		target, err := json.Marshal(c.target)
		require.NoError(t, err)
		err = k.Check(t.Context(), target)
		if c.says == "" {
			require.NoError(t, err, "%s", target)
			continue
		}
		var wrong *activity.Error
		require.ErrorAs(t, err, &wrong, "%s", target)
		require.Equal(t, script.CodeSyntax, wrong.Code)
		require.Contains(t, wrong.Message, c.says)
	}
}
