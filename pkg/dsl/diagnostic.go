package dsl

import (
	"fmt"
	"sort"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Severity says whether a Diagnostic refuses the document.
type Severity string

// The two severities.
const (
	SeverityError   Severity = "error"   // the document is refused
	SeverityWarning Severity = "warning" // the document is accepted, but probably not what was meant
)

// Diagnostic is one finding about a document: where, what is wrong, and what to write instead.
type Diagnostic struct {
	File string `json:"file"`
	// Line and Column start at 1 and count characters, not bytes; zero is unknown.
	Line   int `json:"line"`
	Column int `json:"column"`
	// EndColumn is the first column after the marked text on Line; zero where it is not known.
	EndColumn int `json:"end_column,omitempty"`
	// Code is stable across releases: "dsl/unknown-word".
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	// Suggestion says what to write instead; empty where nothing better is known.
	Suggestion string `json:"suggestion,omitempty"`
	// Pointer is the RFC 6901 JSON pointer of the place in the document; empty is the document itself.
	Pointer string `json:"pointer,omitempty"`
}

// String is the one-line form: "file:line:column: error: message [code]", without a place where none is known.
func (d Diagnostic) String() string {
	if d.Line == 0 {
		return fmt.Sprintf("%s: %s: %s [%s]", d.File, d.Severity, d.Message, d.Code)
	}
	return fmt.Sprintf("%s:%d:%d: %s: %s [%s]", d.File, d.Line, d.Column, d.Severity, d.Message, d.Code)
}

// maxDiagnostics bounds what one document can report; one more entry then says so.
const maxDiagnostics = 200

// sink collects the diagnostics of one document. It looks positions up, drops repeats and is bounded.
type sink struct {
	file   string
	source *source // set as soon as there is a document; nil before
	list   []Diagnostic
	seen   map[Diagnostic]bool
	errors int
	// dropped counts what came after the bound.
	dropped int
}

func newSink(file string) *sink { return &sink{file: file, seen: map[Diagnostic]bool{}} }

// errorf reports an error at the value that pointer names.
func (k *sink) errorf(pointer, code, suggestion, format string, args ...any) {
	if k.room(SeverityError) {
		k.add(k.pointed(pointer, false), SeverityError, code, suggestion, fmt.Sprintf(format, args...))
	}
}

// warnf reports a warning at the value that pointer names.
func (k *sink) warnf(pointer, code, suggestion, format string, args ...any) {
	if k.room(SeverityWarning) {
		k.add(k.pointed(pointer, false), SeverityWarning, code, suggestion, fmt.Sprintf(format, args...))
	}
}

// keyErrorf reports an error at the key of the mapping entry that pointer names.
func (k *sink) keyErrorf(pointer, code, suggestion, format string, args ...any) {
	if k.room(SeverityError) {
		k.add(k.pointed(pointer, true), SeverityError, code, suggestion, fmt.Sprintf(format, args...))
	}
}

// keyWarnf reports a warning at the key of the mapping entry that pointer names.
func (k *sink) keyWarnf(pointer, code, suggestion, format string, args ...any) {
	if k.room(SeverityWarning) {
		k.add(k.pointed(pointer, true), SeverityWarning, code, suggestion, fmt.Sprintf(format, args...))
	}
}

// errorAt reports an error at a place that the definition holds (Expr.At, Template.At, LeafPosition.At, Step.At),
// length characters wide (0: unknown). The pointer is found from the place.
func (k *sink) errorAt(at workflow.Position, length int, code, suggestion, format string, args ...any) {
	if k.room(SeverityError) {
		k.add(k.placed(at, length), SeverityError, code, suggestion, fmt.Sprintf(format, args...))
	}
}

// warnAt is errorAt for a warning.
func (k *sink) warnAt(at workflow.Position, length int, code, suggestion, format string, args ...any) {
	if k.room(SeverityWarning) {
		k.add(k.placed(at, length), SeverityWarning, code, suggestion, fmt.Sprintf(format, args...))
	}
}

// failed reports whether the document is refused.
func (k *sink) failed() bool { return k.errors > 0 }

func (k *sink) pointed(pointer string, key bool) Diagnostic {
	d := Diagnostic{Pointer: pointer}
	if k.source == nil {
		return d
	}
	at, end := k.source.span(pointer, key)
	d.Line, d.Column, d.EndColumn = at.Line, at.Column, end
	return d
}

func (k *sink) placed(at workflow.Position, length int) Diagnostic {
	pointer := ""
	if k.source != nil {
		pointer = k.source.pointerAt(at)
	}
	return span(pointer, at, length)
}

func span(pointer string, at workflow.Position, length int) Diagnostic {
	d := Diagnostic{Pointer: pointer, Line: at.Line, Column: at.Column}
	if length > 0 && at.Column > 0 {
		d.EndColumn = at.Column + length
	}
	return d
}

// room reports whether one more finding is kept; otherwise it counts it, which costs next to nothing.
func (k *sink) room(severity Severity) bool {
	if len(k.list) < maxDiagnostics {
		return true
	}
	k.dropped++
	if severity == SeverityError {
		k.errors++
	}
	return false
}

func (k *sink) add(d Diagnostic, severity Severity, code, suggestion, message string) {
	d.File, d.Code, d.Severity, d.Suggestion, d.Message = k.file, code, severity, suggestion, message
	if k.seen[d] {
		return
	}
	k.seen[d] = true
	if severity == SeverityError {
		k.errors++
	}
	k.list = append(k.list, d)
}

// sorted returns all diagnostics by place, then severity and code, with a closing one where some were dropped.
func (k *sink) sorted() []Diagnostic {
	list := append([]Diagnostic(nil), k.list...)
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		if a.Column != b.Column {
			return a.Column < b.Column
		}
		if a.Severity != b.Severity {
			return a.Severity < b.Severity
		}
		return a.Code < b.Code
	})
	if k.dropped > 0 {
		list = append(list, Diagnostic{
			File: k.file, Code: "dsl/too-many", Severity: SeverityError,
			Message:    fmt.Sprintf("%d more findings are not shown", k.dropped),
			Suggestion: "correct the first ones and check again",
		})
	}
	return list
}
