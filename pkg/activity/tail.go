package activity

import (
	"bytes"
	"log/slog"
	"strings"
)

// tailWriter logs each line and keeps the end of the text.
type tailWriter struct {
	keep int
	log  *slog.Logger
	text []byte
	line []byte
}

// maxLogLine bounds one line that is logged; the rest of a longer one becomes the next.
const maxLogLine = 8 << 10

func (w *tailWriter) Write(b []byte) (int, error) {
	w.text = append(w.text, b...)
	if over := len(w.text) - w.keep; over > 0 {
		w.text = append(w.text[:0], w.text[over:]...)
	}
	for rest := b; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			w.line = append(w.line, rest...)
			break
		}
		w.flush(append(w.line, rest[:end]...))
		rest = rest[end+1:]
	}
	if len(w.line) > maxLogLine {
		w.flush(w.line)
	}
	return len(b), nil
}

func (w *tailWriter) flush(line []byte) {
	w.log.Info("output", "line", strings.ToValidUTF8(string(line), "\uFFFD"))
	w.line = w.line[:0]
}

// String returns the end of what was written.
func (w *tailWriter) String() string { return strings.ToValidUTF8(string(w.text), "\uFFFD") }
