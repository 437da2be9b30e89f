package encrypted

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"filippo.io/age"
	"filippo.io/age/armor"
	"go.yaml.in/yaml/v4"

	"github.com/wovyr/wovyr/pkg/secret"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// File is a file of encrypted secrets. It is read at each use, so that a change is seen.
type File struct {
	Path string
	Key  Key
}

// content is what the file says.
type content struct {
	Recipients []string          `yaml:"recipients"`
	Secrets    map[string]string `yaml:"secrets"`
}

// sealed is what is encrypted.
type sealed struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// maxFile bounds the file, in bytes.
const maxFile = 16 << 20

// ErrUnknown says that the file has no such secret.
var ErrUnknown = errors.New("encrypted: there is no such secret")

// Get implements secret.Provider; At, if it is set, is the name in the file.
func (f *File) Get(_ context.Context, r secret.Ref) (string, error) {
	name := r.At
	if name == "" {
		name = r.Name
	}
	c, err := f.read()
	if err != nil {
		return "", missing(r.Name, err)
	}
	text, ok := c.Secrets[name]
	if !ok {
		return "", workflow.Errorf(secret.CodeUnknown, workflow.CategoryInfrastructure, "there is no secret %q in %s: add it with wovyr secrets set %s", name, filepath.Base(f.Path), name)
	}
	ids, err := f.Key.identities()
	switch {
	case errors.Is(err, ErrNoKey):
		return "", f.Key.missing(r.Name)
	case err != nil:
		return "", missing(r.Name, err)
	}
	value, err := open(name, text, ids)
	if err != nil {
		return "", missing(r.Name, err)
	}
	return value, nil
}

func missing(name string, err error) error {
	return workflow.Errorf(secret.CodeMissing, workflow.CategoryInfrastructure, "secret %q cannot be read: %v", name, err)
}

// Names lists the secrets, sorted. It needs no key. A file that is not there has none.
func (f *File) Names() ([]string, error) {
	c, err := f.read()
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(c.Secrets)), nil
}

// Set adds or changes a secret. Where there are neither recipients nor a key, it makes a key; created says so.
func (f *File) Set(name, value string) (created bool, err error) {
	if !utf8.ValidString(value) {
		return false, errors.New("encrypted: the value is not text: write bytes in base64")
	}
	if len(value) < secret.MinLength {
		return false, fmt.Errorf("encrypted: the value has fewer than %d bytes, too few to be kept out of logs and histories: choose a longer one", secret.MinLength)
	}
	c, err := f.read()
	if err != nil {
		return false, err
	}
	if len(c.Recipients) == 0 {
		if c.Recipients, err = f.Key.recipients(); errors.Is(err, ErrNoKey) {
			created = true
			if err = f.Key.create(); err == nil {
				c.Recipients, err = f.Key.recipients()
			}
		}
		if err != nil {
			return created, err
		}
	}
	if c.Secrets[name], err = seal(sealed{name, value}, c.Recipients); err != nil {
		return created, err
	}
	return created, f.write(c)
}

// Remove removes a secret, or returns ErrUnknown.
func (f *File) Remove(name string) error {
	c, err := f.read()
	if err != nil {
		return err
	}
	if _, ok := c.Secrets[name]; !ok {
		return ErrUnknown
	}
	delete(c.Secrets, name)
	return f.write(c)
}

func (f *File) read() (*content, error) {
	c := &content{Secrets: map[string]string{}}
	file, err := os.Open(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("encrypted: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("encrypted: %w", err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("encrypted: %s has more than %d bytes", f.Path, maxFile)
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("encrypted: %s: %w: it has recipients and secrets; edit it with wovyr secrets", f.Path, err)
	}
	if c.Secrets == nil {
		c.Secrets = map[string]string{}
	}
	return c, nil
}

const heading = "# Secrets, each encrypted for the keys below (age). Change them with: wovyr secrets set NAME\n"

// write puts the file in place whole or not at all.
func (f *File) write(c *content) (err error) {
	text, err := yaml.Marshal(c)
	if err != nil {
		return fmt.Errorf("encrypted: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(f.Path), ".secrets-*")
	if err != nil {
		return fmt.Errorf("encrypted: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(append([]byte(heading), text...))
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), f.Path)
	}
	if err != nil {
		return fmt.Errorf("encrypted: write %s: %w", f.Path, err)
	}
	return nil
}

func seal(s sealed, recipients []string) (string, error) {
	to, err := age.ParseRecipients(strings.NewReader(strings.Join(recipients, "\n")))
	if err != nil {
		return "", fmt.Errorf("encrypted: the recipients: %w", err)
	}
	plain, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("encrypted: %w", err)
	}
	var out bytes.Buffer
	text := armor.NewWriter(&out)
	w, err := age.Encrypt(text, to...)
	if err == nil {
		_, err = w.Write(plain)
		err = errors.Join(err, w.Close(), text.Close())
	}
	if err != nil {
		return "", fmt.Errorf("encrypted: %w", err)
	}
	return out.String(), nil
}

func open(name, text string, ids []age.Identity) (string, error) {
	r, err := age.Decrypt(armor.NewReader(strings.NewReader(text)), ids...)
	if err != nil {
		if none := (*age.NoIdentityMatchError)(nil); errors.As(err, &none) {
			return "", errors.New("it is encrypted for another key")
		}
		return "", fmt.Errorf("its text is damaged: %w", err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		return "", fmt.Errorf("its text is damaged: %w", err)
	}
	var s sealed
	if json.Unmarshal(plain, &s) != nil {
		return "", errors.New("its text was not written by wovyr secrets")
	}
	if s.Name != name {
		return "", fmt.Errorf("it was encrypted under the name %q: somebody moved it", s.Name)
	}
	return s.Value, nil
}
