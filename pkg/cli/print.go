package cli

import (
	"io"
	"strings"

	"github.com/wovyr/wovyr/pkg/dsl"
)

// printDiagnostics writes the findings about one document, each with its line, and an empty line behind each.
func printDiagnostics(w io.Writer, d document, colour bool) error {
	var b strings.Builder
	for _, each := range d.diagnostics {
		var one strings.Builder
		if err := dsl.Render(&one, []dsl.Diagnostic{each}, d.data); err != nil {
			return err
		}
		text := one.String()
		if colour {
			text = coloured(text, each.Severity)
		}
		b.WriteString(text + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Colours of a terminal.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	plain  = "\x1b[0m"
)

// coloured paints one rendered finding: its first line bold, with the severity in its colour, the marks likewise, and
// the suggestion.
func coloured(text string, severity dsl.Severity) string {
	paint := red
	if severity == dsl.SeverityWarning {
		paint = yellow
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	word := string(severity) + ": "
	if before, after, ok := strings.Cut(lines[0], word); ok {
		lines[0] = bold + before + paint + word + plain + bold + after + plain
	}
	for i, line := range lines[1:] {
		trimmed := strings.TrimLeft(line, " ")
		switch margin := line[:len(line)-len(trimmed)]; {
		case strings.HasPrefix(trimmed, "| "):
			lines[i+1] = margin + "| " + paint + trimmed[2:] + plain
		case strings.HasPrefix(trimmed, "= "):
			lines[i+1] = margin + cyan + trimmed + plain
		}
	}
	return strings.Join(lines, "\n") + "\n"
}
