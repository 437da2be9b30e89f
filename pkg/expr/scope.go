package expr

import "sort"

// Scope declares the names that an expression may read, with their types. Scopes are immutable.
type Scope struct {
	outer *Scope
	name  string
	typ   *Type
}

// NewScope returns a Scope without names.
func NewScope() *Scope { return &Scope{} }

// With returns a scope with one more name; it hides the same name of s.
func (s *Scope) With(name string, t *Type) *Scope { return &Scope{outer: s, name: name, typ: t} }

func (s *Scope) find(name string) *Type {
	for ; s != nil; s = s.outer {
		if s.name == name && s.typ != nil {
			return s.typ
		}
	}
	return nil
}

func (s *Scope) names() []string {
	var names []string
	for ; s != nil; s = s.outer {
		if s.typ != nil {
			names = append(names, s.name)
		}
	}
	sort.Strings(names)
	return names
}

// deferredNames exist only in the worker that runs an activity.
var deferredNames = map[string]bool{"secrets": true, "callback": true, "task": true}

// reservedNames are the names of the language, and where each exists.
var reservedNames = map[string]string{
	"input":     "in a workflow",
	"vars":      "in a workflow that declares vars",
	"steps":     "in a workflow",
	"execution": "in a workflow",
	"index":     "in a foreach",
	"collected": "in `until` and `output` of a foreach with collect",
	"iteration": "in a loop",
	"previous":  "in a loop",
	"event":     "where an event is matched or starts a workflow",
	"output":    "in `compensate` of a step that completed",
	"error":     "in `on_error`",
	"value":     "in the `like` of a match",
	"secrets":   "where an activity reads its input",
	"callback":  "in the input of a step with `callback: true`",
	"task":      "in `notify` of a human step",
}

// celWords are reserved by CEL, for names but not for fields.
var celWords = map[string]bool{
	"as": true, "break": true, "const": true, "continue": true, "else": true, "false": true, "for": true, "function": true,
	"if": true, "import": true, "in": true, "let": true, "loop": true, "package": true, "namespace": true, "null": true,
	"return": true, "true": true, "var": true, "void": true, "while": true,
}

// IsReserved reports whether a user may not choose name for an item of foreach or a binding of match: it is a name
// of the language, a reserved word of CEL or the name of a type.
func IsReserved(name string) bool {
	_, ours := reservedNames[name]
	return ours || celWords[name] || typeNames[name]
}
