package secret

import (
	"context"
	"encoding/json"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// MinLength is the least number of bytes of a value. Less cannot be masked: it would stand by chance in half of all texts.
const MinLength = 4

// Codes of the errors of secrets. All are of category infrastructure but the first, which is the workflow's fault.
const (
	CodeUnknown     = "secret.unknown"     // nobody has named such a secret here
	CodeMissing     = "secret.missing"     // it is named, but has no value where it should be
	CodeUnavailable = "secret.unavailable" // the place where it is kept does not answer; retryable
	CodeTooShort    = "secret.too_short"   // its value has fewer than MinLength bytes
)

// Ref says which secret is wanted.
type Ref struct {
	// Tenant is who asks, and Name the name in workflows.
	Tenant, Name string
	// At is where the place keeps it, in the place's own words: a variable, a path, the name of a parameter. Empty: where Tenant and Name
	// lead, if the place has a rule for that.
	At string
	// Field picks one member of a value that is a JSON object; empty: all of it.
	Field string
}

// Provider reads secrets from one place. It is safe for concurrent use and keeps nothing: a Vault does. The error is a
// *workflow.Error of one of the codes above, without the value, saying what to do.
type Provider interface {
	Get(ctx context.Context, r Ref) (string, error)
}

// Pick returns the field of a value that a Ref names, or the value itself. Providers need not: whoever looks up a Ref does.
func Pick(r Ref, value string) (string, error) {
	if r.Field == "" {
		return value, nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(value), &members) != nil {
		return "", workflow.Errorf(CodeMissing, workflow.CategoryInfrastructure, "secret %q is not a JSON object, so it has no field %q: leave out key, or store an object", r.Name, r.Field)
	}
	field, ok := members[r.Field]
	if !ok {
		return "", workflow.Errorf(CodeMissing, workflow.CategoryInfrastructure, "secret %q has no field %q", r.Name, r.Field)
	}
	var text string
	if json.Unmarshal(field, &text) == nil {
		return text, nil
	}
	return string(field), nil
}

// checked refuses values that cannot be hidden.
func checked(name, value string) error {
	switch {
	case value == "":
		return workflow.Errorf(CodeMissing, workflow.CategoryInfrastructure, "secret %q is empty: give it a value", name)
	case len(value) < MinLength:
		return workflow.Errorf(CodeTooShort, workflow.CategoryInfrastructure, "secret %q has fewer than %d bytes, too few to be kept out of logs and histories: choose a longer value", name, MinLength)
	}
	return nil
}
