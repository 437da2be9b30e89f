package expr

import (
	"errors"
	"time"

	"github.com/wovyr/wovyr/pkg/workflow"
)

var errSkeleton = errors.New("expr: not built yet")

// ---- types and scopes ----

// Type is a static type. Types are immutable.
type Type struct{}

var (
	Dyn, Null, Bool, Int, Double, Number, String, Bytes, Timestamp, Duration *Type
)

// ListOf, MapOf and Record build types; a closed record refuses fields it does not name.
func ListOf(elem *Type) *Type                           { return nil }
func MapOf(elem *Type) *Type                            { return nil }
func Record(fields map[string]*Type, closed bool) *Type { return nil }
func (t *Type) OrNull() *Type                           { return t }
func (t *Type) String() string                          { return "dyn" }
func SchemaType(schema workflow.Value) *Type            { return Dyn } // what is not understood is dyn

// Scope declares the names an expression may read.
type Scope struct{}

func NewScope() *Scope                            { return &Scope{} }
func (s *Scope) With(name string, t *Type) *Scope { return s } // a new scope; s is unchanged
func IsReserved(name string) bool                 { return false }

// ---- expressions ----

// Expr is a compiled expression; safe for concurrent use.
type Expr struct{}

// Read is one access path: input.items[0].sku is {input, [items 0 sku]}.
type Read struct {
	Root string
	Path []string
	Pass bool // the value is only handed on, never looked into: it may stay a reference
	Size bool // only its size is read
}

// Compile checks src (with or without ${ } around it); at is the place of its first character; scope nil checks no names.
// The Expr is nil only if an issue is an error.
func Compile(src string, at workflow.Position, scope *Scope) (*Expr, []Issue) { return nil, nil }

// Load returns the program of an expression of a definition. It is cached by source.
func Load(x *workflow.Expr) (*Expr, error) { return nil, errSkeleton }

func (e *Expr) Definition() *workflow.Expr { return nil }           // what a definition stores: source without braces, place of its first character
func (e *Expr) Type() *Type                { return Dyn }           // Dyn after Load
func (e *Expr) Reads() []Read              { return nil }           // sorted
func (e *Expr) Whole() (Read, bool)        { return Read{}, false } // the expression is exactly this path
func (e *Expr) Deferred() bool             { return false }         // reads secrets, callback or task

func (e *Expr) Eval(a *Activation) (workflow.Payload, error)       { return workflow.Payload{}, errSkeleton }
func (e *Expr) EvalBool(a *Activation) (bool, error)               { return false, errSkeleton }
func (e *Expr) EvalInt(a *Activation) (int64, error)               { return 0, errSkeleton }
func (e *Expr) EvalString(a *Activation) (string, error)           { return "", errSkeleton }
func (e *Expr) EvalDuration(a *Activation) (time.Duration, error)  { return 0, errSkeleton }           // of a duration or string
func (e *Expr) EvalTime(a *Activation) (time.Time, error)          { return time.Time{}, errSkeleton } // of a timestamp or RFC 3339 string
func (e *Expr) EvalList(a *Activation) ([]workflow.Payload, error) { return nil, errSkeleton }

// ---- activations ----

// Binding is the value of a name.
type Binding struct{}

func Of(p workflow.Payload) Binding      { return Binding{} }
func OfValue(v workflow.Value) Binding   { return Binding{} }
func OfString(s string) Binding          { return Binding{} }
func OfInt(i int64) Binding              { return Binding{} }
func OfBool(b bool) Binding              { return Binding{} }
func OfTime(t time.Time) Binding         { return Binding{} }
func OfDuration(d time.Duration) Binding { return Binding{} }

// OfStruct is a lazily built object (`steps`, `execution`): get is asked at most once a field;
// keys (sorted or not; may be nil) are only asked when the object is used as a whole.
func OfStruct(get func(field string) (Binding, bool), keys func() []string) Binding { return Binding{} }

// Activation holds what one or more evaluations read; not safe for concurrent use. Decoded values are kept,
// so reuse it for all expressions of one decision as long as the names stand for the same values.
type Activation struct{}

func NewActivation(lookup func(name string) (Binding, bool)) *Activation { return &Activation{} }

