package expr

import (
	"math/bits"
	"sort"
)

// Macros bind names: their bodies are evaluated once for each item. Each has a cost per item known beforehand.

// loop is what the macros over lists and maps share. Over a map, one name stands for the key; two names stand for
// index and item, or key and value.
type loop struct {
	place
	over   node
	first  int // slot of the first name
	second int // slot of the second name, or -1
	body   int // steps that one round takes at most
}

// rounds calls fn for each item until it returns false.
func (l *loop) rounds(f *frame, fn func(i int) (bool, *failure)) *failure {
	v, bad := l.over.eval(f)
	if bad != nil {
		return bad
	}
	return l.each(f, v, fn)
}

func (l *loop) each(f *frame, v any, fn func(i int) (bool, *failure)) *failure {
	items, isList := v.(*list)
	var entries *object
	size := 0
	if isList {
		size = items.size()
	} else if o, ok := mapOf(v); ok {
		entries, size = o, o.size()
	} else {
		return notIterable(v).placed(l.over.where())
	}
	for i := range size {
		if bad := f.work(l.body); bad != nil {
			return bad.placed(l.place)
		}
		switch {
		case isList && l.second < 0:
			f.slots[l.first] = items.at(i)
		case isList:
			f.slots[l.first], f.slots[l.second] = int64(i), items.at(i)
		default:
			f.slots[l.first] = keyValue(entries.keys[i])
			if l.second >= 0 {
				f.slots[l.second] = entries.at(i)
			}
		}
		if more, bad := fn(i); bad != nil || !more {
			return bad
		}
	}
	return nil
}

func notIterable(v any) *failure {
	if bad := unreadable(v); bad != nil {
		return bad
	}
	x := failf(CodeType, "expected a list or a map, not %s", kindName(v))
	if v == nil || isOptional(v) {
		return x.or("give a default: .orValue([])")
	}
	return x
}

// quantifier is all, exists and exists_one.
type quantifier struct {
	loop
	kind quantity
	test node
}

type quantity byte

const (
	all quantity = iota
	exists
	existsOne
)

func (n *quantifier) eval(f *frame) (any, *failure) {
	if n.kind == existsOne {
		return n.evalOne(f)
	}
	decides := n.kind == exists
	var failed *failure // which does not matter if another item decides
	result := !decides
	bad := n.rounds(f, func(int) (bool, *failure) {
		yes, bad := evalBool(f, n.test)
		switch {
		case bad != nil && !bad.absorbed():
			return false, bad
		case bad != nil:
			if failed == nil {
				failed = bad
			}
		case yes == decides:
			result = decides
			return false, nil
		}
		return true, nil
	})
	switch {
	case bad != nil:
		return nil, bad
	case result != decides && failed != nil:
		return nil, failed
	}
	return result, nil
}

func (n *quantifier) evalOne(f *frame) (any, *failure) {
	count := 0
	bad := n.rounds(f, func(int) (bool, *failure) {
		yes, bad := evalBool(f, n.test)
		if yes {
			count++
		}
		return true, bad
	})
	if bad != nil {
		return nil, bad
	}
	return count == 1, nil
}

// mapping is map, filter and transformList: make (nil: the item itself) of each item that test (nil: all) accepts.
type mapping struct {
	loop
	test, make node
}

func (n *mapping) eval(f *frame) (any, *failure) {
	var vals []any
	bad := n.rounds(f, func(int) (bool, *failure) {
		v, ok, bad := n.round(f)
		if bad != nil || !ok {
			return true, bad
		}
		if bad := f.items(1); bad != nil {
			return false, bad.placed(n.place)
		}
		vals = append(vals, v)
		return true, nil
	})
	if bad != nil {
		return nil, bad
	}
	return newList(vals), nil
}

func (n *mapping) round(f *frame) (v any, ok bool, bad *failure) {
	item := f.slots[n.first]
	if n.test != nil {
		if ok, bad := evalBool(f, n.test); !ok {
			return nil, false, bad
		}
	}
	if n.make == nil {
		return item, true, nil
	}
	v, bad = n.make.eval(f)
	return v, bad == nil, bad
}

// remapping is transformMap (make gives the value for the same key) and transformMapEntry (make gives a map to merge in).
type remapping struct {
	loop
	test, make node
	entries    bool
}

func (n *remapping) eval(f *frame) (any, *failure) {
	var keys []string
	var vals []any
	add := func(key string, v any) *failure {
		if o, ok := v.(*optional); ok {
			if v = o.val; !o.has {
				return nil
			}
		}
		keys, vals = append(keys, key), append(vals, v)
		return f.items(2)
	}
	bad := n.rounds(f, func(int) (bool, *failure) {
		index := f.slots[n.first]
		if n.test != nil {
			if ok, bad := evalBool(f, n.test); !ok {
				return true, bad
			}
		}
		v, bad := n.make.eval(f)
		if bad != nil {
			return false, bad
		}
		if n.entries {
			return true, n.addAll(f, v, add)
		}
		key, _ := keyOf(index)
		return true, add(key, v)
	})
	if bad != nil {
		return nil, bad.placed(n.place)
	}
	return newObject(f, keys, vals, n.place)
}

