package expr

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types/ref"
)

// program is the executable form of one source text. It never changes.
type program struct {
	src   string
	root  node
	slots int
	reads []Read
	flaws []*failure // found while building; a program with flaws does not run
}

// newProgram builds the program of a source text.
func newProgram(src string) *program {
	p := &program{src: src}
	tree, bad := parse(src)
	if bad != nil {
		p.flaws = []*failure{bad}
		return p
	}
	b := builder{runes: []rune(src), info: tree.SourceInfo()}
	p.root = b.node(tree.Expr())
	p.slots, p.flaws = b.slots, b.flaws
	if len(p.flaws) == 0 {
		p.reads = readsOf(p.root)
	}
	return p
}

// builder makes nodes from CEL's syntax tree.
type builder struct {
	runes  []rune
	info   *ast.SourceInfo
	locals []string // names in scope; the index is the slot
	slots  int
	nodes  int
	flaws  []*failure
}

func (b *builder) flaw(x *failure) node {
	b.flaws = append(b.flaws, x)
	return &literal{place: x.at}
}

// at is the place of an element of the tree.
func (b *builder) at(e ast.Expr, length int) place {
	r, _ := b.info.GetOffsetRange(e.ID())
	return place{max(r.Start, 0), int32(length)}
}

// named moves a place to the name that stands before it (step -1: the name of a call, whose place is its parenthesis)
// or after it (step 1: the field of an access, whose place is its dot).
func (b *builder) named(at place, name string, step int) place {
	n := int32(utf8.RuneCountInString(name))
	at.length = n
	skip := func(i int32) bool {
		return i >= 0 && int(i) < len(b.runes) && strings.ContainsRune(" \t\r\n?`", b.runes[i])
	}
	from := at.from + int32(step)
	for skip(from) {
		from += int32(step)
	}
	if step < 0 {
		from -= n - 1
	}
	at.from = max(from, 0)
	return at
}

func (b *builder) node(e ast.Expr) node {
	b.nodes++
	switch e.Kind() {
	case ast.LiteralKind:
		return b.literal(e)
	case ast.IdentKind:
		return b.name(e)
	case ast.SelectKind:
		return b.selection(e)
	case ast.CallKind:
		return b.call(e)
	case ast.ListKind:
		return b.list(e)
	case ast.MapKind:
		return b.mapping(e)
	case ast.StructKind:
		name := e.AsStruct().TypeName()
		return b.flaw(failf(CodeSyntax, "%s{…} is no value", name).or("write a map: {\"key\": value}").placed(b.at(e, len(name))))
	}
	return b.flaw(failf(CodeSyntax, "this is no expression").placed(b.at(e, 0)))
}

func (b *builder) literal(e ast.Expr) node {
	r, _ := b.info.GetOffsetRange(e.ID())
	return &literal{place: place{max(r.Start, 0), max(r.Stop-r.Start, 0)}, val: literalValue(e.AsLiteral())}
}

func literalValue(v ref.Val) any {
	switch v := v.Value().(type) {
	case bool, int64, uint64, float64, string:
		return v
	case []byte:
		return octets(v)
	}
	return nil
}

func (b *builder) name(e ast.Expr) node {
	name := e.AsIdent()
	at := b.at(e, utf8.RuneCountInString(name))
	if root, ok := strings.CutPrefix(name, "."); ok {
		return &rootName{place: at, name: root}
	}
	for slot := len(b.locals) - 1; slot >= 0; slot-- {
		if b.locals[slot] == name {
			return &localName{place: at, name: name, slot: slot}
		}
	}
	if typeNames[name] {
		return &literal{place: at, val: typeName(name)}
	}
	return &rootName{place: at, name: name}
}

// isLocal reports whether the first name of a dotted name is bound by a macro.
func (b *builder) isLocal(dotted string) bool {
	head, _, _ := strings.Cut(dotted, ".")
	for _, name := range b.locals {
		if name == head {
			return true
		}
	}
	return false
}

// dotted returns a.b.c for a chain of names.
func dotted(e ast.Expr) string {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent()
	case ast.SelectKind:
		if s := e.AsSelect(); !s.IsTestOnly() {
			if head := dotted(s.Operand()); head != "" {
				return head + "." + s.FieldName()
			}
		}
	}
	return ""
}

func (b *builder) selection(e ast.Expr) node {
	if name := dotted(e); typeNames[name] && !b.isLocal(name) {
		return &literal{place: b.at(e, 1), val: typeName(name)}
	}
	s := e.AsSelect()
	at := b.named(b.at(e, 1), s.FieldName(), 1)
	return &access{place: at, of: b.node(s.Operand()), key: s.FieldName()}
}

func (b *builder) nodesOf(list []ast.Expr) []node {
	nodes := make([]node, len(list))
	for i, e := range list {
		nodes[i] = b.node(e)
	}
	return nodes
}

