package expr

import (
	"strings"
)

// checker finds what cannot go well, whatever the data. It never changes the program.
type checker struct {
	scope  *Scope // nil: names are not checked
	locals []*Type
	found  []*failure
	warned map[*failure]bool
}

func (c *checker) fail(at place, x *failure) *Type {
	c.found = append(c.found, x.placed(at))
	return Dyn
}

func (c *checker) warn(at place, x *failure) {
	if c.warned == nil {
		c.warned = map[*failure]bool{}
	}
	c.warned[x] = true
	c.found = append(c.found, x.placed(at))
}

func (c *checker) bind(slot int, t *Type) {
	for len(c.locals) <= slot {
		c.locals = append(c.locals, Dyn)
	}
	c.locals[slot] = t
}

// scalarType is the type of a value that is no list and no map.
func scalarType(v any) *Type {
	switch kindName(v) {
	case "null":
		return Null
	case "bool":
		return Bool
	case "int":
		return Int
	case "uint":
		return uintType
	case "double":
		return Double
	case "string":
		return String
	case "bytes":
		return Bytes
	case "timestamp":
		return Timestamp
	case "duration":
		return Duration
	case "type":
		return typeType
	}
	return Dyn
}

// typeOf checks a node and returns its type.
func (c *checker) typeOf(n node) *Type {
	switch n := n.(type) {
	case *literal:
		return scalarType(n.val)
	case *rootName:
		return c.root(n)
	case *localName:
		return c.locals[n.slot]
	case *access:
		return c.access(n)
	case *indexing:
		return c.indexing(n)
	case *listLiteral:
		return c.list(n)
	case *mapLiteral:
		return c.mapLiteral(n)
	case *conditional:
		c.condition(n.cond)
		return join(c.typeOf(n.yes), c.typeOf(n.no))
	case *logic:
		c.condition(n.l)
		c.condition(n.r)
		return Bool
	case *not:
		c.condition(n.of)
		return Bool
	case *negation:
		return c.negation(n)
	case *operation:
		return c.operation(n)
	case *comparison:
		return c.comparison(n)
	case *membership:
		return c.membership(n)
	case *call:
		return c.call(n)
	}
	return c.macro(n)
}

func (c *checker) root(n *rootName) *Type {
	if c.scope == nil {
		return Dyn
	}
	if t := c.scope.find(n.name); t != nil {
		return t
	}
	x := noName(n.name)
	if x.hint == "" {
		names := c.scope.names()
		x.hint = didYouMean(n.name, names)
		if x.hint == "" && len(names) > 0 {
			x.hint = "names here: " + strings.Join(names, ", ")
		}
	}
	return c.fail(n.place, x)
}

// condition checks that a node can be true or false.
func (c *checker) condition(n node) {
	t := c.typeOf(n)
	if t.is(kindDyn, kindBool) {
		return
	}
	x := failf(CodeType, "a condition must be true or false, not %s", t)
	switch {
	case t.isNumber():
		x.or("write x != 0")
	case t.kind == kindString:
		x.or(`write x != ""`)
	case t.kind == kindOptional:
		x.or("give a default: .orValue(false)")
	}
	c.fail(n.where(), x)
}

func (c *checker) access(n *access) *Type {
	of := c.typeOf(n.of)
	opt := n.opt
	if of.kind == kindOptional {
		of, opt = of.elem, true
	}
	t := c.fieldOf(of, n.key, n.place)
	switch {
	case n.test:
		return Bool
	case opt && t.kind == kindOptional:
		return t
	case opt:
		return optionalOf(t)
	}
	return t
}

// fieldOf is the type of one field.
func (c *checker) fieldOf(of *Type, key string, at place) *Type {
	switch of.kind {
	case kindDyn:
		return Dyn
	case kindNull:
		return Null
	case kindMap:
	case kindList:
		if f := of.field(key); f != nil {
			return f.typ
		}
		fallthrough
	default:
		x := failf(CodeType, "%s has no field `%s`", of, key)
		if of.kind == kindList {
			x.or("items of a list are read by index, [0], or with a macro such as .map(x, x.%s)", key)
		}
		return c.fail(at, x)
	}
	if f := of.field(key); f != nil {
		return f.typ
	}
	hint := didYouMean(key, of.fieldNames())
	switch of.open {
	case oneOfUs:
		x := failf(CodeName, "there is no field `%s`", key)
		switch {
		case hint != "":
			x.hint = hint
		case len(of.fields) > 0:
			x.or("fields: %s", strings.Join(of.fieldNames(), ", "))
		}
		return c.fail(at, x)
	case guessable:
		if hint != "" {
			c.warn(at, failf(CodeName, "the field `%s` is not declared", key).or("%s Or declare it under `properties`", hint))
		}
	}
	return of.elem
}

