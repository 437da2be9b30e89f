package encrypted_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/wovyr/wovyr/pkg/secret"
	"github.com/wovyr/wovyr/pkg/secret/encrypted"
	"github.com/wovyr/wovyr/pkg/workflow"
)

const env = "WOVYR_TEST_KEY"

func fresh(t *testing.T) *encrypted.File {
	dir := t.TempDir()
	return &encrypted.File{Path: filepath.Join(dir, "secrets.yaml"), Key: encrypted.Key{Env: env, Path: filepath.Join(dir, "key")}}
}

func text(t *testing.T, file string) string {
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(b)
}

func TestFile(t *testing.T) {
	f := fresh(t)
	names, err := f.Names()
	require.NoError(t, err)
	require.Empty(t, names)

	created, err := f.Set("pay", "sesame")
	require.NoError(t, err)
	require.True(t, created, "there was no key")
	created, err = f.Set("bank", "line 1\nline 2 é\"\\")
	require.NoError(t, err)
	require.False(t, created)
	names, err = f.Names()
	require.NoError(t, err)
	require.Equal(t, []string{"bank", "pay"}, names)
	require.NotContains(t, text(t, f.Path), "sesame")

	info, err := os.Stat(f.Key.Path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	for name, want := range map[string]string{"pay": "sesame", "bank": "line 1\nline 2 é\"\\"} {
		v, err := f.Get(t.Context(), secret.Ref{Name: name})
		require.NoError(t, err)
		require.Equal(t, want, v)
	}
	v, err := f.Get(t.Context(), secret.Ref{Name: "else", At: "pay"})
	require.NoError(t, err)
	require.Equal(t, "sesame", v)

	_, err = f.Set("pay", "changed")
	require.NoError(t, err)
	v, err = f.Get(t.Context(), secret.Ref{Name: "pay"})
	require.NoError(t, err)
	require.Equal(t, "changed", v)

	require.NoError(t, f.Remove("pay"))
	require.ErrorIs(t, f.Remove("pay"), encrypted.ErrUnknown)
	_, err = f.Get(t.Context(), secret.Ref{Name: "pay"})
	var typed *workflow.Error
	require.ErrorAs(t, err, &typed)
	require.Equal(t, secret.CodeUnknown, typed.Code)

	_, err = f.Set("pin", "123")
	require.ErrorContains(t, err, "fewer than 4 bytes")
	_, err = f.Set("pin", "\xff\xfe\xfd\xfc")
	require.ErrorContains(t, err, "base64")
	left, err := filepath.Glob(filepath.Join(filepath.Dir(f.Path), ".secrets-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestSetNeedsNoKey: who has the file alone can add a value and read none.
func TestSetNeedsNoKey(t *testing.T) {
	f := fresh(t)
	_, err := f.Set("pay", "sesame")
	require.NoError(t, err)
	key := text(t, f.Key.Path)
	require.NoError(t, os.Remove(f.Key.Path))

	created, err := f.Set("bank", "money")
	require.NoError(t, err)
	require.False(t, created)
	_, err = f.Get(t.Context(), secret.Ref{Name: "bank"})
	require.ErrorContains(t, err, "no key")

	t.Setenv(env, key)
	v, err := f.Get(t.Context(), secret.Ref{Name: "bank"})
	require.NoError(t, err)
	require.Equal(t, "money", v)
}

func TestDamage(t *testing.T) {
	other, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	for name, c := range map[string]struct {
		damage func(t *testing.T, f *encrypted.File)
		says   string
	}{
		"values exchanged": {func(t *testing.T, f *encrypted.File) {
			var c struct {
				Recipients []string          `yaml:"recipients"`
				Secrets    map[string]string `yaml:"secrets"`
			}
			require.NoError(t, yaml.Unmarshal([]byte(text(t, f.Path)), &c))
			c.Secrets["a"], c.Secrets["b"] = c.Secrets["b"], c.Secrets["a"]
			b, err := yaml.Marshal(c)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(f.Path, b, 0o600))
		}, `encrypted under the name "b": somebody moved it`},
		"another key": {func(t *testing.T, f *encrypted.File) {
			require.NoError(t, os.WriteFile(f.Key.Path, []byte(other.String()), 0o600))
		}, "it is encrypted for another key"},
		"no key in the file": {func(t *testing.T, f *encrypted.File) {
			require.NoError(t, os.WriteFile(f.Key.Path, []byte("AGE-SECRET-KEY-1WRONG"), 0o600))
		}, "holds no age key"},
		"not YAML": {func(t *testing.T, f *encrypted.File) {
			require.NoError(t, os.WriteFile(f.Path, []byte("secrets: ["), 0o600))
		}, "edit it with wovyr secrets"},
		"a changed letter": {func(t *testing.T, f *encrypted.File) {
			lines := strings.Split(text(t, f.Path), "\n")
			for i, line := range lines {
				if strings.Contains(line, "END AGE") {
					lines[i-1] = strings.ReplaceAll(lines[i-1], lines[i-1][10:14], "AAAA")
				}
			}
			require.NoError(t, os.WriteFile(f.Path, []byte(strings.Join(lines, "\n")), 0o600))
		}, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			f := fresh(t)
			_, err := f.Set("a", "value of a")
			require.NoError(t, err)
			_, err = f.Set("b", "value of b")
			require.NoError(t, err)
			c.damage(t, f)
			_, err = f.Get(t.Context(), secret.Ref{Name: "a"})
			var typed *workflow.Error
			require.ErrorAs(t, err, &typed)
			require.Equal(t, secret.CodeMissing, typed.Code)
			require.Contains(t, typed.Message, c.says)
			require.NotContains(t, typed.Message, "AGE-SECRET-KEY-1WRONG")
		})
	}
}

func ExampleFile() {
	dir, err := os.MkdirTemp("", "secrets")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	f := &encrypted.File{Path: filepath.Join(dir, "wovyr.secrets.yaml"), Key: encrypted.Key{Path: filepath.Join(dir, "wovyr.key")}}
	created, err := f.Set("pay", "sesame")
	fmt.Println("made a key:", created, err)
	value, err := f.Get(context.Background(), secret.Ref{Name: "pay"})
	fmt.Println(value, err)
	// Output:
	// made a key: true <nil>
	// sesame <nil>
}
