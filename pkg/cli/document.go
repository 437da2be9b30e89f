package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/api"
	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// maxFile bounds what is read of one file. The language takes far less; this is only to say so in time.
const maxFile = 16 << 20

// document is one file, read and compiled.
type document struct {
	file        string
	data        []byte
	definition  *workflow.Definition // nil where the document is refused
	diagnostics []dsl.Diagnostic
}

// open reads and compiles one file; "-" is standard input. What is wrong with the file itself is a diagnostic too.
func open(env Environment, name string) document {
	d := document{file: name}
	if name == "-" {
		d.file = "standard input"
	}
	data, problem := read(env, name)
	if problem != nil {
		problem.File, problem.Severity = d.file, dsl.SeverityError
		d.diagnostics = []dsl.Diagnostic{*problem}
		return d
	}
	d.data = data
	d.definition, d.diagnostics = dsl.Compile(d.file, data)
	return d
}

// absent finds what a document calls or names that is not there where it runs.
func absent(ctx context.Context, d document, kinds *activity.Registry, secrets func() ([]string, error)) ([]dsl.Diagnostic, error) {
	unnamed, err := api.Unnamed(d.file, d.definition, secrets)
	if err != nil {
		return nil, err
	}
	found := append(api.Unregistered(ctx, d.file, d.definition, kinds), unnamed...)
	slices.SortStableFunc(found, func(a, b dsl.Diagnostic) int { return cmp.Compare(a.Line, b.Line) })
	return found, nil
}

// warnAbsent shows what a document calls or names that is not there where it runs.
func warnAbsent(env Environment, d document, found []dsl.Diagnostic) {
	d.diagnostics = found
	_ = printDiagnostics(env.Err, d, env.ErrColour) // standard error
}

// ofServer are the findings of a server that go beyond those of the language, which are shown already.
func ofServer(text json.RawMessage) []dsl.Diagnostic {
	var all []dsl.Diagnostic
	_ = json.Unmarshal(text, &all) // a newer server may say it in another way
	return slices.DeleteFunc(all, func(d dsl.Diagnostic) bool { return strings.HasPrefix(d.Code, "dsl/") })
}

func read(env Environment, name string) ([]byte, *dsl.Diagnostic) {
	in := env.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fileProblem(err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, fileProblem(err)
	}
	if len(data) > maxFile {
		return nil, &dsl.Diagnostic{Code: "file/too-large", Message: fmt.Sprintf("the file is larger than %d MiB", maxFile>>20),
			Suggestion: "is this the right file? A workflow has at most 1 MiB"}
	}
	return data, nil
}

func fileProblem(err error) *dsl.Diagnostic {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &dsl.Diagnostic{Code: "file/missing", Message: "there is no such file", Suggestion: "check the path; it is taken from the working directory"}
	case errors.Is(err, fs.ErrPermission):
		return &dsl.Diagnostic{Code: "file/unreadable", Message: "you may not read this file", Suggestion: "check its permissions"}
	case isDirectory(err):
		return &dsl.Diagnostic{Code: "file/directory", Message: "this is a directory", Suggestion: "name the files in it, such as " + pathOf(err) + "/*.yaml"}
	}
	return &dsl.Diagnostic{Code: "file/unreadable", Message: "the file cannot be read: " + cause(err)}
}

func isDirectory(err error) bool {
	info, failed := os.Stat(pathOf(err))
	return failed == nil && info.IsDir()
}

func pathOf(err error) string {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Path
	}
	return ""
}

// cause is the system's message without the path, which stands before it already.
func cause(err error) string {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}
