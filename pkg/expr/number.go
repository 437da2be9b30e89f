package expr

import (
	"cmp"
	"math"
	"strconv"
	"time"
)

// arithmetic applies one of + - * / % to two values. int and double mix: the result is a double. int and uint
// mix: the result is an int.
func arithmetic(f *frame, op byte, a, b any) (any, *failure) {
	switch x := a.(type) {
	case int64:
		if y, ok := b.(int64); ok {
			return intArithmetic(op, x, y)
		}
	case float64:
		if y, ok := b.(float64); ok {
			return doubleArithmetic(op, x, y)
		}
	}
	if isNumber(a) && isNumber(b) {
		return mixedArithmetic(op, a, b)
	}
	switch op {
	case '+':
		return add(f, a, b)
	case '-':
		return subtract(a, b)
	case '*', '/':
		return scale(op, a, b)
	}
	return nil, badOperands(op, a, b)
}

// scale multiplies a duration by a number, or divides it by one. Parts of a nanosecond are cut off.
func scale(op byte, a, b any) (any, *failure) {
	if _, ok := b.(time.Duration); ok && op == '*' && isNumber(a) {
		a, b = b, a
	}
	d, ok := a.(time.Duration)
	if !ok || !isNumber(b) {
		return nil, badOperands(op, a, b)
	}
	if x, ok := b.(float64); ok {
		v, _ := doubleArithmetic(op, float64(d), x)
		if scaled := v.(float64); scaled > -(1<<63) && scaled < 1<<63 {
			return time.Duration(scaled), nil
		}
		return nil, durationRange()
	}
	n, ok := toInt(b)
	if !ok {
		return nil, durationRange()
	}
	if op == '/' && n == 0 {
		return nil, divisionByZero()
	}
	v, bad := intArithmetic(op, int64(d), n)
	if bad != nil {
		return nil, durationRange()
	}
	return time.Duration(v.(int64)), nil
}

func badOperands(op byte, a, b any) *failure {
	if bad := unreadable(a, b); bad != nil {
		return bad
	}
	x := failf(CodeType, "%s %c %s is not possible", kindName(a), op, kindName(b))
	_, left := a.(string)
	_, right := b.(string)
	switch {
	case a == nil || b == nil:
		return x.or("give a default with coalesce(x, …)")
	case isOptional(a) || isOptional(b):
		return x.or("give a default with .orValue(…)")
	case op == '+' && (left || right):
		return x.or("write string(x) for the other value")
	}
	return x
}

func isOptional(v any) bool {
	_, ok := v.(*optional)
	return ok
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, uint64, float64:
		return true
	}
	return false
}

func overflow(op byte, a, b any) *failure {
	x, _ := plainText(a)
	y, _ := plainText(b)
	return failf(CodeRange, "%s %c %s is out of the range of %s", x, op, y, kindName(a)).or("calculate with double(x)")
}

func intArithmetic(op byte, x, y int64) (any, *failure) {
	switch op {
	case '+':
		if r := x + y; (r > x) == (y > 0) {
			return r, nil
		}
	case '-':
		if r := x - y; (r < x) == (y > 0) {
			return r, nil
		}
	case '*':
		if x == 0 || y == 0 {
			return int64(0), nil
		}
		if r := x * y; r/y == x && !(x == -1 && y == math.MinInt64) && !(y == -1 && x == math.MinInt64) {
			return r, nil
		}
	case '/', '%':
		if y == 0 {
			return nil, divisionByZero()
		}
		if y == -1 && x == math.MinInt64 {
			return nil, overflow(op, x, y)
		}
		if op == '/' {
			return x / y, nil
		}
		return x % y, nil
	}
	return nil, overflow(op, x, y)
}

func divisionByZero() *failure {
	return failf(CodeRange, "division by zero").or("test the divisor first: d == 0 ? … : x / d")
}

func uintArithmetic(op byte, x, y uint64) (any, *failure) {
	switch op {
	case '+':
		if r := x + y; r >= x {
			return r, nil
		}
	case '-':
		if x >= y {
			return x - y, nil
		}
	case '*':
		if r := x * y; x == 0 || r/x == y {
			return r, nil
		}
	case '/', '%':
		if y == 0 {
			return nil, divisionByZero()
		}
		if op == '/' {
			return x / y, nil
		}
		return x % y, nil
	}
	return nil, overflow(op, x, y)
}

func doubleArithmetic(op byte, x, y float64) (any, *failure) {
	switch op {
	case '+':
		return x + y, nil
	case '-':
		return x - y, nil
	case '*':
		return x * y, nil
	case '/':
		return x / y, nil
	}
	return nil, failf(CodeType, "double %% double is not possible").or("use int(x) %% int(y)")
}

