package expr

import (
	"encoding/hex"
	"math"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"
)

// stringFunctions work on text. Positions count characters (Unicode code points), not bytes.
var stringFunctions = []*function{
	def("contains", "string, string -> bool", textTest(strings.Contains)),
	def("startsWith", "string, string -> bool", textTest(strings.HasPrefix)),
	def("endsWith", "string, string -> bool", textTest(strings.HasSuffix)),
	def("matches", "string, string -> bool", callMatches, preparing(prepareMatches)),
	def("charAt", "string, int -> string", callCharAt),
	def("indexOf", "string, string -> int; string, string, int -> int", callIndexOf),
	def("lastIndexOf", "string, string -> int; string, string, int -> int", callLastIndexOf),
	def("lowerAscii", "string -> string", textMap(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	})),
	def("upperAscii", "string -> string", textMap(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	})),
	def("trim", "string -> string", callTrim),
	def("replace", "string, string, string -> string; string, string, string, int -> string", callReplace),
	def("split", "string, string -> list<string>; string, string, int -> list<string>", callSplit),
	def("substring", "string, int -> string; string, int, int -> string", callSubstring),
	def("join", "list -> string; list, string -> string", callJoin),
	def("format", "string, list -> string", callFormat, preparing(prepareFormat)),
	def("strings.quote", "string -> string", callQuote),
}

func preparing(prepare func(fn *function, args []node) (*function, *failure)) option {
	return func(fn *function) { fn.prepare = prepare }
}

// text reads an argument that is a string and accounts for reading it.
func text(f *frame, v any) (string, *failure) {
	s, ok := v.(string)
	if !ok {
		return "", wrong
	}
	return s, f.scan(len(s))
}

func textTest(test func(s, part string) bool) func(*frame, []any) (any, *failure) {
	return func(f *frame, args []any) (any, *failure) {
		s, bad := text(f, args[0])
		if bad != nil {
			return nil, bad
		}
		part, bad := text(f, args[1])
		if bad != nil {
			return nil, bad
		}
		return test(s, part), nil
	}
}

func textMap(change func(rune) rune) func(*frame, []any) (any, *failure) {
	return func(f *frame, args []any) (any, *failure) {
		s, ok := args[0].(string)
		if !ok {
			return nil, wrong
		}
		if bad := f.bytes(len(s)); bad != nil {
			return nil, bad
		}
		return strings.Map(change, s), nil
	}
}

func callTrim(f *frame, args []any) (any, *failure) {
	s, bad := text(f, args[0])
	if bad != nil {
		return nil, bad
	}
	return strings.TrimSpace(s), nil
}

// offsetAt is the byte offset of character n of s, if s has so many.
func offsetAt(s string, n int64) (int, bool) {
	if n < 0 || n > int64(len(s)) {
		return 0, false
	}
	offset := 0
	for ; n > 0; n-- {
		if offset >= len(s) {
			return 0, false
		}
		_, size := utf8.DecodeRuneInString(s[offset:])
		offset += size
	}
	return offset, true
}

func outOfText(n int64, s string) *failure {
	return failf(CodeRange, "position %d of a text of %d characters", n, utf8.RuneCountInString(s)).or("use take(text, n), drop(text, n) or last(text, n), which take any n")
}

func callCharAt(f *frame, args []any) (any, *failure) {
	s, bad := text(f, args[0])
	n, ok := index(args[1])
	if bad != nil || !ok {
		return nil, orWrong(bad)
	}
	offset, ok := offsetAt(s, n)
	if !ok {
		return nil, outOfText(n, s)
	}
	_, size := utf8.DecodeRuneInString(s[offset:])
	return s[offset : offset+size], nil
}

func orWrong(bad *failure) *failure {
	if bad != nil {
		return bad
	}
	return wrong
}

