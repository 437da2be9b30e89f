package expr

import (
	"strings"
	"time"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Template is a JSON value whose strings may hold ${ … }. A string that is one expression yields its typed value; otherwise
// it is interpolated: numbers in plain decimal, null as nothing, lists and maps as JSON. A map entry whose value is an empty
// optional is left out. It is safe for concurrent use.
type Template struct {
	prog *templateProgram
	def  *workflow.Template
	typ  *Type
}

// templateProgram is the executable form of a template. It never changes.
type templateProgram struct {
	root   templatePart
	leaves []*leaf
	reads  []Read
	flaws  []*templateFlaw
}

// templateFlaw is a flaw with the string it is in.
type templateFlaw struct {
	pointer string
	src     string
	bad     *failure
}

// templatePart is a part of a template: exactly one field is set.
type templatePart struct {
	fixed  any // decoded JSON, settled
	isNull bool
	leaf   *leaf
	list   []templatePart
	keys   []string // of a map, with vals
	vals   []templatePart
	isMap  bool
	isList bool
}

// leaf is a string that holds expressions.
type leaf struct {
	pointer string
	src     string // the whole string
	pieces  []piece
	progs   []*program // of those pieces that are expressions, in order
	typed   bool       // the string is one expression
	defers  bool       // it reads what only an activity's worker knows
}

// newTemplateProgram builds the program of a template's canonical JSON.
func newTemplateProgram(src string) *templateProgram {
	p := &templateProgram{}
	p.root = p.build(settled(decode(src, nil)), "")
	for _, l := range p.leaves {
		p.reads = append(p.reads, l.reads()...)
	}
	p.reads = mergeReads(p.reads)
	return p
}

func (p *templateProgram) flaw(pointer, src string, bad *failure) templatePart {
	p.flaws = append(p.flaws, &templateFlaw{pointer, src, bad})
	return templatePart{isNull: true}
}

func (p *templateProgram) build(v any, pointer string) templatePart {
	before := len(p.leaves)
	switch v := v.(type) {
	case string:
		return p.string(v, pointer)
	case *list:
		out := templatePart{isList: true, list: make([]templatePart, v.size())}
		plain := true
		for i := range out.list {
			out.list[i] = p.build(v.at(i), pointer+pointerOf([]string{itoa(i)}))
			plain = plain && out.list[i].same(v.at(i))
		}
		if plain && len(p.leaves) == before {
			return templatePart{fixed: v}
		}
		return out
	case *object:
		return p.object(v, pointer)
	}
	return templatePart{fixed: v, isNull: v == nil}
}

func (p *templateProgram) object(v *object, pointer string) templatePart {
	before := len(p.leaves)
	out := templatePart{isMap: true, keys: v.keys, vals: make([]templatePart, v.size())}
	plain := true
	for i, key := range v.keys {
		at := pointer + pointerOf([]string{key})
		if strings.Contains(key, "${") {
			p.flaw(at, key, failf(CodeSyntax, "a key cannot be an expression").or("make the whole map in one expression: ${ {key: value} }"))
		}
		out.vals[i] = p.build(v.at(i), at)
		plain = plain && out.vals[i].same(v.at(i))
	}
	if plain && len(p.leaves) == before {
		return templatePart{fixed: v}
	}
	return out
}

// same reports whether the part is exactly the value v of the source: no expression and no escape in it.
func (p templatePart) same(v any) bool {
	switch {
	case p.leaf != nil, p.isList, p.isMap:
		return false
	case p.isNull:
		return v == nil
	}
	if s, ok := v.(string); ok {
		return p.fixed == s
	}
	return true
}

func (p *templateProgram) string(s, pointer string) templatePart {
	if !strings.Contains(s, "${") {
		return templatePart{fixed: s}
	}
	l := &leaf{pointer: pointer, src: s}
	if only, ok := single(s); ok {
		l.typed, l.pieces = true, []piece{only}
	} else {
		var bad *failure
		if l.pieces, bad = pieces(s); bad != nil {
			return p.flaw(pointer, s, bad)
		}
	}
	for _, piece := range l.pieces {
		if !piece.isExpr {
			continue
		}
		prog := programs.get(piece.text)
		l.progs = append(l.progs, prog)
		l.defers = l.defers || prog.deferred()
		for _, bad := range prog.flaws {
			p.flaw(pointer, s, bad.moved(piece.offset))
		}
	}
	if len(l.progs) == 0 {
		return templatePart{fixed: l.pieces[0].text}
	}
	p.leaves = append(p.leaves, l)
	return templatePart{leaf: l}
}

// moved is the failure at a place later in a larger text.
func (x *failure) moved(offset int32) *failure {
	c := *x
	c.at.from += offset
	c.set = true
	return &c
}

// CompileTemplate checks every expression of a template, which is canonical JSON. at gives the place of the first
// character of the string at a JSON pointer; nil means that places are not known. scope declares the names, and nil
// leaves them unchecked. The Template is nil if one of the findings is an error.
func CompileTemplate(src workflow.Value, at func(pointer string) workflow.Position, scope *Scope) (*Template, []Issue) {
	return templates.get(src.String()).compile(src, at, scope)
}

// Check is CompileTemplate of the same source, against another scope: the source is not looked at again.
func (t *Template) Check(at func(pointer string) workflow.Position, scope *Scope) (*Template, []Issue) {
	return t.prog.compile(t.def.JSON, at, scope)
}

func (p *templateProgram) compile(src workflow.Value, at func(pointer string) workflow.Position, scope *Scope) (*Template, []Issue) {
	if at == nil {
		at = func(string) workflow.Position { return workflow.Position{} }
	}
	t := &Template{prog: p, def: &workflow.Template{JSON: src, At: at("")}}
	var issues []Issue
	ok := true
	for _, flaw := range p.flaws {
		issues = append(issues, flaw.bad.issue(flaw.src, at(flaw.pointer)))
		ok = false
	}
	if !ok {
		return nil, issues
	}
	types := map[*leaf]*Type{}
	for _, l := range p.leaves {
		pos := at(l.pointer)
		t.def.Leaves = append(t.def.Leaves, workflow.LeafPosition{Pointer: l.pointer, At: pos})
		found, fine := l.check(types, pos, scope)
		issues = append(issues, found...)
		ok = ok && fine
	}
	if !ok {
		return nil, issues
	}
	t.typ = p.root.typeOf(types)
	return t, issues
}

// check checks the expressions of one string.
func (l *leaf) check(types map[*leaf]*Type, pos workflow.Position, scope *Scope) (issues []Issue, ok bool) {
	ok = true
	types[l] = String
	next := 0
	for _, piece := range l.pieces {
		if !piece.isExpr {
			continue
		}
		prog := l.progs[next]
		next++
		typ, found := check(prog, scope, nil)
		for i, bad := range found.list {
			moved := bad.moved(piece.offset)
			if found.warned[bad] {
				found.warned[moved] = true
			}
			found.list[i] = moved
		}
		list, fine := found.issues(l.src, pos)
		issues, ok = append(issues, list...), ok && fine
		if l.typed {
			types[l] = typ
		}
	}
	return issues, ok
}

// reads are the reads of one string. Interpolation looks into every value; what is left to the worker of an activity is
// captured with its content.
func (l *leaf) reads() []Read {
	var reads []Read
	for _, p := range l.progs {
		for _, r := range p.reads {
			r.Pass = r.Pass && l.typed && !l.defers
			reads = append(reads, r)
		}
	}
	return reads
}

func (p templatePart) typeOf(types map[*leaf]*Type) *Type {
	switch {
	case p.leaf != nil:
		return types[p.leaf]
	case p.isList:
		t := Dyn
		for i, item := range p.list {
			if i == 0 {
				t = item.typeOf(types)
			}
			t = join(t, item.typeOf(types))
		}
		return ListOf(t)
	case p.isMap:
		t := &Type{kind: kindMap, elem: Dyn, open: oneOfUs}
		for i, key := range p.keys {
			t.fields = append(t.fields, field{key, p.vals[i].typeOf(types), true})
		}
		return t
	}
	return valueType(p.fixed)
}

// LoadTemplate returns a template of a definition without checking it against anything. Programs are cached by source.
func LoadTemplate(def *workflow.Template) (t *Template, err error) {
	defer recoverInvalid(&err)
	p := templates.get(def.JSON.String())
	t = &Template{prog: p, def: def, typ: Dyn}
	if len(p.flaws) > 0 {
		flaw := p.flaws[0]
		return nil, flaw.bad.in(flaw.src, leafAt(t.def, flaw.pointer))
	}
	return t, nil
}

// Definition is the form in which definitions store the template.
func (t *Template) Definition() *workflow.Template { return t.def }

// Type is the type of the rendered value, Dyn after LoadTemplate.
func (t *Template) Type() *Type { return t.typ }

// Reads lists what the expressions read, sorted.
func (t *Template) Reads() []Read { return append([]Read(nil), t.prog.reads...) }

// Deferred reports whether an expression reads secrets, callback or task.
func (t *Template) Deferred() bool {
	for _, l := range t.prog.leaves {
		if l.defers {
			return true
		}
	}
	return false
}

// Constant returns the value of a template without expressions.
func (t *Template) Constant() (workflow.Value, bool) {
	if len(t.prog.leaves) > 0 {
		return nil, false
	}
	p, err := t.Render(nil)
	if err != nil {
		return nil, false
	}
	return p.JSON, true
}

// leafAt is the place of a string.
func leafAt(def *workflow.Template, pointer string) workflow.Position {
	for _, l := range def.Leaves {
		if l.Pointer == pointer {
			return l.At
		}
	}
	return def.At
}

// Render evaluates all expressions. Strings that read secrets, callback or task become deferred holes, and values kept
// by reference that are handed on whole become references. Errors are *workflow.Error.
func (t *Template) Render(a *Activation) (workflow.Payload, error) { return renderAs(t, a, encode) }

// RenderBool renders a condition.
func (t *Template) RenderBool(a *Activation) (bool, error) { return renderAs(t, a, boolOf) }

// RenderInt renders a whole number.
func (t *Template) RenderInt(a *Activation) (int64, error) { return renderAs(t, a, intOf) }

// RenderString renders a text; numbers, bools, times and durations are printed.
func (t *Template) RenderString(a *Activation) (string, error) { return renderAs(t, a, stringOf) }

// RenderDuration renders a duration, or a text that ParseDuration reads.
func (t *Template) RenderDuration(a *Activation) (time.Duration, error) {
	return renderAs(t, a, durationOf)
}

// RenderTime renders a time: a timestamp or an RFC 3339 text.
func (t *Template) RenderTime(a *Activation) (time.Time, error) { return renderAs(t, a, timeOf) }

// RenderList renders a list and returns its items.
func (t *Template) RenderList(a *Activation) ([]workflow.Payload, error) {
	return renderAs(t, a, listOf)
}

func renderAs[T any](t *Template, a *Activation, to func(any) (T, *failure)) (result T, err error) {
	defer recoverInvalid(&err)
	r := rendering{f: newFrame(a, 0)}
	v, bad := r.part(t.prog.root)
	if o, ok := v.(*optional); ok {
		v = o.val
	}
	if bad == nil {
		if result, bad = to(v); bad == nil {
			return result, nil
		}
	}
	if r.leaf == nil {
		return result, bad.in("", t.def.At)
	}
	return result, bad.in(r.leaf.src, leafAt(t.def, r.leaf.pointer))
}

// rendering is one run of a template. All its expressions share one budget.
type rendering struct {
	f    *frame
	leaf *leaf // the string that is being evaluated
}

func (r *rendering) part(p templatePart) (any, *failure) {
	switch {
	case p.leaf != nil:
		return r.string(p.leaf)
	case p.isList:
		vals := make([]any, len(p.list))
		for i, item := range p.list {
			v, bad := r.part(item)
			if bad != nil {
				return nil, bad
			}
			vals[i] = v
		}
		return newList(vals), nil
	case p.isMap:
		return r.object(p)
	}
	return p.fixed, nil
}

func (r *rendering) object(p templatePart) (any, *failure) {
	o := &object{}
	for i, key := range p.keys {
		v, bad := r.part(p.vals[i])
		if bad != nil {
			return nil, bad
		}
		if opt, ok := v.(*optional); ok {
			if !opt.has {
				continue
			}
			v = opt.val
		}
		o.keys, o.vals = append(o.keys, key), append(o.vals, v)
	}
	return o, nil
}

func (r *rendering) string(l *leaf) (any, *failure) {
	r.leaf = l
	if l.defers {
		return r.deferred(l)
	}
	v, bad := l.eval(r.f)
	if bad != nil {
		return nil, bad
	}
	return v, nil
}

// eval evaluates a string to its typed value or interpolated text.
func (l *leaf) eval(f *frame) (any, *failure) {
	if l.typed {
		v, bad := f.run(l.progs[0])
		if bad != nil {
			return nil, bad.moved(l.pieces[0].offset)
		}
		return v, nil
	}
	var out strings.Builder
	next := 0
	for _, piece := range l.pieces {
		text := piece.text
		if piece.isExpr {
			v, bad := f.run(l.progs[next])
			next++
			if bad == nil {
				text, bad = interpolated(f, v, "")
			}
			if bad != nil {
				return nil, bad.moved(piece.offset)
			}
		}
		if bad := f.bytes(len(text)); bad != nil {
			return nil, bad.moved(piece.offset)
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

// run evaluates a program within the budget of f.
func (f *frame) run(p *program) (any, *failure) {
	if p.slots > len(f.slots) {
		f.slots = make([]any, p.slots)
	}
	return p.run(f)
}
