package api

import (
	"fmt"
	"slices"

	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/workflow"
)

const codeUnknownSecret = "secret/unknown"

// Unnamed warns of the secrets of a workflow that are not among those that have a place; list is asked for them where the workflow names one. It is no
// error: they may be named before the workflow is started, and other processes may have them.
func Unnamed(file string, def *workflow.Definition, list func() ([]string, error)) ([]dsl.Diagnostic, error) {
	uses := dsl.Secrets(def)
	if len(uses) == 0 {
		return nil, nil
	}
	names, err := list()
	if err != nil {
		return nil, err
	}
	var found []dsl.Diagnostic
	for _, use := range uses {
		if slices.Contains(names, use.Name) {
			continue
		}
		suggestion := fmt.Sprintf("wovyr secrets set %s, or say under secrets in wovyr.yaml where it is", use.Name)
		if near := dsl.Nearest(use.Name, names); near != "" {
			suggestion = fmt.Sprintf("did you mean %q? Otherwise %s", near, suggestion)
		} else if len(names) > 0 {
			suggestion += "; there are " + some(names)
		}
		found = append(found, dsl.Diagnostic{File: file, Line: use.At.Line, Column: use.At.Column, Code: codeUnknownSecret, Severity: dsl.SeverityWarning,
			Message: fmt.Sprintf("there is no secret %q here", use.Name), Suggestion: suggestion})
	}
	return found, nil
}