// search reads the arguments of indexOf and lastIndexOf; start is -1 if there is none.
func search(f *frame, args []any) (s, part string, start int64, bad *failure) {
	if s, bad = text(f, args[0]); bad != nil {
		return "", "", 0, bad
	}
	if part, bad = text(f, args[1]); bad != nil {
		return "", "", 0, bad
	}
	if len(args) < 3 {
		return s, part, -1, nil
	}
	start, ok := index(args[2])
	switch {
	case !ok:
		return "", "", 0, wrong
	case start < 0:
		return "", "", 0, outOfText(start, s)
	}
	return s, part, start, nil
}

func callIndexOf(f *frame, args []any) (any, *failure) {
	s, part, start, bad := search(f, args)
	if bad != nil {
		return nil, bad
	}
	start = max(start, 0)
	offset, ok := offsetAt(s, start)
	switch {
	case part == "":
		return min(start, int64(utf8.RuneCountInString(s))), nil
	case !ok:
		return int64(-1), nil
	}
	i := strings.Index(s[offset:], part)
	if i < 0 {
		return int64(-1), nil
	}
	return start + int64(utf8.RuneCountInString(s[offset:offset+i])), nil
}

func callLastIndexOf(f *frame, args []any) (any, *failure) {
	s, part, start, bad := search(f, args)
	if bad != nil {
		return nil, bad
	}
	size := int64(utf8.RuneCountInString(s))
	switch {
	case part == "" && start < 0:
		return size, nil
	case part == "":
		return min(start, size), nil
	case start >= size:
		return int64(-1), nil
	}
	end := len(s)
	if start >= 0 {
		offset, _ := offsetAt(s, start)
		end = min(end, offset+len(part))
	}
	i := strings.LastIndex(s[:end], part)
	if i < 0 {
		return int64(-1), nil
	}
	return int64(utf8.RuneCountInString(s[:i])), nil
}

func callReplace(f *frame, args []any) (any, *failure) {
	s, old, _, bad := search(f, args[:2])
	if bad != nil {
		return nil, bad
	}
	with, bad := text(f, args[2])
	limit := int64(-1)
	if len(args) == 4 {
		n, ok := index(args[3])
		if !ok {
			return nil, wrong
		}
		limit = n
	}
	if bad != nil {
		return nil, bad
	}
	count := int64(strings.Count(s, old))
	if limit >= 0 {
		count = min(count, limit)
	}
	if bad := f.bytes(len(s)); bad != nil {
		return nil, bad
	}
	if bad := f.bytes(int(count) * len(with)); bad != nil { // both are at most maxBytes: no overflow
		return nil, bad
	}
	return strings.Replace(s, old, with, int(count)), nil
}

func callSplit(f *frame, args []any) (any, *failure) {
	s, sep, _, bad := search(f, args[:2])
	if bad != nil {
		return nil, bad
	}
	limit := int64(-1)
	if len(args) == 3 {
		n, ok := index(args[2])
		if !ok {
			return nil, wrong
		}
		limit = n
	}
	count := int64(strings.Count(s, sep)) + 1
	if limit >= 0 {
		count = min(count, limit)
	}
	if bad := f.items(int(2 * count)); bad != nil {
		return nil, bad
	}
	parts := strings.SplitN(s, sep, int(max(min(limit, count), -1)))
	vals := make([]any, len(parts))
	for i, part := range parts {
		vals[i] = part
	}
	return newList(vals), nil
}

func callSubstring(f *frame, args []any) (any, *failure) {
	s, bad := text(f, args[0])
	from, ok := index(args[1])
	if bad != nil || !ok {
		return nil, orWrong(bad)
	}
	start, ok := offsetAt(s, from)
	if !ok {
		return nil, outOfText(from, s)
	}
	if len(args) == 2 {
		return s[start:], nil
	}
	to, ok := index(args[2])
	if !ok {
		return nil, wrong
	}
	if to < from {
		return nil, failf(CodeRange, "substring from %d to %d", from, to).or("the second position must not be smaller than the first")
	}
	length, ok := offsetAt(s[start:], to-from)
	if !ok {
		return nil, outOfText(to, s)
	}
	return s[start : start+length], nil
}