func (b *builder) list(e ast.Expr) node {
	l := e.AsList()
	n := &listLiteral{place: b.at(e, 1), items: b.nodesOf(l.Elements())}
	if marks := l.OptionalIndices(); len(marks) > 0 {
		n.optional = make([]bool, len(n.items))
		for _, i := range marks {
			n.optional[i] = true
		}
	}
	return n
}

func (b *builder) mapping(e ast.Expr) node {
	n := &mapLiteral{place: b.at(e, 1)}
	constant := true
	var keys []string
	for _, part := range e.AsMap().Entries() {
		m := part.AsMapEntry()
		entry := entry{key: b.node(m.Key()), val: b.node(m.Value()), optional: m.IsOptional()}
		n.entries = append(n.entries, entry)
		key, ok := constantKey(entry.key)
		if !ok {
			constant = false
			continue
		}
		keys = append(keys, key)
	}
	if constant {
		b.sortEntries(n, keys)
	}
	return n
}

func constantKey(n node) (string, bool) {
	if l, ok := n.(*literal); ok {
		_, double := l.val.(float64)
		if key, ok := keyOf(l.val); ok && !double {
			return key, true
		}
	}
	return "", false
}

// sortEntries puts the entries of a literal with constant keys into key order.
func (b *builder) sortEntries(n *mapLiteral, keys []string) {
	entries := make([]any, len(n.entries))
	for i, e := range n.entries {
		entries[i] = e
	}
	o, twice, ok := objectOf(keys, entries)
	if !ok {
		b.flaw(failf(CodeType, "the key %q stands twice in this map", keyText(twice)).or("remove one of them").placed(n.place))
		return
	}
	n.sorted = append([]string{}, o.keys...)
	for i, e := range o.vals {
		n.entries[i] = e.(entry)
	}
}

var arithmeticOperators = map[string]byte{
	operators.Add: '+', operators.Subtract: '-', operators.Multiply: '*', operators.Divide: '/', operators.Modulo: '%',
}

var relations = map[string]relation{
	operators.Less: less, operators.LessEquals: lessOrEqual, operators.Greater: greater, operators.GreaterEquals: greaterOrEqual,
	operators.Equals: same, operators.NotEquals: different,
}

var relationTexts = [...]string{"<", "<=", ">", ">=", "==", "!="}

func (b *builder) call(e ast.Expr) node {
	c := e.AsCall()
	name := c.FunctionName()
	if c.IsMemberFunction() {
		return b.memberCall(e, c)
	}
	if n := b.operator(e, name, c.Args()); n != nil {
		return n
	}
	name = strings.TrimPrefix(name, ".")
	return b.invoke(name, b.named(b.at(e, 1), name, -1), c.Args())
}

// operator builds the node of an operator, or nil.
func (b *builder) operator(e ast.Expr, name string, args []ast.Expr) node {
	if op, ok := arithmeticOperators[name]; ok {
		return &operation{place: b.at(e, 1), op: op, l: b.node(args[0]), r: b.node(args[1])}
	}
	if op, ok := relations[name]; ok {
		return &comparison{place: b.at(e, len(relationTexts[op])), op: op, l: b.node(args[0]), r: b.node(args[1])}
	}
	switch name {
	case operators.LogicalAnd, operators.LogicalOr:
		return &logic{place: b.at(e, 2), and: name == operators.LogicalAnd, l: b.node(args[0]), r: b.node(args[1])}
	case operators.Conditional:
		return &conditional{place: b.at(e, 1), cond: b.node(args[0]), yes: b.node(args[1]), no: b.node(args[2])}
	case operators.LogicalNot:
		return &not{place: b.at(e, 1), of: b.node(args[0])}
	case operators.Negate:
		return &negation{place: b.at(e, 1), of: b.node(args[0])}
	case operators.In:
		return &membership{place: b.at(e, 2), l: b.node(args[0]), r: b.node(args[1])}
	case operators.Index, operators.OptIndex:
		return &indexing{place: b.at(e, 1), of: b.node(args[0]), index: b.node(args[1]), opt: name == operators.OptIndex}
	case operators.OptSelect:
		key := args[1].AsLiteral().Value().(string)
		return &access{place: b.named(b.at(e, 1), key, 1), of: b.node(args[0]), key: key, opt: true}
	}
	return nil
}

// memberCall builds x.f(y): a function with a dotted name, or else f(x, y).
func (b *builder) memberCall(e ast.Expr, c ast.CallExpr) node {
	name := c.FunctionName()
	at := b.named(b.at(e, 1), name, -1)
	if space := dotted(c.Target()); space != "" && !b.isLocal(space) {
		full := space + "." + name
		if functions[full] != nil || macros[full] != nil {
			n := int32(utf8.RuneCountInString(full))
			return b.invoke(full, place{max(at.from+at.length-n, 0), n}, c.Args())
		}
		if functionSpaces[space] {
			return b.flaw(noFunction(full).placed(at))
		}
	}
	return b.invoke(name, at, append([]ast.Expr{c.Target()}, c.Args()...))
}

