package project

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/secret"
	"github.com/wovyr/wovyr/pkg/secret/encrypted"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Files of encrypted secrets of a project that does not name others, and the variable that comes before the key's file.
const (
	DefaultSecretsFile = "wovyr.secrets.yaml"
	DefaultSecretsKey  = "wovyr.key"
	SecretsKeyEnv      = "WOVYR_SECRETS_KEY"
)

// Secret says where a secret's value is. Exactly one of the places is set.
type Secret struct {
	// Env is an environment variable, File a file, Encrypted a name in the encrypted file.
	Env       string `yaml:"env"`
	File      string `yaml:"file"`
	Encrypted string `yaml:"encrypted"`
	// SecretsManager and Parameter are names in AWS.
	SecretsManager string `yaml:"secretsmanager"`
	Parameter      string `yaml:"parameter"`
	// Key picks a member of a value that is a JSON object.
	Key string `yaml:"key"`
}

// Vault says where the encrypted file and its key are, and how long values are kept in memory.
type Vault struct {
	File     string `yaml:"file"`
	Key      string `yaml:"key"`
	Lifetime string `yaml:"lifetime"`
}

// The places of secrets: words of an entry under secrets.
const (
	PlaceEnv            = "env"
	PlaceFile           = "file"
	PlaceEncrypted      = "encrypted"
	PlaceSecretsManager = "secretsmanager"
	PlaceParameter      = "parameter"
)

// Place is where the value is: a word, and where there.
func (s Secret) Place() (place, at string) {
	for _, p := range s.places() {
		if p[1] != "" {
			return p[0], p[1]
		}
	}
	return "", ""
}

func (s Secret) places() [][2]string {
	return [][2]string{{PlaceEnv, s.Env}, {PlaceFile, s.File}, {PlaceEncrypted, s.Encrypted}, {PlaceSecretsManager, s.SecretsManager}, {PlaceParameter, s.Parameter}}
}

func (s Secret) check(name string) error {
	places := 0
	for _, place := range s.places() {
		if place[1] != "" {
			places++
		}
	}
	if places != 1 {
		return fmt.Errorf("secret %s: write one of env: NAME, file: path, encrypted: name, secretsmanager: name and parameter: name", name)
	}
	return nil
}

// SecretLifetime is how long a value is used before it is read again; 0: secret.Lifetime.
func (p *Project) SecretLifetime() (time.Duration, error) {
	if p.Vault.Lifetime == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(p.Vault.Lifetime)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("vault: lifetime: %q is no length of time: write 5m", p.Vault.Lifetime)
	}
	return d, nil
}

// Encrypted is the project's file of encrypted secrets. It need not be there.
func (p *Project) Encrypted() *encrypted.File {
	return &encrypted.File{
		Path: p.path(p.Vault.File, DefaultSecretsFile),
		Key:  encrypted.Key{Env: SecretsKeyEnv, Path: p.path(p.Vault.Key, DefaultSecretsKey)},
	}
}

func (p *Project) path(file, otherwise string) string {
	if file == "" {
		file = otherwise
	}
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(p.dir, file)
}

// SecretNames lists the secrets of the project, sorted: those under secrets, whether their places have values or not, and those of the
// encrypted file.
func (p *Project) SecretNames() ([]string, error) {
	names, err := p.Encrypted().Names()
	if err != nil {
		return nil, err
	}
	names = append(names, slices.Collect(maps.Keys(p.Secrets))...)
	slices.Sort(names)
	return slices.Compact(names), nil
}

// SecretProvider returns a provider of the project's secrets: those under secrets, each from its place, and those of the encrypted file. places
// are further ones that this process can read, by their words; without them, secrets that are there cannot be had.
func (p *Project) SecretProvider(places map[string]secret.Provider) secret.Provider {
	all := map[string]secret.Provider{PlaceEnv: secret.Environment{}, PlaceFile: secret.Folder(p.dir), PlaceEncrypted: p.Encrypted()}
	maps.Copy(all, places)
	return &provider{project: p, places: all}
}

type provider struct {
	project *Project
	places  map[string]secret.Provider
}

// Get implements secret.Provider.
func (v *provider) Get(ctx context.Context, r secret.Ref) (string, error) {
	s, named := v.project.Secrets[r.Name]
	if !named {
		return v.unnamed(ctx, r)
	}
	place, at := s.Place()
	from, ok := v.places[place]
	if !ok {
		return "", workflow.Errorf(secret.CodeMissing, workflow.CategoryInfrastructure,
			"secret %q is kept in %s, which this worker does not read: run it on AWS, or name an env or file for local runs", r.Name, place)
	}
	r.At, r.Field = at, s.Key
	value, err := from.Get(ctx, r)
	if err != nil {
		return "", err
	}
	return secret.Pick(r, value)
}

// unnamed looks a secret up in the encrypted file, whose names need not be named again.
func (v *provider) unnamed(ctx context.Context, r secret.Ref) (string, error) {
	names, err := v.project.SecretNames()
	if err != nil {
		return "", workflow.Errorf(secret.CodeMissing, workflow.CategoryInfrastructure, "secret %q cannot be read: %v", r.Name, err)
	}
	if slices.Contains(names, r.Name) {
		return v.project.Encrypted().Get(ctx, r)
	}
	have := "there are none"
	if len(names) > 0 {
		have = "there are " + strings.Join(names, ", ")
	}
	return "", workflow.Errorf(secret.CodeUnknown, workflow.CategoryWorkflow,
		"there is no secret %q (%s): name it under secrets in %s, or add it with wovyr secrets set %s", r.Name, have, FileName, r.Name)
}
