package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/activity/builtin"
	"github.com/wovyr/wovyr/pkg/activity/script"
	"github.com/wovyr/wovyr/pkg/api"
	"github.com/wovyr/wovyr/pkg/aws/fit"
	"github.com/wovyr/wovyr/pkg/aws/stack"
	"github.com/wovyr/wovyr/pkg/dsl"
	"github.com/wovyr/wovyr/pkg/project"
)

type validate struct {
	env    Environment
	output string
	strict bool
	here   bool
	target string
}

func newValidate(env Environment) *cobra.Command {
	v := &validate{env: env}
	c := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check workflow documents",
		Long: `Checks workflow documents and says all that is wrong with each in one go: the
place, what is wrong, and what to write instead. Scripts are compiled, modules
from this folder. Nothing is run, and nothing is sent anywhere. A FILE of - is
standard input.

Errors refuse a document. Warnings do not: the document is accepted, but it
probably does not do what you mean; with --strict they refuse it too.

With --here it warns, too, of what this folder's project does not have: functions
that neither wovyr.yaml nor this program names, kinds that nothing here runs, and
secrets that have no place. Values of secrets are not read.

With --target aws, what can never run on AWS is an error too, as it is when the
document is deployed there: above all a step whose timeout is longer than a
Lambda function runs. No attempt runs longer than 14m55s there, one without a
timeout neither; work that takes longer is started with callback: true, or split.
Which functions a deployment has, only the deployment itself knows.

With --output json, standard output holds one object:

  {
    "valid": false,              every document is accepted
    "errors": 1, "warnings": 0,  of all documents together
    "files": [ {                 in the order of the command line
      "file": "order.yaml",
      "valid": false,
      "name": "order",           of the workflow; absent where it is refused
      "hash": "9f86d0…",         SHA-256 of its compiled form; absent likewise
      "steps": 7,                steps inside bodies included; absent likewise
      "diagnostics": [ {
        "file": "order.yaml",
        "line": 12, "column": 5, "end_column": 12,   from 1, in characters; 0: unknown
        "code": "dsl/unknown-word",                  stable across releases
        "severity": "error",                         or "warning"
        "message": "…",
        "suggestion": "…",       what to write instead; may be absent
        "pointer": "/steps/a"    RFC 6901, into the document; may be absent
      } ]
    } ]
  }`,
		Example: `  wovyr validate order.yaml
  wovyr validate --strict --here workflows/*.yaml
  wovyr validate --target aws order.yaml
  generate-workflow | wovyr validate -
  wovyr validate -o json order.yaml | jq '.files[].diagnostics[].code'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name at least one file, or - for standard input")
			}
			if v.target != "local" && v.target != "aws" {
				return fmt.Errorf("--target %s: it takes local or aws", v.target)
			}
			return oneInput(args)
		},
		ValidArgsFunction: documents,
		RunE:              func(c *cobra.Command, args []string) error { return v.run(c.Context(), args) },
	}
	outputFlag(c, &v.output, []string{"text", "json"})
	c.Flags().BoolVar(&v.here, "here", false, "warn of functions, kinds and secrets that this folder's project does not have")
	c.Flags().BoolVar(&v.strict, "strict", false, "refuse documents with warnings too")
	c.Flags().StringVar(&v.target, "target", "local", "where the documents are to run: local or aws")
	return c
}

// report is the JSON form of the result.
type report struct {
	Valid    bool         `json:"valid"`
	Errors   int          `json:"errors"`
	Warnings int          `json:"warnings"`
	Files    []fileReport `json:"files"`
}

type fileReport struct {
	File        string           `json:"file"`
	Valid       bool             `json:"valid"`
	Name        string           `json:"name,omitempty"`
	Hash        string           `json:"hash,omitempty"`
	Steps       int              `json:"steps,omitempty"`
	Diagnostics []dsl.Diagnostic `json:"diagnostics"`
}

func (v *validate) run(ctx context.Context, names []string) error {
	result := report{Valid: true}
	missing, err := v.missing()
	if err != nil {
		return err
	}
	for _, name := range names {
		d := open(v.env, name)
		if d.definition != nil {
			found, err := missing(ctx, d)
			if err != nil {
				return err
			}
			d.diagnostics = append(d.diagnostics, found...)
			if v.target == "aws" {
				if misfits := fit.Check(stack.Deployment{Unknown: true}, d.file, d.definition); len(misfits) > 0 {
					d.definition, d.diagnostics = nil, append(d.diagnostics, misfits...)
				}
			}
			slices.SortStableFunc(d.diagnostics, func(a, b dsl.Diagnostic) int { return cmp.Compare(a.Line, b.Line) })
		}
		f := v.check(d, &result)
		result.Files = append(result.Files, f)
		if v.output != "text" {
			continue
		}
		if err := printDiagnostics(v.env.Out, d, v.env.Colour); err != nil {
			return failure{err}
		}
	}
	if err := v.finish(result); err != nil {
		return failure{err}
	}
	if !result.Valid {
		return errRefused
	}
	return nil
}

// missing is what looks for calls that cannot run: with --here, for all that the project of this folder does not have.
func (v *validate) missing() (func(context.Context, document) ([]dsl.Diagnostic, error), error) {
	if !v.here {
		kinds := activity.NewRegistry()
		kinds.MustAdd(script.New(script.Options{Dir: "."}))
		return func(ctx context.Context, d document) ([]dsl.Diagnostic, error) {
			return api.Unfit(ctx, d.file, d.definition, kinds), nil
		}, nil
	}
	p, err := project.Load(".")
	if err != nil {
		return nil, err
	}
	guard, err := p.Guard()
	if err != nil {
		return nil, err
	}
	kinds, err := builtin.Registry(builtin.Options{Guard: guard, Dir: p.Dir()})
	if err == nil {
		err = errors.Join(kinds.Functions.Add(v.env.Functions...), p.Register(kinds.Functions))
	}
	return func(ctx context.Context, d document) ([]dsl.Diagnostic, error) {
		return absent(ctx, d, kinds, p.SecretNames)
	}, err
}

// check counts one document into the result.
func (v *validate) check(d document, result *report) fileReport {
	f := fileReport{File: d.file, Valid: d.definition != nil, Diagnostics: d.diagnostics}
	if f.Diagnostics == nil {
		f.Diagnostics = []dsl.Diagnostic{}
	}
	for _, each := range d.diagnostics {
		if each.Severity == dsl.SeverityError {
			result.Errors++
			continue
		}
		result.Warnings++
		f.Valid = f.Valid && !v.strict
	}
	if d.definition != nil {
		f.Name, f.Hash, f.Steps = d.definition.Name, dsl.Hash(d.definition), countSteps(d.definition.Body)
	}
	result.Valid = result.Valid && f.Valid
	return f
}

func (v *validate) finish(result report) error {
	if v.output == "json" {
		return writeJSON(v.env.Out, result)
	}
	_, err := io.WriteString(v.env.Out, summary(result))
	return err
}

// summary is the last line of the text form.
func summary(r report) string {
	refused := 0
	for _, f := range r.Files {
		if !f.Valid {
			refused++
		}
	}
	found := counted(r.Errors, "error")
	if r.Warnings > 0 {
		found += " and " + counted(r.Warnings, "warning")
	}
	first := r.Files[0]
	switch one := len(r.Files) == 1; {
	case one && refused > 0:
		return fmt.Sprintf("%s: refused, %s\n", first.File, found)
	case one && r.Warnings > 0:
		return fmt.Sprintf("%s: accepted, with %s\n", first.File, counted(r.Warnings, "warning"))
	case one:
		return fmt.Sprintf("%s: fine, workflow %s with %s\n", first.File, first.Name, counted(first.Steps, "step"))
	case refused > 0:
		return fmt.Sprintf("%d of %s refused, %s\n", refused, counted(len(r.Files), "document"), found)
	case r.Warnings > 0:
		return fmt.Sprintf("%s accepted, with %s\n", counted(len(r.Files), "document"), counted(r.Warnings, "warning"))
	}
	return counted(len(r.Files), "document") + " fine\n"
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