func (b *builder) invoke(name string, at place, args []ast.Expr) node {
	if m := macros[name]; m != nil {
		return m.build(b, name, at, args)
	}
	fn := functions[name]
	if fn == nil {
		b.nodesOf(args) // their flaws count too
		return b.flaw(noFunction(name).placed(at))
	}
	nodes := b.nodesOf(args)
	if len(args) < fn.min || (fn.max >= 0 && len(args) > fn.max) {
		return b.flaw(failf(CodeType, "%s takes %s, not %d", name, argumentCount(fn.min, fn.max), len(args)).
			or("write %s", fn.usage()).placed(at))
	}
	return b.fold(&call{place: at, fn: fn, args: nodes})
}

func argumentCount(least, most int) string {
	switch {
	case least == most && least == 1:
		return "1 argument"
	case least == most:
		return fmt.Sprintf("%d arguments", least)
	case most < 0:
		return fmt.Sprintf("at least %d arguments", least)
	}
	return fmt.Sprintf("%d to %d arguments", least, most)
}

// fold calculates calls of constants where a wrong constant should be found before it runs, as a duration or a regular
// expression.
func (b *builder) fold(n *call) node {
	if n.fn.prepare != nil {
		fn, bad := n.fn.prepare(n.fn, n.args)
		if bad != nil {
			return b.flaw(bad.placed(n.place))
		}
		n.fn = fn
	}
	if !n.fn.fold {
		return n
	}
	for _, arg := range n.args {
		if _, ok := arg.(*literal); !ok {
			return n
		}
	}
	v, bad := n.eval(newFrame(nil, 0))
	if bad != nil {
		return b.flaw(bad)
	}
	return &literal{place: n.place, val: v}
}

func noFunction(name string) *failure {
	x := failf(CodeName, "there is no function `%s`", name)
	if hint := elsewhere[strings.ToLower(name)]; hint != "" {
		return x.or("%s", hint)
	}
	space, _, dotted := strings.Cut(name, ".")
	var names []string
	for _, known := range functionNames {
		if in, ok := strings.CutPrefix(known, space+"."); ok && dotted {
			names = append(names, in)
		} else if !dotted {
			names = append(names, known)
		}
	}
	if !dotted {
		return x.or("%s", didYouMean(name, names))
	}
	return x.or("%s has %s", space, strings.Join(names, ", "))
}

// elsewhere names what people write who know other languages.
var elsewhere = map[string]string{
	"len": "write size(x)", "length": "write size(x)", "count": "write size(x)",
	"now": noClock, "today": noClock, "date": noClock, "time": noClock,
	"rand": noRandomness, "random": noRandomness,
	"env": "expressions cannot read the environment; use input or secrets",
	"str": "write string(x)", "tostring": "write string(x)", "parseint": "write int(text)", "parsefloat": "write double(text)",
	"lower": writeLower, "tolower": writeLower, "lowercase": writeLower, "tolowercase": writeLower,
	"upper": writeUpper, "toupper": writeUpper, "uppercase": writeUpper, "touppercase": writeUpper,
	"concat": "write a + b", "push": "write list + [item]", "append": "write list + [item]", "includes": "write item in list",
	"reduce": "use sum(), min(), max() or join()", "avg": "write sum(list) / double(list.size())",
	"any": "write list.exists(x, …)", "some": "write list.exists(x, …)", "every": "write list.all(x, …)",
	"get": "write x[?key].orValue(…)", "default": "write coalesce(x, …)", "ifelse": "write condition ? a : b",
	"tojson": "write json.encode(x)", "fromjson": "write json.decode(text)",
}

const (
	noClock      = "expressions have no clock; use execution.started_at"
	noRandomness = "expressions have no randomness; uuid(name) is unique and stable"
	writeLower   = "write text.lowerAscii()"
	writeUpper   = "write text.upperAscii()"
)

// bind declares a local name while fn builds what it is visible in.
func (b *builder) bind(names []string, fn func()) (first int) {
	first = len(b.locals)
	b.locals = append(b.locals, names...)
	b.slots = max(b.slots, len(b.locals))
	fn()
	b.locals = b.locals[:first]
	return first
}

// apart builds what is evaluated in the midst of what is built next. It returns nameless locals, one for each slot that
// it uses, for the next to keep off.
func (b *builder) apart(fn func()) (nameless []string) {
	slots := b.slots
	b.slots = len(b.locals)
	fn()
	used := b.slots - len(b.locals)
	b.slots = max(slots, b.slots)
	return make([]string, used)
}

// lenient makes every access of a chain optional: what is absent there is null.
func lenient(n node) node {
	switch n := n.(type) {
	case *access:
		if !n.test {
			n.opt = true
			lenient(n.of)
		}
	case *indexing:
		n.opt = true
		lenient(n.of)
	}
	return n
}
