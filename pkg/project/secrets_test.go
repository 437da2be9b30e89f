package project_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/pkg/project"
	"github.com/wovyr/wovyr/pkg/secret"
	"github.com/wovyr/wovyr/pkg/workflow"
)

func TestSecrets(t *testing.T) {
	p, err := load(t, `
secrets:
  a: { env: WOVYR_TEST_SECRET }
  b: { file: b.txt }
  c: { env: WOVYR_TEST_NOT_SET }
  d: { file: missing.txt }
  e: { encrypted: other-name }
  f: { file: f.json, key: password }
  g: { file: f.json, key: port }
  h: { file: f.json, key: user }
  i: { parameter: /prod/i }
  j: { encrypted: nobody }
`)
	require.NoError(t, err)
	dir := filepath.Dir(p.Data)
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	t.Setenv("WOVYR_TEST_SECRET", "from the environment")
	write("b.txt", "from the file\r\n")
	write("f.json", `{"password": "from a field", "port": 5432}`)
	for name, value := range map[string]string{"other-name": "from the encrypted file", "unnamed": "needs no entry"} {
		_, err := p.Encrypted().Set(name, value)
		require.NoError(t, err)
	}

	from := p.SecretProvider(nil)
	for name, want := range map[string]string{
		"a": "from the environment", "b": "from the file", "e": "from the encrypted file", "unnamed": "needs no entry", "f": "from a field", "g": "5432",
	} {
		v, err := from.Get(t.Context(), secret.Ref{Tenant: "local", Name: name})
		require.NoError(t, err)
		require.Equal(t, want, v)
	}
	for name, want := range map[string]struct{ code, says string }{
		"c":   {secret.CodeMissing, "WOVYR_TEST_NOT_SET"},
		"d":   {secret.CodeMissing, "missing.txt"},
		"h":   {secret.CodeMissing, `no field "user"`},
		"i":   {secret.CodeMissing, "run it on AWS"},
		"j":   {secret.CodeUnknown, "wovyr secrets set nobody"},
		"zzz": {secret.CodeUnknown, "there are a, b, c, d, e, f, g, h, i, j, other-name, unnamed"},
	} {
		_, err := from.Get(t.Context(), secret.Ref{Tenant: "local", Name: name})
		var typed *workflow.Error
		require.ErrorAs(t, err, &typed, name)
		require.Equal(t, want.code, typed.Code, name)
		require.Contains(t, typed.Message, want.says)
	}

	t.Run("a worker that reads AWS", func(t *testing.T) {
		from := p.SecretProvider(map[string]secret.Provider{project.PlaceParameter: at{}})
		v, err := from.Get(t.Context(), secret.Ref{Tenant: "acme", Name: "i"})
		require.NoError(t, err)
		require.Equal(t, "acme i /prod/i", v)
	})
	t.Run("without the key", func(t *testing.T) {
		require.NoError(t, os.Remove(filepath.Join(dir, project.DefaultSecretsKey)))
		_, err := from.Get(t.Context(), secret.Ref{Name: "e"})
		require.ErrorContains(t, err, "no key for it: put the key into wovyr.key, or into the environment variable WOVYR_SECRETS_KEY")
	})
}

// at is a place that says what it was asked for.
type at struct{}

func (at) Get(_ context.Context, r secret.Ref) (string, error) {
	return r.Tenant + " " + r.Name + " " + r.At, nil
}