func (n *remapping) addAll(f *frame, v any, add func(string, any) *failure) *failure {
	o, ok := mapOf(v)
	if !ok {
		return failf(CodeType, "transformMapEntry wants a map for each item, not %s", kindName(v)).placed(n.make.where())
	}
	for i, key := range o.keys {
		if bad := f.work(1); bad != nil {
			return bad
		}
		if bad := add(key, o.at(i)); bad != nil {
			return bad
		}
	}
	return nil
}

// finding is find(list, x, test): the first item that test accepts, as an optional.
type finding struct {
	loop
	test node
}

func (n *finding) eval(f *frame) (any, *failure) {
	found := none
	bad := n.rounds(f, func(int) (bool, *failure) {
		item := f.slots[n.first]
		yes, bad := evalBool(f, n.test)
		if yes {
			found = some(item)
		}
		return !yes, bad
	})
	if bad != nil {
		return nil, bad
	}
	return found, nil
}

// sorting is sortBy(list, x, key): stable.
type sorting struct {
	loop
	key node
}

func (n *sorting) eval(f *frame) (any, *failure) {
	var items, keys []any
	bad := n.rounds(f, func(int) (bool, *failure) {
		item := f.slots[n.first]
		key, bad := n.key.eval(f)
		if bad != nil {
			return false, bad
		}
		items, keys = append(items, item), append(keys, key)
		return true, f.items(2)
	})
	if bad != nil {
		return nil, bad.placed(n.place)
	}
	if bad := sortItems(f, items, keys); bad != nil {
		return nil, bad.placed(n.place)
	}
	return newList(items), nil
}

// sortItems sorts items by keys, which are all of one type or all numbers.
func sortItems(f *frame, items, keys []any) *failure {
	n := len(items)
	if bad := f.work(2 * n * bits.Len(uint(n))); bad != nil {
		return bad
	}
	s := &itemSort{f: f, items: items, keys: keys}
	for _, key := range keys {
		if x, ok := key.(float64); ok && x != x {
			return failf(CodeRange, "NaN cannot be sorted")
		}
		s.compare(keys[0], key) // so that the answer does not depend on the order of the comparisons
	}
	sort.Stable(s)
	return s.bad
}

type itemSort struct {
	f           *frame
	items, keys []any
	bad         *failure
}

func (s *itemSort) Len() int { return len(s.items) }

func (s *itemSort) Less(i, j int) bool { return s.compare(s.keys[i], s.keys[j]) < 0 }

func (s *itemSort) compare(a, b any) int {
	if s.bad != nil {
		return 0
	}
	order, _, bad := compare(s.f, a, b)
	s.bad = bad
	return order
}

func (s *itemSort) Swap(i, j int) {
	s.items[i], s.items[j] = s.items[j], s.items[i]
	s.keys[i], s.keys[j] = s.keys[j], s.keys[i]
}

// binding is cel.bind(x, init, body). init is evaluated when x is first read, and once.
type binding struct {
	place
	slot       int
	init, body node
}

// delayed is what the slot of a binding holds.
type delayed struct {
	init node
	done bool
	val  any
	bad  *failure
}

func (n *binding) eval(f *frame) (any, *failure) {
	f.slots[n.slot] = &delayed{init: n.init}
	return n.body.eval(f)
}

// value evaluates init, whose own names are still bound: they stand around the binding.
func (d *delayed) value(f *frame) (any, *failure) {
	if !d.done {
		d.val, d.bad = d.init.eval(f)
		d.done = true
	}
	return d.val, d.bad
}

// choice is coalesce(a, …), a.orValue(b) and a.or(b): the first value that is neither absent nor null.
type choice struct {
	place
	of []node
	// keep leaves an optional an optional (or); otherwise its value is the result.
	keep bool
}

func (n *choice) eval(f *frame) (any, *failure) {
	for _, of := range n.of {
		v, bad := of.eval(f)
		if bad != nil {
			return nil, bad
		}
		content := v
		if o, ok := v.(*optional); ok {
			content = o.val
		}
		if content == nil {
			continue
		}
		if n.keep {
			return some(content), nil
		}
		return content, nil
	}
	if n.keep {
		return none, nil
	}
	return nil, nil
}

// optionalMapping is o.optMap(x, body) and, where body is an optional itself, o.optFlatMap(x, body).
type optionalMapping struct {
	place
	of, body node
	slot     int
	flat     bool
}

func (n *optionalMapping) eval(f *frame) (any, *failure) {
	v, bad := n.of.eval(f)
	if bad != nil {
		return nil, bad
	}
	o, ok := v.(*optional)
	if !ok {
		o = some(v)
	}
	if !o.has {
		return none, nil
	}
	f.slots[n.slot] = o.val
	v, bad = n.body.eval(f)
	if bad != nil || !n.flat {
		return some(v), bad
	}
	if _, ok := v.(*optional); !ok {
		return nil, failf(CodeType, "optFlatMap wants an optional, not %s", kindName(v)).or("write optMap").placed(n.body.where())
	}
	return v, nil
}
