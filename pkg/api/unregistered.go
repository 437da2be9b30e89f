package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// Codes of findings about what a process cannot run.
const (
	codeUnknownKind     = "activity/unknown-kind"
	codeUnknownFunction = "activity/unknown-function"
	codeCannotRun       = "activity/cannot-run"
)

// maxShownNames bounds how many names a suggestion lists.
const maxShownNames = 12

// Unregistered warns of the activities of a workflow that a process cannot run: their kinds and functions are not in its registry, or their kind finds that
// they cannot run, such as a script that does not compile. It is no error: functions may be registered before the workflow is started, and other processes may have them.
func Unregistered(ctx context.Context, file string, def *workflow.Definition, registry *activity.Registry) []dsl.Diagnostic {
	u := &unregistered{ctx: ctx, file: file, registry: registry, functions: registry.Functions.Names()}
	for _, k := range registry.Kinds() {
		u.kinds = append(u.kinds, string(k.Name))
	}
	u.body(def.Body)
	return u.found
}

// Unfit is Unregistered without the names: it warns only of what the kinds in the registry find that cannot run.
func Unfit(ctx context.Context, file string, def *workflow.Definition, registry *activity.Registry) []dsl.Diagnostic {
	u := &unregistered{ctx: ctx, file: file, registry: registry, anyName: true}
	u.body(def.Body)
	return u.found
}

type unregistered struct {
	ctx              context.Context // of one walk
	file             string
	registry         *activity.Registry
	anyName          bool
	kinds, functions []string
	found            []dsl.Diagnostic
}

func (u *unregistered) body(b workflow.Body) {
	for i := range b.Steps {
		s := &b.Steps[i]
		u.call(s.Kind, s.Call)
		if c := s.Compensate; c != nil {
			u.call(c.Kind, c.Call)
		}
		if h := s.Human; h != nil {
			u.call(h.NotifyKind, h.Notify)
		}
		switch {
		case s.Foreach != nil:
			u.body(s.Foreach.Body)
		case s.Loop != nil:
			u.body(s.Loop.Body)
		case s.Group != nil:
			u.body(s.Group.Body)
		case s.Race != nil:
			for _, branch := range s.Race.Branches {
				u.body(branch.Body)
			}
		}
	}
}

func (u *unregistered) call(kind workflow.Kind, c *workflow.Call) {
	switch {
	case c == nil:
	case !u.anyName && !slices.Contains(u.kinds, string(kind)):
		u.warn(c, codeUnknownKind, "", u.kinds, fmt.Sprintf("nothing here runs steps of kind `%s` yet", kind), "kinds that run here:")
	case !u.anyName && kind == workflow.KindFunction && c.Name != "" && !slices.Contains(u.functions, c.Name):
		u.warn(c, codeUnknownFunction, c.Name, u.functions, fmt.Sprintf("there is no function %q here", c.Name),
			"name it under functions in wovyr.yaml, or register it in a program of your own; there are")
	default:
		u.check(kind, c)
	}
}

// check asks the kind whether the call can run. Only what has no expressions is known before it runs.
func (u *unregistered) check(kind workflow.Kind, c *workflow.Call) {
	k, err := u.registry.Find(kind)
	if err != nil || k.Check == nil || c.Target == nil || len(c.Target.Leaves) > 0 {
		return
	}
	var wrong *activity.Error
	if !errors.As(k.Check(u.ctx, json.RawMessage(c.Target.JSON)), &wrong) {
		return
	}
	u.found = append(u.found, dsl.Diagnostic{File: u.file, Line: c.Target.At.Line, Column: c.Target.At.Column, Code: codeCannotRun, Severity: dsl.SeverityWarning,
		Message: fmt.Sprintf("this %s cannot run: %s", kind, wrong.Message), Suggestion: "mend it: as it is, the step fails when it is reached"})
}

// warn reports a finding at what is called. What is called nearly as what there is, is probably that.
func (u *unregistered) warn(c *workflow.Call, code, name string, known []string, message, otherwise string) {
	suggestion := otherwise + " " + some(known)
	if near := dsl.Nearest(name, known); near != "" {
		suggestion = fmt.Sprintf("did you mean %q? Otherwise %s %s", near, otherwise, some(known))
	}
	d := dsl.Diagnostic{File: u.file, Line: c.Target.At.Line, Column: c.Target.At.Column, Code: code, Severity: dsl.SeverityWarning, Message: message, Suggestion: suggestion}
	if name != "" {
		d.EndColumn = d.Column + len([]rune(name))
	}
	u.found = append(u.found, d)
}

// some lists the first of some names.
func some(names []string) string {
	if len(names) > maxShownNames {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxShownNames], ", "), len(names)-maxShownNames)
	}
	return strings.Join(names, ", ")
}
