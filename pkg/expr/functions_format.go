package expr

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// verb is one %… of a format.
type verb struct {
	letter    byte
	precision int
}

const maxPrecision = 100

// parseVerb reads the verb at the start of text, after the %.
func parseVerb(text string) (v verb, rest string, bad *failure) {
	v.precision = 6
	if digits, ok := strings.CutPrefix(text, "."); ok {
		end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(digits)
		}
		n, err := strconv.Atoi(digits[:end])
		if err != nil || n > maxPrecision {
			return v, "", failf(CodeRange, "%%.%s: a precision is a number up to %d", digits[:end], maxPrecision)
		}
		v.precision, text = n, digits[end:]
	}
	if text == "" || strings.IndexByte("sdfebxXo", text[0]) < 0 {
		return v, "", failf(CodeRange, "%%%s is no verb of format", firstRune(text)).or("verbs are %%s %%d %%f %%e %%b %%x %%X %%o; a percent sign is %%%%")
	}
	v.letter = text[0]
	return v, text[1:], nil
}

func firstRune(s string) string {
	_, size := utf8.DecodeRuneInString(s)
	return s[:size]
}

// format walks over a format; each gets the verbs.
func format(layout string, plain func(string), each func(v verb) *failure) *failure {
	for {
		text, rest, more := strings.Cut(layout, "%")
		plain(text)
		if !more {
			return nil
		}
		if after, ok := strings.CutPrefix(rest, "%"); ok {
			plain("%")
			layout = after
			continue
		}
		v, after, bad := parseVerb(rest)
		if bad == nil {
			bad = each(v)
		}
		if bad != nil {
			return bad
		}
		layout = after
	}
}

func callFormat(f *frame, args []any) (any, *failure) {
	layout, bad := text(f, args[0])
	if bad != nil {
		return nil, bad
	}
	l, ok := args[1].(*list)
	if !ok {
		return nil, wrong
	}
	var out strings.Builder
	next := 0
	bad = format(layout, func(s string) { out.WriteString(s) }, func(v verb) *failure {
		if next >= l.size() {
			return failf(CodeRange, "the format wants more than the %d values given", l.size())
		}
		s, bad := v.text(f, l.at(next))
		next++
		if bad != nil {
			return bad
		}
		out.WriteString(s)
		return f.bytes(len(s))
	})
	if bad != nil {
		return nil, bad
	}
	return out.String(), f.bytes(len(layout))
}

// text formats one value.
func (v verb) text(f *frame, val any) (string, *failure) {
	if bad := f.work(10 + v.precision); bad != nil {
		return "", bad
	}
	switch v.letter {
	case 's':
		return interpolated(f, val, "null")
	case 'd':
		if isNumber(val) {
			s, _ := plainText(val)
			return s, nil
		}
	case 'f', 'e':
		if isNumber(val) {
			x := toDouble(val)
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return doubleText(x), nil
			}
			return strconv.FormatFloat(x, v.letter, v.precision, 64), nil
		}
	case 'x', 'X':
		if s, ok := hexText(val); ok {
			if v.letter == 'X' {
				s = strings.ToUpper(s)
			}
			return s, nil
		}
	case 'b', 'o':
		base := map[byte]int{'b': 2, 'o': 8}[v.letter]
		switch n := val.(type) {
		case int64:
			return strconv.FormatInt(n, base), nil
		case uint64:
			return strconv.FormatUint(n, base), nil
		case bool:
			if v.letter == 'b' {
				return map[bool]string{false: "0", true: "1"}[n], nil
			}
		}
	}
	if bad := unreadable(val); bad != nil {
		return "", bad
	}
	return "", failf(CodeType, "%%%c does not take %s", v.letter, kindName(val)).or("%%s takes any value")
}

func hexText(val any) (string, bool) {
	switch v := val.(type) {
	case int64:
		return strconv.FormatInt(v, 16), true
	case uint64:
		return strconv.FormatUint(v, 16), true
	case string:
		return hex.EncodeToString([]byte(v)), true
	case octets:
		return hex.EncodeToString([]byte(v)), true
	}
	return "", false
}

// prepareFormat finds mistakes in a constant format.
func prepareFormat(fn *function, args []node) (*function, *failure) {
	l, ok := args[0].(*literal)
	if !ok {
		return fn, nil
	}
	layout, ok := l.val.(string)
	if !ok {
		return fn, nil
	}
	verbs := 0
	bad := format(layout, func(string) {}, func(verb) *failure { verbs++; return nil })
	if bad != nil {
		return nil, bad.placed(l.place)
	}
	if vals, ok := args[1].(*listLiteral); ok && vals.optional == nil && len(vals.items) != verbs {
		return nil, failf(CodeType, "the format has %d verbs and the list %d values", verbs, len(vals.items)).placed(vals.place)
	}
	return fn, nil
}

// interpolated is the text of a value inside a larger text: scalars plainly, null as given, lists and maps as JSON.
func interpolated(f *frame, v any, null string) (string, *failure) {
	if s, ok := plainText(v); ok {
		return s, nil
	}
	switch v := v.(type) {
	case nil:
		return null, nil
	case *optional:
		return interpolated(f, v.val, null)
	case *hole:
		return "", unreadable(v)
	case octets:
		s, bad := encodeBase64(f, string(v))
		return s, bad
	}
	return encodeJSON(f, v)
}
