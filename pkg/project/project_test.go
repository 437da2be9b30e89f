package project_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
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
		"functons: {}\n": `wovyr.yaml:1:1: the file has no word "functons": it takes data, egress, functions, listen, secrets, vault`,
		"data: x\nfunctions:\n  a:\n    comand: [x]\n":        "wovyr.yaml:4:5: entry a of `functions` has no word",
		"functions: { a: {} }\n":                              "wovyr.yaml:1:14: function a: write either command",
		"functions: { a: { command: [x], url: 'http://x' } }": "function a: write either command",
		"functions: { a: { command: python x.py } }\n":        "wovyr.yaml:1:28: `command` must be a list, such as [ a, b ]",
		"functions: { a: { command: [ [x] ] } }\n":            "wovyr.yaml:1:30: an entry of `command` must be a text",
		"functions: [ a ]\n":                                  "wovyr.yaml:1:12: `functions` must be a mapping",
		"functions: { a: {url: 'http://x'}, a: {} }\n":        "twice",
		"secrets: { a: {} }\n":                                "wovyr.yaml:1:12: secret a: write one of env: NAME, file: path",
		"secrets: { a: { env: A, file: a } }\n":               "secret a: write one of env: NAME, file: path",
		"secrets:\n  a: { env: [A] }\n":                       "wovyr.yaml:2:13: `env` must be a text",
		"vault: { lifetime: soon }":                           "wovyr.yaml:1:10: vault: lifetime",
		"egress: { allow: [ 'http://x' ] }\n":                 "wovyr.yaml:1:11: egress",
		"data: [1]\n":                                         "wovyr.yaml:1:7: `data` must be a text",
		"data:\n":                                             "`data` must be a text",
		"text":                                                "wovyr.yaml:1:1: the file must be a mapping",
		"- a\n":                                               "wovyr.yaml:1:1: the file must be a mapping",
		"data: x\n  b: y\n":                                   "wovyr.yaml:2",
		"data: 'x\n":                                          "this is not YAML",
		"\tdata: x\n":                                         "wovyr.yaml:1",
	} {
		_, err := load(t, text)
		require.ErrorContains(t, err, want, text)
		for _, foreign := range []string{"unmarshal", "!!", "project.", "yaml:"} { // words of programs
			require.NotContains(t, strings.ReplaceAll(err.Error(), "wovyr.yaml:", ""), foreign, text)
		}
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
