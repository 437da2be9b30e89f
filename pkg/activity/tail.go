package activity

import (
	"log/slog"
	"strings"

	"github.com/wovyr/wovyr/pkg/secret"
)

// tailWriter logs each line and keeps the end of the text. Secrets are masked before anything is cut.
type tailWriter struct {
	keep   int
	log    *slog.Logger
	masked *secret.Text
	text   []byte
	line   []byte
}

// newTail makes the tailWriter of a task.
func newTail(t *Task, keep int) *tailWriter {
	return &tailWriter{keep: keep, log: t.Logger(), masked: secret.NewText(t.mask)}
}

// maxLogLine bounds one line that is logged; the rest of a longer one becomes the next.
const maxLogLine = 8 << 10

// Write implements io.Writer.
func (w *tailWriter) Write(b []byte) (int, error) {
	w.add(w.masked.Add(b))
	return len(b), nil
}

// end takes the text for whole: it logs the rest.
func (w *tailWriter) end() {
	w.add(w.masked.End())
	if len(w.line) > 0 {
		w.flush(w.line)
	}
}

// add takes what is masked.
func (w *tailWriter) add(text string) {
	w.text = append(w.text, text...)
	if over := len(w.text) - w.keep; over > 0 {
		w.text = append(w.text[:0], w.text[over:]...)
	}
	for rest := text; rest != ""; {
		line, after, ended := strings.Cut(rest, "\n")
		w.line = append(w.line, line...)
		if ended {
			w.flush(w.line)
		}
		rest = after
	}
	if len(w.line) > maxLogLine {
		w.flush(w.line)
	}
}

func (w *tailWriter) flush(line []byte) {
	w.log.Info("output", "line", strings.ToValidUTF8(string(line), "\uFFFD"))
	w.line = w.line[:0]
}

// String returns the end of what was written.
func (w *tailWriter) String() string { return strings.ToValidUTF8(string(w.text), "\uFFFD") }
