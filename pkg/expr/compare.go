package expr

import (
	"cmp"
	"strings"
	"time"
)

// compare orders two values of one type, or two numbers. ordered is false where NaN is compared.
func compare(f *frame, a, b any) (order int, ordered bool, bad *failure) {
	switch x := a.(type) {
	case int64, uint64, float64:
		if isNumber(b) {
			order, ordered = compareNumbers(a, b)
			return order, ordered, nil
		}
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), true, f.scan(min(len(x), len(y)))
		}
	case octets:
		if y, ok := b.(octets); ok {
			return strings.Compare(string(x), string(y)), true, f.scan(min(len(x), len(y)))
		}
	case bool:
		if y, ok := b.(bool); ok {
			return compareBools(x, y), true, nil
		}
	case time.Time:
		if y, ok := b.(time.Time); ok {
			return x.Compare(y), true, nil
		}
	case time.Duration:
		if y, ok := b.(time.Duration); ok {
			return cmp.Compare(x, y), true, nil
		}
	}
	return 0, false, notComparable(a, b)
}

func compareBools(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return 1
	}
	return -1
}

func notComparable(a, b any) *failure {
	if bad := unreadable(a, b); bad != nil {
		return bad
	}
	x := failf(CodeType, "%s and %s have no order", kindName(a), kindName(b))
	switch {
	case a == nil || b == nil:
		return x.or("give a default with coalesce(x, …)")
	case isOptional(a) || isOptional(b):
		return x.or("give a default with .orValue(…)")
	case isTime(a) && isString(b), isTime(b) && isString(a):
		return x.or("write timestamp(x) or duration(x) for the string")
	}
	return x
}

func isTime(v any) bool {
	switch v.(type) {
	case time.Time, time.Duration:
		return true
	}
	return false
}

func isString(v any) bool {
	_, ok := v.(string)
	return ok
}

// equal compares deeply. Values of different types differ, numbers compare by value, and an optional compares
// by its content, an empty one as null.
func equal(f *frame, a, b any) (bool, *failure) {
	if x, ok := a.(*optional); ok {
		a = x.val
	}
	if x, ok := b.(*optional); ok {
		b = x.val
	}
	switch x := a.(type) {
	case nil:
		return b == nil, nil
	case int64, uint64, float64:
		if isNumber(b) {
			order, ordered := compareNumbers(a, b)
			return ordered && order == 0, nil
		}
	case string:
		if y, ok := b.(string); ok {
			return x == y, f.scan(min(len(x), len(y)))
		}
	case octets:
		if y, ok := b.(octets); ok {
			return x == y, f.scan(min(len(x), len(y)))
		}
	case time.Time:
		if y, ok := b.(time.Time); ok {
			return x.Equal(y), nil
		}
	case bool, time.Duration, typeName:
		return a == b, nil
	case *list:
		if y, ok := b.(*list); ok {
			return equalLists(f, x, y)
		}
	case *object, *lazy:
		return equalMaps(f, a, b)
	case *hole:
		return equalHole(f, x, b)
	}
	if y, ok := b.(*hole); ok {
		return equalHole(f, y, a)
	}
	return false, nil
}

func equalLists(f *frame, x, y *list) (bool, *failure) {
	if x.size() != y.size() {
		return false, nil
	}
	if bad := f.work(x.size() + 1); bad != nil {
		return false, bad
	}
	for i := range x.size() {
		if same, bad := equal(f, x.at(i), y.at(i)); !same {
			return false, bad
		}
	}
	return true, nil
}

func equalMaps(f *frame, a, b any) (bool, *failure) {
	x, ok := mapOf(a)
	y, too := mapOf(b)
	if !ok || !too || x.size() != y.size() {
		return false, nil
	}
	if bad := f.work(x.size() + 1); bad != nil {
		return false, bad
	}
	for i, key := range x.keys {
		if y.keys[i] != key {
			return false, nil
		}
		if same, bad := equal(f, x.at(i), y.at(i)); !same {
			return false, bad
		}
	}
	return true, nil
}

// equalHole compares what is kept elsewhere: with null, which it never is, and with the same reference.
func equalHole(f *frame, h *hole, v any) (bool, *failure) {
	if v == nil {
		return false, nil
	}
	if o, ok := v.(*hole); ok && h.ref != nil && o.ref != nil && h.ref.Hash == o.ref.Hash &&
		pointerOf(h.ref.Path)+pointerOf(h.path) == pointerOf(o.ref.Path)+pointerOf(o.path) {
		return true, nil
	}
	return false, unreadable(h)
}

// unreadable is the failure for the first value whose content is not here, or nil.
func unreadable(vals ...any) *failure {
	for _, v := range vals {
		h, ok := v.(*hole)
		switch {
		case !ok:
		case h.deferred != nil:
			return failf(CodeType, "this value holds a secret or a link that only an activity can read").
				or("hand it on whole")
		default:
			return failf(CodeTooLarge, "this value is kept by reference (%d bytes), and its content cannot be read here", h.ref.Size).
				or("read the part you need by name, or let an activity read it")
		}
	}
	return nil
}
