package expr

import "math"

// mathFunctions are CEL's extension for numbers.
var mathFunctions = []*function{
	def("math.greatest", "list<number> -> number; number... -> number; list<uint> -> uint; uint... -> uint", extreme(1, true)),
	def("math.least", "list<number> -> number; number... -> number; list<uint> -> uint; uint... -> uint", extreme(-1, true)),
	def("math.ceil", "number -> double", doubleMap(math.Ceil)),
	def("math.floor", "number -> double", doubleMap(math.Floor)),
	def("math.round", "number -> double", doubleMap(math.Round)),
	def("math.trunc", "number -> double", doubleMap(math.Trunc)),
	def("math.sqrt", "number -> double", doubleMap(math.Sqrt)),
	def("math.abs", "int -> int; double -> double; number -> number; uint -> uint", callAbs),
	def("math.sign", "int -> int; double -> double; number -> number; uint -> uint", callSign),
	def("math.isNaN", "number -> bool", doubleTest(math.IsNaN)),
	def("math.isInf", "number -> bool", doubleTest(func(x float64) bool { return math.IsInf(x, 0) })),
	def("math.isFinite", "number -> bool", doubleTest(func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) })),
	def("math.bitAnd", "int, int -> int; uint, uint -> uint", bitwise(func(a, b uint64) uint64 { return a & b })),
	def("math.bitOr", "int, int -> int; uint, uint -> uint", bitwise(func(a, b uint64) uint64 { return a | b })),
	def("math.bitXor", "int, int -> int; uint, uint -> uint", bitwise(func(a, b uint64) uint64 { return a ^ b })),
	def("math.bitNot", "int -> int; uint -> uint", callBitNot),
	def("math.bitShiftLeft", "int, int -> int; uint, int -> uint", shift(func(a uint64, n uint) uint64 { return a << n })),
	def("math.bitShiftRight", "int, int -> int; uint, int -> uint", shift(func(a uint64, n uint) uint64 { return a >> n })),
}

func doubleMap(change func(float64) float64) func(*frame, []any) (any, *failure) {
	return func(_ *frame, args []any) (any, *failure) {
		if !isNumber(args[0]) {
			return nil, wrong
		}
		return change(toDouble(args[0])), nil
	}
}

func doubleTest(test func(float64) bool) func(*frame, []any) (any, *failure) {
	return func(_ *frame, args []any) (any, *failure) {
		if !isNumber(args[0]) {
			return nil, wrong
		}
		return test(toDouble(args[0])), nil
	}
}

func callAbs(_ *frame, args []any) (any, *failure) {
	switch v := args[0].(type) {
	case int64:
		if v < 0 {
			return negate(v)
		}
		return v, nil
	case uint64:
		return v, nil
	case float64:
		return math.Abs(v), nil
	}
	return nil, wrong
}

func callSign(_ *frame, args []any) (any, *failure) {
	switch v := args[0].(type) {
	case int64:
		return int64(compareIntUint(v, 0)), nil
	case uint64:
		return min(v, 1), nil
	case float64:
		switch {
		case v > 0:
			return 1.0, nil
		case v < 0:
			return -1.0, nil
		case v == 0:
			return 0.0, nil
		}
		return v, nil
	}
	return nil, wrong
}

func bitwise(op func(a, b uint64) uint64) func(*frame, []any) (any, *failure) {
	return func(_ *frame, args []any) (any, *failure) {
		switch a := args[0].(type) {
		case int64:
			if b, ok := args[1].(int64); ok {
				return int64(op(uint64(a), uint64(b))), nil
			}
		case uint64:
			if b, ok := args[1].(uint64); ok {
				return op(a, b), nil
			}
		}
		return nil, wrong
	}
}

func callBitNot(_ *frame, args []any) (any, *failure) {
	switch v := args[0].(type) {
	case int64:
		return ^v, nil
	case uint64:
		return ^v, nil
	}
	return nil, wrong
}

func shift(op func(a uint64, n uint) uint64) func(*frame, []any) (any, *failure) {
	return func(_ *frame, args []any) (any, *failure) {
		n, ok := args[1].(int64)
		switch {
		case !ok:
			return nil, wrong
		case n < 0:
			return nil, failf(CodeRange, "a shift by %d bits", n)
		}
		switch v := args[0].(type) {
		case int64:
			return int64(op(uint64(v), uint(n))), nil
		case uint64:
			return op(v, uint(n)), nil
		}
		return nil, wrong
	}
}
