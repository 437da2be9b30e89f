package expr

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/wovyr/wovyr/pkg/workflow"
)

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

// String is "line:column: message [code]; suggestion".
func (i Issue) String() string {
	s := fmt.Sprintf("%d:%d: %s [%s]", i.At.Line, i.At.Column, i.Message, i.Code)
	if i.Suggestion != "" {
		s += "; " + i.Suggestion
	}
	return s
}

// place is a part of a source text, in characters.
type place struct{ from, length int32 }

// failure is an error on its way through an evaluation or check: no document position yet.
type failure struct {
	code string
	msg  string
	hint string // what to write instead
	at   place
	set  bool // at is known
}

func failf(code, format string, args ...any) *failure {
	return &failure{code: code, msg: fmt.Sprintf(format, args...)}
}

// or adds what to write instead.
func (x *failure) or(format string, args ...any) *failure {
	x.hint = fmt.Sprintf(format, args...)
	return x
}

// placed sets the place unless a more exact one is known.
func (x *failure) placed(at place) *failure {
	if !x.set {
		x.at, x.set = at, true
	}
	return x
}

// Error makes a failure printable in a panic.
func (x *failure) Error() string { return x.code + ": " + x.msg }

// absorbed reports whether && and || may pass over the failure of one side: not where the answer would depend
// on limits.
func (x *failure) absorbed() bool { return x.code != CodeCost && x.code != CodeTooLarge }

// in turns the failure into the error that a workflow sees, for the source text that stands at pos.
func (x *failure) in(src string, pos workflow.Position) *workflow.Error {
	at := locate(src, pos, x.at)
	msg := x.msg
	if x.hint != "" {
		msg += "; " + x.hint
	}
	e := encoder{limit: MaxResult}
	details := &object{keys: []string{"column", "expr", "line"}, vals: []any{int64(at.Column), shorten(src), int64(at.Line)}}
	if at.Line == 0 {
		details.keys, details.vals = details.keys[1:2], details.vals[1:2]
	}
	if bad := e.value(details, 0); bad != nil {
		panic("expr: error details: " + bad.Error())
	}
	return &workflow.Error{Code: x.code, Category: workflow.CategoryWorkflow, Message: msg, Details: e.buf}
}

// issue turns the failure into a finding of the check.
func (x *failure) issue(src string, pos workflow.Position) Issue {
	return Issue{Code: x.code, At: locate(src, pos, x.at), Length: int(x.at.length), Message: x.msg, Suggestion: x.hint}
}

// shorten keeps sources in error details readable; expressions may be long.
func shorten(src string) string {
	const most = 200
	if len(src) <= most {
		return src
	}
	cut := most
	for !utf8.RuneStart(src[cut]) {
		cut--
	}
	return src[:cut] + "…"
}

// locate finds a place of src in the document. Later lines of a source are counted from column 1: how far a
// block of YAML is indented is not known here.
func locate(src string, pos workflow.Position, at place) workflow.Position {
	if pos.Line == 0 {
		return workflow.Position{}
	}
	n := int(at.from)
	for _, r := range src {
		if n--; n < 0 {
			break
		}
		if r == '\n' {
			pos.Line, pos.Column = pos.Line+1, 1
		} else {
			pos.Column++
		}
	}
	return pos
}

// invalid is what decode panics with on a workflow.Value that is no JSON: Values are canonical by
// contract, so nobody handles it but recoverInvalid.
type invalid struct{ offset int }

// recoverInvalid turns a panic about a broken Value into an error.
func recoverInvalid(err *error) {
	switch r := recover().(type) {
	case nil:
	case invalid:
		*err = workflow.Errorf(CodeInvalid, workflow.CategoryWorkflow, "a stored value is not JSON")
	default:
		panic(r)
	}
}

// didYouMean suggests the closest of names, the first of equal ones, or "".
func didYouMean(name string, names []string) string {
	best, least := "", 3
	switch {
	case len(name) < 3:
		least = 0
	case len(name) < 6:
		least = 1
	case len(name) < 10:
		least = 2
	}
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n), least); d <= least && (best == "" || d < least) {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean `%s`?", best)
}

// distance is the number of edits from a to b (a swap of neighbours is one), or more than most.
func distance(a, b string, most int) int {
	if d := len(a) - len(b); d > most || -d > most || len(a) > 64 || len(b) > 64 {
		return most + 1
	}
	before, last, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(last[j]+1, next[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, last, next = last, next, before
	}
	return last[len(b)]
}
