package project_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/egress"
	"github.com/wovyr/wovyr/pkg/project"
	"github.com/wovyr/wovyr/pkg/workflow"
)

func load(t *testing.T, text string) (*project.Project, error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, project.FileName), []byte(text), 0o600))
	return project.Load(dir)
}

func TestNoFile(t *testing.T) {
	p, err := project.Load(t.TempDir())
	require.NoError(t, err)
	require.Equal(t, project.DefaultData, p.Data)
	require.Equal(t, project.DefaultListen, p.Listen)
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"functons: {}\n":         "it takes functions, secrets, vault, data, listen and egress",
		"functions: { a: {} }\n": "function a: write either command",
		"functions: { a: { command: [x], url: 'http://x' } }": "function a: write either command",
		"secrets: { a: {} }\n":                                "secret a: write one of env: NAME, file: path",
		"secrets: { a: { env: A, file: a } }\n":               "secret a: write one of env: NAME, file: path",
		"vault: { lifetime: soon }":                           "vault: lifetime",
		"egress: { allow: [ 'http://x' ] }\n":                 "is a URL",
		"data: [1]\n":                                         "wovyr.yaml",
	} {
		_, err := load(t, text)
		require.ErrorContains(t, err, want, text)
	}
}

// TestEgress: a workflow reaches public addresses only, what the operator allows, and where a function of the project itself leads.
func TestEgress(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%q", r.URL.Path) }))
	defer server.Close()
	call := func(text, target string) (string, error) {
		p, err := load(t, text)
		require.NoError(t, err)
		functions := activity.NewFunctions()
		require.NoError(t, p.Register(functions))
		res, err := functions.Run(t.Context(), &activity.Task{Target: activity.NewDocument([]byte(target))})
		return string(res.Output), err
	}
	direct := fmt.Sprintf(`{"url": %q}`, server.URL+"/direct")
	named := fmt.Sprintf("functions: { quote: { url: '%s/quote' } }\n", server.URL)

	for _, text := range []string{"", named, "egress: { allow: [ 10.0.0.0/8 ] }\n"} {
		_, err := call(text, direct)
		var typed *workflow.Error
		require.ErrorAs(t, err, &typed, text)
		require.Equal(t, egress.CodeForbidden, typed.Code)
	}
	for _, text := range []string{"egress: { allow: [ 127.0.0.1 ] }\n", "egress: { allow: [ 127.0.0.0/8 ] }\n"} {
		out, err := call(text, direct)
		require.NoError(t, err)
		require.Equal(t, `"/direct"`, out)
	}
	out, err := call(named, `"quote"`)
	require.NoError(t, err)
	require.Equal(t, `"/quote"`, out)
}
