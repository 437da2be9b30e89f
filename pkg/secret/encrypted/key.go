package encrypted

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"github.com/wovyr/wovyr/pkg/secret"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Key says where the private key is: in an environment variable, which comes first, or in a file. Both may hold several, a line each.
type Key struct{ Env, Path string }

// ErrNoKey says that there is no private key.
var ErrNoKey = errors.New("encrypted: there is no key")

// identities reads the private keys.
func (k Key) identities() ([]age.Identity, error) {
	text, from := "", ""
	if k.Env != "" {
		text, from = os.Getenv(k.Env), "the environment variable "+k.Env
	}
	if text == "" {
		b, err := os.ReadFile(k.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, ErrNoKey
		case err != nil:
			return nil, fmt.Errorf("encrypted: the key: %w", err)
		}
		text, from = string(b), k.Path
	}
	ids, err := age.ParseIdentities(strings.NewReader(text))
	if err != nil {
		// The library's message quotes the line, which is the key.
		return nil, fmt.Errorf("encrypted: %s holds no age key: it is a line that begins with AGE-SECRET-KEY-1", from)
	}
	return ids, nil
}

// missing is the error of an activity that wants a value and has no key for it.
func (k Key) missing(name string) error {
	return workflow.Errorf(secret.CodeMissing, workflow.CategoryInfrastructure,
		"secret %q is encrypted, and this worker has no key for it: put the key into %s, or into the environment variable %s", name, filepath.Base(k.Path), k.Env)
}

// recipients are the public halves of the private keys.
func (k Key) recipients() ([]string, error) {
	ids, err := k.identities()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, id := range ids {
		switch id := id.(type) {
		case *age.X25519Identity:
			all = append(all, id.Recipient().String())
		case *age.HybridIdentity:
			all = append(all, id.Recipient().String())
		}
	}
	return all, nil
}

// create makes a key in Path, which must not be there, readable by its owner alone.
func (k Key) create() (err error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return fmt.Errorf("encrypted: make a key: %w", err)
	}
	f, err := os.OpenFile(k.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("encrypted: make a key: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = fmt.Fprintf(f, "# The key of the encrypted secrets: keep it out of version control, and keep a copy.\n# public key: %s\n%s\n", id.Recipient(), id)
	return errors.Join(err, f.Sync())
}
