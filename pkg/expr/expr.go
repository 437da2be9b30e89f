package expr

import (
	"time"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Expr is a compiled expression. It is safe for concurrent use.
type Expr struct {
	prog *program
	def  *workflow.Expr
	typ  *Type
}

// Compile checks one expression, with or without ${ } around it. at is the place of its first character in the
// document; scope declares the names it may read, and nil leaves names unchecked. All findings are
// returned; the Expr is nil if one of them is an error.
func Compile(src string, at workflow.Position, scope *Scope) (*Expr, []Issue) {
	inner, offset := unbraced(src)
	at = locate(src, at, place{from: offset})
	return programs.get(inner).compile(at, scope)
}

// Check is Compile of the same source, against another scope: the source is not looked at again. at is the place of its
// first character, without braces.
func (e *Expr) Check(at workflow.Position, scope *Scope) (*Expr, []Issue) {
	return e.prog.compile(at, scope)
}

func (p *program) compile(at workflow.Position, scope *Scope) (*Expr, []Issue) {
	e := &Expr{prog: p, def: &workflow.Expr{Source: p.src, At: at}}
	typ, found := check(p, scope, nil)
	e.typ = typ
	issues, ok := found.issues(p.src, at)
	if !ok {
		return nil, issues
	}
	return e, issues
}

// Load returns an expression of a definition without checking it against anything: it was compiled before.
// Programs are cached by source.
func Load(x *workflow.Expr) (*Expr, error) {
	p := programs.get(x.Source)
	if len(p.flaws) > 0 {
		return nil, p.flaws[0].in(x.Source, x.At)
	}
	return &Expr{prog: p, def: x, typ: Dyn}, nil
}

// Definition is the form in which definitions store the expression: its source without braces and the place of its first
// character.
func (e *Expr) Definition() *workflow.Expr { return e.def }

// Type is the type of the result, Dyn where it is not known or after Load.
func (e *Expr) Type() *Type { return e.typ }

// Reads lists what the expression reads, sorted. What it reads whole includes the parts.
func (e *Expr) Reads() []Read { return append([]Read(nil), e.prog.reads...) }

// Whole reports whether the expression is exactly one path, and which: its value can be handed on without being loaded.
func (e *Expr) Whole() (Read, bool) {
	p := (&readSet{}).path(e.prog.root)
	if a, ok := e.prog.root.(*access); p == nil || ok && a.test {
		return Read{}, false
	}
	return Read{Root: p.root, Path: p.keys, Pass: true}, true
}

// Deferred reports whether the expression reads secrets, callback or task, which exist only in the worker of an activity.
func (e *Expr) Deferred() bool { return e.prog.deferred() }

func (p *program) deferred() bool {
	for _, r := range p.reads {
		if deferredNames[r.Root] {
			return true
		}
	}
	return false
}

// value evaluates the expression. An empty optional is null.
func (e *Expr) value(a *Activation) (any, *failure) {
	v, bad := e.prog.run(newFrame(a, e.prog.slots))
	if o, ok := v.(*optional); ok {
		v = o.val
	}
	return v, bad
}

// run evaluates a program in a frame made for it.
func (p *program) run(f *frame) (any, *failure) {
	if len(p.flaws) > 0 {
		return nil, p.flaws[0]
	}
	return p.root.eval(f)
}

// fail makes the error of a failed evaluation.
func (e *Expr) fail(bad *failure) error { return bad.in(e.def.Source, e.def.At) }

// convert evaluates an expression and converts its result.
func convert[T any](e *Expr, a *Activation, to func(any) (T, *failure)) (result T, err error) {
	defer recoverInvalid(&err)
	v, bad := e.value(a)
	if bad == nil {
		if result, bad = to(v); bad == nil {
			return result, nil
		}
	}
	return result, e.fail(bad)
}

// Eval evaluates the expression to canonical JSON, with holes for what is kept by reference and handed on whole. An
// empty optional is null. Errors are *workflow.Error.
func (e *Expr) Eval(a *Activation) (workflow.Payload, error) { return convert(e, a, encode) }

// EvalBool evaluates a condition.
func (e *Expr) EvalBool(a *Activation) (bool, error) { return convert(e, a, boolOf) }

// EvalInt evaluates to a whole number, an int or a double without fraction.
func (e *Expr) EvalInt(a *Activation) (int64, error) { return convert(e, a, intOf) }

// EvalString evaluates to a text; numbers, bools, times and durations are printed.
func (e *Expr) EvalString(a *Activation) (string, error) { return convert(e, a, stringOf) }

// EvalDuration evaluates to a duration, or a text that ParseDuration reads.
func (e *Expr) EvalDuration(a *Activation) (time.Duration, error) { return convert(e, a, durationOf) }

// EvalTime evaluates to a time: a timestamp or an RFC 3339 text. It is in UTC.
func (e *Expr) EvalTime(a *Activation) (time.Time, error) { return convert(e, a, timeOf) }

// EvalList evaluates to a list and returns its items.
func (e *Expr) EvalList(a *Activation) ([]workflow.Payload, error) { return convert(e, a, listOf) }

func encode(v any) (workflow.Payload, *failure) {
	enc := encoder{limit: MaxResult}
	if bad := enc.value(v, 0); bad != nil {
		return workflow.Payload{}, bad
	}
	return enc.payload(), nil
}

func boolOf(v any) (bool, *failure) {
	if b, ok := v.(bool); ok {
		return b, nil
	}
	return false, notBool(v)
}

func intOf(v any) (int64, *failure) {
	if n, ok := index(v); ok {
		return n, nil
	}
	if bad := unreadable(v); bad != nil {
		return 0, bad
	}
	x := failf(CodeType, "expected a whole number, not %s", kindName(v))
	if isNumber(v) {
		return 0, failf(CodeRange, "expected a whole number").or("write int(x)")
	}
	return 0, x
}

func stringOf(v any) (string, *failure) {
	if s, ok := plainText(v); ok {
		return s, nil
	}
	if bad := unreadable(v); bad != nil {
		return "", bad
	}
	return "", failf(CodeType, "expected a text, not %s", kindName(v))
}

func listOf(v any) ([]workflow.Payload, *failure) {
	l, ok := v.(*list)
	if !ok {
		if bad := unreadable(v); bad != nil {
			return nil, bad
		}
		x := failf(CodeType, "expected a list, not %s", kindName(v))
		if v == nil {
			x.or("give a default: coalesce(x, [])")
		}
		return nil, x
	}
	items := make([]workflow.Payload, l.size())
	left := maxBytes
	for i := range items {
		enc := encoder{limit: min(MaxResult, left)}
		if bad := enc.value(l.at(i), 0); bad != nil {
			return nil, bad
		}
		items[i] = enc.payload()
		left -= len(enc.buf)
	}
	return items, nil
}

// findings are what the check of one program found.
type findings struct {
	list   []*failure
	warned map[*failure]bool
}

// check finds the flaws of a program. extra declares the type of one more name, value.
func check(p *program, scope *Scope, value *Type) (*Type, findings) {
	if len(p.flaws) > 0 {
		return Dyn, findings{list: append([]*failure(nil), p.flaws...)}
	}
	if scope != nil && value != nil {
		scope = scope.With("value", value)
	}
	c := &checker{scope: scope}
	t := c.typeOf(p.root)
	if t.kind == kindOptional {
		t = t.elem.OrNull()
	}
	return t, findings{c.found, c.warned}
}

// issues locates the findings; ok is false if one is an error.
func (f findings) issues(src string, at workflow.Position) (list []Issue, ok bool) {
	ok = true
	for _, x := range f.list {
		issue := x.issue(src, at)
		issue.Warning = f.warned[x]
		ok = ok && issue.Warning
		list = append(list, issue)
	}
	return list, ok
}
