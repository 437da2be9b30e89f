package dsl

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// Render writes diagnostics for people: the one-line form of each, the line of the document with the place marked, and the
// suggestion. source is the document that they are about. It writes plain text, without colours; the JSON form of a
// diagnostic is that of encoding/json. The error is that of the writer.
func Render(w io.Writer, diagnostics []Diagnostic, source []byte) error {
	t := newSheet(strings.TrimPrefix(string(source), "\ufeff"))
	var b strings.Builder
	for i, d := range diagnostics {
		if i > 0 {
			b.WriteByte('\n')
		}
		d.render(&b, t)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (d Diagnostic) render(b *strings.Builder, t *sheet) {
	b.WriteString(d.String())
	b.WriteByte('\n')
	number := strconv.Itoa(d.Line)
	margin := strings.Repeat(" ", len(number))
	if d.Line >= 1 && d.Line <= len(t.lines) {
		line, pad, marks := excerpt(t.line(d.Line), d.Column, d.EndColumn)
		fmt.Fprintf(b, " %s | %s\n", number, line)
		if marks != "" {
			fmt.Fprintf(b, " %s | %s%s\n", margin, pad, marks)
		}
	}
	if d.Suggestion != "" {
		fmt.Fprintf(b, " %s = %s\n", margin, d.Suggestion)
	}
}

// Bounds of the part of a line that is shown, in characters: a document may be one long line.
const (
	excerptBefore = 60
	excerptAfter  = 60
)

// excerpt cuts a line around a place, and makes the marks that stand below it.
func excerpt(line string, column, end int) (shown, pad, marks string) {
	if column < 1 {
		column = 1
	}
	skip := max(0, column-1-excerptBefore)
	var show, before strings.Builder
	if skip > 0 {
		show.WriteString("… ")
		before.WriteString("  ")
	}
	at := 0
	for _, r := range line {
		at++
		if at <= skip {
			continue
		}
		if at > column+excerptAfter {
			show.WriteString(" …")
			break
		}
		if !unicode.IsPrint(r) { // tabs and the like: one space, so that the marks stand right
			r = ' '
		}
		show.WriteRune(r)
		switch {
		case at < column:
			before.WriteString(strings.Repeat(" ", width(r)))
		case at == column || at < end:
			marks += strings.Repeat("^", width(r))
		}
	}
	if marks == "" { // after the end of the line
		marks = "^"
	}
	return show.String(), before.String(), marks
}

// width is the number of columns that a terminal gives a character.
func width(r rune) int {
	if r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) || r >= 0x1F300 && r <= 0x1FAFF || r >= 0xFF01 && r <= 0xFF60 {
		return 2
	}
	return 1
}
