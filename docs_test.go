package wovyr_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// TestReadmeCommands runs the commands of the README as they stand there. `make test` is the one that runs this test.
// Of `wovyr run` it takes the part of the person at the terminal, and a store that does not stay.
func TestReadmeCommands(t *testing.T) {
	ran := 0
	for _, block := range blocks(t, "README.md", "sh") {
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			if line == "" || line == "make test" {
				continue
			}
			t.Run(line, func(t *testing.T) {
				if strings.Contains(line, "wovyr run ") {
					requireEnds(t, line)
					return
				}
				out, err := exec.Command("bash", "-c", line).CombinedOutput()
				require.NoError(t, err, "%s", out)
				require.NotEmpty(t, out, "a command that a newcomer types should say something")
			})
			ran++
		}
	}
	require.NotZero(t, ran, "the README shows no command")
}

// requireEnds runs a workflow and requires that it came to the end that the README tells of.
func requireEnds(t *testing.T, line string) {
	t.Helper()
	cmd := exec.Command("bash", "-c", line+` --approve-all --data "$DATA"`)
	cmd.Env = append(os.Environ(), "DATA="+t.TempDir())
	var progress strings.Builder
	cmd.Stderr = &progress
	out, err := cmd.Output()
	var result struct{ Status, Outcome string }
	require.NoError(t, json.Unmarshal(out, &result), "%v\n%s%s", err, out, &progress)
	require.Equal(t, "completed", result.Status, "%s", &progress)
	require.Equal(t, "compensated", result.Outcome, "%s", &progress)
	require.Contains(t, progress.String(), "again at", "the bank is asked again")
}

// TestWorkflowsInDocuments validates the examples and each YAML block of the documents that is a whole workflow.
func TestWorkflowsInDocuments(t *testing.T) {
	files, err := filepath.Glob("examples/*.yaml")
	require.NoError(t, err)
	files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, ".test.yaml") })
	documents, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	dir := t.TempDir()
	for _, document := range append(documents, "README.md", "ARCHITECTURE.md") {
		for i, block := range blocks(t, document, "yaml") {
			if !strings.HasPrefix(block, "dsl: ") {
				continue
			}
			name := filepath.Join(dir, strings.ReplaceAll(document, "/", "-")+string(rune('a'+i))+".yaml")
			require.NoError(t, os.WriteFile(name, []byte(block), 0o644))
			files = append(files, name)
		}
	}
	require.NotEmpty(t, files)
	out, err := exec.Command("go", append([]string{"run", "./cmd/wovyr", "validate"}, files...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// blocks returns the fenced code blocks of a document in one language.
func blocks(t *testing.T, document, language string) []string {
	t.Helper()
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	var out []string
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		if m[1] == language {
			out = append(out, m[2])
		}
	}
	return out
}
