package cli

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/api"
	"github.com/wovyr/wovyr/pkg/client"
	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// TestRefusedByTheServer: what a server alone finds wrong with a document is shown as what is found here, each finding once.
func TestRefusedByTheServer(t *testing.T) {
	t.Chdir(t.TempDir())
	text := []byte("dsl: wovyr/v1\nname: pay\nsteps:\n  charge: { function: chrage }\n  never: { function: std.echo, when: '${ false }' }\n")
	require.NoError(t, os.WriteFile("pay.yaml", text, 0o600))
	_, here := dsl.Compile("pay.yaml", text)
	require.NotEmpty(t, here, "the language warns of something too, which the server says again")
	found := []dsl.Diagnostic{
		{File: "pay.yaml", Line: 4, Column: 13, Code: "aws/unknown-function", Severity: dsl.SeverityError, Message: `there is no function "chrage"`, Suggestion: "did you mean charge?"},
		{File: "pay.yaml", Line: 5, Column: 12, Code: "aws/timeout", Severity: dsl.SeverityError, Message: "an activity has 15 minutes", Suggestion: "split it"},
	}
	s := httptest.NewServer((&api.Server{Tenant: "local", Misfits: func(string, *workflow.Definition) []dsl.Diagnostic { return found }}).Handler())
	defer s.Close()

	var out, problems, want bytes.Buffer
	require.Equal(t, exitRefused, Run(Environment{Out: &out, Err: &problems}, []string{"deploy", "pay.yaml", "--server", s.URL}))
	require.NoError(t, printDiagnostics(&want, document{data: text, diagnostics: append(here, found...)}, false))
	require.Equal(t, want.String(), problems.String())
	require.Contains(t, problems.String(), "charge: { function: chrage }", "the line is shown")
	require.Empty(t, out.String())
}

// TestRefusedWithoutFindings: a refusal that this program cannot read the findings of is still said.
func TestRefusedWithoutFindings(t *testing.T) {
	var problems bytes.Buffer
	for _, findings := range []json.RawMessage{nil, json.RawMessage(`[]`), json.RawMessage(`{"in": "another way"}`)} {
		p := &client.Problem{Title: "the document is refused", Diagnostics: findings}
		require.Equal(t, error(p), refusedThere(Environment{Err: &problems}, document{}, p))
	}
	require.Empty(t, problems.String())
}
