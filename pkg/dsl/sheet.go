package dsl

import (
	"strings"
	"unicode/utf8"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// sheet is the characters of a document, for finding places in it. Lines end as YAML's scanner ends them: at LF, CR,
// CRLF, NEL, LS and PS.
type sheet struct {
	data  string
	lines []textLine
}

type textLine struct {
	start, end int // bytes; end is before the line break
	ascii      bool
	// marks holds the byte of every markEvery-th character of a long line that is not ASCII; made on first use, so that
	// finding a column costs the same everywhere in the line.
	marks []int
}

const markEvery = 64

func newSheet(data string) *sheet {
	t := &sheet{data: data}
	line := textLine{ascii: true}
	for i := 0; i < len(data); {
		if n := lineBreak(data[i:]); n > 0 {
			line.end = i
			t.lines = append(t.lines, line)
			i += n
			line = textLine{start: i, ascii: true}
			continue
		}
		if data[i] >= utf8.RuneSelf {
			line.ascii = false
		}
		i++
	}
	line.end = len(data)
	t.lines = append(t.lines, line)
	return t
}

// lineBreak returns the length of the line break that s starts with, or 0.
func lineBreak(s string) int {
	switch {
	case s[0] == '\n':
		return 1
	case s[0] == '\r':
		if len(s) > 1 && s[1] == '\n' {
			return 2
		}
		return 1
	case s[0] == 0xC2 && strings.HasPrefix(s, "\u0085"):
		return 2
	case s[0] == 0xE2 && (strings.HasPrefix(s, "\u2028") || strings.HasPrefix(s, "\u2029")):
		return 3
	}
	return 0
}

// line returns the text of a line (from 1) without its break.
func (t *sheet) line(number int) string {
	if number < 1 || number > len(t.lines) {
		return ""
	}
	l := t.lines[number-1]
	return t.data[l.start:l.end]
}

// offset returns the byte at a place; places outside give the nearest one.
func (t *sheet) offset(at workflow.Position) int {
	if at.Line < 1 {
		return 0
	}
	if at.Line > len(t.lines) {
		return len(t.data)
	}
	l := &t.lines[at.Line-1]
	skip := max(at.Column-1, 0)
	if l.ascii {
		return min(l.start+skip, l.end)
	}
	if l.marks == nil {
		count := 0
		for i := range t.data[l.start:l.end] {
			if count%markEvery == 0 {
				l.marks = append(l.marks, l.start+i)
			}
			count++
		}
	}
	i := l.marks[min(skip/markEvery, len(l.marks)-1)]
	for skip -= min(skip/markEvery, len(l.marks)-1) * markEvery; skip > 0 && i < l.end; skip-- {
		_, size := utf8.DecodeRuneInString(t.data[i:])
		i += size
	}
	return i
}

// position returns the place of a byte.
func (t *sheet) position(offset int) workflow.Position {
	low, high := 0, len(t.lines)
	for low+1 < high {
		if middle := (low + high) / 2; t.lines[middle].start <= offset {
			low = middle
		} else {
			high = middle
		}
	}
	start := t.lines[low].start
	return workflow.Position{Line: low + 1, Column: 1 + utf8.RuneCountInString(t.data[start:max(start, min(offset, len(t.data)))])}
}

// endColumn returns the column after a node on the line it starts in, or 0 for a mapping or a list.
func (t *sheet) endColumn(n *node) int {
	if n.kind == kindList || n.kind == kindObject || n.at.Line < 1 || n.at.Line > len(t.lines) {
		return 0
	}
	from := t.offset(n.at)
	line := t.data[from:t.lines[n.at.Line-1].end]
	if n.style == stylePlain && strings.HasPrefix(line, "*") { // an alias as written
		return 0
	}
	size := len(line)
	switch n.style {
	case styleSingle, styleDouble:
		size = quotedLength(line)
	case stylePlain:
		size = plainLength(line, n.text)
	case styleLiteral, styleFolded:
		size = 1
	}
	if size == 0 {
		return 0
	}
	return n.at.Column + utf8.RuneCountInString(line[:size])
}

// quotedLength returns the length of the quoted scalar that a line starts with, both quotes included.
func quotedLength(line string) int {
	if line == "" {
		return 0
	}
	quote := line[0]
	for i := 1; i < len(line); i++ {
		switch {
		case line[i] == '\\' && quote == '"':
			i++
		case line[i] == quote && quote == '\'' && i+1 < len(line) && line[i+1] == '\'':
			i++
		case line[i] == quote:
			return i + 1
		}
	}
	return len(line)
}

// plainLength returns the length of the plain scalar that a line starts with.
func plainLength(line, text string) int {
	rest := strings.TrimRight(line, " \t")
	switch {
	case text != "" && strings.HasPrefix(line, text):
		return len(text)
	case strings.HasPrefix(text, rest): // it goes on in the next line
		return len(rest)
	}
	if end := strings.IndexAny(line, " \t,]}"); end >= 0 { // a number or the like, which text has in JSON's spelling
		return end
	}
	return len(line)
}

// places returns the place of each byte of a scalar's text and, last, the place after it.
func (t *sheet) places(n *node) []workflow.Position {
	places := make([]workflow.Position, 0, len(n.text)+1)
	at := t.offset(n.at)
	here := n.at
	step := func() { // one character on
		if at >= len(t.data) {
			return
		}
		if size := lineBreak(t.data[at:]); size > 0 {
			at += size
			here = workflow.Position{Line: here.Line + 1, Column: 1}
			return
		}
		_, size := utf8.DecodeRuneInString(t.data[at:])
		at += size
		here.Column++
	}
	blank := func() bool {
		return at < len(t.data) && (t.data[at] == ' ' || t.data[at] == '\t' || lineBreak(t.data[at:]) > 0)
	}
	switch n.style {
	case styleSingle, styleDouble:
		step()
	case styleLiteral, styleFolded:
		for at < len(t.data) && lineBreak(t.data[at:]) == 0 {
			step()
		}
		step()
	}
	for i := 0; i < len(n.text); {
		r, size := utf8.DecodeRuneInString(n.text[i:])
		for n.style == styleDouble && at+1 < len(t.data) && t.data[at] == '\\' && lineBreak(t.data[at+1:]) > 0 { // the line goes on
			step()
			for blank() {
				step()
			}
		}
		if r != ' ' && r != '\n' && r != '\t' {
			for blank() { // indentation, and what folding took away
				step()
			}
		}
		for j := 0; j < size; j++ {
			places = append(places, here)
		}
		i += size
		switch {
		case n.style == styleDouble && at < len(t.data) && t.data[at] == '\\':
			for skip := escapeLength(t.data[at:]); skip > 0; skip-- {
				step()
			}
		case n.style == styleSingle && r == '\'':
			step()
			step()
		case r == ' ' || r == '\n' || r == '\t':
			if blank() {
				step()
			}
		default:
			step()
		}
	}
	return append(places, here)
}

// escapeLength returns the number of characters of the escape that a double-quoted text starts with.
func escapeLength(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case 'x':
		return 4
	case 'u':
		if len(s) > 12 && s[2] >= 'd' && s[2] <= 'd' && s[6] == '\\' {
			return 12
		}
		return 6
	case 'U':
		return 10
	}
	return 2
}
