package expr

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// listFunctions work on lists; some take texts too. Counts outside of the list are clamped where the function says so.
var listFunctions = []*function{
	def("take", "list<A>, int -> list<A>; string, int -> string", ends(func(size, n int64) (int64, int64) { return 0, n })),
	def("drop", "list<A>, int -> list<A>; string, int -> string", ends(func(size, n int64) (int64, int64) { return n, size })),
	def("last", "list<A> -> optional<A>; list<A>, int -> list<A>; string, int -> string", callLast),
	def("first", "list<A> -> optional<A>", callFirst),
	def("slice", "list<A>, int, int -> list<A>", callSlice),
	def("reverse", "list<A> -> list<A>; string -> string", callReverse),
	def("distinct", "list<A> -> list<A>", callDistinct),
	def("flatten", "list -> list; list, int -> list", callFlatten),
	def("sort", "list<A> -> list<A>", callSort),
	def("range", "int -> list<int>; int, int -> list<int>; int, int, int -> list<int>", callRange),
	def("lists.range", "int -> list<int>", callRange),
	def("sum", "list<int> -> int; list<number> -> number; list<duration> -> duration", callSum),
	def("min", "list<A> -> A; A, A... -> A", extreme(-1, false)),
	def("max", "list<A> -> A; A, A... -> A", extreme(1, false)),
	def("sets.contains", "list, list -> bool", callSetsContains),
	def("sets.equivalent", "list, list -> bool", callSetsEquivalent),
	def("sets.intersects", "list, list -> bool", callSetsIntersects),
}

// ends makes functions that keep one end of a list or text. part says which, for a size and a count.
func ends(part func(size, n int64) (from, to int64)) func(*frame, []any) (any, *failure) {
	return func(f *frame, args []any) (any, *failure) {
		n, ok := index(args[1])
		if !ok {
			return nil, wrong
		}
		switch v := args[0].(type) {
		case *list:
			size := int64(v.size())
			from, to := part(size, min(max(n, 0), size))
			return v.slice(int(from), int(to)), nil
		case string:
			size := int64(utf8.RuneCountInString(v))
			from, to := part(size, min(max(n, 0), size))
			start, _ := offsetAt(v, from)
			length, _ := offsetAt(v[start:], to-from)
			return v[start : start+length], f.scan(2 * len(v))
		}
		return nil, wrong
	}
}

var keepLast = ends(func(size, n int64) (int64, int64) { return size - n, size })

func callLast(f *frame, args []any) (any, *failure) {
	if len(args) == 2 {
		return keepLast(f, args)
	}
	l, ok := args[0].(*list)
	switch {
	case !ok:
		return nil, wrong
	case l.size() == 0:
		return none, nil
	}
	return some(l.at(l.size() - 1)), nil
}

func callFirst(_ *frame, args []any) (any, *failure) {
	l, ok := args[0].(*list)
	switch {
	case !ok:
		return nil, wrong
	case l.size() == 0:
		return none, nil
	}
	return some(l.at(0)), nil
}

func callSlice(_ *frame, args []any) (any, *failure) {
	l, ok := args[0].(*list)
	from, one := index(args[1])
	to, two := index(args[2])
	if !ok || !one || !two {
		return nil, wrong
	}
	if from < 0 || from > to || to > int64(l.size()) {
		return nil, failf(CodeRange, "slice from %d to %d of a list of %d", from, to, l.size()).or("use take(list, n) and drop(list, n), which take any n")
	}
	return l.slice(int(from), int(to)), nil
}

func callReverse(f *frame, args []any) (any, *failure) {
	switch v := args[0].(type) {
	case *list:
		if bad := f.items(v.size()); bad != nil {
			return nil, bad
		}
		vals := make([]any, v.size())
		for i, item := range v.all() {
			vals[len(vals)-1-i] = item
		}
		return newList(vals), nil
	case string:
		if bad := f.bytes(5 * len(v)); bad != nil {
			return nil, bad
		}
		runes := []rune(v)
		for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
			runes[i], runes[j] = runes[j], runes[i]
		}
		return string(runes), nil
	}
	return nil, wrong
}

