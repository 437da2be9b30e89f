package script

import (
	"context"
	"log/slog"
	"strings"

	"github.com/wovyr/wovyr/pkg/activity"
	"github.com/wovyr/wovyr/pkg/secret"
)

// Bounds of what a script writes to the execution's log.
const (
	maxLine  = 8 << 10   // bytes of one line
	maxLines = 256 << 10 // bytes of all lines of a run
	maxTail  = 4 << 10   // bytes of the end that go into an error
)

// lines writes what a script says to the log, up to a bound. It is an io.Writer of text, too. Secrets
// are masked before anything is cut.
type lines struct {
	log     *slog.Logger
	mask    func() *secret.Mask
	masked  *secret.Text // of what is written
	written int
	rest    []byte // the line that is not complete
	tail    []byte // the end of all text written
}

// newLines makes the lines of a task.
func newLines(t *activity.Task) *lines {
	mask := t.Mask
	if mask == nil {
		mask = func() *secret.Mask { return nil }
	}
	return &lines{log: t.Logger(), mask: mask, masked: secret.NewText(mask)}
}

// line logs one line.
func (l *lines) line(level slog.Level, text string) {
	if l.written > maxLines {
		return
	}
	if l.written += len(text) + 1; l.written > maxLines {
		l.log.Warn("output", "line", "the script writes too much: nothing more of it is logged")
		return
	}
	l.log.Log(context.Background(), level, "output", "line", strings.ToValidUTF8(text, "\uFFFD"))
}

// say logs a line of which no more than the beginning may be there.
func (l *lines) say(level slog.Level, text []byte, whole bool) {
	masked := secret.NewText(l.mask)
	line := masked.Add(text)
	if whole {
		line += masked.End()
	}
	l.line(level, line)
}

// Write implements io.Writer: each line is logged.
func (l *lines) Write(b []byte) (int, error) {
	l.add(l.masked.Add(b))
	return len(b), nil
}

// end takes the text for whole.
func (l *lines) end() {
	l.add(l.masked.End())
	l.flush()
}

// add takes what is masked.
func (l *lines) add(text string) {
	l.tail = append(l.tail, text[max(0, len(text)-maxTail):]...)
	l.tail = l.tail[max(0, len(l.tail)-maxTail):]
	for rest := text; rest != ""; {
		part, after, complete := strings.Cut(rest, "\n")
		l.rest = append(l.rest, part[:min(len(part), max(0, maxLine-len(l.rest)))]...)
		if complete {
			l.flush()
		}
		rest = after
	}
}

// flush logs what is there of a line.
func (l *lines) flush() {
	if len(l.rest) > 0 {
		l.line(slog.LevelInfo, string(l.rest))
	}
	l.rest = l.rest[:0]
}

// last is the end of what was written.
func (l *lines) last() string {
	return strings.ToValidUTF8(strings.TrimSpace(string(l.tail)), "\uFFFD")
}
