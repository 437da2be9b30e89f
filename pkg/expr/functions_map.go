package expr

import "sort"

// mapFunctions work on maps. All keep the order of keys.
var mapFunctions = []*function{
	def("keys", "map -> list", callKeys),
	def("values", "map<A> -> list<A>", callValues),
	def("entries", "map<A> -> list<entry<A>>", callEntries),
	def("merge", "map<A>, map<A>... -> map<A>", callMerge),
	def("without", "map<A>, list -> map<A>", callWithout),
}

func callKeys(f *frame, args []any) (any, *failure) {
	o, ok := mapOf(args[0])
	if !ok {
		return nil, wrong
	}
	if bad := f.items(2 * o.size()); bad != nil {
		return nil, bad
	}
	vals := make([]any, o.size())
	for i, key := range o.keys {
		vals[i] = keyValue(key)
	}
	return newList(vals), nil
}

func callValues(f *frame, args []any) (any, *failure) {
	o, ok := mapOf(args[0])
	if !ok {
		return nil, wrong
	}
	if bad := f.items(o.size()); bad != nil {
		return nil, bad
	}
	vals := make([]any, o.size())
	for i := range vals {
		vals[i] = o.at(i)
	}
	return newList(vals), nil
}

// callEntries lists {key, value} maps.
func callEntries(f *frame, args []any) (any, *failure) {
	o, ok := mapOf(args[0])
	if !ok {
		return nil, wrong
	}
	if bad := f.items(8 * o.size()); bad != nil {
		return nil, bad
	}
	vals := make([]any, o.size())
	for i, key := range o.keys {
		vals[i] = &object{keys: entryKeys, vals: []any{keyValue(key), o.at(i)}}
	}
	return newList(vals), nil
}

var entryKeys = []string{"key", "value"}

// callMerge: of keys that several maps have, the last wins.
func callMerge(f *frame, args []any) (any, *failure) {
	var out *object
	for _, arg := range args {
		o, ok := mapOf(arg)
		if !ok {
			return nil, wrong
		}
		if out == nil {
			out = o
			continue
		}
		if bad := f.items(2 * (out.size() + o.size())); bad != nil {
			return nil, bad
		}
		out = mergeTwo(out, o)
	}
	return out, nil
}

func mergeTwo(a, b *object) *object {
	out := &object{keys: make([]string, 0, a.size()+b.size()), vals: make([]any, 0, a.size()+b.size())}
	i, j := 0, 0
	for i < a.size() || j < b.size() {
		if j == b.size() || i < a.size() && a.keys[i] < b.keys[j] {
			out.keys, out.vals = append(out.keys, a.keys[i]), append(out.vals, a.at(i))
			i++
			continue
		}
		if i < a.size() && a.keys[i] == b.keys[j] {
			i++
		}
		out.keys, out.vals = append(out.keys, b.keys[j]), append(out.vals, b.at(j))
		j++
	}
	return out
}

func callWithout(f *frame, args []any) (any, *failure) {
	o, ok := mapOf(args[0])
	l, isList := args[1].(*list)
	if !ok || !isList {
		return nil, wrong
	}
	if bad := f.items(2*o.size() + l.size()); bad != nil {
		return nil, bad
	}
	drop := make([]string, 0, l.size())
	for _, v := range l.all() {
		key, ok := keyOf(v)
		if !ok {
			return nil, wrong
		}
		drop = append(drop, key)
	}
	sort.Strings(drop)
	out := &object{}
	for i, key := range o.keys {
		if j := sort.SearchStrings(drop, key); j < len(drop) && drop[j] == key {
			continue
		}
		out.keys, out.vals = append(out.keys, key), append(out.vals, o.at(i))
	}
	return out, nil
}
