package flowtest

import (
	"bytes"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// fits reports how a value breaks a JSON Schema, in one line; nil if it does not.
func fits(schema, v workflow.Value) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // no schema is loaded from elsewhere
	if err := c.AddResource("schema.json", doc); err != nil {
		return err
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		return err
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(v.String())))
	if err != nil {
		return err
	}
	err = s.Validate(instance)
	if bad := (*jsonschema.ValidationError)(nil); errors.As(err, &bad) {
		lines := strings.Split(strings.TrimSpace(bad.Error()), "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "- ")
		}
		return errors.New(strings.Join(lines[1:], "; "))
	}
	return err
}

// misfit is fits as the engine asks it.
func misfit(schema, v workflow.Value) string {
	if err := fits(schema, v); err != nil {
		return err.Error()
	}
	return ""
}
