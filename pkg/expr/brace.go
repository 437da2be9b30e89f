package expr

import (
	"strings"
	"unicode/utf8"
)

// piece is a part of a string that may hold ${ … }: plain text or an expression.
type piece struct {
	text   string // plain text, with $${ resolved, or the expression
	isExpr bool
	offset int32 // of text in the string, in characters
}

// pieces splits a string at its expressions. $${ is a plain ${.
func pieces(s string) ([]piece, *failure) {
	var out []piece
	var plain strings.Builder
	for i := 0; i < len(s); {
		rest := s[i:]
		switch {
		case strings.HasPrefix(rest, "$${"):
			plain.WriteString("${")
			i += 3
		case strings.HasPrefix(rest, "${"):
			end := closing(rest)
			if end < 0 {
				at := place{int32(utf8.RuneCountInString(s[:i])), 2}
				return nil, failf(CodeSyntax, "${ is not closed").or("close the expression with }; a plain ${ is written $${").placed(at)
			}
			if plain.Len() > 0 {
				out = append(out, piece{text: plain.String()})
				plain.Reset()
			}
			out = append(out, expression(s, i+2, i+end))
			i += end + 1
		default:
			next := strings.IndexByte(rest[1:], '$') + 1
			if next == 0 {
				next = len(rest)
			}
			plain.WriteString(rest[:next])
			i += next
		}
	}
	if plain.Len() > 0 || len(out) == 0 {
		out = append(out, piece{text: plain.String()})
	}
	return out, nil
}

// expression is the piece s[from:to] without the white space around it.
func expression(s string, from, to int) piece {
	text := strings.TrimLeft(s[from:to], " \t\r\n")
	from = to - len(text)
	return piece{text: strings.TrimRight(text, " \t\r\n"), isExpr: true, offset: int32(utf8.RuneCountInString(s[:from]))}
}

// single returns the only expression of a string that is nothing but one, but for white space around it.
func single(s string) (piece, bool) {
	t := strings.TrimSpace(s)
	if !strings.HasPrefix(t, "${") || closing(t) != len(t)-1 {
		return piece{}, false
	}
	from := strings.Index(s, "${")
	return expression(s, from+2, from+len(t)-1), true
}

// unbraced is the expression of a text that may stand in braces, and its offset.
func unbraced(src string) (inner string, offset int32) {
	if p, ok := single(src); ok {
		return p.text, p.offset
	}
	p := expression(src, 0, len(src))
	return p.text, p.offset
}

// closing is the index of the } that closes the ${ at the start of s, or -1. Braces in strings, comments and quoted names do
// not count.
func closing(s string) int {
	depth := 0
	for i := 2; i < len(s); {
		switch c := s[i]; {
		case c == '{':
			depth++
			i++
		case c == '}' && depth == 0:
			return i
		case c == '}':
			depth--
			i++
		case c == '"' || c == '\'':
			i = afterString(s, i)
		case c == '`':
			i = after(s, i+1, "`")
		case strings.HasPrefix(s[i:], "//"):
			i = after(s, i, "\n")
		default:
			i++
		}
	}
	return -1
}

// after is the index after the next occurrence of end, or the length of s.
func after(s string, from int, end string) int {
	if i := strings.Index(s[min(from, len(s)):], end); i >= 0 {
		return from + i + len(end)
	}
	return len(s)
}

// afterString is the index after the string literal whose opening quote is at i.
func afterString(s string, i int) int {
	quote := s[i : i+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s[i:], triple) {
		quote = triple
	}
	raw := isRaw(s[:i])
	for i += len(quote); i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], quote):
			return i + len(quote)
		case s[i] == '\\' && !raw:
			i++
		}
	}
	return len(s)
}

// isRaw reports whether the text before a quote ends in the prefix of a raw string: r, rb or br.
func isRaw(before string) bool {
	i := len(before)
	raw := false
	for i > 0 && strings.IndexByte("rRbB", before[i-1]) >= 0 {
		i--
		raw = raw || before[i] == 'r' || before[i] == 'R'
	}
	return raw && (i == 0 || !isWord(before[i-1]))
}

func isWord(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}
