package expr

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// wrong is what a function returns for arguments of types it does not take; the call makes the message.
var wrong = &failure{code: CodeType, msg: "wrong arguments"}

// mismatch says which arguments a function takes.
func (fn *function) mismatch(args []any) *failure {
	if bad := unreadable(args...); bad != nil {
		return bad
	}
	x := failf(CodeType, "%s does not take (%s)", fn.name, kindNames(args))
	for i, arg := range args {
		if advice := fn.advice(i, kindName(arg)); !strings.HasPrefix(advice, "write "+fn.name) {
			return x.or("%s", advice)
		}
	}
	return x.or("write %s", fn.usage())
}

// index is an argument that counts or points: an int, or a whole number of another type.
func index(v any) (int64, bool) {
	key, _ := keyOf(v)
	n, ok := keyValue(key).(int64)
	return n, ok && isNumber(v)
}

// valueFunctions convert values and look at any of them.
var valueFunctions = []*function{
	def("size", "string -> int; bytes -> int; list -> int; map -> int", callSize, sizing),
	def("type", "dyn -> type; optional -> type", callType),
	def("dyn", "dyn -> dyn", func(_ *frame, args []any) (any, *failure) { return args[0], nil }, passing),
	def("int", "number -> int; uint -> int; string -> int; timestamp -> int", callInt, folded),
	def("uint", "number -> uint; uint -> uint; string -> uint", callUint, folded),
	def("double", "number -> double; uint -> double; string -> double", callDouble, folded),
	def("string", "string -> string; bool -> string; number -> string; uint -> string; bytes -> string; timestamp -> string; duration -> string; type -> string", callString),
	def("bytes", "string -> bytes; bytes -> bytes", callBytes),
	def("bool", "bool -> bool; string -> bool", callBool, folded),
}

func callSize(f *frame, args []any) (any, *failure) {
	if s, ok := args[0].(string); ok {
		if bad := f.scan(len(s)); bad != nil {
			return nil, bad
		}
	}
	n, ok := sizeOf(args[0])
	if !ok {
		return nil, wrong
	}
	return n, nil
}

// sizeOf counts the characters, bytes or items of a value.
func sizeOf(v any) (int64, bool) {
	switch v := v.(type) {
	case string:
		return int64(utf8.RuneCountInString(v)), true
	case octets:
		return int64(len(v)), true
	case *list:
		return int64(v.size()), true
	case *hole:
		_, n, ok := v.size()
		return n, ok
	}
	o, ok := mapOf(v)
	if !ok {
		return 0, false
	}
	return int64(o.size()), true
}

func callType(_ *frame, args []any) (any, *failure) {
	t, ok := typeOf(args[0])
	if !ok {
		return nil, wrong
	}
	return t, nil
}

func notConvertible(v any, to string) *failure {
	text, _ := plainText(v)
	return failf(CodeRange, "%q is no %s", shorten(text), to)
}

func callInt(_ *frame, args []any) (any, *failure) {
	switch v := args[0].(type) {
	case int64:
		return v, nil
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v), nil
		}
		return nil, notConvertible(v, "int")
	case float64:
		if v > -(1<<63) && v < 1<<63 {
			return int64(v), nil
		}
		return nil, notConvertible(v, "int")
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n, nil
		}
		return nil, notConvertible(v, "int")
	case time.Time:
		return v.Unix(), nil
	}
	return nil, wrong
}

func callUint(_ *frame, args []any) (any, *failure) {
	switch v := args[0].(type) {
	case int64:
		if v >= 0 {
			return uint64(v), nil
		}
		return nil, notConvertible(v, "uint")
	case uint64:
		return v, nil
	case float64:
		if v >= 0 && v < 1<<64 {
			return uint64(v), nil
		}
		return nil, notConvertible(v, "uint")
	case string:
		if n, err := strconv.ParseUint(v, 10, 64); err == nil {
			return n, nil
		}
		return nil, notConvertible(v, "uint")
	}
	return nil, wrong
}

func callDouble(_ *frame, args []any) (any, *failure) {
	switch v := args[0].(type) {
	case int64, uint64, float64:
		return toDouble(v), nil
	case string:
		if x, err := strconv.ParseFloat(v, 64); err == nil {
			return x, nil
		}
		return nil, notConvertible(v, "double")
	}
	return nil, wrong
}

func callString(f *frame, args []any) (any, *failure) {
	if b, ok := args[0].(octets); ok {
		if !utf8.ValidString(string(b)) {
			return nil, failf(CodeRange, "these bytes are no UTF-8 text").or("write base64.encode(x)")
		}
		return string(b), f.scan(len(b))
	}
	if s, ok := plainText(args[0]); ok {
		return s, nil
	}
	return nil, wrong
}

func callBytes(_ *frame, args []any) (any, *failure) {
	switch v := args[0].(type) {
	case string:
		return octets(v), nil
	case octets:
		return v, nil
	}
	return nil, wrong
}

func callBool(_ *frame, args []any) (any, *failure) {
	switch v := args[0].(type) {
	case bool:
		return v, nil
	case string:
		if b, err := strconv.ParseBool(v); err == nil {
			return b, nil
		}
		return nil, notConvertible(v, "bool")
	}
	return nil, wrong
}

// optionalFunctions make and open optionals.
var optionalFunctions = []*function{
	def("optional.of", "A -> optional<A>", func(_ *frame, args []any) (any, *failure) { return some(args[0]), nil }, passing),
	def("optional.none", " -> optional", func(*frame, []any) (any, *failure) { return none, nil }),
	def("optional.ofNonZeroValue", "A -> optional<A>", callOfNonZero),
	def("optional.unwrap", "list<optional<A>> -> list<A>", callUnwrap),
	def("unwrapOpt", "list<optional<A>> -> list<A>", callUnwrap),
	def("hasValue", "optional -> bool; dyn -> bool", callHasValue, sizing),
	def("value", "optional<A> -> A", callValue, passing),
}

func callOfNonZero(_ *frame, args []any) (any, *failure) {
	zero := false
	switch v := args[0].(type) {
	case nil:
		zero = true
	case bool:
		zero = !v
	case int64:
		zero = v == 0
	case uint64:
		zero = v == 0
	case float64:
		zero = v == 0
	case string:
		zero = v == ""
	case octets:
		zero = v == ""
	case time.Duration:
		zero = v == 0
	case *list:
		zero = v.size() == 0
	case *object:
		zero = v.size() == 0
	}
	if zero {
		return none, nil
	}
	return some(args[0]), nil
}

func callUnwrap(f *frame, args []any) (any, *failure) {
	l, ok := args[0].(*list)
	if !ok {
		return nil, wrong
	}
	if bad := f.items(l.size()); bad != nil {
		return nil, bad
	}
	vals := make([]any, 0, l.size())
	for _, v := range l.all() {
		o, ok := v.(*optional)
		switch {
		case !ok:
			return nil, failf(CodeType, "an item of the list is %s, not an optional", kindName(v))
		case o.has:
			vals = append(vals, o.val)
		}
	}
	return newList(vals), nil
}

func callHasValue(_ *frame, args []any) (any, *failure) {
	if o, ok := args[0].(*optional); ok {
		return o.has, nil
	}
	return args[0] != nil, nil
}

func callValue(_ *frame, args []any) (any, *failure) {
	o, ok := args[0].(*optional)
	switch {
	case !ok:
		return nil, wrong
	case !o.has:
		return nil, failf(CodeMissing, "the optional is empty").or("give a default with .orValue(…)")
	}
	return o.val, nil
}
