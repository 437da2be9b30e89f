package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// every calls f with each command and the words that name it.
func every(c *cobra.Command, words []string, f func(c *cobra.Command, words []string)) {
	for _, sub := range c.Commands() {
		at := append(words[:len(words):len(words)], sub.Name())
		f(sub, at)
		every(sub, at, f)
	}
}

// say runs a command line and returns its exit code and what it wrote.
func say(args ...string) (code int, out, errors string) {
	var o, e bytes.Buffer
	code = Run(Environment{In: strings.NewReader(""), Out: &o, Err: &e}, args)
	return code, o.String(), e.String()
}

// TestArgumentsOfEveryCommand: whichever command gets too many arguments, or a flag that it does not have, says so in words of its own and
// where its help is.
func TestArgumentsOfEveryCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	every(newRoot(Environment{}), nil, func(c *cobra.Command, words []string) {
		name := strings.Join(words, " ")
		code, out, text := say(append(words, "--no-such-flag")...)
		if name != "help" {
			require.Equal(t, exitRefused, code, name)
			require.Empty(t, out, name)
			require.Contains(t, text, "unknown flag: --no-such-flag", name)
		}
		many := append(words[:len(words):len(words)], "a1", "b2", "c3", "d4")
		code, out, text = say(many...)
		require.Equal(t, exitRefused, code, "%s: %s", name, text)
		require.NotContains(t, out+text, "arg(s)", name)
		require.NotContains(t, text, "unknown command", name)
		if c.HasSubCommands() {
			require.Contains(t, text, `no command "a1"`, name)
		}
	})
}

// TestHelpOfEveryCommand: it is asked for in both ways, has an example where the command takes something, and keeps to a narrow terminal.
func TestHelpOfEveryCommand(t *testing.T) {
	every(newRoot(Environment{}), nil, func(c *cobra.Command, words []string) {
		name := strings.Join(words, " ")
		code, out, text := say(append(words, "--help")...)
		require.Equal(t, exitOK, code, name)
		require.Empty(t, text, name)
		require.Contains(t, out, "Exit codes:", name)
		code, same, _ := say(append([]string{"help"}, words...)...)
		require.Equal(t, exitOK, code, name)
		require.Equal(t, out, same, name)
		if c.Use != c.Name() && name != "help" {
			require.NotEmpty(t, c.Example, "%s takes something: show how", name)
		}
		for _, line := range strings.Split(c.Long+"\n"+c.Example, "\n") {
			require.LessOrEqual(t, len([]rune(line)), 88, "%s: %s", name, line)
		}
	})
	code, _, text := say("help", "nonsense")
	require.Equal(t, exitRefused, code)
	require.Contains(t, text, `no command "nonsense"`)
}

// TestNearlyRightCommands: a misspelt one is told what was probably meant, at each level.
func TestNearlyRightCommands(t *testing.T) {
	for line, want := range map[string]string{"vaildate": "validate", "task lst": "list", "task aprove": "approve", "deadletters drp": "drop", "secrets lst": "list"} {
		code, _, text := say(strings.Fields(line)...)
		require.Equal(t, exitRefused, code, line)
		require.Contains(t, text, want, line)
	}
}