// identity is a text that equal values share and others do not.
func identity(f *frame, out []byte, v any) ([]byte, *failure) {
	if bad := f.work(4); bad != nil {
		return nil, bad
	}
	switch v := v.(type) {
	case nil:
		return append(out, 'n'), nil
	case bool:
		return strconv.AppendBool(append(out, 'b'), v), nil
	case int64, uint64, float64:
		return append(out, numberIdentity(v)...), nil
	case string:
		return identicalText(f, append(out, 's'), v)
	case octets:
		return identicalText(f, append(out, 'o'), string(v))
	case time.Time:
		return identicalText(f, append(out, 't'), timeText(v))
	case time.Duration:
		return binary.BigEndian.AppendUint64(append(out, 'd'), uint64(v)), nil
	case typeName:
		return identicalText(f, append(out, 'y'), string(v))
	case *optional:
		return identity(f, out, v.val)
	case *hole:
		return nil, unreadable(v)
	case *list:
		out = binary.AppendUvarint(append(out, 'l'), uint64(v.size()))
		for i := range v.size() {
			var bad *failure
			if out, bad = identity(f, out, v.at(i)); bad != nil {
				return nil, bad
			}
		}
		return out, nil
	}
	o, ok := mapOf(v)
	if !ok {
		return nil, failf(CodeType, "this name cannot be used as a whole")
	}
	out = binary.AppendUvarint(append(out, 'm'), uint64(o.size()))
	for i, key := range o.keys {
		var bad *failure
		if out, bad = identicalText(f, out, key); bad != nil {
			return nil, bad
		}
		if out, bad = identity(f, out, o.at(i)); bad != nil {
			return nil, bad
		}
	}
	return out, nil
}

func identicalText(f *frame, out []byte, s string) ([]byte, *failure) {
	out = binary.AppendUvarint(out, uint64(len(s)))
	return append(out, s...), f.bytes(len(s) + 2)
}

func numberIdentity(v any) string {
	if key, ok := keyOf(v); ok {
		return key
	}
	x := v.(float64)
	if x == math.Trunc(x) && x > 0 && x < 1<<64 {
		return specialKey(keyUint, uint64(x))
	}
	return specialKey('f', math.Float64bits(x))
}

// identities are the identities of all items of a list. NaN has none: it equals nothing.
func identities(f *frame, l *list) ([]string, *failure) {
	if bad := f.items(2 * l.size()); bad != nil {
		return nil, bad
	}
	ids := make([]string, l.size())
	for i := range ids {
		id, bad := identity(f, nil, l.at(i))
		if bad != nil {
			return nil, bad
		}
		ids[i] = string(id)
		if x, ok := l.at(i).(float64); ok && x != x {
			ids[i] = "nan" + strconv.Itoa(i)
		}
	}
	return ids, nil
}

func callDistinct(f *frame, args []any) (any, *failure) {
	l, ok := args[0].(*list)
	if !ok {
		return nil, wrong
	}
	ids, bad := identities(f, l)
	if bad != nil {
		return nil, bad
	}
	seen := make(map[string]bool, len(ids))
	var vals []any
	for i, id := range ids {
		if !seen[id] {
			seen[id] = true
			vals = append(vals, l.at(i))
		}
	}
	return newList(vals), nil
}

// twoSets reads the arguments of the functions on sets.
func twoSets(f *frame, args []any) (a, b map[string]bool, bad *failure) {
	sets := [2]map[string]bool{}
	for i := range sets {
		l, ok := args[i].(*list)
		if !ok {
			return nil, nil, wrong
		}
		ids, bad := identities(f, l)
		if bad != nil {
			return nil, nil, bad
		}
		sets[i] = make(map[string]bool, len(ids))
		for j, id := range ids {
			if x, ok := l.at(j).(float64); ok && x != x {
				id += strconv.Itoa(i) // NaN of one list is not that of the other
			}
			sets[i][id] = true
		}
	}
	return sets[0], sets[1], nil
}

func isSubset(a, b map[string]bool) bool {
	for id := range a { // order-free: the answer is whether all are there
		if !b[id] {
			return false
		}
	}
	return true
}

func callSetsContains(f *frame, args []any) (any, *failure) {
	a, b, bad := twoSets(f, args)
	return isSubset(b, a), bad
}

func callSetsEquivalent(f *frame, args []any) (any, *failure) {
	a, b, bad := twoSets(f, args)
	return isSubset(a, b) && isSubset(b, a), bad
}

func callSetsIntersects(f *frame, args []any) (any, *failure) {
	a, b, bad := twoSets(f, args)
	if bad != nil {
		return nil, bad
	}
	for id := range a { // order-free: the answer is whether one is there
		if b[id] {
			return true, nil
		}
	}
	return false, nil
}