func (c *checker) indexing(n *indexing) *Type {
	of, index := c.typeOf(n.of), c.typeOf(n.index)
	opt := n.opt
	if of.kind == kindOptional {
		of, opt = of.elem, true
	}
	t := c.elementOf(n, of, index)
	if opt && t.kind != kindOptional {
		return optionalOf(t)
	}
	return t
}

func (c *checker) elementOf(n *indexing, of, index *Type) *Type {
	switch of.kind {
	case kindDyn, kindNull:
		return of
	case kindList:
		if l, ok := n.index.(*literal); ok && len(of.fields) > 0 {
			if key, ok := l.val.(string); ok {
				return c.fieldOf(of, key, l.place)
			}
		}
		if !index.isNumber() && index.kind != kindDyn {
			return c.fail(n.index.where(), failf(CodeType, "the index of a list is an int, not %s", index))
		}
		return of.elem
	case kindMap:
		if l, ok := n.index.(*literal); ok {
			if key, ok := l.val.(string); ok {
				return c.fieldOf(of, key, l.place)
			}
		}
		if !index.isNumber() && !index.is(kindDyn, kindString, kindBool) {
			return c.fail(n.index.where(), failf(CodeType, "%s cannot be the key of a map", index).or("keys are strings, ints and bools"))
		}
		return of.values()
	}
	return c.fail(n.place, failf(CodeType, "%s has no elements", of).or("only lists and maps have elements"))
}

func (c *checker) list(n *listLiteral) *Type {
	var elem *Type
	for i, item := range n.items {
		t := c.typeOf(item)
		if n.optional != nil && n.optional[i] {
			t = c.unwrap(t, item)
		}
		if elem == nil {
			elem = t
		}
		elem = join(elem, t)
	}
	if elem == nil {
		elem = Dyn
	}
	return ListOf(elem)
}

// unwrap is the type of the value after a ?.
func (c *checker) unwrap(t *Type, n node) *Type {
	if t.is(kindOptional, kindDyn) {
		if t.elem != nil {
			return t.elem
		}
		return t
	}
	return c.fail(n.where(), failf(CodeType, "the value after ? is %s, not an optional", t).or("leave out the ?, or read it with .? or [?…]"))
}

func (c *checker) mapLiteral(n *mapLiteral) *Type {
	t := &Type{kind: kindMap, elem: Dyn, open: oneOfUs}
	var values *Type
	for i, e := range n.entries {
		key, val := c.typeOf(e.key), c.typeOf(e.val)
		if !key.is(kindDyn, kindString, kindInt, kindUint, kindNumber, kindBool) {
			c.fail(e.key.where(), failf(CodeType, "%s cannot be the key of a map", key).or("keys are strings, ints and bools"))
		}
		required := val.kind != kindOptional
		switch {
		case e.optional:
			val, required = c.unwrap(val, e.val), false
		case !required:
			val = val.elem
		}
		if values == nil {
			values = val
		}
		values = join(values, val)
		if n.sorted != nil && !isSpecialKey(n.sorted[i]) {
			t.fields = append(t.fields, field{n.sorted[i], val, required})
		}
	}
	if values != nil && len(t.fields) < len(n.entries) {
		return MapOf(values)
	}
	if len(n.entries) == 0 {
		return MapOf(Dyn)
	}
	return t
}

func (c *checker) negation(n *negation) *Type {
	t := c.typeOf(n.of)
	if t.kind == kindDyn || t.isNumber() || t.kind == kindDuration {
		return t
	}
	x := failf(CodeType, "-%s is not possible", t)
	if t.kind == kindString {
		x.or("write int(x) or double(x) for the text")
	}
	return c.fail(n.place, x)
}

