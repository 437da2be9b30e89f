package secret

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Environment is the place of secrets in environment variables, which Ref.At names.
type Environment struct{}

// Get implements Provider.
func (Environment) Get(_ context.Context, r Ref) (string, error) {
	v, ok := os.LookupEnv(r.At)
	if !ok {
		return "", workflow.Errorf(CodeMissing, workflow.CategoryInfrastructure, "secret %q is in the environment variable %s, which is not set", r.Name, r.At)
	}
	return v, nil
}

// Folder is the place of secrets in files, a file each, which Ref.At names from the folder on. The end of the last line does not count.
type Folder string

// Get implements Provider.
func (dir Folder) Get(_ context.Context, r Ref) (string, error) {
	file := r.At
	if !filepath.IsAbs(file) {
		file = filepath.Join(string(dir), file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", workflow.Errorf(CodeMissing, workflow.CategoryInfrastructure, "secret %q cannot be read from the file %s", r.Name, r.At)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}
