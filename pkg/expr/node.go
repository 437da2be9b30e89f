package expr

// node is one part of a program. Nodes never change once built and hold no types, so that what was checked
// cannot change what is computed.
type node interface {
	eval(f *frame) (any, *failure)
	where() place
}

func (p place) where() place { return p }

// literal is a constant.
type literal struct {
	place
	val any
}

func (n *literal) eval(*frame) (any, *failure) { return n.val, nil }

// rootName is a name of the activation.
type rootName struct {
	place
	name string
}

func (n *rootName) eval(f *frame) (any, *failure) {
	if v, ok := f.act.resolve(n.name); ok {
		return v, nil
	}
	return nil, noName(n.name).placed(n.place)
}

// localName is a name that a macro binds.
type localName struct {
	place
	name string
	slot int
}

func (n *localName) eval(f *frame) (any, *failure) {
	v := f.slots[n.slot]
	if d, ok := v.(*delayed); ok {
		return d.value(f)
	}
	return v, nil
}

// listLiteral is [a, ?b, …].
type listLiteral struct {
	place
	items    []node
	optional []bool // nil if none is
}

func (n *listLiteral) eval(f *frame) (any, *failure) {
	if bad := f.items(len(n.items)); bad != nil {
		return nil, bad.placed(n.place)
	}
	vals := make([]any, 0, len(n.items))
	for i, item := range n.items {
		v, bad := item.eval(f)
		if bad != nil {
			return nil, bad
		}
		if n.optional != nil && n.optional[i] {
			o, ok := v.(*optional)
			if !ok {
				return nil, notOptional(v).placed(item.where())
			}
			if !o.has {
				continue
			}
			v = o.val
		}
		vals = append(vals, v)
	}
	return newList(vals), nil
}

func notOptional(v any) *failure {
	return failf(CodeType, "the value after ? is %s, not an optional", kindName(v)).or("leave out the ?, or read it with .? or [?…]")
}

// mapLiteral is {k: v, ?k: v, …}. An entry whose value is an empty optional is left out, with ? or without.
type mapLiteral struct {
	place
	entries []entry
	// sorted holds the keys in order where all are string constants; entries are in that order then.
	sorted []string
}

type entry struct {
	key, val node
	optional bool
}

func (n *mapLiteral) eval(f *frame) (any, *failure) {
	if bad := f.items(2 * len(n.entries)); bad != nil {
		return nil, bad.placed(n.place)
	}
	keys, vals := make([]string, 0, len(n.entries)), make([]any, 0, len(n.entries))
	for i := range n.entries {
		e := &n.entries[i]
		key, bad := n.key(f, i)
		if bad != nil {
			return nil, bad
		}
		v, bad := e.val.eval(f)
		if bad != nil {
			return nil, bad
		}
		o, ok := v.(*optional)
		switch {
		case ok && !o.has:
			continue
		case ok:
			v = o.val
		case e.optional:
			return nil, notOptional(v).placed(e.val.where())
		}
		keys, vals = append(keys, key), append(vals, v)
	}
	if n.sorted != nil {
		return &object{keys: keys, vals: vals}, nil
	}
	return newObject(f, keys, vals, n.place)
}

func (n *mapLiteral) key(f *frame, i int) (string, *failure) {
	if n.sorted != nil {
		return n.sorted[i], nil
	}
	v, bad := n.entries[i].key.eval(f)
	if bad != nil {
		return "", bad
	}
	return keyOfEntry(v, n.entries[i].key.where())
}

func keyOfEntry(v any, at place) (string, *failure) {
	_, double := v.(float64)
	if key, ok := keyOf(v); ok && !double {
		return key, nil
	}
	if bad := unreadable(v); bad != nil {
		return "", bad.placed(at)
	}
	return "", failf(CodeType, "%s cannot be the key of a map", kindName(v)).or("keys are strings, ints and bools").placed(at)
}

// newObject puts computed entries into order.
func newObject(f *frame, keys []string, vals []any, at place) (any, *failure) {
	if bad := f.work(len(keys)); bad != nil {
		return nil, bad.placed(at)
	}
	o, twice, ok := objectOf(keys, vals)
	if !ok {
		return nil, failf(CodeType, "the key %q stands twice in a map", keyText(twice)).placed(at)
	}
	return o, nil
}

// conditional is c ? a : b.
type conditional struct {
	place
	cond, yes, no node
}

func (n *conditional) eval(f *frame) (any, *failure) {
	yes, bad := evalBool(f, n.cond)
	if bad != nil {
		return nil, bad
	}
	if yes {
		return n.yes.eval(f)
	}
	return n.no.eval(f)
}

// evalBool evaluates a condition.
func evalBool(f *frame, n node) (bool, *failure) {
	v, bad := n.eval(f)
	if bad != nil {
		return false, bad
	}
	if b, ok := v.(bool); ok {
		return b, nil
	}
	return false, notBool(v).placed(n.where())
}

