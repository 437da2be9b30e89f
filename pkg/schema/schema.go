package schema

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Bounds of memory and of messages.
const (
	maxKept     = 1024 // compiled schemas
	maxFindings = 5    // named in one error
)

// Checker checks values. It is safe for concurrent use.
type Checker struct {
	kept *lru.Cache[string, *jsonschema.Schema]
}

// New returns a checker that has compiled nothing yet.
func New() *Checker {
	kept, err := lru.New[string, *jsonschema.Schema](maxKept)
	if err != nil {
		panic(err) // the size is constant
	}
	return &Checker{kept: kept}
}

// Check returns nil for a value that satisfies the schema, and for any value if there is no schema. Otherwise the error, of the
// given code and category workflow, says what does not fit at which place of what.
func (c *Checker) Check(schema, value workflow.Value, code, what string) *workflow.Error {
	if len(schema) == 0 {
		return nil
	}
	s, err := c.compile(schema)
	if err != nil {
		return unusable(what, strings.ReplaceAll(err.Error(), base+"#", "#"))
	}
	v, err := decode(value)
	if err == nil {
		err = s.Validate(v)
	}
	var report *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &report) && endless(report):
		return unusable(what, "it refers to itself for the same value, without end")
	case errors.As(err, &report):
		return workflow.Errorf(code, workflow.CategoryWorkflow, "%s does not fit its JSON Schema: %s", what, strings.Join(findings(report), "; "))
	}
	return workflow.Errorf(code, workflow.CategoryWorkflow, "%s is not JSON: %v", what, err)
}

func unusable(what, why string) *workflow.Error {
	return workflow.Errorf("schema.unusable", workflow.CategoryWorkflow, "the JSON Schema of %s cannot be used: %s", what, why)
}

// endless reports whether a check ended only because the schema led back to itself.
func endless(report *jsonschema.ValidationError) bool {
	if _, cycle := report.ErrorKind.(*kind.RefCycle); cycle {
		return true
	}
	return slices.ContainsFunc(report.Causes, endless)
}

// Misfit says how a value breaks a schema; "" if it satisfies it.
func (c *Checker) Misfit(schema, value workflow.Value) string {
	wrong := c.Check(schema, value, "schema", "it")
	if wrong == nil {
		return ""
	}
	return strings.TrimPrefix(wrong.Message, "it does not fit its JSON Schema: ")
}

// Fits reports whether a value satisfies a schema.
func (c *Checker) Fits(schema, value workflow.Value) bool {
	return c.Check(schema, value, "schema", "the value") == nil
}

func (c *Checker) compile(schema workflow.Value) (*jsonschema.Schema, error) {
	key := string(schema)
	if s, ok := c.kept.Get(key); ok {
		return s, nil
	}
	v, err := decode(schema)
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(nowhere{})
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource(base, v); err != nil {
		return nil, err
	}
	s, err := compiler.Compile(base)
	if err != nil {
		return nil, err
	}
	c.kept.Add(key, s)
	return s, nil
}

// base is the address under which schemas are compiled. Nothing is ever loaded from it, and no message shows it.
const base = "urn:wovyr:schema"

// nowhere loads nothing.
type nowhere struct{}

// Load implements jsonschema.URLLoader.
func (nowhere) Load(url string) (any, error) { return nil, fmt.Errorf("%s is outside the schema", url) }

func decode(v workflow.Value) (any, error) {
	if len(v) == 0 {
		v = workflow.Null
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(v))
}

// findings are the finest statements of a report, each with its place.
func findings(report *jsonschema.ValidationError) []string {
	var out []string
	more := 0
	var walk func(u *jsonschema.OutputUnit)
	walk = func(u *jsonschema.OutputUnit) {
		for i := range u.Errors {
			walk(&u.Errors[i])
		}
		if len(u.Errors) > 0 || u.Error == nil {
			return
		}
		if len(out) == maxFindings {
			more++
			return
		}
		place := u.InstanceLocation
		if place == "" {
			place = "at its top"
		}
		out = append(out, place+": "+u.Error.String())
	}
	walk(report.DetailedOutput())
	if more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return out
}