func callFlatten(f *frame, args []any) (any, *failure) {
	l, ok := args[0].(*list)
	depth := int64(1)
	if len(args) == 2 {
		n, isIndex := index(args[1])
		ok, depth = ok && isIndex, n
	}
	if !ok {
		return nil, wrong
	}
	if depth < 0 {
		return nil, failf(CodeRange, "flatten to a depth of %d", depth).or("the depth is 0 or more")
	}
	vals, bad := flatten(f, nil, l, depth)
	if bad != nil {
		return nil, bad
	}
	return newList(vals), nil
}

func flatten(f *frame, out []any, l *list, depth int64) ([]any, *failure) {
	if bad := f.items(l.size()); bad != nil {
		return nil, bad
	}
	for i := range l.size() {
		inner, ok := l.at(i).(*list)
		if !ok || depth == 0 {
			out = append(out, l.at(i))
			continue
		}
		var bad *failure
		if out, bad = flatten(f, out, inner, depth-1); bad != nil {
			return nil, bad
		}
	}
	return out, nil
}

func callSort(f *frame, args []any) (any, *failure) {
	l, ok := args[0].(*list)
	if !ok {
		return nil, wrong
	}
	if bad := f.items(2 * l.size()); bad != nil {
		return nil, bad
	}
	items := append([]any(nil), l.all()...)
	if bad := sortItems(f, items, append([]any(nil), items...)); bad != nil {
		return nil, bad
	}
	return newList(items), nil
}

// callRange: range(n) is 0 to n-1, range(a, b) is a to b-1, range(a, b, step) steps.
func callRange(f *frame, args []any) (any, *failure) {
	bounds := [3]int64{0, 0, 1}
	for i, arg := range args {
		n, ok := index(arg)
		if !ok {
			return nil, wrong
		}
		bounds[i] = n
	}
	from, to, step := bounds[0], bounds[1], bounds[2]
	if len(args) == 1 {
		from, to = 0, from
	}
	if step == 0 {
		return nil, failf(CodeRange, "range with a step of 0")
	}
	n := rangeSize(from, to, step)
	if bad := f.items(n + n/2); bad != nil { // the ints themselves too
		return nil, bad
	}
	vals := make([]any, n)
	for i := range vals {
		vals[i] = from + int64(i)*step
	}
	return newList(vals), nil
}

// rangeSize counts from, from+step, … before to; at most maxBytes, which is too many.
func rangeSize(from, to, step int64) int {
	span, size := uint64(to)-uint64(from), uint64(step)
	if step < 0 {
		span, size = uint64(from)-uint64(to), -uint64(step)
	}
	if (step > 0 && to <= from) || (step < 0 && to >= from) {
		return 0
	}
	return int(min((span-1)/size+1, maxBytes))
}

func callSum(f *frame, args []any) (any, *failure) {
	l, ok := args[0].(*list)
	if !ok {
		return nil, wrong
	}
	if bad := f.work(l.size()); bad != nil {
		return nil, bad
	}
	if l.size() == 0 {
		return int64(0), nil
	}
	total := l.at(0)
	if _, isDuration := total.(time.Duration); !isDuration && !isNumber(total) {
		return nil, notSummable(total)
	}
	for i := 1; i < l.size(); i++ {
		var bad *failure
		if _, isTime := l.at(i).(time.Time); isTime {
			return nil, notSummable(l.at(i))
		}
		if total, bad = arithmetic(f, '+', total, l.at(i)); bad != nil {
			return nil, bad
		}
	}
	return total, nil
}

func notSummable(v any) *failure {
	if bad := unreadable(v); bad != nil {
		return bad
	}
	return failf(CodeType, "sum takes numbers or durations, not %s", kindName(v)).or("select the numbers first: list.map(x, x.price).sum()")
}

// extreme makes min (sign -1) and max (sign 1), of a list or of the arguments. Of an empty list it is null. NaN wins.
func extreme(sign int, numbers bool) func(*frame, []any) (any, *failure) {
	return func(f *frame, args []any) (any, *failure) {
		vals := args
		if l, ok := args[0].(*list); ok && len(args) == 1 {
			vals = l.all()
		}
		if bad := f.work(len(vals)); bad != nil {
			return nil, bad
		}
		if numbers && len(vals) == 0 {
			return nil, failf(CodeRange, "the list is empty").or("min(list) and max(list) of an empty list are null")
		}
		var best any
		for i, v := range vals {
			if numbers && !isNumber(v) {
				return nil, wrong
			}
			if i == 0 {
				best = v
			}
			order, ordered, bad := compare(f, v, best)
			switch {
			case bad != nil:
				return nil, bad
			case !ordered:
				return math.NaN(), nil
			case order*sign > 0:
				best = v
			}
		}
		return best, nil
	}
}