func (c *checker) operation(n *operation) *Type {
	a, b := c.typeOf(n.l), c.typeOf(n.r)
	if t := operationType(n.op, a.withoutNull(), b.withoutNull()); t != nil {
		return t
	}
	x := failf(CodeType, "%s %c %s is not possible", a, n.op, b)
	switch {
	case a.kind == kindOptional || b.kind == kindOptional:
		x.or("give a default with .orValue(…)")
	case n.op == '+' && a.kind == kindList:
		x.or("write [x] around the single item")
	case n.op == '+' && (a.kind == kindString) != (b.kind == kindString):
		x.or("write string(x) for the other value")
	case n.op == '%' && a.isNumber() && b.isNumber():
		x.or("use int(x) %% int(y)")
	}
	return c.fail(n.place, x)
}

// operationType is the type of a op b, or nil.
func operationType(op byte, a, b *Type) *Type {
	switch {
	case a.kind == kindDyn || b.kind == kindDyn:
		return Dyn
	case a.isNumber() && b.isNumber():
		return numberOperation(op, a, b)
	case op == '+' && a.kind == b.kind && a.is(kindString, kindBytes, kindDuration):
		return a
	case op == '+' && a.kind == kindList && b.kind == kindList:
		return join(a, b)
	case op == '+' && a.is(kindTimestamp, kindDuration) && b.is(kindTimestamp, kindDuration) && a.kind != b.kind:
		return Timestamp
	case op == '-' && a.kind == kindTimestamp && b.kind == kindTimestamp, op == '-' && a.kind == kindDuration && b.kind == kindDuration:
		return Duration
	case op == '-' && a.kind == kindTimestamp && b.kind == kindDuration:
		return Timestamp
	case (op == '*' || op == '/') && a.kind == kindDuration && b.isNumber(), op == '*' && a.isNumber() && b.kind == kindDuration:
		return Duration
	}
	return nil
}

func numberOperation(op byte, a, b *Type) *Type {
	double := a.kind == kindDouble || b.kind == kindDouble
	switch {
	case op == '%' && double:
		return nil
	case double:
		return Double
	case a.kind == kindNumber || b.kind == kindNumber:
		return Number
	case a.kind == kindUint && b.kind == kindUint:
		return a
	}
	return Int
}

func (c *checker) comparison(n *comparison) *Type {
	a, b := c.typeOf(n.l), c.typeOf(n.r)
	if n.op == same || n.op == different {
		if disjoint(a, b) {
			c.fail(n.place, failf(CodeType, "%s and %s are never equal", a, b).or("convert one side, as with string(x) or int(x)"))
		}
		return Bool
	}
	x, y := a.withoutNull(), b.withoutNull()
	ok := x.kind == kindDyn && orderable(y) || y.kind == kindDyn && orderable(x) ||
		x.isNumber() && y.isNumber() || x.kind == y.kind && orderable(x)
	if !ok {
		bad := failf(CodeType, "%s and %s have no order", a, b)
		switch {
		case x.kind == kindOptional || y.kind == kindOptional:
			bad.or("give a default with .orValue(…)")
		case x.is(kindTimestamp, kindDuration) && y.kind == kindString, y.is(kindTimestamp, kindDuration) && x.kind == kindString:
			bad.or("write timestamp(x) or duration(x) for the string")
		case x.kind == kindString && y.isNumber(), y.kind == kindString && x.isNumber():
			bad.or("write double(x) for the string")
		case x.kind == kindList && y.isNumber(), y.kind == kindList && x.isNumber(), x.kind == kindMap && y.isNumber(), y.kind == kindMap && x.isNumber():
			bad.or("write size(x) for the number of items")
		}
		c.fail(n.place, bad)
	}
	return Bool
}

func orderable(t *Type) bool {
	return t.isNumber() || t.is(kindDyn, kindString, kindBytes, kindBool, kindTimestamp, kindDuration)
}

