package expr

import "fmt"

// access is x.key, x.?key and has(x.key).
type access struct {
	place
	of  node
	key string
	// opt makes the result an optional: absent where the key is missing, its value is null, or there is no map at all.
	opt bool
	// test asks only whether the key is there.
	test bool
}

func (n *access) eval(f *frame) (any, *failure) {
	v, bad := n.of.eval(f)
	if bad != nil {
		return nil, bad
	}
	opt := n.opt
	if o, ok := v.(*optional); ok {
		v, opt = o.val, true
	}
	part, found, bad := memberOf(v, n.key)
	switch {
	case bad != nil && !opt && !n.test:
		return nil, bad.placed(n.place)
	case n.test:
		return found, nil
	case opt && found:
		return some(part), nil
	case opt:
		return none, nil
	case !found:
		return nil, missingKey(v, n.key).placed(n.place)
	}
	return part, nil
}

// memberOf reads a field. Null has none; found is false for that too.
func memberOf(v any, key string) (part any, found bool, bad *failure) {
	switch c := v.(type) {
	case *object:
		part, found = c.get(key)
	case *lazy:
		part, found = c.field(key)
	case *hole:
		return c.member(key)
	case nil:
	default:
		return nil, false, noField(kindName(v), key)
	}
	return part, found, nil
}

func noField(kind, key string) *failure {
	return failf(CodeType, "%s has no field `%s`", kind, keyText(key)).or("only maps have fields")
}

func missingKey(v any, key string) *failure {
	key = keyText(key)
	if v == nil {
		return failf(CodeMissing, "%q of null", key).or("write %s and give a default with .orValue(…)", optionally(key))
	}
	x := failf(CodeMissing, "there is no %q", key)
	if o, ok := v.(*object); ok {
		if hint := didYouMean(key, o.keys); hint != "" {
			return x.or("%s", hint)
		}
	}
	return x.or("where it may be absent, write %s and give a default with .orValue(…)", optionally(key))
}

// optionally is the optional access to a key as one would write it.
func optionally(key string) string {
	if isName(key) {
		return ".?" + key
	}
	return fmt.Sprintf("[?%q]", key)
}

// indexing is x[i] and x[?i].
type indexing struct {
	place
	of, index node
	opt       bool
}

func (n *indexing) eval(f *frame) (any, *failure) {
	v, bad := n.of.eval(f)
	if bad != nil {
		return nil, bad
	}
	i, bad := n.index.eval(f)
	if bad != nil {
		return nil, bad
	}
	opt := n.opt
	if o, ok := v.(*optional); ok {
		v, opt = o.val, true
	}
	part, found, bad := element(v, i)
	switch {
	case bad != nil && !(opt && isScalar(v)):
		return nil, bad.placed(n.place)
	case opt && found:
		return some(part), nil
	case opt:
		return none, nil
	case !found:
		return nil, missingElement(v, i).placed(n.place)
	}
	return part, nil
}

// isScalar reports whether a value has no parts.
func isScalar(v any) bool {
	switch v := v.(type) {
	case *list, *object, *lazy:
		return false
	case *hole:
		kind, _, known := v.size()
		return known && kind != "list" && kind != "map"
	}
	return true
}

// element reads an item of a list or a value of a map.
func element(v, index any) (part any, found bool, bad *failure) {
	switch c := v.(type) {
	case *list:
		return listElement(c, index)
	case *object, *lazy, *hole:
		key, ok := keyOf(index)
		if ok {
			return memberOf(v, key)
		}
		if bad := unreadable(index); bad != nil {
			return nil, false, bad
		}
		if _, number := index.(float64); number {
			return nil, false, nil // no key is a fraction
		}
		return nil, false, failf(CodeType, "%s cannot be the key of a map", kindName(index)).or("keys are strings, ints and bools")
	case nil:
		return nil, false, nil
	}
	return nil, false, failf(CodeType, "%s has no elements", kindName(v)).or("only lists and maps have elements")
}

func listElement(l *list, index any) (part any, found bool, bad *failure) {
	key, _ := keyOf(index)
	i, ok := keyValue(key).(int64)
	if !ok {
		if bad := unreadable(index); bad != nil {
			return nil, false, bad
		}
		if isNumber(index) {
			return nil, false, nil // too large or a fraction
		}
		return nil, false, failf(CodeType, "the index of a list is an int, not %s", kindName(index))
	}
	if i < 0 || i >= int64(l.size()) {
		return nil, false, nil
	}
	return l.at(int(i)), true, nil
}

func missingElement(v, index any) *failure {
	text, _ := plainText(index)
	switch c := v.(type) {
	case nil:
		return failf(CodeMissing, "[%s] of null", text).or("write [?%s] and give a default with .orValue(…)", text)
	case *list:
		return failf(CodeMissing, "index %s of a list of %d", text, c.size()).or("write [?%s] and give a default with .orValue(…)", text)
	}
	key, _ := keyOf(index)
	return missingKey(v, key)
}
