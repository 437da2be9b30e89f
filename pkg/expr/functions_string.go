package expr

import (
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