func mixedArithmetic(op byte, a, b any) (any, *failure) {
	_, left := a.(float64)
	_, right := b.(float64)
	if left || right {
		return doubleArithmetic(op, toDouble(a), toDouble(b))
	}
	x, left := a.(uint64)
	y, right := b.(uint64)
	if left && right {
		return uintArithmetic(op, x, y)
	}
	m, ok := toInt(a)
	n, too := toInt(b)
	if !ok || !too {
		return nil, overflow(op, a, b)
	}
	return intArithmetic(op, m, n)
}

func toDouble(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	}
	return v.(float64)
}

// toInt converts an int or a uint in range.
func toInt(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case uint64:
		return int64(v), v <= math.MaxInt64
	}
	return 0, false
}

// add joins strings, bytes and lists, and adds durations and times.
func add(f *frame, a, b any) (any, *failure) {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return x + y, f.bytes(len(x) + len(y))
		}
	case octets:
		if y, ok := b.(octets); ok {
			return x + y, f.bytes(len(x) + len(y))
		}
	case *list:
		if y, ok := b.(*list); ok {
			return concat(f, x, y)
		}
	case time.Duration:
		switch y := b.(type) {
		case time.Duration:
			return addDurations(x, y)
		case time.Time:
			return addTime(y, x)
		}
	case time.Time:
		if y, ok := b.(time.Duration); ok {
			return addTime(x, y)
		}
	}
	return nil, badOperands('+', a, b)
}

func concat(f *frame, x, y *list) (any, *failure) {
	if x.size() == 0 {
		return y, nil
	}
	if y.size() == 0 {
		return x, nil
	}
	if bad := f.items(x.size() + y.size()); bad != nil {
		return nil, bad
	}
	vals := make([]any, 0, x.size()+y.size())
	return newList(append(append(vals, x.all()...), y.all()...)), nil
}

func subtract(a, b any) (any, *failure) {
	switch x := a.(type) {
	case time.Duration:
		if y, ok := b.(time.Duration); ok {
			if y == math.MinInt64 {
				return nil, durationRange()
			}
			return addDurations(x, -y)
		}
	case time.Time:
		switch y := b.(type) {
		case time.Time:
			return durationBetween(y, x)
		case time.Duration:
			if y == math.MinInt64 {
				return nil, durationRange()
			}
			return addTime(x, -y)
		}
	}
	return nil, badOperands('-', a, b)
}

func negate(v any) (any, *failure) {
	switch v := v.(type) {
	case int64:
		if v == math.MinInt64 {
			return nil, failf(CodeRange, "-(%d) is out of the range of int", v)
		}
		return -v, nil
	case float64:
		return -v, nil
	case time.Duration:
		if v == math.MinInt64 {
			return nil, durationRange()
		}
		return -v, nil
	}
	if bad := unreadable(v); bad != nil {
		return nil, bad
	}
	return nil, failf(CodeType, "-%s is not possible", kindName(v))
}

// compareNumbers orders numbers of any types exactly. ordered is false if one is NaN.
func compareNumbers(a, b any) (order int, ordered bool) {
	switch x := a.(type) {
	case int64:
		switch y := b.(type) {
		case int64:
			return cmp.Compare(x, y), true
		case uint64:
			return compareIntUint(x, y), true
		case float64:
			return compareIntDouble(x, y)
		}
	case uint64:
		switch y := b.(type) {
		case int64:
			return -compareIntUint(y, x), true
		case uint64:
			return cmp.Compare(x, y), true
		case float64:
			return compareUintDouble(x, y)
		}
	case float64:
		if y, ok := b.(float64); ok {
			return cmp.Compare(x, y), x == x && y == y
		}
		order, ordered = compareNumbers(b, a)
		return -order, ordered
	}
	panic("expr: not numbers")
}

func compareIntUint(x int64, y uint64) int {
	if x < 0 {
		return -1
	}
	return cmp.Compare(uint64(x), y)
}

func compareIntDouble(x int64, y float64) (int, bool) {
	switch {
	case y != y:
		return 0, false
	case y >= 1<<63:
		return -1, true
	case y < -(1 << 63):
		return 1, true
	}
	if c := cmp.Compare(x, int64(y)); c != 0 {
		return c, true
	}
	return cmp.Compare(0, y-math.Trunc(y)), true
}

func compareUintDouble(x uint64, y float64) (int, bool) {
	switch {
	case y != y:
		return 0, false
	case y >= 1<<64:
		return -1, true
	case y < 0:
		return 1, true
	}
	if c := cmp.Compare(x, uint64(y)); c != 0 {
		return c, true
	}
	return cmp.Compare(0, y-math.Trunc(y)), true
}

// plainText is the text of a scalar, as string(x) and interpolation write it: numbers in plain decimal.
func plainText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case uint64:
		return strconv.FormatUint(v, 10), true
	case float64:
		return doubleText(v), true
	case time.Time:
		return timeText(v), true
	case time.Duration:
		return FormatDuration(v), true
	case typeName:
		return string(v), true
	}
	return "", false
}

func doubleText(x float64) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}
