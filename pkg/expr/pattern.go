package expr

import (
	"sort"
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Pattern is the `like` of a match case: the shape of a value. Maps match by the keys they name, lists item by item, and
// other constants by equality; among strings, _ matches anything, text* a prefix, $name anything and binds it,
// and ${ … } is a condition over `value`, the value at that place. It is safe for concurrent use.
type Pattern struct {
	prog *patternProgram
	def  *workflow.Template
}

// patternProgram is the executable form of a pattern. It never changes.
type patternProgram struct {
	root       shape
	names      []string            // that it binds, sorted
	binds      map[string][]string // where each was bound last, while it is built
	conditions []*condition
	reads      []Read
	flaws      []*templateFlaw
}

// shape matches one value.
type shape struct {
	kind  shapeKind
	text  string     // the prefix, or the name to bind
	fixed any        // the constant
	cond  *condition // the condition
	keys  []string   // of a map
	parts []shape    // of a map or list
}

type shapeKind byte

const (
	anything shapeKind = iota
	constant
	prefix
	bound
	conditioned
	mapShape
	listShape
)

// condition is a ${ … } of a pattern.
type condition struct {
	pointer string
	path    []string
	src     string
	offset  int32
	prog    *program
}

func newPatternProgram(src string) *patternProgram {
	p := &patternProgram{}
	p.root = p.build(decode(src, nil), nil)
	sort.Strings(p.names)
	p.names = unique(p.names)
	p.reads = mergeReads(p.reads)
	return p
}

func unique(sorted []string) []string {
	var out []string
	for _, s := range sorted {
		if len(out) == 0 || out[len(out)-1] != s {
			out = append(out, s)
		}
	}
	return out
}

func (p *patternProgram) flaw(path []string, src string, bad *failure) shape {
	p.flaws = append(p.flaws, &templateFlaw{pointerOf(path), src, bad})
	return shape{}
}

// read records what a shape needs of the value at a path.
func (p *patternProgram) read(path []string, u use) {
	p.reads = append(p.reads, Read{Root: "value", Path: path, Pass: u == pass, Size: u == size})
}

func (p *patternProgram) build(v any, path []string) shape {
	below := func(key string) []string { return append(path[:len(path):len(path)], key) }
	switch v := v.(type) {
	case string:
		return p.string(v, path)
	case *list:
		p.read(path, size)
		s := shape{kind: listShape}
		for i := range v.size() {
			s.parts = append(s.parts, p.build(v.at(i), below(itoa(i))))
		}
		return s
	case *object:
		p.read(path, size)
		s := shape{kind: mapShape, keys: v.keys}
		for i, key := range v.keys {
			s.parts = append(s.parts, p.build(v.at(i), below(key)))
		}
		return s
	}
	u := look
	if v == nil {
		u = size
	}
	p.read(path, u)
	return shape{kind: constant, fixed: v}
}

func (p *patternProgram) string(s string, path []string) shape {
	switch {
	case strings.Contains(s, "${"):
		return p.condition(s, path)
	case s == "_":
		p.read(path, size)
		return shape{kind: anything}
	case strings.HasPrefix(s, "$") && isName(s[1:]):
		name := s[1:]
		if IsReserved(name) {
			return p.flaw(path, s, failf(CodeName, "%s is a name of the language", name).or("bind another name"))
		}
		return p.bind(name, path)
	case strings.HasSuffix(s, "*"):
		p.read(path, look)
		return shape{kind: prefix, text: s[:len(s)-1]}
	}
	p.read(path, look)
	return shape{kind: constant, fixed: s}
}

// bind makes the shape of $name. A name that stands twice is compared, and so read.
func (p *patternProgram) bind(name string, path []string) shape {
	if p.binds == nil {
		p.binds = map[string][]string{}
	}
	u := pass
	if before, twice := p.binds[name]; twice {
		u = look
		p.read(before, look)
	}
	p.binds[name] = path
	p.read(path, u)
	p.names = append(p.names, name)
	return shape{kind: bound, text: name}
}

func isName(s string) bool {
	for i := range len(s) {
		if !isWord(s[i]) || i == 0 && s[i] >= '0' && s[i] <= '9' {
			return false
		}
	}
	return s != ""
}

func (p *patternProgram) condition(s string, path []string) shape {
	only, ok := single(s)
	if !ok {
		parts, bad := pieces(s)
		switch {
		case bad != nil:
			return p.flaw(path, s, bad)
		case len(parts) == 1 && !parts[0].isExpr:
			p.read(path, look)
			return shape{kind: constant, fixed: parts[0].text}
		}
		return p.flaw(path, s, failf(CodeSyntax, "a pattern holds one expression or none").
			or(`write the whole condition as an expression: ${ value == "…" + x }`))
	}
	prog := programs.get(only.text)
	for _, bad := range prog.flaws {
		p.flaw(path, s, bad.moved(only.offset))
	}
	if prog.deferred() {
		p.flaw(path, s, failf(CodeName, "secrets and links cannot be compared here").or("they exist only in the worker of an activity"))
	}
	for _, r := range prog.reads {
		if r.Root == "value" {
			r.Path = append(path[:len(path):len(path)], r.Path...)
		}
		p.reads = append(p.reads, r)
	}
	c := &condition{pointer: pointerOf(path), path: path, src: s, offset: only.offset, prog: prog}
	p.conditions = append(p.conditions, c)
	return shape{kind: conditioned, cond: c}
}

// CompilePattern checks every condition of a pattern, which is canonical JSON. at gives the place of the first character
// of the string at a JSON pointer (nil: not known), scope declares the names (nil: not checked), value is the type of what
// is matched (nil: not known). The Pattern is nil if one of the findings is an error.
func CompilePattern(src workflow.Value, at func(pointer string) workflow.Position, scope *Scope, value *Type) (*Pattern, []Issue) {
	if at == nil {
		at = func(string) workflow.Position { return workflow.Position{} }
	}
	if value == nil {
		value = Dyn
	}
	p := &Pattern{prog: patterns.get(src.String()), def: &workflow.Template{JSON: src, At: at("")}}
	var issues []Issue
	for _, flaw := range p.prog.flaws {
		issues = append(issues, flaw.bad.issue(flaw.src, at(flaw.pointer)))
	}
	ok := len(issues) == 0
	if !ok {
		return nil, issues
	}
	for _, c := range p.prog.conditions {
		pos := at(c.pointer)
		p.def.Leaves = append(p.def.Leaves, workflow.LeafPosition{Pointer: c.pointer, At: pos})
		found, fine := c.check(pos, scope, value.at(c.path))
		issues, ok = append(issues, found...), ok && fine
	}
	if !ok {
		return nil, issues
	}
	return p, issues
}

// at is the type of a part of a value, as far as it is known.
func (t *Type) at(path []string) *Type {
	for _, key := range path {
		switch t.kind {
		case kindMap:
			t = t.Field(key)
		case kindList:
			t = t.elem
		default:
			return Dyn
		}
	}
	return t
}

func (c *condition) check(pos workflow.Position, scope *Scope, value *Type) ([]Issue, bool) {
	typ, found := check(c.prog, scope, value)
	if !typ.is(kindDyn, kindBool) {
		found.list = append(found.list, notCondition(typ).placed(c.prog.root.where()))
	}
	for i, bad := range found.list {
		moved := bad.moved(c.offset)
		if found.warned[bad] {
			found.warned[moved] = true
		}
		found.list[i] = moved
	}
	return found.issues(c.src, pos)
}

func notCondition(t *Type) *failure {
	return failf(CodeType, "an expression in a pattern is a condition, not %s", t).or("write ${ value == … }")
}

// LoadPattern returns a pattern of a definition without checking it against anything. Programs are cached by source.
func LoadPattern(def *workflow.Template) (p *Pattern, err error) {
	defer recoverInvalid(&err)
	p = &Pattern{prog: patterns.get(def.JSON.String()), def: def}
	if len(p.prog.flaws) > 0 {
		flaw := p.prog.flaws[0]
		return nil, flaw.bad.in(flaw.src, leafAt(def, flaw.pointer))
	}
	return p, nil
}

// Definition is the form in which definitions store the pattern.
func (p *Pattern) Definition() *workflow.Template { return p.def }

// Names lists the names the pattern binds, sorted, without their $.
func (p *Pattern) Names() []string { return append([]string(nil), p.prog.names...) }

// Reads lists what the pattern reads, sorted. The root `value` stands for the value that is matched.
func (p *Pattern) Reads() []Read { return append([]Read(nil), p.prog.reads...) }

// Match reports whether v fits, and if so what the pattern binds. a binds the other names its conditions read. A name that
// stands twice must match equal values.
func (p *Pattern) Match(v Binding, a *Activation) (binds map[string]workflow.Payload, ok bool, err error) {
	defer recoverInvalid(&err)
	m := matching{f: newFrame(a, 0), names: map[string]any{}}
	ok, bad := m.fits(p.prog.root, v.value())
	if bad == nil && ok {
		binds, bad = m.payloads(p.prog.names)
	}
	switch {
	case bad == nil:
		return binds, ok, nil
	case m.cond == nil:
		return nil, false, bad.in("", p.def.At)
	}
	return nil, false, bad.in(m.cond.src, leafAt(p.def, m.cond.pointer))
}

// matching is one run of a pattern. All its conditions share one budget.
type matching struct {
	f     *frame
	names map[string]any
	cond  *condition // that is being evaluated
}

func (m *matching) payloads(names []string) (map[string]workflow.Payload, *failure) {
	binds := make(map[string]workflow.Payload, len(names))
	for _, name := range names {
		p, bad := encode(m.names[name])
		if bad != nil {
			return nil, bad
		}
		binds[name] = p
	}
	return binds, nil
}

func (m *matching) fits(s shape, v any) (bool, *failure) {
	if bad := m.f.work(1); bad != nil {
		return false, bad
	}
	switch s.kind {
	case anything:
		return true, nil
	case bound:
		return m.bind(s.text, v)
	case prefix:
		text, ok := v.(string)
		if bad := unreadable(v); bad != nil {
			return false, bad
		}
		return ok && strings.HasPrefix(text, s.text), nil
	case conditioned:
		return m.condition(s.cond, v)
	case mapShape:
		return m.fitsMap(s, v)
	case listShape:
		return m.fitsList(s, v)
	}
	return equal(m.f, v, s.fixed)
}

func (m *matching) bind(name string, v any) (bool, *failure) {
	if before, ok := m.names[name]; ok {
		return equal(m.f, before, v)
	}
	m.names[name] = v
	return true, nil
}

func (m *matching) fitsMap(s shape, v any) (bool, *failure) {
	switch v := v.(type) {
	case *object, *lazy:
	case *hole:
		kind, _, known := v.size()
		switch {
		case !known:
			return false, unreadable(v)
		case kind != "map":
			return false, nil
		}
	default:
		return false, nil
	}
	for i, key := range s.keys {
		part, found, bad := memberOf(v, key)
		if bad != nil {
			return false, bad
		}
		if !found && !s.parts[i].isNull() {
			return false, nil
		}
		if ok, bad := m.fits(s.parts[i], part); bad != nil || !ok {
			return false, bad
		}
	}
	return true, nil
}

// isNull: a pattern of null also matches what is absent.
func (s shape) isNull() bool { return s.kind == constant && s.fixed == nil }

func (m *matching) fitsList(s shape, v any) (bool, *failure) {
	switch l := v.(type) {
	case *list:
		if l.size() != len(s.parts) {
			return false, nil
		}
	case *hole:
		kind, n, known := l.size()
		switch {
		case !known:
			return false, unreadable(l)
		case kind != "list" || n != int64(len(s.parts)):
			return false, nil
		}
	default:
		return false, nil
	}
	for i, part := range s.parts {
		item, _, bad := element(v, int64(i))
		if bad != nil {
			return false, bad
		}
		if ok, bad := m.fits(part, item); bad != nil || !ok {
			return false, bad
		}
	}
	return true, nil
}

func (m *matching) condition(c *condition, v any) (bool, *failure) {
	m.cond = c
	outer := m.f.act
	m.f.act = &Activation{lookup: func(name string) (Binding, bool) {
		found, ok := outer.resolve(name)
		return Binding{ready: found}, ok
	}, read: []lazyField{{"value", v, true}}}
	result, bad := m.f.run(c.prog)
	m.f.act = outer
	if bad != nil {
		return false, bad.moved(c.offset)
	}
	if o, ok := result.(*optional); ok {
		result = o.val
	}
	yes, ok := result.(bool)
	if !ok {
		return false, notBool(result).or("write ${ value == … }").moved(c.offset)
	}
	m.cond = nil
	return yes, nil
}
