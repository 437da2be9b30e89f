package dsl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/wovyr/wovyr/pkg/expr"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// checkTriggers refuses triggers that could never start an execution, and webhooks that would answer to the same path.
func (a *analysis) checkTriggers() {
	paths := map[string]int{}
	for i, t := range a.def.Triggers {
		where := "/triggers/" + strconv.Itoa(i)
		switch {
		case t.Event != nil:
			a.checkTriggerInput(where+"/event", t.Event.Input)
		case t.Schedule != nil:
			a.checkTriggerInput(where+"/schedule", t.Schedule.Input)
		case t.Webhook != nil:
			if t.Webhook.Emit == nil {
				a.checkTriggerInput(where+"/webhook", t.Webhook.Input)
			}
			if first, taken := paths[t.Webhook.Address()]; taken {
				a.sink.errorf(where+"/webhook/path", "dsl/duplicate", "give each webhook a path of its own", "trigger %d has the path %s already", first+1, clip(t.Webhook.Path))
			} else {
				paths[t.Webhook.Address()] = i
			}
		}
	}
}

// checkTriggerInput holds what a trigger gives against the schema of the workflow's input, as far as that is known before it gives it.
func (a *analysis) checkTriggerInput(where string, input *workflow.Template) {
	schema := a.def.Input
	if len(schema) == 0 {
		return
	}
	typ, constant, pointer := expr.Dyn, workflow.Value(nil), where+"/input"
	report := a.sink.errorf
	switch s := a.siteAt(pointer); {
	case s != nil && len(s.tmpl.Leaves) > 0:
		typ = s.typ
	case s != nil:
		constant = input.JSON
	case strings.HasSuffix(where, "/schedule"):
		constant, pointer, report = workflow.Value("{}"), where, a.sink.warnf // perhaps it is still being written
	default:
		return // the data of the event, or the body of the request
	}
	var wrong string
	if constant != nil {
		wrong = constantMisfit(schema, constant)
	} else {
		wrong = newFitting(schema).misfit(typ)
	}
	if wrong != "" {
		report(pointer, "dsl/trigger-input", "give what `input` of the workflow asks for", "the input of this trigger never fits the schema of `input`: %s", clipTo(wrong, 200))
	}
}

func (a *analysis) siteAt(pointer string) *site {
	i := slices.IndexFunc(a.sites, func(s *site) bool { return s.unit == nil && s.where == pointer })
	if i < 0 {
		return nil
	}
	return a.sites[i]
}

// constantMisfit says how a value breaks a schema; "" if it does not, or if the schema cannot be used.
func constantMisfit(schema, v workflow.Value) string {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return ""
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.DefaultDraft(jsonschema.Draft2020)
	if c.AddResource(schemaBase, doc) != nil {
		return ""
	}
	s, err := c.Compile(schemaBase)
	if err != nil {
		return ""
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(v))
	if err != nil {
		return ""
	}
	var report *jsonschema.ValidationError
	if !errors.As(s.Validate(value), &report) {
		return ""
	}
	leaf := leafErrors(report.DetailedOutput(), nil)[0]
	return placed(leaf.InstanceLocation, leaf.Error.String())
}

func placed(where, what string) string {
	if where == "" {
		return what
	}
	return where + ": " + what
}

// fitting holds types against a JSON Schema. All keywords of a schema hold together, so each that it knows is reason enough to refuse, and it
// says nothing of those that it does not know.
type fitting struct {
	root  any
	steps int
}

// maxFittingSteps bounds the work on one schema, which may lead back into itself.
const maxFittingSteps = 10_000

func newFitting(schema workflow.Value) *fitting {
	f := &fitting{}
	_ = json.Unmarshal(schema, &f.root) // it is a JSON Schema
	return f
}

func (f *fitting) misfit(t *expr.Type) string { return f.at("", f.root, t) }

// at says why no value of a type satisfies a part of the schema; "" where one may.
func (f *fitting) at(where string, schema any, t *expr.Type) string {
	s, ok := schema.(map[string]any)
	if f.steps++; !ok || t == expr.Dyn || f.steps > maxFittingSteps {
		return ""
	}
	names := typeNames(s["type"])
	if types := typesOf(names); len(types) > 0 && !t.Fits(types...) {
		return placed(where, fmt.Sprintf("%s is not %s", t, oneOf(names)))
	}
	if required, ok := s["required"].([]any); ok {
		for _, name := range required {
			if name, ok := name.(string); ok && t.Lacks(name) {
				return placed(where, fmt.Sprintf("%q is missing", name))
			}
		}
	}
	if properties, ok := s["properties"].(map[string]any); ok {
		for _, name := range sortedKeys(properties) {
			if wrong := f.at(where+"/"+escape(name), properties[name], t.Field(name)); wrong != "" && !t.Lacks(name) {
				return wrong
			}
		}
	}
	return f.others(where, s, t)
}

// others follows what leads to further schemas for the same value.
func (f *fitting) others(where string, s map[string]any, t *expr.Type) string {
	if ref, ok := s["$ref"].(string); ok {
		if target, found := pointed(f.root, ref); found {
			if wrong := f.at(where, target, t); wrong != "" {
				return wrong
			}
		}
	}
	if all, ok := s["allOf"].([]any); ok {
		for _, each := range all {
			if wrong := f.at(where, each, t); wrong != "" {
				return wrong
			}
		}
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		options, _ := s[word].([]any)
		wrong := ""
		for _, each := range options {
			if wrong = f.at(where, each, t); wrong == "" {
				break
			}
		}
		if wrong != "" {
			return wrong
		}
	}
	return ""
}

// pointed is what a reference within a schema leads to.
func pointed(root any, ref string) (any, bool) {
	pointer, local := strings.CutPrefix(ref, "#")
	if !local || pointer != "" && pointer[0] != '/' || strings.Contains(pointer, "%") {
		return nil, false
	}
	for _, token := range strings.Split(pointer, "/")[1:] {
		switch at := root.(type) {
		case map[string]any:
			root = at[unescape(token)]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			root = at[i]
		default:
			return nil, false
		}
	}
	return root, true
}

// typeNames are the types that a schema names; nil: any.
func typeNames(v any) (names []string) {
	switch v := v.(type) {
	case string:
		names = []string{v}
	case []any:
		for _, name := range v {
			if name, ok := name.(string); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// typesOf are the types of expressions whose values have one of some types of JSON. Times and durations become texts; a type that may be null
// fits whatever stands beside null, so null is none of them.
func typesOf(names []string) (types []*expr.Type) {
	for _, name := range names {
		switch name {
		case "boolean":
			types = append(types, expr.Bool)
		case "integer", "number":
			types = append(types, expr.Number)
		case "string":
			types = append(types, expr.String, expr.Timestamp, expr.Duration, expr.Bytes)
		case "array":
			types = append(types, expr.ListOf(expr.Dyn))
		case "object":
			types = append(types, expr.MapOf(expr.Dyn))
		}
	}
	return types
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m { // order-free: sorted below
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
