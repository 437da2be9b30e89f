package cli

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/project"
)

// full is a standard output that takes nothing: a full disk, or a closed pipe.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the line is cut") }

const fine = "dsl: wovyr/v1\nname: a\nsteps: { a: { function: a } }\n"

func TestResultsThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{
		{"validate", "-"}, {"validate", "-o", "json", "-"}, {"graph", "-"}, {"schema"}, {"version"},
	} {
		var err bytes.Buffer
		code := Run(Environment{In: strings.NewReader(fine), Out: full{}, Err: &err}, args)
		require.Equal(t, exitFailed, code, args)
		require.Equal(t, "wovyr: no space left\n", err.String(), args)
	}
}

func TestInputThatCannotBeRead(t *testing.T) {
	var out bytes.Buffer
	require.Equal(t, exitRefused, Run(Environment{In: broken{}, Out: &out, Err: io.Discard}, []string{"validate", "-"}))
	require.Contains(t, out.String(), "standard input: error: the file cannot be read: the line is cut [file/unreadable]")
}

func TestFileThatIsMuchTooLarge(t *testing.T) {
	var out bytes.Buffer
	endless := io.LimitReader(zeroes{}, 1<<40)
	require.Equal(t, exitRefused, Run(Environment{In: endless, Out: &out, Err: io.Discard}, []string{"validate", "-"}))
	require.Contains(t, out.String(), "[file/too-large]")
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { return len(p), nil }

func TestColours(t *testing.T) {
	text := "a.yaml:5:3: error: error: here [dsl/x]\n 5 |   x: | = y\n   |   ^^\n   = write y\n"
	require.Equal(t, "\x1b[1ma.yaml:5:3: \x1b[31merror: \x1b[0m\x1b[1merror: here [dsl/x]\x1b[0m\n"+
		" 5 |   x: | = y\n"+
		"   | \x1b[31m  ^^\x1b[0m\n"+
		"   \x1b[36m= write y\x1b[0m\n", coloured(text, dsl.SeverityError))

	var out bytes.Buffer
	run := func(colour bool) string {
		out.Reset()
		Run(Environment{In: strings.NewReader("name: a\n"), Out: &out, Err: io.Discard, Colour: colour}, []string{"validate", "-"})
		return out.String()
	}
	require.NotContains(t, run(false), "\x1b")
	painted := run(true)
	require.Contains(t, painted, "\x1b[31merror: ")
	require.Equal(t, run(false), stripped(painted), "colours change nothing else")
}

func stripped(s string) string {
	return strings.NewReplacer(bold, "", red, "", yellow, "", cyan, "", plain, "").Replace(s)
}

// TestExamples: what the repository shows to its users is accepted without a warning, and its tests pass.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	require.NoError(t, err)
	more, err := filepath.Glob("../../examples/*/*.yaml")
	require.NoError(t, err)
	files = slices.DeleteFunc(append(files, more...), func(file string) bool { return isTestFile(file) || filepath.Base(file) == project.FileName })
	require.NotEmpty(t, files)
	var out bytes.Buffer
	require.Equal(t, exitOK, Run(Environment{Out: &out, Err: &out}, append([]string{"validate", "--strict"}, files...)), out.String())
	for _, file := range files {
		require.Equal(t, exitOK, Run(Environment{Out: &out, Err: &out}, []string{"test", beside(file)}), out.String())
	}
}