func notBool(v any) *failure {
	if bad := unreadable(v); bad != nil {
		return bad
	}
	x := failf(CodeType, "a condition must be true or false, not %s", kindName(v))
	switch {
	case v == nil, isOptional(v):
		return x.or("give a default: .orValue(false)")
	case isNumber(v):
		return x.or("write x != 0")
	case isString(v):
		return x.or(`write x != ""`)
	}
	return x
}

// logic is a && b and a || b. As CEL has it, either side may decide, so that a failure of the other does not matter.
type logic struct {
	place
	and  bool
	l, r node
}

func (n *logic) eval(f *frame) (any, *failure) {
	decides := !n.and
	left, badLeft := evalBool(f, n.l)
	if badLeft != nil && !badLeft.absorbed() {
		return nil, badLeft
	}
	if badLeft == nil && left == decides {
		return decides, nil
	}
	right, badRight := evalBool(f, n.r)
	switch {
	case badRight == nil && right == decides:
		return decides, nil
	case badRight != nil && !badRight.absorbed():
		return nil, badRight
	case badLeft != nil:
		return nil, badLeft
	case badRight != nil:
		return nil, badRight
	}
	return !decides, nil
}

// not is !a.
type not struct {
	place
	of node
}

func (n *not) eval(f *frame) (any, *failure) {
	b, bad := evalBool(f, n.of)
	if bad != nil {
		return nil, bad
	}
	return !b, nil
}

// negation is -a.
type negation struct {
	place
	of node
}

func (n *negation) eval(f *frame) (any, *failure) {
	v, bad := n.of.eval(f)
	if bad == nil {
		v, bad = negate(v)
	}
	if bad != nil {
		return nil, bad.placed(n.place)
	}
	return v, nil
}

// operation is a op b for one of + - * / %.
type operation struct {
	place
	op   byte
	l, r node
}

func (n *operation) eval(f *frame) (any, *failure) {
	a, b, bad := evalBoth(f, n.l, n.r)
	if bad != nil {
		return nil, bad
	}
	v, bad := arithmetic(f, n.op, a, b)
	if bad != nil {
		return nil, bad.placed(n.place)
	}
	return v, nil
}

func evalBoth(f *frame, l, r node) (a, b any, bad *failure) {
	if a, bad = l.eval(f); bad != nil {
		return nil, nil, bad
	}
	b, bad = r.eval(f)
	return a, b, bad
}

// comparison is a < b and its kin, a == b and a != b.
type comparison struct {
	place
	op   relation
	l, r node
}

type relation byte

const (
	less relation = iota
	lessOrEqual
	greater
	greaterOrEqual
	same
	different
)

func (n *comparison) eval(f *frame) (any, *failure) {
	a, b, bad := evalBoth(f, n.l, n.r)
	if bad != nil {
		return nil, bad
	}
	if n.op == same || n.op == different {
		eq, bad := equal(f, a, b)
		if bad != nil {
			return nil, bad.placed(n.place)
		}
		return eq == (n.op == same), nil
	}
	order, ordered, bad := compare(f, a, b)
	if bad != nil {
		return nil, bad.placed(n.place)
	}
	return ordered && n.op.holds(order), nil
}

func (r relation) holds(order int) bool {
	switch r {
	case less:
		return order < 0
	case lessOrEqual:
		return order <= 0
	case greater:
		return order > 0
	default:
		return order >= 0
	}
}

// membership is a in b.
type membership struct {
	place
	l, r node
}

func (n *membership) eval(f *frame) (any, *failure) {
	a, b, bad := evalBoth(f, n.l, n.r)
	if bad != nil {
		return nil, bad
	}
	in, bad := contains(f, b, a)
	if bad != nil {
		return nil, bad.placed(n.place)
	}
	return in, nil
}

// contains reports whether a list has an item, or a map a key.
func contains(f *frame, in, v any) (bool, *failure) {
	switch c := in.(type) {
	case *list:
		for i := range c.size() {
			if bad := f.work(1); bad != nil {
				return false, bad
			}
			if eq, bad := equal(f, c.at(i), v); eq || bad != nil {
				return eq, bad
			}
		}
		return false, nil
	case *object, *lazy, *hole:
		_, found, bad := element(in, v)
		return found, bad
	}
	x := failf(CodeType, "in wants a list or a map on its right side, not %s", kindName(in))
	switch {
	case isString(in):
		return false, x.or("write text.contains(part)")
	case in == nil, isOptional(in):
		return false, x.or("give a default: .orValue([])")
	}
	return false, x
}

// call is a function call; of x.f(y), x is the first argument.
type call struct {
	place
	fn   *function
	args []node
}

func (n *call) eval(f *frame) (any, *failure) {
	base := len(f.args)
	for _, arg := range n.args {
		v, bad := arg.eval(f)
		if bad != nil {
			f.args = f.args[:base]
			return nil, bad
		}
		f.args = append(f.args, v)
	}
	args := f.args[base:]
	v, bad := n.fn.call(f, args)
	if bad == wrong {
		bad = n.fn.mismatch(args)
	}
	f.args = f.args[:base]
	if bad != nil {
		return nil, bad.placed(n.place)
	}
	return v, nil
}
