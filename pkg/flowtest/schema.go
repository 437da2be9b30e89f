package flowtest

import (
	"errors"

	"github.com/wovyr/wovyr/pkg/schema"
	"github.com/wovyr/wovyr/pkg/workflow"
)

// schemas keeps the schemas that tests use again and again.
var schemas = schema.New()

// fits reports how a value breaks a JSON Schema, in one line; nil if it does not.
func fits(s, v workflow.Value) error {
	if wrong := schemas.Misfit(s, v); wrong != "" {
		return errors.New(wrong)
	}
	return nil
}

// misfit is fits as the engine asks it.
func misfit(s, v workflow.Value) string { return schemas.Misfit(s, v) }