func (c *checker) membership(n *membership) *Type {
	a, b := c.typeOf(n.l), c.typeOf(n.r)
	switch b.kind {
	case kindDyn, kindMap:
	case kindList:
		if disjoint(a, b.elem) {
			c.fail(n.place, failf(CodeType, "%s is never in %s", a, b))
		}
	default:
		x := failf(CodeType, "in wants a list or a map on its right side, not %s", b)
		switch b.kind {
		case kindString:
			x.or("write text.contains(part)")
		case kindOptional:
			x.or("give a default: .orValue([])")
		}
		c.fail(n.place, x)
	}
	return Bool
}

func (c *checker) call(n *call) *Type {
	args := make([]*Type, len(n.args))
	for i, arg := range n.args {
		args[i] = c.typeOf(arg)
	}
	t, closest, arg := n.fn.result(args)
	if t != nil {
		return t
	}
	x := failf(CodeType, "%s takes %s here, not %s", n.fn.name, closest, args[arg])
	return c.fail(n.args[arg].where(), x.or("%s", n.fn.advice(arg, kindTexts[args[arg].kind])))
}

func (c *checker) macro(n node) *Type {
	switch n := n.(type) {
	case *quantifier:
		c.over(&n.loop)
		c.condition(n.test)
		return Bool
	case *mapping:
		item := c.over(&n.loop)
		if n.test != nil {
			c.condition(n.test)
		}
		if n.make != nil {
			item = c.typeOf(n.make)
		}
		return ListOf(item)
	case *remapping:
		return c.remapping(n)
	case *finding:
		item := c.over(&n.loop)
		c.condition(n.test)
		return optionalOf(item)
	case *sorting:
		item := c.over(&n.loop)
		if key := c.typeOf(n.key).withoutNull(); !orderable(key) {
			c.fail(n.key.where(), failf(CodeType, "%s has no order", key).or("sort by a number, string or time"))
		}
		return ListOf(item)
	case *binding:
		c.bind(n.slot, c.typeOf(n.init))
		return c.typeOf(n.body)
	case *choice:
		return c.choice(n)
	case *optionalMapping:
		return c.optionalMapping(n)
	}
	panic("expr: unknown node")
}

// over checks what a macro runs over, binds its names and returns the type of its items.
func (c *checker) over(l *loop) *Type {
	t := c.typeOf(l.over)
	first, second := Dyn, Dyn
	switch t.kind {
	case kindDyn:
	case kindList:
		first, second = Int, t.elem
		if l.second < 0 {
			first = t.elem
		}
	case kindMap:
		if len(t.fields) > 0 {
			first = String
		}
		second = t.values()
	default:
		x := failf(CodeType, "expected a list or a map, not %s", t)
		if t.kind == kindOptional {
			x.or("give a default: .orValue([])")
		}
		c.fail(l.over.where(), x)
	}
	c.bind(l.first, first)
	if l.second >= 0 {
		c.bind(l.second, second)
	}
	return first
}

func (c *checker) remapping(n *remapping) *Type {
	c.over(&n.loop)
	if n.test != nil {
		c.condition(n.test)
	}
	t := c.typeOf(n.make)
	if n.entries {
		if !t.is(kindDyn, kindMap) {
			return c.fail(n.make.where(), failf(CodeType, "transformMapEntry wants a map for each item, not %s", t))
		}
		if t.kind == kindMap {
			return MapOf(t.values())
		}
		return MapOf(Dyn)
	}
	if t.kind == kindOptional {
		t = t.elem
	}
	return MapOf(t)
}

func (c *checker) choice(n *choice) *Type {
	var t *Type
	for _, of := range n.of {
		u := c.typeOf(of)
		if u.kind == kindOptional {
			u = u.elem
		}
		u = u.withoutNull()
		if t == nil {
			t = u
		}
		t = join(t, u)
	}
	if t.null {
		t = t.withoutNull()
	}
	if n.keep {
		return optionalOf(t)
	}
	return t
}

func (c *checker) optionalMapping(n *optionalMapping) *Type {
	of := c.typeOf(n.of)
	if of.kind == kindOptional {
		of = of.elem
	}
	c.bind(n.slot, of.withoutNull())
	body := c.typeOf(n.body)
	if !n.flat {
		return optionalOf(body)
	}
	if body.is(kindOptional, kindDyn) {
		return body
	}
	return c.fail(n.body.where(), failf(CodeType, "optFlatMap wants an optional, not %s", body).or("write optMap"))
}
