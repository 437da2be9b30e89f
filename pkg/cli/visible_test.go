package cli

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                "plain",
		"åäö 漢字 🙂":             "åäö 漢字 🙂",
		"a\x1b[31mred\a":       `a\u001b[31mred\u0007`,
		"two\nlines\r\n":       `two⏎lines\u000d⏎`,
		"a\tb":                 "a b",
		"invoice\u202efdp.exe": `invoice\u202efdp.exe`,
		"\u009b31m":            `\u009b31m`,
	} {
		require.Equal(t, want, visible(text))
	}
	require.Equal(t, "a\nb\\u0007", visibleLines("a\nb\a"))
	rapid.Check(t, func(t *rapid.T) {
		text := visible(rapid.String().Draw(t, "text"))
		require.False(t, strings.ContainsFunc(text, unicode.IsControl), "%q", text)
		require.Equal(t, text, visible(text))
	})
}

// TestServerAddress: a server is named as people name it.
func TestServerAddress(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:7233": "http://127.0.0.1:7233", "localhost": "http://localhost", "http://a:1": "http://a:1", "https://a.example/base": "https://a.example/base", "[::1]:7": "http://[::1]:7",
	} {
		got, err := serverAddress(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"ftp://a", "http://", "://", "a b", "http://a?b=c", ":7233"} {
		_, err := serverAddress(text)
		require.ErrorContains(t, err, "write --server http://127.0.0.1:7233", text)
		require.Equal(t, exitRefused, codeOf(err))
	}
}
