package workflow

import (
	"fmt"
	"strings"
)

// Category says what kind of thing failed (WF-002 §22); recovery differs by it.
type Category string

// The four failure categories of WF-002 §22.
const (
	CategoryActivity       Category = "activity"       // one activity failed by its own fault
	CategoryWorkflow       Category = "workflow"       // the workflow as a whole cannot proceed
	CategoryInfrastructure Category = "infrastructure" // a worker, lease, store or queue failed
	CategoryExternal       Category = "external"       // a provider or service was unavailable
)

// Valid reports whether c is one of the four categories.
func (c Category) Valid() bool {
	switch c {
	case CategoryActivity, CategoryWorkflow, CategoryInfrastructure, CategoryExternal:
		return true
	}
	return false
}

// Error is the typed error that a workflow sees as `error` (DSL.md, Policies): every failure of an
// activity, expression, limit or wait is one of these, so that every failure can be caught.
type Error struct {
	// Code names the failure, in dotted lower case: "timeout.activity", "http.503".
	Code string `json:"code" cbor:"1,keyasint,omitempty"`
	// Category decides, with Retryable, whether the default retry policy applies.
	Category Category `json:"category" cbor:"2,keyasint,omitempty"`
	// Message is for people. It holds no secret values.
	Message string `json:"message,omitempty" cbor:"3,keyasint,omitempty"`
	// Retryable is the failing side's hint that the same call may succeed later.
	Retryable bool `json:"retryable" cbor:"4,keyasint,omitempty"`
	// Details is canonical JSON with whatever the failing side adds, or nil.
	Details Value `json:"details,omitempty" cbor:"5,keyasint,omitempty"`
}

// Error implements the error interface: "code: message".
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Code
	}
	return e.Code + ": " + e.Message
}

// Errorf builds an Error that is not retryable.
func Errorf(code string, cat Category, format string, args ...any) *Error {
	return &Error{Code: code, Category: cat, Message: fmt.Sprintf(format, args...)}
}

// Matches reports whether selector names this error, as `retry.on` and `retry.not_on` use it: a
// category, a whole code, a dotted prefix of the code ("http" for "http.503"), or a class of
// status codes ("http.5xx").
func (e *Error) Matches(selector string) bool {
	if string(e.Category) == selector || e.Code == selector {
		return true
	}
	if strings.HasPrefix(e.Code, selector+".") {
		return true
	}
	if head, ok := strings.CutSuffix(selector, "xx"); ok && len(head) > 0 {
		rest, found := strings.CutPrefix(e.Code, head)
		return found && len(rest) == 2 && isDigit(rest[0]) && isDigit(rest[1])
	}
	return false
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
