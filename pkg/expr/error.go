package expr

import "github.com/wovyr/wovyr/pkg/workflow"

// Codes of the errors and issues of this package. The list is closed: each failure of an
// expression, template or pattern has one of these codes.
const (
	CodeSyntax   = "expression.syntax"  // the text is no expression
	CodeName     = "expression.name"    // no such name, field or function
	CodeType     = "expression.type"    // an operator or function got a value it does not take
	CodeRange    = "expression.range"   // overflow, division by zero, a number JSON cannot hold
	CodeMissing  = "expression.missing" // no such key or index, or something read of null
	CodeCost     = "expression.cost"    // too long, too deep, too many steps, or too much memory
	CodeTooLarge = "payload.too_large"  // a result above MaxResult, or a read of what is kept by reference
	CodeInvalid  = "payload.invalid"    // bytes that are not one JSON value
)

// Issue is one finding of the static check.
type Issue struct {
	Code       string            // one of the Code constants
	At         workflow.Position // in the document
	Length     int               // characters from At on that the finding is about; 0 unknown
	Message    string            // what is wrong
	Suggestion string            // what to write instead, or ""
	Warning    bool              // the expression may be deployed all the same
}