func callJoin(f *frame, args []any) (any, *failure) {
	l, ok := args[0].(*list)
	if !ok {
		return nil, wrong
	}
	sep := ""
	if len(args) == 2 {
		if sep, ok = args[1].(string); !ok {
			return nil, wrong
		}
	}
	parts := make([]string, 0, l.size())
	if bad := f.items(l.size()); bad != nil {
		return nil, bad
	}
	for i := range l.size() {
		v := l.at(i)
		s, ok := plainText(v)
		if !ok {
			if bad := unreadable(v); bad != nil {
				return nil, bad
			}
			return nil, failf(CodeType, "join takes texts, numbers, bools and times; item %d is %s", i, kindName(v)).or("make texts of the items first: list.map(x, json.encode(x)).join(…)")
		}
		if bad := f.bytes(len(s) + len(sep)); bad != nil {
			return nil, bad
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, sep), nil
}

func callQuote(f *frame, args []any) (any, *failure) {
	s, ok := args[0].(string)
	if !ok {
		return nil, wrong
	}
	if bad := f.bytes(2*len(s) + 2); bad != nil {
		return nil, bad
	}
	return `"` + quoteText.Replace(s) + `"`, nil
}

var quoteText = strings.NewReplacer("\a", `\a`, "\b", `\b`, "\f", `\f`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\v", `\v`, `\`, `\\`, `"`, `\"`)

// Bounds of regular expressions: RE2 needs time in proportion to its size.
const (
	maxPattern = 500
	maxStates  = 10_000
)

// regex is a compiled regular expression and its size.
type regex struct {
	*regexp.Regexp
	states int
}

func compileRegex(f *frame, text string) (*regex, *failure) {
	if len(text) > maxPattern {
		return nil, failf(CodeCost, "the regular expression has %d bytes; %d are allowed", len(text), maxPattern)
	}
	if bad := f.work(100 + 10*len(text)); bad != nil {
		return nil, bad
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, failf(CodeRange, "not a regular expression: %v", err).or(`a backslash is written twice in a text, or once in r"…"`)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || len(prog.Inst) > maxStates {
		return nil, failf(CodeCost, "the regular expression is too large").or("use smaller repetitions")
	}
	if bad := f.work(20 * len(prog.Inst)); bad != nil {
		return nil, bad
	}
	return &regex{regexp.MustCompile(text), len(prog.Inst)}, nil
}

// matches tests in time bounded by the product of the two sizes.
func (p *regex) matches(f *frame, s string) (any, *failure) {
	if bad := f.work(2 + len(s)*p.states/8); bad != nil {
		return nil, bad
	}
	return p.MatchString(s), nil
}

func callMatches(f *frame, args []any) (any, *failure) {
	s, bad := text(f, args[0])
	if bad != nil {
		return nil, bad
	}
	text, ok := args[1].(string)
	if !ok {
		return nil, wrong
	}
	p, bad := compileRegex(f, text)
	if bad != nil {
		return nil, bad
	}
	return p.matches(f, s)
}

// prepareMatches compiles a constant pattern once.
func prepareMatches(fn *function, args []node) (*function, *failure) {
	l, ok := args[1].(*literal)
	if !ok {
		return fn, nil
	}
	text, ok := l.val.(string)
	if !ok {
		return fn, nil
	}
	p, bad := compileRegex(newFrame(nil, 0), text)
	if bad != nil {
		return nil, bad.placed(l.place)
	}
	c := *fn
	c.call = func(f *frame, args []any) (any, *failure) {
		s, ok := args[0].(string)
		if !ok {
			return nil, wrong
		}
		return p.matches(f, s)
	}
	return &c, nil
}

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
