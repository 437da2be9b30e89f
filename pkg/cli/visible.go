package cli

import (
	"fmt"
	"strings"
	"unicode"
)

// visible shows the control characters of a text that others wrote, such as the title of a task: printed as they are they would command the
// terminal, and break lines. Marks that turn the direction of writing count too, for they hide what stands there.
func visible(text string) string {
	if !strings.ContainsFunc(text, commands) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteString("⏎")
		case r == '\t':
			b.WriteByte(' ')
		case commands(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// commands reports whether a character does something else than to be seen.
func commands(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
}

// visibleLines is visible for a text of several lines.
func visibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = visible(lines[i])
	}
	return strings.Join(lines, "\n")
}