// ---- templates ----

// Template is a JSON value whose strings may hold ${ … }; safe for concurrent use.
type Template struct{}

// CompileTemplate checks every expression of src; at gives the place of the first character of the string at a
// JSON pointer (nil: unknown). scope nil checks no names.
func CompileTemplate(src workflow.Value, at func(pointer string) workflow.Position, scope *Scope) (*Template, []Issue) {
	return nil, nil
}

// LoadTemplate returns the program of a template of a definition. It is cached by source.
func LoadTemplate(t *workflow.Template) (*Template, error) { return nil, errSkeleton }
func (t *Template) Definition() *workflow.Template         { return nil }
func (t *Template) Type() *Type                            { return Dyn }
func (t *Template) Reads() []Read                          { return nil }
func (t *Template) Deferred() bool                         { return false }
func (t *Template) Constant() (workflow.Value, bool)       { return nil, false } // no expression in it; $${ is resolved
func (t *Template) Render(a *Activation) (workflow.Payload, error) {
	return workflow.Payload{}, errSkeleton
}
func (t *Template) RenderBool(a *Activation) (bool, error)               { return false, errSkeleton }
func (t *Template) RenderInt(a *Activation) (int64, error)               { return 0, errSkeleton }
func (t *Template) RenderString(a *Activation) (string, error)           { return "", errSkeleton }
func (t *Template) RenderDuration(a *Activation) (time.Duration, error)  { return 0, errSkeleton }
func (t *Template) RenderTime(a *Activation) (time.Time, error)          { return time.Time{}, errSkeleton }
func (t *Template) RenderList(a *Activation) ([]workflow.Payload, error) { return nil, errSkeleton }

// ResolveDeferred evaluates a deferred leaf where the names secrets, callback and task exist.
func ResolveDeferred(d workflow.Deferred, names func(root string) (Binding, bool)) (workflow.Value, error) {
	return nil, errSkeleton
}

// ---- patterns ----

// Pattern is the `like` of a match case; stored as a workflow.Template.
type Pattern struct{}

// CompilePattern: `value` inside ${ } has the type the place has in value (nil: dyn).
func CompilePattern(src workflow.Value, at func(pointer string) workflow.Position, scope *Scope, value *Type) (*Pattern, []Issue) {
	return nil, nil
}
func (p *Pattern) Names() []string              { return nil } // of $name bindings, sorted, without the $
func (p *Pattern) Reads() []Read                { return nil }
func (p *Pattern) MarshalJSON() ([]byte, error) { return nil, errSkeleton }
func (p *Pattern) UnmarshalJSON(b []byte) error { return errSkeleton }

// Match reports whether v fits; bound holds the $name bindings (nil if it does not fit).
func (p *Pattern) Match(v Binding, a *Activation) (bound map[string]workflow.Payload, ok bool, err error) {
	return nil, false, errSkeleton
}

// ---- values ----

// Canonical makes JSON canonical (workflow.Value). Strict: duplicate keys, invalid UTF-8, lone surrogates, nesting over
// 1,000, trailing data are errors (*workflow.Error, payload.invalid).
func Canonical(json []byte) (workflow.Value, error) { return nil, errSkeleton }

// Marshal is encoding/json of v, then Canonical.
func Marshal(v any) (workflow.Value, error) { return nil, errSkeleton }

// KnownParts returns those parts of v that uses name, as workflow.Ref.Known wants it (commit protocol, point 10).
// payload.too_large when they exceed limit bytes.
func KnownParts(v workflow.Value, uses []workflow.Use, limit int) (workflow.Value, error) {
	return nil, errSkeleton
}

// CheckSize: payload.too_large when p has more than limit bytes.
func CheckSize(p workflow.Payload, limit int) error { return nil }

// ParseDuration takes "36h", "2d", "1d12h", "500ms"; FormatDuration prints the one canonical form ("36h", "1m30s").
func ParseDuration(s string) (time.Duration, error) { return 0, errSkeleton }
func FormatDuration(d time.Duration) string         { return "" }

// Zone is a time zone by IANA name from the embedded database, the same on every machine.
func Zone(name string) (*time.Location, error) { return nil, errSkeleton }
